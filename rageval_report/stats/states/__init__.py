"""States of metrics that are added part by part, and finished by the functions of memory."""

"""The names and rules of other evaluation systems, with which their numbers come out."""

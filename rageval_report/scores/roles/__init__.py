"""Roles: what each column of a table is, why, and how sure that is; one home for all readers."""

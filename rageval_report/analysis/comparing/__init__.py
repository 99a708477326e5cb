"""A baseline compared with candidates, query by query."""

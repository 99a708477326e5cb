"""Before an evaluation: how many queries it needs; after somebody else's: what it can show."""

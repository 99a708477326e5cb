"""A judge against people: how far they agree, and what people would have said of all queries."""

"""Names on a page: how wide they are, and short ones for pipelines with long names."""

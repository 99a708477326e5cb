"""TREC and BEIR files, from bytes to hits without a Python text of each id."""

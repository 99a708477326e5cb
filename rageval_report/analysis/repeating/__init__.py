"""Repeated runs of one pipeline: how much the scores vary between them."""

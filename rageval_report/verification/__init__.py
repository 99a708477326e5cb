"""Checks files by their digests: caches, journals, run files and saved tables."""

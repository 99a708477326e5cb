"""The version, in a file of its own so that results can sign with it."""

__version__ = "0.1.0"

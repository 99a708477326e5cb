"""Reading the results of RAG evaluations."""

__version__ = "0.1.0"

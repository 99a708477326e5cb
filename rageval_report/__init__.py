"""Reading the results of RAG evaluations."""

from rageval_report._version import __version__

__all__ = ["__version__"]

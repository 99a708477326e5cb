"""A small RAG server for trying things out: BM25 search, answers taken from documents, no model.

It runs on this machine, and does on demand what real servers do by accident: it is slow or busy,
breaks off, or returns garbage. Needs the extra ``server``.
"""

from __future__ import annotations

from rageval_report.demo.server.app import FAULTS, Faults, ReferenceServer
from rageval_report.demo.server.rag import (
    Document,
    ExtractiveRag,
    demo_documents,
    demo_queries,
    read_documents,
)

__all__ = [
    "FAULTS",
    "Document",
    "ExtractiveRag",
    "Faults",
    "ReferenceServer",
    "demo_documents",
    "demo_queries",
    "read_documents",
]

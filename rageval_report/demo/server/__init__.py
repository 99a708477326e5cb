"""A small RAG server for trying things out: BM25 search, answers taken from documents, no model.

It runs on this machine, and does on demand what real servers do by accident: it is slow or busy,
breaks off, or returns garbage. Needs the extra ``server``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from rageval_report.demo.server.app import ReferenceServer as ReferenceServer
    from rageval_report.demo.server.corpus import Document as Document
    from rageval_report.demo.server.corpus import demo_documents as demo_documents
    from rageval_report.demo.server.corpus import demo_queries as demo_queries
    from rageval_report.demo.server.corpus import read_documents as read_documents
    from rageval_report.demo.server.faults import FAULTS as FAULTS
    from rageval_report.demo.server.faults import Faults as Faults
    from rageval_report.demo.server.search import ExtractiveRag as ExtractiveRag
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)

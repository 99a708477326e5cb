"""Example data of two invented pipelines, and a small RAG server to try things on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from rageval_report.demo.pipelines import demo_evaluations as demo_evaluations
    from rageval_report.demo.pipelines import write_demo_files as write_demo_files
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)

"""Example data of two invented pipelines, and a small RAG server to try things on."""

from __future__ import annotations

from rageval_report.demo.pipelines import demo_evaluations as demo_evaluations
from rageval_report.demo.pipelines import write_demo_files as write_demo_files

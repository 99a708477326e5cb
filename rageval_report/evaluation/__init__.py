"""The evaluation of one pipeline: holds its scores, analyses them, saves them."""

from __future__ import annotations

from rageval_report.evaluation.evaluation import RAGPipelineEvaluation as RAGPipelineEvaluation
from rageval_report.evaluation.reading import read_scores as read_scores

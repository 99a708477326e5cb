"""One pipeline's evaluation: holds the table of scores, answers questions about it, saves it."""

from __future__ import annotations

from rageval_report.evaluation.evaluation import RAGPipelineEvaluation as RAGPipelineEvaluation
from rageval_report.evaluation.evaluation import read_scores as read_scores

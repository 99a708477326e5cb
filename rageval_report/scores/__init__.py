"""Table 2, the scores: one row a query, one float64 column a metric, NaN where unscored.

Common ground of both halves: what is known of each metric (`Metric`, `METRICS`), the check at the
door (`score_table`), and what a correct answer is (`correctness`).
"""

from __future__ import annotations

from rageval_report.scores import catalogue as _catalogue  # noqa: F401  (fills METRICS)
from rageval_report.scores.columns import resolver
from rageval_report.scores.correct import Correct, correctness
from rageval_report.scores.metric import METRICS, Catalogue, Metric, is_binary, normalised
from rageval_report.scores.table import (
    Scored,
    ScoreTable,
    beside,
    question_text,
    score_table,
)

__all__ = [
    "METRICS",
    "Catalogue",
    "Correct",
    "Metric",
    "ScoreTable",
    "Scored",
    "beside",
    "correctness",
    "is_binary",
    "normalised",
    "question_text",
    "resolver",
    "score_table",
]

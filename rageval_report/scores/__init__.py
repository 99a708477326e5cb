"""Table 2, the scores: one row per query, one float64 column per metric, NaN where unscored.

Both halves of the library use this room: the descriptions of metrics (`Metric`, `METRICS`), the
check of a table from outside (`score_table`), and the rule for correct answers (`correctness`).
"""

from __future__ import annotations

from rageval_report.scores.correct import Correct, correctness
from rageval_report.scores.metric import METRICS, Catalogue, Metric, is_binary, normalise_name
from rageval_report.scores.roles import resolver
from rageval_report.scores.table import (
    Scored,
    ScoreTable,
    join_details,
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
    "correctness",
    "is_binary",
    "join_details",
    "normalise_name",
    "question_text",
    "resolver",
    "score_table",
]

"""What a caller may say of a report, with types; `report_evaluation` describes each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from rageval_report.scores import Correct


class ReportOptions(TypedDict, total=False):
    """The options of `report_comparison`, and of ``Comparison.report``."""

    title: str | None
    by: str | Iterable[str] | None
    correct: Correct | None
    k: int | None
    pictures: bool
    longest_text: int | None
    percentiles: Sequence[float]
    interval: str
    confidence_level: float
    n_resamples: int
    seed: int


class EvaluationReportOptions(ReportOptions, total=False):
    """The options of `report_evaluation`, and of ``RAGPipelineEvaluation.report``."""

    metrics: str | Iterable[str] | None

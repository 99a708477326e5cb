"""The keywords of a comparison, for every function and method that compares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from rageval_report.analysis.arguments import Clusters
from rageval_report.analysis.comparing.metric_comparison import Margin
from rageval_report.analysis.comparing.pairing import MissingTreatment
from rageval_report.analysis.comparing.verdicts import LossSize
from rageval_report.stats.equivalence import MarginMethod


class PlanKeywords(TypedDict, total=False):
    """The keywords that every row of a comparison shares; see `rageval_report.compare`."""

    test: str
    confidence_level: float
    missing: MissingTreatment
    seed: int
    interval: str
    margin: Margin | None
    margin_method: MarginMethod
    rare_loss: LossSize | None
    n_resamples: int
    tried: int


class ComparisonKeywords(PlanKeywords, total=False):
    """The keywords of `rageval_report.compare`."""

    metrics: str | Iterable[str] | None
    correction: str
    clusters: Clusters | None
    on: str | None

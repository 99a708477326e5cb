"""The keywords of a ranking, for every function and method that ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from rageval_report.analysis.arguments import Clusters
from rageval_report.analysis.pairing import MissingTreatment
from rageval_report.analysis.ranking.objective_definitions import ObjectivesArgument


class RankingKeywords(TypedDict, total=False):
    """The keywords of `rageval_report.rank`."""

    metrics: str | Iterable[str] | None
    weights: Mapping[str, float] | None
    objectives: ObjectivesArgument
    correction: str
    confidence_level: float
    missing: MissingTreatment
    n_resamples: int
    seed: int
    on: str | None
    test: str
    margins: Mapping[str, float] | None
    clusters: Clusters | None
    tried: int


class ObjectiveKeywords(TypedDict, total=False):
    """The keywords of weighted scores and of Pareto fronts of a ranking."""

    margins: Mapping[str, float] | None
    n_resamples: int | None
    seed: int | None
    confidence_level: float | None

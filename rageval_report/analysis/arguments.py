"""Arguments that several analyses share: runs, clusters, metrics, thresholds, keywords."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias, TypedDict, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report._registry import load
from rageval_report.errors import (
    ArgumentKindError,
    DataError,
    UnknownNameError,
    describe_kind,
    named,
)
from rageval_report.scores import Catalogue, Correct, Metric, Scored, question_text, resolver
from rageval_report.scores.align import cluster_hint
from rageval_report.scores.metric import Kind
from rageval_report.stats.base import Interval, check_level, check_resamples, check_seed
from rageval_report.stats.columns import Column
from rageval_report.stats.means import PercentileMethod, mean_interval, percentiles_of
from rageval_report.stats.units import (
    QUERIES,
    ClusteredStandardError,
    Units,
    are_missing,
    interval_of_error,
)
from rageval_report.types import BoolArray, FloatArray

Clusters = str | pd.Series | Mapping[str, object]
T = TypeVar("T")


class MeanKeywords(TypedDict, total=False):
    """The keywords that say how means and their intervals are computed; see `summarise`."""

    percentiles: Sequence[float]
    interval: str
    confidence_level: float
    n_resamples: int
    seed: int


class RankingReportKeywords(TypedDict, total=False):
    """The keywords of a ranking's report file; see `rageval_report.reports.report_ranking`."""

    title: str | None
    by: str | Iterable[str] | None
    correct: Correct | None
    k: int | None
    pictures: bool
    longest_text: int | None


class ReportKeywords(RankingReportKeywords, MeanKeywords, total=False):
    """The keywords of a report file; see `rageval_report.reports.report_evaluation`."""


# As shares of the range. The larger one comes first, because it needs fewer queries.
USUAL_SHARES = (0.05, 0.02)
# From this share of queries on that have the text of another one a note says so.
_LEAST_EQUAL = 0.05
_PERCENTILE = re.compile(r"^p(\d+(?:\.\d+)?)$")


# -- runs: evaluations in memory, and scans, whose scores stay in their files


class Scanned(Protocol):
    """The scores of a pipeline in files: `rageval_report.scale.scan.EvaluationScan`."""

    def collect(self) -> Any:
        """The evaluation of all rows, in memory."""


# What functions take that work in memory and over files alike.
ScoredOrScanned: TypeAlias = Scored | Scanned


def is_scan(run: object) -> bool:
    """Whether something is a scan."""
    return hasattr(type(run), "counted_table")


def scans_among(runs: Sequence[object], call: str) -> tuple[Any, ...]:
    """What a function was given, as scans if one of them is a scan; empty if none is."""
    first: Any = next(filter(is_scan, runs), None)
    if first is None:
        return ()
    for run in runs:
        if not (is_scan(run) or hasattr(run, "scores")):
            raise ArgumentKindError(
                f"{call} takes scans and evaluations in memory; got {describe_kind(run)}"
            )
    return tuple(run if is_scan(run) else first.beside(run) for run in runs)


def engine_setting(run: Any) -> dict[str, object]:
    """The engine of a scan as a setting of a result; nothing for scores in memory."""
    return {"engine": run.engine} if is_scan(run) else {}


# -- settings


@dataclass(frozen=True)
class IntervalSettings:
    """The level of intervals and what draws at random, checked."""

    confidence_level: float = 0.95
    n_resamples: int = 9999
    seed: int = 0

    def __post_init__(self) -> None:
        checks: dict[str, Any] = {"confidence_level": check_level, "seed": check_seed}
        for name, check in {**checks, "n_resamples": check_resamples}.items():
            object.__setattr__(self, name, check(getattr(self, name)))

    @property
    def alpha(self) -> float:
        """The error rate that belongs to the level."""
        return round(1.0 - self.confidence_level, 12)  # 1 - 0.95 is 0.050000000000000044

    @property
    def draws(self) -> dict[str, Any]:
        """What draws at random, as the functions of `stats` take it."""
        return {"n_resamples": self.n_resamples, "seed": self.seed}

    @property
    def keywords(self) -> dict[str, Any]:
        """The level and what draws at random, as the functions of `stats` take them."""
        return {"confidence_level": self.confidence_level, **self.draws}


# -- clusters


def resolve_units(
    run: Scored, clusters: Clusters | None, compared: BoolArray | None = None
) -> Units:
    """The unit of each row of a run: its cluster, or without clusters the query itself."""
    if clusters is None:
        return QUERIES
    codes, _ = pd.factorize(cluster_labels(run, clusters, compared))
    return Units(codes.astype(np.int64))


def cluster_labels(run: Scored, clusters: Clusters, compared: BoolArray | None = None) -> pd.Series:
    """The cluster of each row of a run, as text."""
    ids = run.scores.index
    if isinstance(clusters, str):
        if clusters not in run.details:
            raise UnknownNameError("detail column", clusters, map(str, run.details.columns))
        labels = run.details[clusters]
    else:
        labels = pd.Series(clusters).reindex(ids)
    missing = are_missing(labels.to_numpy(dtype=object))
    without = missing if compared is None else missing & compared
    if without.any():
        raise DataError(
            f"clusters must have a label for every query; {named(ids[without])} have none"
        )
    # As texts, so that a column read as numbers and one read as texts give the same clusters.
    return labels.map(str)


def clusters_setting(clusters: Clusters | None) -> dict[str, object]:
    """The clusters as a setting of a result; labels by query would not fit into a signature."""
    name = clusters if isinstance(clusters, str) else "given"
    return {} if clusters is None else {"clusters": name}


def unnamed_clusters(run: Scored, clusters: object | None) -> tuple[str, ...]:
    """Notes on queries that seem to belong together, if no clusters were named."""
    if clusters is not None:
        return ()
    if is_scan(run):
        scan: Any = run
        run = scan.head
        if scan.n_queries > len(run.scores):  # of which the first rows say too little
            return ()
    return tuple(filter(None, (cluster_hint(run), _equal_questions(run))))


def _equal_questions(run: Scored) -> str | None:
    """That several ids have the same question: pairs of them show 26 % false findings, not 5 %."""
    column = question_text(run.details)
    if column is None:
        return None
    # Counted in Python: a text may hold half of a surrogate pair, which Arrow's strings refuse.
    texts = [str(text) for text in run.details[column].dropna()]
    n_shared = sum(n for n in Counter(texts).values() if n > 1)
    if n_shared < _LEAST_EQUAL * len(texts) or n_shared < 2:
        return None
    return (
        f"{n_shared} of {len(texts)} queries have the same {column} as another id, so they are not "
        f"independent; pass clusters={column!r}"
    )


# -- metrics


def choose_metrics(evaluation: Scored, metrics: str | Iterable[str] | None) -> list[Metric]:
    """The metrics of an evaluation, by any of their names; all of them if `metrics` is None."""
    return pick(evaluation.metrics, metrics)


def pick(known: Mapping[str, T], metrics: str | Iterable[str] | None) -> list[T]:
    """The members of a mapping by any names of their metrics; all of them if `metrics` is None."""
    if metrics is None:
        return list(known.values())
    is_list = isinstance(metrics, Iterable) and not isinstance(metrics, str)
    names, resolve = list[str](metrics) if is_list else [cast("str", metrics)], resolver(known)
    if not names:
        raise DataError("metrics must name at least one metric; got none")
    return [known[resolve(name)] for name in names]


def scores_of(evaluation: Scored, metric: Metric) -> FloatArray:
    """The scores of one metric, NaN if unscored."""
    values: FloatArray = evaluation.scores[metric.name].to_numpy()
    return values


def mean_limits(metric: Metric, lowest: float) -> tuple[float, float] | None:
    """The possible means of a metric: its bounds; for latency and cost, 0 and above."""
    is_spent = metric.group == "performance" and not metric.greater_is_better
    if metric.bounds is None and is_spent and lowest >= 0.0:
        return 0.0, np.inf
    return metric.bounds


def scale_of(metric: Metric, mean: float, sd: float) -> float:
    """The range of a metric; without bounds, as for latency, the size of its mean."""
    bounds = metric.bounds
    if bounds is not None and all(math.isfinite(bound) for bound in bounds):
        return bounds[1] - bounds[0]
    return abs(mean) if abs(mean) > 0.0 else sd


def interval_of_mean(
    metric: Metric, scores: npt.ArrayLike | Column, plan: IntervalSettings, method: str = "auto"
) -> Interval:
    """The interval of the mean of a metric, by what is known of the metric."""
    column = Column.of(scores)
    known: dict[str, Any] = {"kind": kind_of_mean(metric), **plan.keywords}
    limits = mean_limits(metric, column.minimum)
    return mean_interval(column, method=method, bounds=limits, **known)


def interval_of_clusters(
    metric: Metric,
    column: Column,
    error: ClusteredStandardError | None,
    plan: IntervalSettings,
    method: str = "auto",
) -> Interval:
    """The interval of a mean from its standard error by clusters; None if nothing is scored."""
    if method not in ("auto", "t"):
        raise DataError(
            f'interval must be "auto" or "t" with clusters; got {method!r}, which assumes '
            "independent queries"
        )
    if error is None:
        return Interval(*4 * (math.nan,), "cr2", plan.confidence_level)
    bounds = None if method == "t" else mean_limits(metric, column.minimum)
    # Latency and cost are limited on one side only, which the interval within bounds cannot use.
    if bounds is not None and not math.isfinite(bounds[1] - bounds[0]):
        bounds = None
    # Clusters move no mean, not even by its last digit.
    return replace(interval_of_error(error, plan.confidence_level, bounds), estimate=column.mean)


def kind_of_mean(metric: Metric) -> Kind:
    """The kind of a metric that decides the interval of its mean."""
    if metric.kind != "real":
        return metric.kind
    known = Catalogue().find(metric.known_as)
    return metric.kind if known is None else known.kind


def has_formal_bounds(metric: Metric) -> bool:
    """Whether a metric's bounds are a formality: those of a number, which no caller has set."""
    if metric.bounds is None or kind_of_mean(metric) != "real":
        return False
    known = Catalogue().find(metric.known_as)
    return known is not None and known.bounds == metric.bounds


def check_percentiles(percentiles: Sequence[float]) -> tuple[float, ...]:
    """The percentiles, if each lies between 0 and 100."""
    wrong = [p for p in percentiles if not 0 <= p <= 100]
    if wrong:
        raise DataError(f"a percentile must be between 0 and 100; got {wrong[0]:g}")
    return tuple(float(p) for p in percentiles)


def notes_on_small_percentiles(percentiles: Sequence[float]) -> list[str]:
    """A question about percentiles that look like shares of 1."""
    small = [p for p in percentiles if 0 < p < 1]
    return [
        f"percentiles count from 0 to 100: {p:g} is less than one query in a hundred; "
        f"{100 * p:g} may be meant"
        for p in small[:1]
    ]


def is_percentile(threshold: float | str) -> bool:
    """Whether a threshold is a percentile or the median of the scores."""
    return isinstance(threshold, str) and _percentile_in(threshold) is not None


def _percentile_in(threshold: str) -> float | None:
    spelled = threshold.strip().lower()
    match = _PERCENTILE.match("p50" if spelled == "median" else spelled)
    return None if match is None else float(match[1])


def threshold_value(
    metric: Metric,
    values: FloatArray | Column,
    threshold: float | str,
    method: PercentileMethod = "linear",
) -> float:
    """A threshold as a number: itself, or a percentile, the median or the mean of the scores."""
    if isinstance(threshold, str):
        percentile, scored = _percentile_in(threshold), Column.of(values)
        is_mean = threshold.strip().lower() == "mean"
        if not is_mean and percentile is None:
            raise DataError(
                'threshold must be a number, "mean", "median" or a percentile such as "p25"; '
                f"got {threshold!r}"
            )
        cuts = () if percentile is None else check_percentiles([percentile])
        if not scored.n:
            raise DataError(f"the threshold {threshold!r} cannot be computed: nothing is scored")
        return scored.mean if is_mean else float(percentiles_of(scored, cuts, method=method)[0])
    if isinstance(threshold, bool) or not math.isfinite(threshold):
        raise DataError(f"threshold must be a finite number; got {threshold!r}")
    if metric.bounds is not None and not metric.bounds[0] <= threshold <= metric.bounds[1]:
        low, high = metric.bounds
        # On a scale that ends at 1, a number from 10 to 100 is most likely a percentage.
        hint = f" Did you mean {threshold / 100:g}?" if high <= 1 and 10 <= threshold <= 100 else ""
        raise DataError(
            f"{metric.name} is from {low:g} to {high:g}, so a threshold of {threshold:g} decides "
            f"nothing.{hint} If its scale is another, say so: "
            f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}"
        )
    return float(threshold)


# -- evaluations that a caller names by a path, and parts of evaluations

# An evaluation, or what `rageval_report.read_scores` reads.
EvaluationInput = Scored | str | os.PathLike[str]


def read_evaluations(
    inputs: Iterable[EvaluationInput],
) -> tuple[tuple[Scored, ...], tuple[str, ...]]:
    """The evaluations, and the notes that all pipelines of a path share."""
    evaluations: list[Scored] = []
    notes: dict[str, None] = {}
    for item in inputs:
        if not isinstance(item, str | os.PathLike):
            evaluations.append(item)
            continue
        # By name: the evaluation stands above this room, and only paths need it.
        read_scores: Any = load("rageval_report.evaluation:read_scores")
        runs: list[Any] = list(read_scores(item).values())
        evaluations += runs
        if len(runs) > 1:
            notes |= {note: None for note in runs[0].notes if all(note in r.notes for r in runs)}
    return tuple(evaluations), tuple(notes)


@dataclass(frozen=True, eq=False)
class EvaluationSubset:
    """Some of the queries of an evaluation; its dialect, in ``config``, holds for a part too."""

    name: str
    scores: pd.DataFrame
    details: pd.DataFrame
    metrics: dict[str, Metric]
    config: Mapping[str, Any] = field(default_factory=dict)

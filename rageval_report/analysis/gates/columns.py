"""What figures of gates are computed from: the scores of a metric, and a pipeline.

A figure asks a `GateColumn` for moments, intervals, shares and percentiles. So it works on scores
in memory (`ScoreColumn`) and on those of a scan, of which only counts and sums may be known.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, get_args

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import interval_of_mean
from rageval_report.analysis.cluster_labels import Clusters
from rageval_report.analysis.cluster_means import cluster_intervals
from rageval_report.analysis.comparing.pairing import require_bounds
from rageval_report.scores import Correct, Metric, Scored, correctness
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.correct_notion import CorrectNotion, declare, find_notion
from rageval_report.scores.states import not_applicable
from rageval_report.stats.base import Interval
from rageval_report.stats.columns import Column
from rageval_report.stats.equivalence import MarginMethod
from rageval_report.stats.means import (
    PercentileMethod,
    interval_of_count,
    percentiles_of,
    quantile_interval,
)
from rageval_report.stats.units import QUERIES, Units, clustered_interval
from rageval_report.types import BoolArray, FloatArray

GateMissing = Literal["drop", "worst"]
GATE_MISSING: tuple[GateMissing, ...] = get_args(GateMissing)


@dataclass(frozen=True, slots=True)
class GateSettings:
    """The settings that can move a figure; see `rageval_report.analysis.gates.gate.gate`."""

    missing: GateMissing = "drop"
    confidence_level: float = 0.95
    n_resamples: int = 9999
    seed: int = 0
    correct: Correct | CorrectNotion | None = None
    clusters: Clusters | None = None


class RunGateKeywords(TypedDict, total=False):
    """The fields of `GateSettings` as keywords."""

    missing: GateMissing
    confidence_level: float
    n_resamples: int
    seed: int
    correct: Correct | None
    clusters: Clusters | None


class GateKeywords(RunGateKeywords, total=False):
    """The same, and the method of margins.

    A file of gates may set them too. Margins need a baseline; without one their method is not used.
    """

    margin_method: MarginMethod


@dataclass(frozen=True, slots=True)
class Measurement:
    """A figure's value, with its interval and the number of scores behind it.

    Parameters
    ----------
    value : float
        NaN if it cannot be computed.
    low, high : float
        The interval around the value; NaN if there is none.
    n, n_unscored : int
        The number of scores behind the value; the number of queries that have no score although
        the metric applies to them.
    notes : tuple of str
        What a reader must know.
    undecidable : str
        Why no rule on the value can be evaluated, although there is one; else empty.
    n_clusters : int
        The number of clusters to which the scores belong; 0 if each query counts by itself.
    estimate : float
        What the interval is around, if `value` is a limit of it.
    without_spread : str
        What is equal, such as "scores", if that is why the interval has no width; else empty.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    n_unscored: int = 0
    notes: tuple[str, ...] = ()
    undecidable: str = ""
    n_clusters: int = 0
    estimate: float = math.nan
    without_spread: str = ""


def mark_without_spread(measurement: Measurement, values: str) -> Measurement:
    """The same, marked if its interval has no width because all values are equal.

    Examples
    --------
    >>> mark_without_spread(Measurement(0.5, 0.5, 0.5, n=10), "scores").without_spread
    'scores'
    """
    has_no_width = measurement.low == measurement.high
    return replace(measurement, without_spread=values) if has_no_width else measurement


@dataclass(frozen=True)
class ScoresBeyond:
    """Says which scores lie on one side of a threshold.

    Parameters
    ----------
    sign : {"<", ">"}
        The side.
    threshold : float
        The threshold.

    Examples
    --------
    >>> ScoresBeyond("<", 0.5)(np.array([0.25, 0.5])).tolist()
    [True, False]
    """

    sign: Literal["<", ">"]
    threshold: float

    def __call__(self, scores: FloatArray) -> BoolArray:
        """Whether each score lies there."""
        compare: Callable[[FloatArray, float], BoolArray] = _SIDES[self.sign]
        return compare(scores, self.threshold)


_SIDES = {"<": operator.lt, ">": operator.gt}


@dataclass(frozen=True, eq=False)
class GateColumn:
    """One metric of a pipeline, as figures take it.

    Parameters
    ----------
    metric : Metric
        What is known of it.
    n, n_unscored, n_not_applicable : int
        Queries that are scored; that should be and are not; to which the metric does not apply.
    settings : GateSettings
        The settings of the gate.
    scores : Column
        The scores; with missing="worst" also the worst possible one for each that is missing.
    percentile_method : {"linear", "exclusive", "upper"}
        The rule of percentiles, that of the dialect of the pipeline's scores.
    values : ndarray, optional
        The scores one by one, where `units` says which of them belong together.
    units : Units
        The independent units of the queries that are scored, then of those that should be.
    """

    metric: Metric
    n: int
    n_unscored: int
    n_not_applicable: int
    settings: GateSettings
    scores: Column
    percentile_method: PercentileMethod = "linear"
    values: FloatArray | None = None
    units: Units = QUERIES

    def measurement(
        self, value: float, low: float = math.nan, high: float = math.nan
    ) -> Measurement:
        """A value of this column, with its interval if there is one."""
        return Measurement(value, low, high, self.n, self.n_unscored, n_clusters=self.n_clusters)

    def measurement_of(self, interval: Interval) -> Measurement:
        """The estimate of an interval of this column, with the interval and its notes."""
        measurement = Measurement(
            *(interval.estimate, interval.low, interval.high, self.n, self.n_unscored),
            interval.notes if self.scores.n else (),
            n_clusters=self.n_clusters,
        )
        return mark_without_spread(measurement, "scores")

    @property
    def n_clusters(self) -> int:
        """The number of clusters of the scored queries; 0 if each query counts by itself."""
        return self.units.select(slice(self.n)).count(self.n) if self.units.are_clusters else 0

    def mean_interval(self) -> Interval:
        """Their mean with its interval."""
        settings = self.settings
        if self.units.are_clusters and self.values is not None and self.values.size:
            [interval] = cluster_intervals(
                [self.metric],
                [self.values],
                self.units.select(slice(self.values.size)),
                confidence_level=settings.confidence_level,
            )
            # Clusters move no mean, not even by its last digit.
            return replace(interval, estimate=self.scores.mean)
        return interval_of_mean(
            self.metric,
            self.scores,
            confidence_level=settings.confidence_level,
            n_resamples=settings.n_resamples,
            seed=settings.seed,
        )

    def share_interval(self, holds: ScoresBeyond) -> Interval:
        """The share of the scores that lie beyond a threshold, with its interval."""
        if self.units.are_clusters and self.values is not None:
            return interval_of_share(holds(self.values), self.units, self.settings)
        beyond = int(self.scores.counts[holds(self.scores.values)].sum())
        return interval_of_count(beyond, self.scores.n, self.settings.confidence_level)

    def unscored_interval(self) -> Interval:
        """The share of the queries without a score, with its interval."""
        n, level = self.n + self.n_unscored, self.settings.confidence_level
        if not (self.units.are_clusters and n):
            return interval_of_count(self.n_unscored, n, level)
        is_unscored = np.repeat([False, True], [self.n, self.n_unscored])
        return interval_of_share(is_unscored, self.units, self.settings)

    def percentile(self, percentile: float) -> float:
        """A percentile of the scores; NaN if there are none."""
        return float(percentiles_of(self.scores, (percentile,), method=self.percentile_method)[0])

    def percentile_interval(self, percentile: float) -> Interval:
        """The interval of a percentile, by the ranks of independent queries."""
        return quantile_interval(
            self.scores, percentile / 100, confidence_level=self.settings.confidence_level
        )


def interval_of_share(
    holds: BoolArray | FloatArray, units: Units, settings: GateSettings
) -> Interval:
    """The interval of a share, or that of clusters."""
    values = np.asarray(holds, dtype=np.float64)
    level = settings.confidence_level
    if not (units.are_clusters and values.size):
        return interval_of_count(int(values.sum()), values.size, level)
    # The units may go on after the scores.
    codes = np.asarray(units.select(slice(values.size)).codes)
    return clustered_interval(values, codes, confidence_level=level, bounds=(0.0, 1.0))


@dataclass(frozen=True, eq=False)
class GatedRun:
    """A pipeline, the settings of its gate, and the independent units of its queries."""

    evaluation: Scored
    settings: GateSettings
    units: Units = QUERIES

    def select_rows(self, select: Callable[[GatedRun], Any]) -> Any:
        """What a function, `RowsBehind`, selects of the queries of the run."""
        return select(self)

    def column(self, metric: Metric) -> GateColumn:
        """One metric's scores, as figures take them.

        Raises
        ------
        DataError
            If a missing score counts as the worst possible one, and the metric has no bounds.
        """
        values = self.evaluation.scores[metric.name].to_numpy()
        is_missing = np.isnan(values)
        details = self.evaluation.details
        does_not_apply = not_applicable(self.evaluation.scores[metric.name], details, metric.name)
        n_unscored = int((is_missing & ~does_not_apply).sum())
        scored = values[~is_missing]
        n = scored.size
        if self.settings.missing == "worst" and n_unscored:
            worst = require_bounds(metric)[0 if metric.greater_is_better else 1]
            scored = np.concatenate([scored, np.full(n_unscored, worst)])
        rows = (np.flatnonzero(~is_missing), np.flatnonzero(is_missing & ~does_not_apply))
        return GateColumn(
            *(metric, n, n_unscored, int(does_not_apply.sum()), self.settings),
            Column.of(scored),
            percentile_method(self.evaluation),
            values=scored,
            units=self.units.select(np.concatenate(rows)),
        )

    def correct_share(self) -> Measurement:
        """The share of correct answers, with its interval."""
        is_correct = self.is_correct()
        is_unknown = is_correct.isna().to_numpy()
        answers = is_correct.dropna().to_numpy(dtype=np.float64)
        rows = np.flatnonzero(~is_unknown)
        n, n_unknown = answers.size, int(is_unknown.sum())
        if self.settings.missing == "worst":
            rows = np.concatenate([rows, np.flatnonzero(is_unknown)])
            answers = np.concatenate([answers, np.zeros(n_unknown)])
        units = self.units.select(rows)
        interval = interval_of_share(answers, units, self.settings)
        # Answers that were filled in as wrong are counted as unscored, not as scored.
        n_clusters = units.count(n) if units.are_clusters else 0
        return Measurement(
            *(interval.estimate, interval.low, interval.high, n, n_unknown), n_clusters=n_clusters
        )

    def declare_correct(self) -> str | None:
        """What is correct, and how many queries are; None if nothing says so."""
        notion = find_notion(self.evaluation, self.settings.correct)
        return None if notion is None else declare(self.evaluation, notion)

    def is_correct(self) -> pd.Series:
        """Whether each query was answered correctly, by the gate's rule or else the run's own."""
        return correctness(self.evaluation, self.settings.correct)

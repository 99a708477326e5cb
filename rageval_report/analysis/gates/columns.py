"""What figures of gates are computed from: the scores of a metric, and a pipeline.

A figure asks a `GateColumn` for moments, intervals, shares and percentiles. So it works on scores
in memory (`ScoreColumn`) and on those of a scan, of which only counts and sums may be known.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, get_args

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import Clusters, interval_of_mean, is_scan
from rageval_report.analysis.pairing import require_bounds
from rageval_report.analysis.report import UnscoredQueries, interval_of_clusters
from rageval_report.analysis.tables import table_of
from rageval_report.errors import DataError
from rageval_report.scores import Correct, Metric, Scored, correctness
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.correct import HOW_TO_SAY
from rageval_report.scores.correct_notion import (
    CorrectCounts,
    CorrectNotion,
    answers_by,
    declare_counts,
    find_notion,
    why_unknown,
)
from rageval_report.scores.states import NOT_APPLICABLE, not_applicable
from rageval_report.stats.base import Interval
from rageval_report.stats.columns import Column
from rageval_report.stats.equivalence import MarginMethod
from rageval_report.stats.means import (
    PercentileMethod,
    interval_of_count,
    percentiles_of,
    quantile_interval,
)
from rageval_report.stats.units import (
    QUERIES,
    Units,
    clustered_interval,
    clustered_standard_error,
)
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
            codes = np.asarray(self.units.select(slice(self.values.size)).codes)
            interval = interval_of_clusters(
                self.metric,
                float(self.values.min()),
                clustered_standard_error(self.values, codes),
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
        table, name = table_of(self.evaluation), metric.name
        scores = table.column(metric)
        n, n_not_applicable = scores.n, self._unscored(name)[NOT_APPLICABLE]
        n_unscored = table.n_queries - n - n_not_applicable
        fills = self.settings.missing == "worst" and n_unscored > 0
        worst = require_bounds(metric)[0 if metric.greater_is_better else 1] if fills else math.nan
        column = GateColumn(
            *(metric, n, n_unscored, n_not_applicable, self.settings),
            with_more(scores, worst, n_unscored) if fills else scores,
            percentile_method(table.sample),
        )
        if not self.units.are_clusters:
            return column
        values, details = self.evaluation.scores[name], self.evaluation.details
        is_missing = values.isna().to_numpy()
        is_gap = is_missing & ~not_applicable(values, details, name)
        scored = values.to_numpy()[~is_missing]
        rows = np.concatenate([np.flatnonzero(~is_missing), np.flatnonzero(is_gap)])
        filled = np.concatenate([scored, np.full(n_unscored if fills else 0, worst)])
        return replace(column, values=filled, units=self.units.select(rows))

    def _unscored(self, name: str) -> Counter[str]:
        """The number of queries without a score of a metric by state."""
        run: Any = self.evaluation
        unscored = run.count_unscored([name]) if is_scan(run) else UnscoredQueries.of(run, [name])
        return Counter(unscored.states.get(name, {}))

    def correct_share(self) -> Measurement:
        """The share of correct answers, with its interval."""
        fills = self.settings.missing == "worst"
        if not self.units.are_clusters:
            counts = self._counts(self.notion())
            n = counts.n_correct + counts.n_incorrect
            n_all = n + (counts.n_unscored if fills else 0)
            interval = interval_of_count(counts.n_correct, n_all, self.settings.confidence_level)
            limits = (interval.estimate, interval.low, interval.high)
            return Measurement(*limits, n, counts.n_unscored)
        is_correct = self.is_correct()
        is_unknown = is_correct.isna().to_numpy()
        answers = is_correct.dropna().to_numpy(dtype=np.float64)
        rows = np.flatnonzero(~is_unknown)
        n, n_unknown = answers.size, int(is_unknown.sum())
        if fills:
            rows = np.concatenate([rows, np.flatnonzero(is_unknown)])
            answers = np.concatenate([answers, np.zeros(n_unknown)])
        units = self.units.select(rows)
        interval = interval_of_share(answers, units, self.settings)
        # Answers that were filled in as wrong are counted as unscored, not as scored.
        return Measurement(
            *(interval.estimate, interval.low, interval.high, n, n_unknown),
            n_clusters=units.count(n),
        )

    def notion(self) -> CorrectNotion:
        """What a correct answer is, by the gate's rule or else the run's own.

        Raises
        ------
        DataError
            If nothing says so.
        """
        sample = table_of(self.evaluation).sample
        notion = find_notion(sample, self.settings.correct)
        if notion is None:
            why = why_unknown(sample) or f"{sample.name!r} has no metric of correct answers"
            raise DataError(f"{why}. {HOW_TO_SAY}")
        return notion

    def _counts(self, notion: CorrectNotion) -> CorrectCounts:
        run: Any = self.evaluation
        if not is_scan(run):
            return CorrectCounts.of(answers_by(run, notion))
        counts: CorrectCounts = run.count_correct(notion)
        return counts

    def declare_correct(self) -> str | None:
        """What is correct, and how many queries are; None if nothing says so."""
        sample = table_of(self.evaluation).sample
        notion = find_notion(sample, self.settings.correct)
        return None if notion is None else declare_counts(sample, notion, self._counts(notion))

    def is_correct(self) -> pd.Series:
        """Whether each query was answered correctly, by the gate's rule or else the run's own."""
        return correctness(self.evaluation, self.settings.correct)


def with_more(column: Column, value: float, n: int) -> Column:
    """A column with more numbers, all of them equal.

    Examples
    --------
    >>> more = with_more(Column.of([0.5, 1.0]), 0.0, 2)
    >>> more.values, more.counts, more.mean
    (array([0. , 0.5, 1. ]), array([2., 1., 1.]), 0.375)
    """
    values, places = np.unique(np.append(column.values, value), return_inverse=True)
    counts = np.bincount(places, np.append(column.counts, float(n))).astype(np.float64)
    if column.is_exact:
        return Column.of_counts(values, counts)
    total, added = column.n + n, column.n * n / (column.n + n) * (column.mean - value) ** 2
    mean = (column.mean * column.n + value * n) / total
    squares = column.variance * (column.n - 1) + added
    return Column(values, counts, mean, math.sqrt(squares / (total - 1)), is_exact=False)

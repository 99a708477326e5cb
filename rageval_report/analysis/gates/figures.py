"""The figures that a rule can ask of an evaluation, such as ``mean`` or ``p95``.

A figure is a function of a `ScoreColumn` (one metric's scores) or of a `GatedRun` (all of them),
and of the numbers in the rule; it returns a `Measurement`: a value and, if there is one, the
interval around it. One more figure is one function and one line, here or in another package::

    def spread(column: ScoreColumn) -> Measurement:
        return column.measurement(float(np.ptp(column.values)))

    FIGURES.add("spread", GateFigure("the largest score minus the smallest", spread))
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypedDict, get_args

import numpy as np
import pandas as pd

from rageval_report._registry import Registry
from rageval_report.analysis.arguments import check_percentiles, column_of_mean
from rageval_report.analysis.cluster_means import cluster_intervals
from rageval_report.analysis.comparing.pairing import Clusters, require_bounds
from rageval_report.scores import Correct, Metric, Scored, correctness
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.states import not_applicable
from rageval_report.stats import mean_interval, quantile_interval
from rageval_report.stats.base import Interval
from rageval_report.stats.clusters import clustered_interval
from rageval_report.stats.means.column_description import PercentileMethod, percentiles_of
from rageval_report.stats.means.intervals import described_intervals
from rageval_report.stats.means.moments import moments
from rageval_report.stats.pairs.equivalence import MarginMethod
from rageval_report.stats.units import QUERIES, Units
from rageval_report.types import BoolArray, FloatArray

ValueRange = tuple[float, float]
GateMissing = Literal["drop", "worst"]
GATE_MISSING: tuple[GateMissing, ...] = get_args(GateMissing)

_PERCENTILE = re.compile(r"p(?P<percentile>\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class GateSettings:
    """The settings that can move a figure; see `rageval_report.analysis.gates.gate.gate`."""

    missing: GateMissing = "drop"
    confidence_level: float = 0.95
    n_resamples: int = 9999
    seed: int = 0
    correct: Correct | None = None
    clusters: Clusters | None = None


class GateKeywords(TypedDict, total=False):
    """The fields of `GateSettings` as keywords, and the method of margins.

    A file of gates may set them too. Without a baseline there is no margin, so its method is not
    used.
    """

    missing: GateMissing
    confidence_level: float
    n_resamples: int
    seed: int
    correct: Correct | None
    clusters: Clusters | None
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


@dataclass(frozen=True, eq=False)
class ScoreColumn:
    """One metric of a pipeline.

    Parameters
    ----------
    metric : Metric
        What is known of it.
    values : ndarray
        The scores; with missing="worst" also the worst possible one for each that is missing.
    n, n_unscored, n_not_applicable : int
        Queries that are scored; that should be and are not; to which the metric does not apply.
    settings : GateSettings
        The settings of the gate.
    percentile_method : {"linear", "exclusive", "upper"}
        The rule of percentiles, that of the dialect of the pipeline's scores.
    units : Units
        The independent units of the queries that are scored, then of those that should be.
    """

    metric: Metric
    values: FloatArray
    n: int
    n_unscored: int
    n_not_applicable: int
    settings: GateSettings
    percentile_method: PercentileMethod = "linear"
    units: Units = QUERIES

    def measurement(
        self, value: float, low: float = math.nan, high: float = math.nan
    ) -> Measurement:
        """A value of this column, with its interval if there is one."""
        return Measurement(value, low, high, self.n, self.n_unscored, n_clusters=self.n_clusters)

    @property
    def n_clusters(self) -> int:
        """The number of clusters of the scored queries; 0 if each query counts by itself."""
        return self.units.select(slice(self.n)).count(self.n) if self.units.are_clusters else 0

    def measurement_of(self, interval: Interval) -> Measurement:
        """The estimate of an interval of this column, with the interval and its notes."""
        measurement = Measurement(
            *(interval.estimate, interval.low, interval.high, self.n, self.n_unscored),
            interval.notes if self.values.size else (),
            n_clusters=self.n_clusters,
        )
        return mark_without_spread(measurement, "scores")


@dataclass(frozen=True, eq=False)
class GatedRun:
    """A pipeline, the settings of its gate, and the independent units of its queries."""

    evaluation: Scored
    settings: GateSettings
    units: Units = QUERIES

    def column(self, metric: Metric) -> ScoreColumn:
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
        return ScoreColumn(
            *(metric, scored, n, n_unscored, int(does_not_apply.sum()), self.settings),
            percentile_method(self.evaluation),
            self.units.select(np.concatenate(rows)),
        )

    def correct_answers(self) -> tuple[FloatArray, int, Units]:
        """1 for a correct answer, 0 for a wrong one; the number of queries that are neither; units.

        The units are those of the answers.
        """
        is_correct = self.is_correct()
        is_unknown = is_correct.isna().to_numpy()
        answers = is_correct.dropna().to_numpy(dtype=np.float64)
        rows = np.flatnonzero(~is_unknown)
        if self.settings.missing == "worst":
            rows = np.concatenate([rows, np.flatnonzero(is_unknown)])
            answers = np.concatenate([answers, np.zeros(is_unknown.sum())])
        return answers, int(is_unknown.sum()), self.units.select(rows)

    def is_correct(self) -> pd.Series:
        """Whether each query was answered correctly, by the gate's rule or else the run's own."""
        return correctness(self.evaluation, self.settings.correct)


def score_range(metric: Metric) -> ValueRange | None:
    """The possible scores of a metric, which are those of their mean, extremes and percentiles."""
    return metric.bounds


# Which queries stand behind a rule that failed: those whose scores lie on the wrong side of the
# threshold; those whose scores the figure counts, below or above the threshold in its brackets;
# those without a score; those with a wrong answer; those on which the candidate is worse.
QueriesBehind = Literal[
    "scores", "scores below", "scores above", "unscored", "wrong answers", "regressions"
]


@dataclass(frozen=True, slots=True)
class GateFigure:
    """A figure that a rule may ask for.

    Parameters
    ----------
    description : str
        In words, for the list of figures.
    measure : callable
        Takes a `ScoreColumn`, a `GatedRun` or a `ComparedPair`, and the other parameters by name.
    of : {"column", "run", "pair"}
        Which of the three `measure` takes.
    parameters : tuple of str
        The arguments in the brackets, in order; a name that ends in "?" may be omitted.
    value_range : callable
        The possible values, by the metric, or None if they are unknown: a threshold outside them
        is a mistake.
    queries : str, optional
        Which queries are shown if a rule on this figure fails; None if no query is to blame more
        than another. "scores" also says that the value is on the scale of the scores, so that a
        rule may be checked against the metric's direction.
    counts_missing : bool
        Whether the figure counts missing scores itself, so that missing="worst" does not change it.
    choices : mapping of str to sequence of str
        The parameters that are words and not numbers, each with the words that it can be.
    """

    description: str
    measure: Callable[..., Measurement]
    of: Literal["column", "run", "pair"] = "column"
    parameters: tuple[str, ...] = ("metric",)
    value_range: Callable[[Metric], ValueRange | None] = lambda _metric: None
    queries: QueriesBehind | None = None
    counts_missing: bool = False
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)


def _score_figure(description: str, measure: Callable[[ScoreColumn], Measurement]) -> GateFigure:
    """A figure on the scale of the scores, such as their mean."""
    return GateFigure(description, measure, value_range=score_range, queries="scores")


def _share_range(_metric: Metric) -> ValueRange:
    return 0.0, 1.0


def _count_range(_metric: Metric) -> ValueRange:
    return 0.0, math.inf


def _mean(column: ScoreColumn) -> Measurement:
    settings, known = column.settings, moments(column.values)
    if column.units.are_clusters and column.values.size:
        [interval] = cluster_intervals(
            [column.metric],
            [column.values],
            column.units.select(slice(column.values.size)),
            confidence_level=settings.confidence_level,
        )
        return column.measurement_of(interval)
    intervals = described_intervals(
        [column_of_mean(column.metric, column.values, known)],
        confidence_level=settings.confidence_level,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )
    return column.measurement_of(intervals[0])


def _share_of(column: ScoreColumn, holds: BoolArray) -> Measurement:
    return column.measurement_of(_interval_of_share(holds, column.units, column.settings))


def _interval_of_share(
    holds: BoolArray | FloatArray, units: Units, settings: GateSettings
) -> Interval:
    """Wilson's interval of a share, or that of clusters."""
    values = np.asarray(holds, dtype=np.float64)
    if units.are_clusters and values.size:
        return _interval_of_clusters(values, units, settings, (0.0, 1.0))
    level = settings.confidence_level
    return mean_interval(values, method="wilson", confidence_level=level)


def _interval_of_clusters(
    values: FloatArray, units: Units, settings: GateSettings, bounds: ValueRange | None
) -> Interval:
    """The interval of a mean of clustered scores; the units may go on after the scores."""
    return clustered_interval(
        values,
        np.asarray(units.select(slice(values.size)).codes),
        confidence_level=settings.confidence_level,
        bounds=bounds,
    )


def _share_below(column: ScoreColumn, threshold: float) -> Measurement:
    return _share_of(column, column.values < threshold)


def _share_above(column: ScoreColumn, threshold: float) -> Measurement:
    return _share_of(column, column.values > threshold)


def _share_unscored(column: ScoreColumn) -> Measurement:
    is_unscored = np.repeat([False, True], [column.n, column.n_unscored])
    measurement = _share_of(column, is_unscored)
    if not column.n_not_applicable:
        return measurement
    return replace(measurement, notes=(f"{column.n_not_applicable} more are not applicable",))


def _count(column: ScoreColumn) -> Measurement:
    return column.measurement(float(column.n))


def _minimum(column: ScoreColumn) -> Measurement:
    return column.measurement(moments(column.values).minimum)


def _maximum(column: ScoreColumn) -> Measurement:
    return column.measurement(moments(column.values).maximum)


def _std(column: ScoreColumn) -> Measurement:
    return column.measurement(moments(column.values).std)


def _share_correct(run: GatedRun) -> Measurement:
    answers, n_unknown, units = run.correct_answers()
    interval = _interval_of_share(answers, units, run.settings)
    # Answers that were filled in as wrong are counted as unscored, not as scored.
    n = answers.size - (n_unknown if run.settings.missing == "worst" else 0)
    n_clusters = units.count(n) if units.are_clusters else 0
    measurement = Measurement(
        *(interval.estimate, interval.low, interval.high, n, n_unknown), n_clusters=n_clusters
    )
    return mark_without_spread(measurement, "answers")


def _percentile(percentile: float) -> Callable[[ScoreColumn], Measurement]:
    def measure(column: ScoreColumn) -> Measurement:
        method = column.percentile_method
        value = float(percentiles_of(column.values, (percentile,), method=method)[0])
        # No sample limits the smallest and the largest score that it did not draw.
        if not 0 < percentile < 100:
            return column.measurement(value)
        if column.units.are_clusters:
            note = "the interval of a percentile assumes independent queries, not clusters"
            return replace(column.measurement(value), notes=(note,))
        level = column.settings.confidence_level
        interval = quantile_interval(column.values, percentile / 100, confidence_level=level)
        return column.measurement(value, interval.low, interval.high)

    return measure


FIGURES: Registry[GateFigure] = Registry(
    "figure",
    {
        "mean": _score_figure("the mean", _mean),
        "median": _score_figure("the median", _percentile(50.0)),
        "min": _score_figure("the smallest score", _minimum),
        "max": _score_figure("the largest score", _maximum),
        "std": GateFigure("the standard deviation", _std, value_range=_count_range),
        "n": GateFigure(
            "the number of scored queries", _count, value_range=_count_range, counts_missing=True
        ),
        "unscored": GateFigure(
            "the share of queries without a score",
            _share_unscored,
            value_range=_share_range,
            queries="unscored",
            counts_missing=True,
        ),
        "share_below": GateFigure(
            "the share of scores below a threshold",
            _share_below,
            parameters=("metric", "threshold"),
            value_range=_share_range,
            queries="scores below",
        ),
        "share_above": GateFigure(
            "the share of scores above a threshold",
            _share_above,
            parameters=("metric", "threshold"),
            value_range=_share_range,
            queries="scores above",
        ),
        "correct": GateFigure(
            "the share of correct answers",
            _share_correct,
            of="run",
            parameters=(),
            value_range=_share_range,
            queries="wrong answers",
        ),
    },
)
"""The figures of an evaluation by name; `percentile_figure` knows ``p95`` and all the others."""

LIMITS = ("ci_low", "ci_high")
"""The ends of the interval of a metric's mean, or of another figure: ``ci_low(difference(f1))``."""


def percentile_figure(name: str) -> GateFigure | None:
    """The figure for a name such as "p95" or "p99.9"; None for other names.

    Raises
    ------
    DataError
        If the percentile is above 100.

    Examples
    --------
    >>> percentile_figure("p95").description, percentile_figure("mean")
    ('the percentile 95', None)
    """
    match = _PERCENTILE.fullmatch(name)
    if match is None:
        return None
    [percentile] = check_percentiles([float(match["percentile"])])
    return _score_figure(f"the percentile {percentile:g}", _percentile(percentile))

"""What can be asked of an evaluation: a table with a line a figure.

A figure is a function of a `ScoreColumn` (one metric's scores) or of a `GatedRun` (all of them),
and of the numbers in the rule; it returns a `Measurement`: a value and, if there is one, the
interval around it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rageval_report._registry import Registry
from rageval_report.analysis.arguments import check_percentiles, mean_limits
from rageval_report.analysis.comparing.pairing import require_bounds
from rageval_report.scores import Correct, Metric, Scored, correctness
from rageval_report.scores.states import NOT_APPLICABLE, states_frame
from rageval_report.stats import mean_interval, quantile_interval
from rageval_report.stats.base import Interval
from rageval_report.stats.means.describe import percentiles_of
from rageval_report.stats.means.intervals import described_interval
from rageval_report.stats.means.moments import moments
from rageval_report.types import FloatArray

Range = tuple[float, float]
Missing = Literal["drop", "worst"]
MISSING: tuple[Missing, ...] = ("drop", "worst")

_PERCENTILE = re.compile(r"p(?P<percentile>\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class GateSettings:
    """What can move a figure; see `rageval_report.analysis.gates.gate.gate`."""

    missing: Missing = "drop"
    confidence_level: float = 0.95
    n_resamples: int = 9999
    seed: int = 0
    correct: Correct | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """A figure's value, and what it stands on.

    Parameters
    ----------
    value : float
        NaN where it cannot be had.
    low, high : float
        The interval around the value; NaN where there is none.
    n, n_unscored : int
        How many scores it is made of; how many queries have none, though the metric is about them.
    notes : tuple of str
        What a reader must know.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    n_unscored: int = 0
    notes: tuple[str, ...] = ()


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
        Queries that are scored; that should be and are not; that the metric is not about.
    settings : GateSettings
        As the gate was asked.
    """

    metric: Metric
    values: FloatArray
    n: int
    n_unscored: int
    n_not_applicable: int
    settings: GateSettings

    def measured(self, value: float, low: float = math.nan, high: float = math.nan) -> Measurement:
        """A value of this column."""
        return Measurement(value, low, high, self.n, self.n_unscored)

    def around(self, interval: Interval) -> Measurement:
        """A value of this column with its interval."""
        return Measurement(
            *(interval.estimate, interval.low, interval.high, self.n, self.n_unscored),
            interval.notes if self.values.size else (),
        )


@dataclass(frozen=True, eq=False)
class GatedRun:
    """A pipeline, of which figures are asked."""

    evaluation: Scored
    settings: GateSettings

    def column(self, metric: Metric) -> ScoreColumn:
        """One metric's scores, as figures take them.

        Raises
        ------
        DataError
            If a missing score is to be the worst possible one, and the metric has no bounds.
        """
        values = self.evaluation.scores[metric.name].to_numpy()
        missing = np.isnan(values)
        beside = missing & self._is_not_applicable(metric) if missing.any() else missing
        lacking = int((missing & ~beside).sum())
        kept = values[~missing]
        if self.settings.missing == "worst" and lacking:
            worst = require_bounds(metric)[0 if metric.greater_is_better else 1]
            kept = np.concatenate([kept, np.full(lacking, worst)])
        n = int((~missing).sum())
        return ScoreColumn(metric, kept, n, lacking, int(beside.sum()), self.settings)

    def _is_not_applicable(self, metric: Metric) -> np.ndarray:
        states = states_frame(self.evaluation.scores[[metric.name]], self.evaluation.details)
        return np.asarray(states[metric.name] == NOT_APPLICABLE, dtype=bool)

    def correct(self) -> tuple[FloatArray, int]:
        """1 for a correct answer, 0 for a wrong one; and how many queries are neither."""
        right = self.right()
        unknown = int(right.isna().sum())
        known = right.dropna().to_numpy(dtype=np.float64)
        if self.settings.missing == "worst":
            known = np.concatenate([known, np.zeros(unknown)])
        return known, unknown

    def right(self) -> Any:
        """Whether each query was answered correctly: by the gate's rule, else the run's own."""
        own = (
            None if self.settings.correct is not None else getattr(self.evaluation, "correct", None)
        )
        return correctness(self.evaluation, self.settings.correct) if own is None else own


def as_scored(metric: Metric) -> Range | None:
    """Where the scores of a metric lie, and so their mean, extremes and percentiles."""
    return metric.bounds


@dataclass(frozen=True, slots=True)
class GateFigure:
    """What a rule may ask for.

    Parameters
    ----------
    what : str
        In words, for the list of figures.
    measure : callable
        Of a `ScoreColumn`, a `GatedRun` or a `Pair`, and of the other parameters by name.
    of : {"column", "run", "pair"}
        What `measure` is a function of.
    parameters : tuple of str
        What stands in the brackets, in order; a name that ends in "?" may be left out.
    lies : callable
        Where the value can lie, by the metric: a threshold beyond is a mistake.
    """

    what: str
    measure: Callable[..., Measurement]
    of: Literal["column", "run", "pair"] = "column"
    parameters: tuple[str, ...] = ("metric",)
    lies: Callable[[Metric], Range | None] = as_scored


def _share(_metric: Metric) -> Range:
    return 0.0, 1.0


def _count(_metric: Metric) -> Range:
    return 0.0, math.inf


def _mean(column: ScoreColumn) -> Measurement:
    asked, known = column.settings, moments(column.values)
    interval = described_interval(
        column.values,
        known,
        confidence_level=asked.confidence_level,
        bounds=mean_limits(column.metric, known.minimum),
        n_resamples=asked.n_resamples,
        seed=asked.seed,
    )
    return column.around(interval)


def _share_of(column: ScoreColumn, holds: np.ndarray) -> Measurement:
    level = column.settings.confidence_level
    interval = mean_interval(holds.astype(np.float64), method="wilson", confidence_level=level)
    return column.around(interval)


def _share_below(column: ScoreColumn, threshold: float) -> Measurement:
    return _share_of(column, column.values < threshold)


def _share_above(column: ScoreColumn, threshold: float) -> Measurement:
    return _share_of(column, column.values > threshold)


def _unscored(column: ScoreColumn) -> Measurement:
    measured = _share_of(column, np.repeat([0.0, 1.0], [column.n, column.n_unscored]))
    if not column.n_not_applicable:
        return measured
    return replace(measured, notes=(f"{column.n_not_applicable} more are not applicable",))


def _n(column: ScoreColumn) -> Measurement:
    return column.measured(float(column.n))


def _minimum(column: ScoreColumn) -> Measurement:
    return column.measured(moments(column.values).minimum)


def _maximum(column: ScoreColumn) -> Measurement:
    return column.measured(moments(column.values).maximum)


def _std(column: ScoreColumn) -> Measurement:
    return column.measured(moments(column.values).std)


def _correct(run: GatedRun) -> Measurement:
    known, unknown = run.correct()
    level = run.settings.confidence_level
    interval = mean_interval(known, method="wilson", confidence_level=level)
    n = known.size - (unknown if run.settings.missing == "worst" else 0)
    return Measurement(interval.estimate, interval.low, interval.high, n, unknown)


def _percentile(percentile: float) -> Callable[[ScoreColumn], Measurement]:
    def measure(column: ScoreColumn) -> Measurement:
        value = float(percentiles_of(column.values, (percentile,))[0])
        if not 0 < percentile < 100:
            return column.measured(value)
        level = column.settings.confidence_level
        limits = quantile_interval(column.values, percentile / 100, confidence_level=level)
        return column.measured(value, limits.low, limits.high)

    return measure


FIGURES: Registry[GateFigure] = Registry(
    "figure",
    {
        "mean": GateFigure("the mean", _mean),
        "median": GateFigure("the median", _percentile(50.0)),
        "min": GateFigure("the smallest score", _minimum),
        "max": GateFigure("the largest score", _maximum),
        "std": GateFigure("the standard deviation", _std, lies=_count),
        "n": GateFigure("how many queries are scored", _n, lies=_count),
        "unscored": GateFigure("the share of queries without a score", _unscored, lies=_share),
        "share_below": GateFigure(
            "the share of scores below", _share_below, "column", ("metric", "threshold"), _share
        ),
        "share_above": GateFigure(
            "the share of scores above", _share_above, "column", ("metric", "threshold"), _share
        ),
        "correct": GateFigure("the share of correct answers", _correct, "run", (), _share),
    },
)
"""The figures of an evaluation by name; ``p95`` and all other percentiles are known besides."""

LIMITS = ("ci_low", "ci_high")
"""The ends of the interval of a metric's mean, or of another figure: ``ci_low(difference(f1))``."""


def percentile_figure(name: str) -> GateFigure | None:
    """The figure that a name as "p95" or "p99.9" means; None for other names.

    Raises
    ------
    DataError
        If the percentile is above 100.

    Examples
    --------
    >>> percentile_figure("p95").what, percentile_figure("mean")
    ('the percentile 95', None)
    """
    told = _PERCENTILE.fullmatch(name)
    if told is None:
        return None
    [percentile] = check_percentiles([float(told["percentile"])])
    return GateFigure(f"the percentile {percentile:g}", _percentile(percentile))

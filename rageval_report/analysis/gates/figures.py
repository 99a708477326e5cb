"""The figures that a rule can ask of an evaluation, such as ``mean`` or ``p95``.

A figure is a function of a `GateColumn` (one metric's scores) or of a `GatedRun` (all of them),
and of the numbers in the rule; it returns a `Measurement`: a value and, if there is one, the
interval around it. One more figure is one function and one line, here or in another package::

    def spread(column: GateColumn) -> Measurement:
        return column.measurement(column.scores.maximum - column.scores.minimum)

    FIGURES.add("spread", GateFigure("the largest score minus the smallest", spread))
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rageval_report._registry import Registry
from rageval_report.analysis.arguments import check_percentiles
from rageval_report.analysis.gates.columns import GateColumn as GateColumn
from rageval_report.analysis.gates.columns import GatedRun, ScoresBeyond, mark_without_spread
from rageval_report.analysis.gates.columns import Measurement as Measurement
from rageval_report.scores import Metric

ValueRange = tuple[float, float]

_PERCENTILE = re.compile(r"p(?P<percentile>\d+(?:\.\d+)?)")


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
        Takes a `GateColumn`, a `GatedRun` or a `ComparedPair`, and the other parameters by name.
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


def _score_figure(description: str, measure: Callable[[GateColumn], Measurement]) -> GateFigure:
    """A figure on the scale of the scores, such as their mean."""
    return GateFigure(description, measure, value_range=score_range, queries="scores")


def _share_range(_metric: Metric) -> ValueRange:
    return 0.0, 1.0


def _count_range(_metric: Metric) -> ValueRange:
    return 0.0, math.inf


def _mean(column: GateColumn) -> Measurement:
    return column.measurement_of(column.mean_interval())


def _share_below(column: GateColumn, threshold: float) -> Measurement:
    return column.measurement_of(column.share_interval(ScoresBeyond("<", threshold)))


def _share_above(column: GateColumn, threshold: float) -> Measurement:
    return column.measurement_of(column.share_interval(ScoresBeyond(">", threshold)))


def _share_unscored(column: GateColumn) -> Measurement:
    measurement = column.measurement_of(column.unscored_interval())
    if not column.n_not_applicable:
        return measurement
    return replace(measurement, notes=(f"{column.n_not_applicable} more are not applicable",))


def _count(column: GateColumn) -> Measurement:
    return column.measurement(float(column.n))


def _minimum(column: GateColumn) -> Measurement:
    return column.measurement(column.scores.minimum)


def _maximum(column: GateColumn) -> Measurement:
    return column.measurement(column.scores.maximum)


def _std(column: GateColumn) -> Measurement:
    return column.measurement(column.scores.std)


def _share_correct(run: GatedRun) -> Measurement:
    return mark_without_spread(run.correct_share(), "answers")


def _percentile(percentile: float) -> Callable[[GateColumn], Measurement]:
    def measure(column: GateColumn) -> Measurement:
        value = column.percentile(percentile)
        # No sample limits the smallest and the largest score that it did not draw.
        if not 0 < percentile < 100:
            return column.measurement(value)
        if column.n_clusters:
            note = "the interval of a percentile assumes independent queries, not clusters"
            return replace(column.measurement(value), notes=(note,))
        interval = column.percentile_interval(percentile)
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

"""Arguments that every analysis shares: which metrics, which threshold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from rageval_report.errors import DataError
from rageval_report.scores import Metric, Scored, resolver
from rageval_report.stats.means.describe import percentiles_of
from rageval_report.types import FloatArray

_PERCENTILE = re.compile(r"^p(\d+(?:\.\d+)?)$")


def choose_metrics(evaluation: Scored, metrics: str | Iterable[str] | None) -> list[Metric]:
    """The metrics asked for, by any of their names; all of them where nothing is asked.

    Raises
    ------
    UnknownNameError
        If a name is not a metric of the evaluation.
    """
    if metrics is None:
        return list(evaluation.metrics.values())
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    resolve = resolver(evaluation.metrics)
    return [evaluation.metrics[resolve(name)] for name in names]


def scores_of(evaluation: Scored, metric: Metric) -> FloatArray:
    """The scores of one metric, NaN where unscored."""
    values: FloatArray = evaluation.scores[metric.name].to_numpy()
    return values


def mean_limits(metric: Metric, lowest: float) -> tuple[float, float] | None:
    """Where the mean of a metric can lie: within its bounds; of what is spent, not below 0.

    Parameters
    ----------
    metric : Metric
        What is known of it.
    lowest : float
        The smallest score; where that is below 0, what is spent has no such floor.

    Examples
    --------
    >>> cost = Metric("cost_usd", group="performance", greater_is_better=False)
    >>> f1 = Metric("f1", bounds=(0, 1))
    >>> mean_limits(cost, 0.02), mean_limits(cost, -1.0), mean_limits(f1, 0.0)
    ((0.0, inf), None, (0.0, 1.0))
    """
    is_spent = metric.group == "performance" and not metric.greater_is_better
    if metric.bounds is None and is_spent and lowest >= 0.0:
        return 0.0, np.inf
    return metric.bounds


def check_percentiles(percentiles: Sequence[float]) -> tuple[float, ...]:
    """The percentiles, if each lies between 0 and 100."""
    wrong = [p for p in percentiles if not 0 <= p <= 100]
    if wrong:
        raise DataError(f"a percentile lies between 0 and 100; got {wrong[0]:g}")
    return tuple(float(p) for p in percentiles)


def percentile_column(percentile: float) -> str:
    """The column that holds a percentile.

    Examples
    --------
    >>> percentile_column(25.0), percentile_column(2.5)
    ('p25', 'p2.5')
    """
    return f"p{percentile:g}"


def threshold_value(metric: Metric, values: FloatArray, threshold: float | str) -> float:
    """A threshold as a number: itself, or a percentile, the median or the mean of the scores.

    Raises
    ------
    DataError
        If it is none of these, lies outside the bounds of the metric, or nothing is scored.

    Examples
    --------
    >>> threshold_value(Metric("recall"), np.array([0.0, 0.5, 1.0]), "p25")
    0.25
    """
    if isinstance(threshold, str):
        return _told_threshold(values, threshold.strip().lower())
    if isinstance(threshold, bool) or not np.isfinite(threshold):
        raise DataError(f"a threshold must be a finite number; got {threshold!r}")
    _check_within(metric, threshold)
    return float(threshold)


def _check_within(metric: Metric, threshold: float) -> None:
    """A threshold beyond all possible scores: every query is on one side of it, or none is."""
    if metric.bounds is None or metric.bounds[0] <= threshold <= metric.bounds[1]:
        return
    low, high = metric.bounds
    meant = f" Did you mean {threshold / 100:g}?" if high <= 1 and 10 <= threshold <= 100 else ""
    raise DataError(
        f"{metric.name} is from {low:g} to {high:g}, so a threshold of {threshold:g} decides "
        f"nothing.{meant} If its scale is another, say so: "
        f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}"
    )


def _told_threshold(values: FloatArray, threshold: str) -> float:
    percentile = _PERCENTILE.match("p50" if threshold == "median" else threshold)
    if threshold != "mean" and percentile is None:
        raise DataError(
            f'a threshold is a number, "mean", "median" or a percentile as "p25"; got {threshold!r}'
        )
    asked = check_percentiles([float(percentile[1])]) if percentile else ()
    scored = values[~np.isnan(values)]
    if not scored.size:
        raise DataError(f"the threshold {threshold!r} cannot be found: nothing is scored")
    return float(percentiles_of(scored, asked)[0]) if asked else float(scored.mean())

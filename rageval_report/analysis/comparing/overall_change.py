"""How much better or worse each query is over all metrics, to show the worst ones first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.scores import Metric
from rageval_report.types import FloatArray


def overall_changes(pairing: Pairing) -> pd.Series:
    """The mean improvement of each query over all metrics, as shares of their ranges.

    Parameters
    ----------
    pairing : Pairing
        Two runs side by side.

    Returns
    -------
    Series of float, index query_id
        Between -1 and 1: above 0 where the candidate is better. Metrics without a range, such as
        latency, count only if no metric has one; then the largest change stands for the range. NaN
        where no such metric has a score in both runs.

    Notes
    -----
    It only orders queries for a reader; no test is made with it.
    """
    sides = [pairing.both(ours, theirs) for ours, theirs in pairing.metrics]
    metrics = [ours for ours, _ in pairing.metrics]
    ranges = ranges_of_change(metrics, lambda place: _largest(*sides[place]))
    means = mean_changes(metrics, sides, ranges)
    return pd.Series(means, index=pairing.alignment.ids, name="overall_change")


def ranges_of_change(
    metrics: Sequence[Metric], largest: Callable[[int], float]
) -> tuple[float, ...]:
    """The range by which the changes of each metric are divided; NaN if it does not count.

    Parameters
    ----------
    metrics : sequence of Metric
        The metrics.
    largest : callable
        Gives the largest change of the metric at a place; called only if no metric has a range.

    Examples
    --------
    >>> recall, latency = Metric("recall", bounds=(0, 1)), Metric("latency_ms")
    >>> ranges_of_change([recall, latency], [1.0, 250.0].__getitem__)
    (1.0, nan)
    >>> ranges_of_change([latency], [250.0].__getitem__)
    (250.0,)
    """
    widths = tuple(map(_width, metrics))
    if any(map(math.isfinite, widths)):
        return tuple(width if math.isfinite(width) else math.nan for width in widths)
    return tuple(largest(place) or 1.0 for place in range(len(metrics)))


def mean_changes(
    metrics: Sequence[Metric],
    sides: Sequence[tuple[FloatArray, FloatArray]],
    ranges: Sequence[float],
) -> FloatArray:
    """The mean improvement of each query over the metrics, as in `overall_changes`.

    Parameters
    ----------
    metrics : sequence of Metric
        The metrics.
    sides : sequence of (ndarray, ndarray)
        The scores of the same queries in both runs, by metric.
    ranges : sequence of float
        What `ranges_of_change` gave.
    """
    shares = np.column_stack(
        [
            _improvement(metric, before, after) / width
            for metric, (before, after), width in zip(metrics, sides, ranges, strict=True)
            if not math.isnan(width)
        ]
    )
    n_scored = np.isfinite(shares).sum(axis=1)
    total = np.nansum(shares, axis=1)
    means: FloatArray = np.where(n_scored > 0, total / np.maximum(n_scored, 1), np.nan)
    return means


def _improvement(metric: Metric, before: FloatArray, after: FloatArray) -> FloatArray:
    return after - before if metric.greater_is_better else before - after


def _largest(before: FloatArray, after: FloatArray) -> float:
    """The largest change of a query that both runs scored; 0 without one."""
    change = np.abs(after - before)
    return float(change[np.isfinite(change)].max(initial=0.0))


def _width(metric: Metric) -> float:
    return math.inf if metric.bounds is None else metric.bounds[1] - metric.bounds[0]

"""Intervals of means whose queries come in clusters, for every table that describes one run."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rageval_report.analysis.arguments import mean_limits
from rageval_report.errors import DataError
from rageval_report.scores import Metric
from rageval_report.stats.base import Interval
from rageval_report.stats.units import (
    ClusteredStandardError,
    Units,
    clustered_interval,
    interval_of_error,
)
from rageval_report.types import FloatArray

# The methods that have a form for clusters: CR2 within the bounds of the metric, or without them.
METHODS = ("auto", "t")


def cluster_intervals(
    metrics: Sequence[Metric],
    columns: Sequence[FloatArray],
    units: Units,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
) -> list[Interval]:
    """The interval of the mean over queries of each metric, from whole clusters.

    Parameters
    ----------
    metrics : sequence of Metric
        The metrics.
    columns : sequence of ndarray of shape (n_queries,)
        Their scores; NaN if unscored.
    units : Units
        The cluster of each query.
    method : {"auto", "t"}
        "auto" is the interval of CR2 within the bounds of the metric, "t" without them.
    confidence_level : float
        Between 0 and 1.

    Raises
    ------
    DataError
        If the method assumes independent queries.

    Examples
    --------
    >>> recall = Metric("recall", bounds=(0, 1))
    >>> scores = np.array([1.0, 1, 0, 0, 1, 0, 1, 1])
    >>> [interval] = cluster_intervals([recall], [scores], Units.of(list("aabbccdd")))
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.118, 0.954)
    """
    _check_method(method)
    return [
        _cluster_interval(metric, column, units, method, confidence_level)
        for metric, column in zip(metrics, columns, strict=True)
    ]


def interval_of_clusters(
    metric: Metric,
    lowest: float,
    spread: ClusteredStandardError | None,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
) -> Interval:
    """The interval of a mean whose standard error by clusters is known, as `cluster_intervals`.

    Parameters
    ----------
    metric : Metric
        The metric.
    lowest : float
        Its smallest score.
    spread : ClusteredStandardError, optional
        The standard error; None if nothing is scored.
    method, confidence_level
        As in `cluster_intervals`.
    """
    _check_method(method)
    if spread is None:
        return _no_interval(confidence_level)
    bounds = _bounds_of_mean(metric, lowest, method)
    return interval_of_error(spread, confidence_level, bounds)


def _check_method(method: str) -> None:
    if method not in METHODS:
        raise DataError(
            f'interval must be "auto" or "t" with clusters; got {method!r}, which assumes '
            "independent queries"
        )


def _no_interval(level: float) -> Interval:
    nan = math.nan
    return Interval(nan, nan, nan, nan, "cr2", level)


def _bounds_of_mean(metric: Metric, lowest: float, method: str) -> tuple[float, float] | None:
    limits = None if method == "t" else mean_limits(metric, lowest)
    # Latency and cost are limited on one side only, which the interval within bounds cannot use.
    return limits if limits is not None and math.isfinite(limits[1] - limits[0]) else None


def _cluster_interval(
    metric: Metric, column: FloatArray, units: Units, method: str, level: float
) -> Interval:
    is_scored = ~np.isnan(column)
    scores = column[is_scored]
    if not scores.size:
        return _no_interval(level)
    bounds = _bounds_of_mean(metric, float(scores.min()), method)
    codes = np.asarray(units.select(is_scored).codes)
    return clustered_interval(scores, codes, confidence_level=level, bounds=bounds)

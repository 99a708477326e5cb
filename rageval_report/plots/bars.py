"""The bars of a distribution: one per level if there are few levels, else bins of equal width."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rageval_report.plots.subjects import data_limits
from rageval_report.scores import Metric
from rageval_report.types import FloatArray

# Up to this many distinct values, far enough apart, have a bar each.
_MOST_LEVELS = 15
_LEAST_GAP = 0.03
# With fewer distinct values than this share of the queries, queries share values.
_SHARED = 0.6


@dataclass(frozen=True, eq=False)
class Bars:
    """The bars of a distribution, and the limits of its axis."""

    centres: FloatArray
    widths: FloatArray
    counts: FloatArray
    limits: tuple[float, float]
    levels: bool


def bars_of(values: FloatArray, metric: Metric) -> Bars:
    """One bar per level if there are few levels, else bins of equal width from bound to bound.

    Examples
    --------
    >>> bars_of(np.array([1.0, 2.0, 2.0, 4.0]), Metric("rating", kind="ordinal")).counts.tolist()
    [1.0, 2.0, 0.0, 1.0]
    """
    low, high = data_limits(values, [metric])
    steps = np.arange(np.floor(low), np.ceil(high) + 1.0)
    # From the bounds, so that a level that no query has keeps its place.
    if metric.kind == "ordinal" and steps.size <= _MOST_LEVELS and np.isin(values, steps).all():
        return _bars_of_levels(values, steps, 0.7, (low, high))
    levels = np.unique(values)
    if levels.size == 1:
        return _bars_of_levels(values, levels, (high - low) * 0.1 or 1.0, (low, high))
    gap = float(np.diff(levels).min())
    if is_lattice(values) and gap >= _LEAST_GAP * (high - low):
        return _bars_of_levels(values, levels, min(0.7 * gap, 0.1 * (high - low)), (low, high))
    edges = np.linspace(low, high, _n_bins(values.size) + 1)
    counts = np.histogram(values, edges)[0].astype(np.float64)
    return Bars((edges[:-1] + edges[1:]) / 2, np.diff(edges), counts, (low, high), levels=False)


def is_lattice(values: FloatArray) -> bool:
    """Whether the scores have few distinct values, each shared by several queries.

    Examples
    --------
    >>> is_lattice(np.array([0.0, 0.5, 0.5, 1.0, 1.0])), is_lattice(np.array([0.1, 0.2, 0.3]))
    (True, False)
    """
    return np.unique(values).size <= min(_MOST_LEVELS, _SHARED * values.size)


def _bars_of_levels(
    values: FloatArray, levels: FloatArray, width: float, limits: tuple[float, float]
) -> Bars:
    counts = np.array([(values == level).sum() for level in levels], dtype=np.float64)
    widths = np.full(levels.size, width)
    ends = min(limits[0], levels[0] - width / 2), max(limits[1], levels[-1] + width / 2)
    return Bars(levels, widths, counts, ends, levels=True)


def _n_bins(n: int) -> int:
    # Round numbers, so that the edges of scores between 0 and 1 are at 0.1, 0.05 or 0.025.
    return 10 if n < 50 else 20 if n < 1000 else 40

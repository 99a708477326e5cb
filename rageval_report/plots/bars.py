"""The bars of a distribution: one per level if there are few levels, else bins of equal width."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rageval_report.plots.subjects import ScoreCounts, data_limits
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


def bars_of(counted: ScoreCounts, metric: Metric) -> Bars:
    """One bar per level if there are few levels, else bins of equal width from bound to bound."""
    levels = counted.levels
    low, high = data_limits(levels, [metric])
    steps = np.arange(np.floor(low), np.ceil(high) + 1.0)
    # From the bounds, so that a level that no query has keeps its place.
    if metric.kind == "ordinal" and steps.size <= _MOST_LEVELS and np.isin(levels, steps).all():
        return _bars_of_levels(counted, steps, 0.7, (low, high))
    if levels.size == 1:
        return _bars_of_levels(counted, levels, (high - low) * 0.1 or 1.0, (low, high))
    gap = float(np.diff(levels).min())
    if is_lattice(counted) and gap >= _LEAST_GAP * (high - low):
        return _bars_of_levels(counted, levels, min(0.7 * gap, 0.1 * (high - low)), (low, high))
    edges = np.linspace(low, high, _n_bins(counted.n) + 1)
    counts = np.histogram(levels, edges, weights=counted.counts)[0]
    return Bars((edges[:-1] + edges[1:]) / 2, np.diff(edges), counts, (low, high), levels=False)


def is_lattice(counted: ScoreCounts) -> bool:
    """Whether the scores have few distinct values, each shared by several queries."""
    return counted.levels.size <= min(_MOST_LEVELS, _SHARED * counted.n)


def _bars_of_levels(
    counted: ScoreCounts, levels: FloatArray, width: float, limits: tuple[float, float]
) -> Bars:
    counts = np.zeros(levels.size)
    counts[np.searchsorted(levels, counted.levels)] = counted.counts
    widths = np.full(levels.size, width)
    ends = min(limits[0], levels[0] - width / 2), max(limits[1], levels[-1] + width / 2)
    return Bars(levels, widths, counts, ends, levels=True)


def _n_bins(n: int) -> int:
    # Round numbers, so that the edges of scores between 0 and 1 are at 0.1, 0.05 or 0.025.
    return 10 if n < 50 else 20 if n < 1000 else 40

"""Order statistics in two passes: a histogram says between which numbers they lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats.states.power_sums import PowerSums
from rageval_report.types import FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class OrderBracket:
    """A range of scores that contains some of the sorted scores.

    Parameters
    ----------
    low, high : float
        The range: scores at least `low` and below `high`.
    first : int
        The rank of the first score inside it, counted from 0.
    n : int
        The number of scores inside it.

    Examples
    --------
    >>> OrderBracket(0.25, 0.5, 10, 3).select(np.array([0.1, 0.25, 0.4, 0.5]))
    array([0.25, 0.4 ])
    """

    low: float
    high: float
    first: int
    n: int

    def select(self, values: npt.ArrayLike) -> FloatArray:
        """The scores of a part of the rows that lie inside."""
        scores = np.asarray(values)
        inside = scores[(scores >= self.low) & (scores < self.high)]
        return inside.astype(np.float64, copy=False)


def bracket_ranks(sums: PowerSums, ranks: IndexArray) -> tuple[OrderBracket, ...]:
    """The brackets that contain the scores of these ranks, by the histogram of the sums.

    Examples
    --------
    >>> sums = PowerSums.of(np.arange(1000) / 7, 2, has_bins=True)
    >>> bracket, = bracket_ranks(sums, np.array([500]))
    >>> bracket.first, bracket.n, bracket.low <= 500 / 7 < bracket.high
    (500, 1, True)
    """
    edges, counts = _edges_and_counts(sums)
    below = np.concatenate(([0], np.cumsum(counts)))
    places = np.unique(np.searchsorted(below, ranks, side="right") - 1)
    return tuple(
        OrderBracket(
            float(edges[place]), float(edges[place + 1]), int(below[place]), int(counts[place])
        )
        for place in places.tolist()
    )


def in_brackets(
    brackets: Sequence[OrderBracket], inside: Sequence[npt.ArrayLike]
) -> Callable[[IndexArray], FloatArray]:
    """A function that gives the scores at some ranks, from the scores inside the brackets.

    Parameters
    ----------
    brackets : sequence of OrderBracket
        The brackets, in ascending order.
    inside : sequence of array-like
        The scores inside each. If empty, scores are taken to be spread evenly over each bracket.

    Raises
    ------
    DataError
        If there are more or fewer scores inside a bracket than were counted: the data changed
        between the two passes.

    Examples
    --------
    >>> at_ranks = in_brackets([OrderBracket(0.25, 0.5, 10, 2)], [[0.4, 0.3]])
    >>> at_ranks(np.array([10, 11]))
    array([0.3, 0.4])
    """
    if not inside:
        ordered = [each.low + (each.high - each.low) * _even_shares(each.n) for each in brackets]
    else:
        ordered = [np.sort(np.asarray(each, dtype=np.float64)) for each in inside]
    for bracket, scores in zip(brackets, ordered, strict=True):
        if scores.size != bracket.n:
            raise DataError(
                f"expected {bracket.n} scores from {bracket.low:g} to {bracket.high:g}, as many as "
                f"the first pass counted; got {scores.size}. Did the data change meanwhile?"
            )
    firsts = np.array([bracket.first for bracket in brackets])
    starts = np.cumsum([0, *(scores.size for scores in ordered)])
    joined = np.concatenate([*ordered, np.zeros(0)])

    def at_ranks(ranks: IndexArray) -> FloatArray:
        bracket = np.searchsorted(firsts, ranks, side="right") - 1
        return np.asarray(joined[starts[bracket] + ranks - firsts[bracket]])

    return at_ranks


def _even_shares(n: int) -> FloatArray:
    return (np.arange(n) + 0.5) / n


def _edges_and_counts(sums: PowerSums) -> tuple[FloatArray, IndexArray]:
    """Edges of ranges, and the number of scores in each: of bins, and of far values beside them."""
    bins = sums.bins
    if bins is None:
        raise ValueError("these sums have no histogram")
    far = sums.far
    own = np.unique(np.concatenate((far, np.nextafter(far, np.inf))))
    outside = own[(own < bins.edges[0]) | (own > bins.edges[-1])]
    edges = np.unique(np.concatenate((bins.edges, outside)))
    counts = np.diff(np.searchsorted(far, edges, side="left"))
    start = int(np.searchsorted(edges, bins.edges[0]))
    counts[start : start + bins.counts.size] += bins.counts
    return edges, counts

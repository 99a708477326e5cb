"""Pairs of scores both of which are multiples of a step, counted together.

Each pair of two multiples is counted; the counts of each side and those of the differences follow.
So no difference is computed, and none has rounding noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.states.counted_steps import (
    BLOCK,
    MOST_COUNTS,
    CountedSteps,
    Scores,
    StepRuler,
    add_counts,
    in_coarsest_steps,
)
from rageval_report.types import IndexArray, IntArray

# So many kinds of pairs are counted at most: half a megabyte of counts. Scores of two decimals have
# 10,201 kinds.
_MOST_KINDS = 2**16


def count_paired_steps(
    baseline: Scores, candidate: Scores, rulers: tuple[Iterable[StepRuler], Iterable[StepRuler]]
) -> tuple[CountedSteps, CountedSteps, CountedSteps] | None:
    """The counts of both sides, and those of the differences, candidate minus baseline.

    Parameters
    ----------
    baseline, candidate : ndarray
        The scores of either side in the same order, of which there is at least one.
    rulers : (iterable of StepRuler, iterable of StepRuler)
        The rulers that fit some scores of either side, of which the first that fits all is taken.

    Returns
    -------
    (CountedSteps, CountedSteps, CountedSteps) or None
        None if the scores of a side are not multiples of a usual step, if there are too many kinds
        of pairs, or if differences may be rounding noise.

    Examples
    --------
    >>> sides = np.array([0.0, 1.0, 0.0]), np.array([0.5, 0.5, 0.0])
    >>> rulers = [StepRuler.fitting(side) for side in sides]
    >>> _, _, differences = count_paired_steps(*sides, rulers)
    >>> differences.denominator, differences.lowest, differences.counts
    (2, -1, array([1, 1, 1]))
    """
    untried = [iter(each) for each in rulers]
    first, second = (next(each, None) for each in untried)
    while first is not None and second is not None:
        if first.size * second.size > _MOST_KINDS:
            return None
        table = np.zeros((first.size, second.size), dtype=np.int64)
        misfit = _count_pairs((baseline, candidate), (first, second), table)
        if misfit is None:
            return _marginals(first, second, table)
        if misfit == 0:
            first = next(untried[0], None)
        else:
            second = next(untried[1], None)
    return None


def _count_pairs(
    sides: tuple[Scores, Scores], rulers: tuple[StepRuler, StepRuler], table: IntArray
) -> int | None:
    """Count the pairs of places; the number of the side that does not fit its ruler, or None."""
    size = min(sides[0].size, BLOCK)
    steps, places = np.empty(size), np.empty((2, size), dtype=np.intp)
    counts = table.reshape(-1)
    for start in range(0, sides[0].size, BLOCK):
        n = min(BLOCK, sides[0].size - start)
        for number, (side, ruler) in enumerate(zip(sides, rulers, strict=True)):
            if not ruler.place(side[start : start + n], places[number, :n], steps[:n]):
                return number
        kinds = places[0, :n]
        kinds *= rulers[1].size
        kinds += places[1, :n]
        add_counts(counts, kinds)
    return None


def _marginals(
    first: StepRuler, second: StepRuler, table: IntArray
) -> tuple[CountedSteps, CountedSteps, CountedSteps] | None:
    """The counts of both sides and of the differences, by the counts of pairs of places."""
    rows, columns = np.nonzero(table)
    return steps_of_kinds((first, second), (rows, columns), table[rows, columns])


def steps_of_kinds(
    rulers: tuple[StepRuler, StepRuler], places: tuple[IndexArray, IndexArray], counts: IntArray
) -> tuple[CountedSteps, CountedSteps, CountedSteps] | None:
    """The counts of both sides and of the differences, by how often pairs of places occur.

    Parameters
    ----------
    rulers : (StepRuler, StepRuler)
        What fits the scores of either side.
    places : (ndarray of int, ndarray of int)
        For each kind of pair its place on either ruler; there is at least one kind.
    counts : ndarray of int
        How often each kind occurs, at least once.

    Examples
    --------
    >>> ruler = next(StepRuler.fitting(np.array([0.0, 0.5, 1.0])))
    >>> kinds = np.array([0, 2]), np.array([1, 2])
    >>> _, _, differences = steps_of_kinds((ruler, ruler), kinds, np.array([3, 1]))
    >>> differences.denominator, differences.lowest, differences.counts
    (2, 0, array([1, 3]))
    """
    before, after = (
        ruler.in_coarsest_steps(_counts_at(place, counts, ruler.size))
        for ruler, place in zip(rulers, places, strict=True)
    )
    coarsest = math.lcm(before.denominator, after.denominator)
    ends = [abs(end) for side in (before, after) for end in (side.minimum, side.maximum)]
    if TIE_TOLERANCE * max(1.0, *ends) * coarsest > 0.5:
        return None
    denominator = math.lcm(*(ruler.denominator for ruler in rulers))
    lost, gained = (
        (place + ruler.lowest) * (denominator // ruler.denominator)
        for ruler, place in zip(rulers, places, strict=True)
    )
    steps = gained - lost
    lowest, highest = int(steps.min()), int(steps.max())
    # As for differences one by one, the range counts in the coarsest steps that both sides allow.
    if (highest - lowest) * coarsest >= MOST_COUNTS * denominator:
        return None
    moved = _counts_at(steps - lowest, counts, highest - lowest + 1)
    return before, after, in_coarsest_steps(denominator, lowest, moved, is_single=False)


def _counts_at(places: IndexArray, counts: IntArray, size: int) -> IntArray:
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, places, counts)
    return total

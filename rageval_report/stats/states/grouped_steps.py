"""Pairs of scores on lattices, counted in every group of queries at once, without sorting them.

Each side's scores become places on one ruler, looked for once per column. One count of the kinds
(group, place before, place after) then has every number of every group.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_report.stats.states.column_state import DIFFERENCES, SIDE_OF_PAIRS, ColumnState
from rageval_report.stats.states.counted_steps import BLOCK, StepRuler
from rageval_report.stats.states.pair_state import summary_of_steps
from rageval_report.stats.states.paired_steps import steps_of_kinds
from rageval_report.stats.states.state_pairs import PairSummary
from rageval_report.types import FloatArray, IndexArray, IntArray

# So many kinds at most: four megabytes of counts.
_MOST_KINDS = 2**19
# So many pairs are counted at a time: a few arrays of them stay in the second-level cache.
_COUNTED = 2**15
# Of rulers with as few multiples all are kinds, whether they occur or not.
_SHORT = 16

SmallIntegers = npt.NDArray[np.integer[Any]]


def summarise_groups(
    baseline: FloatArray, candidate: FloatArray, groups: SmallIntegers, n_groups: int
) -> list[PairSummary] | None:
    """What is known of the pairs of each group, if both sides are on a lattice.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of both sides, at least one.
    groups : ndarray of int, shape (n,)
        The group of each pair, from 0.
    n_groups : int
        The number of groups, each of which has a pair.

    Returns
    -------
    list of PairSummary or None
        One per group, as `pair_state.summarise_pairs` makes them; None if a side is not on a usual
        lattice, a score is missing, or there are too many kinds of pairs.

    Examples
    --------
    >>> sides = np.array([0.0, 1.0, 0.0, 0.5]), np.array([0.5, 0.5, 0.0, 1.0])
    >>> first, second = summarise_groups(*sides, np.array([0, 1, 0, 1]), 2)
    >>> first.n_positive, first.n_negative, second.differences.steps.counts
    (1, 0, array([1, 0, 1]))
    """
    placed = place_scores(baseline)
    others = None if placed is None else place_scores(candidate)
    if placed is None or others is None:
        return None
    (first, rows), (second, columns) = placed, others
    # Reciprocal ranks are ten of 2,269 multiples: only those that occur are kinds.
    (is_before, rows), (is_after, columns) = _compact(rows, first), _compact(columns, second)
    n_kinds = is_before.size * is_after.size
    if n_groups * n_kinds > _MOST_KINDS:
        return None
    table = _count_kinds(groups, rows, columns, (n_groups, is_after.size, n_kinds))
    summaries = []
    for counts in table:
        kinds = np.flatnonzero(counts)
        before, after = np.divmod(kinds, is_after.size)
        places = is_before[before], is_after[after]
        steps = steps_of_kinds((first, second), places, counts[kinds])
        if steps is None:
            return None
        sides = (ColumnState(SIDE_OF_PAIRS, steps=side) for side in steps[:2])
        summaries.append(
            summary_of_steps((next(sides), next(sides)), ColumnState(DIFFERENCES, steps=steps[2]))
        )
    return summaries


def place_scores(scores: FloatArray) -> tuple[StepRuler, SmallIntegers] | None:
    """The first ruler that fits all scores, and the place of each on it; None if none fits.

    Examples
    --------
    >>> ruler, places = place_scores(np.array([0.5, 1.0, 0.5]))
    >>> ruler.denominator, places
    (2, array([0, 1, 0], dtype=int32))
    """
    # In half of the memory that whole numbers of the usual size take.
    places: IndexArray = np.empty(scores.size, dtype=np.int32)
    steps = np.empty(min(scores.size, BLOCK))
    for ruler in StepRuler.fitting(scores):
        # Of numbers so large that some multiples meet each group would need a look of its own.
        if not ruler.is_certain:
            return None
        blocks = (slice(start, start + BLOCK) for start in range(0, scores.size, BLOCK))
        if all(
            ruler.place(scores[block], places[block], steps[: scores[block].size])
            for block in blocks
        ):
            return ruler, places
    return None


def _compact(places: SmallIntegers, ruler: StepRuler) -> tuple[IntArray, SmallIntegers]:
    """The places that occur, and the number of each place among them; all places of a short one."""
    if ruler.size <= _SHORT:
        return np.arange(ruler.size), places
    is_occupied = np.zeros(ruler.size, dtype=bool)
    is_occupied[places] = True
    numbers = np.cumsum(is_occupied) - 1
    return np.flatnonzero(is_occupied), numbers.astype(np.int32)[places]


def _count_kinds(
    groups: SmallIntegers, rows: SmallIntegers, columns: SmallIntegers, shape: tuple[int, int, int]
) -> IntArray:
    """How often each kind occurs in each group: one row per group."""
    n_groups, width, n_kinds = shape
    counts = np.zeros(n_groups * n_kinds, dtype=np.int64)
    for start in range(0, rows.size, _COUNTED):
        part = slice(start, start + _COUNTED)
        kinds = np.multiply(groups[part], n_kinds, dtype=np.intp)
        kinds += np.multiply(rows[part], width, dtype=np.intp)
        kinds += columns[part]
        counts += np.bincount(kinds, minlength=counts.size)
    return counts.reshape(n_groups, n_kinds)

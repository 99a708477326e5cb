"""Ranks of documents, by searching sorted scores; ids are not sorted.

Ids are compared only if a document whose rank is wanted shares its score with another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from operator import eq, gt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rageval_report.errors import DataError
from rageval_report.types import BoolArray, FloatArray, IntArray

Objects = NDArray[np.object_]

# Documents searched at a time: what each step of the search writes stays in the processor's cache.
_BLOCK = 1 << 14

# Cells sorted at a time, one row per query: NumPy sorts many short rows faster than one long one.
_CELLS = 1 << 16

# Groups of equal score up to this size are compared all with all; larger ones are sorted.
_FEW = 16


def starts_of(lengths: IntArray) -> IntArray:
    """Where the rows of each query begin."""
    return np.cumsum(lengths) - lengths


def spread(starts: IntArray, lengths: IntArray) -> IntArray:
    """The ranges that begin at `starts` and have these lengths, one after the other."""
    return np.arange(int(lengths.sum())) + np.repeat(starts - starts_of(lengths), lengths)


def from_the_best(scores: FloatArray, lengths: IntArray) -> FloatArray:
    """The negated scores of each query, ascending; the rows of a query stand together."""
    # Negated, so that an ascending sort puts the best first and NaN, the padding, behind all.
    negated = -scores
    # Run files are mostly written best first, and a check is much cheaper than a sort.
    if _ascends(negated, lengths):
        return negated
    for _, rows, inside, square in _squares(negated, lengths):
        square.sort(axis=1)
        negated[rows] = square[inside]
    return negated


def _squares(
    values: FloatArray, lengths: IntArray
) -> Iterator[tuple[IntArray, IntArray | slice, BoolArray, FloatArray]]:
    """The values of some queries at a time, one row per query, padded with NaN.

    Yields
    ------
    starts : ndarray of shape (n,)
        Where the values of each query begin.
    rows : ndarray or slice
        Which values these are.
    inside : ndarray of shape (n, width)
        Which cells are not padding.
    square : ndarray of shape (n, width)
        The values and the padding.
    """
    starts = starts_of(lengths)
    for queries in groups_of_similar_length(lengths):
        rows, inside = rows_of(queries, starts, lengths), is_inside(lengths[queries])
        if inside.all():  # lists of one length
            yield starts[queries], rows, inside, values[rows].reshape(inside.shape)
            continue
        square = np.full(inside.shape, np.nan)
        square[inside] = values[rows]
        yield starts[queries], rows, inside, square


def groups_of_similar_length(lengths: IntArray) -> Iterator[IntArray]:
    """Queries with a similar number of rows (within a factor of 2), as many as fit the cache."""
    # The binary exponent: at most half of each row is then padding.
    scale = np.frexp(lengths)[1]
    for size in np.unique(scale[lengths > 0]).tolist():
        queries = np.flatnonzero(scale == size)
        step = max(1, _CELLS >> size)
        for first in range(0, len(queries), step):
            yield queries[first : first + step]


def rows_of(queries: IntArray, starts: IntArray, lengths: IntArray) -> IntArray | slice:
    """The rows of some queries, whose codes ascend."""
    first, last = int(queries[0]), int(queries[-1])
    # Neighbouring queries are one slice, which needs no index array and no copy.
    if last - first + 1 == len(queries):
        return slice(int(starts[first]), int(starts[last] + lengths[last]))
    return spread(starts[queries], lengths[queries])


def is_inside(lengths: IntArray) -> BoolArray:
    """Which cells are not padding, if each list is a row of a square."""
    inside: BoolArray = np.arange(lengths.max()) < lengths[:, None]
    return inside


def _ascends(values: FloatArray, lengths: IntArray) -> bool:
    falls = values[1:] < values[:-1]
    if not falls.any():
        return True
    inner = starts_of(lengths)[1:]
    # From one query to the next the values may fall; empty lists at the ends have no such step.
    falls[inner[(inner > 0) & (inner < len(values))] - 1] = False
    return not falls.any()


def _rows_from_the_best(
    scores: FloatArray, lengths: IntArray, kind: Literal["quicksort", "stable"]
) -> IntArray:
    """The rows of each query in the order of `from_the_best`."""
    order = np.empty(len(scores), np.int64)
    for starts, rows, inside, square in _squares(-scores, lengths):
        places = square.argsort(axis=1, kind=kind)
        order[rows] = (starts[:, None] + places)[inside]
    return order


def n_better(
    ordered: FloatArray, lengths: IntArray, query: IntArray, scores: FloatArray
) -> tuple[IntArray, BoolArray]:
    """How many documents of the same query score more than each one, and whether some are equal.

    Parameters
    ----------
    ordered : ndarray
        The result of `from_the_best`.
    lengths : ndarray of shape (n_queries,)
        The rows of each query.
    query, scores : ndarray of shape (n,)
        The documents in question; each is one of the rows.
    """
    slot = _n_below(ordered, lengths, query, -scores, np.less)
    after = np.minimum(slot + 1, len(ordered) - 1)
    tied = ordered[after] == ordered[slot]
    # The next row may be the first of the next query, whose score says nothing.
    tied &= slot + 1 < np.cumsum(lengths)[query]
    return slot - starts_of(lengths)[query], tied


def n_better_at(
    ordered: FloatArray, scores: FloatArray, lengths: IntArray, query: IntArray, place: IntArray
) -> tuple[IntArray, BoolArray]:
    """As `n_better`, for documents that are known by their places among all scores.

    If the run is in order already, as most are, the places are the ranks and nothing is searched.
    """
    if not (ordered == -scores).all():
        return n_better(ordered, lengths, query, scores[place])
    starts = starts_of(lengths)
    is_first = np.ones(len(ordered) + 1, dtype=bool)
    is_first[1:-1] = ordered[1:] != ordered[:-1]
    is_first[starts] = True
    tied: BoolArray = ~(is_first[place] & is_first[place + 1])
    if tied.any():  # the rank of the first of equal scores
        first = np.flatnonzero(is_first)
        place = place.copy()
        place[tied] = first[np.searchsorted(first, place[tied], side="right") - 1]
    return place - starts[query], tied


def _n_below(
    ordered: FloatArray, lengths: IntArray, query: IntArray, values: FloatArray, below: np.ufunc
) -> IntArray:
    """The row up to which values of the same query are below each one, which is among them."""
    starts = starts_of(lengths)
    slot = np.empty(len(query), np.int64)
    for first in range(0, len(query), _BLOCK):
        block = slice(first, first + _BLOCK)
        codes = query[block]
        slot[block] = _bisect(ordered, starts[codes], lengths[codes], values[block], below)
    return slot


def _bisect(
    ordered: FloatArray, low: IntArray, length: IntArray, values: FloatArray, below: np.ufunc
) -> IntArray:
    """Halve the rows in question until one is left: the same steps for all, without a branch."""
    for _ in range((int(length.max()) - 1).bit_length()):
        half = length >> 1
        length = length - half
        # A multiplication instead of a branch: the step is 0 or half, for all rows at once.
        half *= below(ordered[low + half - 1], values)
        low += half
    low += below(ordered[low], values)
    return low


def is_tied(ordered: FloatArray, lengths: IntArray) -> BoolArray:
    """Which rows have a neighbour with the same score in the same query."""
    same = ordered[1:] == ordered[:-1]
    if same.any():
        inner = starts_of(lengths)[1:]
        same[inner[(inner > 0) & (inner < len(ordered))] - 1] = False
    tied = np.zeros(len(ordered), dtype=bool)
    tied[1:] |= same
    tied[:-1] |= same
    return tied


def n_tied(ordered: FloatArray, lengths: IntArray) -> IntArray:
    """How many documents of each query share their score with another."""
    tied = is_tied(ordered, lengths)
    if not tied.any():
        return np.zeros(len(lengths), np.int64)
    ends = np.searchsorted(np.flatnonzero(tied), np.cumsum(lengths))
    return np.diff(ends, prepend=0).astype(np.int64)


# -- among equal scores


def n_equal_ahead(
    scores: FloatArray,
    lengths: IntArray,
    query: IntArray,
    rank: IntArray,
    doc: Objects,
    ids_of: Callable[[IntArray], Objects],
    *,
    by_id: bool,
) -> IntArray:
    """How many documents of the same query and score go ahead of each one.

    Parameters
    ----------
    scores : ndarray
        The scores of all rows; the rows of a query stand together.
    lengths : ndarray of shape (n_queries,)
        The rows of each query.
    query, rank, doc : ndarray of shape (n,)
        The documents in question: query, number of better ones (`n_better`), and id.
    ids_of : callable
        A function that returns the ids of some rows.
    by_id : bool
        Whether of equal scores the later id goes first; otherwise the order of the rows decides.

    Raises
    ------
    DataError
        If an id is not a text.
    """
    # If ids decide among equals, their order in the run is irrelevant and the faster sort will do.
    order = _rows_from_the_best(scores, lengths, "quicksort" if by_id else "stable")
    ordered = -scores[order]
    low = starts_of(lengths)[query] + rank
    high = _n_below(ordered, lengths, query, ordered[low], np.less_equal)
    # Only the ids of tied documents become Python objects, which are slow.
    in_groups = _is_covered(low, high, len(order))
    first, size = (np.cumsum(in_groups) - 1)[low], high - low
    try:
        return _n_ahead_in_groups(ids_of(order[in_groups]), first, size, doc, by_id=by_id)
    except TypeError as exc:
        raise DataError(f"document ids must all be texts; {exc}") from exc


def distinct_queries(query: IntArray, n_queries: int) -> tuple[IntArray, IntArray]:
    """The distinct queries, ascending, and for each row the position of its query among them."""
    is_used = np.zeros(n_queries, dtype=bool)
    is_used[query] = True
    return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[query]


def _is_covered(low: IntArray, high: IntArray, n: int) -> BoolArray:
    """Which of `n` places lie in one of the ranges, which are equal or disjoint."""
    # Ranges are equal or disjoint, so the running sum is 0 or 1 and eight bits hold it.
    step = np.zeros(n + 1, np.int8)
    step[high] = -1
    step[low] += 1  # a range may begin where another ends
    covered: BoolArray = np.cumsum(step[:n], dtype=np.int8) > 0
    return covered


def _n_ahead_in_groups(
    ids: Objects, first: IntArray, size: IntArray, doc: Objects, *, by_id: bool
) -> IntArray:
    """How many documents of its group (`size` ids from `first` on) go ahead of each one."""
    ahead = np.empty(len(doc), np.int64)
    few = np.flatnonzero(size <= _FEW)
    for start in range(0, len(few), _BLOCK):
        block = few[start : start + _BLOCK]
        ahead[block] = _n_ahead_of_few(ids, first[block], size[block], doc[block], by_id=by_id)
    many = np.flatnonzero(size > _FEW)
    ahead[many] = _n_ahead_of_many(ids, first[many], size[many], doc[many], by_id=by_id)
    return ahead


def _n_ahead_of_few(
    ids: Objects, first: IntArray, size: IntArray, doc: Objects, *, by_id: bool
) -> IntArray:
    """Compare each document with all of its group."""
    other = spread(first, size)
    repeated = chain.from_iterable(map(repeat, doc.tolist(), size.tolist()))
    # Later ids go first, as in trec_eval, so each greater id is ahead.
    pairs = map(gt if by_id else eq, ids[other].tolist(), repeated)
    holds = np.fromiter(pairs, dtype=bool, count=len(other))
    if by_id:
        ahead: IntArray = np.add.reduceat(holds, starts_of(size), dtype=np.int64)
    else:
        ahead = other[holds] - first  # each is once equal to itself
    return ahead


def _n_ahead_of_many(
    ids: Objects, first: IntArray, size: IntArray, doc: Objects, *, by_id: bool
) -> list[int]:
    """Sort each group once."""
    groups: dict[int, dict[Any, int]] = {}
    ahead = []
    for start, length, id_ in zip(first.tolist(), size.tolist(), doc.tolist(), strict=True):
        if start not in groups:
            group: Sequence[Any] = ids[start : start + length].tolist()
            # Descending by code point, as strcmp of trec_eval orders the bytes of UTF-8.
            group = sorted(group, reverse=True) if by_id else group
            groups[start] = {member: place for place, member in enumerate(group)}
        ahead.append(groups[start][id_])
    return ahead

"""Ranks of documents, by searching sorted scores; ids are not sorted.

Ids are compared only if a document whose rank is wanted shares its score with another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rageval_report.errors import DataError
from rageval_report.types import BoolArray, FloatArray, IntArray

Objects = NDArray[np.object_]

# Documents searched at a time: what each step of the search writes stays in the processor's cache.
_BLOCK = 1 << 14

# Cells sorted at a time, one row per query: NumPy sorts many short rows faster than one long one.
_CELLS = 1 << 16

# Lists are sorted where they stand if a list of another length comes at most once in so many.
_FEW_TURNS = 16

# Groups of equal score up to this size are compared all with all; larger ones are sorted.
_FEW = 16

# Up to one place in so many is searched for; for more, numbering all places is faster.
_FEW_SEARCHES = 16


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
    for _, rows, inside, square in _squares(negated, lengths, _groups(lengths)):
        square.sort(axis=1)
        negated[rows] = square.ravel() if inside is None else square[inside]
    return negated


def _squares(
    values: FloatArray, lengths: IntArray, groups: Iterable[IntArray]
) -> Iterator[tuple[IntArray, IntArray | slice, BoolArray | None, FloatArray]]:
    """The values of each group of queries, one row per query, padded with NaN.

    Yields
    ------
    starts : ndarray of shape (n,)
        Where the values of each query begin.
    rows : ndarray or slice
        Which values these are.
    inside : ndarray of shape (n, width), or None
        Which cells are not padding; None if there is no padding.
    square : ndarray of shape (n, width)
        The values and the padding.
    """
    starts = starts_of(lengths)
    for queries in groups:
        rows, sizes = rows_of(queries, starts, lengths), lengths[queries]
        if (sizes == sizes[0]).all():
            yield starts[queries], rows, None, values[rows].reshape(len(queries), -1)
            continue
        inside = is_inside(sizes)
        square = np.full(inside.shape, np.nan)
        square[inside] = values[rows]
        yield starts[queries], rows, inside, square


def _groups(lengths: IntArray) -> Iterator[IntArray]:
    """Queries whose lists are sorted together; empty lists are in no group."""
    turns = np.flatnonzero(lengths[1:] != lengths[:-1]) + 1
    if _FEW_TURNS * len(turns) > len(lengths):
        yield from groups_of_similar_length(lengths)
        return
    # Neighbours of one length need no padding, and are sorted where they stand.
    for neighbours in np.split(np.arange(len(lengths)), turns):
        size = int(lengths[neighbours[0]]) if len(neighbours) else 0
        step = max(1, _CELLS // max(size, 1))
        for first in range(0, len(neighbours) if size else 0, step):
            yield neighbours[first : first + step]


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


def rows_from_the_best(scores: FloatArray, lengths: IntArray, queries: IntArray) -> IntArray:
    """The row of each place of `from_the_best`, for some queries; equal scores in any order."""
    return _sort_with_rows(0.0 - scores, lengths, queries)


def with_rows_from_the_best(scores: FloatArray, lengths: IntArray) -> tuple[FloatArray, IntArray]:
    """The results of `from_the_best` and `rows_from_the_best` for all queries, by one sort."""
    negated = 0.0 - scores
    row_at = _sort_with_rows(negated, lengths, np.arange(len(lengths)))
    return negated, row_at


def _sort_with_rows(negated: FloatArray, lengths: IntArray, queries: IntArray) -> IntArray:
    """Sort the negated scores of some queries in place, and return the row of each place.

    Parameters
    ----------
    negated : ndarray
        The negated scores, query after query; no -0.0, as `0.0 - scores` has none.
    """
    if _ascends(negated, lengths):
        return np.arange(len(negated))
    row_at = np.empty(len(negated), np.int64)
    groups = (queries[group] for group in _groups(lengths[queries]))
    for starts, rows, inside, square in _squares(negated, lengths, groups):
        ordered, row = _argsort(square)
        row += (starts - square.shape[1] * np.arange(len(square)))[:, None]
        negated[rows] = ordered.ravel() if inside is None else ordered[inside]
        row_at[rows] = row.ravel() if inside is None else row[inside]
    return row_at


def _argsort(square: FloatArray) -> tuple[FloatArray, IntArray]:
    """The values of each row in ascending order, and their places in the square; none is -0.0.

    The place of each value replaces its lowest bits, because numbers are sorted twice as fast as
    places by numbers. Values that differ in those bits only may come out in the wrong order; then
    places are sorted after all.
    """
    n_rows, width = square.shape
    values, first = square.ravel(), width * np.arange(n_rows)[:, None]
    # An infinity with other bits is NaN, and sorting makes all NaN, so the padding too, the same.
    if np.isfinite(values).all():
        low = (1 << width.bit_length()) - 1
        keys = square.view(np.int64) & ~low
        keys |= np.arange(width)
        keys.view(np.float64).sort(axis=1)
        keys &= low
        keys += first
        ordered = values.take(keys)
        if not (ordered[:, 1:] < ordered[:, :-1]).any():
            return ordered, keys
    keys = square.argsort(axis=1) + first
    return values.take(keys), keys


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
    slot = _n_below(ordered, lengths, query, -scores)
    after = np.minimum(slot + 1, len(ordered) - 1)
    tied = ordered[after] == ordered[slot]
    # The next row may be the first of the next query, whose score says nothing.
    tied &= slot + 1 < np.cumsum(lengths)[query]
    return slot - starts_of(lengths)[query], tied


def n_better_at(
    ordered: FloatArray,
    scores: FloatArray,
    lengths: IntArray,
    query: IntArray,
    row: IntArray,
    row_at: IntArray | None = None,
) -> tuple[IntArray, BoolArray]:
    """As `n_better`, for documents that are known by their rows.

    If the run is in order already, as most are, the rows are the places, and if `row_at`, the
    result of `rows_from_the_best` for all queries, is given, it says the places. Then nothing is
    searched.
    """
    if (ordered == -scores).all():
        place = row.copy()
    elif row_at is not None:
        place_of = np.empty(len(row_at), np.int64)
        place_of[row_at] = np.arange(len(row_at))
        place = place_of[row]
    else:
        return n_better(ordered, lengths, query, scores[row])
    first = _is_first(ordered, lengths)
    tied: BoolArray = ~(first[place] & first[place + 1])
    if tied.any():
        place[tied] = _bounds_of(first, place[tied])[0]
    return place - starts_of(lengths)[query], tied


def _n_below(
    ordered: FloatArray, lengths: IntArray, query: IntArray, values: FloatArray
) -> IntArray:
    """The row up to which values of the same query are below each one, which is among them."""
    starts = starts_of(lengths)
    slot = np.empty(len(query), np.int64)
    for first in range(0, len(query), _BLOCK):
        block = slice(first, first + _BLOCK)
        codes = query[block]
        slot[block] = _bisect(ordered, starts[codes], lengths[codes], values[block])
    return slot


def _bisect(ordered: FloatArray, low: IntArray, length: IntArray, values: FloatArray) -> IntArray:
    """Halve the rows in question until one is left: the same steps for all, without a branch."""
    for _ in range((int(length.max()) - 1).bit_length()):
        half = length >> 1
        length = length - half
        # A multiplication instead of a branch: the step is 0 or half, for all rows at once.
        half *= ordered[low + half - 1] < values
        low += half
    low += ordered[low] < values
    return low


def _is_first(ordered: FloatArray, lengths: IntArray) -> BoolArray:
    """Which places have a lower score than the place before in their query; the end counts too."""
    first = np.ones(len(ordered) + 1, dtype=bool)
    first[1:-1] = ordered[1:] != ordered[:-1]
    first[starts_of(lengths)] = True
    return first


def equals_of(ordered: FloatArray, lengths: IntArray, place: IntArray) -> tuple[IntArray, IntArray]:
    """Where the scores that are equal to those in some places begin, and where they end.

    Parameters
    ----------
    ordered : ndarray
        The result of `from_the_best`.
    lengths : ndarray of shape (n_queries,)
        The rows of each query.
    place : ndarray of shape (n,)
        The places.
    """
    return _bounds_of(_is_first(ordered, lengths), place)


def _bounds_of(first: BoolArray, place: IntArray) -> tuple[IntArray, IntArray]:
    bounds = np.flatnonzero(first)
    if _FEW_SEARCHES * len(place) < len(first):
        number = np.searchsorted(bounds, place, side="right")
    else:
        number = np.cumsum(first, dtype=np.int64)[place]
    return bounds[number - 1], bounds[number]


def is_tied(ordered: FloatArray, lengths: IntArray) -> BoolArray:
    """Which places share their score with another one of the same query."""
    first = _is_first(ordered, lengths)
    return ~(first[:-1] & first[1:])


def n_tied(ordered: FloatArray, lengths: IntArray) -> IntArray:
    """How many documents of each query share their score with another."""
    counts = np.zeros(len(lengths), np.int64)
    tied = is_tied(ordered, lengths)
    if tied.any():
        # An empty list has no place at which a sum could begin.
        filled = np.flatnonzero(lengths)
        counts[filled] = np.add.reduceat(tied, starts_of(lengths)[filled], dtype=np.int64)
    return counts


# -- among equal scores


class RankedDocuments(Protocol):
    """The documents of a run, and those whose ranks are in question, which have numbers from 0."""

    def go_ahead(self, rows: IntArray, numbers: IntArray) -> BoolArray:
        """Whether documents of the run go ahead of others of equal score, pair by pair.

        Of a document in question all pairs are in one call.
        """

    def ids(self, rows: IntArray) -> Objects:
        """The ids of documents of the run."""

    def ids_in_question(self, numbers: IntArray) -> Objects:
        """The ids of documents in question."""


def n_equal_ahead(
    row_at: IntArray, low: IntArray, high: IntArray, documents: RankedDocuments, *, by_id: bool
) -> IntArray:
    """How many documents of the same query and score go ahead of each one in question.

    Parameters
    ----------
    row_at : ndarray
        The result of `rows_from_the_best`.
    low, high : ndarray of shape (n,)
        The result of `equals_of` for the documents in question.
    documents : RankedDocuments
        The ids.
    by_id : bool
        Whether of equal scores the later id goes first; otherwise the order of the rows decides.

    Raises
    ------
    DataError
        If an id is not a text.
    """
    size = high - low
    ahead = np.empty(len(low), np.int64)
    few, many = np.flatnonzero(size <= _FEW), np.flatnonzero(size > _FEW)
    try:
        for start in range(0, len(few), _BLOCK):
            block = few[start : start + _BLOCK]
            rows = row_at[spread(low[block], size[block])]
            holds = documents.go_ahead(rows, np.repeat(block, size[block]))
            ahead[block] = np.add.reduceat(holds, starts_of(size[block]), dtype=np.int64)
        groups = zip(low[many].tolist(), high[many].tolist(), strict=True)
        ids = documents.ids_in_question(many).tolist()
        ahead[many] = _n_ahead_of_many(row_at, groups, ids, documents, by_id=by_id)
    except TypeError as exc:
        raise DataError(f"document ids must all be texts; {exc}") from exc
    return ahead


def queries_in_question(query: IntArray, n_queries: int) -> IntArray:
    """The distinct queries, ascending, or simply all if most are among them."""
    is_used = np.zeros(n_queries, dtype=bool)
    is_used[query] = True
    # Neighbouring lists are sorted where they stand, which outweighs sorting some in vain.
    if 2 * np.count_nonzero(is_used) > n_queries:
        return np.arange(n_queries)
    return np.flatnonzero(is_used)


def _n_ahead_of_many(
    row_at: IntArray,
    groups: Iterable[tuple[int, int]],
    ids: list[Any],
    documents: RankedDocuments,
    *,
    by_id: bool,
) -> list[int]:
    """Sort each group once."""
    places: dict[int, dict[Any, int]] = {}
    ahead = []
    for (low, high), id_ in zip(groups, ids, strict=True):
        if low not in places:
            rows = row_at[low:high]
            # Descending by code point, as strcmp of trec_eval orders the bytes of UTF-8.
            group: Sequence[Any] = documents.ids(rows if by_id else np.sort(rows)).tolist()
            group = sorted(group, reverse=True) if by_id else group
            places[low] = {member: place for place, member in enumerate(group)}
        ahead.append(places[low][id_])
    return ahead

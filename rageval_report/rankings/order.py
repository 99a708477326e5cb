"""Where documents stand in rankings: ranks by searching sorted scores, without sorting an id.

Ids are looked at only where a document in question shares its score with another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from operator import eq, gt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rageval_report.errors import DataError
from rageval_report.rankings.hits import Codes, Floats

Flags = NDArray[np.bool_]
Objects = NDArray[np.object_]

# Searched at a time, so that what a step of the search writes stays in the processor's cache.
_BLOCK = 1 << 14

# Sorted at a time: the cells of a square, a query a row.
_CELLS = 1 << 16

# Up to so many documents of one score each is compared with each; more are sorted.
_FEW = 16


def starts_of(lengths: Codes) -> Codes:
    """Where the rows of each query begin."""
    return np.cumsum(lengths) - lengths


def spread(starts: Codes, lengths: Codes) -> Codes:
    """The ranges that begin at `starts` and are so long, one after the other."""
    return np.arange(int(lengths.sum())) + np.repeat(starts - starts_of(lengths), lengths)


def from_the_best(scores: Floats, lengths: Codes) -> Floats:
    """The negated scores of each query, ascending; rows of a query stand together."""
    negated = -scores
    if _ascends(negated, lengths):
        return negated
    for _, rows, inside, square in _squares(negated, lengths):
        square.sort(axis=1)
        negated[rows] = square[inside]
    return negated


def _squares(
    values: Floats, lengths: Codes
) -> Iterator[tuple[Codes, Codes | slice, Flags, Floats]]:
    """The values of each query as a row, filled up with NaN; some queries at a time.

    Yields
    ------
    starts : ndarray of shape (n,)
        Where the values of each query begin.
    rows : ndarray or slice
        Which values are taken.
    inside : ndarray of shape (n, width)
        Where they stand.
    square : ndarray of shape (n, width)
        They themselves, and NaN.
    """
    starts = starts_of(lengths)
    for queries in alike(lengths):
        rows, inside = rows_of(queries, starts, lengths), is_inside(lengths[queries])
        if inside.all():  # lists of one length
            yield starts[queries], rows, inside, values[rows].reshape(inside.shape)
            continue
        square = np.full(inside.shape, np.nan)
        square[inside] = values[rows]
        yield starts[queries], rows, inside, square


def alike(lengths: Codes) -> Iterator[Codes]:
    """Queries that have about as many rows, some at a time, which fit into the cache."""
    scale = np.frexp(lengths)[1]
    for size in np.unique(scale[lengths > 0]).tolist():
        queries = np.flatnonzero(scale == size)
        step = max(1, _CELLS >> size)
        for first in range(0, len(queries), step):
            yield queries[first : first + step]


def rows_of(queries: Codes, starts: Codes, lengths: Codes) -> Codes | slice:
    """The rows of some queries, which ascend."""
    first, last = int(queries[0]), int(queries[-1])
    if last - first + 1 == len(queries):
        return slice(int(starts[first]), int(starts[last] + lengths[last]))
    return spread(starts[queries], lengths[queries])


def is_inside(lengths: Codes) -> Flags:
    """Where the values of lists stand, if each is a row of a square, filled up."""
    inside: Flags = np.arange(lengths.max()) < lengths[:, None]
    return inside


def _ascends(values: Floats, lengths: Codes) -> bool:
    falls = values[1:] < values[:-1]
    if not falls.any():
        return True
    inner = starts_of(lengths)[1:]
    falls[inner[(inner > 0) & (inner < len(values))] - 1] = False
    return not falls.any()


def _rows_from_the_best(
    scores: Floats, lengths: Codes, kind: Literal["quicksort", "stable"]
) -> Codes:
    """The rows of each query in the order of `from_the_best`."""
    order = np.empty(len(scores), np.int64)
    for starts, rows, inside, square in _squares(-scores, lengths):
        places = square.argsort(axis=1, kind=kind)
        order[rows] = (starts[:, None] + places)[inside]
    return order


def n_better(ordered: Floats, lengths: Codes, query: Codes, scores: Floats) -> tuple[Codes, Flags]:
    """How many documents of its query score more than each given one, and whether some are equal.

    Parameters
    ----------
    ordered : ndarray
        What `from_the_best` gives.
    lengths : ndarray of shape (n_queries,)
        The rows of each query.
    query, scores : ndarray of shape (n,)
        The documents in question; each is one of its query's.
    """
    slot = _n_below(ordered, lengths, query, -scores, np.less)
    after = np.minimum(slot + 1, len(ordered) - 1)
    tied = ordered[after] == ordered[slot]
    tied &= slot + 1 < np.cumsum(lengths)[query]
    return slot - starts_of(lengths)[query], tied


def _n_below(
    ordered: Floats, lengths: Codes, query: Codes, values: Floats, below: np.ufunc
) -> Codes:
    """The row up to which values of its query are below each given one, which is among them."""
    starts = starts_of(lengths)
    slot = np.empty(len(query), np.int64)
    for first in range(0, len(query), _BLOCK):
        block = slice(first, first + _BLOCK)
        codes = query[block]
        slot[block] = _bisected(ordered, starts[codes], lengths[codes], values[block], below)
    return slot


def _bisected(ordered: Floats, low: Codes, length: Codes, values: Floats, below: np.ufunc) -> Codes:
    """Halve the rows in question until one is left, as often for all: without a branch."""
    for _ in range((int(length.max()) - 1).bit_length()):
        half = length >> 1
        length = length - half
        half *= below(ordered[low + half - 1], values)
        low += half
    low += below(ordered[low], values)
    return low


def is_tied(ordered: Floats, lengths: Codes) -> Flags:
    """Which rows have a neighbour of the same score in the same query."""
    same = ordered[1:] == ordered[:-1]
    if same.any():
        inner = starts_of(lengths)[1:]
        same[inner[(inner > 0) & (inner < len(ordered))] - 1] = False
    tied = np.zeros(len(ordered), dtype=bool)
    tied[1:] |= same
    tied[:-1] |= same
    return tied


def n_tied(ordered: Floats, lengths: Codes) -> Codes:
    """How many documents of each query share their score with another."""
    tied = is_tied(ordered, lengths)
    if not tied.any():
        return np.zeros(len(lengths), np.int64)
    ends = np.searchsorted(np.flatnonzero(tied), np.cumsum(lengths))
    return np.diff(ends, prepend=0).astype(np.int64)


# -- among equals


def n_equal_ahead(
    scores: Floats,
    lengths: Codes,
    query: Codes,
    rank: Codes,
    doc: Objects,
    ids_of: Callable[[Codes], Objects],
    *,
    by_id: bool,
) -> Codes:
    """How many documents of its query and score stand ahead of each given one.

    Parameters
    ----------
    scores : ndarray
        Of all rows; rows of a query stand together.
    lengths : ndarray of shape (n_queries,)
        The rows of each query.
    query, rank, doc : ndarray of shape (n,)
        The documents in question: query, what `n_better` says, and id.
    ids_of : callable
        The ids of some rows.
    by_id : bool
        Whether of equal scores the later id goes first; else the order of the rows holds.

    Raises
    ------
    DataError
        If ids are not all texts.
    """
    order = _rows_from_the_best(scores, lengths, "quicksort" if by_id else "stable")
    ordered = -scores[order]
    low = starts_of(lengths)[query] + rank
    high = _n_below(ordered, lengths, query, ordered[low], np.less_equal)
    wanted = _covered(low, high, len(order))
    first, size = (np.cumsum(wanted) - 1)[low], high - low
    try:
        return _n_ahead_in_groups(ids_of(order[wanted]), first, size, doc, by_id=by_id)
    except TypeError as exc:
        raise DataError(f"document ids must all be texts; {exc}") from exc


def touched(query: Codes, n_queries: int) -> tuple[Codes, Codes]:
    """The queries that there are, ascending, and for each row which of these its query is."""
    is_there = np.zeros(n_queries, dtype=bool)
    is_there[query] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[query]


def _covered(low: Codes, high: Codes, n: int) -> Flags:
    """Which of `n` places lie in one of the ranges, which are equal or apart."""
    step = np.zeros(n + 1, np.int8)
    step[high] = -1
    step[low] += 1  # a range may begin where another ends
    covered: Flags = np.cumsum(step[:n], dtype=np.int8) > 0
    return covered


def _n_ahead_in_groups(
    ids: Objects, first: Codes, size: Codes, doc: Objects, *, by_id: bool
) -> Codes:
    """How many of the group, which is the `size` ids from `first` on, stand ahead of each."""
    ahead = np.empty(len(doc), np.int64)
    few = np.flatnonzero(size <= _FEW)
    for start in range(0, len(few), _BLOCK):
        block = few[start : start + _BLOCK]
        ahead[block] = _n_ahead_of_few(ids, first[block], size[block], doc[block], by_id=by_id)
    many = np.flatnonzero(size > _FEW)
    ahead[many] = _n_ahead_of_many(ids, first[many], size[many], doc[many], by_id=by_id)
    return ahead


def _n_ahead_of_few(ids: Objects, first: Codes, size: Codes, doc: Objects, *, by_id: bool) -> Codes:
    """Each document is compared with all of its group."""
    other = spread(first, size)
    repeated = chain.from_iterable(map(repeat, doc.tolist(), size.tolist()))
    pairs = map(gt if by_id else eq, ids[other].tolist(), repeated)
    holds = np.fromiter(pairs, dtype=bool, count=len(other))
    if by_id:
        ahead: Codes = np.add.reduceat(holds, starts_of(size), dtype=np.int64)
    else:
        ahead = other[holds] - first  # each is once equal to itself
    return ahead


def _n_ahead_of_many(
    ids: Objects, first: Codes, size: Codes, doc: Objects, *, by_id: bool
) -> list[int]:
    """Each group is put in order once."""
    groups: dict[int, dict[Any, int]] = {}
    ahead = []
    for start, length, one in zip(first.tolist(), size.tolist(), doc.tolist(), strict=True):
        if start not in groups:
            group: Sequence[Any] = ids[start : start + length].tolist()
            group = sorted(group, reverse=True) if by_id else group
            groups[start] = {member: place for place, member in enumerate(group)}
        ahead.append(groups[start][one])
    return ahead

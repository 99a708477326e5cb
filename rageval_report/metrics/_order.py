"""Where documents stand in rankings: ranks by counting, without sorting a single id."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rageval_report.metrics.hits import Codes, Floats

Flags = NDArray[np.bool_]


def starts_of(lengths: Codes) -> Codes:
    """Where the rows of each query begin."""
    return np.cumsum(lengths) - lengths


def from_the_best(scores: Floats, lengths: Codes) -> Floats:
    """The negated scores of each query, ascending; rows of a query stand together."""
    negated = -scores
    if _ascends(negated, lengths):
        return negated
    starts = starts_of(lengths)
    for length in np.unique(lengths[lengths > 1]).tolist():
        first = starts[lengths == length]
        if len(first) * length == len(negated):  # all lists are as long: no copy
            negated.reshape(-1, length).sort(axis=1)
            continue
        rows = first[:, None] + np.arange(length)
        negated[rows] = np.sort(negated[rows], axis=1)
    return negated


def _ascends(values: Floats, lengths: Codes) -> bool:
    falls = values[1:] < values[:-1]
    if not falls.any():
        return True
    inner = starts_of(lengths)[1:]
    falls[inner[(inner > 0) & (inner < len(values))] - 1] = False
    return not falls.any()


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
    ends = np.cumsum(lengths)
    low, high = (ends - lengths)[query], ends[query]
    first, negated = low.copy(), -scores
    for _ in range(int(lengths.max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        below = ordered[middle] < negated
        low = np.where(below, middle + 1, low)
        high = np.where(below, high, middle)
    after = np.minimum(low + 1, len(ordered) - 1)
    return low - first, (low + 1 < ends[query]) & (ordered[after] == negated)


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

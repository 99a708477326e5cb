"""The hit table: where the judged documents of all queries stand, from which every metric follows.

A run of millions of lines comes down to three columns: query, rank and grade of each judged
document that was retrieved. What was retrieved and never judged matters only as a gap in the ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Grades up to here are their own codes; beyond, or with fractions, they are numbered.
_MOST_GRADES = 1 << 15

# So many cells a judgment, one for each query and grade, are counted rather than sorted.
_MOST_CELLS = 8


@dataclass(frozen=True, eq=False)
class Hits:
    """The judged documents of all queries, and where those that were retrieved stand.

    `hit_table` makes one of columns in any order.

    Parameters
    ----------
    query : ndarray of shape (n_hits,)
        The query of each judged document that was retrieved, as a code from 0 to n_queries - 1;
        sorted by query, then rank.
    rank : ndarray of shape (n_hits,)
        Its rank, from 0.
    grade : ndarray of shape (n_hits,)
        Its grade; 0 is judged and not relevant, below 0 counts as not judged.
    judged_query, judged_grade : ndarray of shape (n_judged,)
        Query and grade of every judgment, retrieved or not; in order of the queries.
    n_retrieved : ndarray of shape (n_queries,)
        How many documents were retrieved.
    relevance_level : float
        The lowest grade that is relevant. Gains of nDCG do not ask for it.

    Examples
    --------
    >>> hits = hit_table(
    ...     query=[1, 0], rank=[0, 1], grade=[1, 2], judged_query=[0, 0, 1],
    ...     judged_grade=[2, 1, 1], n_retrieved=[3, 1],
    ... )
    >>> hits.n_queries, hits.query.tolist(), hits.n_relevant.tolist()
    (2, [0, 1], [2, 1])
    """

    query: Codes
    rank: Codes
    grade: Floats
    judged_query: Codes
    judged_grade: Floats
    n_retrieved: Codes
    relevance_level: float = 1.0

    @property
    def n_queries(self) -> int:
        """The number of queries, those without any hit counted."""
        return len(self.n_retrieved)

    @cached_property
    def n_relevant(self) -> Codes:
        """Relevant documents a query, retrieved or not."""
        return self._n_judged(lambda grade: grade >= self.relevance_level)

    @cached_property
    def n_nonrelevant(self) -> Codes:
        """Documents a query that were judged and found not relevant."""
        return self._n_judged(self._is_nonrelevant)

    @cached_property
    def relevant_query(self) -> Codes:
        """The query of each relevant document that was retrieved."""
        return self.query[self._relevant]

    @cached_property
    def relevant_rank(self) -> Codes:
        """The rank, from 0, of each relevant document that was retrieved."""
        return self.rank[self._relevant]

    @cached_property
    def ordinal(self) -> Codes:
        """For each relevant document retrieved, the how-manieth of its query it is, from 1."""
        return _places(self.relevant_query, self.n_queries) + 1

    @cached_property
    def nonrelevant_above(self) -> Codes:
        """For each relevant document retrieved, the judged non-relevant ones that stand above."""
        is_nonrelevant = self._is_nonrelevant(self.grade)
        so_far = np.cumsum(is_nonrelevant)[self._relevant]
        before = _starts(self.count(self.query[is_nonrelevant]))
        return so_far - before[self.relevant_query]

    @cached_property
    def ideal(self) -> tuple[Codes, Codes, Floats]:
        """Query, rank and grade of the documents that have a gain, in the best possible order."""
        return self.ideal_first(None)

    def ideal_first(self, k: int | None) -> tuple[Codes, Codes, Floats]:
        """The same of the first `k` of each query."""
        query, grade, counts = self._judged
        has_gain = grade > 0
        query, grade, counts = query[has_gain], grade[has_gain], counts[has_gain]
        if k is not None:
            ahead = _starts(counts)
            first = np.searchsorted(query, query)
            counts = np.clip(k - (ahead - ahead[first]), 0, counts)
        query = np.repeat(query, counts)
        return query, _places(query, self.n_queries), np.repeat(grade, counts)

    @cached_property
    def _judged(self) -> tuple[Codes, Floats, Codes]:
        return _by_grade(self.judged_query, self.judged_grade)

    def _n_judged(self, which: Callable[[Floats], Flags]) -> Codes:
        """How many documents a query have such grades."""
        query, grade, counts = self._judged
        chosen = which(grade)
        sums = np.bincount(query[chosen], weights=counts[chosen], minlength=self.n_queries)
        return sums.astype(np.int64)

    @cached_property
    def _relevant(self) -> Codes:
        """The rows of relevant documents."""
        return np.flatnonzero(self.grade >= self.relevance_level)

    def _is_nonrelevant(self, grade: Floats) -> Flags:
        return (grade >= 0) & (grade < self.relevance_level)

    def count(self, query: Codes) -> Codes:
        """How often each query stands in an array of codes."""
        return np.bincount(query, minlength=self.n_queries)

    def add_up(self, query: Codes, values: Floats) -> Floats:
        """The sum of the values of each query, added from the left, as a loop over them would."""
        sums = np.bincount(query, weights=values, minlength=self.n_queries)
        return np.asarray(sums, np.float64)


def hit_table(
    *,
    query: Any,
    rank: Any,
    grade: Any,
    judged_query: Any,
    judged_grade: Any,
    n_retrieved: Any,
    relevance_level: float = 1.0,
) -> Hits:
    """The hit table of columns whose rows stand in any order.

    Parameters
    ----------
    query, rank, grade, judged_query, judged_grade, n_retrieved, relevance_level
        As `Hits` has them, but for the order.

    Examples
    --------
    >>> columns = {"judged_query": [0, 0], "judged_grade": [1, 1], "n_retrieved": [9]}
    >>> hit_table(query=[0, 0], rank=[7, 2], grade=[1, 1], **columns).rank
    array([2, 7])
    """
    codes, ranks = np.asarray(query, np.int64), np.asarray(rank, np.int64)
    lengths = np.asarray(n_retrieved, np.int64)
    order = order_by_slot(_starts(lengths)[codes] + ranks, int(lengths.sum()))
    return Hits(
        codes[order],
        ranks[order],
        np.asarray(grade, np.float64)[order],
        np.asarray(judged_query, np.int64),
        np.asarray(judged_grade, np.float64),
        lengths,
        float(relevance_level),
    )


def in_turn(parts: Sequence[Hits]) -> Hits:
    """The hit table of queries of which each part holds the next ones.

    Parameters
    ----------
    parts : sequence of Hits
        At least one; of one relevance level.

    Examples
    --------
    >>> part = hit_table(
    ...     query=[0], rank=[0], grade=[1], judged_query=[0], judged_grade=[1], n_retrieved=[3, 2],
    ... )
    >>> in_turn([part, part]).query
    array([0, 2])
    """
    before = _starts(np.array([part.n_queries for part in parts])).tolist()
    return Hits(
        np.concatenate([part.query + n for part, n in zip(parts, before, strict=True)]),
        np.concatenate([part.rank for part in parts]),
        np.concatenate([part.grade for part in parts]),
        np.concatenate([part.judged_query + n for part, n in zip(parts, before, strict=True)]),
        np.concatenate([part.judged_grade for part in parts]),
        np.concatenate([part.n_retrieved for part in parts]),
        parts[0].relevance_level,
    )


def order_by_slot(slot: Codes, n_slots: int) -> Codes:
    """The order by whole numbers that differ: each is put where it belongs, which beats sorting."""
    if (slot[1:] > slot[:-1]).all():
        return np.arange(len(slot))
    row: NDArray[Any] = np.full(n_slots, -1, np.int32 if len(slot) < 1 << 31 else np.int64)
    row[slot] = np.arange(len(slot))
    return row[row >= 0].astype(np.int64, copy=False)


def _by_grade(query: Codes, grade: Floats) -> tuple[Codes, Floats, Codes]:
    """The grades of each query, from the best, and how often each stands."""
    if grade.size == 0:
        return query, grade, query
    codes, grades = _codes_of(grade)
    keys = (query + 1) * len(grades) - 1 - codes
    cells, counts = _counted(keys)
    cell_query, code = np.divmod(cells, len(grades))
    return cell_query, grades[len(grades) - 1 - code], counts


def _counted(keys: Codes) -> tuple[Codes, Codes]:
    """The whole numbers that there are, ascending, and how often each: counted if they are low."""
    if keys.max() >= _MOST_CELLS * len(keys):
        cells, counts = np.unique(keys, return_counts=True)
        return cells, counts.astype(np.int64)
    every = np.bincount(keys)
    cells = np.flatnonzero(every)
    return cells, every[cells]


def _codes_of(grade: Floats) -> tuple[Codes, Floats]:
    """Grades as codes that ascend with them, and the grade of each code."""
    low, top = min(0.0, np.floor(grade.min())), grade.max()
    if top - low < _MOST_GRADES:
        whole = grade.astype(np.int64)
        if (whole == grade).all():
            return whole - int(low), np.arange(low, top + 1)
    grades, codes = np.unique(grade, return_inverse=True)
    return codes.astype(np.int64), grades


def _starts(counts: Codes) -> Codes:
    """Where each query's rows begin, if rows are sorted by query and these are their counts."""
    return np.cumsum(counts) - counts


def _places(query: Codes, n_queries: int) -> Codes:
    """For each row the how-manieth of its query it is, from 0; rows are sorted by query."""
    starts = _starts(np.bincount(query, minlength=n_queries))
    return np.arange(len(query)) - starts[query]

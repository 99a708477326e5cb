"""The hit table: where the judged documents of all queries stand, from which every metric follows.

A run of millions of lines is reduced to three columns: query, rank and grade of each judged
document that was retrieved. A document without a judgment matters only as a gap in the ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rageval_report.types import BoolArray, FloatArray, IntArray

# Whole grades up to here are their own codes; larger ones, and fractions, are numbered.
_MOST_GRADES = 1 << 15

# Counting fills one cell per query and grade. It beats sorting as long as the cells are not many
# more than the judgments: up to eight per judgment.
_MOST_CELLS = 8


@dataclass(frozen=True, eq=False)
class Hits:
    """The judged documents of all queries, and the ranks of those that were retrieved.

    `hit_table` builds one from columns in any order.

    Parameters
    ----------
    query : ndarray of shape (n_hits,)
        The query of each judged document that was retrieved, as a code from 0 to n_queries - 1;
        sorted by query, then rank.
    rank : ndarray of shape (n_hits,)
        Its rank, from 0.
    grade : ndarray of shape (n_hits,)
        Its grade; 0 means judged and not relevant, below 0 counts as not judged.
    judged_query, judged_grade : ndarray of shape (n_judged,)
        Query and grade of every judgment, retrieved or not; in the order of the queries.
    n_retrieved : ndarray of shape (n_queries,)
        How many documents were retrieved.
    relevance_level : float
        The lowest grade that is relevant. The gains of nDCG do not depend on it.

    Examples
    --------
    >>> hits = hit_table(
    ...     query=[1, 0], rank=[0, 1], grade=[1, 2], judged_query=[0, 0, 1],
    ...     judged_grade=[2, 1, 1], n_retrieved=[3, 1],
    ... )
    >>> hits.n_queries, hits.query.tolist(), hits.n_relevant.tolist()
    (2, [0, 1], [2, 1])
    """

    query: IntArray
    rank: IntArray
    grade: FloatArray
    judged_query: IntArray
    judged_grade: FloatArray
    n_retrieved: IntArray
    relevance_level: float = 1.0

    @property
    def n_queries(self) -> int:
        """The number of queries, including those without any hit."""
        return len(self.n_retrieved)

    @cached_property
    def n_relevant(self) -> IntArray:
        """The number of relevant documents of each query, retrieved or not."""
        return self._n_judged(lambda grade: grade >= self.relevance_level)

    @cached_property
    def n_nonrelevant(self) -> IntArray:
        """The number of documents of each query that were judged not relevant."""
        return self._n_judged(self._is_nonrelevant)

    @cached_property
    def relevant_query(self) -> IntArray:
        """The query of each relevant document that was retrieved."""
        return self.query[self._relevant]

    @cached_property
    def relevant_rank(self) -> IntArray:
        """The rank, from 0, of each relevant document that was retrieved."""
        return self.rank[self._relevant]

    @cached_property
    def ordinal(self) -> IntArray:
        """The position of each relevant retrieved document among those of its query, from 1."""
        return _places(self.relevant_query, self.n_queries) + 1

    @cached_property
    def nonrelevant_above(self) -> IntArray:
        """How many judged non-relevant documents rank above each relevant retrieved one."""
        is_nonrelevant = self._is_nonrelevant(self.grade)
        so_far = np.cumsum(is_nonrelevant)[self._relevant]
        before = _starts(self.count(self.query[is_nonrelevant]))
        return so_far - before[self.relevant_query]

    @cached_property
    def ideal(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Query, rank and grade of the documents with a gain, in the best possible order."""
        return self.ideal_first(None)

    def ideal_first(self, k: int | None) -> tuple[IntArray, IntArray, FloatArray]:
        """As `ideal`, only the first `k` of each query."""
        query, grade, counts = self._grade_counts
        has_gain = grade > 0
        query, grade, counts = query[has_gain], grade[has_gain], counts[has_gain]
        if k is not None:
            ahead = _starts(counts)
            first = np.searchsorted(query, query)
            # The better grades fill the first k places; each grade gets what they leave.
            counts = np.clip(k - (ahead - ahead[first]), 0, counts)
        query = np.repeat(query, counts)
        return query, _places(query, self.n_queries), np.repeat(grade, counts)

    @cached_property
    def _grade_counts(self) -> tuple[IntArray, FloatArray, IntArray]:
        return _by_grade(self.judged_query, self.judged_grade)

    def _n_judged(self, which: Callable[[FloatArray], BoolArray]) -> IntArray:
        """How many judged documents of each query have one of the chosen grades."""
        query, grade, counts = self._grade_counts
        chosen = which(grade)
        sums = np.bincount(query[chosen], weights=counts[chosen], minlength=self.n_queries)
        return sums.astype(np.int64)

    @cached_property
    def _relevant(self) -> IntArray:
        """The rows of the relevant documents."""
        return np.flatnonzero(self.grade >= self.relevance_level)

    def _is_nonrelevant(self, grade: FloatArray) -> BoolArray:
        # trec_eval counts -1 and -2 as unjudged, so bpref must not charge for them.
        return (grade >= 0) & (grade < self.relevance_level)

    def count(self, query: IntArray) -> IntArray:
        """How often each query appears in an array of codes."""
        return np.bincount(query, minlength=self.n_queries)

    def add_up(self, query: IntArray, values: FloatArray) -> FloatArray:
        """The sum of the values of each query, added in order, as a loop over them would."""
        # bincount adds in the order of the rows, like trec_eval's loop, so that sums are equal to
        # the last bit; np.sum adds pairwise.
        sums = np.bincount(query, weights=values, minlength=self.n_queries)
        return np.asarray(sums, np.float64)


def hit_table(
    *,
    query: ArrayLike,
    rank: ArrayLike,
    grade: ArrayLike,
    judged_query: ArrayLike,
    judged_grade: ArrayLike,
    n_retrieved: ArrayLike,
    relevance_level: float = 1.0,
) -> Hits:
    """The hit table of columns whose rows are in any order.

    Parameters
    ----------
    query, rank, grade, judged_query, judged_grade, n_retrieved, relevance_level
        As in `Hits`, except for the order.

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


def concatenate_hits(parts: Sequence[Hits]) -> Hits:
    """One hit table of parts that have different queries; those of the first part come first.

    Parameters
    ----------
    parts : sequence of Hits
        At least one; all with the same relevance level.

    Examples
    --------
    >>> part = hit_table(
    ...     query=[0], rank=[0], grade=[1], judged_query=[0], judged_grade=[1], n_retrieved=[3, 2],
    ... )
    >>> concatenate_hits([part, part]).query
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


def order_by_slot(slot: IntArray, n_slots: int) -> IntArray:
    """The order of distinct integers: each is put in its place, which is faster than sorting."""
    # Runs that are written in the order of their ranks need no reordering.
    if (slot[1:] > slot[:-1]).all():
        return np.arange(len(slot))
    # 32 bits halve the memory of the one array that is as long as the run.
    row: NDArray[np.signedinteger] = np.full(
        n_slots, -1, np.int32 if len(slot) < 1 << 31 else np.int64
    )
    row[slot] = np.arange(len(slot))
    return row[row >= 0].astype(np.int64, copy=False)


def _by_grade(query: IntArray, grade: FloatArray) -> tuple[IntArray, FloatArray, IntArray]:
    """Query, grade and count of each grade of each query, the best grade first."""
    if grade.size == 0:
        return query, grade, query
    codes, grades = _grade_codes(grade)
    # Subtracted, so that ascending keys give the best grade of each query first.
    keys = (query + 1) * len(grades) - 1 - codes
    cells, counts = _count_keys(keys)
    cell_query, code = np.divmod(cells, len(grades))
    return cell_query, grades[len(grades) - 1 - code], counts


def _count_keys(keys: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct keys, ascending, and how often each appears."""
    if keys.max() >= _MOST_CELLS * len(keys):
        cells, counts = np.unique(keys, return_counts=True)
        return cells, counts.astype(np.int64)
    every = np.bincount(keys)
    cells = np.flatnonzero(every)
    return cells, every[cells]


def _grade_codes(grade: FloatArray) -> tuple[IntArray, FloatArray]:
    """Grades as codes that ascend with them, and the grade of each code."""
    # One judgment of 200 000 000 hangs trec_eval and pytrec_eval; here such grades are numbered.
    low, top = min(0.0, np.floor(grade.min())), grade.max()
    if top - low < _MOST_GRADES:
        whole = grade.astype(np.int64)
        if (whole == grade).all():
            return whole - int(low), np.arange(low, top + 1)
    grades, codes = np.unique(grade, return_inverse=True)
    return codes.astype(np.int64), grades


def _starts(counts: IntArray) -> IntArray:
    """Where the rows of each query begin, if rows are sorted by query and counted."""
    return np.cumsum(counts) - counts


def _places(query: IntArray, n_queries: int) -> IntArray:
    """The position of each row among those of its query, from 0; rows are sorted by query."""
    starts = _starts(np.bincount(query, minlength=n_queries))
    return np.arange(len(query)) - starts[query]

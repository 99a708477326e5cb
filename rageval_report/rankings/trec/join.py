"""A run file joined with its judgments part by part: of the run only the judged documents are kept.

No id becomes a Python object, except those of queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_report.rankings import order
from rageval_report.rankings.hits import Hits, order_by_slot
from rageval_report.rankings.joined import Joined, Ties, refuse_strangers, refuse_ties
from rageval_report.rankings.row_pairs import RowLists, lists_of, pairs_of
from rageval_report.rankings.tied_rows import TiedRows, n_tied_rows_ahead
from rageval_report.rankings.trec.text_rows import TextRows
from rageval_report.types import FloatArray, IntArray

Kernel = Callable[..., int]

# The rows of the judged documents that were retrieved, in the judgments and in the run.
_Pairs = tuple[IntArray, IntArray]
# None if a document may appear twice for a query. The arguments are judgments and run, each with
# the number of rows of each query.
_FindPairs = Callable[[TextRows, IntArray, TextRows, IntArray], _Pairs | None]

# Shares, measured with 100 documents per query, from which on sorting the rows too is faster: a
# quarter of the documents of the part before were tied, or an eighth of the documents are judged.
_MANY_TIED, _MANY_PAIRS = 4, 8


@dataclass(frozen=True, eq=False)
class _PartHits:
    """What is kept of one part of the run.

    Parameters
    ----------
    code, n_retrieved, n_tied, n_hits : ndarray of shape (n_queries_of_the_part,)
        The queries, how many documents each retrieved, how many of these share their score with
        another, and how many are judged.
    rank, grade : ndarray
        Rank and grade of the judged documents, query after query, in the order of the ranks.
    """

    code: IntArray
    n_retrieved: IntArray
    n_tied: IntArray
    n_hits: IntArray
    rank: NDArray[np.int32]
    grade: FloatArray


@dataclass(frozen=True, eq=False)
class RunHits:
    """What is kept of a run and its judgments.

    Parameters
    ----------
    names : list of str
        The queries, the judged ones first.
    parts : list of _PartHits
        The run.
    n_judged : ndarray of shape (n_judged_queries,)
        How many documents are judged for each query.
    grade : ndarray
        Their grades, query after query.
    """

    names: list[str]
    parts: list[_PartHits]
    n_judged: IntArray
    grade: FloatArray


class _Judgments:
    """The rows of the judgments, sorted by query; queries get codes in order of appearance."""

    def __init__(self, qrels: TextRows, codes: dict[bytes, int]):
        code = np.array([codes.setdefault(name, len(codes)) for name in qrels.queries()])
        lists = lists_of(code, qrels.columns.block, len(qrels), len(codes))
        self.rows = qrels.take(lists.order)
        self.lengths = lists.lengths
        self._starts = order.starts_of(lists.lengths)

    def of_queries(self, code: IntArray) -> tuple[TextRows, IntArray]:
        """The judgments of some queries, and how many each has; 0 for a query without judgments."""
        is_judged = code < len(self.lengths)
        judged, lengths = code[is_judged], np.zeros(len(code), np.int64)
        lengths[is_judged] = self.lengths[judged]
        return self.rows.take(self._places(judged)), lengths

    def _places(self, judged: IntArray) -> IntArray | slice:
        # Runs mostly follow the order of the judgments: then a slice, so that nothing is copied.
        if judged.size and (judged[1:] - judged[:-1] == 1).all():
            first, last = int(judged[0]), int(judged[-1])
            return slice(int(self._starts[first]), int(self._starts[last] + self.lengths[last]))
        return order.spread(self._starts[judged], self.lengths[judged])


def collect_hits(
    run: Iterable[TextRows],
    qrels: TextRows,
    match: Kernel | None = None,
    rank: Kernel | None = None,
    *,
    by_id: bool,
) -> RunHits | None:
    """Everything that is needed to score a run; of documents without a judgment nothing is kept.

    Parameters
    ----------
    run : iterable of TextRows
        The run, some whole queries at a time.
    qrels : TextRows
        The judgments.
    match : callable, optional
        `kernels.match`, compiled or not; NumPy finds the pairs if omitted.
    rank : callable, optional
        `rank_kernel.rank`, compiled or not; NumPy ranks them if omitted.
    by_id : bool
        Whether of equal scores the later id goes first; otherwise the order of the rows decides.

    Returns
    -------
    RunHits or None
        None if the run cannot be read in parts: it has no rows, the rows of a query do not stand
        together, or a document may appear twice.
    """
    find_pairs: _FindPairs = partial(_pairs_by_kernel, match) if match else _pairs_by_sorting
    rank_pairs = _PairRanker(rank, by_id=by_id)
    codes: dict[bytes, int] = {}
    judgments, seen, parts = _Judgments(qrels, codes), set[int](), list[_PartHits]()
    n_judged = len(codes)
    for rows in run:
        code = [codes.setdefault(name, len(codes)) for name in rows.queries()]
        n_before = len(seen)
        seen.update(code)
        n_retrieved = np.diff(rows.columns.block, append=len(rows))
        part = _hits_of_part(rows, n_retrieved, np.array(code), judgments, find_pairs, rank_pairs)
        # A query that comes back after others would be ranked twice, each time with half of its
        # list.
        if part is None or len(seen) < n_before + len(code):
            return None
        parts.append(part)
    # An empty run is read as a whole, which raises the error with the name of the file.
    if not seen:
        return None
    missing = np.array(sorted(set(range(n_judged)) - seen), np.int64)
    if missing.size:  # a part without rows: judgments of other queries may be repeated as well
        none = np.zeros(len(missing), np.int64)
        empty = qrels.take(slice(0))
        part = _hits_of_part(empty, none, missing, judgments, find_pairs, rank_pairs)
        if part is None:
            return None
        parts.append(part)
    names = [name.decode() for name in codes]
    return RunHits(names, parts, judgments.lengths, judgments.rows.columns.value)


def join_hits(run: RunHits, *, ties: Ties, relevance_level: float) -> Joined:
    """The hit table of what was kept of a run.

    Raises
    ------
    AlignmentError
        If run and judgments have no query in common.
    DataError
        If equal scores are refused, and there are some.
    """
    n = len(run.n_judged)
    query_ids, unjudged = run.names[:n], run.names[n:]
    n_tied, n_retrieved = (_per_query(run.parts, name, n) for name in ("n_tied", "n_retrieved"))
    missing = [query_ids[code] for code in np.flatnonzero(n_retrieved == 0)]
    refuse_strangers(query_ids, missing, unjudged)
    if ties == "error":
        refuse_ties(query_ids, n_tied)
    hits = Hits(
        *_sorted_hits(run.parts),
        np.repeat(np.arange(n), run.n_judged),
        run.grade,
        n_retrieved,
        float(relevance_level),
    )
    return Joined(query_ids, hits, n_tied, missing, unjudged)


def _per_query(parts: list[_PartHits], name: str, n_queries: int) -> IntArray:
    """A count of each of the first queries; 0 for those that no part holds."""
    counts = np.zeros(n_queries, np.int64)
    for part in parts:
        is_judged = part.code < n_queries
        counts[part.code[is_judged]] = getattr(part, name)[is_judged]
    return counts


def _sorted_hits(parts: list[_PartHits]) -> tuple[IntArray, IntArray, FloatArray]:
    """Query, rank and grade of the judged documents that were retrieved, sorted by query."""
    code, n_hits, rank, grade = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("code", "n_hits", "rank", "grade")
    )
    query, rank = np.repeat(code, n_hits), rank.astype(np.int64)
    if (code[1:] > code[:-1]).all():
        return query, rank, grade
    by_query = np.argsort(query, kind="stable")
    return query[by_query], rank[by_query], grade[by_query]


# -- one part


def _hits_of_part(
    run: TextRows,
    n_retrieved: IntArray,
    code: IntArray,
    judgments: _Judgments,
    find_pairs: _FindPairs,
    rank_pairs: _PairRanker,
) -> _PartHits | None:
    """What is kept of a part; None if a document may appear twice."""
    judged, n_judged = judgments.of_queries(code)
    pairs = find_pairs(judged, n_judged, run, n_retrieved)
    if pairs is None:
        return None
    ranked = rank_pairs(run, n_retrieved, pairs)
    return _PartHits(
        code,
        n_retrieved,
        ranked.n_tied,
        ranked.n_hits,
        ranked.rank,
        judged.columns.value[ranked.judged_row],
    )


@dataclass(frozen=True, eq=False)
class _RankedPairs:
    """The judged documents of a part, query after query, in the order of the ranks.

    Parameters
    ----------
    judged_row : ndarray
        Their rows in the judgments.
    rank : ndarray
        Their ranks.
    n_hits, n_tied : ndarray of shape (n_queries_of_the_part,)
        As in `_PartHits`.
    """

    judged_row: IntArray
    rank: NDArray[np.int32]
    n_hits: IntArray
    n_tied: IntArray


class _PairRanker:
    """Ranks the pairs of one part after the other.

    Parameters
    ----------
    kernel : callable, optional
        `rank_kernel.rank`, compiled or not.
    by_id : bool
        Whether of equal scores the later id goes first; otherwise the order of the rows decides.
    """

    def __init__(self, kernel: Kernel | None, *, by_id: bool):
        self._kernel, self._by_id = kernel, by_id
        self._many_tied = False  # in the part before

    def __call__(self, run: TextRows, n_retrieved: IntArray, pairs: _Pairs) -> _RankedPairs:
        """The pairs of a part in the order of their ranks."""
        ranked = self._rank(run, n_retrieved, pairs)
        self._many_tied = _MANY_TIED * int(ranked.n_tied.sum()) > len(run)
        return ranked

    def _rank(self, run: TextRows, n_retrieved: IntArray, pairs: _Pairs) -> _RankedPairs:
        scores = run.columns.value
        # For few pairs without ties, a search in the sorted scores is faster than to sort the rows.
        if not self._many_tied and _MANY_PAIRS * len(pairs[0]) < len(run):
            ordered = order.from_the_best(scores, n_retrieved)
            return self._rank_by_searching(run, n_retrieved, pairs, ordered, None)
        ordered, row_at = order.with_rows_from_the_best(scores, n_retrieved)
        if self._kernel:
            ranked = self._rank_by_kernel(self._kernel, run, n_retrieved, pairs, ordered, row_at)
            if ranked is not None:
                return ranked
        return self._rank_by_searching(run, n_retrieved, pairs, ordered, row_at)

    def _rank_by_kernel(
        self,
        kernel: Kernel,
        run: TextRows,
        n_retrieved: IntArray,
        pairs: _Pairs,
        ordered: FloatArray,
        row_at: IntArray,
    ) -> _RankedPairs | None:
        """None if too many documents have one score."""
        judged_row, row = pairs
        judged_at = np.full(len(run), -1, np.int64)
        judged_at[row] = judged_row
        by_rank = np.empty(len(row), np.int64), np.empty(len(row), np.int32)
        counts = np.empty(len(n_retrieved), np.int64), np.empty(len(n_retrieved), np.int64)
        columns = run.columns
        ids = run.text.data, columns.doc_start, columns.doc_length
        lists = ordered, row_at, n_retrieved, judged_at
        n = kernel(*lists, self._by_id, *ids, *by_rank, *counts)
        return None if n < 0 else _RankedPairs(*by_rank, *counts)

    def _rank_by_searching(
        self,
        run: TextRows,
        n_retrieved: IntArray,
        pairs: _Pairs,
        ordered: FloatArray,
        row_at: IntArray | None,
    ) -> _RankedPairs:
        judged_row, row = pairs
        scores, n = run.columns.value, len(n_retrieved)
        query = np.repeat(np.arange(n, dtype=np.int32), n_retrieved)[row].astype(np.int64)
        rank, tied = order.n_better_at(ordered, scores, n_retrieved, query, row, row_at)
        if tied.any():
            documents = TiedRows(RowLists(slice(None), n_retrieved), run, row[tied], self._by_id)
            rank[tied] += n_tied_rows_ahead(
                scores, ordered, query[tied], rank[tied], documents, row_at
            )
        by_rank = order_by_slot(order.starts_of(n_retrieved)[query] + rank, len(run))
        return _RankedPairs(
            judged_row[by_rank],
            rank[by_rank].astype(np.int32),
            np.bincount(query, minlength=n),
            order.n_tied(ordered, n_retrieved),
        )


def _pairs_by_sorting(
    judged: TextRows, n_judged: IntArray, run: TextRows, n_retrieved: IntArray
) -> tuple[IntArray, IntArray] | None:
    lists = RowLists(slice(None), n_retrieved), RowLists(slice(None), n_judged)
    pairs = pairs_of(lists[0], run, lists[1], judged)
    return None if pairs.crowded.size else (pairs.judged, pairs.run)


def _pairs_by_kernel(
    match: Kernel,
    judged: TextRows,
    n_judged: IntArray,
    run: TextRows,
    n_retrieved: IntArray,
) -> tuple[IntArray, IntArray] | None:
    # The kernel's table has a power of two of slots, at least twice the rows: less than four times.
    room = np.empty(4 * int((n_judged + n_retrieved).max(initial=0)) + 16, np.int64)
    rows = np.empty((2, min(len(judged), len(run))), np.int64)
    n_pairs = match(*_kernel_side(judged, n_judged), *_kernel_side(run, n_retrieved), room, *rows)
    return None if n_pairs < 0 else (rows[0, :n_pairs], rows[1, :n_pairs])


def _kernel_side(rows: TextRows, lengths: IntArray) -> tuple[NDArray[Any], ...]:
    columns = rows.columns
    return rows.text.data, columns.doc_start, columns.doc_length, columns.doc_hash, lengths

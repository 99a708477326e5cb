"""A run that is read part after part, matched: only what was judged is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_report.rankings import order
from rageval_report.rankings.hits import Codes, Floats, Hits, order_by_slot
from rageval_report.rankings.joined import Joined, Ties, refuse_strangers, refuse_ties
from rageval_report.rankings.trec.join import ranks_of
from rageval_report.rankings.trec.lists import Lists, Table, lists_of
from rageval_report.rankings.trec.slots import Slots

Match = Callable[..., Any]
# The rows of judged documents that were retrieved; None if a document may stand twice.
_Pairs = Callable[[Lists, Lists], tuple[Codes, Codes] | None]


@dataclass(frozen=True, eq=False)
class _Part:
    """What is kept of a part of the run.

    Parameters
    ----------
    code, length, n_tied, n_hits : ndarray of shape (n_lists,)
        The queries, how many documents each has, how many of these share their score, and how many
        are judged.
    rank, grade : ndarray
        Of the judged documents, list after list, in the order of the ranks.
    """

    code: Codes
    length: Codes
    n_tied: Codes
    n_hits: Codes
    rank: NDArray[np.int32]
    grade: Floats


@dataclass(frozen=True, eq=False)
class Kept:
    """What is kept of a run and its judgments.

    Parameters
    ----------
    names : list of str
        The queries, the judged ones first.
    parts : list of _Part
        The run.
    n_judged : ndarray of shape (n_judged_queries,)
        How many documents are judged.
    grade : ndarray
        Their grades, query after query.
    """

    names: list[str]
    parts: list[_Part]
    n_judged: Codes
    grade: Floats


def kept_of(run: Iterable[Table], qrels: Table, match: Match | None, *, by_id: bool) -> Kept | None:
    """What there is to know of a run to score it; of documents that are not judged nothing.

    Parameters
    ----------
    run : iterable of Table
        The run, some queries at a time.
    qrels : Table
        What was judged.
    match : callable, optional
        `kernels.match`, compiled or not; else NumPy does it.
    by_id : bool
        Whether of equal scores the later id goes first; else the order of the rows holds.

    Returns
    -------
    Kept or None
        None if that does not do: there are no rows, those of a query are no neighbours, or a
        document may stand twice.
    """
    pairs: _Pairs = partial(_pairs_by, match) if match else Slots().matched
    codes: dict[bytes, int] = {}
    judged, seen, parts = lists_of(qrels, codes), set[int](), list[_Part]()
    n_judged = len(codes)
    for table in run:
        code = [codes.setdefault(name, len(codes)) for name in table.queries()]
        n_before = len(seen)
        seen.update(code)
        part = _matched(table, np.array(code), judged, pairs, by_id=by_id)
        if part is None or len(seen) < n_before + len(code):
            return None
        parts.append(part)
    if not seen:
        return None
    missing = np.array(sorted(set(range(n_judged)) - seen), np.int64)
    part = _matched(_no_rows(qrels), missing, judged, pairs, by_id=by_id)
    if part is None:  # what was not retrieved may be judged twice as well
        return None
    parts.append(part)
    return Kept([name.decode() for name in codes], parts, judged.lengths, judged.values())


def joined_of(kept: Kept, *, ties: Ties, relevance_level: float) -> Joined:
    """A run and its judgments, matched.

    Parameters
    ----------
    kept : Kept
        What `kept_of` gives.
    ties : {"docid", "input", "error"}
        Which of equal scores goes first.
    relevance_level : float
        The lowest relevant grade.

    Raises
    ------
    AlignmentError
        If they have no query in common.
    """
    n = len(kept.n_judged)
    query_ids, unjudged = kept.names[:n], kept.names[n:]
    n_tied, n_retrieved = (_per_query(kept.parts, name, n) for name in ("n_tied", "length"))
    missing = [query_ids[code] for code in np.flatnonzero(n_retrieved == 0)]
    refuse_strangers(query_ids, missing, unjudged)
    if ties == "error":
        refuse_ties(query_ids, n_tied)
    hits = Hits(
        *_hits(kept.parts),
        np.repeat(np.arange(n), kept.n_judged),
        kept.grade,
        n_retrieved,
        float(relevance_level),
    )
    return Joined(query_ids, hits, n_tied, missing, unjudged)


def _no_rows(table: Table) -> Table:
    return Table(table.text, table.columns.of_rows(slice(0)))


def _matched(
    table: Table, code: Codes, judged: Lists, pairs: _Pairs, *, by_id: bool
) -> _Part | None:
    """What is kept of a part; None if a document may stand twice."""
    block = table.columns.block if len(table) else np.zeros(len(code), np.int64)
    run = _lists(table, np.arange(len(code)), np.diff(block, append=len(table)))
    ours = _judged_of(judged, code)
    found = pairs(ours, run)
    if found is None:
        return None
    judged_row, row = found
    ordered = order.from_the_best(run.values(), run.lengths)
    rank = ranks_of(run, ordered, row, by_id=by_id)
    by_rank = order_by_slot(run.starts[run.list_of_row[row]] + rank, len(table))
    return _Part(
        code,
        run.lengths,
        order.n_tied(ordered, run.lengths),
        np.bincount(run.list_of_row[row], minlength=len(code)),
        rank[by_rank].astype(np.int32),
        ours.table.columns.value[judged_row[by_rank]],
    )


def _lists(table: Table, code: Codes, lengths: Codes) -> Lists:
    """Lists whose rows stand together."""
    list_of_row = np.repeat(np.arange(len(code), dtype=np.int32), lengths)
    return Lists(table, code, lengths, list_of_row, slice(None))


def _judged_of(judged: Lists, code: Codes) -> Lists:
    """The judgments of some queries, which are coded by their places in `code`."""
    known = np.flatnonzero(code < len(judged.code))
    chosen = code[known]  # judgments came first: their codes are the numbers of their lists
    table = Table(judged.table.text, judged.table.columns.of_rows(_rows_of(judged, chosen)))
    return _lists(table, known, judged.lengths[chosen])


def _rows_of(lists: Lists, chosen: Codes) -> Codes | slice:
    """The rows of some lists; if these are neighbours, a slice, so that nothing is copied."""
    if isinstance(lists.order, slice) and chosen.size and (chosen[1:] - chosen[:-1] == 1).all():
        first, last = int(chosen[0]), int(chosen[-1])
        return slice(int(lists.starts[first]), int(lists.starts[last] + lists.lengths[last]))
    return lists.rows_of_lists(chosen)


def _pairs_by(match: Match, judged: Lists, run: Lists) -> tuple[Codes, Codes] | None:
    """The rows of judged documents that were retrieved; None if a document stands twice."""
    n_judged = judged.per_query(judged.lengths, len(run.code))
    most = 4 * int((n_judged + run.lengths).max(initial=0)) + 16
    found = np.empty((2, min(len(judged.table), len(run.table))), np.int64)
    sides = ((side.table.text.data, side.table.columns, n)
             for side, n in ((judged, n_judged), (run, run.lengths)))  # fmt: skip
    columns = ((data, one.doc_start, one.doc_length, one.doc_hash, n) for data, one, n in sides)
    n_found = match(*next(columns), *next(columns), np.empty(most, np.int64), *found)
    return None if n_found < 0 else (found[0, :n_found], found[1, :n_found])


# -- the whole run


def _per_query(parts: list[_Part], name: str, n_queries: int) -> Codes:
    """Counts of the first queries; 0 of those that no part holds."""
    counts = np.zeros(n_queries, np.int64)
    for part in parts:
        known = part.code < n_queries
        counts[part.code[known]] = getattr(part, name)[known]
    return counts


def _hits(parts: list[_Part]) -> tuple[Codes, Codes, Floats]:
    """Query, rank and grade of the judged documents that were retrieved, sorted."""
    code, n_hits, rank, grade = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("code", "n_hits", "rank", "grade")
    )
    query, rank = np.repeat(code, n_hits), rank.astype(np.int64)
    if (code[1:] > code[:-1]).all():
        return query, rank, grade
    by_query = np.argsort(query, kind="stable")
    return query[by_query], rank[by_query], grade[by_query]

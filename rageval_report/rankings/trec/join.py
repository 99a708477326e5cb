"""A run and judgments of files, matched and ranked without an id ever becoming an object."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_report.rankings import order
from rageval_report.rankings.hits import Codes, Floats, hit_table
from rageval_report.rankings.joined import Joined, Ties, refuse_strangers, refuse_ties
from rageval_report.rankings.order import starts_of
from rageval_report.rankings.trec.lists import (
    Lists,
    Table,
    lists_of,
    low_bits,
    sort_within,
    with_numbers,
)
from rageval_report.rankings.trec.pairs import matches

_SPREAD = np.uint64(0xD6E8FEB86659FD93)


def joined_tables(run: Table, qrels: Table, *, ties: Ties, relevance_level: float) -> Joined:
    """A run and its judgments, matched.

    Parameters
    ----------
    run, qrels : Table
        What was retrieved, and what was judged.
    ties : {"docid", "input", "error"}
        Which of equal scores goes first.
    relevance_level : float
        The lowest relevant grade.

    Raises
    ------
    ReaderError
        If a document stands twice for a query.
    AlignmentError
        If they have no query in common.
    """
    codes: dict[bytes, int] = {}
    judged, n_judged = lists_of(qrels, codes), len(codes)
    retrieved = lists_of(run, codes)
    names = [name.decode() for name in codes]
    query_ids, n_retrieved = names[:n_judged], retrieved.per_query(retrieved.lengths, n_judged)
    missing = [query_ids[code] for code in np.flatnonzero(n_retrieved == 0)]
    refuse_strangers(query_ids, missing, unjudged := names[n_judged:])

    judged_row, run_row = matches(judged, retrieved, names)
    ordered = order.from_the_best(retrieved.values(), retrieved.lengths)
    n_tied = retrieved.per_query(order.n_tied(ordered, retrieved.lengths), n_judged)
    if ties == "error":
        refuse_ties(query_ids, n_tied)
    by_query = _by_query(judged)
    grade = qrels.columns.value
    hits = hit_table(
        query=judged.query(judged_row),
        rank=ranks_of(retrieved, ordered, run_row, by_id=ties == "docid"),
        grade=grade[judged_row],
        judged_query=judged.query(by_query),
        judged_grade=grade[by_query],
        n_retrieved=n_retrieved,
        relevance_level=relevance_level,
    )
    return Joined(query_ids, hits, n_tied, missing, unjudged)


def _by_query(judged: Lists) -> Codes | slice:
    """Rows in order of the codes of their queries."""
    if (judged.code[1:] > judged.code[:-1]).all():
        return judged.order
    return np.argsort(judged.query(slice(None)), kind="stable")


def ranks_of(run: Lists, ordered: Floats, rows: Codes, *, by_id: bool) -> Codes:
    """The ranks, from 0, of rows of the run in their lists."""
    rank, tied = _n_better(run, ordered, rows)
    if tied.any():
        rank[tied] += _n_equal_ahead(run, rows[tied], by_id=by_id)
    return rank


def _n_better(run: Lists, ordered: Floats, rows: Codes) -> tuple[Codes, NDArray[np.bool_]]:
    """How many documents of its list score more than each row's, and whether some are equal."""
    lists = run.list_of_row[rows].astype(np.int64)
    if not (ordered == -run.values()).all():
        return order.n_better(ordered, run.lengths, lists, run.table.columns.value[rows])
    is_first = np.ones(len(ordered) + 1, dtype=bool)  # the file is in order: places are ranks
    is_first[1:-1] = ordered[1:] != ordered[:-1]
    is_first[run.starts] = True
    places = run.places(rows)
    tied = ~(is_first[places] & is_first[places + 1])
    if tied.any():
        first = np.flatnonzero(is_first)
        places[tied] = first[np.searchsorted(first, places[tied], side="right") - 1]
    return places - run.starts[lists], tied


def _n_equal_ahead(run: Lists, wanted: Codes, *, by_id: bool) -> Codes:
    """How many documents of the same list and score go ahead of each wanted one."""
    by_list = np.argsort(run.list_of_row[wanted], kind="stable")
    its_list = run.list_of_row[wanted[by_list]]
    ahead = np.empty(len(wanted), np.int64)
    for first, last in run.groups():
        chosen = by_list[slice(*np.searchsorted(its_list, [first, last]))]
        if chosen.size:
            rows = _perhaps_tied(run, np.unique(run.list_of_row[wanted[chosen]]), wanted[chosen])
            found = _n_ahead_among(run, rows, by_id=by_id)
            ahead[chosen] = found[np.searchsorted(rows, wanted[chosen])]
    return ahead


def _perhaps_tied(run: Lists, lists: Codes, wanted: Codes) -> Codes:
    """The rows of some lists, ascending, that share list and score with a wanted one.

    They are found by a hash, so there may be more.
    """
    rows = run.rows_of_lists(lists)
    keys = (run.table.columns.value[rows] + 0.0).view(np.uint64) * _SPREAD  # -0 + 0 is 0
    keys = (keys ^ run.list_of_row[rows].astype(np.uint64)) * _SPREAD
    keys = with_numbers(keys, np.arange(len(rows)), len(rows))
    sort_within(keys, starts_of(run.lengths[lists]))
    low = low_bits(len(rows))
    rows = rows[(keys & low).astype(np.int64)]
    starts = np.flatnonzero(np.concatenate([[True], (keys[1:] ^ keys[:-1]) > low]))
    has_wanted = np.logical_or.reduceat(np.isin(rows, wanted), starts)
    return np.sort(rows[np.repeat(has_wanted, np.diff(starts, append=len(rows)))])


def _n_ahead_among(run: Lists, rows: Codes, *, by_id: bool) -> Codes:
    """How many of ascending rows go ahead of each, of those that share its list and score."""
    lists, value = run.list_of_row[rows], run.table.columns.value[rows]
    keys: list[NDArray[Any]] = [lists, -value]
    if by_id:  # descending, by code point
        keys += [~eight.byteswap() for eight in run.table.eights(rows)]
    order = np.lexsort(keys[::-1])  # what is equal in all keys stays as it was
    lists, value = lists[order], value[order]
    is_first = np.ones(len(rows), dtype=bool)
    is_first[1:] = (lists[1:] != lists[:-1]) | (value[1:] != value[:-1])
    starts = np.flatnonzero(is_first)
    ahead = np.empty(len(rows), np.int64)
    ahead[order] = np.arange(len(rows)) - np.repeat(starts, np.diff(starts, append=len(rows)))
    return ahead

"""Pairs of a row of a run and a row of its judgments that have one query and document.

For each query the hashes of the retrieved and of the judged documents are sorted together.
Neighbours with one hash are compared in full; if they differ, or more than two share a hash, the
documents of that query get codes instead of hashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from rageval_report.rankings.id_columns import Hashes, IdColumn
from rageval_report.rankings.order import (
    groups_of_similar_length,
    is_inside,
    rows_of,
    spread,
    starts_of,
)
from rageval_report.types import IntArray

Column = TypeVar("Column", bound=IdColumn)

# The codes of rows in the order of queries, where each query begins, how many rows it has.
_Side = tuple[Hashes, IntArray, IntArray]

# Fills up short lists; it sorts behind everything else.
_FULL = np.uint64(2**64 - 1)


@dataclass(frozen=True, eq=False)
class RowLists:
    """Rows, query after query.

    Parameters
    ----------
    order : ndarray of shape (n,), or slice
        The rows in the order of queries.
    lengths : ndarray of shape (n_queries,)
        How many rows each query has.
    """

    order: IntArray | slice
    lengths: IntArray

    def rows(self, places: IntArray) -> IntArray:
        """The rows at some places of the order."""
        return places if isinstance(self.order, slice) else self.order[places]


@dataclass(frozen=True, eq=False)
class RowPairs:
    """Pairs of rows with the same query and document.

    Parameters
    ----------
    query : ndarray of shape (n,)
        The query.
    run, judged : ndarray of shape (n,)
        The places of the rows in the lists of the run and of the judgments.
    crowded : ndarray
        Queries in which two rows of one side have one document, or share its hash.
    """

    query: IntArray
    run: IntArray
    judged: IntArray
    crowded: IntArray


def lists_of(block_code: IntArray, block_starts: IntArray, n_rows: int, n_queries: int) -> RowLists:
    """The rows of each query.

    Parameters
    ----------
    block_code : ndarray of shape (n_blocks,)
        The query of each block of neighbouring rows.
    block_starts : ndarray of shape (n_blocks,)
        The first row of each block.
    n_rows, n_queries : int
        The numbers of rows and of queries.
    """
    block_lengths = np.diff(block_starts, append=n_rows)
    lengths = np.zeros(n_queries, np.int64)
    np.add.at(lengths, block_code, block_lengths)
    # Files and frames are mostly grouped by query; then the rows stay where they are.
    if (block_code[1:] >= block_code[:-1]).all():
        return RowLists(slice(None), lengths)
    by_code = np.argsort(block_code, kind="stable")
    return RowLists(spread(block_starts[by_code], block_lengths[by_code]), lengths)


def pairs_of(run: RowLists, run_ids: Column, judged: RowLists, judged_ids: Column) -> RowPairs:
    """The rows of judged documents that were retrieved.

    Parameters
    ----------
    run, judged : RowLists
        The rows of each query.
    run_ids, judged_ids : IdColumn
        The document of each row, both columns in one form.

    Returns
    -------
    RowPairs
        Its crowded queries are those in which a document appears twice.
    """
    likely = _neighbours(
        run_ids.hashes()[run.order], run.lengths, judged_ids.hashes()[judged.order], judged.lengths
    )
    # Equal hashes only suggest equal ids; without this check one collision in 64 bits would give a
    # wrong score.
    equal = run_ids.are_equal(run.rows(likely.run), judged_ids, judged.rows(likely.judged))
    if equal.all() and not likely.crowded.size:
        return likely
    # A collision hides real pairs of its query too, so the whole query is matched again.
    doubtful = np.union1d(likely.crowded, likely.query[~equal])
    sure = ~np.isin(likely.query, doubtful)
    more = _pairs_by_codes(doubtful, run, run_ids, judged, judged_ids)
    return RowPairs(
        np.concatenate([likely.query[sure], more.query]),
        np.concatenate([likely.run[sure], more.run]),
        np.concatenate([likely.judged[sure], more.judged]),
        more.crowded,
    )


def _pairs_by_codes(
    queries: IntArray, run: RowLists, run_ids: Column, judged: RowLists, judged_ids: Column
) -> RowPairs:
    """As `pairs_of`, for some queries, by codes of the documents."""
    places = [
        spread(starts_of(side.lengths)[queries], side.lengths[queries]) for side in (run, judged)
    ]
    objects = [run_ids.objects(run.rows(places[0])), judged_ids.objects(judged.rows(places[1]))]
    codes = pd.factorize(np.concatenate(objects))[0].astype(np.uint64)
    n = len(objects[0])
    pairs = _neighbours(codes[:n], run.lengths[queries], codes[n:], judged.lengths[queries])
    return RowPairs(
        queries[pairs.query], places[0][pairs.run], places[1][pairs.judged], queries[pairs.crowded]
    )


def _neighbours(run: Hashes, n_run: IntArray, judged: Hashes, n_judged: IntArray) -> RowPairs:
    """Pairs of one retrieved and one judged row that are alone with their query and code.

    Parameters
    ----------
    run, judged : ndarray
        The code of each row, in the order of queries.
    n_run, n_judged : ndarray of shape (n_queries,)
        The rows of each query.
    """
    sides = (run, starts_of(n_run), n_run), (judged, starts_of(n_judged), n_judged)
    groups = groups_of_similar_length(n_run + n_judged)
    parts = [_pairs_among(queries, *sides) for queries in groups]
    return RowPairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _pairs_among(
    queries: IntArray, run: _Side, judged: _Side
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The columns of `RowPairs` for some queries, each sorted as a row of codes and places.

    The place of a row in its list is put into the low bits of its code: after sorting, neighbours
    that differ in no other bit are candidates, and the low bits say which rows they are.
    """
    first, more = (int(lengths[queries].max()) for _, _, lengths in (run, judged))
    width = first + more
    # The code is shifted to make room for its place, so that one sort of plain numbers moves both;
    # the high bits that this loses are made up for by `are_equal`.
    place_bits, above = np.uint64(width.bit_length()), np.uint64(1 << width.bit_length())
    square = np.full((len(queries), width), _FULL)
    for part, (codes, starts, lengths) in ((square[:, :first], run), (square[:, first:], judged)):
        rows = rows_of(queries, starts, lengths)
        part[is_inside(lengths[queries])] = codes[rows] << place_bits
    square |= np.arange(width, dtype=np.uint64)  # the padding stays as it is, and goes last
    square.sort(axis=1)
    left, right = square[:, :-1], square[:, 1:]
    line, place = np.nonzero(((left ^ right) < above) & (right != _FULL))
    query = queries[line]
    mine, theirs = (
        (side[line, place] & (above - np.uint64(1))).astype(np.int64) for side in (left, right)
    )
    across = (mine < first) & (theirs >= first)
    # Neighbours from one side: a repeated document, or two codes that agree in the bits left.
    crowded = np.unique(query[~across])
    query, mine, theirs = query[across], mine[across], theirs[across] - first
    return query, run[1][query] + mine, judged[1][query] + theirs, crowded

"""Rows of a run and of its judgments that are of one query and document.

The hashes of a query's documents are sorted, the retrieved and the judged together. Neighbours of
one hash are compared in full; where that does not settle it, the documents of the query are coded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.rankings.hits import Codes
from rageval_report.rankings.id_columns import IdColumn, Words
from rageval_report.rankings.order import alike, is_inside, rows_of, spread, starts_of

# The codes of rows in the order of queries, where each query begins, how many rows it has.
_Side = tuple[Words, Codes, Codes]

_FULL = np.uint64(2**64 - 1)


@dataclass(frozen=True, eq=False)
class Lists:
    """Rows, those of a query together.

    Parameters
    ----------
    order : ndarray of shape (n,), or slice
        The rows in the order of queries.
    lengths : ndarray of shape (n_queries,)
        How many rows each query has.
    """

    order: Codes | slice
    lengths: Codes

    def rows(self, places: Codes) -> Codes:
        """The rows that stand at some places of the order."""
        return places if isinstance(self.order, slice) else self.order[places]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows of the same query and document.

    Parameters
    ----------
    query : ndarray of shape (n,)
        The query.
    run, judged : ndarray of shape (n,)
        Their places in the lists of the run and of the judgments.
    crowded : ndarray
        Queries in which two rows of one side are of one document, or share its hash.
    """

    query: Codes
    run: Codes
    judged: Codes
    crowded: Codes


def lists_of(block_code: Codes, block_starts: Codes, n_rows: int, n_queries: int) -> Lists:
    """The rows of each query.

    Parameters
    ----------
    block_code : ndarray of shape (n_blocks,)
        The query of each block of rows that stand together.
    block_starts : ndarray of shape (n_blocks,)
        Where it begins.
    n_rows, n_queries : int
        How many there are.
    """
    block_lengths = np.diff(block_starts, append=n_rows)
    lengths = np.zeros(n_queries, np.int64)
    np.add.at(lengths, block_code, block_lengths)
    if (block_code[1:] >= block_code[:-1]).all():
        return Lists(slice(None), lengths)
    by_code = np.argsort(block_code, kind="stable")
    return Lists(spread(block_starts[by_code], block_lengths[by_code]), lengths)


def pairs_of(run: Lists, run_ids: IdColumn, judged: Lists, judged_ids: IdColumn) -> Pairs:
    """The rows of judged documents that were retrieved.

    Parameters
    ----------
    run, judged : Lists
        The rows of each query.
    run_ids, judged_ids : ByteIds or ObjectIds
        The documents, a row a document, both in one form.

    Returns
    -------
    Pairs
        Crowded are the queries in which a document stands twice.
    """
    likely = _neighbours(
        run_ids.hashes()[run.order], run.lengths, judged_ids.hashes()[judged.order], judged.lengths
    )
    equal = run_ids.are_equal(run.rows(likely.run), judged_ids, judged.rows(likely.judged))
    if equal.all() and not likely.crowded.size:
        return likely
    doubtful = np.union1d(likely.crowded, likely.query[~equal])
    sure = ~np.isin(likely.query, doubtful)
    more = _pairs_by_codes(doubtful, run, run_ids, judged, judged_ids)
    return Pairs(
        np.concatenate([likely.query[sure], more.query]),
        np.concatenate([likely.run[sure], more.run]),
        np.concatenate([likely.judged[sure], more.judged]),
        more.crowded,
    )


def _pairs_by_codes(
    queries: Codes, run: Lists, run_ids: IdColumn, judged: Lists, judged_ids: IdColumn
) -> Pairs:
    """The same for some queries, by codes of the documents."""
    places = [
        spread(starts_of(one.lengths)[queries], one.lengths[queries]) for one in (run, judged)
    ]
    objects = [run_ids.objects(run.rows(places[0])), judged_ids.objects(judged.rows(places[1]))]
    codes = pd.factorize(np.concatenate(objects))[0].astype(np.uint64)
    n = len(objects[0])
    found = _neighbours(codes[:n], run.lengths[queries], codes[n:], judged.lengths[queries])
    return Pairs(
        queries[found.query], places[0][found.run], places[1][found.judged], queries[found.crowded]
    )


def _neighbours(run: Words, n_run: Codes, judged: Words, n_judged: Codes) -> Pairs:
    """Rows of one query and code, where there are just one retrieved and one judged.

    Parameters
    ----------
    run, judged : ndarray
        The code of each row, in the order of queries.
    n_run, n_judged : ndarray of shape (n_queries,)
        The rows of each query.
    """
    sides = (run, starts_of(n_run), n_run), (judged, starts_of(n_judged), n_judged)
    parts = [_pairs_among(queries, *sides) for queries in alike(n_run + n_judged)]
    return Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _pairs_among(queries: Codes, run: _Side, judged: _Side) -> tuple[Codes, Codes, Codes, Codes]:
    """The columns of `Pairs`, of some queries: each is sorted as a row of codes and places."""
    first, more = (int(lengths[queries].max()) for _, _, lengths in (run, judged))
    width = first + more
    place_bits, above = np.uint64(width.bit_length()), np.uint64(1 << width.bit_length())
    square = np.full((len(queries), width), _FULL)
    for part, (codes, starts, lengths) in ((square[:, :first], run), (square[:, first:], judged)):
        rows = rows_of(queries, starts, lengths)
        part[is_inside(lengths[queries])] = codes[rows] << place_bits
    square |= np.arange(width, dtype=np.uint64)  # what fills up stays as it is, and goes last
    square.sort(axis=1)
    one, other = square[:, :-1], square[:, 1:]
    line, place = np.nonzero(((one ^ other) < above) & (other != _FULL))
    query = queries[line]
    mine, theirs = (
        (side[line, place] & (above - np.uint64(1))).astype(np.int64) for side in (one, other)
    )
    across = (mine < first) & (theirs >= first)
    crowded = np.unique(query[~across])
    query, mine, theirs = query[across], mine[across], theirs[across] - first
    return query, run[1][query] + mine, judged[1][query] + theirs, crowded

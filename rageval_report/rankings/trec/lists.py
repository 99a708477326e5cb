"""The rows of files as lists, one a query, and the sorting of whole lists by hashes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rageval_report.rankings.hits import Codes, Floats
from rageval_report.rankings.order import spread, starts_of
from rageval_report.rankings.trec.bytes import Text, Words
from rageval_report.rankings.trec.columns import Columns

# Sorting so few rows at a time is many times faster than sorting all.
_AT_A_TIME = 256

# So many rows are worked on at a time where a whole column more would take memory.
PART = 1 << 16


@dataclass(frozen=True, eq=False)
class Table:
    """A file as columns of its text.

    Parameters
    ----------
    text : Text
        The text.
    columns : Columns
        Its rows.
    """

    text: Text
    columns: Columns

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.columns.value)

    def queries(self) -> list[bytes]:
        """The query of each block."""
        return self.text.words(self.columns.query_start, self.columns.query_length)

    def docs(self, rows: Codes) -> list[bytes]:
        """The documents of some rows."""
        return self.text.words(self.columns.doc_start[rows], self.columns.doc_length[rows])

    def eights(self, rows: Codes, *, after: int = 0) -> Iterator[Words]:
        """The documents of some rows, eight bytes at a time; so many bytes are passed over."""
        places = self.columns.doc_start[rows], self.columns.doc_length[rows]
        return self.text.eights(*places, after=after)


@dataclass(frozen=True, eq=False)
class Lists:
    """The rows of a table, a list a query.

    Parameters
    ----------
    table : Table
        The rows.
    code : ndarray of shape (n_lists,)
        The query of each list.
    lengths : ndarray of shape (n_lists,)
        How many rows it has.
    list_of_row : ndarray of shape (n,)
        The list of each row.
    order : ndarray of shape (n,), or slice
        The rows so ordered that those of a list stand together, list after list.
    """

    table: Table
    code: Codes
    lengths: Codes
    list_of_row: NDArray[np.int32]
    order: Codes | slice

    @property
    def starts(self) -> Codes:
        """Where, in that order, each list starts."""
        return starts_of(self.lengths)

    def query(self, rows: Codes | slice) -> Codes:
        """The codes of the queries of rows."""
        return self.code[self.list_of_row[rows]]

    def values(self) -> Floats:
        """The numbers, in that order."""
        return self.table.columns.value[self.order]

    def places(self, rows: Codes) -> Codes:
        """Where, in that order, rows stand."""
        if isinstance(self.order, slice):
            return rows.copy()
        places = np.empty(len(self.table), np.int64)
        places[self.order] = np.arange(len(self.table))
        return places[rows]

    def parts(self) -> Iterator[tuple[Codes, Codes]]:
        """Some places and the rows that stand there, part after part, all in all each once."""
        for first in range(0, len(self.table), PART):
            places = np.arange(first, min(first + PART, len(self.table)))
            yield places, places if isinstance(self.order, slice) else self.order[places]

    def groups(self) -> Iterator[tuple[int, int]]:
        """Neighbouring lists that come to some rows, as the first and the one behind the last."""
        starts = self.starts
        cuts = np.searchsorted(starts, np.arange(0, len(self.table), PART))
        yield from pairwise([*np.unique(cuts[cuts < len(starts)]).tolist(), len(starts)])

    def rows_of_lists(self, lists: Codes) -> Codes:
        """The rows of some lists, list after list."""
        places = spread(self.starts[lists], self.lengths[lists])
        return places if isinstance(self.order, slice) else self.order[places]

    def per_query(self, counts: Codes, n_queries: int) -> Codes:
        """Counts of lists as counts of the first queries; 0 where there is no list."""
        found = np.zeros(n_queries, np.int64)
        known = self.code < n_queries
        found[self.code[known]] = counts[known]
        return found


def lists_of(table: Table, codes: dict[bytes, int]) -> Lists:
    """The lists of a table.

    Parameters
    ----------
    table : Table
        The rows.
    codes : dict of bytes to int
        The codes of queries, in order of appearance; new queries are put down.
    """
    block_code = np.array([codes.setdefault(name, len(codes)) for name in table.queries()])
    block = table.columns.block
    is_new = np.ones(len(block), dtype=bool)
    is_new[1:] = block_code[1:] != block_code[:-1]
    code = block_code[is_new]
    if np.bincount(code).max() > 1:  # the rows of a query are no neighbours
        query = np.repeat(block_code.astype(np.int32), np.diff(block, append=len(table)))
        lengths = np.bincount(query, minlength=len(codes))
        order = np.argsort(query, kind="stable")
        return Lists(table, np.arange(len(codes)), lengths, query, order)
    lengths = np.diff(block[is_new], append=len(table))
    list_of_row = np.repeat(np.arange(len(code), dtype=np.int32), lengths)
    return Lists(table, code, lengths, list_of_row, slice(None))


def sort_within(keys: Words, starts: Codes) -> None:
    """Sort keys in place, some whole lists at a time; equal keys of a list become neighbours."""
    cuts = np.searchsorted(starts, np.arange(0, len(keys), _AT_A_TIME))
    bounds = [*np.unique(starts[cuts[cuts < len(starts)]]).tolist(), len(keys)]
    for first, last in pairwise(bounds):
        keys[first:last].sort()


def with_numbers(hashes: Words, numbers: Codes, n_rows: int) -> Words:
    """Hashes whose low bits give way to the numbers of rows."""
    return (hashes & ~low_bits(n_rows)) | numbers.astype(np.uint64)


def low_bits(n_rows: int) -> np.uint64:
    """The bits that hold the number of a row."""
    return np.uint64((1 << n_rows.bit_length()) - 1)

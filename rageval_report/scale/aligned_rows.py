"""The rows of several tables side by side, by id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rageval_report._registry import import_arrow_module, import_pyarrow
from rageval_report.errors import MOST_NAMED
from rageval_report.scale.id_order import OrderName, sort_key
from rageval_report.scale.pairs import OrderedSide, UnorderedIdsError
from rageval_report.scale.score_rows import ScoreRows


@dataclass(frozen=True)
class TableColumns:
    """The columns that are read of a table.

    Parameters
    ----------
    metrics : tuple of str
        The metrics.
    details : tuple of str
        The columns of details, by their names in the files.
    """

    metrics: tuple[str, ...]
    details: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class AlignedRows:
    """Some rows of several tables.

    Parameters
    ----------
    common : tuple of ScoreRows
        For each table the rows of the queries that all have, in the same order.
    others : tuple of ScoreRows
        For each table the rows of the queries that some table lacks.
    n_others : int
        The number of different queries among these.
    """

    common: tuple[ScoreRows, ...]
    others: tuple[ScoreRows, ...]
    n_others: int = 0

    @classmethod
    def complete(cls, common: Sequence[ScoreRows]) -> AlignedRows:
        """Rows of the same queries in the same order."""
        return cls(tuple(common), tuple(rows.slice(0, 0) for rows in common))

    def parts(self, most: int) -> Iterator[AlignedRows]:
        """The same rows, at most so many of a table at once."""
        parts_of_others = _parts_of_others(self.others, most)
        n_common = len(self.common[0])
        for place in range(max(-(-n_common // most), len(parts_of_others))):
            first, last = (min(each * most, n_common) for each in (place, place + 1))
            common = tuple(rows.slice(first, last) for rows in self.common)
            has_others = place < len(parts_of_others)
            yield AlignedRows(
                common,
                parts_of_others[place]
                if has_others
                else tuple(rows.slice(0, 0) for rows in self.others),
                0 if place else self.n_others,
            )


def _parts_of_others(others: Sequence[ScoreRows], most: int) -> list[tuple[ScoreRows, ...]]:
    """Rows that some table lacks in parts of at most so many queries, those of a query in one."""
    if max(map(len, others)) <= most:
        return [tuple(others)] if any(map(len, others)) else []
    ids = import_pyarrow().concat_arrays([rows.ids for rows in others])
    codes = ids.dictionary_encode().indices.to_numpy() // most
    ends = np.cumsum([len(rows) for rows in others])
    of_tables = np.split(codes, ends[:-1])
    return [
        tuple(
            rows.take(part == place) if len(rows) else rows
            for rows, part in zip(others, of_tables, strict=True)
        )
        for place in range(int(codes.max()) + 1)
    ]


@dataclass(frozen=True)
class QueryCounts:
    """How many queries several tables share.

    Parameters
    ----------
    n_common : int
        The queries of all.
    n_others : int
        The different queries that some table lacks.
    rows : tuple of int
        The rows of each table.
    first_others : tuple of tuple of str
        For each table the first of its queries that some table lacks, by code point.
    """

    n_common: int
    n_others: int
    rows: tuple[int, ...]
    first_others: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, rows: AlignedRows) -> QueryCounts:
        """The counts of some rows."""
        n_common = len(rows.common[0])
        return cls(
            n_common,
            rows.n_others,
            tuple(n_common + len(others) for others in rows.others),
            tuple(_first_ids(others) for others in rows.others),
        )

    def __add__(self, other: QueryCounts) -> QueryCounts:
        """The counts of both parts."""
        return QueryCounts(
            self.n_common + other.n_common,
            self.n_others + other.n_others,
            tuple(map(int.__add__, self.rows, other.rows)),
            tuple(
                tuple(sorted((*ours, *theirs))[:MOST_NAMED])
                for ours, theirs in zip(self.first_others, other.first_others, strict=True)
            ),
        )


def _first_ids(rows: ScoreRows) -> tuple[str, ...]:
    if rows.ids is None or not len(rows):
        return ()
    return tuple(sorted(rows.ids.to_pylist())[:MOST_NAMED])


def align_rows(parts: Sequence[ScoreRows]) -> AlignedRows:
    """The rows of parts of several tables by id, whatever their order; ids occur once in each.

    Examples
    --------
    >>> import pyarrow
    >>> first, second = (
    ...     ScoreRows({}, pyarrow.array(ids, pyarrow.large_string())) for ids in (["a", "b"], ["b"])
    ... )
    >>> rows = align_rows([first, second])
    >>> rows.common[0].ids.to_pylist(), rows.others[0].ids.to_pylist(), rows.n_others
    (['b'], ['a'], 1)
    """
    first, *rest = parts
    if all(len(rows) == len(first) and rows.ids.equals(first.ids) for rows in rest):
        return AlignedRows.complete(parts)
    compute = import_arrow_module("compute")
    places = [compute.index_in(first.ids, value_set=rows.ids) for rows in rest]
    is_common = np.ones(len(first), dtype=bool)
    for rows_there in places:
        is_common &= rows_there.is_valid().to_numpy(zero_copy_only=False)
    mask = import_pyarrow().array(is_common)
    chosen = [np.flatnonzero(is_common)]
    chosen += [rows_there.filter(mask).to_numpy().astype(np.intp) for rows_there in places]
    alone = []
    for rows, used in zip(parts, chosen, strict=True):
        is_alone = np.ones(len(rows), dtype=bool)
        is_alone[used] = False
        alone.append(rows.take(is_alone))
    ids = import_pyarrow().concat_arrays([rows.ids for rows in alone])
    common = [rows.take(used) for rows, used in zip(parts, chosen, strict=True)]
    return AlignedRows(tuple(common), tuple(alone), len(ids.unique()))


def ordered_rows(
    names: Sequence[str],
    tables: Sequence[Iterator[ScoreRows]],
    metrics: Sequence[Sequence[str]],
    order: OrderName,
) -> Iterator[AlignedRows]:
    """The rows of tables whose ids are in order, part by part.

    Parameters
    ----------
    names : sequence of str
        The names of the tables.
    tables : sequence of iterator of ScoreRows
        Their rows, with ids.
    metrics : sequence of sequence of str
        The metrics that were read of each.
    order : {"text", "length"}
        The order of the ids of all.

    Raises
    ------
    UnorderedIdsError
        If the ids of a table are not in this order, or one occurs twice.
    """
    sides = [
        OrderedSide(name, parts, of_table, order)
        for name, parts, of_table in zip(names, tables, metrics, strict=True)
    ]
    while waiting := [side for side in sides if side.fill()]:
        for side in waiting:
            side.check()
        last = min((side.rows.ids[-1].as_py() for side in waiting), key=sort_key(order))
        yield align_rows([side.pop_until(last) for side in sides])


def rows_in_equal_order(
    names: Sequence[str], tables: Sequence[Iterator[ScoreRows]]
) -> Iterator[AlignedRows]:
    """The rows of tables that have the same ids in the same order, whatever it is.

    Parameters
    ----------
    names, tables
        As in `ordered_rows`. That no id occurs twice is not checked here.

    Raises
    ------
    UnorderedIdsError
        If the ids differ at some row.
    """
    parts = [ScoreRows({}) for _ in tables]
    while True:
        parts = [
            rows if len(rows) else next(table, rows)
            for rows, table in zip(parts, tables, strict=True)
        ]
        n = min(map(len, parts))
        if not n and not any(map(len, parts)):
            return
        first = parts[0]
        if not n or not all(
            rows.ids.slice(0, n).equals(first.ids.slice(0, n)) for rows in parts[1:]
        ):
            raise UnorderedIdsError(
                f"the ids of {', '.join(map(repr, names))} are neither sorted nor in the same order"
            )
        yield AlignedRows.complete([rows.slice(0, n) for rows in parts])
        parts = [rows.slice(n, len(rows)) for rows in parts]

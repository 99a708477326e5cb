"""Tables whose ids are in order, cut at the same ids, so that each range can be aligned alone.

The cuts come from the statistics of the groups of rows in Parquet files. They are only believed as
far as they are checked: the order of the ids is tested where the rows are read, and rows are
counted, so that a range can lose none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path

from rageval_report.scale.aligned_rows import (
    AlignedRows,
    QueryCounts,
    TableColumns,
    ordered_rows,
)
from rageval_report.scale.id_order import IdOrder, OrderName, sort_key
from rageval_report.scale.mergeable import Partial, S, States, add_states
from rageval_report.scale.pairs import PairedRows, UnorderedIdsError, first_row_after, ordered_pairs
from rageval_report.scale.pieces import ParquetPiece, read_footer
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import ScoreRows

# The rows of the larger table in a range: enough work for a task of a cluster.
_ROWS_OF_RANGE = 1 << 20


@dataclass(frozen=True)
class IdRange:
    """The rows of tables between two ids.

    Parameters
    ----------
    tables : tuple of ScanTable
        The groups of rows of each table that may have ids of the range.
    low, high : str or None
        The ids: those after `low`, up to `high`; None for no limit.
    order : {"text", "length"}
        The order of the ids.
    """

    tables: tuple[ScanTable, ...]
    low: str | None
    high: str | None
    order: OrderName


@dataclass(frozen=True)
class RowCounts:
    """How many rows of two tables were read.

    Parameters
    ----------
    n_before, n_after : int
        The rows of either table.
    """

    n_before: int
    n_after: int

    @classmethod
    def of(cls, rows: PairedRows) -> RowCounts:
        """The counts of some rows."""
        n = len(rows.before)
        return cls(n + len(rows.only_before), n + len(rows.only_after))

    def __add__(self, other: RowCounts) -> RowCounts:
        """The counts of both parts."""
        return RowCounts(self.n_before + other.n_before, self.n_after + other.n_after)


@dataclass(frozen=True)
class _Group:
    """A group of rows of a Parquet file, and its first and last id."""

    piece: ParquetPiece
    low: str
    high: str


def cut_into_ranges(*tables: ScanTable) -> list[IdRange] | None:
    """Ranges of ids that divide tables; None if the files do not state an order of their ids.

    Parameters
    ----------
    *tables : ScanTable
        The tables.
    """
    stated = [_ordered_groups(table) for table in tables]
    known = [each for each in stated if each is not None]
    orders = {order for _, order in known}
    if len(known) < len(tables) or len(orders) > 1:
        return None
    order = orders.pop()
    groups = [each for each, _ in known]
    largest = max(range(len(tables)), key=lambda place: tables[place].n_rows)
    bounds = [None, *_bounds(groups[largest]), None]
    return [
        IdRange(
            tuple(
                replace(table, pieces=_pieces_within(own, low, high, order))
                for table, own in zip(tables, groups, strict=True)
            ),
            low,
            high,
            order,
        )
        for low, high in pairwise(bounds)
    ]


def _ordered_groups(table: ScanTable) -> tuple[list[_Group], OrderName] | None:
    """The groups of rows in the order of their ids; None if they overlap, or state no ids."""
    if table.shape.keys is not None:
        return None  # the statistics are those of texts, which are not yet in their plain form
    pieces = [piece for piece in table.pieces if isinstance(piece, ParquetPiece)]
    if len(pieces) < len(table.pieces):
        return None
    groups: list[_Group] = []
    kinds: set[type] = set()
    for path, of_file in groupby(pieces, key=lambda piece: piece.path):
        footer = read_footer(Path(path))
        stated = footer.ranges(table.shape.id_column)
        if stated is None:
            return None
        for piece in of_file:
            for place in piece.groups:
                low, high = stated[place]
                kinds |= {type(low), type(high)}
                n_rows = footer.metadata.row_group(place).num_rows
                group = replace(piece, groups=(place,), n_rows=n_rows)
                groups.append(_Group(group, str(low), str(high)))
    # Whole numbers from 0 on, as texts, are in the order of their lengths, then of their digits.
    order: OrderName = "length" if kinds == {int} else "text"
    is_negative = any(group.low.startswith("-") for group in groups)
    if not (kinds == {str} or (kinds == {int} and not is_negative)):
        return None
    key = sort_key(order)
    in_order = all(key(a.high) < key(b.low) for a, b in pairwise(groups))
    return (groups, order) if in_order else None


def _bounds(groups: Sequence[_Group]) -> Iterator[str]:
    """The last ids of runs of groups that have enough rows, but for the last run."""
    n_rows = 0
    for group in groups[:-1]:
        n_rows += group.piece.n_rows
        if n_rows >= _ROWS_OF_RANGE:
            yield group.high
            n_rows = 0


def _pieces_within(
    groups: Sequence[_Group], low: str | None, high: str | None, order: OrderName
) -> tuple[ParquetPiece, ...]:
    """The groups that may have ids after `low`, up to `high`; those of a file in one piece."""
    key = sort_key(order)
    chosen = [
        group.piece
        for group in groups
        if (low is None or key(group.high) > key(low))
        and (high is None or key(group.low) <= key(high))
    ]
    joined = []
    for _, same_file in groupby(chosen, key=lambda piece: piece.path):
        listed = list(same_file)
        places = tuple(place for piece in listed for place in piece.groups)
        n_rows = sum(piece.n_rows for piece in listed)
        joined.append(replace(listed[0], groups=places, n_rows=n_rows))
    return tuple(joined)


def fold_range(
    cut: IdRange,
    partial: Partial[PairedRows, S],
    metrics: tuple[tuple[str, ...], tuple[str, ...]],
    details: tuple[tuple[str, ...], tuple[str, ...]],
) -> States | None:
    """The row counts and the state of a range; None if it has no rows.

    Raises
    ------
    UnorderedIdsError
        If the ids of a table are not in order.
    """
    first, second = cut.tables
    sides = [
        _rows_within(cut, table, chosen, cells)
        for table, chosen, cells in zip(cut.tables, metrics, details, strict=True)
    ]
    pairs = ordered_pairs((first.name, second.name), sides[0], sides[1], metrics, cut.order)
    return add_states(States((RowCounts.of(rows), partial(rows))) for rows in pairs)


def fold_aligned_range(
    cut: IdRange, partial: Partial[AlignedRows, S], columns: Sequence[TableColumns]
) -> States | None:
    """The counts of queries and the state of a range of any number of tables, as `fold_range`."""
    sides = [
        _rows_within(cut, table, chosen.metrics, chosen.details)
        for table, chosen in zip(cut.tables, columns, strict=True)
    ]
    names = [table.name for table in cut.tables]
    aligned = ordered_rows(names, sides, [chosen.metrics for chosen in columns], cut.order)
    return add_states(States((QueryCounts.of(rows), partial(rows))) for rows in aligned)


def _rows_within(
    cut: IdRange, table: ScanTable, metrics: Sequence[str], details: Sequence[str]
) -> Iterator[ScoreRows]:
    """The rows of a table whose ids are in a range; of none, columns without rows."""
    key = sort_key(cut.order)
    for rows in table.rows(metrics, details):
        first, last = (rows.ids[place].as_py() for place in (0, len(rows) - 1))
        is_inside = (cut.low is None or key(first) > key(cut.low)) and (
            cut.high is None or key(last) <= key(cut.high)
        )
        if is_inside:
            yield rows  # who pairs them checks their order
            continue
        if not IdOrder.of(rows.ids, frozenset({cut.order})).orders:
            raise UnorderedIdsError(f"the ids of {table.name!r} are not in order")
        begin = 0 if cut.low is None else first_row_after(rows.ids, key, cut.low)
        end = len(rows) if cut.high is None else first_row_after(rows.ids, key, cut.high)
        if begin < end:
            yield rows.slice(begin, end)

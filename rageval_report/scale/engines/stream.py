"""One process reads the tables part by part; two tables need ids in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rageval_report.errors import DataError
from rageval_report.scale.aligned_rows import (
    AlignedRows,
    TableColumns,
    ordered_rows,
    rows_in_equal_order,
)
from rageval_report.scale.engines.base import PairedColumns
from rageval_report.scale.id_order import ORDERS, IdOrder, OrderName
from rageval_report.scale.mergeable import Partial, S, add_states
from rageval_report.scale.pairs import (
    PairedRows,
    UnorderedIdsError,
    ordered_pairs,
    rows_in_same_order,
)
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import ScoreRows


class StreamEngine:
    """One process, one pass; memory for two parts.

    Parameters
    ----------
    memory_limit : str, optional
        The memory that a join may take, for engines that join; one pass needs none.
    scheduler : None
        There is none: everything happens in this process.
    """

    name = "stream"

    def __init__(self, *, memory_limit: str | None = None, scheduler: str | None = None):
        if scheduler is not None:
            raise DataError(
                f'scheduler is for engine="dask"; engine {self.name!r} works in this process'
            )
        self.memory_limit = memory_limit

    def fold(
        self,
        table: ScanTable,
        partial: Partial[ScoreRows, S],
        metrics: Sequence[str],
        details: Sequence[str] = (),
        *,
        with_ids: bool = True,
    ) -> S | None:
        """As in `Engine`."""
        return add_states(map(partial, table.rows(metrics, details, with_ids=with_ids)))

    def fold_pairs(
        self,
        before: ScanTable,
        after: ScanTable,
        partial: Partial[PairedRows, S],
        columns: PairedColumns,
    ) -> S | None:
        """As in `Engine`."""
        try:
            return fold_in_order(before, after, partial, columns)
        except UnorderedIdsError:
            # Ids that are not in order may also occur twice, which no engine accepts.
            before.check_ids()
            after.check_ids()
            raise

    def fold_aligned(
        self,
        tables: Sequence[ScanTable],
        partial: Partial[AlignedRows, S],
        columns: Sequence[TableColumns],
    ) -> S | None:
        """As in `Engine`."""
        try:
            return fold_aligned_in_order(tables, partial, columns)
        except UnorderedIdsError:
            for table in tables:
                table.check_ids()
            raise


def fold_in_order(
    before: ScanTable, after: ScanTable, partial: Partial[PairedRows, S], columns: PairedColumns
) -> S | None:
    """What `Engine.fold_pairs` gives for tables whose ids are in a common order.

    Raises
    ------
    UnorderedIdsError
        If they are in none. Ids may then occur twice.
    """
    for pairs in _ways_to_pair(before, after, columns):
        try:
            return add_states(map(partial, pairs))
        except UnorderedIdsError:
            continue
    raise UnorderedIdsError(_advice((before.name, after.name)))


def fold_aligned_in_order(
    tables: Sequence[ScanTable], partial: Partial[AlignedRows, S], columns: Sequence[TableColumns]
) -> S | None:
    """What `Engine.fold_aligned` gives for tables whose ids are in a common order.

    Raises
    ------
    UnorderedIdsError
        If they are in none. Ids may then occur twice.
    """
    for rows in _ways_to_align(tables, columns):
        try:
            return add_states(map(partial, rows))
        except UnorderedIdsError:
            continue
    raise UnorderedIdsError(_advice([table.name for table in tables]))


def _ways_to_pair(
    before: ScanTable, after: ScanTable, columns: PairedColumns
) -> Iterator[Iterator[PairedRows]]:
    """The rows side by side: by each order that the first parts have, else as they stand."""
    names = (before.name, after.name)

    def sides() -> tuple[Iterator[ScoreRows], Iterator[ScoreRows]]:
        return (
            before.rows(columns.before, columns.details),
            after.rows(columns.after, columns.details_after),
        )

    heads = _first_parts((before, after))
    for order in _orders_of(heads):
        yield ordered_pairs(names, *sides(), (columns.before, columns.after), order)
    if _have_equal_ids(heads):
        before.check_ids()  # equal ids are unique in both tables, or in neither
        yield rows_in_same_order(names, *sides())


def _ways_to_align(
    tables: Sequence[ScanTable], columns: Sequence[TableColumns]
) -> Iterator[Iterator[AlignedRows]]:
    """The rows side by side, in the ways of `_ways_to_pair`."""
    names = [table.name for table in tables]

    def sides() -> list[Iterator[ScoreRows]]:
        each = zip(tables, columns, strict=True)
        return [table.rows(chosen.metrics, chosen.details) for table, chosen in each]

    heads = _first_parts(tables)
    for order in _orders_of(heads):
        yield ordered_rows(names, sides(), [chosen.metrics for chosen in columns], order)
    if _have_equal_ids(heads):
        tables[0].check_ids()  # equal ids are unique in all tables, or in none
        yield rows_in_equal_order(names, sides())


def _first_parts(tables: Sequence[ScanTable]) -> list[ScoreRows | None]:
    return [next(table.rows(()), None) for table in tables]


def _orders_of(heads: Sequence[ScoreRows | None]) -> list[OrderName]:
    """The orders that the first parts of all tables have."""
    known = [IdOrder.of(head.ids).orders for head in heads if head is not None]
    return [order for order in ORDERS if all(order in orders for orders in known)]


def _have_equal_ids(heads: Sequence[ScoreRows | None]) -> bool:
    known = [head for head in heads if head is not None]
    if len(known) < len(heads):
        return False
    n = min(map(len, known))
    ids = [head.ids.slice(0, n) for head in known]
    return all(ids[0].equals(other) for other in ids[1:])


def _advice(names: Sequence[str]) -> str:
    listed = f"{', '.join(map(repr, names[:-1]))} and {names[-1]!r}"
    return (
        f"engine 'stream' needs the ids of {listed} sorted, or in the same "
        "order, and they are not. Sort the files by id, or use engine='join', which takes ids in "
        "any order"
    )

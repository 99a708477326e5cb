"""One process reads the tables part by part; two tables need ids in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rageval_report.errors import DataError
from rageval_report.scale.engines.base import PairedColumns
from rageval_report.scale.id_order import ORDERS, IdOrder
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

    heads = [next(table.rows(()), None) for table in (before, after)]
    known = [IdOrder.of(head.ids).orders for head in heads if head is not None]
    for order in ORDERS:
        if all(order in orders for orders in known):
            yield ordered_pairs(names, *sides(), (columns.before, columns.after), order)
    if _have_equal_ids(heads):
        before.check_ids()  # equal ids are unique in both tables, or in neither
        yield rows_in_same_order(names, *sides())


def _have_equal_ids(heads: Sequence[ScoreRows | None]) -> bool:
    first, second = heads
    if first is None or second is None:
        return False
    n = min(len(first), len(second))
    return bool(first.ids.slice(0, n).equals(second.ids.slice(0, n)))


def _advice(names: tuple[str, str]) -> str:
    return (
        f"engine 'stream' needs the ids of {names[0]!r} and {names[1]!r} sorted, or in the same "
        "order, and they are not. Sort the files by id, or use engine='join', which takes ids in "
        "any order"
    )

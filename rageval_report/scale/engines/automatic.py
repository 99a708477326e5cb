"""The choice between engines: one pass where ids are in order, else a join."""

from __future__ import annotations

from collections.abc import Sequence

from rageval_report.scale.aligned_rows import AlignedRows, TableColumns
from rageval_report.scale.engines import ENGINES
from rageval_report.scale.engines.base import Engine, PairedColumns
from rageval_report.scale.engines.join import JoinEngine
from rageval_report.scale.engines.stream import (
    StreamEngine,
    fold_aligned_in_order,
    fold_in_order,
)
from rageval_report.scale.mergeable import Partial, S
from rageval_report.scale.pairs import PairedRows, UnorderedIdsError
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import ScoreRows

AUTO = "auto"


def engine_of(
    name: str, *, memory_limit: str | None = None, scheduler: str | None = None
) -> Engine:
    """The engine of a name.

    Parameters
    ----------
    name : str
        "auto", or a name of the table `ENGINES`.
    memory_limit : str, optional
        The memory that a join, or a local worker of Dask, may use before it writes to disk, such as
        "2GB".
    scheduler : str, optional
        The address of a Dask scheduler, such as "tcp://10.0.0.1:8786", for the engine "dask".

    Raises
    ------
    UnknownNameError
        If no engine has this name.
    MissingDependencyError
        If its package is not installed.
    DataError
        If another engine has a scheduler.
    """
    engine = AutomaticEngine if name == AUTO else ENGINES[name]
    return engine(memory_limit=memory_limit, scheduler=scheduler)


class AutomaticEngine(StreamEngine):
    """Streams; joins two tables whose ids are in no common order.

    Its name is that of the engine that worked last.

    Parameters
    ----------
    memory_limit : str, optional
        As in `engine_of`.
    scheduler : None
        There is none: everything happens in this process.
    """

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
        self.name = StreamEngine.name
        return super().fold(table, partial, metrics, details, with_ids=with_ids)

    def fold_pairs(
        self,
        before: ScanTable,
        after: ScanTable,
        partial: Partial[PairedRows, S],
        columns: PairedColumns,
    ) -> S | None:
        """As in `Engine`."""
        self.name = StreamEngine.name
        try:
            return fold_in_order(before, after, partial, columns)
        except UnorderedIdsError:
            self.name = JoinEngine.name
        joins = JoinEngine(memory_limit=self.memory_limit)
        return joins.fold_pairs(before, after, partial, columns)

    def fold_aligned(
        self,
        tables: Sequence[ScanTable],
        partial: Partial[AlignedRows, S],
        columns: Sequence[TableColumns],
    ) -> S | None:
        """As in `Engine`."""
        self.name = StreamEngine.name
        try:
            return fold_aligned_in_order(tables, partial, columns)
        except UnorderedIdsError:
            self.name = JoinEngine.name
        joins = JoinEngine(memory_limit=self.memory_limit)
        return joins.fold_aligned(tables, partial, columns)

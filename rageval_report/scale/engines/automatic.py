"""The choice between engines: one process where ids are in order, else DuckDB."""

from __future__ import annotations

from collections.abc import Sequence

from rageval_report.errors import MissingDependencyError
from rageval_report.scale.engines import ENGINES
from rageval_report.scale.engines.base import Engine, PairedColumns
from rageval_report.scale.mergeable import Partial, S
from rageval_report.scale.pairs import PairedRows, UnorderedIdsError
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import ScoreRows

AUTO = "auto"


def engine_of(name: str, *, memory_limit: str | None = None) -> Engine:
    """The engine of a name.

    Parameters
    ----------
    name : str
        "auto", or a name of the table `ENGINES`.
    memory_limit : str, optional
        The memory that DuckDB may use before it writes to disk, such as "2GB".

    Raises
    ------
    UnknownNameError
        If there is no such engine.
    MissingDependencyError
        If its package is not installed.
    """
    if name == AUTO:
        return AutomaticEngine(memory_limit)
    return ENGINES[name](memory_limit=memory_limit)


class AutomaticEngine:
    """Streams; joins with DuckDB two tables whose ids are in no common order.

    Parameters
    ----------
    memory_limit : str, optional
        As in `engine_of`.
    """

    def __init__(self, memory_limit: str | None = None):
        self._memory_limit = memory_limit
        self._stream: Engine = ENGINES["stream"]()
        self._last = self._stream

    @property
    def name(self) -> str:
        """The name of the engine that worked last."""
        return self._last.name

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
        self._last = self._stream
        return self._stream.fold(table, partial, metrics, details, with_ids=with_ids)

    def fold_pairs(
        self,
        before: ScanTable,
        after: ScanTable,
        partial: Partial[PairedRows, S],
        columns: PairedColumns,
    ) -> S | None:
        """As in `Engine`."""
        self._last = self._stream
        try:
            return self._stream.fold_pairs(before, after, partial, columns)
        except UnorderedIdsError as exc:
            self._last = self._engine_of_joins(exc)
        return self._last.fold_pairs(before, after, partial, columns)

    def _engine_of_joins(self, exc: UnorderedIdsError) -> Engine:
        try:
            return ENGINES["duckdb"](memory_limit=self._memory_limit)
        except MissingDependencyError as missing:
            raise UnorderedIdsError(f"{exc}. {missing}") from missing

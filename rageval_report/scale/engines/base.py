"""What an engine does: it runs functions of rows over tables, and adds what they return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rageval_report.scale.aligned_rows import AlignedRows, TableColumns
from rageval_report.scale.mergeable import Partial, S
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import ScoreRows


@dataclass(frozen=True)
class PairedColumns:
    """The columns that a computation over two tables reads.

    Parameters
    ----------
    before, after : tuple of str
        The metrics of either table.
    details, details_after : tuple of str
        The columns of details of the first and of the second table, by their names in the files.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    details: tuple[str, ...] = ()
    details_after: tuple[str, ...] = ()


class Engine(Protocol):
    """Runs functions of rows over tables."""

    def __init__(self, *, memory_limit: str | None = None, scheduler: str | None = None): ...

    @property
    def name(self) -> str:
        """Its name in `ENGINES`, which a result shows."""

    def fold(
        self,
        table: ScanTable,
        partial: Partial[ScoreRows, S],
        metrics: Sequence[str],
        details: Sequence[str] = (),
        *,
        with_ids: bool = True,
    ) -> S | None:
        """The sum of what a function returns for all parts of a table, in the order of its rows.

        Parameters
        ----------
        table : ScanTable
            The table.
        partial : callable
            Takes `ScoreRows` and returns a state.
        metrics, details, with_ids
            What is read, as in `TableShape.rows`.

        Returns
        -------
        state or None
            None if the table has no rows.
        """

    def fold_pairs(
        self,
        before: ScanTable,
        after: ScanTable,
        partial: Partial[PairedRows, S],
        columns: PairedColumns,
    ) -> S | None:
        """The sum of what a function returns for all rows of two tables, put side by side by id.

        Every row of either table is in exactly one part, so ids occur once in each.

        Parameters
        ----------
        before, after : ScanTable
            The tables.
        partial : callable
            Takes `PairedRows` and returns a state.
        columns : PairedColumns
            What is read.

        Raises
        ------
        UnorderedIdsError
            If the engine needs ids in order, and they are not.
        DataError
            If an id occurs twice in a table.
        """

    def fold_aligned(
        self,
        tables: Sequence[ScanTable],
        partial: Partial[AlignedRows, S],
        columns: Sequence[TableColumns],
    ) -> S | None:
        """The sum of what a function returns for all rows of several tables, side by side by id.

        Every row of each table is in exactly one part, and all rows of a query are in the same one.

        Parameters
        ----------
        tables : sequence of ScanTable
            The tables.
        partial : callable
            Takes `AlignedRows` and returns a state.
        columns : sequence of TableColumns
            What is read of each.

        Raises
        ------
        UnorderedIdsError
            If the engine needs ids in order, and they are not.
        DataError
            If an id occurs twice in a table.
        """

"""DuckDB joins two tables whose ids are in any order, within a stated memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from rageval_report._registry import import_pyarrow
from rageval_report.errors import DataError
from rageval_report.scale.engines.base import PairedColumns
from rageval_report.scale.engines.stream import StreamEngine
from rageval_report.scale.mergeable import Partial, S, add_states
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.pieces import ROWS_OF_PART, ArrowTable
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scale.unique_ids import FingerprintFiles
from rageval_report.types import BoolArray

# Enough to join some million rows in memory, and little beside what else runs on a machine.
MEMORY_LIMIT = "1GB"
_ID = "query_id"


class DuckDBEngine(StreamEngine):
    """Joins by DuckDB within this process; one table needs no join.

    Parameters
    ----------
    memory_limit : str, optional
        The memory that a join may use before it writes to disk, such as "2GB".
    """

    name = "duckdb"

    def fold_pairs(
        self,
        before: ScanTable,
        after: ScanTable,
        partial: Partial[PairedRows, S],
        columns: PairedColumns,
    ) -> S | None:
        """As in `Engine`; ids may be in any order."""
        first = _JoinedSide(before, columns.before, columns.details, "before")
        second = _JoinedSide(after, columns.after, columns.details_after, "after")
        with ExitStack() as stack:
            for side in (first, second):
                stack.enter_context(side.prints)
            connection = stack.enter_context(self._connection(stack))
            state = add_states(map(partial, _joined_rows(connection, first, second)))
            # Equal fingerprints are hardly ever those of different ids; a second pass says so.
            for side in (first, second):
                if side.prints.has_repeats():
                    side.table.check_ids()
            return state

    def _connection(self, stack: ExitStack) -> duckdb.DuckDBPyConnection:
        folder = stack.enter_context(TemporaryDirectory(prefix="rageval-report-"))
        limit = self.memory_limit or MEMORY_LIMIT
        try:
            return duckdb.connect(
                ":memory:",
                config={
                    "memory_limit": limit,
                    "temp_directory": folder,
                    # The order of the rows means nothing here, and keeping it takes memory.
                    "preserve_insertion_order": False,
                },
            )
        except duckdb.Error as exc:
            first_line = str(exc).partition("\n")[0]
            raise DataError(
                f"memory_limit must be a size such as '2GB'; got {limit!r} ({first_line})"
            ) from exc


class _JoinedSide:
    """One table as DuckDB reads it: batches of ids, metrics and details."""

    def __init__(
        self, table: ScanTable, metrics: tuple[str, ...], details: tuple[str, ...], name: str
    ):
        self.table, self.metrics, self.details, self.name = table, metrics, details, name
        self.prints = FingerprintFiles()
        self.error: Exception | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns; positions, because names of both tables may be equal."""
        n = len(self.metrics) + len(self.details)
        return [f"{self.name}_{place}" for place in range(n)]

    def reader(self) -> Any:
        """The batches of the table, made while DuckDB asks for them."""
        arrow = import_pyarrow()
        batches = self._batches()
        try:
            first = next(batches, None)
        except Exception as exc:
            self.error = exc
            raise
        if first is None:
            names = [_ID, *self.columns]
            kinds = [arrow.large_string(), *[arrow.float64()] * len(self.metrics)]
            kinds += [arrow.string()] * len(self.details)
            return arrow.RecordBatchReader.from_batches(
                arrow.schema(list(zip(names, kinds, strict=True))), iter(())
            )
        return arrow.RecordBatchReader.from_batches(first.schema, self._followed(first, batches))

    def _followed(self, first: Any, batches: Iterator[Any]) -> Iterator[Any]:
        yield first
        try:
            for batch in batches:
                yield batch.cast(first.schema)
        except Exception as exc:
            self.error = exc  # DuckDB raises an error of its own, in which this one is a text
            raise

    def _batches(self) -> Iterator[Any]:
        arrow = import_pyarrow()
        for rows in self.table.rows(self.metrics, self.details):
            self.prints.add(rows.ids)
            arrays = [rows.ids, *(arrow.array(rows.scores[name]) for name in self.metrics)]
            if rows.cells is not None:
                arrays += [column.combine_chunks() for column in rows.cells.columns]
            yield arrow.RecordBatch.from_arrays(arrays, [_ID, *self.columns])

    def rows(self, table: ArrowTable, present: BoolArray | None) -> ScoreRows:
        """The columns of this table in a joined one; only the rows that it has."""
        selected = table if present is None else table.filter(import_pyarrow().array(present))
        scores = {
            name: selected.column(column).to_numpy()
            for name, column in zip(self.metrics, self.columns, strict=False)
        }
        cells = selected.select(self.columns[len(self.metrics) :])
        return ScoreRows(
            scores,
            selected.column("query_id").combine_chunks(),
            cells.rename_columns(list(self.details)) if self.details else None,
        )


def _joined_rows(
    connection: duckdb.DuckDBPyConnection, first: _JoinedSide, second: _JoinedSide
) -> Iterator[PairedRows]:
    """All rows of both tables, those of one query in one row."""
    try:
        for side in (first, second):
            connection.register(f"{side.name}_rows", side.reader())
        joined: Any = connection.sql(_query(first, second))
        # The name since DuckDB 1.4, and the one before it.
        read = getattr(joined, "to_arrow_reader", None) or joined.fetch_arrow_reader
        for batch in read(ROWS_OF_PART):
            yield _split(import_pyarrow().Table.from_batches([batch]), first, second)
    except duckdb.Error as exc:
        for side in (first, second):
            if side.error is not None:
                raise side.error from exc
        first_line = str(exc).partition("\n")[0]
        raise DataError(
            f"DuckDB could not join {first.table.name!r} and {second.table.name!r}: {first_line}. "
            "Give it more memory (memory_limit='4GB'), or free space on the disk of temporary files"
        ) from exc


def _query(first: _JoinedSide, second: _JoinedSide) -> str:
    # The names are made here, of positions, so that no name of a file is part of the query.
    columns = ", ".join([*first.columns, *second.columns])
    return f"""
        SELECT coalesce(a.{_ID}, b.{_ID}) AS {_ID},
            a.{_ID} IS NOT NULL AS in_before, b.{_ID} IS NOT NULL AS in_after, {columns}
        FROM before_rows a FULL OUTER JOIN after_rows b ON a.{_ID} = b.{_ID}
    """  # noqa: S608


def _split(table: ArrowTable, first: _JoinedSide, second: _JoinedSide) -> PairedRows:
    """The rows of both, and those of one table only."""
    in_before, in_after = (
        table.column(name).to_numpy().astype(bool) for name in ("in_before", "in_after")
    )
    if in_before.all() and in_after.all():
        return PairedRows.complete(first.rows(table, None), second.rows(table, None))
    common = in_before & in_after
    return PairedRows(
        first.rows(table, common),
        second.rows(table, common),
        first.rows(table, in_before & ~in_after),
        second.rows(table, in_after & ~in_before),
    )

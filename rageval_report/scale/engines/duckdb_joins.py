"""DuckDB joins two tables whose ids are in any order, within a stated memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import duckdb

from rageval_report._registry import import_pyarrow
from rageval_report.errors import DataError
from rageval_report.scale.aligned_rows import AlignedRows, TableColumns
from rageval_report.scale.engines.base import PairedColumns
from rageval_report.scale.engines.stream import StreamEngine
from rageval_report.scale.mergeable import Partial, S, add_states
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.pieces import ROWS_OF_PART, ArrowTable, read_footer
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scale.unique_ids import Fingerprints
from rageval_report.types import BoolArray

# Enough to join some million rows in memory, and little beside what else runs on a machine.
MEMORY_LIMIT = "1GB"
_ID = "query_id"
_KEY_OF_ROW = "\x1fkey of the row"


class DuckDBEngine(StreamEngine):
    """Joins by DuckDB within this process; one table needs no join.

    The files are read here, so that damaged ones and blank ids are found as by the other engines,
    and handed over as they are. One thread joins: then the rows come in the same order each time,
    and the result has the same digits.

    Parameters
    ----------
    memory_limit : str, optional
        The memory that a join may use before it writes to disk, such as "2GB".
    scheduler : None
        There is none: everything happens in this process.
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
                stack.enter_context(side.alone)
            connection = stack.enter_context(self._connection(stack))
            state = add_states(map(partial, _joined_rows(connection, first, second)))
            # Equal fingerprints are hardly ever those of different ids; a second pass says so.
            for side in (first, second):
                if side.alone.has_repeats():
                    side.table.check_ids()
            return state

    def fold_aligned(
        self,
        tables: Sequence[ScanTable],
        partial: Partial[AlignedRows, S],
        columns: Sequence[TableColumns],
    ) -> S | None:
        """As in `Engine`; each table is sorted into a temporary file, one after the other."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="rageval-report-")))
            connection = stack.enter_context(self._connection(stack))
            in_order = [
                _sorted_table(connection, table, chosen, folder / f"{place}.parquet")
                for place, (table, chosen) in enumerate(zip(tables, columns, strict=True))
            ]
            return super().fold_aligned(in_order, partial, columns)

    def _connection(self, stack: ExitStack) -> duckdb.DuckDBPyConnection:
        folder = stack.enter_context(TemporaryDirectory(prefix="rageval-report-"))
        limit = self.memory_limit or MEMORY_LIMIT
        try:
            return duckdb.connect(
                ":memory:",
                config={
                    "memory_limit": limit,
                    "temp_directory": folder,
                    "threads": 1,
                    # The order of the rows means nothing here, and keeping it takes memory.
                    "preserve_insertion_order": False,
                },
            )
        except duckdb.Error as exc:
            first_line = str(exc).partition("\n")[0]
            raise DataError(
                f"memory_limit must be a size such as '2GB'; got {limit!r} ({first_line})"
            ) from exc


def _sorted_table(
    connection: duckdb.DuckDBPyConnection, table: ScanTable, columns: TableColumns, path: Path
) -> ScanTable:
    """The same table by the order of its ids, with the columns that are read, in one file."""
    shape = table.shape
    metrics = [shape.metric_columns[name] for name in columns.metrics]
    side = _JoinedSide(table, columns.metrics, columns.details, "sorted")
    # Keys are made once; their column has a name that no column of the files has.
    id_column = shape.id_column
    if shape.keys is not None:
        id_column = _KEY_OF_ROW
        shape = replace(shape, id_column=id_column, keys=None)
    names = [id_column, *metrics, *columns.details]
    try:
        with side.alone:
            connection.register("rows", side.reader(names))
            # By its place, so that no name of a file is part of the query.
            connection.sql("SELECT * FROM rows ORDER BY 1").write_parquet(str(path))
            connection.unregister("rows")
    except duckdb.Error as exc:
        if side.error is not None:
            raise side.error from exc
        raise _lacks_room(f"could not sort {table.name!r}", exc) from exc
    return replace(table, pieces=tuple(read_footer(path).pieces()), shape=shape)


def _lacks_room(what: str, exc: duckdb.Error) -> DataError:
    first_line = str(exc).partition("\n")[0]
    return DataError(
        f"DuckDB {what}: {first_line}. Give it more memory (memory_limit='4GB'), or free space on "
        "the disk of temporary files"
    )


class _JoinedSide:
    """One table as DuckDB reads it: batches of ids, metrics and details."""

    def __init__(
        self, table: ScanTable, metrics: tuple[str, ...], details: tuple[str, ...], name: str
    ):
        self.table, self.metrics, self.details, self.name = table, metrics, details, name
        self.alone = Fingerprints()
        self.n_rows = self.n_alone = 0
        self.error: Exception | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns; positions, because names of both tables may be equal."""
        n = len(self.metrics) + len(self.details)
        return [f"{self.name}_{place}" for place in range(n)]

    def reader(self, names: Sequence[str] = ()) -> Any:
        """The batches of the table, read while DuckDB asks for them.

        ``names`` are those of the columns; if omitted, positions.
        """
        arrow = import_pyarrow()
        kinds = self.table.stored_types(self.metrics, self.details)
        names = names or [_ID, *self.columns]
        schema = arrow.schema(list(zip(names, [arrow.large_string(), *kinds], strict=True)))
        return arrow.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: Any) -> Iterator[Any]:
        arrow = import_pyarrow()
        try:
            for table in self.table.stored(self.metrics, self.details):
                self.n_rows += len(table)
                yield from arrow.Table.from_arrays(table.columns, schema=schema).to_batches()
        except Exception as exc:
            self.error = exc  # DuckDB raises an error of its own, in which this one is a text
            raise

    def rows(self, table: ArrowTable, present: BoolArray | None) -> ScoreRows:
        """The columns of this table in a joined one; only the rows that it has."""
        selected = table if present is None else table.filter(import_pyarrow().array(present))
        columns = selected.select([_ID, *self.columns])
        return self.table.shape.of_stored(columns, self.metrics, self.details)


def _joined_rows(
    connection: duckdb.DuckDBPyConnection, first: _JoinedSide, second: _JoinedSide
) -> Iterator[PairedRows]:
    """All rows of both tables, those of one query in one row."""
    n_common = 0
    try:
        for side in (first, second):
            connection.register(f"{side.name}_rows", side.reader())
        joined: Any = connection.sql(_query(first, second))
        # The name since DuckDB 1.4, and the one before it.
        read = getattr(joined, "to_arrow_reader", None) or joined.fetch_arrow_reader
        for batch in read(ROWS_OF_PART):
            pairs = _split(import_pyarrow().Table.from_batches([batch]), first, second)
            n_common += len(pairs.before)
            _check_repeats(n_common, first, second)
            yield pairs
    except duckdb.Error as exc:
        for side in (first, second):
            if side.error is not None:
                raise side.error from exc
        what = f"could not join {first.table.name!r} and {second.table.name!r}"
        raise _lacks_room(what, exc) from exc
    for side in (first, second):
        if n_common != side.n_rows - side.n_alone:
            _raise_repeats(first, second)


def _check_repeats(n_common: int, first: _JoinedSide, second: _JoinedSide) -> None:
    """Stop at once if there are more pairs than rows: ids that occur often make very many."""
    if n_common > min(first.n_rows, second.n_rows):
        _raise_repeats(first, second)


def _raise_repeats(first: _JoinedSide, second: _JoinedSide) -> NoReturn:
    """An id that p rows of one table and q of the other have makes p times q pairs."""
    first.table.check_ids()
    second.table.check_ids()
    raise DataError(
        f"the files of {first.table.name!r} or {second.table.name!r} changed while they were read; "
        "run the comparison again"
    )


def _query(first: _JoinedSide, second: _JoinedSide) -> str:
    # The names are made here, of positions, so that no name of a file is part of the query.
    columns = ", ".join([*first.columns, *second.columns])
    # The hash table is made of the second one of the join.
    left, right = (first, second) if first.table.n_rows >= second.table.n_rows else (second, first)
    return f"""
        SELECT coalesce(l.{_ID}, r.{_ID}) AS {_ID},
            l.{_ID} IS NOT NULL AS in_{left.name}, r.{_ID} IS NOT NULL AS in_{right.name}, {columns}
        FROM {left.name}_rows l FULL OUTER JOIN {right.name}_rows r ON l.{_ID} = r.{_ID}
    """  # noqa: S608


def _split(table: ArrowTable, first: _JoinedSide, second: _JoinedSide) -> PairedRows:
    """The rows of both, and those of one table only, whose ids are remembered."""
    in_before, in_after = (
        table.column(name).to_numpy().astype(bool) for name in ("in_before", "in_after")
    )
    if in_before.all() and in_after.all():
        return PairedRows.complete(first.rows(table, None), second.rows(table, None))
    common = in_before & in_after
    pairs = PairedRows(
        first.rows(table, common),
        second.rows(table, common),
        first.rows(table, in_before & ~in_after),
        second.rows(table, in_after & ~in_before),
    )
    for side, alone in ((first, pairs.only_before), (second, pairs.only_after)):
        side.n_alone += len(alone)
        side.alone.add(alone.ids)
    return pairs

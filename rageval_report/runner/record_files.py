"""Write the records of a run to a file, in the order of its queries, never all in memory."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rageval_report._registry import import_parquet, import_pyarrow
from rageval_report.files.writing import write_with
from rageval_report.runner.column_kinds import ANSWER_COLUMNS, cell_of, kinds_of
from rageval_report.runner.query_source import Query
from rageval_report.runner.run_journal import RunJournal

# A batch of a Parquet file ends at the first of these limits: large enough for good compression,
# small enough for memory.
_MOST_ROWS = 1000
_MOST_BYTES = 8 << 20


def table_kind(requested: str | None) -> str:
    """The kind of table to write: the requested one, or else Parquet if pyarrow is installed.

    Raises
    ------
    MissingDependencyError
        If Parquet is requested and pyarrow is not installed; raised before any query is asked.

    Examples
    --------
    >>> table_kind("jsonl")
    'jsonl'
    """
    if requested == "parquet":
        import_pyarrow()
    if requested is not None:
        return requested
    return "jsonl" if importlib.util.find_spec("pyarrow") is None else "parquet"


def write_records(folder: Path, kind: str, queries: Iterable[Query], journal: RunJournal) -> Path:
    """Write one row per query with an entry, atomically.

    Parameters
    ----------
    folder : Path
        The folder of ``records.parquet`` or ``records.jsonl``.
    kind : {"parquet", "jsonl"}
        The kind of file.
    queries : iterable of Query
        In the order of the file; iterated twice.
    journal : RunJournal
        Contains their answers or failures.

    Raises
    ------
    DataError
        If the file cannot be written.
    """
    rows = _RecordRows(queries, journal)
    write = _write_parquet if kind == "parquet" else _write_lines
    return write_with(folder / f"records.{kind}", lambda path: write(path, rows))


class _RecordRows:
    """The queries with an entry in the journal, and their records, for repeated iteration."""

    def __init__(self, queries: Iterable[Query], journal: RunJournal):
        self._queries, self._journal = queries, journal

    def __iter__(self) -> Iterator[Query]:
        return (query for query in self._queries if self._journal.has(query.row))

    @property
    def answer_columns(self) -> dict[str, str]:
        """The kinds of the columns that the run filled; always those about failures."""
        present = {*self._journal.names, "answer", "latency_ms", "error", "error_kind"}
        return {name: kind for name, kind in ANSWER_COLUMNS.items() if name in present}

    def rows(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Each record, and its approximate size in bytes."""
        names = list(self.answer_columns)
        for query in self:
            entry, size = self._journal.sized_entry(query.row)
            answer = entry or {}
            yield {**query.kept_fields(), **{name: answer.get(name) for name in names}}, size


def _write_lines(path: str, records: _RecordRows) -> None:
    with Path(path).open("w", encoding="utf-8") as file:
        for row, _ in records.rows():
            present = {name: value for name, value in row.items() if value is not None}
            file.write(json.dumps(present, ensure_ascii=False, default=str) + "\n")


def _write_parquet(path: str, records: _RecordRows) -> None:
    arrow, parquet = import_pyarrow(), import_parquet()
    # A first pass over the queries, because Parquet needs its schema before the first batch.
    kinds = {**kinds_of(query.kept_fields() for query in records), **records.answer_columns}
    types = _arrow_types(arrow)
    schema = arrow.schema([(name, types[kind]) for name, kind in kinds.items()])
    with parquet.ParquetWriter(path, schema) as writer:
        for rows in _batches(records):
            columns = {
                name: [cell_of(row.get(name), kind) for row in rows] for name, kind in kinds.items()
            }
            writer.write_table(arrow.table(columns, schema=schema))


def _arrow_types(arrow: Any) -> Mapping[str, Any]:
    return {
        "bool": arrow.bool_(),
        "int": arrow.int64(),
        "float": arrow.float64(),
        "text": arrow.large_string(),
        "mixed": arrow.large_string(),
        "texts": arrow.list_(arrow.large_string()),
        "numbers": arrow.list_(arrow.float64()),
    }


def _batches(records: _RecordRows) -> Iterator[list[dict[str, Any]]]:
    """Batches of at most a thousand rows, or fewer if they are large."""
    rows: list[dict[str, Any]] = []
    total = 0
    for row, size in records.rows():
        rows.append(row)
        total += size
        if len(rows) >= _MOST_ROWS or total >= _MOST_BYTES:
            yield rows
            rows, total = [], 0
    if rows:
        yield rows

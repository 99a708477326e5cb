"""The records of a run on disk, in the order of its queries, never all in memory."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rageval_report._registry import load
from rageval_report.files.writing import write_with
from rageval_report.runner.column_kinds import ANSWER_COLUMNS, cell_of, kinds_of
from rageval_report.runner.query_source import Query
from rageval_report.runner.run_journal import RunJournal

Row = dict[str, Any]

_MOST_ROWS = 1000
_MOST_BYTES = 8 << 20


def table_kind(asked: str | None) -> str:
    """The kind of table that is written: the one asked for, else Parquet where it can be.

    Raises
    ------
    MissingDependencyError
        If Parquet is asked for and pyarrow is not there; found out before anything is asked.

    Examples
    --------
    >>> table_kind("jsonl")
    'jsonl'
    """
    if asked == "parquet":
        load("pyarrow")
    if asked is not None:
        return asked
    return "jsonl" if importlib.util.find_spec("pyarrow") is None else "parquet"


def write_records(folder: Path, kind: str, queries: Iterable[Query], journal: RunJournal) -> Path:
    """Write a row a query that was asked, the whole file or none of it.

    Parameters
    ----------
    folder : Path
        Where ``records.parquet`` or ``records.jsonl`` is to be.
    kind : {"parquet", "jsonl"}
        The kind of file.
    queries : iterable of Query
        In the order of the file; it is gone through twice.
    journal : RunJournal
        What became of them.

    Raises
    ------
    DataError
        If it cannot be written.
    """
    asked = _Asked(queries, journal)
    write = _write_parquet if kind == "parquet" else _write_lines
    return write_with(folder / f"records.{kind}", lambda path: write(path, asked))


class _Asked:
    """The queries that have an entry, with it, as often as they are needed."""

    def __init__(self, queries: Iterable[Query], journal: RunJournal):
        self._queries, self._journal = queries, journal

    def __iter__(self) -> Iterator[Query]:
        return (query for query in self._queries if self._journal.has(query.row))

    @property
    def answered(self) -> dict[str, str]:
        """The kinds of the fields that the run filled; those that tell of failures always."""
        there = {*self._journal.names, "answer", "latency_ms", "error", "error_kind"}
        return {name: kind for name, kind in ANSWER_COLUMNS.items() if name in there}

    def rows(self) -> Iterator[tuple[Row, int]]:
        """Each record, and about how many bytes it is."""
        names = list(self.answered)
        for query in self:
            entry, size = self._journal.sized_entry(query.row)
            found = entry or {}
            yield {**query.kept_fields(), **{name: found.get(name) for name in names}}, size


def _write_lines(path: str, asked: _Asked) -> None:
    with Path(path).open("w", encoding="utf-8") as file:
        for row, _ in asked.rows():
            known = {name: value for name, value in row.items() if value is not None}
            file.write(json.dumps(known, ensure_ascii=False, default=str) + "\n")


def _write_parquet(path: str, asked: _Asked) -> None:
    arrow, parquet = load("pyarrow"), load("pyarrow.parquet")
    kinds = {**kinds_of(query.kept_fields() for query in asked), **asked.answered}
    types = _types(arrow)
    schema = arrow.schema([(name, types[kind]) for name, kind in kinds.items()])
    with parquet.ParquetWriter(path, schema) as writer:
        for rows in _batches(asked):
            columns = {
                name: [cell_of(row.get(name), kind) for row in rows] for name, kind in kinds.items()
            }
            writer.write_table(arrow.table(columns, schema=schema))


def _types(arrow: Any) -> Mapping[str, Any]:
    return {
        "bool": arrow.bool_(),
        "int": arrow.int64(),
        "float": arrow.float64(),
        "text": arrow.large_string(),
        "mixed": arrow.large_string(),
        "texts": arrow.list_(arrow.large_string()),
        "numbers": arrow.list_(arrow.float64()),
    }


def _batches(asked: _Asked) -> Iterator[list[Row]]:
    """Rows by the thousand, or fewer where they are large."""
    rows, total = [], 0
    for row, size in asked.rows():
        rows.append(row)
        total += size
        if len(rows) >= _MOST_ROWS or total >= _MOST_BYTES:
            yield rows
            rows, total = [], 0
    if rows:
        yield rows

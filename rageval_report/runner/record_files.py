"""The records of a run as a file: one row per query, JSON Lines or Parquet."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rageval_report._registry import import_parquet, import_pyarrow
from rageval_report.files.writing import write_with
from rageval_report.runner.query_source import Query
from rageval_report.runner.run_journal import RunJournal

# The columns that a run fills, in order, and the types that Parquet has for them; a text column of
# mixed values has them as JSON.
ANSWER_COLUMNS: dict[str, str] = {
    "answer": "text",
    "retrieved": "texts",
    "retrieved_sections": "json",
    "retrieved_scores": "numbers",
    "retrieved_spans": "json",
    "contexts": "texts",
    "citations": "texts",
    "cited_sections": "json",
    "latency_ms": "number",
    "first_byte_ms": "number",
    "prompt_tokens": "number",
    "completion_tokens": "number",
    "cost_usd": "number",
    "model": "text",
    "hidden_values": "texts",
    "attempts": "integer",
    "asked_at": "text",
    "error": "text",
    "error_kind": "text",
}
_ALWAYS = ("answer", "latency_ms", "error", "error_kind")


def table_kind(requested: str | None) -> str:
    """The kind of table to write: the requested one, or else Parquet if pyarrow is installed."""
    if requested == "parquet":
        import_pyarrow()
    if requested is not None:
        return requested
    return "jsonl" if importlib.util.find_spec("pyarrow") is None else "parquet"


def write_records(folder: Path, kind: str, queries: Sequence[Query], journal: RunJournal) -> Path:
    """Write one row per query with an entry, atomically."""
    present = {*journal.names, *_ALWAYS}
    names = [name for name in ANSWER_COLUMNS if name in present]
    rows = [
        {**query.kept_fields(), **{name: entry.get(name) for name in names}}
        for query in queries
        if (entry := journal.entry(query.row)) is not None
    ]
    write = _write_parquet if kind == "parquet" else _write_lines
    return write_with(folder / f"records.{kind}", lambda path: write(path, rows))


def _write_lines(path: str, rows: list[dict[str, Any]]) -> None:
    with Path(path).open("w", encoding="utf-8") as file:
        for row in rows:
            present = {name: value for name, value in row.items() if value is not None}
            file.write(json.dumps(present, ensure_ascii=False, default=str) + "\n")


def _write_parquet(path: str, rows: list[dict[str, Any]]) -> None:
    arrow = import_pyarrow()
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: _arrow_column(name, [row.get(name) for row in rows]) for name in names}
    import_parquet().write_table(arrow.table(columns), path)


def _arrow_column(name: str, cells: list[Any]) -> Any:
    arrow = import_pyarrow()
    text = arrow.large_string()
    types = {
        "text": text,
        "texts": arrow.list_(text),
        "numbers": arrow.list_(arrow.float64()),
        "number": arrow.float64(),
        "integer": arrow.int64(),
    }
    kind = ANSWER_COLUMNS.get(name)
    if kind in types:
        return arrow.array(cells, types[kind])
    has_parts = any(isinstance(cell, dict | list) and not _are_texts(cell) for cell in cells)
    if kind is None and not has_parts:
        try:
            column = arrow.array(cells)
            return column.cast(text) if arrow.types.is_null(column.type) else column
        except (arrow.ArrowException, OverflowError):  # Parquet gives a column one type
            pass
    as_json = [
        cell
        if cell is None or isinstance(cell, str)
        else json.dumps(cell, ensure_ascii=False, default=str)
        for cell in cells
    ]
    return arrow.array(as_json, text)


def _are_texts(cell: object) -> bool:
    return isinstance(cell, list) and all(isinstance(item, str) for item in cell)

"""JSON Lines: a record a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import islice
from typing import Any

from rageval_report.readers import _strict_json
from rageval_report.readers._columns import columns_of
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.json_table import is_table, table_of
from rageval_report.readers.source import Source


def _recognise(source: Source) -> float:
    if not source.starts_like_json:
        return 0.0
    first, second = (*islice(_lines(source), 2), None, None)[:2]
    if first is None or not first[1].lstrip().startswith("{"):
        return 0.0
    record = _parsed_or_none(first[1])
    if second is None:
        return 0.6 if _is_single_record(record) else 0.2
    return 0.8 if record is not None or second[1].lstrip().startswith("{") else 0.2


def _is_single_record(record: object) -> bool:
    """Whether a file of one object in one line is one record, not a table in another shape."""
    if not isinstance(record, dict) or is_table(record):
        return False
    return any(not isinstance(value, list | dict) for value in record.values())


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers; no other separators part them."""
    for number, line in enumerate(StringIO(source.json_text, newline=None), 1):
        if not line.isspace():
            yield number, line


def _parsed_or_none(line: str) -> Any:
    try:
        return _strict_json.parsed(line)
    except _strict_json.NotJSONError:
        return None


def read_jsonl(
    source: Source, *, columns: Iterable[str] | None = None, query_id: str | None = None
) -> list[ScoreFile]:
    """Read a table of one JSON object a line.

    Parameters
    ----------
    source : Source
        The file.
    columns : iterable of str, optional
        Which columns to keep besides the ids.
    query_id : str, optional
        The column of ids.

    Raises
    ------
    ReaderError
        If a line is broken or no object: the file and the line.
    """
    found = columns_of(_records(source))
    return table_of(source, found, columns=columns, query_id=query_id)


def _records(source: Source) -> Iterator[dict[str, Any]]:
    for number, line in _lines(source):
        try:
            record = _strict_json.parsed(line)
        except _strict_json.NotJSONError as exc:
            reason = f"the record is cut: {line[:60]!r}" if exc.is_cut else str(exc)
            raise source.error(reason, line=number) from exc
        if not isinstance(record, dict):
            raise source.error(
                f"expected one JSON object a line; got {line.strip()[:40]!r}", line=number
            )
        yield record


JSONL = Reader(
    "jsonl",
    "JSON Lines: one JSON object a line, one line a query",
    _recognise,
    read_jsonl,
    ("columns", "encoding", "query_id"),
)

"""JSON Lines: one record per line."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from rageval_report.files import strict_json
from rageval_report.files.json_lines import json_objects, numbered_lines
from rageval_report.files.source import LARGE, Source
from rageval_report.readers.base import Reader, ScoreFile, single_pipeline
from rageval_report.readers.decimal_commas import use_decimal_sign
from rageval_report.readers.frame_pieces import MixedShapeError, frame_in_pieces
from rageval_report.readers.json_table import is_table, table_of
from rageval_report.readers.record_columns import columns_of, lift_nested_scores

_SAMPLE = 20


def _recognise(source: Source) -> float:
    if not source.starts_like_json:
        return 0.0
    first, second = (*islice(numbered_lines(source), 2), None, None)[:2]
    if first is None or not first[1].lstrip().startswith("{"):
        return 0.0
    record = _parse_or_none(first[1])
    if second is None:
        # One line is a table of one row, or any other JSON document.
        return 0.6 if _is_single_record(record) else 0.2
    return 0.8 if record is not None or second[1].lstrip().startswith("{") else 0.2


def _is_single_record(record: object) -> bool:
    """Whether a file of one line is a single record, and not a table in another shape."""
    if not isinstance(record, dict) or is_table(record):
        return False
    return any(not isinstance(value, list | dict) for value in record.values())


def _parse_or_none(line: str) -> object:
    try:
        return strict_json.parse_json(line)
    except strict_json.NotJSONError:
        return None


def read_jsonl(
    source: Source,
    *,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
    decimal: str | None = None,
) -> list[ScoreFile]:
    """Read a table with one JSON object per line.

    Raises
    ------
    ReaderError
        If a line is broken or is not an object: the file and the line.
    """
    if source.size < LARGE:
        return _read_whole(source, columns, query_id, decimal)
    records = (record for _, record in json_objects(source))
    try:
        frame, notes = frame_in_pieces(records, columns=columns, query_id=query_id)
    except MixedShapeError:
        return _read_whole(source, columns, query_id, decimal)
    frame, comma_notes = use_decimal_sign(source, frame, decimal)
    return single_pipeline(source, frame, (*notes, *comma_notes))


def _read_whole(
    source: Source, columns: Iterable[str] | None, query_id: str | None, decimal: str | None
) -> list[ScoreFile]:
    cells = columns_of(record for _, record in json_objects(source))
    return table_of(source, cells, columns=columns, query_id=query_id, decimal=decimal)


def _header(source: Source) -> list[str]:
    """The keys of the first records; later ones may have more."""
    first = columns_of(record for _, record in islice(json_objects(source), _SAMPLE))
    return list(lift_nested_scores(first)[0])


JSONL = Reader(
    "jsonl",
    "JSON Lines: one JSON object per line, one line per query",
    _recognise,
    read_jsonl,
    ("columns", "decimal", "encoding", "query_id"),
    _header,
    "scores.jsonl",
)

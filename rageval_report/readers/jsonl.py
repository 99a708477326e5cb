"""JSON Lines: one record per line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any
from weakref import WeakKeyDictionary

import pandas as pd

from rageval_report.errors import DataError
from rageval_report.files import strict_json
from rageval_report.files.json_lines import json_records, numbered_lines
from rageval_report.files.source import LARGE, Source
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile, single_pipeline
from rageval_report.readers.decimal_commas import use_decimal_sign
from rageval_report.readers.described import (
    DescribedTable,
    described_files,
    parse_description,
    restored_frame,
)
from rageval_report.readers.frame_pieces import MixedShapeError, frame_in_pieces
from rageval_report.readers.json_table import is_table, table_of
from rageval_report.readers.record_columns import columns_of, lift_nested_scores, series_of
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.saved_tables import (
    TABLE_FORMAT,
    TABLE_KEY,
    TableDescription,
)

_SAMPLE = 20
_PIECE = 5_000
_KEY = f'"{TABLE_KEY}"'

_DESCRIPTIONS: WeakKeyDictionary[Source, DescribedTable] = WeakKeyDictionary()


def _description_within(source: Source) -> DescribedTable:
    """The description in one of the rows, which is the first unless the file was sorted since."""
    if source not in _DESCRIPTIONS:
        _DESCRIPTIONS[source] = _find_description(source)
    return _DESCRIPTIONS[source]


def _find_description(source: Source) -> DescribedTable:
    documents: list[tuple[int, Any]] = []
    if source.size < LARGE and _KEY not in source.json_text:
        return DescribedTable()
    for number, line in numbered_lines(source):
        if _KEY in line:
            record = _parse_or_none(line)
            members = record.values() if isinstance(record, dict) else ()
            documents += [(number, document) for document in members if _is_description(document)]
        # A large file is not read twice for a description that a program has moved.
        if source.size >= LARGE or len(documents) > 1:
            break
    if not documents:
        return DescribedTable()
    number, document = documents[0]
    if len(documents) > 1:
        note = (
            f"lines {number} and {documents[1][0]} both describe a table, so neither description "
            "is used; save each evaluation as a file of its own"
        )
        return DescribedTable(notes=(note,))
    place = f"the description of this table in line {number}"
    return parse_description(document, place)


def _is_description(value: object) -> bool:
    # By any part of it, because the others, and the key before it, may be damaged.
    return isinstance(value, dict) and value.get("format") == TABLE_FORMAT


def _rows(source: Source) -> Iterator[dict[str, Any]]:
    """The records, without the description of the table."""
    return chain.from_iterable(map(_without_description, json_records(source)))


def _without_description(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for record in records:
        if TABLE_KEY in record and _is_description(record[TABLE_KEY]):
            del record[TABLE_KEY]
    return records


def _recognise(source: Source) -> float:
    if not source.starts_like_json:
        return 0.0
    first, second = (*islice(numbered_lines(source), 2), None, None)[:2]
    if first is None or not first[1].lstrip().startswith("{"):
        return 0.0
    if _description_within(source).description is not None:
        return 1.0
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
    table = _description_within(source)
    if table.description is not None:
        files = _read_described(source, table.description, columns, query_id, decimal)
        if files is not None:
            return files
        table = _description_within(source)
    if source.size < LARGE:
        return _read_whole(source, columns, query_id, decimal)
    try:
        frame, notes = frame_in_pieces(_rows(source), columns=columns, query_id=query_id)
    except MixedShapeError:
        return _read_whole(source, columns, query_id, decimal)
    frame, comma_notes = use_decimal_sign(source, frame, decimal)
    every_note = (*table.notes, *notes, *comma_notes)
    return single_pipeline(source, frame, every_note, _line_finder(source))


def _line_finder(source: Source) -> Callable[[int], int]:
    """Finds the line of a record, which is counted from 0."""
    return lambda row: next(islice(numbered_lines(source), row, None))[0]


def _read_whole(
    source: Source, columns: Iterable[str] | None, query_id: str | None, decimal: str | None
) -> list[ScoreFile]:
    cells = columns_of(_rows(source))
    notes = _description_within(source).notes
    [file] = table_of(
        source, cells, columns=columns, query_id=query_id, notes=notes, decimal=decimal
    )
    return [replace(file, line_of_row=_line_finder(source))]


def _read_described(
    source: Source,
    description: TableDescription,
    columns: Iterable[str] | None,
    query_id: str | None,
    decimal: str | None,
) -> list[ScoreFile] | None:
    """Read a table that rageval_report wrote, piece by piece, as the types are known.

    None if rows were changed since, so that the description is not used any more.
    """
    metrics = list(description.metrics)
    every = dict.fromkeys(description.columns)
    present: dict[str, None] = {}
    added: CellsByColumn = {}
    pieces: list[pd.DataFrame] = []
    n_rows = 0
    records = _rows(source)
    while piece := list(islice(records, _PIECE)):
        cells = columns_of(piece)
        n_rows += len(piece)
        present |= dict.fromkeys(cells)
        for name in (name for name in cells if name not in every):
            added.setdefault(name, [None] * (n_rows - len(piece)))
        described = {name: cells.get(name, [None] * len(piece)) for name in every}
        try:
            pieces.append(restored_frame(described, description.details, metrics))
        except DataError as exc:
            raise source.error(
                f"the description of this table is damaged: {exc}; write the table again"
            ) from exc
        for name, values in added.items():
            values += cells.get(name, [None] * len(piece))
    if QUERY_ID not in present:
        return _read_whole(source, columns, query_id, decimal)
    frame = pieces[0] if len(pieces) == 1 else pd.concat(pieces, ignore_index=True)
    frame = frame.assign(**series_of(added, query_id)) if added else frame
    return described_files(
        *(source, description, frame, list(present)), columns=columns, query_id=query_id
    )


def _header(source: Source) -> list[str]:
    """The keys of the first records; later ones may have more."""
    description = _description_within(source).description
    if description is not None:
        return description.columns
    first = columns_of(islice(_rows(source), _SAMPLE))
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

"""Tables in JSON: one record per line, or a document of records, columns, or pandas' forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source, json_objects
from rageval_report.files.strict_json import NotJSONError, parse_json
from rageval_report.readers.base import (
    CellsByColumn,
    Reader,
    ScoreFile,
    repeated_names,
    select_columns,
    single_pipeline,
)
from rageval_report.readers.cell_values import use_decimal_sign
from rageval_report.readers.described import DescribedTable, described_file, description_in, unused
from rageval_report.readers.json_shapes import ShapeError, is_records, json_kind
from rageval_report.readers.record_columns import columns_of, frame_of, lift_nested_scores
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.saved_tables import TABLE_FORMAT, TABLE_KEY
from rageval_report.scores.table import id_column_of

# The name of the detail that keeps the row labels of a table with a column of ids.
_LABELS = "index"
_SAMPLE = 20  # records, whose keys are those of the columns
_SPLIT_KEYS = {"columns", "data", "index", "index_names", "column_names"}
_SHAPES = (
    "expected a list with one object per query, an object of columns, or the columns, index and "
    "data that pandas writes"
)
_Columns = tuple[CellsByColumn, list[str]]  # with notes


def _recognise_json(source: Source) -> float:
    # Broken, or several documents: the error comes when it is read.
    if not source.starts_like_json:
        return 0.0
    return 0.7 if source.once(_shaped_or_none) is not None else 0.5


def _shaped_or_none(source: Source) -> _Columns | None:
    document = source.document_or_none()
    try:
        return None if document is None else _shaped(document)
    except ShapeError:
        return None


def read_json(
    source: Source,
    *,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
    decimal: str | None = None,
) -> list[ScoreFile]:
    """Read a table from one JSON document."""
    cells, notes = source.once(_shaped_or_none) or _shaped(source.document)
    return _table_of(source, cells, columns, query_id, decimal, notes)


def _table_of(
    source: Source,
    cells: CellsByColumn,
    columns: Iterable[str] | None,
    query_id: str | None,
    decimal: str | None,
    notes: Iterable[str],
) -> list[ScoreFile]:
    """The result of the JSON readers: the requested columns, with nested scores lifted."""
    if not cells:
        raise source.error("the records are empty")
    flat, nest_notes = lift_nested_scores(cells)
    kept = {name: flat[name] for name in select_columns(flat, columns, query_id)}
    frame, comma_notes = use_decimal_sign(source, frame_of(kept, query_id), decimal)
    return single_pipeline(source, frame, (*notes, *nest_notes, *comma_notes))


def _header_of_json(source: Source) -> list[str]:
    _ = source.document  # if it is damaged, the error says where
    shaped = source.once(_shaped_or_none)
    return list(lift_nested_scores(shaped[0])[0]) if shaped else []


# -- shapes


def _shaped(document: Any) -> _Columns:
    """The columns of a document of a known shape, and notes on what was done."""
    if isinstance(document, list):
        return _columns_of_records(document), []
    if not isinstance(document, dict) or not document:
        raise ShapeError(f"{_SHAPES}; got {json_kind(document)}")
    if {"columns", "data"} <= set(document) <= _SPLIT_KEYS:
        return _columns_of_split(document)
    columns = {name: cells for name, cells in document.items() if isinstance(cells, list)}
    tables = [name for name, cells in columns.items() if is_records(cells)]
    are_columns = len({*map(len, columns.values())}) == 1
    if len(columns) == len(document) and are_columns and len(tables) < len(document):
        return columns, []
    if len(tables) == 1:
        others = [name for name in document if name not in tables]
        left_out = f"; left out: {named(others)}" if others else ""
        return columns_of(document[tables[0]]), [f"read the rows of {tables[0]!r}{left_out}"]
    if len(tables) == len(document):
        return _columns_of_groups(document)
    has_objects = any(isinstance(value, dict) for value in document.values())
    if are_columns and len(columns) > 1 and not tables and not has_objects:
        n = len(next(iter(columns.values())))
        if n > 1:
            # Texts hold for all rows. A number would be taken for a metric that is the same for
            # all queries.
            texts = {name: [cell] * n for name, cell in document.items() if isinstance(cell, str)}
            left_out = named(name for name in document if name not in {**columns, **texts})
            return {**columns, **texts}, [f"left out: {left_out}"] if left_out else []
    if len(columns) == len(document):
        lengths = [f"{name!r} has {len(cells)}" for name, cells in list(columns.items())[:8]]
        raise ShapeError(f"the columns must be of equal length; {', '.join(lengths)}")
    if all(isinstance(value, dict) for value in document.values()):
        return _columns_of_dicts(document)
    raise ShapeError(f"{_SHAPES}; got an object with {_name_briefly(document)}")


def _name_briefly(names: Iterable[str]) -> str:
    return named([name[:30] for name in names])


def _columns_of_records(records: list[Any]) -> CellsByColumn:
    if not records:
        raise ShapeError("the list of records is empty")
    for position, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise ShapeError(
                f"expected a list with one object per query; entry {position} is "
                f"{json_kind(record)}"
            )
    return columns_of(records)


def _columns_of_groups(document: Mapping[str, list[dict[str, Any]]]) -> _Columns:
    """``{group: [record, ...]}``, as benchmarks of conversations have it."""
    keys = [{*group[0]} for group in document.values()]
    if 2 * len(set.intersection(*keys)) <= len(set.union(*keys)):
        raise ShapeError(
            f"{_SHAPES}; got several lists of objects with different keys: "
            f"{_name_briefly(document)}"
        )
    is_taken = any("group" in record for group in document.values() for record in group)
    name = "group_key" if is_taken else "group"
    records = [{**record, name: key} for key, group in document.items() for record in group]
    note = f"the records are in {len(document)} lists, whose keys are in the column {name!r}"
    return columns_of(records), [note]


def _columns_of_split(document: Mapping[str, Any]) -> _Columns:
    names, data = document["columns"], document["data"]
    if not isinstance(names, list) or not isinstance(data, list):
        raise ShapeError(f"{_SHAPES}; 'columns' and 'data' must be lists")
    for position, row in enumerate(data, 1):
        if not isinstance(row, list) or len(row) != len(names):
            actual = f"{len(row)} cells" if isinstance(row, list) else json_kind(row)
            raise ShapeError(
                f"row {position} of 'data' must be a list of {len(names)} cells, one per column; "
                f"got {actual}"
            )
    texts = [str(name) for name in names]
    if repeated_names(texts):
        duplicates = named(repeated_names(texts))
        raise ShapeError(f"column names must be unique; these appear more than once: {duplicates}")
    labels = document.get("index") or list(range(len(data)))
    if not isinstance(labels, list) or len(labels) != len(data):
        raise ShapeError(f"'index' must be a list of {len(data)} labels, one per row of 'data'")
    columns = {name: [row[position] for row in data] for position, name in enumerate(texts)}
    return _with_labels(columns, labels)


def _columns_of_dicts(document: Mapping[str, Mapping[str, Any]]) -> _Columns:
    """``{column: {row: cell}}``, as pandas writes it."""
    labels = list(dict.fromkeys(label for cells in document.values() for label in cells))
    is_numbered = all(label.isdigit() for label in labels)
    # {pipeline: {metric: mean}} has the same shape as {column: {row: cell}}; a guess would take
    # statistics for queries.
    if not is_numbered and id_column_of(document) is None:
        raise ShapeError(
            f"this is an object of objects: the keys of {_name_briefly(document)} are "
            f"{_name_briefly(labels)}, which may be queries, pipelines or statistics. Write a list "
            "of objects with one query_id each, as pandas does with orient='records'"
        )
    return _with_labels(
        {name: [cells.get(label) for label in labels] for name, cells in document.items()}, labels
    )


def _with_labels(columns: CellsByColumn, labels: list[Any]) -> _Columns:
    """Row labels that are not row numbers become the ids, unless there is a column of ids."""
    if [str(label) for label in labels] == [str(row) for row in range(len(labels))]:
        return columns, []
    # Row numbers of two files would pair different queries.
    if id_column_of(columns) is None and not all(str(label).isdigit() for label in labels):
        return {"query_id": labels, **columns}, ["the row labels are the query ids"]
    return {_LABELS: labels, **columns}, []


# -- JSON Lines


def _recognise_lines(source: Source) -> float:
    if not source.starts_like_json:
        return 0.0
    first, second = (*islice((line for line in source.lines() if line.strip()), 2), "", "")[:2]
    if not first.lstrip().startswith("{"):
        return 0.0
    try:
        record = parse_json(first)
    except NotJSONError:
        record = None
    if isinstance(record, dict) and _is_description(record.get(TABLE_KEY)):
        return 1.0
    if second:
        return 0.8 if record is not None or second.lstrip().startswith("{") else 0.2
    # One line is a table of one row, or any other JSON document.
    if not isinstance(record, dict) or source.once(_shaped_or_none) is not None:
        return 0.2
    return 0.6 if any(not isinstance(cell, list | dict) for cell in record.values()) else 0.2


def _is_description(value: object) -> bool:
    return isinstance(value, dict) and value.get("format") == TABLE_FORMAT


def read_jsonl(
    source: Source,
    *,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
    decimal: str | None = None,
) -> list[ScoreFile]:
    """Read a table with one JSON object per line."""
    lines, records = [], []
    table, described = DescribedTable(), 0
    for line, record in json_objects(source):
        if TABLE_KEY in record and _is_description(record[TABLE_KEY]):
            place = f"the description of this table in line {line}"
            document = record.pop(TABLE_KEY)
            reason = f"line {described} describes a table as well"
            table = unused(place, reason) if described else description_in(document, place)
            described = described or line
        lines.append(line)
        records.append(record)
    cells = columns_of(records)
    if table.description is not None and QUERY_ID in cells:
        return described_file(source, table.description, cells, columns=columns, query_id=query_id)
    [file] = _table_of(source, cells, columns, query_id, decimal, table.notes)
    return [replace(file, line_of_row=lines.__getitem__)]


def _header_of_lines(source: Source) -> list[str]:
    """The keys of the first records; later ones may have more."""
    records = [record for _, record in islice(json_objects(source), _SAMPLE)]
    flat, _ = lift_nested_scores(columns_of(records))
    return [name for name in flat if name != TABLE_KEY]


_OPTIONS = ("columns", "decimal", "encoding", "query_id")
JSON = Reader(
    "json",
    "one JSON document: a list of records, an object of columns, or pandas' split form",
    _recognise_json,
    read_json,
    _OPTIONS,
    _header_of_json,
    "scores.json",
)
JSONL = Reader(
    "jsonl",
    "JSON Lines: one JSON object per line, one line per query",
    _recognise_lines,
    read_jsonl,
    _OPTIONS,
    _header_of_lines,
    "scores.jsonl",
)

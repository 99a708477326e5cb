"""The rows of a file of any kind, as dicts: a JSON document, JSON Lines or a table."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from rageval_report.errors import ReaderError
from rageval_report.files.encoding import head_text
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source
from rageval_report.readers.cell_values import parse_rows
from rageval_report.readers.json_shapes import is_records
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.types import JsonObject


def first_fields(source: Source, *keys: str) -> frozenset[str]:
    """The names of the fields of the first row; of a table, the names of all columns.

    Parameters
    ----------
    source : Source
        The file.
    *keys : str
        The keys of a JSON document that may hold the rows.
    """
    listed = _rows_in_document(source.document_or_none(), keys)
    if listed:
        return frozenset(map(str, listed[0]))
    if not source.starts_like_json:
        return frozenset(header_of(source))
    try:
        return frozenset(key for _, row in islice(json_objects(source), 1) for key in row)
    except ReaderError:
        return frozenset()


def first_row(source: Source, *keys: str) -> JsonObject:
    """The first row, if it is an object of a JSON document or of JSON Lines; else empty.

    Parameters
    ----------
    source : Source
        The file.
    *keys : str
        The keys of a JSON document that may hold the rows.
    """
    if not source.starts_like_json:
        return {}
    listed = _rows_in_document(source.document_or_none(), keys)
    if listed:
        return listed[0]
    try:
        return next((row for _, row in json_objects(source)), {})
    except ReaderError:
        return {}


def read_rows(source: Source, *keys: str) -> list[JsonObject]:
    """The rows of a JSON document, of JSON Lines or of a table, whose cells may hold JSON.

    Parameters
    ----------
    source : Source
        The file.
    *keys : str
        The keys of a JSON document that may hold the rows.

    Raises
    ------
    ReaderError
        If there are none.
    """
    document = source.document_or_none()
    listed = _rows_in_document(document, keys)
    if listed:
        return listed
    if isinstance(document, list):
        raise source.error("expected a list of objects")
    if document is None and _is_single_document(source):
        _ = source.document  # damaged: the error names the line
    rows: list[JsonObject] = (
        [row for _, row in json_objects(source)]
        if source.starts_like_json
        else [*parse_rows(read_table(source).frame)]
    )
    if not rows:
        raise source.error("the file contains no records")
    return rows


def _rows_in_document(document: object, keys: Iterable[str]) -> list[JsonObject]:
    if is_records(document):
        return document
    if isinstance(document, dict):
        return next((document[key] for key in keys if is_records(document.get(key))), [])
    return []


def _is_single_document(source: Source) -> bool:
    """Whether the text starts like one document over several lines, and not like JSON Lines."""
    start = head_text(source.head).lstrip() if source.starts_like_json else ""
    return start.startswith("[") or start.partition("\n")[0].strip() == "{"

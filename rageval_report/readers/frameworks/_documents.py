"""The records of a file as they stand in it, whatever kind of file it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from rageval_report.errors import ReaderError
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source
from rageval_report.readers._shapes import is_records
from rageval_report.readers.frameworks._told import objects_in
from rageval_report.readers.tables import header_of, table_in

Json = Mapping[str, Any]


def fields_in(source: Source, *keys: str) -> frozenset[str]:
    """The names of the fields that the first record has; of a table those of all columns.

    Parameters
    ----------
    source : Source
        The file.
    *keys : str
        Under which of its keys a JSON document may hold the records.
    """
    listed = _listed(source.document_or_none(), keys)
    if listed:
        return frozenset(map(str, listed[0]))
    if not source.starts_like_json:
        return frozenset(header_of(source))
    try:
        return frozenset(key for _, one in islice(json_objects(source), 1) for key in one)
    except ReaderError:
        return frozenset()


def records_in(source: Source, *keys: str) -> list[Json]:
    """The records of a JSON document, of JSON Lines or of a table, whose cells may hold JSON.

    Parameters
    ----------
    source : Source
        The file.
    *keys : str
        Under which of its keys a JSON document may hold the records.

    Raises
    ------
    ReaderError
        If there are none.
    """
    document = source.document_or_none()
    listed = _listed(document, keys)
    if listed:
        return listed
    if isinstance(document, list):
        raise source.error("expected a list of objects")
    if source.starts_like_json:
        found = [one for _, one in json_objects(source)]
    else:
        found = _rows_of_table(source)
    if not found:
        raise source.error("it holds no record")
    return list(found)


def _listed(document: object, keys: Iterable[str]) -> list[Json]:
    if is_records(document):
        return document  # type: ignore[return-value]
    if isinstance(document, dict):
        return next((document[key] for key in keys if is_records(document.get(key))), [])
    return []


def _rows_of_table(source: Source) -> list[dict[str, Any]]:
    frame = table_in(source).frame
    cells = {str(name): objects_in(frame[name].tolist()) for name in frame}
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]

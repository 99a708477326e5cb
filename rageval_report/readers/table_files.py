"""Tables in files and in memory: what callers pass, and readers of frameworks' frames.

The same frame may be saved as CSV, JSON, JSON Lines, Parquet or Excel. A `dialect` is a reader for
such frames, recognised by their columns: it sees their names and the frame, not the kind of file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import date, time, timedelta
from functools import wraps
from numbers import Number
from pathlib import PurePath
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from rageval_report.errors import (
    ArgumentKindError,
    DataError,
    RagevalError,
    ReaderError,
    describe_kind,
)
from rageval_report.files.inputs import (
    Contents,
    FileInput,
    input_name,
    is_file_input,
)
from rageval_report.files.source import Source
from rageval_report.readers.base import (
    ACCEPTED,
    Reader,
    ScoreFile,
    check_unique_names,
    select_columns,
    single_pipeline,
)
from rageval_report.readers.binary_tables import EXCEL, PARQUET
from rageval_report.readers.delimited import CSV, TSV
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.json_table import JSON, JSONL
from rageval_report.readers.run_folders import results_file
from rageval_report.scores.frames import record_dicts, to_pandas

# What readers take: a file, or a table in memory.
ScoreInput = FileInput | Source | pd.DataFrame | Mapping[Any, Any] | Iterable[Any]

_STEM = "pipeline"
_TEXTS = (date, time, timedelta, PurePath, UUID, np.datetime64, np.timedelta64)


class TableSource(Source):
    """A frame that the caller passed in place of a file, or a table of a database."""

    is_text = False
    looks_like = "a frame in memory"

    def __init__(
        self,
        frame: pd.DataFrame,
        name: str,
        stem: str = _STEM,
        notes: Iterable[str] = (),
    ):
        self._set_contents(Contents(name, stem, b""))
        self.frame = frame
        self._notes = list(notes)


class DocumentSource(Source):
    """A JSON document that the caller passed in place of a file, or that a server returned."""

    def __init__(self, text: str, name: str, stem: str = _STEM, notes: Iterable[str] = ()):
        self._set_contents(Contents(name, stem, text.encode(), is_text=True))
        self._notes = list(notes)


def source_of(value: object, *, encoding: str | None = None, parameter: str = "path") -> Source:
    """The source of what the caller passed to a reader."""
    if isinstance(value, Source):
        return value
    if is_file_input(value):
        return Source(results_file(value), encoding=encoding)
    if isinstance(value, Mapping):
        return _document_source(value, value, parameter)
    is_frame = isinstance(value, pd.DataFrame | pd.Series | np.ndarray | str | Set | type) or any(
        # A frame or a Series of polars, for example.
        hasattr(type(value), name)
        for name in ("columns", "dtype", "__arrow_c_stream__")
    )
    if is_frame or not isinstance(value, Iterable):
        return _frame_source(value, parameter)
    return _document_source(_records(value, parameter), value, parameter)


def _frame_source(value: object, parameter: str) -> TableSource:
    try:
        frame = to_pandas(value, parameter=parameter)
    except ArgumentKindError as exc:
        if callable(getattr(value, "collect", None)) or isinstance(value, np.ndarray):
            raise
        raise ArgumentKindError(
            f"{parameter} must be the path of a file, its contents as bytes, an open file, a "
            "frame, a parsed JSON document, or an iterable of dicts; got "
            f"{describe_kind(value)}"
        ) from exc
    texts = [str(label) for label in frame.columns]
    return TableSource(frame.set_axis(texts, axis=1), input_name(value))


def _records(value: Iterable[Any], parameter: str) -> list[dict[Any, Any]]:
    records = value if isinstance(value, Sequence) else list(value)
    if not len(records):
        raise DataError(f"{parameter} must hold one dict per query; got {describe_kind(records)}")
    return record_dicts(records, parameter)


def _document_source(document: object, value: object, parameter: str) -> DocumentSource:
    """The source of a document in memory: its JSON text."""
    try:
        return DocumentSource(json.dumps(document, default=_plain), input_name(value))
    except RecursionError as exc:
        raise DataError(f"{parameter}: objects are nested too deeply") from exc
    except (TypeError, ValueError) as exc:  # a value or a key of another kind, or a circle
        raise DataError(f"{parameter} cannot be read as a JSON document: {exc}") from exc


def _plain(value: Any) -> Any:
    """A value that JSON has no form for, as one that it has."""
    if value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, _TEXTS):
        return str(value)
    if isinstance(value, np.generic | np.ndarray | pd.Series | pd.Index):
        return value.tolist()
    if isinstance(value, Number) and hasattr(value, "as_tuple"):  # a decimal
        return float(value)  # type: ignore[arg-type]
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, pd.DataFrame | type | Set):
        raise TypeError(f"it holds {describe_kind(value)}")
    [record] = record_dicts([value])
    return record


# -- the reader of frames


def _read_frame(
    source: Source, *, columns: Iterable[str] | None = None, query_id: str | None = None
) -> list[ScoreFile]:
    """The frame that the caller passed."""
    if not isinstance(source, TableSource):
        raise source.error("expected a frame in memory")
    check_unique_names(source, source.frame.columns)
    kept = select_columns(source.frame.columns, columns, query_id)
    return single_pipeline(source, source.frame if columns is None else source.frame[kept])


FRAME = Reader(
    "frame",
    "a frame in memory",
    lambda source: 0.9 if isinstance(source, TableSource) else 0.0,
    _read_frame,
    ("columns", "query_id"),
    lambda source: list(source.frame.columns) if isinstance(source, TableSource) else [],
)


# The readers of plain tables: those with a `header`.
CONTAINERS: tuple[Reader, ...] = (CSV, TSV, JSON, JSONL, PARQUET, EXCEL)


def container_of(source: Source) -> Reader | None:
    """The reader for the kind of file that holds a table; None if the file is not a table."""
    return FRAME if isinstance(source, TableSource) else source.once(_container_of)


def _container_of(source: Source) -> Reader | None:
    mark, best = max(
        ((reader.recognise(source), reader) for reader in CONTAINERS), key=lambda pair: pair[0]
    )
    return best if mark >= ACCEPTED else None


def spoilt_table(source: Source) -> ReaderError | None:
    """The error about the row that spoils a table of text; None for any other file."""
    if not source.is_text or source.starts_like_json:
        return None
    try:
        CSV.read(source)
    except ReaderError as exc:
        if exc.line is not None:
            message = f"no reader recognises this file; as a table of text: {exc.message}"
            return source.error(message, line=exc.line)
    return None


def header_of(source: Source) -> tuple[str, ...]:
    """The names of a table's columns; none if the file is not a table or cannot be read."""
    return source.once(_header_of)


def _header_of(source: Source) -> tuple[str, ...]:
    container = container_of(source)
    try:
        return tuple(container.header(source) if container and container.header else ())
    except (RagevalError, ShapeError):  # the error comes when the file is read
        return ()


def read_table(
    source: Source, *, columns: Iterable[str] | None = None, query_id: str | None = None
) -> ScoreFile:
    """The table in a file; a `ReaderError` if it is none, or cannot be read."""
    container = container_of(source)
    if container is None:
        raise source.error(f"expected a table; this looks like {source.looks_like}")
    [table] = container.read(source, columns=columns, query_id=query_id)
    return table


def dialect(
    name: str,
    sentence: str,
    recognise: Callable[[frozenset[str]], float],
    read: Callable[[Source, pd.DataFrame], list[ScoreFile]],
    example: str = "",
) -> Reader:
    """A reader of a framework's frame, which is recognised by the names of its columns."""

    def recognise_header(source: Source) -> float:
        header = header_of(source)
        return recognise(frozenset(header)) if header else 0.0

    @wraps(read)  # so that an error inside a reader from outside names its module
    def read_frame(
        source: Source, *, columns: Iterable[str] | None = None, query_id: str | None = None
    ) -> list[ScoreFile]:
        table = read_table(source, columns=columns, query_id=query_id)
        files = read(source, table.frame)
        return [replace(file, notes=(*table.notes, *file.notes)) for file in files]

    options = ("columns", "encoding", "query_id")
    return Reader(name, sentence, recognise_header, read_frame, options, example=example)

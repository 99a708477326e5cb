"""What callers pass in place of a file: frames, parsed JSON documents, iterables of records."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date, time, timedelta
from enum import Enum
from fractions import Fraction
from numbers import Number
from pathlib import PurePath
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from rageval_report.errors import ArgumentKindError, DataError, describe_kind, named
from rageval_report.files.inputs import (
    Contents,
    FileInput,
    input_name,
    is_file_input,
)
from rageval_report.files.source import Source
from rageval_report.readers.base import (
    Reader,
    ScoreFile,
    check_unique_names,
    select_columns,
    single_pipeline,
)
from rageval_report.readers.described import described_file
from rageval_report.readers.run_folders import results_file
from rageval_report.scores.frames import record_dicts, to_pandas
from rageval_report.scores.saved_tables import TableDescription

# What readers take: a file, or a table in memory.
ScoreInput = FileInput | Source | pd.DataFrame | Mapping[Any, Any] | Iterable[Any]

_STEM = "pipeline"
_NUMBER_TYPES = {"bool": np.bool_, "int64": np.int64, "float64": np.float64}
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
        description: TableDescription | None = None,
    ):
        self._set_contents(Contents(name, stem, b""))
        self.frame = frame
        self.description = description
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
    is_frame = (
        isinstance(value, pd.DataFrame | pd.Series | np.ndarray | str | Set | type)
        or not isinstance(value, Iterable)
        # A frame or a Series of polars, for example.
        or any(hasattr(type(value), name) for name in ("columns", "dtype", "__arrow_c_stream__"))
    )
    if is_frame:
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
    if all(map(is_file_input, records)):
        raise ArgumentKindError(
            f"{parameter} must be one file; got {describe_kind(records)}: "
            f"{named(map(input_name, records), 3)}. Read them one by one"
        )
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
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Fraction) or (isinstance(value, Number) and hasattr(value, "as_tuple")):
        try:
            return float(value)  # type: ignore[arg-type]
        except OverflowError:  # more than a float can hold; the sign is kept, infinity is refused
            return math.copysign(math.inf, value)  # type: ignore[arg-type]
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
    frame, description = source.frame, source.description
    check_unique_names(source, frame.columns)
    kept = select_columns(frame.columns, columns, query_id)
    if description is None:
        return single_pipeline(source, frame if kept == list(frame) else frame[kept])
    # The cells of a saved table in a database, which may have no booleans and only one blank.
    cells = {}
    for name, saved in description.details.items():
        if name in frame:
            numbers = _NUMBER_TYPES.get(saved.dtype)
            cells[name] = (
                frame[name].astype(object).where(frame[name].notna(), None)
                if numbers is None
                else frame[name].astype(numbers)
            )
    raw = frame.assign(**cells)
    return described_file(source, description, raw, columns=columns, query_id=query_id)


def _recognise(source: Source) -> float:
    if not isinstance(source, TableSource):
        return 0.0
    # As surely as a plain table in a file, if it does not describe itself.
    return 0.9 if source.description is None else 1.0


FRAME = Reader(
    "frame",
    "a frame in memory",
    _recognise,
    _read_frame,
    ("columns", "query_id"),
    lambda source: list(source.frame.columns) if isinstance(source, TableSource) else [],
)

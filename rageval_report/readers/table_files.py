"""Tables whatever file they stand in: a framework's frame is known by its columns.

The same frame is a CSV, a JSON, JSON Lines, a Parquet or an Excel file, as whoever saved it liked
it. A `dialect` is a reader for such frames: it looks at the names of the columns and at the frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import pandas as pd

from rageval_report.errors import RagevalError
from rageval_report.files.source import Source
from rageval_report.readers.base import ACCEPTED, Reader, ScoreFile
from rageval_report.readers.delimited import CSV, TSV
from rageval_report.readers.excel import EXCEL
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.json_table import JSON
from rageval_report.readers.jsonl import JSONL
from rageval_report.readers.parquet import PARQUET

CONTAINERS: tuple[Reader, ...] = (CSV, TSV, JSON, JSONL, PARQUET, EXCEL)

_HEADERS: WeakKeyDictionary[Source, tuple[str, ...]] = WeakKeyDictionary()


def container_of(source: Source) -> Reader | None:
    """The reader of the kind of file that a table stands in; None where it is no table.

    Parameters
    ----------
    source : Source
        The file.
    """
    marks = [(reader.recognise(source), reader) for reader in CONTAINERS]
    mark, best = max(marks, key=lambda pair: pair[0])
    return best if mark >= ACCEPTED else None


def header_of(source: Source) -> tuple[str, ...]:
    """The names of a table's columns; none where it is no table or cannot be read.

    Parameters
    ----------
    source : Source
        The file; what was found is kept as long as it is.
    """
    if source not in _HEADERS:
        container = container_of(source)
        try:
            names = container.header(source) if container and container.header else ()
        except (RagevalError, ShapeError):  # said in full when the file is read
            names = ()
        _HEADERS[source] = tuple(names)
    return _HEADERS[source]


def read_table(source: Source, **options: Any) -> ScoreFile:
    """The table that stands in a file.

    Parameters
    ----------
    source : Source
        The file.
    **options
        Of the kind of file, as ``columns=``, ``query_id=``.

    Raises
    ------
    ReaderError
        If there is no table, or it cannot be read.
    """
    container = container_of(source)
    if container is None:
        raise source.error(f"expected a table; this looks like {source.looks_like}")
    [found] = container.read(source, **options)
    return found


def dialect(
    name: str,
    sentence: str,
    recognise: Callable[[frozenset[str]], float],
    read: Callable[[Source, pd.DataFrame], list[ScoreFile]],
    example: str = "",
) -> Reader:
    """A reader of a framework's frame, in whatever kind of file.

    Parameters
    ----------
    name, sentence : str
        As in `Reader`.
    recognise : callable
        From the names of the columns to a mark between 0 and 1; plain tables have 0.9 at most.
    read : callable
        From the source and its frame to a `ScoreFile` a pipeline.
    example : str
        What such a file is usually called.
    """

    def recognised(source: Source) -> float:
        header = header_of(source)
        return recognise(frozenset(header)) if header else 0.0

    def read_frame(source: Source, **options: Any) -> list[ScoreFile]:
        table = read_table(source, **options)
        found = read(source, table.frame)
        return [replace(one, notes=(*table.notes, *one.notes)) for one in found]

    options = ("columns", "encoding", "query_id")
    return Reader(name, sentence, recognised, read_frame, options, example=example)

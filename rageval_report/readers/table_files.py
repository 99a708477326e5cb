"""Tables in any kind of file, and readers of frameworks' frames, recognised by their columns.

The same frame may be saved as CSV, JSON, JSON Lines, Parquet or Excel. A `dialect` is a reader for
such frames: it sees the names of the columns and the frame, but not the kind of file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps

import pandas as pd

from rageval_report.errors import RagevalError
from rageval_report.files.source import Source
from rageval_report.readers.base import ACCEPTED, Reader, ScoreFile
from rageval_report.readers.binary_tables import EXCEL, PARQUET
from rageval_report.readers.delimited import CSV, TSV
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.json_table import JSON, JSONL
from rageval_report.readers.table_inputs import FRAME, TableSource

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

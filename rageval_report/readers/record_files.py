"""Files of records: what was asked, expected, retrieved and answered, a row a query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader
from rageval_report.readers.cell_values import parse_list, parse_literal
from rageval_report.readers.delimited import find_misfit
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.table_files import CONTAINERS, container_of
from rageval_report.records import FIELDS, record_table

# Fields whose cells are texts even where they begin with a bracket.
_PLAIN = frozenset(("question", "answer", "model", "error"))


def read_records(
    path: str | Path, *, reader: str | None = None, query_id: str = "query_id", **options: Any
) -> pd.DataFrame:
    r"""Read records from a table in any kind of file.

    Parameters
    ----------
    path : str or Path
        CSV, TSV, JSON, JSON Lines, Parquet or Excel, gzipped or not; "-" is standard input.
    reader : {"csv", "tsv", "json", "jsonl", "parquet", "excel"}, optional
        The kind of file; recognised by its content where not given.
    query_id : str
        The column of ids; other usual names are looked for, then the question's text.
    **options
        As `rageval_report.records.record_table` takes them, ``overlap=``,
        ``unretrieved_citations=`` and ``unplaced_gold=``, or the reader's own, as ``encoding=``.

    Returns
    -------
    DataFrame
        The checked records; lists and objects that stand as text in cells are read.

    Raises
    ------
    ReaderError
        If the file cannot be read, or its records are wrong.
    UnknownNameError
        If no reader of tables has that name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "records.csv"
    ...     _ = path.write_text("qid,retrieved,relevant\na,\"['d1', 'd2']\",['d2']\n")
    ...     read_records(path).loc["a", "retrieved"]
    ['d1', 'd2']
    """
    ours = {name: options.pop(name) for name in _OF_RECORDS if name in options}
    source = Source(path, encoding=options.get("encoding"))
    container = _container(source, reader)
    options.pop("encoding", None)
    try:
        [found] = container.read(source, **options)
        return record_table(_with_values(found.frame), query_id=query_id, **ours)
    except ShapeError as exc:
        raise source.error(str(exc)) from exc
    except DataError as exc:
        raise exc if isinstance(exc, ReaderError) else source.error(str(exc)) from exc


_OF_RECORDS = ("overlap", "unretrieved_citations", "unplaced_gold")


def _container(source: Source, reader: str | None) -> Reader:
    by_name = {one.name: one for one in CONTAINERS}
    if reader is not None:
        if reader not in by_name:
            raise UnknownNameError("reader of tables", reader, by_name)
        return by_name[reader]
    container = container_of(source)
    if container is None:
        raise find_misfit(source) or source.error(
            f"expected a table of records; this looks like {source.looks_like}. Choose with "
            f"reader=..., one of {', '.join(by_name)}"
        )
    return container


def _with_values(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with lists and objects where cells of known fields are such, written as text."""
    names = {
        name for field, also in FIELDS.items() if field not in _PLAIN for name in (field, *also)
    }
    columns = {
        name: pd.Series([_value(cell) for cell in frame[name].tolist()], dtype=object)
        for name in frame.columns
        if name in names and pd.api.types.infer_dtype(frame[name], skipna=True) == "string"
    }
    return frame.reset_index(drop=True).assign(**columns) if columns else frame


def _value(cell: object) -> object:
    if isinstance(cell, str) and cell.lstrip().startswith("{"):
        found = parse_literal(cell.strip())
        return found if isinstance(found, dict) else cell
    return parse_list(cell)

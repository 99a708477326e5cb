"""Files of records: questions, references, retrieved documents and answers, one row per query."""

from __future__ import annotations

from typing import Unpack

import pandas as pd

from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.readers.base import ReaderOptions, check_options
from rageval_report.readers.cell_values import parse_list, parse_literal
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.table_files import (
    CONTAINERS,
    ScoreInput,
    container_of,
    source_of,
    spoilt_table,
)
from rageval_report.records import FIELDS, record_table
from rageval_report.records.table import UnplacedGold, UnretrievedCitations
from rageval_report.scores.query_ids import QUERY_ID

# Fields whose cells are texts even if they begin with a bracket.
_PLAIN = frozenset(("question", "answer", "model", "error"))


def read_records(
    path: ScoreInput,
    *,
    reader: str | None = None,
    query_id: str = QUERY_ID,
    overlap: float = 0.5,
    unretrieved_citations: UnretrievedCitations = "warn",
    unplaced_gold: UnplacedGold = "error",
    **options: Unpack[ReaderOptions],
) -> pd.DataFrame:
    r"""Read records from a table in any kind of file.

    Parameters
    ----------
    path : str, PathLike, bytes, open file, frame, mapping, or iterable of dicts
        CSV, TSV, JSON, JSON Lines, Parquet or Excel, gzipped or not; "-" is standard input. Or the
        contents of such a file, or a table in memory.
    reader : {"csv", "tsv", "json", "jsonl", "parquet", "excel"}, optional
        The kind of file; if omitted, it is recognised by the content.
    query_id : str
        The column of ids; if it is absent, a column of another usual name, or the question's text.
    overlap, unretrieved_citations, unplaced_gold
        As in `rageval_report.records.record_table`.
    **options
        The options of the reader, such as ``encoding=``.

    Returns
    -------
    DataFrame
        The checked records, with lists and objects parsed if the cells hold them as text.

    Raises
    ------
    ReaderError
        If the file cannot be read, or its records are wrong.
    UnknownNameError
        If no reader of tables has that name.
    DataError
        If the reader does not take one of the options.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "records.csv"
    ...     _ = path.write_text("qid,retrieved,relevant\na,\"['d1', 'd2']\",['d2']\n")
    ...     read_records(path).loc["a", "retrieved"]
    ['d1', 'd2']
    """
    source = source_of(path, encoding=options.get("encoding"))
    by_name = {reader.name: reader for reader in CONTAINERS}
    if reader is not None and reader not in by_name:
        raise UnknownNameError("reader of tables", reader, by_name)
    container = container_of(source) if reader is None else by_name[reader]
    if container is None:
        raise spoilt_table(source) or source.error(
            f"expected a table of records; this looks like {source.looks_like}. Choose with "
            f"reader=..., one of {', '.join(by_name)}"
        )
    keywords = check_options(container.name, container, options)
    try:
        [file] = container.read(source, **keywords)
        return record_table(
            _parse_cells(file.frame),
            query_id=query_id,
            overlap=overlap,
            unretrieved_citations=unretrieved_citations,
            unplaced_gold=unplaced_gold,
        )
    except ReaderError:
        raise
    except (ShapeError, DataError) as exc:
        raise source.error(str(exc)) from exc


def _parse_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with lists and objects in known fields parsed, if they are written as text."""
    fields = {field: aliases for field, aliases in FIELDS.items() if field not in _PLAIN}
    names = {name for field, aliases in fields.items() for name in (field, *aliases)}
    columns = {
        name: pd.Series([_parse_cell(cell) for cell in frame[name].tolist()], dtype=object)
        for name in names & set(frame.columns)
        if pd.api.types.infer_dtype(frame[name], skipna=True) == "string"
    }
    return frame.reset_index(drop=True).assign(**columns) if columns else frame


def _parse_cell(cell: object) -> object:
    if isinstance(cell, str) and cell.lstrip().startswith("{"):
        value = parse_literal(cell.strip())
        return value if isinstance(value, dict) else cell
    return parse_list(cell)

"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from rageval_report._registry import import_parquet, import_pyarrow
from rageval_report.errors import RagevalError, ReaderError, named
from rageval_report.files.source import Source
from rageval_report.readers.base import (
    Reader,
    ScoreFile,
    check_unique_names,
    select_columns,
    single_pipeline,
)
from rageval_report.readers.described import DescribedTable, described_file, parse_description
from rageval_report.readers.written_cells import use_decimal_sign
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.saved_tables import TABLE_KEY, TableDescription

_MAGIC = b"PAR1"


def _recognise(source: Source) -> float:
    if source.is_text or not source.head.startswith(_MAGIC):
        return 0.0
    try:
        return 1.0 if TABLE_KEY.encode() in (_schema(source).metadata or {}) else 0.9
    except RagevalError:  # the error comes when it is read
        return 0.9


def read_parquet(
    source: Source,
    *,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
    decimal: str | None = None,
) -> list[ScoreFile]:
    """Read a Parquet file; only the requested columns are read from disk."""
    schema = source.once(_schema)
    check_unique_names(source, schema.names)
    kept = select_columns(schema.names, columns, query_id)
    text = (schema.metadata or {}).get(TABLE_KEY.encode())
    place = "the description of this table in its metadata"
    table = DescribedTable() if text is None else parse_description(text, place)
    is_described = table.description is not None and QUERY_ID in schema.names
    if is_described:
        kept = list(dict.fromkeys((QUERY_ID, *kept)))
    try:
        # Pages without a checksum are read as they are; rageval_report writes them with one.
        frame = pd.read_parquet(
            source.path_or_buffer(),
            columns=kept,
            engine="pyarrow",
            page_checksum_verification=True,
        )
        _check_texts(frame)
        cells = _python_cells(source, table.description, kept) if is_described else {}
    except _errors_of_damage() as exc:
        raise _damage_error(source, schema, kept, exc) from exc
    if table.description is not None and is_described:
        lost = [name for name in kept if name not in frame]
        if lost:  # for example an index by the metadata of pandas
            raise source.error(
                f"this Parquet file is damaged: its columns {named(lost)} are not read"
            )
        raw = {str(name): cells.get(str(name), column) for name, column in frame.items()}
        return described_file(source, table.description, raw, columns=columns, query_id=query_id)
    frame, notes = use_decimal_sign(source, _convert_decimals(frame, schema), decimal)
    return single_pipeline(source, frame, (*table.notes, *notes))


def _python_cells(
    source: Source, description: TableDescription | None, kept: list[str]
) -> dict[str, Any]:
    """Details as Python's values: pandas turns lists into arrays, and integers into floats."""
    details = {} if description is None else description.details
    names = [name for name, saved in details.items() if name in kept and saved.dtype == "object"]
    table = _pyarrow().parquet.read_table(
        source.path_or_buffer(), columns=names, page_checksum_verification=True
    )
    return {name: table.column(name).to_pylist() for name in names}


def _check_texts(frame: pd.DataFrame) -> None:
    """Check the bytes of texts, which pyarrow decodes only when somebody looks at them."""
    for _, column in frame.items():
        if isinstance(column.dtype, pd.StringDtype) and column.dtype.storage == "pyarrow":
            _pyarrow().array(column.array).validate(full=True)


def _pyarrow() -> Any:
    """The library with its Parquet module, which has no types."""
    import_parquet()
    return import_pyarrow()


def _schema(source: Source) -> Any:
    try:
        return _pyarrow().parquet.read_schema(source.path_or_buffer())
    except _errors_of_damage() as exc:
        raise source.error(
            f"this Parquet file cannot be opened; is it cut? Copy it again ({_first_line(exc)})"
        ) from exc


def _errors_of_damage() -> tuple[type[Exception], ...]:
    """The exceptions that pyarrow raises for damaged files."""
    return (_pyarrow().ArrowException, OSError, ValueError, KeyError, TypeError)


def _damage_error(
    source: Source, schema: Any, columns: list[str], exc: BaseException
) -> ReaderError:
    """The error for a damaged file, which names the first column with texts that are not UTF-8."""
    types = _pyarrow().types
    # The words of pyarrow differ between its versions, and some do not mention UTF-8.
    for name in columns:
        kind = schema.field(name).type
        if types.is_string(kind) or types.is_large_string(kind):
            try:
                table = _pyarrow().parquet.read_table(source.path_or_buffer(), columns=[name])
                table.column(0).validate(full=True)
            except _pyarrow().ArrowInvalid:
                problem = f"column {name!r} has texts that are not UTF-8"
                return source.error(f"this Parquet file is damaged: {problem}")
            except _errors_of_damage():  # other damage, of which the exception has the words
                continue
    return source.error(f"this Parquet file is damaged: {_first_line(exc)}")


def _first_line(exc: BaseException) -> str:
    return str(exc).strip().partition("\n")[0][:120]


def _convert_decimals(frame: pd.DataFrame, schema: Any) -> pd.DataFrame:
    """The frame with floats in place of decimals, which databases write for 0.5."""
    names = [str(name) for name in frame if name in schema.names]
    is_decimal = _pyarrow().types.is_decimal
    decimals = [name for name in names if is_decimal(schema.field(name).type)]
    return frame.astype(dict.fromkeys(decimals, "float64")) if decimals else frame


PARQUET = Reader(
    "parquet",
    "a Parquet file (needs the extra parquet)",
    _recognise,
    read_parquet,
    ("columns", "decimal", "query_id"),
    lambda source: list(source.once(_schema).names),
    "scores.parquet",
)

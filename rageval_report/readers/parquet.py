"""Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report._registry import import_parquet, import_pyarrow
from rageval_report.errors import DataError, RagevalError, ReaderError, named
from rageval_report.files.source import LARGE, Source
from rageval_report.files.strict_json import NotJSONError, parse_json
from rageval_report.readers import delegates
from rageval_report.readers.base import (
    Reader,
    ScoreFile,
    check_unique_names,
    select_columns,
    single_pipeline,
)
from rageval_report.readers.decimal_commas import use_decimal_sign
from rageval_report.readers.described import (
    DescribedTable,
    described_files,
    parse_description,
    restored_frame,
    unused_note,
)
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.saved_tables import TABLE_FORMAT, TABLE_KEY, TableDescription

_MAGIC = b"PAR1"
_FOOTER_END = 8  # bytes: the length of the footer, and the magic number again


def _recognise(source: Source) -> float:
    if source.is_text or not source.head.startswith(_MAGIC):
        return 0.0
    return 1.0 if TABLE_KEY in _metadata_keys(source) else 0.9


def _metadata_keys(source: Source) -> set[str]:
    """The keys of the file's metadata; none if it cannot be read: the error comes later."""
    try:
        return {key.decode("utf-8", "replace") for key in _schema(source).metadata or {}}
    except RagevalError:
        return set()


def read_parquet(
    source: Source,
    *,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
    decimal: str | None = None,
) -> list[ScoreFile]:
    """Read a Parquet file; only the requested columns are read from disk.

    Raises
    ------
    ReaderError
        If the file is not a Parquet file, is damaged, or is cut.
    MissingDependencyError
        If pyarrow is not installed.
    """
    schema = _schema(source)
    check_unique_names(source, schema.names)
    kept = select_columns(schema.names, columns, query_id)
    table = _description_within(source, schema)
    if table.description is not None and QUERY_ID in schema.names:
        frame = _described_frame(source, schema, table.description, {QUERY_ID, *kept})
        return described_files(
            *(source, table.description, frame, schema.names), columns=columns, query_id=query_id
        )
    try:
        frame = _frame(source, kept)
        _check_texts(frame)
    except _errors_of_damage() as exc:
        raise _damage_error(source, schema, kept, exc) from exc
    frame, notes = use_decimal_sign(source, _convert_decimals(frame, schema), decimal)
    return single_pipeline(source, frame, (*table.notes, *notes))


def _description_within(source: Source, schema: Any) -> DescribedTable:
    """The description of the table in the metadata of the file."""
    text = (schema.metadata or {}).get(TABLE_KEY.encode())
    place = "the description of this table in its metadata"
    if text is None and f'"{TABLE_FORMAT}"'.encode() in _footer(source):
        return DescribedTable(notes=(unused_note(place, "the metadata is damaged"),))
    if text is None:
        return DescribedTable()
    try:
        return parse_description(parse_json(text.decode("utf-8")), place)
    except (UnicodeDecodeError, NotJSONError) as exc:
        return parse_description(str(exc), place)


def _footer(source: Source) -> bytes:
    """The end of the file, which has its metadata; a damaged list of them loses some."""
    content = source.path_or_buffer()
    with content.open("rb") if isinstance(content, Path) else content as file:
        file.seek(-_FOOTER_END, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        file.seek(-min(length + _FOOTER_END, file.tell()), os.SEEK_END)
        return file.read()


def _described_frame(
    source: Source, schema: Any, description: TableDescription, kept: set[str]
) -> pd.DataFrame:
    """The columns of a table that rageval_report wrote, with the details as they were."""
    # As Python's values, because pandas turns lists into arrays and integers beside blanks into
    # floats.
    objects = [
        name
        for name, saved in description.details.items()
        if name in kept and saved.dtype == "object" and name in schema.names
    ]
    try:
        others = _frame(source, [name for name in schema.names if name in kept - {*objects}])
        listed = _pyarrow().parquet.read_table(
            source.path_or_buffer(), columns=objects, page_checksum_verification=True
        )
        cells = {name: listed.column(name).to_pylist() for name in objects}
    except _errors_of_damage() as exc:
        raise _damage_error(source, schema, schema.names, exc) from exc
    raw = {**{str(name): column for name, column in others.items()}, **cells}
    lost = [name for name in schema.names if name in kept and name not in raw]
    if lost:  # for example an index by the metadata of pandas
        raise source.error(f"this Parquet file is damaged: its columns {named(lost)} are not read")
    details = {name: saved for name, saved in description.details.items() if name in raw}
    try:
        frame = restored_frame(raw, details, [name for name in description.metrics if name in raw])
    except DataError as exc:
        raise source.error(
            f"the description of this table is damaged: {exc}; write the table again"
        ) from exc
    added = [name for name in raw if name not in description.columns]
    return frame.assign(**{name: others[name].reset_index(drop=True) for name in added})


def _frame(source: Source, columns: list[str]) -> pd.DataFrame:
    """The columns; a large file is read one row group at a time, to show the progress."""
    if source.size < LARGE:
        return _read_at_once(source, columns)
    file = _pyarrow().parquet.ParquetFile(
        source.path_or_buffer(), pre_buffer=False, page_checksum_verification=True
    )
    groups = delegates.tqdm(
        range(file.num_row_groups), desc="groups of rows", leave=False, delay=2, disable=None
    )
    parts = [file.read_row_group(group, columns, use_pandas_metadata=True) for group in groups]
    # A file without row groups still has a schema, which read_parquet keeps.
    if not parts:
        return _read_at_once(source, columns)
    table = _pyarrow().concat_tables(parts)
    parts.clear()
    # The table gives up each column as it is converted, so that no column is in memory twice.
    frame: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
    return frame


def _read_at_once(source: Source, columns: list[str]) -> pd.DataFrame:
    # Pages without a checksum are read as they are; rageval_report writes them with one.
    return pd.read_parquet(
        source.path_or_buffer(),
        columns=columns,
        engine="pyarrow",
        page_checksum_verification=True,
    )


def _check_texts(frame: pd.DataFrame) -> None:
    """Check the bytes of texts, which pyarrow decodes only when somebody looks at them.

    Raises
    ------
    pyarrow.ArrowInvalid
        If they are not UTF-8.
    """
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


def _header(source: Source) -> list[str]:
    return list(_schema(source).names)


def _errors_of_damage() -> tuple[type[Exception], ...]:
    """The exceptions that pyarrow raises for damaged files."""
    return (_pyarrow().ArrowException, OSError, ValueError, KeyError, TypeError)


def _damage_error(
    source: Source, schema: Any, columns: list[str], exc: BaseException
) -> ReaderError:
    """The error for a damaged file, which names the first column with texts that are not UTF-8."""
    types = _pyarrow().types
    # The words of pyarrow differ between its versions, and some do not mention UTF-8.
    broken = [
        name
        for name in columns
        if (types.is_string(kind := schema.field(name).type) or types.is_large_string(kind))
        and not _has_valid_texts(source, name)
    ]
    problem = f"column {broken[0]!r} has texts that are not UTF-8" if broken else _first_line(exc)
    return source.error(f"this Parquet file is damaged: {problem}")


def _has_valid_texts(source: Source, name: str) -> bool:
    try:
        column = _pyarrow().parquet.read_table(source.path_or_buffer(), columns=[name]).column(0)
    except _errors_of_damage():  # other damage, of which `_damage_error` has the words
        return True
    try:
        column.validate(full=True)
    except _pyarrow().ArrowInvalid:
        return False
    return True


def _first_line(exc: BaseException) -> str:
    return str(exc).strip().partition("\n")[0][:120]


def _convert_decimals(frame: pd.DataFrame, schema: Any) -> pd.DataFrame:
    """The frame with floats in place of decimals, which databases write for 0.5."""
    arrow = _pyarrow()
    decimals = [
        name
        for name in frame.columns
        if name in schema.names and arrow.types.is_decimal(schema.field(name).type)
    ]
    return frame.astype(dict.fromkeys(decimals, "float64")) if decimals else frame


PARQUET = Reader(
    "parquet",
    "a Parquet file (needs the extra parquet)",
    _recognise,
    read_parquet,
    ("columns", "decimal", "query_id"),
    _header,
    "scores.parquet",
)

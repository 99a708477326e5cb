"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from tqdm import tqdm

from rageval_report._registry import import_parquet, import_pyarrow
from rageval_report.files.source import LARGE, Source
from rageval_report.readers.base import (
    Reader,
    ScoreFile,
    check_unique_names,
    select_columns,
    single_pipeline,
)
from rageval_report.readers.decimal_commas import use_decimal_sign

_MAGIC = b"PAR1"


def _recognise(source: Source) -> float:
    return 0.9 if source.head.startswith(_MAGIC) and not source.is_text else 0.0


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
    try:
        frame = _frame(source, kept)
    except _errors_of_damage() as exc:
        raise source.error(f"this Parquet file is damaged: {_first_line(exc)}") from exc
    return single_pipeline(
        source, *use_decimal_sign(source, _convert_decimals(frame, schema), decimal)
    )


def _frame(source: Source, columns: list[str]) -> pd.DataFrame:
    """The columns; a large file is read one row group at a time, to show the progress."""
    if source.size < LARGE:
        return pd.read_parquet(source.path_or_buffer(), columns=columns, engine="pyarrow")
    file = _pyarrow().parquet.ParquetFile(source.path_or_buffer(), pre_buffer=False)
    groups = tqdm(
        range(file.num_row_groups), desc="groups of rows", leave=False, delay=2, disable=None
    )
    parts = [file.read_row_group(group, columns, use_pandas_metadata=True) for group in groups]
    # A file without row groups still has a schema, which read_parquet keeps.
    if not parts:
        return pd.read_parquet(source.path_or_buffer(), columns=columns, engine="pyarrow")
    table = _pyarrow().concat_tables(parts)
    parts.clear()
    # The table gives up each column as it is converted, so that no column is in memory twice.
    frame: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
    return frame


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

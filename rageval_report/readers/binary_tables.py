"""Tables in binary files: Excel workbooks (.xlsx), read by openpyxl, and Parquet, by pyarrow."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterable
from typing import Any, NamedTuple

import pandas as pd

from rageval_report._registry import import_parquet, import_pyarrow, load
from rageval_report.errors import DataError, RagevalError, ReaderError, UnknownNameError, named
from rageval_report.files.source import Source
from rageval_report.readers.base import (
    Reader,
    ScoreFile,
    check_no_data_in_header,
    check_unique_names,
    select_columns,
    single_pipeline,
)
from rageval_report.readers.cell_values import use_decimal_sign
from rageval_report.readers.described import described_file, parse_description
from rageval_report.readers.record_columns import frame_of
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.saved_tables import TABLE_KEY

# -- Excel

_ZIP = b"PK\x03\x04"
# A workbook of numbers unpacks to about ten times its size; far more may be a zip bomb.
_LARGEST_RATIO, _HARMLESS = 300, 1 << 28


class _Sheet(NamedTuple):
    """A sheet: the names of all sheets, its own, its filled columns, its rows by number."""

    names: list[str]
    name: str
    columns: dict[str, list[Any]]
    numbers: list[int]


def _recognise_excel(source: Source) -> float:
    if not source.head.startswith(_ZIP):
        return 0.0
    try:
        with zipfile.ZipFile(source.path_or_buffer()) as archive:
            return 0.9 if any(name.startswith("xl/") for name in archive.namelist()) else 0.1
    # Cut, or of a version that Python cannot read; the error comes when it is read.
    except (zipfile.BadZipFile, NotImplementedError):
        return 0.6 if b"[Content_Types].xml" in source.head else 0.1


def read_excel(
    source: Source,
    *,
    sheet: str | int | None = None,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
    decimal: str | None = None,
) -> list[ScoreFile]:
    """Read a sheet of a workbook; its first row that is not blank is the header."""
    read = source.once(_read_sheet) if sheet is None else _read_sheet(source, sheet)
    notes = []
    others = [name for name in read.names if name != read.name]
    if sheet is None and others:
        notes.append(f"read from sheet {read.name!r}; the other sheets are {named(others)}")
    cells = {name: read.columns[name] for name in select_columns(read.columns, columns, query_id)}
    frame, comma_notes = use_decimal_sign(source, frame_of(cells, query_id), decimal)
    return single_pipeline(source, frame, [*notes, *comma_notes], read.numbers.__getitem__)


def _read_sheet(source: Source, sheet: str | int | None = None) -> _Sheet:
    load("openpyxl")
    try:
        with zipfile.ZipFile(source.path_or_buffer()) as archive:
            members = archive.infolist()
        packed = sum(member.compress_size for member in members)
        if sum(member.file_size for member in members) > max(_HARMLESS, _LARGEST_RATIO * packed):
            raise source.error(
                f"the workbook expands to more than {_LARGEST_RATIO} times its size; save it as CSV"
            )
        with warnings.catch_warnings():
            # It warns of parts that hold no cells, such as styles and print settings.
            warnings.simplefilter("ignore")
            with pd.ExcelFile(source.path_or_buffer(), engine="openpyxl") as book:
                names = list(map(str, book.sheet_names))
                name = _sheet_name(names, sheet)
                frame = book.parse(name, header=None, dtype=object, na_filter=False)
    except (DataError, UnknownNameError):
        raise
    # On damaged files openpyxl raises nearly any error.
    except Exception as exc:
        raise source.error(f"this workbook cannot be read; is it cut? ({exc})") from exc
    # Errors of formulas are NaN, and blanks are empty texts.
    table = frame.astype(object).where(frame.notna() & (frame != ""), None)
    table = table[table.notna().any(axis=1)].loc[:, lambda cells: cells.notna().any()]
    if not len(table):
        raise source.error(f"the sheet {name!r} is empty; choose another with sheet=")
    heads = ["" if cell is None else str(cell).strip() for cell in table.iloc[0]]
    header = [head or f"Unnamed: {place}" for head, place in zip(heads, table, strict=True)]
    check_no_data_in_header(source, header)
    check_unique_names(source, header)
    rows = table.iloc[1:]
    columns = {head: rows[place].tolist() for head, place in zip(header, table, strict=True)}
    return _Sheet(names, name, columns, [int(row) + 1 for row in rows.index])


def _sheet_name(names: list[str], sheet: str | int | None) -> str:
    if isinstance(sheet, int) and not 0 <= sheet < len(names):
        raise DataError(f"sheet must be from 0 to {len(names) - 1}; got {sheet}")
    if isinstance(sheet, str) and sheet not in names:
        raise UnknownNameError("sheet", sheet, names)
    return sheet if isinstance(sheet, str) else names[sheet or 0]


def _header_of_excel(source: Source) -> list[str]:
    try:
        return list(source.once(_read_sheet).columns)
    except ReaderError:
        return []


EXCEL = Reader(
    "excel",
    "a sheet of an Excel workbook, .xlsx (needs the extra excel)",
    _recognise_excel,
    read_excel,
    ("columns", "decimal", "query_id", "sheet"),
    _header_of_excel,
    "scores.xlsx",
)


# -- Parquet

_MAGIC = b"PAR1"


def _recognise_parquet(source: Source) -> float:
    if source.is_text or not source.head.startswith(_MAGIC):
        return 0.0
    try:
        return 1.0 if TABLE_KEY.encode() in (source.once(_schema).metadata or {}) else 0.9
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
    table = parse_description(text, "the description of this table in its metadata")
    description = table.description if QUERY_ID in schema.names else None
    if description is not None:
        kept = list(dict.fromkeys((QUERY_ID, *kept)))
    # Pages without a checksum are read as they are; rageval_report writes them with one.
    options: dict[str, Any] = {"columns": kept, "page_checksum_verification": True}
    try:
        frame = pd.read_parquet(source.path_or_buffer(), engine="pyarrow", **options)
        for _, column in frame.items():
            # The bytes of texts, which pyarrow decodes only when somebody looks at them.
            if isinstance(column.dtype, pd.StringDtype) and column.dtype.storage == "pyarrow":
                _pyarrow().array(column.array).validate(full=True)
        raw = {str(name): column for name, column in frame.items()}
        if description is not None:
            # pandas turns lists into arrays, and integers into floats.
            details = description.details
            lists = [name for name in kept if name in details and details[name].dtype == "object"]
            options["columns"] = lists
            cells = _pyarrow().parquet.read_table(source.path_or_buffer(), **options)
            raw |= {name: cells.column(name).to_pylist() for name in lists}
    except _errors_of_damage() as exc:
        problem = _text_damage(source, schema, kept) or _first_line(exc)
        raise source.error(f"this Parquet file is damaged: {problem}") from exc
    if description is not None:
        return described_file(source, description, raw, columns=columns, query_id=query_id)
    # Databases write decimals for 0.5.
    is_decimal = _pyarrow().types.is_decimal
    decimals = [name for name in raw if name in kept and is_decimal(schema.field(name).type)]
    frame, notes = use_decimal_sign(
        source, frame.astype(dict.fromkeys(decimals, "float64")) if decimals else frame, decimal
    )
    return single_pipeline(source, frame, (*table.notes, *notes))


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


def _text_damage(source: Source, schema: Any, columns: Iterable[str]) -> str:
    """Which column has texts that are not UTF-8, as some versions of pyarrow do not say."""
    types, parquet = _pyarrow().types, _pyarrow().parquet
    for name in columns:
        kind = schema.field(name).type
        if types.is_string(kind) or types.is_large_string(kind):
            try:
                cells = parquet.read_table(source.path_or_buffer(), columns=[name])
                cells.column(0).validate(full=True)
            except _pyarrow().ArrowInvalid:
                return f"column {name!r} has texts that are not UTF-8"
            except _errors_of_damage():  # other damage, of which the first error tells
                continue
    return ""


def _first_line(exc: BaseException) -> str:
    return str(exc).strip().partition("\n")[0][:120]


PARQUET = Reader(
    "parquet",
    "a Parquet file (needs the extra parquet)",
    _recognise_parquet,
    read_parquet,
    ("columns", "decimal", "query_id"),
    lambda source: list(source.once(_schema).names),
    "scores.parquet",
)

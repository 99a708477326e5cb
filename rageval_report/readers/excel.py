"""Excel workbooks (.xlsx)."""

from __future__ import annotations

import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterable
from io import BytesIO
from typing import Any, NamedTuple

from rageval_report._registry import load
from rageval_report.errors import DataError, ReaderError, UnknownNameError, named
from rageval_report.files.source import Source
from rageval_report.readers.base import (
    Reader,
    ScoreFile,
    check_no_data_in_header,
    check_unique_names,
    select_columns,
    single_pipeline,
)
from rageval_report.readers.record_columns import frame_of
from rageval_report.readers.written_cells import use_decimal_sign

_ZIP = b"PK\x03\x04"
_CELL_ERRORS = frozenset(("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"))
# A workbook of numbers unpacks to about ten times its size; far more may be a zip bomb.
_LARGEST_RATIO, _HARMLESS = 300, 1 << 28
_MOST_ROWS = 1 << 20  # of a sheet, in Excel
_SAVE_AGAIN = "save the workbook again with Excel, or save the sheet as CSV"


class _Sheet(NamedTuple):
    """A sheet: the names of all sheets, its own, and its filled rows by their numbers."""

    names: list[str]
    name: str
    rows: dict[int, list[Any]]


def _recognise(source: Source) -> float:
    if not source.head.startswith(_ZIP):
        return 0.0
    try:
        with zipfile.ZipFile(source.path_or_buffer()) as archive:
            return 0.9 if any(name.startswith("xl/") for name in archive.namelist()) else 0.1
    # Cut, or of a version that Python cannot read; the error comes when it is read.
    except (zipfile.BadZipFile, NotImplementedError):
        return 0.6 if b"xl/" in source.data or b"[Content_Types].xml" in source.head else 0.1


def read_excel(
    source: Source,
    *,
    sheet: str | int | None = None,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
    decimal: str | None = None,
) -> list[ScoreFile]:
    """Read a sheet of a workbook; its first row that is not blank is the header.

    Raises
    ------
    ReaderError
        If the file is not a workbook or is cut, or the sheet is empty.
    UnknownNameError
        If the workbook has no such sheet.
    MissingDependencyError
        If openpyxl is not installed.
    """
    read = source.once(_first_sheet) if sheet is None else _read_sheet(source, sheet)
    cells = _columns_of(source, read)
    notes = []
    others = [name for name in read.names if name != read.name]
    if sheet is None and others:
        notes.append(f"read from sheet {read.name!r}; the other sheets are {named(others)}")
    for name, column in cells.items():
        n = sum(isinstance(cell, str) and cell in _CELL_ERRORS for cell in column)
        if n:
            notes.append(f"{n} cells of {name!r} contain the error of a formula and are unscored")
            cells[name] = [None if str(cell) in _CELL_ERRORS else cell for cell in column]
    kept = select_columns(cells, columns, query_id)
    frame = frame_of({name: cells[name] for name in kept}, query_id)
    frame, comma_notes = use_decimal_sign(source, frame, decimal)
    numbers = list(read.rows)
    return single_pipeline(source, frame, [*notes, *comma_notes], lambda row: numbers[row + 1])


def _first_sheet(source: Source) -> _Sheet:
    return _read_sheet(source, None)


def _read_sheet(source: Source, sheet: str | int | None) -> _Sheet:
    library = load("openpyxl")
    _check_size(source)
    # The errors that openpyxl raises on damaged files, found by cutting and flipping bytes. Those
    # of its XML parser, whichever is installed, are a SyntaxError.
    faults = (
        *(zipfile.BadZipFile, SyntaxError, OSError, ValueError, LookupError, TypeError),
        *(AttributeError, ArithmeticError, RuntimeError, AssertionError, MemoryError, EOFError),
        *(zlib.error, struct.error, library.utils.exceptions.InvalidFileException),
    )
    try:
        content = BytesIO(source.data)  # openpyxl checks the suffix of a path
        with warnings.catch_warnings():
            # It warns of parts that hold no cells, such as styles and print settings.
            warnings.simplefilter("ignore")
            # data_only gives the values that Excel computed last, and not formulas.
            book = library.load_workbook(content, read_only=True, data_only=True)
            name = _sheet_name(book.sheetnames, sheet)
            rows = _rows_of(source, book[name])
        book.close()
    except (DataError, UnknownNameError):
        raise
    except faults as exc:
        raise source.error(f"this workbook cannot be read; is it cut? ({exc})") from exc
    return _Sheet(book.sheetnames, name, rows)


def _rows_of(source: Source, sheet: Any) -> dict[int, list[Any]]:
    """The rows of a sheet that are not blank, by their numbers; chart sheets have none."""
    rows: dict[int, list[Any]] = {}
    if not hasattr(sheet, "iter_rows"):
        return rows
    # The sheet states how many rows and columns it has, and rows would be filled up to that: a
    # workbook of a few kilobytes can state 17 billion cells.
    sheet.reset_dimensions()
    for number, row in enumerate(sheet.iter_rows(), 1):
        # Rows are filled up to the number of the next one, which may be damaged.
        if number > _MOST_ROWS:
            raise source.error(
                f"the sheet {sheet.title!r} has a row with a number over {_MOST_ROWS:,}, the most "
                f"that Excel has; {_SAVE_AGAIN}"
            )
        cells = [cell.value for cell in row]
        # Cells of a row that belong to another row would take the place of other cells.
        for cell in row:
            if cell.value is not None and cell.row != number:
                raise source.error(
                    f"row {number} of the sheet {sheet.title!r} has the cell {cell.coordinate}, "
                    f"which belongs to another row; {_SAVE_AGAIN}"
                )
        if any(cell is not None for cell in cells):
            rows[number] = cells
    return rows


def _check_size(source: Source) -> None:
    try:
        with zipfile.ZipFile(source.path_or_buffer()) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError) as exc:
        raise source.error(f"this is not a workbook, or it is cut ({exc})") from exc
    packed = sum(member.compress_size for member in members)
    if sum(member.file_size for member in members) > max(_HARMLESS, _LARGEST_RATIO * packed):
        raise source.error(
            f"the workbook expands to more than {_LARGEST_RATIO} times its size; save it as CSV"
        )


def _sheet_name(names: list[str], sheet: str | int | None) -> str:
    if isinstance(sheet, int) and not 0 <= sheet < len(names):
        raise DataError(f"sheet must be from 0 to {len(names) - 1}; got {sheet}")
    if isinstance(sheet, str) and sheet not in names:
        raise UnknownNameError("sheet", sheet, names)
    return sheet if isinstance(sheet, str) else names[sheet or 0]


def _columns_of(source: Source, sheet: _Sheet) -> dict[str, list[Any]]:
    """The columns by the cells of the first row, without blank ones."""
    if not sheet.rows:
        raise source.error(f"the sheet {sheet.name!r} is empty; choose another with sheet=")
    width = max(map(len, sheet.rows.values()))
    padded = [row + [None] * (width - len(row)) for row in sheet.rows.values()]
    named_columns = []
    for position, (head, *cells) in enumerate(zip(*padded, strict=True)):
        if head is not None or any(cell is not None for cell in cells):
            text = "" if head is None else str(head).strip()
            named_columns.append((text or f"Unnamed: {position}", cells))
    header = [name for name, _ in named_columns]
    check_no_data_in_header(source, header)
    check_unique_names(source, header)
    return dict(named_columns)


def _header(source: Source) -> list[str]:
    try:
        return list(_columns_of(source, source.once(_first_sheet)))
    except ReaderError:
        return []


EXCEL = Reader(
    "excel",
    "a sheet of an Excel workbook, .xlsx (needs the extra excel)",
    _recognise,
    read_excel,
    ("columns", "decimal", "query_id", "sheet"),
    _header,
    "scores.xlsx",
)

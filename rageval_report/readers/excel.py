"""Excel workbooks (.xlsx)."""

from __future__ import annotations

import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterable
from io import BytesIO
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from rageval_report._registry import load
from rageval_report.errors import DataError, UnknownNameError, named
from rageval_report.files.source import Source
from rageval_report.readers.base import (
    CellsByColumn,
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

# A workbook of numbers unpacks to about ten times its size; one that unpacks to far more may be a
# zip bomb.
_LARGEST_RATIO = 300
_HARMLESS = 1 << 28
_MOST_ROWS = 1 << 20  # of a sheet, in Excel
_SAVE_AGAIN = "save the workbook again with Excel, or save the sheet as CSV"


class _Sheet(NamedTuple):
    """A sheet of a workbook: the names of all sheets, its own, and its rows."""

    names: list[str]
    name: str
    rows: list[list[Any]]


# The sheet of a file that was read last, with what chose it.
_SHEETS: WeakKeyDictionary[Source, tuple[str | int | None, _Sheet]] = WeakKeyDictionary()


class _ImpossibleCellError(Exception):
    """A row or a cell stands where no sheet has it."""


def _recognise(source: Source) -> float:
    if not source.head.startswith(_ZIP):
        return 0.0
    try:
        return 0.9 if any(name.startswith("xl/") for name in _members(source)) else 0.1
    # Cut, or of a version that Python cannot read; the error comes when it is read.
    except (zipfile.BadZipFile, NotImplementedError):
        return 0.6 if b"xl/" in source.data or b"[Content_Types].xml" in source.head else 0.1


def _members(source: Source) -> list[str]:
    with zipfile.ZipFile(source.path_or_buffer()) as archive:
        return archive.namelist()


def read_excel(
    source: Source,
    *,
    sheet: str | int | None = None,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
    decimal: str | None = None,
) -> list[ScoreFile]:
    """Read a sheet of a workbook; its first row that is not blank is the header."""
    names, name, rows = _read_sheet(source, sheet)
    header, cells = _split_header(source, rows, name)
    by_name = dict(zip(header, cells, strict=True))
    kept = select_columns(header, columns, query_id)
    notes = _notes(names, name if sheet is None else None, by_name)
    frame = frame_of({name: _blank_errors(by_name[name]) for name in kept}, query_id)
    frame, comma_notes = use_decimal_sign(source, frame, decimal)
    filled = [number for number, row in enumerate(rows, 1) if _is_filled(row)]
    notes = [*notes, *comma_notes]
    return single_pipeline(source, frame, notes, lambda row: filled[row + 1])


def _read_sheet(source: Source, sheet: str | int | None) -> _Sheet:
    """The cells of a sheet; kept, because the header is asked for before the table is read."""
    if source not in _SHEETS or _SHEETS[source][0] != sheet:
        _SHEETS[source] = (sheet, _parse_sheet(source, sheet))
    return _SHEETS[source][1]


def _parse_sheet(source: Source, sheet: str | int | None) -> _Sheet:
    library = load("openpyxl")
    _check_archive(source)
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
            # data_only gives the values that Excel computed last; the formulas themselves are not
            # scores.
            book = library.load_workbook(content, read_only=True, data_only=True)
            name = _sheet_name(book.sheetnames, sheet)
            rows = _rows_of(book[name])
        book.close()
    except _ImpossibleCellError as exc:
        raise source.error(str(exc)) from exc
    except (DataError, UnknownNameError):
        raise
    except faults as exc:
        raise source.error(f"this workbook cannot be read; is it cut? ({exc})") from exc
    return _Sheet(book.sheetnames, name, rows)


def _rows_of(sheet: Any) -> list[list[Any]]:
    """The rows of a sheet; chart sheets have none."""
    if not hasattr(sheet, "iter_rows"):
        return []
    # The sheet states how many rows and columns it has, and rows would be filled up to that: a
    # workbook of a few kilobytes can state 17 billion cells.
    sheet.reset_dimensions()
    rows: list[list[Any]] = []
    for number, row in enumerate(sheet.iter_rows(), 1):
        # Rows are filled up to the number of the next one, which may be damaged.
        if number > _MOST_ROWS:
            raise _ImpossibleCellError(
                f"the sheet {sheet.title!r} has a row with a number over {_MOST_ROWS:,}, the most "
                f"that Excel has; {_SAVE_AGAIN}"
            )
        if not row:  # a damaged number can stand for a million of them
            rows.append([])
            continue
        # Cells of a row that belong to another row would take the place of other cells.
        for cell in row:
            if cell.value is not None and cell.row != number:
                raise _ImpossibleCellError(
                    f"row {number} of the sheet {sheet.title!r} has the cell {cell.coordinate}, "
                    f"which belongs to another row; {_SAVE_AGAIN}"
                )
        rows.append([cell.value for cell in row])
    return rows


def _check_archive(source: Source) -> None:
    try:
        with zipfile.ZipFile(source.path_or_buffer()) as archive:
            sizes = [(member.file_size, member.compress_size) for member in archive.infolist()]
    except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError) as exc:
        raise source.error(f"this is not a workbook, or it is cut ({exc})") from exc
    unpacked, packed = (sum(size) for size in zip(*sizes, strict=True)) if sizes else (0, 0)
    if unpacked > max(_HARMLESS, _LARGEST_RATIO * packed):
        raise source.error(
            f"the workbook expands to more than {_LARGEST_RATIO} times its size; save it as CSV"
        )


def _sheet_name(names: list[str], sheet: str | int | None) -> str:
    if sheet is None:
        return names[0]
    if isinstance(sheet, int):
        if not 0 <= sheet < len(names):
            raise DataError(f"sheet must be from 0 to {len(names) - 1}; got {sheet}")
        return names[sheet]
    if sheet not in names:
        raise UnknownNameError("sheet", sheet, names)
    return sheet


def _split_header(
    source: Source, rows: list[list[Any]], sheet: str
) -> tuple[list[str], list[list[Any]]]:
    """The header and the columns, without blank rows and columns."""
    filled = [row for row in rows if _is_filled(row)]
    if not filled:
        raise source.error(f"the sheet {sheet!r} is empty; choose another with sheet=")
    width = max(len(row) for row in filled)
    padded = [row + [None] * (width - len(row)) for row in filled]
    columns = [list(column) for column in zip(*padded, strict=True)]
    named_columns = [
        (_header_text(cells[0], position), cells[1:])
        for position, cells in enumerate(columns)
        if any(cell is not None for cell in cells)
    ]
    header = [name for name, _ in named_columns]
    check_no_data_in_header(source, header)
    check_unique_names(source, header)
    return header, [cells for _, cells in named_columns]


def _is_filled(row: list[Any]) -> bool:
    return any(cell is not None for cell in row)


def _header_text(cell: object, position: int) -> str:
    return ("" if cell is None else str(cell).strip()) or f"Unnamed: {position}"


def _blank_errors(cells: list[Any]) -> list[Any]:
    return [None if isinstance(cell, str) and cell in _CELL_ERRORS else cell for cell in cells]


def _notes(sheets: list[str], default_sheet: str | None, columns: CellsByColumn) -> list[str]:
    notes = []
    others = [name for name in sheets if name != default_sheet]
    if default_sheet is not None and others:
        notes.append(f"read from sheet {default_sheet!r}; the other sheets are {named(others)}")
    faulty = {
        name: sum(1 for cell in cells if isinstance(cell, str) and cell in _CELL_ERRORS)
        for name, cells in columns.items()
    }
    notes += [
        f"{n} cells of {name!r} contain the error of a formula and are unscored"
        for name, n in faulty.items()
        if n
    ]
    return notes


def _header(source: Source) -> list[str]:
    [file] = read_excel(source)
    return list(map(str, file.frame))


EXCEL = Reader(
    "excel",
    "a sheet of an Excel workbook, .xlsx (needs the extra excel)",
    _recognise,
    read_excel,
    ("columns", "decimal", "query_id", "sheet"),
    _header,
    "scores.xlsx",
)

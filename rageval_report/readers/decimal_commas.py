"""Numbers with a decimal comma, as spreadsheets write them in half of the world."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from rageval_report.errors import check_choice, named
from rageval_report.files.source import Source
from rageval_report.readers.base import text_columns
from rageval_report.scores.cells import UNSCORED_WORDS
from rageval_report.scores.numerals import parse_numeral, with_decimal_point

_WITH_COMMA = r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?"
_WITHOUT = r"[-+]?\d+|(?i:-|n/?a|nan|none|null|\(?failed\)?|error)"
# 1,234 may be one thousand two hundred and thirty-four, or a little over one.
_EITHER = r"[-+]?[1-9]\d{0,2},\d{3}"


class _CommaColumn(NamedTuple):
    """A column of numbers, some of which contain a comma."""

    name: str
    is_certain: bool
    example: str


def parse_decimal_commas(
    source: Source, frame: pd.DataFrame, *, delimiter: str, decimal: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """The frame with numbers in place of texts such as "0,83", and a note that names the columns.

    Parameters
    ----------
    source : Source
        The file, for error messages.
    frame : DataFrame
        The cells as parsed.
    delimiter : str
        The delimiter of the file; if it is a comma, commas are not decimal signs unless `decimal`
        says so: the scores are checked column by column later.
    decimal : {".", ","}, optional
        The decimal sign, if the caller knows it.

    Raises
    ------
    ReaderError
        If the commas of a column may separate thousands, or a number has the other decimal sign.
    """
    if decimal is not None:
        return use_decimal_sign(source, frame, decimal)
    # Where commas split the columns, an unquoted decimal comma cannot occur.
    if delimiter == ",":
        return frame, []
    texts = text_columns(map(str, frame), None)
    comma_columns = [
        column for name in frame if name not in texts for column in _comma_column(frame, str(name))
    ]
    unclear = [column for column in comma_columns if not column.is_certain]
    # A wrong guess would change every score by a factor of 1,000, so the user is asked.
    if unclear:
        first = unclear[0]
        raise source.error(
            f"{first.example!r} in column {first.name!r} may have a decimal comma or a thousands "
            "separator; say which: decimal=',' or decimal='.'"
        )
    names = [column.name for column in comma_columns]
    return frame.assign(**{name: _numbers(_pointed(frame[name])) for name in names}), _note(names)


def use_decimal_sign(
    source: Source, frame: pd.DataFrame, decimal: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """The frame with the numbers in its texts read with one decimal sign, and a note.

    Parameters
    ----------
    source : Source
        The file, for error messages.
    frame : DataFrame
        The cells as parsed.
    decimal : {".", ","}, optional
        The decimal sign; if it is omitted, the frame is returned as it is.

    Raises
    ------
    ReaderError
        If a number in a column of numbers can only have the other decimal sign.
    """
    if decimal is None:
        return frame, []
    check_choice("decimal", decimal, (".", ","))
    texts = text_columns(map(str, frame), None)
    columns = {
        str(name): _columns_of_numbers(source, frame[name], decimal)
        for name in frame
        if name not in texts and not pd.api.types.is_numeric_dtype(frame[name].dtype)
    }
    changed = {name: cells for name, cells in columns.items() if cells is not None}
    return frame.assign(**changed), _note([*changed] if decimal == "," else [])


def _note(names: list[str]) -> list[str]:
    return [f"decimal commas are read as decimal points in {named(names)}"] if names else []


def _columns_of_numbers(source: Source, cells: pd.Series, decimal: str) -> pd.Series | None:
    """The column with decimal points; None if not all of its cells are numbers with separators."""
    values = cells.tolist()
    rows = [
        row
        for row, cell in enumerate(values)
        if isinstance(cell, str) and cell.strip().lower() not in UNSCORED_WORDS
    ]
    if not any("," in values[row] or "." in values[row] for row in rows):
        return None
    # Separators decide only in columns in which every text is a number.
    if any(parse_numeral(values[row]) is None for row in rows):
        return None
    for row in rows:
        pointed = with_decimal_point(values[row], decimal)
        if pointed is None:
            raise source.error(
                f"{values[row]!r} in column {cells.name!r} cannot have the decimal sign of "
                f"decimal={decimal!r}; write the column with one decimal sign"
            )
        values[row] = pointed
    return _numbers(pd.Series(values, index=cells.index, name=cells.name, dtype=object))


def _comma_column(frame: pd.DataFrame, name: str) -> list[_CommaColumn]:
    """The column in a list, if all its cells are numbers and some contain a comma."""
    if pd.api.types.infer_dtype(frame[name], skipna=True) != "string":
        return []
    cells = frame[name].dropna().str.strip()
    with_comma = cells[cells.str.fullmatch(_WITH_COMMA)]
    if not len(with_comma) or not cells.drop(with_comma.index).str.fullmatch(_WITHOUT).all():
        return []
    return [
        _CommaColumn(name, not with_comma.str.fullmatch(_EITHER).all(), str(with_comma.iloc[0]))
    ]


def _pointed(column: pd.Series) -> pd.Series:
    return column.str.replace(",", ".", regex=False)


def _numbers(column: pd.Series) -> pd.Series:
    """The numbers of a column; with words such as "failed" it stays text, for `score_table`."""
    try:
        return column.astype("float64")
    except ValueError:
        return column

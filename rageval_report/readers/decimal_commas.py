"""Numbers with a decimal comma, as spreadsheets write them in half of the world."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from rageval_report.errors import check_choice, named
from rageval_report.files.source import Source
from rageval_report.readers.base import text_columns

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
        The delimiter of the file; if it is a comma, commas are not decimal signs.
    decimal : {".", ","}, optional
        The decimal sign, if the caller knows it.

    Raises
    ------
    ReaderError
        If the commas of a column may separate thousands.
    """
    if decimal is not None:
        check_choice("decimal", decimal, (".", ","))
    # Where commas split the columns, an unquoted decimal comma cannot occur.
    if decimal == "." or (decimal is None and delimiter == ","):
        return frame, []
    texts = text_columns(map(str, frame), None)
    comma_columns = [
        column for name in frame if name not in texts for column in _comma_column(frame, str(name))
    ]
    unclear = [column for column in comma_columns if not column.is_certain]
    # A wrong guess would change every score by a factor of 1,000, so the user is asked.
    if unclear and decimal is None:
        first = unclear[0]
        raise source.error(
            f"{first.example!r} in column {first.name!r} may have a decimal comma or a thousands "
            "separator; say which: decimal=',' or decimal='.'"
        )
    if not comma_columns:
        return frame, []
    names = [column.name for column in comma_columns]
    note = f"decimal commas are read as decimal points in {named(names)}"
    return frame.assign(**{name: _numbers(frame[name]) for name in names}), [note]


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


def _numbers(column: pd.Series) -> pd.Series:
    """The numbers of a column; with words such as "failed" it stays text, for `score_table`."""
    pointed = column.str.replace(",", ".", regex=False)
    try:
        return pointed.astype("float64")
    except ValueError:
        return pointed

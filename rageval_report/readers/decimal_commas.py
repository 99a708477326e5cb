"""Numbers written with a decimal comma, as spreadsheets of half the world write them."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.files.source import Source
from rageval_report.readers.base import text_columns

_WITH_COMMA = r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?"
_WITHOUT = r"[-+]?\d+|(?i:-|n/?a|nan|none|null|\(?failed\)?|error)"
# 1,234 may be a thousand and more, or a little over one.
_EITHER = r"[-+]?[1-9]\d{0,2},\d{3}"


class _Column(NamedTuple):
    """A column of numbers with commas."""

    name: str
    is_certain: bool
    example: str


def parse_decimal_commas(
    source: Source, frame: pd.DataFrame, *, delimiter: str, decimal: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """The frame with the numbers that have commas read as numbers, and a note that names them.

    Parameters
    ----------
    source : Source
        The file, for error messages.
    frame : DataFrame
        The cells as parsed.
    delimiter : str
        What splits the file; in one that is split at commas, commas are no decimal signs.
    decimal : {".", ","}, optional
        What the caller says.

    Raises
    ------
    ReaderError
        If a column's commas may as well part thousands.
    """
    if decimal not in (None, ".", ","):
        raise DataError(f"decimal must be '.' or ','; got {decimal!r}")
    if decimal == "." or (decimal is None and delimiter == ","):
        return frame, []
    texts = text_columns(map(str, frame), None)
    found = [
        column for name in frame if name not in texts for column in _comma_column(frame, str(name))
    ]
    unclear = [column for column in found if not column.is_certain]
    if unclear and decimal is None:
        first = unclear[0]
        raise source.error(
            f"{first.example!r} in column {first.name!r} may be 1.234 or 1234 in its kind; say "
            "which: decimal=',' or decimal='.'"
        )
    if not found:
        return frame, []
    names = [column.name for column in found]
    note = f"decimal commas are read as decimal points in {named(names)}"
    return frame.assign(**{name: _numbers(frame[name]) for name in names}), [note]


def _comma_column(frame: pd.DataFrame, name: str) -> list[_Column]:
    """The column, if all its cells are numbers and some have commas."""
    if pd.api.types.infer_dtype(frame[name], skipna=True) != "string":
        return []
    cells = frame[name].dropna().str.strip()
    with_comma = cells[cells.str.fullmatch(_WITH_COMMA)]
    if not len(with_comma) or not cells.drop(with_comma.index).str.fullmatch(_WITHOUT).all():
        return []
    return [_Column(name, not with_comma.str.fullmatch(_EITHER).all(), str(with_comma.iloc[0]))]


def _numbers(column: pd.Series) -> pd.Series:
    """Words such as "failed" stay, for `score_table` to count them as unscored."""
    pointed = column.str.replace(",", ".", regex=False)
    try:
        return pointed.astype("float64")
    except ValueError:
        return pointed

"""Cells as they are written: decimal commas, and formulas that were neutralised."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from rageval_report.errors import check_choice, named
from rageval_report.files.outgoing_text import is_neutralised, restore_formula
from rageval_report.files.source import Source
from rageval_report.readers.base import text_columns
from rageval_report.scores.cells import UNSCORED_WORDS
from rageval_report.scores.numerals import parse_numeral, with_decimal_point
from rageval_report.scores.write import BLANKS

_WITH_COMMA = r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?"
_WITHOUT = r"[-+]?\d+|(?i:-|n/?a|nan|none|null|\(?failed\)?|error)"
# 1,234 may be one thousand two hundred and thirty-four, or a little over one.
_EITHER = r"[-+]?[1-9]\d{0,2},\d{3}"
_APOSTROPHE = re.compile(rb"'\s*(?:[=+@-]|\xef\xbc)")


# -- decimal commas


def parse_decimal_commas(
    source: Source, frame: pd.DataFrame, *, delimiter: str, decimal: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """The frame with numbers in place of texts such as "0,83", and a note with the columns."""
    # Where commas split the columns, an unquoted decimal comma cannot occur.
    if decimal is not None or delimiter == ",":
        return use_decimal_sign(source, frame, decimal)
    columns = {}
    for name in _columns_of_texts(frame):
        cells = frame[name].dropna().str.strip()
        is_comma = cells.str.fullmatch(_WITH_COMMA)
        if not is_comma.any() or not cells[~is_comma].str.fullmatch(_WITHOUT).all():
            continue
        # A wrong guess would change every score by a factor of 1,000, so the user is asked.
        if cells[is_comma].str.fullmatch(_EITHER).all():
            raise source.error(
                f"{cells[is_comma].iloc[0]!r} in column {name!r} may have a decimal comma or a "
                "thousands separator; say which: decimal=',' or decimal='.'"
            )
        columns[name] = _numbers(frame[name].str.replace(",", ".", regex=False))
    return frame.assign(**columns), _note(list(columns))


def use_decimal_sign(
    source: Source, frame: pd.DataFrame, decimal: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """The frame with the numbers in its texts read with this decimal sign, and a note."""
    if decimal is None:
        return frame, []
    check_choice("decimal", decimal, (".", ","))
    texts = text_columns(map(str, frame), None)
    columns = {}
    for name in map(str, frame):
        if name in texts or pd.api.types.is_numeric_dtype(frame[name].dtype):
            continue
        values = frame[name].tolist()
        rows = [
            row
            for row, cell in enumerate(values)
            if isinstance(cell, str) and cell.strip().lower() not in UNSCORED_WORDS
        ]
        # Separators decide only in columns in which every text is a number.
        if not any("," in values[row] or "." in values[row] for row in rows) or any(
            parse_numeral(values[row]) is None for row in rows
        ):
            continue
        for row in rows:
            pointed = with_decimal_point(values[row], decimal)
            if pointed is None:
                raise source.error(
                    f"{values[row]!r} in column {name!r} cannot have the decimal sign of "
                    f"decimal={decimal!r}; write the column with one decimal sign"
                )
            values[row] = pointed
        columns[name] = _numbers(pd.Series(values, frame.index, dtype=object, name=name))
    return frame.assign(**columns), _note(list(columns)) if decimal == "," else []


def _columns_of_texts(frame: pd.DataFrame) -> list[str]:
    """The columns whose cells are texts, but no ids, questions or answers."""
    texts = text_columns(map(str, frame), None)
    names = [str(name) for name in frame if str(name) not in texts]
    return [name for name in names if pd.api.types.infer_dtype(frame[name]) == "string"]


def _note(names: Sequence[str]) -> list[str]:
    return [f"decimal commas are read as decimal points in {named(names)}"] if names else []


def _numbers(column: pd.Series) -> pd.Series:
    """The numbers of a column; with words such as "failed" it stays text, for `score_table`."""
    try:
        return column.astype("float64")
    except ValueError:
        return column


# -- neutralised formulas


def restore_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame without the apostrophes that `neutralise_formula` put before texts."""
    return frame.assign(
        **{
            str(name): cells.map(lambda cell: restore_formula(cell) if _is_text(cell) else cell)
            for name, cells in frame.items()
            if not pd.api.types.is_numeric_dtype(cells.dtype)
        }
    )


def find_neutralised_formulas(text: bytes, frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The frame of a table without a description, and a note if formulas in it were neutralised."""
    # One character is found four times as fast as by an expression that begins with it.
    if b"'" not in text or _APOSTROPHE.search(text) is None:
        return frame, []
    if set(BLANKS) <= set(frame.columns):  # a sheet for reviewers always has them
        return restore_formulas(frame), []
    n = sum(
        _is_text(cell) and is_neutralised(cell)
        for _, cells in frame.items()
        if not pd.api.types.is_numeric_dtype(cells.dtype)
        for cell in cells.tolist()
    )
    if not n:
        return frame, []
    what = "1 cell begins" if n == 1 else f"{n} cells begin"
    return frame, [
        f"{what} with an apostrophe before =, +, - or @, as in a table whose formulas were "
        "neutralised for a spreadsheet; the apostrophes are read as part of the texts and ids. A "
        "table with its description, FILE.meta.json, is read without them"
    ]


def _is_text(cell: object) -> bool:
    return isinstance(cell, str)

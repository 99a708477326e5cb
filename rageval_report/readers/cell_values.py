"""Cells of tables: lists and objects written as text, decimal commas, neutralised formulas."""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import check_choice, named
from rageval_report.files.outgoing_text import restore_formula
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json, replace_lone_surrogates
from rageval_report.readers.base import CellsByColumn, text_columns
from rageval_report.readers.record_columns import rows_of
from rageval_report.scores.cells import UNSCORED_WORDS
from rageval_report.scores.numerals import parse_numeral, with_decimal_point

# Longer cells stay texts, so that one huge cell cannot stop a reader. Python's parser needs about a
# hundred times the memory of its text, so the limit for literals is lower.
_LONGEST = 1_000_000
_LONGEST_LITERAL = 100_000

_TEXT = r"""(?:'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+")"""
# A list of texts as Python writes it, and an array of texts as NumPy writes it, without commas.
# Python would read the latter as one text.
_TEXTS = re.compile(rf"\[\s*+(?:{_TEXT}(?:(?:\s*+,\s*+|\s++){_TEXT})*+\s*+,?+)?+\s*+\]", re.DOTALL)
_ONE_TEXT = re.compile(_TEXT, re.DOTALL)


# -- blanks, numbers and texts


def is_blank(cell: object) -> bool:
    """Whether a cell holds nothing: None, NA or NaN."""
    return cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))


def none_if_nan(value: object) -> object:
    """The value; None if it is NaN."""
    return None if isinstance(value, float) and value != value else value


def number_or_none(value: object, *, with_booleans: bool = False) -> float | None:
    """A number as a float; None for anything else, NaN, and what does not fit into a float."""
    if not isinstance(value, int | float) or value != value:
        return None
    # True is 1 in Python; only formats that write verdicts as booleans want that.
    if isinstance(value, bool) and not with_booleans:
        return None
    try:
        return float(value)
    # JSON has integers of any size.
    except OverflowError:
        return None


def text_or_none(value: object) -> str | None:
    """A text that is not blank; None for anything else."""
    return value if isinstance(value, str) and value.strip() else None


def json_text(value: object) -> str | None:
    """A text as it is, None for None and NaN, anything else as JSON."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value != value:
        return None
    return json.dumps(value, ensure_ascii=False, default=str)


# -- lists and objects


def parse_columns(frame: pd.DataFrame) -> CellsByColumn:
    """The columns of a frame, with `parse_objects` applied to the cells."""
    return {str(name): parse_objects(frame[name].tolist()) for name in frame}


def parse_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame, with `parse_objects` applied to the cells."""
    return rows_of(parse_columns(frame))


def parse_objects(cells: Iterable[object]) -> list[Any]:
    r"""The cells of a column, with objects and lists that are written as text parsed."""
    return [_parse_object(cell) for cell in cells]


def _parse_object(cell: object) -> object:
    if isinstance(cell, np.ndarray | dict | list):
        return _without_arrays(cell)
    if not isinstance(cell, str) or len(cell) > _LONGEST:
        return none_if_nan(cell)
    text = replace_lone_surrogates(cell.strip())[0]
    # Only objects and lists: a text "5" or "null" in a column of texts is a text.
    if (text[:1], text[-1:]) not in (("{", "}"), ("[", "]")):
        return cell
    try:
        return parse_json(text)
    except NotJSONError:
        # Ragas and Haystack write Python's repr into CSV files: 'a' in single quotes, None, True.
        value = parse_literal(text)
        return cell if value is text else value


def _without_arrays(value: object) -> object:
    """Lists in place of the arrays that Parquet gives."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _without_arrays(part) for key, part in value.items()}
    return [_without_arrays(part) for part in value] if isinstance(value, list) else value


def parse_list(cell: object) -> object:
    r"""The list that a cell holds, or that its text is in JSON, Python or NumPy; else the cell."""
    if isinstance(cell, np.ndarray):
        return cell.tolist()
    if not isinstance(cell, str) or len(cell) > _LONGEST:
        return cell
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return cell
    value = _parse_texts(text) if _TEXTS.fullmatch(text) else parse_literal(text)
    return value if isinstance(value, list) else cell


def _parse_texts(text: str) -> object:
    """A list of texts, with commas put in where NumPy writes none."""
    try:
        value = json.loads(text)
    except ValueError:
        return parse_literal(f"[{', '.join(_ONE_TEXT.findall(text))}]", 2 * _LONGEST)
    return value if _is_writable(value) else text


def parse_literal(text: str, longest: int = _LONGEST_LITERAL) -> object:
    """The value of a Python literal; the text itself if it is not one, or is too long."""
    if len(text) > longest:
        return text
    try:
        with warnings.catch_warnings():  # about escapes like "\\d", which stay as they are
            warnings.simplefilter("ignore")
            # literal_eval builds values only: a cell of a file never runs as code.
            value = ast.literal_eval(text)
    # Python's parser may report deep nesting as MemoryError.
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text
    return value if _is_writable(value) else text


def _is_writable(value: object) -> bool:
    """Whether no text in the value holds half a character, which no file can."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
    except (ValueError, TypeError, RecursionError):
        return False
    return True


# -- frames


def parse_list_columns(
    frame: pd.DataFrame, columns: Iterable[str]
) -> tuple[pd.DataFrame, list[str]]:
    """The frame with the lists of these columns parsed, and a note about those that were text."""
    lists, parsed_columns = {}, []
    for name in columns:
        if name not in frame or pd.api.types.is_numeric_dtype(frame[name].dtype):
            continue
        cells = frame[name].tolist()
        values = [parse_list(cell) for cell in cells]
        lists[name] = pd.Series(values, index=frame.index, dtype=object)
        if any(
            isinstance(cell, str) and cell is not value
            for cell, value in zip(cells, values, strict=True)
        ):
            parsed_columns.append(name)
    if not parsed_columns:
        return (frame.assign(**lists) if lists else frame), []
    note = f"lists written as text are read as lists: {named(parsed_columns, 12)}"
    return frame.assign(**lists), [note]


# -- decimal commas, and formulas that were neutralised

_WITH_COMMA = r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?"
_WITHOUT = r"[-+]?\d+|(?i:-|n/?a|nan|none|null|\(?failed\)?|error)"
# 1,234 may be one thousand two hundred and thirty-four, or a little over one.
_EITHER = r"[-+]?[1-9]\d{0,2},\d{3}"


def use_decimal_sign(
    source: Source, frame: pd.DataFrame, decimal: str | None, *, guess: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    """The frame with the numbers in its texts read with this decimal sign, and a note.

    If no sign is given, `guess` takes a comma in columns where all cells have one or none.
    """
    if decimal is None and not guess:
        return frame, []
    if decimal is not None:
        check_choice("decimal", decimal, (".", ","))
    texts = text_columns(map(str, frame), None)
    columns = {}
    for name in map(str, frame):
        if name in texts or pd.api.types.is_numeric_dtype(frame[name].dtype):
            continue
        cells = (
            _guessed(source, frame[name])
            if decimal is None
            else _with_points(source, frame[name], decimal)
        )
        if cells is not None:
            try:
                columns[name] = cells.astype("float64")
            except ValueError:  # with words such as "failed" it stays text, for `score_table`
                columns[name] = cells
    note = f"decimal commas are read as decimal points in {named(columns)}"
    return frame.assign(**columns), [note] if columns and decimal != "." else []


def _guessed(source: Source, column: pd.Series) -> pd.Series | None:
    """The column with points for decimal commas; None if it has none."""
    if pd.api.types.infer_dtype(column) != "string":
        return None
    cells = column.dropna().str.strip()
    is_comma = cells.str.fullmatch(_WITH_COMMA)
    if not is_comma.any() or not cells[~is_comma].str.fullmatch(_WITHOUT).all():
        return None
    # A wrong guess would change every score by a factor of 1,000, so the user is asked.
    if cells[is_comma].str.fullmatch(_EITHER).all():
        raise source.error(
            f"{cells[is_comma].iloc[0]!r} in column {column.name!r} may have a decimal comma or a "
            "thousands separator; say which: decimal=',' or decimal='.'"
        )
    return column.str.replace(",", ".", regex=False)


def _with_points(source: Source, column: pd.Series, decimal: str) -> pd.Series | None:
    """The column with decimal points and no separators; None if not every text is a number."""
    values = column.tolist()
    rows = [
        row
        for row, cell in enumerate(values)
        if isinstance(cell, str) and cell.strip().lower() not in UNSCORED_WORDS
    ]
    if not any("," in values[row] or "." in values[row] for row in rows) or any(
        parse_numeral(values[row]) is None for row in rows
    ):
        return None
    for row in rows:
        pointed = with_decimal_point(values[row], decimal)
        if pointed is None:
            raise source.error(
                f"{values[row]!r} in column {column.name!r} cannot have the decimal sign of "
                f"decimal={decimal!r}; write the column with one decimal sign"
            )
        values[row] = pointed
    return pd.Series(values, column.index, dtype=object, name=column.name)


def restore_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame without the apostrophes that `neutralise_formula` put before texts."""
    return frame.assign(
        **{
            str(name): cells.map(
                lambda cell: restore_formula(cell) if isinstance(cell, str) else cell
            )
            for name, cells in frame.items()
            if not pd.api.types.is_numeric_dtype(cells.dtype)
        }
    )

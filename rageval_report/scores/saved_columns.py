"""Values and columns of details in a file: as any program can read them, with what that loses.

A column is written plainly. The plain cells are then decoded again, as a reader will do it, and a
cell that would come back as another value is listed in the description of the column: so "" stays
apart from None in a CSV file, and the text "1" apart from the number. Values that JSON does not
have, such as dates among other objects, are written and read as their texts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report.errors import DataError
from rageval_report.files.strict_json import load_json
from rageval_report.scores.states import is_missing

# "text": a cell is a text or blank (CSV); "json": a JSON value; "arrow": what Parquet keeps.
Medium = Literal["text", "json", "arrow"]

# Columns of these types are written and read by arrays: no cell can change.
_EXACT_TYPES: dict[Medium, tuple[str, ...]] = {
    "text": ("float64", "int64", "bool"),
    "json": ("int64", "bool"),
    "arrow": ("float64", "int64", "bool"),
}
_TEXT_TYPE = "str"  # pandas 3: texts, and NaN where there is none
_COLLECTIONS = (Mapping, list, tuple, set, frozenset, np.ndarray)


def plain_value(value: object) -> Any:
    """The value as JSON can hold it; None if it is missing or not a finite number.

    Examples
    --------
    >>> plain_value((1, float("nan"), {2: "x"}))
    [1, None, {'2': 'x'}]
    """
    if isinstance(value, Mapping):
        return {str(key): plain_value(part) for key, part in value.items()}
    if isinstance(value, _COLLECTIONS):
        return [plain_value(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        # NaN and Infinity are not JSON; many parsers refuse them.
        return value if math.isfinite(value) else None
    if is_missing(value):
        return None
    return value if isinstance(value, bool | int | str) else str(value)


def text_cell(value: object) -> str | None:
    """A value as the text of a cell, with lists and objects as JSON; None if it is missing.

    Examples
    --------
    >>> text_cell(["x", None]), text_cell(0.5), text_cell(float("nan"))
    ('["x", null]', '0.5', None)
    """
    if is_missing(value):
        return None
    is_collection = isinstance(value, _COLLECTIONS)
    return json.dumps(plain_value(value), ensure_ascii=False) if is_collection else str(value)


def _parse_json(cell: object) -> object:
    """A value of Python or JSON in a text; the text itself if it is neither."""
    if cell in ("True", "False"):
        return cell == "True"
    try:
        return load_json(cell, parse_constant=_refuse) if isinstance(cell, str) else cell
    except (ValueError, RecursionError):
        return cell


def _refuse(word: str) -> None:
    raise ValueError(word)  # "NaN" is a text here: a number that is NaN is a blank cell


@dataclass(frozen=True, eq=False)
class SavedColumn:
    """A column of details as it is in a file."""

    name: str  # in the evaluation; that in the file may differ, if a metric has it
    dtype: str = "object"
    cells: str = "plain"  # "json" if the cells are texts that hold JSON
    # Values that cannot be told from their cells, with the ids of their queries.
    exceptions: tuple[tuple[Any, tuple[str, ...]], ...] = ()

    def to_document(self) -> dict[str, Any]:
        """The column as JSON; what is as usual is left out."""
        exceptions = [[value, [*ids]] for value, ids in self.exceptions]
        return {
            "name": self.name,
            "dtype": self.dtype,
            **({"cells": self.cells} if self.cells != "plain" else {}),
            **({"exceptions": exceptions} if exceptions else {}),
        }

    @classmethod
    def of_document(cls, document: object, column: str) -> SavedColumn:
        """The column that `to_document` wrote.

        Raises
        ------
        DataError
            If a part is of another type.
        """
        try:
            fields: dict[str, Any] = {"name": column, **document}  # type: ignore[dict-item]
            pairs = [(value, (*map(str, ids),)) for value, ids in fields.get("exceptions", ())]
            saved = cls(**{**fields, "exceptions": tuple(pairs)})
        except (TypeError, ValueError) as exc:
            raise DataError(f"the description of detail {column!r} is not valid") from exc
        are_texts = isinstance(saved.name, str) and isinstance(saved.dtype, str)
        if not are_texts or saved.cells not in ("plain", "json"):
            raise DataError(f"the description of detail {column!r} is not valid")
        return saved


def save_column(
    column: pd.Series, name: str, ids: Sequence[str], medium: Medium
) -> tuple[pd.Series, SavedColumn]:
    """The cells of a column as a file holds them, and the description of the column.

    Examples
    --------
    >>> cells, saved = save_column(pd.Series(["", None, "x"]), "topic", ["a", "b", "c"], "text")
    >>> cells.tolist(), saved.exceptions
    ([None, None, 'x'], (('', ('a',)),))
    """
    dtype = str(column.dtype)
    if dtype in _EXACT_TYPES[medium]:
        return column, SavedColumn(name, dtype)
    values = column.tolist()
    are_texts = all(isinstance(value, str) or is_missing(value) for value in values)
    cells, as_read = _file_cells(column, values, medium, are_texts=are_texts)
    is_json = not are_texts and (medium == "text" or (medium == "arrow" and cells is not column))
    saved = SavedColumn(name, dtype, "json" if is_json else "plain")
    restored = restore_column(as_read, saved, ids).tolist()
    rows_of: dict[str, list[str]] = {}
    for value, other, query_id in zip(values, restored, ids, strict=True):
        key = json.dumps(plain_value(value))
        if key != json.dumps(plain_value(other)):
            rows_of.setdefault(key, []).append(query_id)
    exceptions = tuple((json.loads(key), tuple(rows)) for key, rows in rows_of.items())
    return cells, SavedColumn(name, dtype, saved.cells, exceptions)


def _file_cells(
    column: pd.Series, values: list[Any], medium: Medium, *, are_texts: bool
) -> tuple[pd.Series, list[Any]]:
    """The cells to write, and the cells as they will be read."""
    if medium == "arrow" and (column.dtype != object or are_texts):
        return column, values
    if medium == "json":
        # A number that JSON does not have is a text, which becomes a number again.
        are_infinite = [isinstance(value, float) and math.isinf(value) for value in values]
        pairs = zip(values, are_infinite, strict=True)
        cells = [str(value) if is_infinite else plain_value(value) for value, is_infinite in pairs]
    else:  # a blank cell of a CSV file is the same with quotes and without
        cells = [text_cell(value) or (None if medium == "text" else "") for value in values]
        cells = [None if is_missing(v) else cell for v, cell in zip(values, cells, strict=True)]
    return pd.Series(cells, index=column.index, dtype=object), cells


def restore_column(cells: Iterable[Any], saved: SavedColumn, ids: Sequence[str]) -> pd.Series:
    """The column of details that `save_column` wrote, from the cells of a file and the query ids.

    Examples
    --------
    >>> column = pd.Series(["", None, "x"], dtype=object)
    >>> cells, saved = save_column(column, "topic", ["a", "b", "c"], "text")
    >>> restore_column(cells, saved, ["a", "b", "c"]).tolist()
    ['', None, 'x']
    """
    is_plain = saved.cells == "plain" and not saved.exceptions and saved.dtype != "object"
    if is_plain and isinstance(cells, pd.Series) and str(cells.dtype) == saved.dtype:
        return cells
    listed = list(cells)
    values: list[Any] = [
        None if is_missing(cell) else _parse_json(cell) if saved.cells == "json" else cell
        for cell in listed
    ]
    rows = {query_id: row for row, query_id in enumerate(ids)} if saved.exceptions else {}
    for value, of_ids in saved.exceptions:
        for row in (rows[query_id] for query_id in of_ids if query_id in rows):
            # A cell that was changed since says something else now.
            cell = None if is_missing(listed[row]) else listed[row]
            if cell in ("", None) or cell == value or cell == text_cell(value):
                values[row] = value
    return _typed_column(values, saved.dtype)


def _typed_column(values: list[Any], dtype: str) -> pd.Series:
    """The values as a column of the type that it had, if they still fit it."""
    untyped = pd.Series(values, dtype=object)
    if dtype == "object":
        return untyped
    if dtype == _TEXT_TYPE:
        # Before pandas 3 a column of texts is one of objects.
        text_type: Any = pd.Series(["x"]).dtype
        return pd.Series(values) if untyped.notna().any() else untyped.astype(text_type)
    try:
        return pd.Series(values, dtype=dtype)
    except (ValueError, TypeError, OverflowError, KeyError):
        return untyped

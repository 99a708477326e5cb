"""Values and columns of details in a file: as any program can read them, with what that loses.

A column is written plainly. The plain cells are then decoded again, as a reader will do it, and a
cell that would come back as another value is listed in the description of the column: so "" stays
apart from None in a CSV file, NaN apart from null in JSON, and a date apart from its text.
"""

from __future__ import annotations

import base64
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from rageval_report._registry import import_pyarrow
from rageval_report.errors import DataError
from rageval_report.files.strict_json import load_json

# "text": a cell is a text or blank (CSV); "json": a JSON value; "arrow": what Parquet keeps.
Medium = Literal["text", "json", "arrow"]

# Columns of these types are written and read by arrays: no cell can change.
_EXACT_TYPES: dict[Medium, tuple[str, ...]] = {
    "text": ("float64", "int64", "bool"),
    "json": ("int64", "bool"),
    "arrow": ("float64", "int64", "bool"),
}
_TEXT_TYPE = "str"  # pandas 3: texts, and NaN where there is none


# -- one value


def plain_value(value: object) -> Any:
    """The value as JSON can hold it; None if it is missing or not a finite number.

    Examples
    --------
    >>> plain_value((1, float("nan"), {2: "x"}))
    [1, None, {'2': 'x'}]
    """
    if isinstance(value, Mapping):
        return {str(key): plain_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [plain_value(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        # NaN and Infinity are not JSON; many parsers refuse them.
        return value if math.isfinite(value) else None
    if is_missing(value):
        return None
    return value if isinstance(value, bool | int | str) else str(value)


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    if isinstance(value, float):  # a NumPy float is one too
        return value != value
    return value is None or value is pd.NA or value is pd.NaT


def _python_value(value: object) -> Any:
    """The value as Python writes it: lists for arrays, tuples and sets, and numbers of Python."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {_python_value(key): _python_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [_python_value(part) for part in value]
    return value


class _Codec(NamedTuple):
    """How values of a type that JSON does not have are written and read."""

    kind: type
    encode: Callable[[Any], str]
    decode: Callable[[Any], Any]


def _iso(value: Any) -> str:
    return str(value.isoformat())


# A Timestamp is a datetime and a datetime is a date, so the narrower type goes first.
_CODECS: dict[str, _Codec] = {
    "timestamp": _Codec(pd.Timestamp, _iso, pd.Timestamp),
    "pandas_timedelta": _Codec(pd.Timedelta, _iso, pd.Timedelta),
    "timedelta": _Codec(
        timedelta,
        lambda value: _iso(pd.Timedelta(value)),
        lambda text: pd.Timedelta(text).to_pytimedelta(),
    ),
    "datetime": _Codec(datetime, _iso, datetime.fromisoformat),
    "date": _Codec(date, _iso, date.fromisoformat),
    "time": _Codec(time, _iso, time.fromisoformat),
    "decimal": _Codec(Decimal, str, Decimal),
    "bytes": _Codec(
        bytes,
        lambda value: base64.b64encode(value).decode("ascii"),
        lambda text: base64.b64decode(text, validate=True),
    ),
}
# A value that JSON does not have is an object with one key.
_DECODERS: dict[str, Callable[[Any], Any]] = {
    **{f"${name}": codec.decode for name, codec in _CODECS.items()},
    "$float": float,
    "$missing": {"NA": pd.NA, "NaT": pd.NaT}.__getitem__,
    "$dict": lambda pairs: {decode_value(key): decode_value(part) for key, part in pairs},
}
_ERRORS = (TypeError, ValueError, KeyError, InvalidOperation, OverflowError, RecursionError)


def encode_value(value: object) -> Any:
    """The value as JSON that `decode_value` turns back; a list for a tuple, an array or a set.

    Examples
    --------
    >>> encode_value([0.5, float("nan"), date(2026, 8, 1)])
    [0.5, {'$float': 'nan'}, {'$date': '2026-08-01'}]
    """
    value = _python_value(value)
    if value is pd.NA or value is pd.NaT:
        return {"$missing": "NA" if value is pd.NA else "NaT"}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, list):
        return [encode_value(part) for part in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: encode_value(part) for key, part in value.items()}
        return {"$dict": [[encode_value(key), encode_value(part)] for key, part in value.items()]}
    if value is None or isinstance(value, bool | int | str):
        return value
    for name, codec in _CODECS.items():
        if isinstance(value, codec.kind):
            return {f"${name}": codec.encode(value)}
    return str(value)


def decode_value(document: Any) -> Any:
    """The value that `encode_value` wrote.

    Raises
    ------
    DataError
        If an object has a key that begins with "$" and that this version does not know.
    """
    if isinstance(document, list):
        return [decode_value(part) for part in document]
    if not isinstance(document, dict):
        return document
    tags = [key for key in document if key.startswith("$")]
    if not tags:
        return {key: decode_value(part) for key, part in document.items()}
    try:
        [tag] = tags if len(document) == 1 else [""]
        return _DECODERS[tag](document[tag])
    except _ERRORS as exc:
        raise DataError(f"{document!r:.60} is not a value that this version can read") from exc


def _are_same(value: object, other: object) -> bool:
    """Whether two values of `_python_value` are equal, of one type, and of one sign if zero."""
    if type(value) is not type(other):
        return False
    if isinstance(value, str):
        return value == other
    return value is other or _as_json(value) == _as_json(other)


def _as_json(value: object) -> str:
    return json.dumps(encode_value(value), ensure_ascii=False)


def text_cell(value: object) -> str | None:
    """A value as the text of a cell, with lists and objects as JSON; None if it is missing.

    Examples
    --------
    >>> text_cell(["x", None]), text_cell(0.5), text_cell(float("nan"))
    ('["x", null]', '0.5', None)
    """
    if is_missing(value):
        return None
    if isinstance(value, Mapping | list | tuple | set | frozenset | np.ndarray):
        return json.dumps(plain_value(value), ensure_ascii=False)
    return str(value)


def _parse_json(cell: object) -> object:
    """A value of Python or JSON in a text; the text itself if it is neither."""
    if cell in ("True", "False"):
        return cell == "True"
    return load_json(cell, parse_constant=_refuse) if isinstance(cell, str) else cell


def _refuse(word: str) -> None:
    raise ValueError(word)  # "NaN" is a text here: a number that is NaN is a blank cell


# How the cells of a column are written, and the function that reads them.
_CELL_DECODERS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda cell: cell,
    "json": _parse_json,
    **{name: codec.decode for name, codec in _CODECS.items() if name != "bytes"},
}
_RULES = {_CODECS[name].kind: name for name in _CELL_DECODERS if name in _CODECS}


# -- the description of a column


@dataclass(frozen=True, eq=False)
class SavedColumn:
    """A column of details as it is in a file."""

    name: str  # in the evaluation; that in the file may differ, if a metric has it
    dtype: str = "object"
    cells: str = "plain"  # how the cells are written; a key of `_CELL_DECODERS`
    blank: Any = None  # what a blank cell stands for, as `encode_value` writes it
    # Values that cannot be told from their cells, with the ids of their queries.
    exceptions: tuple[tuple[Any, tuple[str, ...]], ...] = ()
    categories: tuple[Any, ...] | None = None
    is_ordered: bool = False
    n_changed: int = 0  # cells that read back as texts, because no file can hold their values

    def to_document(self) -> dict[str, Any]:
        """The column as JSON; what is as usual is left out."""
        exceptions = [[value, [*ids]] for value, ids in self.exceptions]
        document = {
            "cells": self.cells if self.cells != "plain" else None,
            "blank": self.blank,
            "exceptions": exceptions or None,
            "categories": None if self.categories is None else list(self.categories),
            "ordered": None if self.categories is None else self.is_ordered,
            "changed": self.n_changed or None,
        }
        usual = {"name": self.name, "dtype": self.dtype}
        return {**usual, **{key: part for key, part in document.items() if part is not None}}

    @classmethod
    def of_document(cls, document: object, column: str) -> SavedColumn:
        """The column that `to_document` wrote.

        Raises
        ------
        DataError
            If a part is of another type.
        """
        if not isinstance(document, Mapping):
            raise DataError(f"detail {column!r} must be an object; got {document!r:.60}")
        name, dtype = document.get("name", column), document.get("dtype", "object")
        cells, n_changed = document.get("cells", "plain"), document.get("changed", 0)
        exceptions, categories = document.get("exceptions", []), document.get("categories")
        is_valid = (
            all(isinstance(text, str) for text in (name, dtype, cells))
            and cells in _CELL_DECODERS
            and isinstance(exceptions, list)
            and all(map(_is_exception, exceptions))
            and isinstance(categories, list | None)
            and isinstance(n_changed, int)
        )
        if not is_valid:
            raise DataError(f"the description of detail {column!r} is not valid")
        values = [document.get("blank"), *(pair[0] for pair in exceptions), *(categories or ())]
        decode_value(values)  # raises now, and not when the cells are read
        return cls(
            *(name, dtype, cells, document.get("blank")),
            exceptions=tuple((value, tuple(ids)) for value, ids in exceptions),
            categories=None if categories is None else tuple(categories),
            is_ordered=bool(document.get("ordered", False)),
            n_changed=n_changed,
        )


def _is_exception(pair: object) -> bool:
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[1], list)
        and all(isinstance(query_id, str) for query_id in pair[1])
    )


def changed_cells_notes(columns: Iterable[SavedColumn]) -> list[str]:
    """A note about the details with cells that read back as texts, if there are any."""
    changed = [f"{column.name!r} ({column.n_changed})" for column in columns if column.n_changed]
    if not changed:
        return []
    return [
        "some cells held values that no file can hold and are read as texts; details and numbers "
        f"of cells: {', '.join(changed)}"
    ]


# -- writing


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
    values = [_python_value(value) for value in column.tolist()]
    cells, as_read = _file_cells(column, values, medium)
    is_text = medium == "text" or (medium == "arrow" and cells is not column)
    saved = _without_exceptions(column.dtype, name, values, is_text=is_text)
    restored = _typed_column(_restored_cells(as_read, saved), saved).tolist()
    rows_of: dict[str, list[str]] = {}
    n_changed = 0
    for value, other, query_id in zip(values, restored, ids, strict=True):
        if not _are_same(value, _python_value(other)):
            rows_of.setdefault(_as_json(value), []).append(query_id)
            n_changed += not _are_same(decode_value(encode_value(value)), value)
    exceptions = tuple((json.loads(key), tuple(rows)) for key, rows in rows_of.items())
    return cells, replace(saved, exceptions=exceptions, n_changed=n_changed)


def _file_cells(
    column: pd.Series, values: list[Any], medium: Medium
) -> tuple[pd.Series, list[Any]]:
    """The cells to write, and the cells as they will be read."""
    if medium == "arrow":
        if column.dtype != object:
            return column, values
        as_read = import_pyarrow().array(column, from_pandas=True).to_pylist()
        # Objects of different keys would all get the keys of all; numbers of mixed types become
        # floats, but that is left to the exceptions, because numbers should stay numbers.
        if not any(map(_holds_object, values)) or _are_same(values, as_read):
            return column, as_read
    if medium == "json":
        cells = [plain_value(value) for value in values]
    else:  # a blank cell of a CSV file is the same with quotes and without
        cells = [text_cell(value) or (None if medium == "text" else "") for value in values]
        cells = [None if is_missing(v) else cell for v, cell in zip(values, cells, strict=True)]
    return pd.Series(cells, index=column.index, dtype=object), cells


def _holds_object(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_holds_object, value))
    return isinstance(value, dict)


def _without_exceptions(dtype: Any, name: str, values: list[Any], *, is_text: bool) -> SavedColumn:
    """The description of a column, so far without exceptions."""
    types = {type(value) for value in values if not is_missing(value)}
    rule = "plain" if types <= {str} or not is_text else "json"
    if len(types) == 1:
        rule = _RULES.get(next(iter(types)), rule)
    blanks = Counter(_as_json(value) for value in values if is_missing(value))
    blank = json.loads(blanks.most_common(1)[0][0]) if blanks else None
    if not isinstance(dtype, pd.CategoricalDtype):
        return SavedColumn(name, str(dtype), rule, blank)
    categories = tuple(encode_value(value) for value in dtype.categories.tolist())
    return SavedColumn(
        *(name, "category", rule, blank), categories=categories, is_ordered=bool(dtype.ordered)
    )


# -- reading


def restore_column(cells: Iterable[Any], saved: SavedColumn, ids: Sequence[str]) -> pd.Series:
    """The column of details that `save_column` wrote, from the cells of a file and the query ids.

    Examples
    --------
    >>> column = pd.Series(["", None, "x"], dtype=object)
    >>> cells, saved = save_column(column, "topic", ["a", "b", "c"], "text")
    >>> restore_column(cells, saved, ["a", "b", "c"]).tolist()
    ['', None, 'x']
    """
    is_plain = saved.cells == "plain" and not saved.exceptions and saved.categories is None
    is_plain = is_plain and saved.dtype != "object"
    if is_plain and isinstance(cells, pd.Series) and str(cells.dtype) == saved.dtype:
        return cells
    listed = [_python_value(cell) for cell in cells]
    values = _restored_cells(listed, saved)
    rows = {query_id: row for row, query_id in enumerate(ids)} if saved.exceptions else {}
    for document, of_ids in saved.exceptions:
        value = decode_value(document)
        for row in (rows[query_id] for query_id in of_ids if query_id in rows):
            # A cell that was changed since says something else now.
            if _may_stand_for(listed[row], value):
                values[row] = value
    return _typed_column(values, saved)


def _restored_cells(cells: Iterable[Any], saved: SavedColumn) -> list[Any]:
    decode, blank = _CELL_DECODERS[saved.cells], decode_value(saved.blank)

    def restore(cell: object) -> Any:
        try:
            return decode(_python_value(cell))
        except _ERRORS:
            return cell

    return [blank if is_missing(cell) else restore(cell) for cell in cells]


def _may_stand_for(cell: object, value: object) -> bool:
    """Whether the value could have been written as this cell."""
    if is_missing(cell) or cell == "":
        return text_cell(value) in (None, "") or plain_value(value) is None
    return _are_same(cell, plain_value(value)) or cell == text_cell(value) or bool(cell == value)


def _typed_column(values: list[Any], saved: SavedColumn) -> pd.Series:
    """The values as a column of the type that it had, if they still fit it."""
    untyped = pd.Series(values, dtype=object)
    if saved.dtype == "object":
        return untyped
    if saved.dtype == _TEXT_TYPE:
        # Before pandas 3 a column of texts is one of objects.
        text_type: Any = pd.Series(["x"]).dtype
        return pd.Series(values) if untyped.notna().any() else untyped.astype(text_type)
    try:
        if saved.categories is not None:
            categories = [decode_value(value) for value in saved.categories]
            return pd.Series(pd.Categorical(values, categories, ordered=saved.is_ordered))
        return pd.Series(values, dtype=saved.dtype)
    except (ValueError, TypeError, OverflowError, KeyError):
        return untyped

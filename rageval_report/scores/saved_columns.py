"""Columns of details in a file: as any program can read them, with what that loses beside it.

A column is written plainly. The plain cells are then decoded again, as a reader will do it, and a
cell that would come back as another value is listed in the description of the column: so "" stays
apart from None in a CSV file, NaN apart from null in JSON, and a date apart from its text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report._registry import import_pyarrow
from rageval_report.errors import DataError
from rageval_report.files.strict_json import load_json
from rageval_report.scores.exact_values import (
    are_same,
    decode_value,
    encode_value,
    is_missing,
    plain_value,
    python_value,
)

# "text": a cell is a text or blank (CSV); "json": a JSON value; "arrow": what Parquet keeps.
Medium = Literal["text", "json", "arrow"]

# Columns of these types are written and read by arrays: no cell can change.
_EXACT_TYPES: dict[Medium, tuple[str, ...]] = {
    "text": ("float64", "int64", "bool"),
    "json": ("int64", "bool"),
    "arrow": ("float64", "int64", "bool"),
}
_TEXT_TYPE = "str"  # pandas 3: texts, and NaN where there is none


@dataclass(frozen=True, eq=False)
class SavedColumn:
    """A column of details as it is in a file.

    Parameters
    ----------
    name : str
        The name in the evaluation; that in the file may differ, if a metric has it.
    dtype : str
        The type of the column, as pandas names it.
    cells : str
        How the cells are written; a key of `CELL_DECODERS`.
    blank : object
        What a blank cell stands for, as `encode_value` writes it.
    exceptions : tuple of (object, tuple of str)
        Values that cannot be told from their cells, with the ids of their queries.
    categories : tuple, optional
        The categories of a categorical column.
    is_ordered : bool
        Whether the categories have an order.
    n_changed : int
        The number of cells that read back as texts, because no file can hold their values.
    """

    name: str
    dtype: str = "object"
    cells: str = "plain"
    blank: Any = None
    exceptions: tuple[tuple[Any, tuple[str, ...]], ...] = ()
    categories: tuple[Any, ...] | None = None
    is_ordered: bool = False
    n_changed: int = 0

    def to_document(self) -> dict[str, Any]:
        """The column as JSON; what is as usual is left out."""
        document: dict[str, Any] = {"name": self.name, "dtype": self.dtype}
        if self.cells != "plain":
            document["cells"] = self.cells
        if self.blank is not None:
            document["blank"] = self.blank
        if self.exceptions:
            document["exceptions"] = [[value, [*ids]] for value, ids in self.exceptions]
        if self.categories is not None:
            document["categories"] = list(self.categories)
            document["ordered"] = self.is_ordered
        if self.n_changed:
            document["changed"] = self.n_changed
        return document

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
            and cells in CELL_DECODERS
            and isinstance(exceptions, list)
            and all(map(_is_exception, exceptions))
            and isinstance(categories, list | None)
            and isinstance(n_changed, int)
        )
        if not is_valid:
            raise DataError(f"the description of detail {column!r} is not valid")
        for value in (
            document.get("blank"),
            *(pair[0] for pair in exceptions),
            *(categories or ()),
        ):
            decode_value(value)  # raises now, and not when the cells are read
        return cls(
            *(name, dtype, cells, document.get("blank")),
            exceptions=tuple((value, tuple(ids)) for value, ids in exceptions),
            categories=None if categories is None else tuple(categories),
            is_ordered=bool(document.get("ordered", False)),
            n_changed=n_changed,
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


def _is_exception(pair: object) -> bool:
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[1], list)
        and all(isinstance(query_id, str) for query_id in pair[1])
    )


# -- writing


def save_column(
    column: pd.Series, name: str, ids: Sequence[str], medium: Medium
) -> tuple[pd.Series, SavedColumn]:
    """The cells of a column as a file holds them, and the description of the column.

    Parameters
    ----------
    column : Series
        A column of details.
    name : str
        Its name in the evaluation.
    ids : sequence of str
        The query ids.
    medium : {"text", "json", "arrow"}
        What the file holds.

    Examples
    --------
    >>> cells, saved = save_column(pd.Series(["", None, "x"]), "topic", ["a", "b", "c"], "text")
    >>> cells.tolist(), saved.exceptions
    ([None, None, 'x'], (('', ('a',)),))
    """
    dtype = str(column.dtype)
    if dtype in _EXACT_TYPES[medium]:
        return column, SavedColumn(name, dtype)
    values = [python_value(value) for value in column.tolist()]
    cells, as_read = _file_cells(column, values, medium)
    is_native = cells is column
    is_text = medium == "text" or (medium == "arrow" and not is_native)
    saved = _without_exceptions(column.dtype, name, values, is_text=is_text)
    restored = _typed_column(_restored_cells(as_read, saved), saved).tolist()
    wrong = [
        row
        for row, (value, other) in enumerate(zip(values, restored, strict=True))
        if not are_same(value, python_value(other))
    ]
    n_changed = sum(
        not are_same(decode_value(encode_value(values[row])), values[row]) for row in wrong
    )
    exceptions = _group_exceptions(values, wrong, ids)
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
        if not any(map(_holds_object, values)) or are_same(values, as_read):
            return column, as_read
    write = {"text": _cell_or_blank, "json": plain_value, "arrow": text_cell}[medium]
    cells = [write(value) for value in values]
    return pd.Series(cells, index=column.index, dtype=object), cells


def _cell_or_blank(value: object) -> str | None:
    # A blank cell of a CSV file is the same with quotes and without.
    return text_cell(value) or None


def _holds_object(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_holds_object, value))
    return isinstance(value, dict)


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


def _without_exceptions(dtype: Any, name: str, values: list[Any], *, is_text: bool) -> SavedColumn:
    """The description of a column, so far without exceptions."""
    types = {type(value) for value in values if not is_missing(value)}
    rule = "plain" if types <= {str} else "json" if is_text else "plain"
    if len(types) == 1:
        rule = _RULES.get(next(iter(types)), rule)
    blanks = Counter(json.dumps(encode_value(value)) for value in values if is_missing(value))
    blank = json.loads(blanks.most_common(1)[0][0]) if blanks else None
    if not isinstance(dtype, pd.CategoricalDtype):
        return SavedColumn(name, str(dtype), rule, blank)
    categories = tuple(encode_value(value) for value in dtype.categories.tolist())
    return SavedColumn(
        *(name, "category", rule, blank),
        categories=categories,
        is_ordered=bool(dtype.ordered),
    )


def _group_exceptions(
    values: list[Any], rows: list[int], ids: Sequence[str]
) -> tuple[tuple[Any, tuple[str, ...]], ...]:
    """The values of these rows, each with the ids of its queries."""
    grouped: dict[str, list[str]] = {}
    for row in rows:
        key = json.dumps(encode_value(values[row]), ensure_ascii=False)
        grouped.setdefault(key, []).append(ids[row])
    return tuple((json.loads(key), tuple(listed)) for key, listed in grouped.items())


# -- reading


def restore_column(cells: Iterable[Any], saved: SavedColumn, ids: Sequence[str]) -> pd.Series:
    """The column of details that `save_column` wrote.

    Parameters
    ----------
    cells : iterable
        The cells in the file; None or NaN where they are blank.
    saved : SavedColumn
        The description of the column.
    ids : sequence of str
        The query ids, in the order of the cells.

    Raises
    ------
    DataError
        If the description is damaged.

    Examples
    --------
    >>> column = pd.Series(["", None, "x"], dtype=object)
    >>> cells, saved = save_column(column, "topic", ["a", "b", "c"], "text")
    >>> restore_column(cells, saved, ["a", "b", "c"]).tolist()
    ['', None, 'x']
    """
    if isinstance(cells, pd.Series) and _is_restored(cells, saved):
        return cells
    listed = [python_value(cell) for cell in cells]
    values = _restored_cells(listed, saved)
    if saved.exceptions:
        rows = {query_id: row for row, query_id in enumerate(ids)}
        for document, of_ids in saved.exceptions:
            value = decode_value(document)
            for row in (rows[query_id] for query_id in of_ids if query_id in rows):
                # A cell that was changed since says something else now.
                if _may_stand_for(listed[row], value):
                    values[row] = value
    return _typed_column(values, saved)


def _is_restored(cells: pd.Series, saved: SavedColumn) -> bool:
    """Whether the cells are the column already."""
    is_plain = saved.cells == "plain" and not saved.exceptions and saved.categories is None
    return is_plain and saved.dtype != "object" and str(cells.dtype) == saved.dtype


def _restored_cells(cells: Iterable[Any], saved: SavedColumn) -> list[Any]:
    decode, blank = CELL_DECODERS[saved.cells], decode_value(saved.blank)
    return [blank if is_missing(cell) else _decode(decode, python_value(cell)) for cell in cells]


def _decode(decode: Callable[[Any], Any], cell: object) -> Any:
    try:
        return decode(cell)
    except (ValueError, TypeError, InvalidOperation, OverflowError, RecursionError):
        return cell


def _may_stand_for(cell: object, value: object) -> bool:
    """Whether the value could have been written as this cell."""
    if is_missing(cell) or cell == "":
        return text_cell(value) in (None, "") or plain_value(value) is None
    return are_same(cell, plain_value(value)) or cell == text_cell(value) or bool(cell == value)


def _typed_column(values: list[Any], saved: SavedColumn) -> pd.Series:
    """The values as a column of the type that it had, if they still fit it."""
    untyped = pd.Series(values, dtype=object)
    if saved.dtype == "object":
        return untyped
    if saved.dtype == _TEXT_TYPE:
        # Before pandas 3 a column of texts is one of objects.
        return pd.Series(values) if untyped.notna().any() else untyped.astype(_text_type())
    try:
        if saved.categories is not None:
            categories = [decode_value(value) for value in saved.categories]
            return pd.Series(pd.Categorical(values, categories, ordered=saved.is_ordered))
        return pd.Series(values, dtype=saved.dtype)
    except (ValueError, TypeError, OverflowError, KeyError):
        return untyped


def _text_type() -> Any:
    return pd.Series(["x"]).dtype


def _parse_json(cell: object) -> object:
    """A value of Python or JSON in a text; the text itself if it is neither."""
    if cell in ("True", "False"):
        return cell == "True"
    return load_json(cell, parse_constant=_refuse) if isinstance(cell, str) else cell


def _refuse(word: str) -> None:
    raise ValueError(word)  # "NaN" is a text here: a number that is NaN is a blank cell


# How the cells of a column are written, and the function that reads them.
CELL_DECODERS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda cell: cell,
    "json": _parse_json,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "timestamp": pd.Timestamp,
    "time": time.fromisoformat,
    "timedelta": lambda cell: pd.Timedelta(cell).to_pytimedelta(),
    "pandas_timedelta": pd.Timedelta,
    "decimal": Decimal,
}
_RULES: dict[type, str] = {
    date: "date",
    datetime: "datetime",
    pd.Timestamp: "timestamp",
    time: "time",
    timedelta: "timedelta",
    pd.Timedelta: "pandas_timedelta",
    Decimal: "decimal",
}

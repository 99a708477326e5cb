"""Values as JSON: plainly, for any program; or exactly, so that they read back as they were."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import DataError


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
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    return value if isinstance(value, bool | int | str) else str(value)


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or NA.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), pd.NaT, "", 0, [])]
    [True, True, True, False, False, False]
    """
    if isinstance(value, float):  # a NumPy float is one too
        return value != value
    return value is None or value is pd.NA or value is pd.NaT


def python_value(value: object) -> Any:
    """The value as Python writes it: lists for arrays, tuples and sets, and numbers of Python.

    Examples
    --------
    >>> python_value((np.float64(0.5), np.array([1, 2])))
    [0.5, [1, 2]]
    """
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {python_value(key): python_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [python_value(part) for part in value]
    return value


def are_same(value: object, other: object) -> bool:
    """Whether two values of `python_value` are equal, of one type, and of one sign if zero.

    Examples
    --------
    >>> are_same([None, 1], [None, 1]), are_same(1, True), are_same(None, float("nan"))
    (True, False, False)
    """
    if type(value) is not type(other):
        return False
    if isinstance(value, float) and isinstance(other, float):
        if value != value or other != other:
            return value != value and other != other
        return value == other and math.copysign(1.0, value) == math.copysign(1.0, other)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(are_same, value, other))
    if isinstance(value, dict) and isinstance(other, dict):
        pairs, other_pairs = list(value.items()), list(other.items())
        return are_same([[*pair] for pair in pairs], [[*pair] for pair in other_pairs])
    return value is other or bool(value == other)


# -- exactly: a value that JSON does not have is an object with one key

_DECODERS: dict[str, Callable[[Any], Any]] = {
    "$float": float,
    "$missing": {"NA": pd.NA, "NaT": pd.NaT}.__getitem__,
    "$timestamp": pd.Timestamp,
    "$timedelta": lambda text: pd.Timedelta(text).to_pytimedelta(),
    "$pandas_timedelta": pd.Timedelta,
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$time": time.fromisoformat,
    "$decimal": Decimal,
    "$bytes": lambda text: base64.b64decode(text, validate=True),
    "$dict": lambda pairs: {decode_value(key): decode_value(part) for key, part in pairs},
}
# A Timestamp is a datetime and a datetime is a date, so the narrower type goes first.
_TAGS: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (
    (pd.Timestamp, "$timestamp", lambda value: value.isoformat()),
    (pd.Timedelta, "$pandas_timedelta", lambda value: value.isoformat()),
    (timedelta, "$timedelta", lambda value: pd.Timedelta(value).isoformat()),
    (datetime, "$datetime", lambda value: value.isoformat()),
    (date, "$date", lambda value: value.isoformat()),
    (time, "$time", lambda value: value.isoformat()),
    (Decimal, "$decimal", str),
    (bytes, "$bytes", lambda value: base64.b64encode(value).decode("ascii")),
)


def encode_value(value: object) -> Any:
    """The value as JSON that `decode_value` turns back; a list for a tuple, an array or a set.

    Parameters
    ----------
    value : object
        A cell of a table.

    Examples
    --------
    >>> encode_value([0.5, float("nan"), date(2026, 8, 1)])
    [0.5, {'$float': 'nan'}, {'$date': '2026-08-01'}]
    >>> decode_value({"$date": "2026-08-01"})
    datetime.date(2026, 8, 1)
    """
    value = python_value(value)
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
    for kind, tag, encode in _TAGS:
        if isinstance(value, kind):
            return {tag: encode(value)}
    return str(value)


def decode_value(document: Any) -> Any:
    """The value that `encode_value` wrote.

    Parameters
    ----------
    document : object
        Parsed JSON.

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
    [tag] = tags if len(document) == 1 else [""]
    if tag not in _DECODERS:
        raise DataError(f"{document!r:.60} is not a value that this version can read")
    try:
        return _DECODERS[tag](document[tag])
    except (TypeError, ValueError, KeyError, InvalidOperation, OverflowError) as exc:
        raise DataError(f"{document!r:.60} is not a value that this version can read") from exc

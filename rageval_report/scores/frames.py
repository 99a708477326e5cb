"""Converts what holds rows to a pandas frame: other frames, dicts of lists, lists of dicts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any

import pandas as pd

from rageval_report._registry import import_pyarrow, load
from rageval_report.errors import DataError, RagevalWarning, named

# The number of frames of the stack from a warning here to the line that constructs an evaluation.
_CALLER_LEVEL = 7


def to_pandas(data: object) -> pd.DataFrame:
    """The rows as a pandas frame; a pandas frame is returned as it is.

    Parameters
    ----------
    data : DataFrame, mapping of columns, or list of dicts
        A pandas frame, any frame that narwhals knows (polars, pyarrow, modin, ...), a mapping of
        column names to lists of equal length, or a list of dicts.

    Raises
    ------
    DataError
        If it is none of these, or the columns differ in length.
    MissingDependencyError
        If it is a frame of another library and the extra ``frames`` is not installed.

    Examples
    --------
    >>> to_pandas({"query_id": ["q1", "q2"], "recall": [1.0, 0.5]}).shape
    (2, 2)
    """
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, Mapping):
        return _from_columns(data)
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _from_records(data)
    if _is_foreign_frame(data):
        return _from_foreign(data)
    raise DataError(
        "data must be a frame (pandas, polars, pyarrow), a dict of lists or a list of dicts; "
        f"got {type(data).__name__}"
    )


def _is_foreign_frame(data: object) -> bool:
    protocols = ("__arrow_c_stream__", "__dataframe__", "__narwhals_dataframe__")
    return any(hasattr(data, protocol) for protocol in protocols)


def _from_foreign(data: object) -> pd.DataFrame:
    narwhals = load("narwhals")
    frame = narwhals.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(frame, narwhals.DataFrame):
        frame = narwhals.from_native(_collect_rows(data))
    columns = {column.name: _column_values(column, narwhals) for column in frame.iter_columns()}
    return pd.DataFrame(columns, copy=False)


def _column_values(column: Any, narwhals: Any) -> Any:
    """The values of a column: numbers, not copied if possible, pandas strings, or a list."""
    if column.dtype == narwhals.String:
        return column.to_pandas()
    if column.dtype.is_decimal() or (column.dtype.is_numeric() and column.null_count()):
        # A gap is NaN in scores; NumPy has no integer for it.
        return column.cast(narwhals.Float64).fill_null(math.nan).to_numpy()
    if column.dtype.is_numeric() or (column.dtype == narwhals.Boolean and not column.null_count()):
        return column.to_numpy()
    return column.to_list()


def _collect_rows(data: object) -> Any:
    """The rows of a stream, or of a query that has not run yet, as a pyarrow table."""
    try:
        return import_pyarrow().table(data)
    except (TypeError, ValueError) as exc:
        raise DataError(
            f"data must be a frame; got {type(data).__name__}, which does not give its rows. "
            "Collect it first"
        ) from exc


def _from_columns(data: Mapping[Any, Any]) -> pd.DataFrame:
    columns = {str(name): _as_list(name, values) for name, values in data.items()}
    if not columns:
        raise DataError("data must hold columns of scores; got an empty dict")
    indexes = [values.index for values in columns.values() if isinstance(values, pd.Series)]
    if not all(index.equals(indexes[0]) for index in indexes):
        raise DataError(
            "data: the columns are Series with different indexes; make one DataFrame of them"
        )
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        columns = _split_joined_texts(columns, lengths)
    return _make_frame(columns)


def _make_frame(rows: Any) -> pd.DataFrame:
    try:
        return pd.DataFrame(rows, copy=False)
    except UnicodeEncodeError as exc:
        raise DataError(f"data: texts must be valid; got {exc.object!r}: {exc.reason}") from exc
    except (TypeError, ValueError) as exc:
        raise DataError(f"data must hold one value per query in each column: {exc}") from exc


def _as_list(name: object, values: object) -> Any:
    if isinstance(values, str):
        return [values]
    is_single = isinstance(values, bytes | Mapping) or getattr(values, "ndim", 1) == 0
    if is_single or not isinstance(values, Iterable):
        raise DataError(
            f"column {name!r} must be a list of one value per query; got {type(values).__name__}"
        )
    return values if isinstance(values, Sized) else list(values)


def _split_joined_texts(columns: dict[str, Any], lengths: dict[str, int]) -> dict[str, Any]:
    """The columns, with one text that lists all ids split if this makes the lengths equal."""
    n_rows = max(lengths.values())
    corrected = dict(columns)
    for name in [name for name, length in lengths.items() if length != n_rows]:
        parts = _split_single_text(columns[name])
        if len(parts) != n_rows:
            described = ", ".join(f"{column!r} has {n}" for column, n in lengths.items())
            raise DataError(
                f"the columns must be of equal length; {described}. "
                f"Check {name!r}: it should have {n_rows}."
            )
        corrected[name] = parts
        message = f"column {name!r} is one text that holds {n_rows} values; it was split at commas"
        warnings.warn(message, RagevalWarning, stacklevel=_CALLER_LEVEL)
    return corrected


def _split_single_text(values: Any) -> list[str]:
    if len(values) != 1 or not isinstance(values[0], str):
        return []
    return [part.strip() for part in values[0].split(",")]


def _from_records(records: Sequence[Any]) -> pd.DataFrame:
    if not len(records):
        raise DataError("data must be a list of one dict per query; got an empty list")
    wrong = [i for i, record in enumerate(records) if not isinstance(record, Mapping)]
    if wrong:
        raise DataError(
            "data must be a list of one dict per query; the entries at positions "
            f"{named(wrong)} are not dicts, the first is {type(records[wrong[0]]).__name__}"
        )
    return _make_frame([dict(record) for record in records])

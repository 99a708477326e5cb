"""Whatever holds rows becomes a pandas frame: other frames, dicts of lists, lists of dicts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from rageval_report._registry import load
from rageval_report.errors import DataError, RagevalWarning, named


def to_pandas(data: object) -> pd.DataFrame:
    """The rows as a pandas frame; a pandas frame comes back as it is.

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
        If a frame of another library is given and the extra ``frames`` is not installed.

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
        "expected a frame (pandas, polars, pyarrow), a dict of lists or a list of dicts; "
        f"got {type(data).__name__}"
    )


def _is_foreign_frame(data: object) -> bool:
    protocols = ("__arrow_c_stream__", "__dataframe__", "__narwhals_dataframe__")
    return any(hasattr(data, protocol) for protocol in protocols)


def _from_foreign(data: object) -> pd.DataFrame:
    frame = load("narwhals:from_native")(data, eager_only=True, pass_through=True)
    if not hasattr(frame, "iter_columns"):
        return _from_arrow_stream(data)
    columns = {column.name: _column_values(column) for column in frame.iter_columns()}
    return pd.DataFrame(columns)


def _column_values(column: Any) -> Any:
    if column.dtype.is_numeric() and column.null_count() == 0:
        return column.to_numpy()
    if column.dtype.is_float():
        return column.cast(column.dtype).fill_null(float("nan")).to_numpy()
    return column.to_list()


def _from_arrow_stream(data: object) -> pd.DataFrame:
    table: pd.DataFrame = load("pyarrow:table")(data).to_pandas()
    return table


def _from_columns(data: Mapping[Any, Any]) -> pd.DataFrame:
    columns = {str(name): _as_list(name, values) for name, values in data.items()}
    if not columns:
        raise DataError("expected columns of scores; got an empty dict")
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        columns = _split_joined_texts(columns, lengths)
    return pd.DataFrame(columns)


def _as_list(name: object, values: object) -> Any:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise DataError(
            f"column {name!r} must be a list of one value a query; got {type(values).__name__}"
        )
    return values if hasattr(values, "__len__") else list(values)


def _split_joined_texts(columns: dict[str, Any], lengths: dict[str, int]) -> dict[str, Any]:
    """One text that holds all the ids is split, where that makes the lengths agree."""
    wanted = max(lengths.values())
    mended = dict(columns)
    for name in [name for name, length in lengths.items() if length != wanted]:
        parts = _parts_of_single_text(columns[name])
        if len(parts) != wanted:
            described = ", ".join(f"{column!r} has {n}" for column, n in lengths.items())
            raise DataError(
                f"the columns must be of equal length; {described}. "
                f"Look at {name!r}: it should have {wanted}."
            )
        mended[name] = parts
        message = f"column {name!r} is one text that holds {wanted} values; it was split at commas"
        warnings.warn(message, RagevalWarning, stacklevel=2)
    return mended


def _parts_of_single_text(values: Any) -> list[str]:
    if len(values) != 1 or not isinstance(values[0], str):
        return []
    return [part.strip() for part in values[0].split(",")]


def _from_records(records: Sequence[Any]) -> pd.DataFrame:
    if not len(records):
        raise DataError("expected a list of one dict a query; got an empty list")
    wrong = [i for i, record in enumerate(records) if not isinstance(record, Mapping)]
    if wrong:
        raise DataError(
            "expected a list of one dict a query; the entries at positions "
            f"{named(wrong)} are not dicts, the first is {type(records[wrong[0]]).__name__}"
        )
    return pd.DataFrame.from_records(list(records))

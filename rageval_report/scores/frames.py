"""Converts what holds rows to a pandas frame: other frames, dicts of lists, iterables of dicts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

from rageval_report._registry import import_pyarrow, load
from rageval_report.errors import ArgumentKindError, DataError, RagevalWarning, describe_kind, named
from rageval_report.files.inputs import is_file_input

# The number of frames of the stack from a warning here to the line that constructs an evaluation.
_CALLER_LEVEL = 6
_PROTOCOLS = ("__arrow_c_stream__", "__dataframe__", "__narwhals_dataframe__")


def to_pandas(
    data: object, *, parameter: str = "data", file_reader: str = "RAGPipelineEvaluation.load"
) -> pd.DataFrame:
    """The rows as a pandas frame; a pandas frame is returned as it is.

    Parameters
    ----------
    data : DataFrame, mapping of columns, or iterable of dicts
        A pandas frame, any frame that narwhals knows (polars, pyarrow, modin, ...), a mapping of
        column names to lists of equal length, or any iterable of dicts, which is consumed once.
        Instead of dicts the iterable may give dataclasses, named tuples or pydantic models.
    parameter : str
        The name of the parameter, for errors.
    file_reader : str
        The function that reads a file of such rows, for the error if `data` is a file.

    Raises
    ------
    ArgumentKindError
        If it is none of these.
    DataError
        If the columns differ in length.
    MissingDependencyError
        If it is a frame of another library and the extra ``frames`` is not installed.

    Examples
    --------
    >>> to_pandas({"query_id": ["q1", "q2"], "recall": [1.0, 0.5]}).shape
    (2, 2)
    >>> to_pandas({"query_id": f"q{i}", "recall": i / 4} for i in range(4)).shape
    (4, 2)
    """
    if isinstance(data, pd.DataFrame):
        if data.columns.nlevels > 1:
            raise _two_levels(data, parameter)
        return data
    if isinstance(data, Mapping):
        return _from_columns(data, parameter)
    is_file = is_file_input(data)
    # A frame that is a query that has not run yet, as a LazyFrame of polars.
    is_lazy = callable(getattr(data, "collect", None))
    if not isinstance(data, type | Set | pd.Series | np.ndarray) and not is_file and not is_lazy:
        if any(hasattr(data, protocol) for protocol in _PROTOCOLS):
            return _from_foreign(data, parameter)
        if isinstance(data, Iterable):
            return _from_records(list(data), parameter)
    hint = f". To read a file, use {file_reader}" if is_file else ""
    hint = f"; pass {parameter}.collect()" if is_lazy and not is_file else hint
    raise ArgumentKindError(
        f"{parameter} must be a frame (pandas, polars, pyarrow), a dict of lists or a list of "
        f"dicts; got {describe_kind(data)}{hint}"
    )


def _two_levels(data: pd.DataFrame, parameter: str) -> DataError:
    first = data.columns[0][0]
    return DataError(
        f"{parameter} must have one name per column; got columns of {data.columns.nlevels} levels, "
        f"such as {data.columns[0]!r}. If the first level names pipelines, make an evaluation of "
        f"each: RAGPipelineEvaluation({first!r}, {parameter}[{first!r}]); else join the levels: "
        f"{parameter}.columns = {parameter}.columns.map('_'.join)"
    )


def _from_foreign(data: object, parameter: str) -> pd.DataFrame:
    narwhals = load("narwhals")
    frame = narwhals.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(frame, narwhals.DataFrame):  # a stream, or a query that has not run yet
        try:
            frame = narwhals.from_native(import_pyarrow().table(data))
        except (TypeError, ValueError, AttributeError) as exc:
            raise ArgumentKindError(
                f"{parameter} must be a frame; got {describe_kind(data)}, which does not give "
                "rows. Make a frame of it first, for example with .collect() or .to_frame()"
            ) from exc
    return pd.DataFrame({column.name: _values_of(column) for column in frame.iter_columns()})


def _values_of(column: Any) -> Any:
    """The values of a column: numbers, in which a gap is NaN, or a list."""
    narwhals = load("narwhals")
    if column.dtype.is_decimal() or (column.dtype.is_numeric() and column.null_count()):
        # NumPy has no integer for a gap.
        return column.cast(narwhals.Float64).fill_null(math.nan).to_numpy()
    return column.to_numpy() if column.dtype.is_numeric() else column.to_list()


def _from_columns(data: Mapping[Any, Any], parameter: str) -> pd.DataFrame:
    if not data:
        raise DataError(f"{parameter} must hold columns of scores; got an empty dict")
    columns = {str(name): _as_list(name, values) for name, values in data.items()}
    indexes = [values.index for values in columns.values() if isinstance(values, pd.Series)]
    if not all(index.equals(indexes[0]) for index in indexes):
        raise DataError(
            f"{parameter}: the columns are Series with different indexes; make one DataFrame of "
            "them"
        )
    lengths = {name: len(values) for name, values in columns.items()}
    n_rows = max(lengths.values())
    for name in [name for name, length in lengths.items() if length != n_rows]:
        columns[name] = _split_joined_text(columns[name], name, lengths, n_rows)
    return _make_frame(columns)


def _make_frame(rows: Any) -> pd.DataFrame:
    try:
        return pd.DataFrame(rows, copy=False)
    except OverflowError:  # of pandas 2, at an integer that no float holds among floats
        return pd.DataFrame(rows, dtype=object)
    except (TypeError, ValueError) as exc:  # a UnicodeEncodeError is one too
        raise DataError(f"data must hold one valid value per query in each column: {exc}") from exc


def _as_list(name: object, values: object) -> Any:
    if isinstance(values, str):
        return [values]
    is_single = isinstance(values, bytes | Mapping) or getattr(values, "ndim", 1) == 0
    if is_single or not isinstance(values, Iterable):
        raise DataError(
            f"column {name!r} must be a list of one value per query; got {describe_kind(values)}"
        )
    return values if isinstance(values, Sized) else list(values)


def _split_joined_text(
    values: Any, name: str, lengths: Mapping[str, int], n_rows: int
) -> list[str]:
    """The values of one text that lists all of them, as the ids in Haystack's proposal."""
    is_text = len(values) == 1 and isinstance(values[0], str)
    parts = [part.strip() for part in values[0].split(",")] if is_text else []
    if len(parts) != n_rows:
        described = ", ".join(f"{column!r} has {n}" for column, n in lengths.items())
        raise DataError(f"the columns must be of equal length; {described}")
    message = f"column {name!r} is one text that holds {n_rows} values; it was split at commas"
    warnings.warn(message, RagevalWarning, stacklevel=_CALLER_LEVEL)
    return parts


def _from_records(records: Sequence[Any], parameter: str) -> pd.DataFrame:
    if not records:
        raise DataError(f"{parameter} must be a list of one dict per query; got an empty list")
    return _make_frame(record_dicts(records, parameter))


def record_dicts(records: Sequence[Any], parameter: str = "data") -> list[dict[Any, Any]]:
    """The records as dicts, whether they are dicts, dataclasses, named tuples or models."""
    dicts = [_record_dict(record) for record in records]
    wrong = [position for position, record in enumerate(dicts) if record is None]
    if wrong:
        raise ArgumentKindError(
            f"{parameter} must be a list of one dict per query; the entries at positions "
            f"{named(wrong)} are not dicts, the first is {describe_kind(records[wrong[0]])}"
        )
    return [record for record in dicts if record is not None]


def _record_dict(record: Any) -> dict[Any, Any] | None:
    """A record as a dict; None if it is not one."""
    if isinstance(record, Mapping):
        return dict(record)
    if isinstance(record, type):
        return None
    if is_dataclass(record):
        return {field.name: getattr(record, field.name) for field in fields(record)}
    for method in ("_asdict", "model_dump"):  # of named tuples, and of pydantic's models
        if callable(getattr(record, method, None)):
            return dict(getattr(record, method)())
    return None

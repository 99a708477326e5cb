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
    data : DataFrame, Series, structured array, mapping of columns, or iterable of dicts
        A pandas frame, any frame that narwhals knows (polars, pyarrow, modin, ...), a named Series
        of one metric by query id, a structured NumPy array, a mapping of column names to lists of
        equal length, or any iterable of dicts, which is consumed once. Instead of dicts the
        iterable may give dataclasses, named tuples or pydantic models.
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
    is_file = is_file_input(data)
    # A frame that is a query that has not run yet, as a LazyFrame of polars.
    is_lazy = callable(getattr(data, "collect", None))
    if isinstance(data, Mapping):
        return _from_columns(data, parameter)
    if isinstance(data, pd.Series):
        if data.name is None:
            raise DataError(
                f"{parameter}: a Series of scores needs the name of its metric; pass "
                f"{parameter}.rename('recall')"
            )
        return data.to_frame()
    if isinstance(data, np.ndarray):
        return _from_array(data, parameter)
    if not isinstance(data, type) and not is_file:
        if isinstance(data, Sequence):
            return _from_records(data, parameter)
        if any(hasattr(data, protocol) for protocol in _PROTOCOLS) and not is_lazy:
            return _from_foreign(data, parameter)
        # A set has no order.
        if isinstance(data, Iterable) and not isinstance(data, Set) and not is_lazy:
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


def _from_array(data: np.ndarray[Any, Any], parameter: str) -> pd.DataFrame:
    if data.dtype.names is None or data.ndim != 1:
        raise ArgumentKindError(
            f"{parameter} must be a table whose columns have names; got an array of shape "
            f"{data.shape}. Pass pandas.DataFrame({parameter}, columns=[...])"
        )
    return pd.DataFrame({name: data[name].tolist() for name in data.dtype.names})


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


def _from_columns(data: Mapping[Any, Any], parameter: str) -> pd.DataFrame:
    if not data:
        raise DataError(f"{parameter} must hold columns of scores; got an empty dict")
    if all(isinstance(values, Mapping) for values in data.values()):
        raise DataError(
            f"{parameter} is a dict of dicts, whose keys may be queries or columns. If they are "
            f"queries, pass pandas.DataFrame.from_dict({parameter}, orient='index'), else "
            f"pandas.DataFrame({parameter})"
        )
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
            f"column {name!r} must be a list of one value per query; got {describe_kind(values)}"
        )
    return values if isinstance(values, Sized) else list(values)


def _split_joined_text(
    values: Any, name: str, lengths: Mapping[str, int], n_rows: int
) -> list[str]:
    """The values of one text that lists all of them, if there is one for each row."""
    is_text = len(values) == 1 and isinstance(values[0], str)
    parts = [part.strip() for part in values[0].split(",")] if is_text else []
    if len(parts) != n_rows:
        described = ", ".join(f"{column!r} has {n}" for column, n in lengths.items())
        raise DataError(
            f"the columns must be of equal length; {described}. "
            f"Check {name!r}: it should have {n_rows}."
        )
    message = f"column {name!r} is one text that holds {n_rows} values; it was split at commas"
    warnings.warn(message, RagevalWarning, stacklevel=_CALLER_LEVEL)
    return parts


def _from_records(records: Sequence[Any], parameter: str) -> pd.DataFrame:
    if not len(records):
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
    if isinstance(record, pd.Series):
        return dict(record.items())
    for method in ("_asdict", "model_dump"):  # of named tuples, and of pydantic's models
        if callable(getattr(record, method, None)):
            return dict(getattr(record, method)())
    # A row of sqlite3 has keys, but is no Mapping.
    is_row = callable(getattr(record, "keys", None)) and not hasattr(record, "columns")
    return {key: record[key] for key in record.keys()} if is_row else None  # noqa: SIM118

"""Converts the rows of an evaluation to frames of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pandas as pd

from rageval_report._registry import import_pyarrow, load
from rageval_report.errors import DataError, check_choice
from rageval_report.scores.table import Scored
from rageval_report.scores.write import score_rows

FrameLibrary = Literal["pandas", "polars", "pyarrow"]


def frame_for(evaluation: Scored, library: FrameLibrary = "pandas") -> Any:
    """One row per query (ids, details and metrics), as a frame of a library.

    Parameters
    ----------
    evaluation : Scored
        The rows.
    library : {"pandas", "polars", "pyarrow"}
        The library of the frame.

    Raises
    ------
    UnknownValueError
        If `library` has another value.
    MissingDependencyError
        If the library is not installed.
    DataError
        If the library has no type for a column of details, such as texts beside lists.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> run = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
    >>> frame_for(run, "pyarrow").column_names
    ['query_id', 'recall']
    """
    check_choice("library", library, _CONVERTERS)
    return _CONVERTERS[library](score_rows(evaluation))


def _pyarrow(rows: pd.DataFrame) -> Any:
    arrow = import_pyarrow()
    try:
        return arrow.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata(None)
    except (arrow.ArrowException, TypeError, ValueError) as exc:
        raise DataError(
            f"pyarrow has no type for these cells: {exc}. Drop the column, or convert it to texts"
        ) from exc


def _polars(rows: pd.DataFrame) -> Any:
    return load("polars").from_arrow(_pyarrow(rows))


def _pandas(rows: pd.DataFrame) -> pd.DataFrame:
    return rows


_CONVERTERS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _pyarrow,
}

"""The rows of an evaluation as frames of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from rageval_report._registry import load
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores.table import Scored
from rageval_report.scores.write import score_rows


def frame_for(evaluation: Scored, library: str = "pandas") -> Any:
    """One row a query, ids and details and metrics, as a frame of a library.

    Parameters
    ----------
    evaluation : Scored
        The rows.
    library : {"pandas", "polars", "pyarrow"}
        Whose frame to make.

    Raises
    ------
    UnknownNameError
        If the library is not known.
    MissingDependencyError
        If it is not installed.
    DataError
        If it has no type for a column of details, as for texts beside lists.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> run = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
    >>> frame_for(run, "pyarrow").column_names
    ['query_id', 'recall']
    """
    if library not in _FRAMES:
        raise UnknownNameError("library of frames", library, _FRAMES)
    return _FRAMES[library](score_rows(evaluation))


def _pyarrow(rows: pd.DataFrame) -> Any:
    arrow = load("pyarrow")
    try:
        return arrow.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata(None)
    except (arrow.ArrowException, TypeError, ValueError) as exc:
        raise DataError(
            f"pyarrow has no type for these cells: {exc}. Drop the column, or make texts of it"
        ) from exc


def _polars(rows: pd.DataFrame) -> Any:
    return load("polars").from_arrow(_pyarrow(rows))


def _pandas(rows: pd.DataFrame) -> pd.DataFrame:
    return rows


_FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _pyarrow,
}

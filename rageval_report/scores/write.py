"""An evaluation's rows as a file that the readers read back."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report._registry import load
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.files.writing import write_atomically, write_with
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.table import Scored


def save_scores(evaluation: Scored, path: str | Path) -> Path:
    """Write one row a query: ``query_id``, the details, the metrics, numbers at full precision.

    Parameters
    ----------
    evaluation : Scored
        What to write. A detail named like a metric, or ``query_id``, gets the ending "_detail".
    path : str or Path
        The suffix chooses the format: .csv, .tsv, .json, .jsonl, .parquet.

    Raises
    ------
    UnknownNameError
        If the suffix stands for no format.
    DataError
        If the file cannot be written, or Parquet has no type for a column of details.

    Examples
    --------
    >>> import tempfile
    >>> from rageval_report import RAGPipelineEvaluation
    >>> evaluation = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(save_scores(evaluation, folder + "/hybrid.csv").read_text(), end="")
    query_id,recall
    a,0.5
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        raise UnknownNameError("format of a score file", suffix or str(path), _WRITERS)
    taken = {QUERY_ID, *evaluation.scores.columns}
    clash = {name: f"{name}_detail" for name in evaluation.details if name in taken}
    parts = [evaluation.details.rename(columns=clash), evaluation.scores]
    return _WRITERS[suffix](pd.concat(parts, axis=1).rename_axis(QUERY_ID).reset_index(), path)


def _csv(rows: pd.DataFrame, path: str | Path, delimiter: str = ",") -> Path:
    told = rows.assign(**{name: rows[name].map(_in_a_cell) for name in _columns_of_objects(rows)})
    text = _csv_text(told, delimiter, csv.QUOTE_MINIMAL)
    if "\r" in text:  # which the writer takes for no reason to quote, and readers for a line's end
        text = _csv_text(told, delimiter, csv.QUOTE_NONNUMERIC)
    return write_atomically(path, text)


def _csv_text(rows: pd.DataFrame, delimiter: str, quoting: Literal[0, 2]) -> str:
    text = io.StringIO(newline="")
    rows.to_csv(text, index=False, sep=delimiter, lineterminator="\n", quoting=quoting)
    return text.getvalue()


def _tsv(rows: pd.DataFrame, path: str | Path) -> Path:
    return _csv(rows, path, "\t")


def _json(rows: pd.DataFrame, path: str | Path) -> Path:
    return write_atomically(path, json.dumps(_records(rows), ensure_ascii=False, indent=1) + "\n")


def _jsonl(rows: pd.DataFrame, path: str | Path) -> Path:
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in _records(rows))
    return write_atomically(path, "".join(lines))


def _parquet(rows: pd.DataFrame, path: str | Path) -> Path:
    load("pyarrow")
    try:
        return write_with(path, lambda temporary: rows.to_parquet(temporary, index=False))
    except (TypeError, ValueError, NotImplementedError) as exc:
        if isinstance(exc, DataError):
            raise
        raise DataError(f"{path}: Parquet has no type for these cells: {exc}") from exc


_WRITERS: dict[str, Callable[[pd.DataFrame, str | Path], Path]] = {
    ".csv": _csv,
    ".json": _json,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
    ".tsv": _tsv,
}


def _columns_of_objects(rows: pd.DataFrame) -> list[str]:
    """The columns whose cells may hold other than numbers and texts."""
    plain = (pd.api.types.is_numeric_dtype, pd.api.types.is_datetime64_any_dtype)
    return [
        str(name)
        for name, dtype in rows.dtypes.items()
        if not isinstance(dtype, pd.StringDtype) and not any(is_of(dtype) for is_of in plain)
    ]


def _in_a_cell(value: object) -> object:
    """A list or dict as JSON, because a cell of a CSV is a text."""
    if isinstance(value, Mapping | list | tuple | np.ndarray):
        return json.dumps(_plain(value), ensure_ascii=False)
    return value


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    columns = {str(name): [_plain(cell) for cell in rows[name].tolist()] for name in rows}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _plain(value: object) -> Any:
    """A value that JSON knows; None for whatever is missing or no finite number."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    return value if isinstance(value, bool | int | str) else str(value)

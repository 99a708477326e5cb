"""Writes the rows of an evaluation to a file that the readers can read back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report._registry import import_pyarrow
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.files.writing import check_free, write_atomically, write_with
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.run_file import plain_value, run_document
from rageval_report.scores.table import Scored

_INDENTED: dict[str, Any] = {"ensure_ascii": False, "indent": 1}


def save_scores(
    evaluation: Scored,
    path: str | Path,
    *,
    config: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
    created: datetime | None = None,
    force: bool = True,
) -> Path:
    """Write one row per query: ``query_id``, the details, the metrics, numbers at full precision.

    Parameters
    ----------
    evaluation : Scored
        The evaluation to write. A detail named like a metric, or ``query_id``, gets the ending
        "_detail".
    path : str or Path
        The suffix chooses the format: .csv, .tsv, .jsonl, .parquet; and .json for a run file, which
        is the only format that keeps the descriptions of metrics, the configuration and the notes.
    config : mapping, optional
        The configuration of the pipeline, for the run file.
    notes : iterable of str
        Guesses and corrections, for the run file.
    created : datetime, optional
        When the pipeline was run, for the run file.
    force : bool
        Whether an existing file is replaced, as pandas does; False keeps it.

    Raises
    ------
    UnknownNameError
        If no format has the suffix.
    DataError
        If the file exists and may not be replaced, or cannot be written, or Parquet has no type for
        a column of details.

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
    if suffix not in (*_TEXTS, RUN_FILE, PARQUET):
        known = sorted((*_TEXTS, RUN_FILE, PARQUET))
        raise UnknownNameError("format of a score file", suffix or str(path), known)
    check_free(path, force=force)
    if suffix == PARQUET:
        return _write_parquet(score_rows(evaluation), path)
    if suffix == RUN_FILE:
        document = run_document(evaluation, config=config, notes=notes, created=created)
        return write_with(path, lambda temporary: _write_run_file(document, temporary))
    return write_atomically(path, scores_text(evaluation, suffix))


def scores_text(
    evaluation: Scored,
    suffix: str,
    *,
    config: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
    created: datetime | None = None,
) -> str:
    r"""The text of a score file.

    Parameters
    ----------
    evaluation, config, notes, created
        As for `save_scores`.
    suffix : {".csv", ".tsv", ".jsonl", ".json"}
        The format.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> evaluation = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
    >>> scores_text(evaluation, ".jsonl")
    '{"query_id": "a", "recall": 0.5}\n'
    """
    if suffix == RUN_FILE:
        document = run_document(evaluation, config=config, notes=notes, created=created)
        return json.dumps(document, **_INDENTED) + "\n"
    return _TEXTS[suffix](score_rows(evaluation))


def score_rows(evaluation: Scored) -> pd.DataFrame:
    """One row per query: ``query_id``, the details, the metrics; names that clash get an ending."""
    used = {QUERY_ID, *evaluation.scores.columns}
    clash = {name: f"{name}_detail" for name in evaluation.details if name in used}
    parts = [evaluation.details.rename(columns=clash), evaluation.scores]
    return pd.concat(parts, axis=1).rename_axis(QUERY_ID).reset_index()


def csv_text(rows: pd.DataFrame, delimiter: str = ",") -> str:
    r"""A table as delimited text, with lists and objects as JSON in their cells.

    Examples
    --------
    >>> csv_text(pd.DataFrame({"id": ["a"], "contexts": [["x", "y"]]}))
    'id,contexts\na,"[""x"", ""y""]"\n'
    """
    cells = rows.assign(**{name: rows[name].map(_cell_value) for name in _object_columns(rows)})
    text = _delimited_text(cells, delimiter, csv.QUOTE_MINIMAL)
    if "\r" in text:  # the writer does not quote it, but readers take it for the end of a line
        text = _delimited_text(cells, delimiter, csv.QUOTE_NONNUMERIC)
    return text


def _delimited_text(rows: pd.DataFrame, delimiter: str, quoting: Literal[0, 2]) -> str:
    text = io.StringIO(newline="")
    rows.to_csv(text, index=False, sep=delimiter, lineterminator="\n", quoting=quoting)
    return text.getvalue()


def _tsv_text(rows: pd.DataFrame) -> str:
    return csv_text(rows, "\t")


def _jsonl_text(rows: pd.DataFrame) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in _records(rows))


def _write_run_file(document: Mapping[str, Any], path: str) -> None:
    """Write the text of `scores_text` piece by piece: in memory it takes ten times its length."""
    with Path(path).open("w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        json.dump(document, file, **_INDENTED)
        file.write("\n")


def _write_parquet(rows: pd.DataFrame, path: str | Path) -> Path:
    # Before the file is begun, so that a missing extra is named and nothing is written.
    import_pyarrow()
    try:
        return write_with(path, lambda temporary: rows.to_parquet(temporary, index=False))
    except (TypeError, ValueError, NotImplementedError) as exc:
        if isinstance(exc, DataError):
            raise
        raise DataError(f"{path}: Parquet has no type for these cells: {exc}") from exc


RUN_FILE, PARQUET = ".json", ".parquet"
_TEXTS: dict[str, Callable[[pd.DataFrame], str]] = {
    ".csv": csv_text,
    ".jsonl": _jsonl_text,
    ".tsv": _tsv_text,
}


def _object_columns(rows: pd.DataFrame) -> list[str]:
    """The columns whose cells may hold values other than numbers and texts."""
    plain = (pd.api.types.is_numeric_dtype, pd.api.types.is_datetime64_any_dtype)
    return [
        str(name)
        for name, dtype in rows.dtypes.items()
        if not isinstance(dtype, pd.StringDtype) and not any(is_of(dtype) for is_of in plain)
    ]


def _cell_value(value: object) -> object:
    """The value, with a list or dict as JSON, because a cell of a CSV file is a text."""
    if isinstance(value, Mapping | list | tuple | np.ndarray):
        return json.dumps(plain_value(value), ensure_ascii=False)
    return value


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    columns = {str(name): [plain_value(cell) for cell in rows[name].tolist()] for name in rows}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]

"""An evaluation's rows as a file that the readers read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from rageval_report._files import write_atomically, write_with
from rageval_report._registry import load
from rageval_report.errors import UnknownNameError
from rageval_report.scores.table import Scored


def save_scores(evaluation: Scored, path: str | Path) -> Path:
    """Write one row a query: ``query_id``, the details, the metrics.

    Parameters
    ----------
    evaluation : Scored
        What to write.
    path : str or Path
        The suffix chooses the format: .csv, .tsv, .json, .jsonl, .parquet.

    Raises
    ------
    UnknownNameError
        If the suffix stands for no format.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        raise UnknownNameError("format of a score file", suffix or str(path), _WRITERS)
    rows = pd.concat([evaluation.details, evaluation.scores], axis=1).reset_index()
    return _WRITERS[suffix](rows, path)


def _csv(rows: pd.DataFrame, path: str | Path, delimiter: str = ",") -> Path:
    return write_atomically(path, _texts(rows).to_csv(index=False, sep=delimiter))


def _tsv(rows: pd.DataFrame, path: str | Path) -> Path:
    return _csv(rows, path, "\t")


def _json(rows: pd.DataFrame, path: str | Path) -> Path:
    return write_atomically(path, rows.to_json(orient="records", force_ascii=False, indent=1))


def _jsonl(rows: pd.DataFrame, path: str | Path) -> Path:
    return write_atomically(path, rows.to_json(orient="records", force_ascii=False, lines=True))


def _parquet(rows: pd.DataFrame, path: str | Path) -> Path:
    load("pyarrow")
    return write_with(path, lambda temporary: rows.to_parquet(temporary, index=False))


_WRITERS: dict[str, Callable[[pd.DataFrame, str | Path], Path]] = {
    ".csv": _csv,
    ".json": _json,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
    ".tsv": _tsv,
}


def _texts(rows: pd.DataFrame) -> pd.DataFrame:
    """Lists and dicts as JSON, because a cell of a CSV is a text."""
    nested = [column for column in rows if rows[column].map(_is_nested).any()]
    told = {
        column: rows[column].map(lambda cell: _json_text(cell) if _is_nested(cell) else cell)
        for column in nested
    }
    return rows.assign(**told)


def _is_nested(cell: object) -> bool:
    return isinstance(cell, list | dict | tuple)


def _json_text(cell: object) -> str:
    return json.dumps(cell, ensure_ascii=False)

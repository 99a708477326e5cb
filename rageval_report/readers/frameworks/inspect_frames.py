"""Frames that Inspect makes of its logs, in any kind of file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile, distinct_names
from rageval_report.readers.cell_values import parse_columns
from rageval_report.readers.frameworks.inspect_samples import score_file
from rageval_report.readers.table_files import header_of, read_table

_SAMPLES = frozenset(("eval_id", "sample_id", "id", "epoch"))
_EVALS = frozenset(("eval_id", "run_id", "task_name", "model", "total_samples"))
_SCORE, _METADATA = "score_", "metadata_"
_SCORE_PARTS = ("explanation", "reason", "answer", "metadata")
_USER = "user:\n"


def frame_mark(source: Source) -> float:
    """The mark of a table: whether it is a frame of Inspect's samples, or of its evaluations."""
    names = frozenset(header_of(source))
    return 0.95 if names >= _SAMPLES or names >= _EVALS else 0.0


def read_frame(source: Source) -> list[ScoreFile]:
    """Read a frame of ``samples_df``: a `ScoreFile` for each log in it.

    Raises
    ------
    ReaderError
        If it is a frame of evaluations, which has only aggregates, or has no score.
    """
    if not set(header_of(source)) >= _SAMPLES:
        raise source.error(
            "this frame has one row per evaluation (evals_df); expected one row per sample: export "
            "samples_df, or pass the log itself"
        )
    # Ids such as 007 stay texts.
    table = read_table(source, query_id="id")
    cells = {
        name: [_none_if_na(cell) for cell in column]
        for name, column in parse_columns(table.frame).items()
    }
    scorers = _scorers(cells)
    if not scorers:
        raise source.error("no column of the frame is a score: expected score_<scorer>")
    rows_by_log: dict[str, list[int]] = {}
    for row, eval_id in enumerate(cells["eval_id"]):
        rows_by_log.setdefault(str(eval_id), []).append(row)
    headers = [_header(cells, rows[0]) for rows in rows_by_log.values()]
    names = distinct_names(_name(cells, rows[0], source) for rows in rows_by_log.values())
    files = []
    for name, header, rows in zip(names, headers, rows_by_log.values(), strict=True):
        samples = [_sample(cells, scorers, row) for row in rows]
        file = score_file(header, samples, table.notes)
        files.append(replace(file, pipeline=name))
    return files


def _none_if_na(cell: object) -> object:
    """The cell; None for the missing values of pandas."""
    return None if type(cell).__name__ in ("NAType", "NaTType") else cell


def _scorers(cells: CellsByColumn) -> list[str]:
    names = [name.removeprefix(_SCORE) for name in cells if name.startswith(_SCORE)]
    parts = {f"{name}_{part}" for name in names for part in _SCORE_PARTS}
    # The explanation and the answer of a score are columns too, named after it.
    return [name for name in names if name not in parts]


def _header(cells: CellsByColumn, row: int) -> dict[str, Any]:
    evaluation = {"task": _cell(cells, "task_name", row), "model": _cell(cells, "model", row)}
    return {"eval": evaluation}


def _name(cells: CellsByColumn, row: int, source: Source) -> str:
    """The task and the model if the frame has them, else the log's name."""
    evaluation = _header(cells, row)["eval"]
    if evaluation["task"] and evaluation["model"]:
        return f"{evaluation['task']}:{evaluation['model']}"
    log = _cell(cells, "log", row)
    return PurePath(log).stem if isinstance(log, str) and log else source.stem


def _cell(cells: CellsByColumn, name: str, row: int) -> Any:
    return cells[name][row] if name in cells else None


def _sample(cells: CellsByColumn, scorers: Iterable[str], row: int) -> dict[str, Any]:
    """A row in the shape that the sample has in the log."""
    names = ("id", "epoch", "choices", "target", "error", "total_time", "working_time")
    scores = {scorer: _score(cells, scorer, row) for scorer in scorers}
    metadata = {
        name.removeprefix(_METADATA): column[row]
        for name, column in cells.items()
        if name.startswith(_METADATA)
    }
    usage = _cell(cells, "model_usage", row)
    return {
        **{name: _cell(cells, name, row) for name in names},
        "input": _without_role(_cell(cells, "input", row)),
        "scores": {scorer: score for scorer, score in scores.items() if score},
        "metadata": metadata,
        "model_usage": usage if isinstance(usage, dict) else None,
    }


def _score(cells: CellsByColumn, scorer: str, row: int) -> dict[str, Any]:
    parts = {part: _cell(cells, f"{_SCORE}{scorer}_{part}", row) for part in _SCORE_PARTS}
    score = {"value": _cell(cells, f"{_SCORE}{scorer}", row), **parts}
    return score if any(_is_filled(cell) for cell in score.values()) else {}


def _is_filled(cell: object) -> bool:
    # `cell == cell` is False for NaN only.
    return cell is not None and cell == cell and cell != ""


def _without_role(text: object) -> object:
    """The text of an input with one message, without the role that frames put before it."""
    if not isinstance(text, str) or not text.startswith(_USER):
        return text
    return text.removeprefix(_USER).rstrip("\n")

"""LangSmith: the frame of an experiment's results, ``inputs.*``, ``outputs.*``, ``feedback.*``."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile
from rageval_report.readers.cell_values import number_or_none, parse_columns
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    average_repeats,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.frameworks.row_parts import collect_details
from rageval_report.readers.record_columns import frame_of, rows_of
from rageval_report.readers.table_files import dialect
from rageval_report.scores.query_ids import QUERY_ID

_FEEDBACK = "feedback."
_PARTS = {"inputs": "question", "outputs": "answer", "reference": "reference"}
_SECONDS = 1000.0  # LangSmith's execution_time, in milliseconds
_OWN = ("error", "execution_time", "example_id", "id")


def _recognise(names: frozenset[str]) -> float:
    starts = {name.split(".", 1)[0] for name in names if "." in name}
    is_run = "example_id" in names or "execution_time" in names
    return 0.95 if {"inputs", "feedback"} <= starts and is_run else 0.0


def read_langsmith(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read the results of a LangSmith experiment: one pipeline, named after the file.

    Repetitions of an example become one row. An evaluator that failed leaves an empty cell without
    a reason; if the pipeline failed, ``error`` has its error.

    Parameters
    ----------
    source : Source
        The file.
    frame : DataFrame
        The table in it.
    """
    cells = parse_columns(frame)
    scores, metrics, notes = _scores(cells)
    details = rename_clashes(_details(cells), scores, "run")
    rows = frame_of({**_ids(cells), **details, **scores})
    if QUERY_ID in rows:
        notes = ["query ids are taken from column 'example_id'", *notes]
        rows, repeats = average_repeats(rows, QUERY_ID, metrics)
        notes = [*notes, *repeats]
    return [ScoreFile(rows, source.stem, metric_columns=metrics, notes=tuple(notes))]


def _scores(cells: CellsByColumn) -> tuple[CellsByColumn, tuple[str, ...], list[str]]:
    """The feedback and the latency."""
    names = [name for name in cells if name.startswith(_FEEDBACK)]
    metrics = [name.removeprefix(_FEEDBACK) for name in names]
    judgements = rows_of(
        {
            metric: [Judgement(cell) for cell in cells[name]]
            for metric, name in zip(metrics, names, strict=True)
        }
    )
    judged = judgement_columns(judgements, cells.get("error"))
    notes = list(judged.notes)
    times = [number_or_none(cell) for cell in cells.get("execution_time", [])]
    if not any(time is not None for time in times) or "latency_ms" in judged.columns:
        return judged.columns, judged.metrics, notes
    notes.append("'execution_time' in seconds became 'latency_ms'")
    latency = [math.nan if time is None else time * _SECONDS for time in times]
    return {**judged.columns, "latency_ms": latency}, (*judged.metrics, "latency_ms"), notes


def _ids(cells: CellsByColumn) -> CellsByColumn:
    ids = cells.get("example_id")
    if ids is None or None in ids:
        return {}
    # The example's id is the same in every experiment on a data set; the run's own `id` is not.
    return {QUERY_ID: list(map(str, ids))}


def _objects(cells: CellsByColumn, origin: str) -> list[dict[str, Any]]:
    """The columns of an origin as one object per row."""
    starts = f"{origin}."
    names = [name for name in cells if name.startswith(starts)]
    n_rows = len(next(iter(cells.values())))
    return [
        {name.removeprefix(starts): cells[name][row] for name in names} for row in range(n_rows)
    ]


def _details(cells: CellsByColumn) -> CellsByColumn:
    details = collect_details(
        *((origin, role, _objects(cells, origin)) for origin, role in _PARTS.items())
    )
    used = (*_PARTS, "feedback")
    others = {
        name: cells[name]
        for name in cells
        if name not in _OWN and name.split(".", 1)[0] not in used and name not in details
    }
    run = {"error": cells.get("error", []), "run_id": cells.get("id", [])}
    return drop_empty({**details, **others, **run})


LANGSMITH = dialect(
    "langsmith",
    "LangSmith: the frame of an experiment's results (inputs.*, outputs.*, feedback.*)",
    _recognise,
    read_langsmith,
    example="experiment.csv",
)

"""LangSmith: the frame of an experiment's results, ``inputs.*``, ``outputs.*``, ``feedback.*``."""

from __future__ import annotations

from typing import Any

import pandas as pd

from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile
from rageval_report.readers.cell_values import parse_objects
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    average_repeats,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.frameworks.row_parts import collect_details
from rageval_report.readers.record_columns import frame_of
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

    Repetitions of an example become one row. An evaluator that failed leaves an empty cell, and
    no reason; where the pipeline failed, its error stands in ``error``.

    Parameters
    ----------
    source : Source
        The file.
    frame : DataFrame
        The table in it.
    """
    cells = {str(name): parse_objects(frame[name].tolist()) for name in frame}
    scores, metrics, notes = _scores(cells)
    details = rename_clashes(_details(cells), scores, "run")
    made = frame_of({**_ids(cells), **details, **scores})
    if QUERY_ID in made:
        notes = ["query ids are taken from column 'example_id'", *notes]
        made, repeats = average_repeats(made, QUERY_ID, metrics)
        notes = [*notes, *repeats]
    return [ScoreFile(made, source.stem, metric_columns=metrics, notes=tuple(notes))]


def _scores(cells: CellsByColumn) -> tuple[CellsByColumn, tuple[str, ...], list[str]]:
    """The feedback and the time it took."""
    names = [name for name in cells if name.startswith(_FEEDBACK)]
    rows = zip(*(cells[name] for name in names), strict=True)
    metrics = [name.removeprefix(_FEEDBACK) for name in names]
    judgements = [
        {name: Judgement(one) for name, one in zip(metrics, row, strict=True)} for row in rows
    ]
    found = judgement_columns(judgements, cells.get("error"))
    notes = list(found.notes)
    times = [
        one * _SECONDS if isinstance(one, int | float) else None
        for one in cells.get("execution_time", [])
    ]
    if not any(time is not None for time in times) or "latency_ms" in found.columns:
        return found.columns, found.metrics, notes
    notes.append("'execution_time' in seconds became 'latency_ms'")
    latency = [float("nan") if time is None else time for time in times]
    return {**found.columns, "latency_ms": latency}, (*found.metrics, "latency_ms"), notes


def _ids(cells: CellsByColumn) -> CellsByColumn:
    ids = cells.get("example_id")
    if ids is None or any(one is None for one in ids):
        return {}
    return {QUERY_ID: [str(one) for one in ids]}


def _objects(cells: CellsByColumn, origin: str) -> list[dict[str, Any]]:
    """What stands in the columns of an origin, an object a row."""
    starts = f"{origin}."
    names = [name for name in cells if name.startswith(starts)]
    n_rows = len(next(iter(cells.values())))
    return [
        {name.removeprefix(starts): cells[name][row] for name in names} for row in range(n_rows)
    ]


def _details(cells: CellsByColumn) -> CellsByColumn:
    found = collect_details(
        *((origin, role, _objects(cells, origin)) for origin, role in _PARTS.items())
    )
    used = (*_PARTS, "feedback")
    others = {
        name: list(cells[name])
        for name in cells
        if name not in _OWN and name.split(".", 1)[0] not in used and name not in found
    }
    run = {"error": cells.get("error", []), "run_id": cells.get("id", [])}
    return drop_empty({**found, **others, **{name: list(one) for name, one in run.items()}})


LANGSMITH = dialect(
    "langsmith",
    "LangSmith: the frame of an experiment's results (inputs.*, outputs.*, feedback.*)",
    _recognise,
    read_langsmith,
    example="experiment.csv",
)

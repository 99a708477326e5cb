"""Vertex AI's evaluation service: the metrics_table of an EvalResult, saved as any table."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile
from rageval_report.readers.cell_values import json_text, parse_columns, text_or_none
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.record_columns import frame_of, rows_of
from rageval_report.readers.table_files import dialect
from rageval_report.scores.metric import Override

_SCORE, _EXPLANATION, _CHOICE = "/score", "/explanation", "/pairwise_choice"
_TEXTS = {"prompt": "question", "response": "answer", "context": "contexts"}
_ERROR = "Error"  # in place of an answer, if the model failed after all retries
_ON_GRADES: Override = {"kind": "real", "bounds": (1.0, 5.0)}


def _recognise(names: frozenset[str]) -> float:
    has_score = any(name.endswith((_SCORE, _CHOICE)) for name in names)
    # MLflow's tables have names like these, but a version or a justification beside them.
    is_of_mlflow = any("/v" in name or name.endswith("/justification") for name in names)
    texts = {"prompt", "response", "reference", "baseline_model_response", "instruction"}
    has_explanation = any(name.endswith(_EXPLANATION) for name in names)
    is_vertex = has_explanation or len(names & texts) > 1
    return 0.95 if has_score and is_vertex and not is_of_mlflow else 0.0


def read_vertex(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read a metrics_table of Vertex AI: one pipeline, named after the file.

    The columns ``<metric>/score`` are the metrics, ``<metric>/explanation`` their reasons; a
    blank score has failed. Judges' grades from 1 to 5 get these bounds. The choices of pairwise
    metrics are details. The prompt identifies the query.

    Raises
    ------
    ReaderError
        If no column is a score.
    """
    cells = parse_columns(frame)
    metrics = [name.removesuffix(_SCORE) for name in cells if name.endswith(_SCORE)]
    if not metrics:
        choices = [name for name in cells if name.endswith(_CHOICE)]
        raise source.error(
            f"{named(choices)} are choices between two models, and no column is a score; expected "
            "a column <metric>/score"
        )
    failed_rows = _failed_rows(cells)
    judgements = {metric: _judgements(metric, cells, failed_rows) for metric in metrics}
    judged = judgement_columns(rows_of(judgements))
    used = {f"{metric}{end}" for metric in metrics for end in (_SCORE, _EXPLANATION)}
    details = {
        _TEXTS.get(name, name) if _TEXTS.get(name) not in cells else name: column
        for name, column in cells.items()
        if name not in used
    }
    if "question" in details:  # questions identify rows, so they must be texts
        details["question"] = [json_text(cell) for cell in details["question"]]
    details = rename_clashes(drop_empty(details), judged.columns, "data")
    judges = [name for name in judged.metrics if f"{name}{_EXPLANATION}" in cells]
    scales = {name: _ON_GRADES for name in judges if _are_grades(judged.columns[name])}
    notes = [f"read as grades from 1 to 5: {named(scales)}"] if scales else []
    if any(failed_rows):
        notes.append(f"the model failed in {sum(failed_rows)} rows, whose scores do not count")
    return [
        ScoreFile(
            frame_of({**details, **judged.columns}),
            source.stem,
            metrics=scales,
            metric_columns=judged.metrics,
            notes=(*judged.notes, *notes),
        )
    ]


def _failed_rows(cells: CellsByColumn) -> list[bool]:
    n_rows = len(next(iter(cells.values())))
    return [cell == _ERROR for cell in cells.get("response", [None] * n_rows)]


def _judgements(metric: str, cells: CellsByColumn, failed_rows: list[bool]) -> list[Judgement]:
    scores = cells[f"{metric}{_SCORE}"]
    reasons = cells.get(f"{metric}{_EXPLANATION}", [None] * len(scores))
    return [
        _judgement(score, text_or_none(reason), has_failed)
        for score, reason, has_failed in zip(scores, reasons, failed_rows, strict=True)
    ]


def _judgement(score: object, reason: str | None, has_failed: bool) -> Judgement:
    if has_failed:
        return Judgement(None, "the model gave no answer", is_failed=True)
    return Judgement(score, reason, is_failed=score is None)


def _are_grades(scores: Iterable[float]) -> bool:
    """Whether these are grades from 1 to 5; all 1 may also be verdicts."""
    present = [score for score in scores if not math.isnan(score)]
    are_whole = all(1 <= score <= 5 and score == round(score) for score in present)
    return are_whole and any(score > 1 for score in present)


VERTEX = dialect(
    "vertex",
    "Vertex AI evaluation: the metrics_table (<metric>/score, <metric>/explanation) as any table",
    _recognise,
    read_vertex,
    example="metrics_table.csv",
)

"""Tonic Validate: a run as JSON, and the table of its questions, answers and scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import parse_list
from rageval_report.readers.json_shapes import check_object, is_records
from rageval_report.readers.record_columns import columns_of, frame_of, score_columns
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import Kind, Metric
from rageval_report.types import JsonObject

_SURE = 0.95
# The fields of a row; in a run its scores are an object, in a table they are columns.
_MARKS = {"reference_question", "llm_answer"}
_DETAILS = {
    "reference_question": "question",
    "llm_answer": "answer",
    "reference_answer": "reference",
    "llm_context": "contexts",
}
_FAILED = "Tonic Validate could not score it and keeps no reason"


def _metric(
    name: str,
    group: str,
    kind: Kind,
    description: str,
    *,
    higher: bool = True,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Metric:
    return Metric(
        name,
        group=group,
        kind=kind,
        greater_is_better=higher,
        bounds=bounds,
        description=description,
        source="Tonic Validate",
    )


# The framework's own metrics; those of a user may have any name. Its similarity is a grade from 0
# to 5, and not one of embeddings, so it has a name of its own.
_METRICS: dict[str, Metric] = {
    "answer_similarity": _metric(
        "answer_similarity_grade",
        "generation",
        "ordinal",
        "How well the answer matches the reference, 0 to 5.",
        bounds=(0.0, 5.0),
    ),
    "answer_consistency": _metric(
        "answer_consistency",
        "generation",
        "proportion",
        "The share of the answer's main points that the contexts hold.",
    ),
    "answer_consistency_binary": _metric(
        "answer_consistency_binary",
        "generation",
        "binary",
        "Whether the contexts hold all of the answer.",
    ),
    "augmentation_accuracy": _metric(
        "augmentation_accuracy",
        "generation",
        "proportion",
        "The share of the contexts from which something is in the answer.",
    ),
    "augmentation_precision": _metric(
        "augmentation_precision",
        "generation",
        "proportion",
        "The share of the relevant contexts from which something is in the answer.",
    ),
    "retrieval_precision": _metric(
        "retrieval_precision",
        "retrieval",
        "proportion",
        "The share of the contexts that are relevant.",
    ),
    # 1 means that the target was met, in spite of the name.
    "latency_metric": _metric(
        "latency_metric",
        "performance",
        "binary",
        "Whether the answer came within the target time.",
    ),
    **{
        name: _metric(name, "generation", "binary", description, higher=False)
        for name, description in {
            "duplication_metric": "Whether the answer says something twice.",
            "hate_speech_content": "Whether the answer is hateful.",
            "answer_contains_pii": "Whether the answer holds personal information.",
            "context_contains_pii": "Whether the contexts hold personal information.",
        }.items()
    },
}


def _recognise(source: Source) -> float:
    if _rows_of(source.document_or_none()):
        return _SURE
    return _SURE if set(header_of(source)) >= {*_MARKS, "reference_answer"} else 0.0


def _rows_of(document: object) -> list[JsonObject]:
    """The rows of a run: as a list, as the run holds them, or as they are uploaded."""
    if isinstance(document, dict):
        document = document.get("run_data", document.get("data"))
    if not isinstance(document, list) or not is_records(document):
        return []
    return document if all(set(row) >= {*_MARKS, "scores"} for row in document) else []


def read_tonic_validate(
    source: Source, *, columns: Iterable[str] | None = None, query_id: str | None = None
) -> list[ScoreFile]:
    """Read a run of Tonic Validate: its JSON, or a table with one column per metric.

    The question's text identifies the query. A score that is null has failed.

    Raises
    ------
    ReaderError
        If the file is not a run.
    """
    rows = _rows_of(source.document_or_none())
    if rows:
        return [_read_run(source, rows)]
    return [_read_scores_table(source, columns, query_id)]


# -- JSON


def _read_run(source: Source, rows: list[JsonObject]) -> ScoreFile:
    document = source.document
    run = document if isinstance(document, dict) else {}
    names = dict.fromkeys(name for row in rows for name in _scores(row))
    overall = check_object(run.get("overall_scores"), "overall_scores")
    metrics = tuple(dict.fromkeys((*overall, *names)))
    columns = columns_of(_details(row) for row in rows)
    for name in metrics:
        cells = [_scores(row).get(name) for row in rows]
        has_failed = [name in _scores(row) and _scores(row)[name] is None for row in rows]
        columns |= score_columns(
            name, cells, [_FAILED if failed else None for failed in has_failed]
        )
    return ScoreFile(
        frame_of(columns),
        source.stem,
        metrics={name: _METRICS[name] for name in metrics if name in _METRICS},
        metric_columns=metrics,
        notes=tuple(_notes(run)),
    )


def _scores(row: JsonObject) -> JsonObject:
    return check_object(row.get("scores"), "scores")


def _details(row: JsonObject) -> dict[str, Any]:
    return {ours: row.get(theirs) for theirs, ours in _DETAILS.items()} | {
        key: value for key, value in row.items() if key not in (*_DETAILS, "scores")
    }


def _notes(run: JsonObject) -> Iterable[str]:
    if run.get("llm_evaluator"):
        yield f"judged by {run['llm_evaluator']}"


# -- tables


def _read_scores_table(
    source: Source, columns: Iterable[str] | None, query_id: str | None
) -> ScoreFile:
    if not _MARKS & set(header_of(source)):
        raise source.error(
            "expected a run of Tonic Validate: JSON with run_data, or a table with the columns "
            "reference_question and llm_answer"
        )
    table = read_table(source, columns=columns, query_id=query_id)
    frame = table.frame.rename(columns=_DETAILS)
    if "contexts" in frame:
        frame = frame.assign(contexts=pd.Series(map(parse_list, frame["contexts"]), dtype=object))
    return ScoreFile(
        frame,
        source.stem,
        metrics={name: _METRICS[name] for name in frame if name in _METRICS},
        notes=table.notes,
    )


TONIC_VALIDATE = Reader(
    "tonic_validate",
    "Tonic Validate's runs: JSON, or a table with reference_question and llm_answer",
    _recognise,
    read_tonic_validate,
    ("columns", "encoding", "query_id"),
    example="run.json",
)

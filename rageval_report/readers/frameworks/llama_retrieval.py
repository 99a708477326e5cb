"""LlamaIndex's results of evaluating a retriever: `RetrievalEvalResult`, dumped or as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile
from rageval_report.readers.cell_values import json_text
from rageval_report.readers.frameworks.json_rows import first_fields, read_rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.json_shapes import ShapeError, is_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.types import JsonObject

_METRICS, _SCORE, _METADATA = "metric_dict", ".score", ".metadata"
_NAMES = {
    "query": "question",
    "expected_ids": "relevant",
    "retrieved_ids": "retrieved",
    "retrieved_texts": "contexts",
}


def is_retrieval_file(source: Source) -> bool:
    """Whether a file holds results of a retriever, or lists of them by retriever."""
    return bool(_grouped(source.document_or_none())) or _are_results(first_fields(source))


def _are_results(names: Iterable[str]) -> bool:
    keys = set(names)
    has_metrics = _METRICS in keys or any(
        name.startswith(f"{_METRICS}.") and name.endswith(_SCORE) for name in keys
    )
    return has_metrics and {"query", "expected_ids", "retrieved_ids"} <= keys


def _grouped(document: object) -> dict[str, list[JsonObject]]:
    """The results by retriever; none for another document."""
    if not isinstance(document, dict):
        return {}
    is_grouped = document and all(
        is_records(results) and all(map(_are_results, results)) for results in document.values()
    )
    return document if is_grouped else {}


def read_retrieval(source: Source) -> list[ScoreFile]:
    """Read results of a retriever: one pipeline, or one per retriever if they are grouped.

    The metrics are the scores in ``metric_dict``, or the columns ``metric_dict.<metric>.score`` of
    a flat table. The question identifies the query.

    Raises
    ------
    ReaderError
        If the file holds something else.
    """
    grouped = _grouped(source.document_or_none())
    groups = grouped or {source.stem: read_rows(source)}
    return [_read_results(name, rows) for name, rows in groups.items()]


def _read_results(name: str, rows: Sequence[JsonObject]) -> ScoreFile:
    if not all(map(_are_results, rows)):
        raise ShapeError(f"each result must have query, expected_ids, retrieved_ids and {_METRICS}")
    judged = judgement_columns(_judgements(row) for row in rows)
    if not judged.metrics:
        raise ShapeError(f"the results of {name!r} have no score in {_METRICS}")
    details = drop_empty(columns_of(map(_other_fields, rows)))
    details = rename_clashes(details, judged.columns, "result")
    frame = frame_of({**details, **judged.columns})
    return ScoreFile(frame, name, metric_columns=judged.metrics, notes=judged.notes)


def _judgements(row: Mapping[str, Any]) -> dict[str, Judgement]:
    nested = row.get(_METRICS)
    scores = {
        str(metric): result.get("score") if isinstance(result, dict) else result
        for metric, result in (nested.items() if isinstance(nested, dict) else ())
    }
    before = f"{_METRICS}."
    scores |= {
        key.removeprefix(before).removesuffix(_SCORE): value
        for key, value in row.items()
        if key.startswith(before) and key.endswith(_SCORE)
    }
    return {metric: Judgement(score) for metric, score in scores.items()}


def _other_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        _NAMES.get(key, key): value
        for key, value in row.items()
        if key != _METRICS and not (key.startswith(_METRICS) and key.endswith((_SCORE, _METADATA)))
    }
    return {**fields, "question": json_text(fields.get("question"))}

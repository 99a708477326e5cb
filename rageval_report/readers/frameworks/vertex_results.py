"""The newer client of Vertex AI's evaluation service: an EvaluationResult, dumped as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile, distinct_names
from rageval_report.readers.cell_values import json_text, text_or_none
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.json_shapes import ShapeError, check_object, is_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

_RESULTS, _CASE_ID = "eval_case_results", "eval_case_id"
_TEXTS = {"prompt": "question", "response": "answer", "context": "contexts"}
_NO_SCORE = "the service wrote no score"


def _get(fields: Mapping[str, Any], key: str) -> Any:
    """The value of a key, which is written with underscores or in camel case."""
    first, *others = key.split("_")
    return fields.get(key, fields.get(first + "".join(word.capitalize() for word in others)))


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    if not isinstance(document, dict):
        return 0.0
    cases = _get(document, _RESULTS)
    if not is_records(cases):
        return 0.0
    return 0.96 if _get(cases[0], "response_candidate_results") is not None else 0.0


def read_vertex_results(source: Source) -> list[ScoreFile]:
    """Read an ``EvaluationResult`` of the client of Vertex AI: one pipeline per candidate.

    A metric with an error message, or without a score, has failed. The id of a case, else its
    prompt, identifies the query; without either, the position of the case.

    Raises
    ------
    ShapeError
        If it has another shape than the client writes.
    """
    document = check_object(source.document, "the result")
    cases = [check_object(case, "a case") for case in _list(document, _RESULTS)]
    n_candidates = max((len(_candidates(case)) for case in cases), default=0)
    if not n_candidates:
        raise ShapeError("no case has results of a candidate, so the file holds no scores")
    datasets = [_object(dataset) for dataset in _list(document, "evaluation_dataset")]
    names = _names(source, document, datasets, n_candidates)
    created = _created(_get(document, "metadata"))
    return [
        _read_candidate(name, place, cases, datasets, created)
        for place, name in enumerate(distinct_names(names))
    ]


def _candidates(case: JsonObject) -> list[JsonObject]:
    listed = _list(case, "response_candidate_results")
    return [check_object(each, "a candidate's result") for each in listed]


def _list(fields: Mapping[str, Any], key: str) -> list[Any]:
    """The list under a key; empty if there is none."""
    value = _get(fields, key)
    if value is not None and not isinstance(value, list):
        raise ShapeError(f"{key} must be a list; got {value!r:.60}")
    return value or []


def _object(value: object) -> JsonObject:
    """The object; empty if it is anything else, where only texts are looked for."""
    return value if isinstance(value, dict) else {}


def _names(
    source: Source, document: JsonObject, datasets: Sequence[Any], n_candidates: int
) -> list[str]:
    """The names of the candidates in the metadata, or in their data sets; else the file's."""
    listed = _list(_object(_get(document, "metadata")), "candidate_names")
    if len(listed) != n_candidates:
        listed = [_get(dataset, "candidate_name") for dataset in datasets]
    texts = [text_or_none(name) for name in listed]
    if len(texts) == n_candidates and all(texts):
        return [str(text) for text in texts]
    if n_candidates == 1:
        return [texts[0] if len(texts) == 1 and texts[0] else source.stem]
    return [f"{source.stem} {place + 1}" for place in range(n_candidates)]


def _created(metadata: object) -> datetime | None:
    stamp = _get(metadata, "creation_timestamp") if isinstance(metadata, dict) else None
    try:
        return datetime.fromisoformat(str(stamp).replace("Z", "+00:00"))
    except ValueError:
        return None


def _read_candidate(
    name: str,
    place: int,
    cases: Sequence[JsonObject],
    datasets: Sequence[Any],
    created: datetime | None,
) -> ScoreFile:
    """The scores of the candidate at a place, with the rows of its data set."""
    own = [_result_of(case, place) for case in cases]
    judged = judgement_columns([_judgements(result) for result in own])
    rows = _rows_of(datasets, place)
    # The index of a case is that of its row.
    indices = [_get(case, "eval_case_index") for case in cases]
    texts = [
        rows[index] if isinstance(index, int) and 0 <= index < len(rows) else {}
        for index in indices
    ]
    details = drop_empty(columns_of(texts), keep=())
    columns = {**rename_clashes(details, judged.columns, "data"), **judged.columns}
    ids = columns.pop(_CASE_ID, None)
    if ids is not None and None not in ids:
        columns = {QUERY_ID: list(map(str, ids)), **columns}
    elif None in columns.get("question", [None]):
        columns = {QUERY_ID: [f"case {index}" for index in indices], **columns}
    return ScoreFile(
        frame_of(columns),
        name,
        metric_columns=judged.metrics,
        notes=judged.notes,
        created=created,
        is_one_pipeline=True,
        totals="keep",
    )


def _result_of(case: JsonObject, place: int) -> JsonObject:
    """The result of the candidate at a place; empty if the case has none."""
    for position, result in enumerate(_candidates(case)):
        index = _get(result, "response_index")
        if (position if index is None else index) == place:
            return result
    return {}


def _judgements(result: JsonObject) -> dict[str, Judgement]:
    metrics = check_object(_get(result, "metric_results") or {}, "metric_results")
    return {metric: _judgement(check_object(fields, metric)) for metric, fields in metrics.items()}


def _judgement(fields: JsonObject) -> Judgement:
    error = text_or_none(_get(fields, "error_message"))
    score = fields.get("score")
    if error is not None or score is None:
        return Judgement(None, error or _NO_SCORE, is_failed=True)
    return Judgement(score, text_or_none(fields.get("explanation")))


# -- the data set


def _rows_of(datasets: Sequence[Any], place: int) -> list[dict[str, Any]]:
    """The texts of each case, as the candidate at a place answered it."""
    # Candidates have a data set each, or share one whose cases have several responses.
    dataset = datasets[place] if place < len(datasets) else (datasets[0] if datasets else {})
    table = _get(dataset, "eval_dataset_df")
    if is_records(table):
        return [{_TEXTS.get(key, key): cell for key, cell in row.items()} for row in table]
    cases = map(_object, _list(dataset, "eval_cases"))
    return [_row_of_case(case, place if len(datasets) == 1 else 0) for case in cases]


def _row_of_case(case: JsonObject, place: int) -> dict[str, Any]:
    responses = _list(case, "responses")
    answer = _object(responses[place]) if place < len(responses) else {}
    return {
        "question": _text_of(case.get("prompt")),
        "answer": _text_of(answer.get("response")),
        "reference": _text_of(_object(case.get("reference")).get("response")),
        _CASE_ID: _get(case, _CASE_ID),
    }


def _text_of(content: object) -> str | None:
    """The text of a message, which is a list of parts."""
    if not isinstance(content, dict):
        return json_text(content)
    parts = _list(content, "parts")
    texts = [part["text"] for part in parts if isinstance(part, dict) and part.get("text")]
    return "\n".join(map(str, texts)) or None


VERTEX_RESULTS = Reader(
    "vertex_results",
    "Vertex AI's newer client: an EvaluationResult dumped as JSON, one pipeline per candidate",
    _recognise,
    read_vertex_results,
    ("encoding",),
    example="evaluation_result.json",
)

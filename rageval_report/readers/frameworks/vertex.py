"""Vertex AI's evaluation service: metrics tables, and the EvaluationResult of the newer client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile, distinct_names
from rageval_report.readers.cell_values import json_text, parse_columns, text_or_none
from rageval_report.readers.frameworks.format import SURE, at, part, spelled, without
from rageval_report.readers.frameworks.rows import (
    ON_GRADES,
    Judgement,
    are_grades,
    content_text,
    drop_empty,
    judge,
    judgement_columns,
    overrides_of,
    score_file,
    time_in,
)
from rageval_report.readers.json_shapes import ShapeError, check_object, is_records
from rageval_report.readers.record_columns import columns_of, rows_of
from rageval_report.readers.table_files import dialect
from rageval_report.types import JsonObject

_SCORE, _EXPLANATION, _CHOICE = "/score", "/explanation", "/pairwise_choice"
_TEXTS = {"prompt": "question", "response": "answer", "context": "contexts"}

# -- metrics tables


def _recognise(names: frozenset[str]) -> float:
    has_score = any(name.endswith((_SCORE, _CHOICE)) for name in names)
    # MLflow's tables have names like these, but a version or a justification beside them.
    is_of_mlflow = any("/v" in name or name.endswith("/justification") for name in names)
    texts = {"prompt", "response", "reference", "baseline_model_response", "instruction"}
    has_explanation = any(name.endswith(_EXPLANATION) for name in names)
    is_vertex = has_explanation or len(names & texts) > 1
    return SURE if has_score and is_vertex and not is_of_mlflow else 0.0


def _read_vertex(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read a metrics_table of Vertex AI: ``<metric>/score`` and ``<metric>/explanation``."""
    cells = parse_columns(frame)
    metrics = [name.removesuffix(_SCORE) for name in cells if name.endswith(_SCORE)]
    if not metrics:
        choices = [name for name in cells if name.endswith(_CHOICE)]
        raise source.error(
            f"{named(choices)} are choices between two models, and no column is a score; expected "
            "a column <metric>/score"
        )
    rows = rows_of(cells)
    judged = judgement_columns({name: _cell(row, name) for name in metrics} for row in rows)
    scales = overrides_of(
        lambda name, scores: (
            ON_GRADES if name + _EXPLANATION in cells and are_grades(scores, whole=True) else None
        ),
        judged,
    )
    notes = [f"read as grades from 1 to 5: {named(scales)}"] if scales else []
    n_failed = sum(map(_has_failed, rows))
    if n_failed:
        notes.append(f"the model failed in {n_failed} rows, whose scores do not count")
    used = {f"{metric}{end}" for metric in metrics for end in (_SCORE, _EXPLANATION)}
    details: CellsByColumn = {}
    for name, column in without(cells, used).items():
        ours = name if _TEXTS.get(name, name) in cells else _TEXTS.get(name, name)
        # Questions identify rows, so they must be texts.
        details[ours] = list(map(json_text, column)) if ours == "question" else column
    return [
        score_file(
            source.stem, judged, drop_empty(details), origin="data", metrics=scales, notes=notes
        )
    ]


def _has_failed(row: JsonObject) -> bool:
    """Whether the model failed after all retries, which is written in place of its answer."""
    return bool(row.get("response") == "Error")


def _cell(row: JsonObject, metric: str) -> Judgement:
    if _has_failed(row):
        return Judgement(None, "the model gave no answer", is_failed=True)
    return judge(row[metric + _SCORE], text_or_none(row.get(metric + _EXPLANATION)))


VERTEX = dialect(
    "vertex",
    "Vertex AI evaluation: the metrics_table (<metric>/score, <metric>/explanation) as any table",
    _recognise,
    _read_vertex,
    example="metrics_table.csv",
)


# -- results of the newer client

_CASE_ID = "eval_case_id"


def _recognise_results(source: Source) -> float:
    cases = at(source.document_or_none(), "eval_case_results|evalCaseResults")
    is_result = is_records(cases) and spelled(cases[0], "response_candidate_results") is not None
    return 0.96 if is_result else 0.0


def _read_results(source: Source) -> list[ScoreFile]:
    """Read an ``EvaluationResult`` of the client of Vertex AI: one pipeline per candidate."""
    document = check_object(source.document, "the result")
    cases = [check_object(case, "a case") for case in _list(document, "eval_case_results")]
    n_candidates = max((len(_candidates(case)) for case in cases), default=0)
    if not n_candidates:
        raise ShapeError("no case has results of a candidate, so the file holds no scores")
    datasets = [
        each if isinstance(each, dict) else {} for each in _list(document, "evaluation_dataset")
    ]
    names = _names(source.stem, document, datasets, n_candidates)
    created = time_in(at(document, "metadata.creation_timestamp|metadata.creationTimestamp"))
    return [
        _candidate_file(name, place, cases, _rows_of(datasets, place), created)
        for place, name in enumerate(distinct_names(names))
    ]


def _list(fields: Mapping[str, Any], key: str) -> list[Any]:
    """The list under a key; empty if there is none."""
    value = spelled(fields, key)
    if value is not None and not isinstance(value, list):
        raise ShapeError(f"{key} must be a list; got {value!r:.60}")
    return value or []


def _candidates(case: JsonObject) -> list[JsonObject]:
    listed = _list(case, "response_candidate_results")
    return [check_object(each, "a candidate's result") for each in listed]


def _names(
    stem: str, document: JsonObject, datasets: Sequence[JsonObject], n_candidates: int
) -> list[str]:
    """The names of the candidates in the metadata, or in their data sets; else the file's."""
    listed = _list(part(document, "metadata"), "candidate_names")
    if len(listed) != n_candidates:
        listed = [spelled(dataset, "candidate_name") for dataset in datasets]
    texts = [text for name in listed if (text := text_or_none(name))]
    if len(texts) == len(listed) == n_candidates:
        return texts
    if n_candidates == 1:
        return [texts[0] if len(texts) == len(listed) == 1 else stem]
    return [f"{stem} {place + 1}" for place in range(n_candidates)]


def _candidate_file(
    name: str,
    place: int,
    cases: Sequence[JsonObject],
    rows: Sequence[JsonObject],
    created: datetime | None,
) -> ScoreFile:
    """The scores of the candidate at a place, with the rows of its data set."""
    # The index of a case is that of its row.
    indices = [spelled(case, "eval_case_index") for case in cases]
    details = columns_of(
        rows[index] if isinstance(index, int) and 0 <= index < len(rows) else {}
        for index in indices
    )
    ids = details.pop(_CASE_ID, [None])
    if None in ids:
        has_questions = None not in details.get("question", [None])
        ids = [] if has_questions else [f"case {index}" for index in indices]
    return score_file(
        name,
        [_judgements(_result_of(case, place)) for case in cases],
        drop_empty(details, ()),
        ids=ids or None,
        origin="data",
        created=created,
        is_one_pipeline=True,
        averages=False,
    )


def _result_of(case: JsonObject, place: int) -> JsonObject:
    """The result of the candidate at a place; empty if the case has none."""
    for position, result in enumerate(_candidates(case)):
        index = spelled(result, "response_index")
        if (position if index is None else index) == place:
            return result
    return {}


def _judgements(result: JsonObject) -> dict[str, Judgement]:
    metrics = check_object(spelled(result, "metric_results") or {}, "metric_results")
    return {metric: _judgement(check_object(fields, metric)) for metric, fields in metrics.items()}


def _judgement(fields: JsonObject) -> Judgement:
    error = text_or_none(spelled(fields, "error_message"))
    if error is not None:
        return Judgement(None, error, is_failed=True)
    reason = text_or_none(fields.get("explanation"))
    return judge(fields.get("score"), reason, "the service wrote no score")


def _rows_of(datasets: Sequence[JsonObject], place: int) -> list[JsonObject]:
    """The texts of each case, as the candidate at a place answered it."""
    # Candidates have a data set each, or share one whose cases have several responses.
    dataset = datasets[place] if place < len(datasets) else next(iter(datasets), {})
    table = spelled(dataset, "eval_dataset_df")
    if is_records(table):
        return [{_TEXTS.get(key, key): cell for key, cell in row.items()} for row in table]
    cases = _list(dataset, "eval_cases")
    return [
        _row(case if isinstance(case, dict) else {}, place if len(datasets) == 1 else 0)
        for case in cases
    ]


def _row(case: JsonObject, place: int) -> JsonObject:
    responses = _list(case, "responses")
    return {
        "question": _text(case.get("prompt")),
        "answer": _text(at(responses[place], "response")) if place < len(responses) else None,
        "reference": _text(at(case, "reference.response")),
        _CASE_ID: spelled(case, _CASE_ID),
    }


def _text(message: object) -> str | None:
    """The text of a message, which is a list of parts."""
    return content_text(_list(message, "parts") if isinstance(message, dict) else message)


VERTEX_RESULTS = Reader(
    "vertex_results",
    "Vertex AI's newer client: an EvaluationResult dumped as JSON, one pipeline per candidate",
    _recognise_results,
    _read_results,
    ("encoding",),
    example="evaluation_result.json",
)

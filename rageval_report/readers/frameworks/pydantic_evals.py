"""pydantic-evals: evaluation reports dumped as JSON, one or a list of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile, distinct_names
from rageval_report.readers.cell_values import number_or_none, text_or_none
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    average_repeats,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.frameworks.row_parts import collect_details
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.scores.metric import Catalogue
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

_CASE = frozenset(("name", "inputs", "scores", "assertions", "labels"))
_FAILURE = frozenset(("name", "inputs", "error_message"))
_SECONDS = 1000.0  # task_duration, in milliseconds
_NO_MESSAGE = "the task failed; the report does not say why"


def _recognise(source: Source) -> float:
    return 0.95 if _reports(source.document_or_none()) else 0.0


def _reports(document: object) -> list[JsonObject]:
    """The reports in a document; none if it holds something else."""
    reports: list[Any] = document if isinstance(document, list) else [document]
    return reports if is_records(reports) and all(map(_is_report, reports)) else []


def _is_report(document: JsonObject) -> bool:
    cases, failures = document.get("cases"), document.get("failures")
    if not isinstance(cases, list) or not isinstance(failures or [], list):
        return False
    if not (is_records(cases) or is_records(failures)):
        return False
    are_cases = all(isinstance(case, dict) and set(case) >= _CASE for case in cases)
    return are_cases and all(
        isinstance(case, dict) and set(case) >= _FAILURE for case in failures or []
    )


def read_pydantic_evals(source: Source) -> list[ScoreFile]:
    """Read reports of pydantic-evals: one pipeline per report, named as it is.

    Scores and assertions are metrics, an assertion 1 or 0; labels and attributes are details. A
    case whose task raised has failed in all metrics; where an evaluator raised, its metrics have
    failed. Repeats of a case become one row.

    Raises
    ------
    ReaderError
        If the file is not such a report, or has no score.
    """
    reports = _reports(source.document_or_none())
    if not reports:
        raise source.error("expected a report of pydantic-evals: an object with cases and failures")
    names = distinct_names(text_or_none(report.get("name")) or source.stem for report in reports)
    return [_read_report(source, *pair) for pair in zip(names, reports, strict=True)]


def _read_report(source: Source, name: str, report: JsonObject) -> ScoreFile:
    cases = check_records(report.get("cases"), "cases")
    failures = check_records(report.get("failures"), "failures")
    rows = [*cases, *failures]
    metrics_of = _metrics_by_evaluator(cases)
    measured = _known_measures(cases)
    judged = judgement_columns(
        [
            *({**_judgements(case, metrics_of), **_measures(case, measured)} for case in cases),
            *({} for _ in failures),
        ],
        [*(None for _ in cases), *(_message(case) for case in failures)],
    )
    if not judged.metrics:
        raise source.error(f"the report {name!r} has no score and no assertion")
    latency = drop_empty({"latency_ms": [_milliseconds(case) for case in rows]})
    measures = {key: cells for key, cells in latency.items() if key not in judged.columns}
    columns = {**judged.columns, **measures}
    details = rename_clashes(_details(rows, measured), {*columns, QUERY_ID}, "case")
    ids = [str(case.get("source_case_name") or case.get("name")) for case in rows]
    frame = frame_of({QUERY_ID: ids, **details, **columns})
    metrics = (*judged.metrics, *measures)
    frame, repeats = average_repeats(frame, QUERY_ID, metrics)
    notes = ("query ids are the names of the cases", *judged.notes, *repeats)
    config = {
        key: report[key]
        for key in ("dataset_name", "experiment_metadata")
        if report.get(key) is not None
    }
    return ScoreFile(frame, name, metric_columns=metrics, notes=notes, config=config)


# -- scores


def _results(case: JsonObject) -> dict[str, JsonObject]:
    """The scores and assertions of a case by name."""
    return {
        str(name): check_object(result, f"the result {name!r}")
        for nest in ("scores", "assertions")
        for name, result in check_object(case.get(nest), nest).items()
    }


def _source_name(result: JsonObject) -> str:
    source = result.get("source")
    return str(source.get("name")) if isinstance(source, dict) else ""


def _metrics_by_evaluator(cases: Iterable[JsonObject]) -> dict[str, list[str]]:
    """The metrics that each evaluator gives where it does not fail."""
    metrics: dict[str, dict[str, None]] = {}
    for case in cases:
        for name, result in _results(case).items():
            metrics.setdefault(_source_name(result), {})[name] = None
    return {evaluator: list(names) for evaluator, names in metrics.items()}


def _judgements(case: JsonObject, metrics_of: Mapping[str, list[str]]) -> dict[str, Judgement]:
    judgements = {}
    for failure in check_records(case.get("evaluator_failures"), "evaluator_failures"):
        reason = text_or_none(failure.get("error_message"))
        evaluator = _source_name(failure) or str(failure.get("name"))
        for name in metrics_of.get(evaluator, [str(failure.get("name"))]):
            judgements[name] = Judgement(None, reason, is_failed=True)
    for name, result in _results(case).items():
        judgements[name] = Judgement(result.get("value"), text_or_none(result.get("reason")))
    return judgements


def _known_measures(cases: Iterable[JsonObject]) -> list[str]:
    """The numbers that the task reported under the names of known metrics; others are details."""
    catalogue = Catalogue()
    names = dict.fromkeys(
        str(name) for case in cases for name in check_object(case.get("metrics"), "metrics")
    )
    return [name for name in names if catalogue.find(name) is not None]


def _measures(case: JsonObject, names: Iterable[str]) -> dict[str, Judgement]:
    numbers = check_object(case.get("metrics"), "metrics")
    return {name: Judgement(numbers[name]) for name in names if name in numbers}


def _message(failure: JsonObject) -> str:
    return text_or_none(failure.get("error_message")) or _NO_MESSAGE


def _milliseconds(case: JsonObject) -> float | None:
    seconds = number_or_none(case.get("task_duration"))
    return None if seconds is None else seconds * _SECONDS


# -- details


def _details(cases: list[JsonObject], measured: Iterable[str]) -> CellsByColumn:
    texts = collect_details(
        ("inputs", "question", [case.get("inputs") for case in cases]),
        ("output", "answer", [case.get("output") for case in cases]),
        ("expected_output", "reference", [case.get("expected_output") for case in cases]),
    )
    others = columns_of(_other_fields(case, set(measured)) for case in cases)
    errors = [
        _message(case) if "error_message" in case and "scores" not in case else None
        for case in cases
    ]
    details = {**texts, **rename_clashes(others, texts, "case"), "error": errors}
    return drop_empty(details)


def _other_fields(case: JsonObject, measured: set[str]) -> dict[str, Any]:
    """The labels, attributes, metadata and other numbers of a case."""
    fields: dict[str, Any] = {}
    for nest in ("metadata", "attributes", "metrics"):
        part = case.get(nest)
        own = part if isinstance(part, dict) else {nest: part}
        fields |= {str(key): value for key, value in own.items() if key not in measured}
    for key, label in check_object(case.get("labels"), "labels").items():
        fields[str(key)] = label.get("value") if isinstance(label, dict) else label
    return fields


PYDANTIC_EVALS = Reader(
    "pydantic_evals",
    "pydantic-evals: evaluation reports as JSON, with cases and failures",
    _recognise,
    read_pydantic_evals,
    ("encoding",),
    example="report.json",
)

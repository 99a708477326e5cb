"""Platforms for experiments: Braintrust, LangSmith, Opik, pydantic-evals and Weave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile, distinct_names
from rageval_report.readers.cell_values import number_or_none, parse_rows, text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    at,
    first_fields,
    groups_of,
    nested,
    part,
    read_rows,
    reader_of,
    reader_of_frames,
    without,
)
from rageval_report.readers.frameworks.rows import Judgement, last_line, own_ids, time_in
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.scores.metric import Catalogue
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

# -- Braintrust

_ERRORS = "scorer_errors"


def _read_braintrust(source: Source) -> list[ScoreFile]:
    """Read an experiment: one pipeline, without the inner spans of an export."""
    rows = read_rows(source, *_BRAINTRUST.rows)
    roots = [row for row in rows if row.get("span_id") == row.get("root_span_id")]
    is_export = 0 < len(roots) < len(rows)
    inner = f"{len(rows) - len(roots)} rows are inner spans of a case and are left out"
    cases = list(map(_braintrust_case, roots if is_export else rows))
    return [_BRAINTRUST.score_file(source.stem, cases, [inner] if is_export else ())]


def _braintrust_case(row: JsonObject) -> JsonObject:
    case = nested(row, ["scores"])
    metadata = check_object(case.get("metadata"), "metadata")
    metrics = check_object(case.get("metrics"), "metrics")
    start, end = number_or_none(metrics.get("start")), number_or_none(metrics.get("end"))
    # The id of a row is new in each experiment and would pair with nothing.
    return {("row_id" if key == "id" else key): cell for key, cell in case.items()} | {
        "scores": check_object(case.get("scores"), "scores"),
        "metadata": without(metadata, [_ERRORS]),
        "seconds": None if start is None or end is None else end - start,
        _ERRORS: check_object(metadata.get(_ERRORS), f"metadata.{_ERRORS}"),
    }


def _braintrust_scores(rows: Sequence[JsonObject]) -> Iterator[dict[str, Judgement]]:
    """The scores; one that is missing has failed if its scorer, or one without a name, did."""
    names = dict.fromkeys(str(name) for row in rows for name in row["scores"])
    for row in rows:
        scores, errors = row["scores"], row[_ERRORS]
        judgements = {}
        for name in names:
            # Braintrust leaves out the key of a failed score and files the error under the
            # scorer's name, which need not be the score's.
            own = [errors[name]] if name in errors else list(errors.values())
            reasons = dict.fromkeys(last_line(error) or "the scorer failed" for error in own)
            missing = Judgement(None, "; ".join(reasons) or None, bool(own))
            judgements[name] = Judgement(scores[name]) if name in scores else missing
        yield judgements


_BRAINTRUST = Format.of("braintrust", judge=_braintrust_scores)
BRAINTRUST = reader_of("braintrust", _BRAINTRUST.recognise, _read_braintrust)


# -- LangSmith

_PREFIXES = ("inputs", "outputs", "reference", "feedback")


def _is_langsmith(names: frozenset[str]) -> float:
    starts = {name.split(".", 1)[0] for name in names if "." in name}
    is_run = "example_id" in names or "execution_time" in names
    return SURE if {"inputs", "feedback"} <= starts and is_run else 0.0


def _read_langsmith(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    rows = [nested(row, _PREFIXES) for row in parse_rows(frame)]
    return [_LANGSMITH.score_file(source.stem, rows)]


_LANGSMITH = Format.of("langsmith")
LANGSMITH = reader_of_frames("langsmith", _is_langsmith, _read_langsmith)


# -- Opik


def _read_opik(source: Source) -> list[ScoreFile]:
    """Read test results: one pipeline per experiment."""
    rows = read_rows(source, *_OPIK.rows)
    if not all(map(_OPIK.fits, rows)):
        raise source.error("expected test results of Opik, each with test_case and score_results")
    stem = text_or_none(at(source.document_or_none(), "experiment_name")) or source.stem
    groups = groups_of(rows, lambda row: text_or_none(row.get("experiment_name")) or stem)
    return [_OPIK.score_file(name, group) for name, group in groups.items()]


_OPIK = Format.of("opik")
OPIK = reader_of("opik", _OPIK.recognise, _read_opik)


# -- pydantic-evals

_CASE = frozenset(("name", "inputs", "scores", "assertions", "labels"))
_FAILURE = frozenset(("name", "inputs", "error_message"))
_NO_MESSAGE = "the task failed; the report does not say why"


def _reports(document: object) -> list[JsonObject]:
    """The reports in a document; none if it holds something else."""
    reports: list[Any] = document if isinstance(document, list) else [document]
    return reports if is_records(reports) and all(map(_is_report, reports)) else []


def _is_report(document: JsonObject) -> bool:
    cases, failures = document.get("cases"), document.get("failures") or []
    if not isinstance(cases, list) or not isinstance(failures, list) or not cases + failures:
        return False
    rows = [(case, _CASE) for case in cases] + [(case, _FAILURE) for case in failures]
    return all(isinstance(row, dict) and row.keys() >= fields for row, fields in rows)


def _read_reports(source: Source) -> list[ScoreFile]:
    """Read reports of pydantic-evals: one pipeline per report, named as it is."""
    reports = _reports(source.document_or_none())
    if not reports:
        raise source.error("expected a report of pydantic-evals: an object with cases and failures")
    names = distinct_names(text_or_none(report.get("name")) or source.stem for report in reports)
    files = []
    for name, report in zip(names, reports, strict=True):
        rows = [*report["cases"], *map(_failed_case, report.get("failures") or [])]
        metrics = [check_object(row.get("metrics"), "metrics") for row in rows]
        names_of_numbers = {str(key) for numbers in metrics for key in numbers}
        # Numbers under the names of known metrics are scores; others are details.
        known = {key for key in names_of_numbers if Catalogue().find(key) is not None}
        config = {key: report.get(key) for key in ("dataset_name", "experiment_metadata")}
        config = {key: value for key, value in config.items() if value is not None}
        cases = list(map(partial(_case, known=known), rows))
        files.append(_PYDANTIC_EVALS.score_file(name, cases, config=config))
    return files


def _failed_case(case: JsonObject) -> JsonObject:
    return {**case, "error": text_or_none(case.get("error_message")) or _NO_MESSAGE}


def _case(case: JsonObject, known: set[str]) -> JsonObject:
    """The case with its labels, attributes, metadata and other numbers in one object."""
    fields: dict[str, Any] = {}
    for nest in ("metadata", "attributes", "metrics"):
        inner = case.get(nest)
        fields |= inner if isinstance(inner, dict) else {nest: inner}
    for key, label in check_object(case.get("labels"), "labels").items():
        fields[str(key)] = label.get("value") if isinstance(label, dict) else label
    measured = {name: cell for name, cell in part(case, "metrics").items() if name in known}
    query_id = case.get("source_case_name") or str(case.get("name"))
    return {**case, "case_id": query_id, "fields": without(fields, known), "measured": measured}


def _case_scores(rows: Sequence[JsonObject]) -> Iterator[dict[str, Judgement]]:
    """The scores and assertions; where an evaluator raised, all of its metrics have failed."""
    results = [_results(row) for row in rows]
    metrics_of: dict[str, dict[str, None]] = {}
    for by_name in results:
        for name, result in by_name.items():
            metrics_of.setdefault(_evaluator(result), {})[name] = None
    for row, by_name in zip(rows, results, strict=True):
        judgements = {}
        for failure in check_records(row.get("evaluator_failures"), "evaluator_failures"):
            reason = text_or_none(failure.get("error_message"))
            evaluator = _evaluator(failure) or str(failure.get("name"))
            for name in metrics_of.get(evaluator, [str(failure.get("name"))]):
                judgements[name] = Judgement(None, reason, is_failed=True)
        for name, result in by_name.items():
            judgements[name] = Judgement(result.get("value"), text_or_none(result.get("reason")))
        yield judgements | {name: Judgement(value) for name, value in row["measured"].items()}


def _results(row: JsonObject) -> dict[str, JsonObject]:
    return {
        str(name): check_object(result, f"the result {name!r}")
        for nest in ("scores", "assertions")
        for name, result in check_object(row.get(nest), nest).items()
    }


def _evaluator(result: Mapping[str, Any]) -> str:
    name = at(result, "source.name")
    return "" if name is None else str(name)


_PYDANTIC_EVALS = Format.of("pydantic_evals", judge=_case_scores)
PYDANTIC_EVALS = reader_of(
    "pydantic_evals",
    lambda source: SURE if _reports(source.document_or_none()) else 0.0,
    _read_reports,
)


# -- Weave

_OP, _SCORES = "Evaluation.predict_and_score", "output.scores"
_REASONS = ("reason", "explanation", "rationale", "justification", "comment")
_ROW = "/id/"  # before a row's digest, in the reference of a row of a data set


def _is_weave(source: Source) -> float:
    names = first_fields(source, "calls")
    if any(name.startswith(f"{_SCORES}.") for name in names):
        return SURE if any(name.startswith("inputs.") for name in names) else 0.0
    is_call = {"op_name", "inputs", "output"} <= names
    return SURE if is_call and _OP.encode() in source.sample else 0.0


def _read_weave(source: Source) -> list[ScoreFile]:
    """Read the calls of Weave's evaluations: a pipeline for each evaluation of a model."""
    rows = [nested(row, ("inputs", "output", "summary"), -1) for row in read_rows(source, "calls")]
    calls = [row for row in rows if _is_evaluation(row)]
    if not calls:
        raise source.error(f"no call of {_OP} is in the file; other calls have no scores")
    # Two evaluations of one model are two pipelines.
    groups = groups_of(
        calls, lambda call: f"{call.get('parent_id') or call.get('trace_id')} {_model(call)}"
    )
    names = distinct_names(_model(group[0]) or source.stem for group in groups.values())
    n_others = len(rows) - len(calls)
    notes = [f"{n_others} calls of other operations are left out"] if n_others else []
    return [
        _weave_group(name, group, notes) for name, group in zip(names, groups.values(), strict=True)
    ]


def _is_evaluation(row: JsonObject) -> bool:
    op_name = row.get("op_name")
    return _OP in op_name if isinstance(op_name, str) else isinstance(at(row, _SCORES), dict)


def _model(row: JsonObject) -> str:
    """The name of the model with its version, without the project."""
    model = at(row, "inputs.model")
    if isinstance(model, dict):
        model = model.get("ref") or model.get("name") or model.get("_class_name")
    text = text_or_none(model) or ""
    return text.rpartition("/")[2] or text


def _leaves(
    scores: Mapping[str, Any], before: str = "", reason: str | None = None
) -> Iterator[tuple[str, object, str | None]]:
    """The name, value and reason of the numbers, words and lists at any depth."""
    for key, value in scores.items():
        if isinstance(value, dict):
            texts = (text_or_none(value.get(label)) for label in _REASONS)
            own = next((text for text in texts if text), reason)
            yield from _leaves(value, f"{before}{key}.", own)
        elif not (key in _REASONS and before):
            yield f"{before}{key}", value, reason


def _weave_group(name: str, calls: Sequence[JsonObject], notes: Iterable[str]) -> ScoreFile:
    examples = [at(call, "inputs.example") for call in calls]
    are_references = all(isinstance(example, str) and _ROW in example for example in examples)
    key, ids = own_ids(examples) or ("", [])
    id_notes = [f"query ids are taken from 'example.{key}'"] if ids else []
    if are_references:
        ids = [str(example).rpartition(_ROW)[2] for example in examples]
        id_notes = ["query ids are the digests of the data set's rows"]
    leaves = [list(_leaves(part(call, _SCORES))) for call in calls]
    # A null is a failed score only of a scorer that gives numbers; beside words it is no label.
    scored = {leaf[0] for own in leaves for leaf in own if isinstance(leaf[1], bool | int | float)}
    words = {leaf[0] for own in leaves for leaf in own if isinstance(leaf[1], str | list)}
    empty = {leaf[0] for own in leaves for leaf in own} - scored - words
    left_out = [f"left out, because they have no score: {named(sorted(empty))}"] if empty else []
    rows = [
        {
            **call,
            "scores": {
                label: Judgement(value, reason, is_failed=value is None)
                for label, value, reason in own
                if label in scored and not isinstance(value, str | list)
            },
            "words": {label: value for label, value, _ in own if isinstance(value, str | list)},
            "example": None if are_references else example,
            "answer": at(call, "output.output|output.model_output"),
            "exception": text_or_none(call.get("exception")),
            QUERY_ID: query_id or None,
        }
        for call, own, example, query_id in zip(
            calls, leaves, examples, ids or [""] * len(calls), strict=True
        )
    ]
    started = sorted(text for call in calls if (text := text_or_none(call.get("started_at"))))
    created = time_in(started[0]) if started else None
    return _WEAVE.score_file(name, rows, (*notes, *id_notes, *left_out), created=created)


_WEAVE = Format.of("weave")
WEAVE = reader_of("weave", _is_weave, _read_weave)

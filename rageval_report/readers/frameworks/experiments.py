"""Experiments of Braintrust, LangSmith, Opik and pydantic-evals: cases with their scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile, distinct_names
from rageval_report.readers.cell_values import none_if_nan, number_or_none, text_or_none
from rageval_report.readers.frameworks.format import SURE, Format, at, groups_of, without
from rageval_report.readers.frameworks.rows import SECONDS, Judgement, last_line
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.readers.table_files import dialect
from rageval_report.scores.metric import Catalogue
from rageval_report.types import JsonObject

# -- Braintrust

_ERRORS = "scorer_errors"


def _braintrust_cases(
    rows: Sequence[JsonObject],
) -> tuple[list[JsonObject], tuple[str, ...]]:
    """The cases with their scores as an object, without the inner spans of an export."""
    roots = [row for row in rows if row.get("span_id") == row.get("root_span_id")]
    is_export = 0 < len(roots) < len(rows)
    cases: list[JsonObject] = []
    for row in roots if is_export else rows:
        flat = {key.removeprefix("scores."): row[key] for key in row if key.startswith("scores.")}
        metadata = check_object(row.get("metadata"), "metadata")
        metrics = check_object(row.get("metrics"), "metrics")
        start, end = number_or_none(metrics.get("start")), number_or_none(metrics.get("end"))
        seconds = None if start is None or end is None else end - start
        scores = {**flat, **check_object(row.get("scores"), "scores")}
        cases.append(
            # The id of a row is new in each experiment and would pair with nothing.
            {("row_id" if key == "id" else key): cell for key, cell in row.items()}
            | {"scores": scores, "metadata": without(metadata, [_ERRORS]), "seconds": seconds}
            | {_ERRORS: check_object(metadata.get(_ERRORS), f"metadata.{_ERRORS}")}
        )
    inner = f"{len(rows) - len(roots)} rows are inner spans of a case and are left out"
    return cases, (inner,) if is_export else ()


def _braintrust_scores(rows: Sequence[JsonObject]) -> Iterator[dict[str, Judgement]]:
    """The scores; one that is missing has failed if its scorer, or one without a name, did."""
    names = dict.fromkeys(str(name) for row in rows for name in row["scores"])
    for row in rows:
        scores, errors = row["scores"], row[_ERRORS]
        judgements = {name: Judgement(scores[name]) for name in names if name in scores}
        for name in names.keys() - judgements.keys():
            # Braintrust leaves out the key of a failed score and files the error under the
            # scorer's name, which need not be the score's.
            own = [errors[name]] if name in errors else list(errors.values())
            reasons = dict.fromkeys(last_line(error) or "the scorer failed" for error in own)
            judgements[name] = Judgement(None, "; ".join(reasons) or None, bool(own))
        yield {name: judgements[name] for name in names}


_BRAINTRUST = Format(
    "braintrust",
    "Braintrust: experiments with one scores{} per row, as JSON, JSON Lines or CSV",
    "results.json",
    has=frozenset(("input", "output", "expected", "metadata", "scores")),
    rows=("results",),
    select=_braintrust_cases,
    judge=_braintrust_scores,
    # Rows of one case have no id in common (0.47.0); its trials share input and expected value.
    case=("input", "expected"),
    parts={
        "input": ("question", "input"),
        "output": ("answer", "output"),
        "expected": ("reference", "expected"),
    },
    nests={"metadata": "metadata"},
    others="row",
    origin="metadata",
    own=("metrics", "seconds", _ERRORS),
    error="error",
    measures_first=True,
    measures={
        "latency_ms": ("seconds", SECONDS),
        "prompt_tokens": ("metrics.prompt_tokens", 1),
        "completion_tokens": ("metrics.completion_tokens", 1),
        "total_tokens": ("metrics.tokens", 1),
        "cost_usd": ("metrics.estimated_cost", 1),
    },
)
BRAINTRUST = _BRAINTRUST.reader()


# -- LangSmith

_PREFIXES = ("inputs", "outputs", "reference", "feedback")


def _is_langsmith(names: frozenset[str]) -> float:
    starts = {name.split(".", 1)[0] for name in names if "." in name}
    is_run = "example_id" in names or "execution_time" in names
    return SURE if {"inputs", "feedback"} <= starts and is_run else 0.0


def _langsmith_runs(rows: Sequence[JsonObject]) -> tuple[list[JsonObject], tuple[str, ...]]:
    """The rows with the columns "inputs.x" as an object "inputs", and so on."""
    runs: list[JsonObject] = []
    for row in rows:
        run: dict[str, Any] = {name: {} for name in _PREFIXES}
        for key, cell in row.items():
            start, dot, name = key.partition(".")
            if dot and start in _PREFIXES:
                run[start][name] = cell
            elif key not in _PREFIXES:
                run[key] = cell
        runs.append(run)
    is_timed = any(number_or_none(run.get("execution_time")) is not None for run in runs)
    return runs, ("'execution_time' in seconds became 'latency_ms'",) if is_timed else ()


_LANGSMITH = Format(
    "langsmith",
    "LangSmith: the frame of an experiment's results (inputs.*, outputs.*, feedback.*)",
    "experiment.csv",
    select=_langsmith_runs,
    judge=lambda rows: [
        {name: Judgement(cell) for name, cell in row["feedback"].items()} for row in rows
    ],
    # The example's id is the same in every experiment on a data set; the run's own `id` is not.
    id="example_id",
    id_note="query ids are taken from column 'example_id'",
    parts={
        "inputs": ("question", "inputs"),
        "outputs": ("answer", "outputs"),
        "reference": ("reference", "reference"),
    },
    texts={"run_id": "id"},
    others="run",
    own=("feedback", "execution_time", "example_id"),
    error="error",
    measures={"latency_ms": ("execution_time", SECONDS)},
)
LANGSMITH = dialect(
    _LANGSMITH.name, _LANGSMITH.sentence, _is_langsmith, _LANGSMITH.read_frame, _LANGSMITH.example
)


# -- Opik


def _opik_scores(rows: Sequence[JsonObject]) -> Iterator[dict[str, Judgement]]:
    for row in rows:
        check_object(row["test_case"], "test_case")
        results = check_records(row["score_results"], "score_results")
        by_name = groups_of(results, lambda result: str(result.get("name")))
        yield {name: _opik_score(several) for name, several in by_name.items()}


def _opik_score(results: Sequence[JsonObject]) -> Judgement:
    """The score of a name, or the mean of several."""
    # Opik (2.2.122) writes the value 0.0 beside scoring_failed.
    scored = [result for result in results if result.get("scoring_failed") is not True]
    reasons = [text_or_none(result.get("reason")) for result in scored or results]
    reason = "; ".join(dict.fromkeys(text for text in reasons if text)) or None
    if not scored:
        return Judgement(None, reason, is_failed=True)
    values = [none_if_nan(result.get("value")) for result in scored]
    numbers = [number for value in values if (number := number_or_none(value)) is not None]
    is_mean = 1 < len(values) == len(numbers)
    return Judgement(math.fsum(numbers) / len(numbers) if is_mean else values[0], reason)


def _opik_notes(rows: Sequence[JsonObject]) -> Iterator[str]:
    every = [check_records(row["score_results"] or [], "score_results") for row in rows]
    counts = [Counter(str(each.get("name")) for each in results) for results in every]
    several = sorted({name for count in counts for name in count if count[name] > 1})
    if several:
        yield f"averaged, because a test case has several scores of one name: {named(several)}"


OPIK = Format(
    "opik",
    "Opik: test results with score_results[], as JSON or JSON Lines",
    "test_results.json",
    has=frozenset(("test_case", "score_results")),
    rows=("test_results",),
    expected="expected test results of Opik, each with test_case and score_results",
    judge=_opik_scores,
    notes=_opik_notes,
    id="test_case.dataset_item_id",
    id_note="query ids are taken from 'dataset_item_id'",
    parts={
        "dataset_item": (
            "question",
            "test_case.dataset_item_content|test_case.scoring_inputs",
        ),
        "task_output": ("answer", "test_case.task_output"),
    },
    texts={"trace_id": "test_case.trace_id"},
    origin="test_case",
    measures_first=True,
    measures={"latency_ms": ("task_execution_time", SECONDS)},
    pipeline="experiment_name",
).reader()


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
    return [
        _PYDANTIC_EVALS.score_file(
            name,
            [*map(_case, report["cases"]), *map(_failed_case, report.get("failures") or [])],
            config={
                key: report[key]
                for key in ("dataset_name", "experiment_metadata")
                if report.get(key) is not None
            },
        )
        for name, report in zip(names, reports, strict=True)
    ]


def _case(case: JsonObject) -> JsonObject:
    """The case with its labels, attributes, metadata and numbers in one object."""
    fields: dict[str, Any] = {}
    for nest in ("metadata", "attributes", "metrics"):
        inner = case.get(nest)
        fields |= inner if isinstance(inner, dict) else {nest: inner}
    for key, label in check_object(case.get("labels"), "labels").items():
        fields[str(key)] = label.get("value") if isinstance(label, dict) else label
    query_id = case.get("source_case_name") or str(case.get("name"))
    return {**case, "case_id": query_id, "fields": fields}


def _failed_case(case: JsonObject) -> JsonObject:
    return _case({**case, "error": text_or_none(case.get("error_message")) or _NO_MESSAGE})


def _measured_cases(rows: Sequence[JsonObject]) -> tuple[list[JsonObject], tuple[str, ...]]:
    """The cases with the numbers under the names of known metrics apart; others are details."""
    catalogue = Catalogue()
    numbers = [check_object(row.get("metrics"), "metrics") for row in rows]
    known = {name for fields in numbers for name in fields if catalogue.find(str(name))}
    return [
        {
            **row,
            "fields": without(row["fields"], known),
            "measured": {name: cell for name, cell in fields.items() if name in known},
        }
        for row, fields in zip(rows, numbers, strict=True)
    ], ()


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
        measured = {str(name): Judgement(value) for name, value in row["measured"].items()}
        yield {**judgements, **measured}


def _results(row: JsonObject) -> dict[str, JsonObject]:
    return {
        str(name): check_object(result, f"the result {name!r}")
        for nest in ("scores", "assertions")
        for name, result in check_object(row.get(nest), nest).items()
    }


def _evaluator(result: Mapping[str, Any]) -> str:
    name = at(result, "source.name")
    return "" if name is None else str(name)


_PYDANTIC_EVALS = Format(
    "pydantic_evals",
    "pydantic-evals: evaluation reports as JSON, with cases and failures",
    "report.json",
    select=_measured_cases,
    judge=_case_scores,
    id="case_id",
    id_note="query ids are the names of the cases",
    parts={
        "inputs": ("question", "inputs"),
        "output": ("answer", "output"),
        "expected_output": ("reference", "expected_output"),
    },
    nests={"case": "fields"},
    error="error",
    measures={"latency_ms": ("task_duration", SECONDS)},
    empty="the report {name!r} has no score and no assertion",
)
PYDANTIC_EVALS = _PYDANTIC_EVALS.reader(
    lambda source: SURE if _reports(source.document_or_none()) else 0.0, _read_reports
)

"""DeepEval's test runs: its own files, dumps of its results, and its cache."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json, replace_lone_surrogates
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile, distinct_names
from rageval_report.readers.cell_values import json_text, none_if_nan, number_or_none
from rageval_report.readers.frameworks.format import SURE, groups_of, snake
from rageval_report.readers.frameworks.rows import (
    SECONDS,
    Judgement,
    drop_empty,
    score_file,
)
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records
from rageval_report.readers.record_columns import columns_of
from rageval_report.scores.metric import Override
from rageval_report.scores.table import id_column_of
from rageval_report.types import JsonObject

# The keys of the cases, and of their metrics: newer versions first.
_CASES = ("test_cases", "test_results", "conversational_test_cases")
_METRICS = ("metrics_data", "metrics_metadata")
_CACHE = "test_cases_lookup_map"
_MOST_FIELDS = 100  # a run has fewer fields; an object with more is a table

# The default name of a case: its position, which does not identify the query.
_NUMBERED = re.compile(r"(?:[a-z]+_)*test_case_\d+")

# A case's fields, and their names in this library. DeepEval's "context" is the ideal one.
_TEXTS = {
    "actual_output": "answer",
    "expected_output": "reference",
    "retrieval_context": "contexts",
    "context": "reference_contexts",
    "turns": "conversation",
    **{
        name: name
        for name in (
            *("scenario", "expected_outcome", "user_description", "tools_called"),
            *("expected_tools", "success", "tags", "comments", "run_duration", "evaluation_cost"),
        )
    },
}
_SPENT = {
    "completion_time": ("latency_ms", SECONDS),
    "token_cost": ("cost_usd", 1.0),
    "input_token_count": ("prompt_tokens", 1.0),
    "output_token_count": ("completion_tokens", 1.0),
}
_NO_SCORE = "DeepEval gave neither a score nor a reason"


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    if isinstance(document, list):
        cases = document
    elif isinstance(document, dict) and len(document) <= _MOST_FIELDS:
        run = _run(document)
        if isinstance(run.get(_CACHE), dict):
            return SURE
        cases = [case for key in _CASES if isinstance(run.get(key), list) for case in run[key]]
    else:
        return 0.0
    names = {snake(key) for case in cases if isinstance(case, dict) for key in case}
    return SURE if names & {*_METRICS} else 0.0


def read_deepeval(source: Source) -> list[ScoreFile]:
    """Read a test run of DeepEval, with keys in camel case or snake case.

    The direction of a metric follows from the scores that passed their thresholds.

    Examples
    --------
    >>> case = b'{"name": "geo-1", "metricsData": [{"name": "Bias", "score": 0}]}'
    >>> [run] = read_deepeval(Source(b'{"testCases": [' + case + b"]}"))
    >>> run.frame[["query_id", "Bias"]].values.tolist()
    [['geo-1', 0.0]]
    """
    document = source.document
    run, cases = _run(document), _cases(document)
    if not any(key in case for case in cases for key in _METRICS):
        raise source.error(
            "expected a test run of DeepEval: testCases or test_results, a list of objects, each "
            "with metricsData"
        )
    entries = [_entries(case) for case in cases]
    metrics = dict.fromkeys(name for case in entries for name in case)
    scores = {name: [case[name] for case in entries if name in case] for name in metrics}
    directions = {
        name: direction for name in metrics if (direction := _direction(scores[name])) is not None
    }
    spent = columns_of(map(_spent, cases))
    judges = drop_empty(
        {
            f"{name}_judge": [
                json_text(case.get(name, {}).get("evaluation_model")) for case in entries
            ]
            for name in metrics
        }
    )
    details, notes = _details(cases, {*metrics, *drop_empty(spent, ())})
    if _CACHE in run:
        notes.append(
            "the cache may contain cases of several runs, and it contains no failed scores"
        )
    return [
        score_file(
            str(run.get("identifier") or source.stem),
            [{name: _judgement(entry) for name, entry in case.items()} for case in entries],
            details | judges,
            measures=spent,
            metrics=directions,
            notes=(*notes, *_notes(scores, directions)),
            config=check_object(run.get("hyperparameters"), "hyperparameters"),
        )
    ]


# -- the document


def _snake_keys(record: JsonObject) -> JsonObject:
    """The record with its keys in snake case; newer dumps have them so, older files do not."""
    return {snake(key): value for key, value in record.items()}


def _run(document: object) -> JsonObject:
    """The part of a document that describes the run."""
    run = _snake_keys(document) if isinstance(document, dict) else {}
    inner = run.get("test_run_data")
    return _snake_keys(inner) if isinstance(inner, dict) else run


def _cases(document: object) -> list[JsonObject]:
    run = _run(document)
    if isinstance(document, list):
        cases = check_records(document, "the test results")
    elif _CACHE in run:
        cached = check_object(run[_CACHE], _CACHE)
        cases = [_cached_case(key, value) for key, value in cached.items()]
    else:
        cases = [case for key in _CASES for case in check_records(run.get(key), key)]
    return list(map(_snake_keys, cases))


def _cached_case(key: str, value: object) -> JsonObject:
    """A case of the cache, whose keys are the cases themselves, written as JSON."""
    try:
        case = parse_json(replace_lone_surrogates(key)[0])
    except NotJSONError as exc:
        raise ShapeError(f"a key of {_CACHE} is broken: {exc}") from exc
    data = check_object(value, "a cached test case").get("cached_metrics_data")
    entries = [
        check_object(entry.get("metric_data"), "metric_data")
        for entry in check_records(data, "its data")
    ]
    return {**check_object(case, f"a key of {_CACHE}"), "metrics_data": entries}


def _entries(case: JsonObject) -> dict[str, JsonObject]:
    """The metrics of a case; a second one of the same name gets a visible "#2"."""
    key = next((key for key in _METRICS if key in case), _METRICS[0])
    entries = [_snake_keys(entry) for entry in check_records(case.get(key), key)]
    names = distinct_names(str(entry.get("name", entry.get("metric"))) for entry in entries)
    return dict(zip(names, entries, strict=True))


# -- metrics


def _judgement(entry: JsonObject) -> Judgement:
    error, reason = entry.get("error"), entry.get("reason")
    score = None if error else none_if_nan(entry.get("score"))
    text = error or reason or (_NO_SCORE if score is None else None)
    return Judgement(score, None if text is None else str(text))


def _threshold(entry: JsonObject) -> float | None:
    return number_or_none(entry.get("threshold", entry.get("minimum_score")))


def _direction(entries: Iterable[JsonObject]) -> Override | None:
    """Whether scores above the threshold passed; None if the file does not say."""
    # DeepEval (4.3.1) does not store the direction: Hallucination, Bias and Toxicity pass at or
    # below their threshold, and only `success` shows it.
    directions = set()
    for entry in entries:
        threshold, success = _threshold(entry), entry.get("success")
        score = None if entry.get("error") else number_or_none(entry.get("score"))
        # At the threshold itself both directions pass.
        if isinstance(success, bool) and None not in (score, threshold) and score != threshold:
            directions.add((float(score or 0) > float(threshold or 0)) == success)
    return {"greater_is_better": directions.pop()} if len(directions) == 1 else None


def _notes(
    scores: Mapping[str, Sequence[JsonObject]], directions: Mapping[str, Override]
) -> Iterator[str]:
    present = {}
    for name, entries in scores.items():
        thresholds = {number for entry in entries if (number := _threshold(entry)) is not None}
        if thresholds:
            present[name] = " or ".join(f"{number:g}" for number in sorted(thresholds))
    if present:
        listed = ", ".join(f"{name} {text}" for name, text in present.items())
        yield f"thresholds stored in the file: {listed}"
    if directions:
        yield (
            "the direction follows from the scores that passed their thresholds, for "
            f"{named(directions, 12)}"
        )


# -- details


def _details(cases: Sequence[JsonObject], taken: set[str]) -> tuple[CellsByColumn, list[str]]:
    own = drop_empty(columns_of(map(_texts, cases)), ())
    ids, notes = _ids(cases, own)
    own = ids | own
    metadata = columns_of(
        check_object(case.get("metadata") or case.get("additional_metadata"), "metadata")
        for case in cases
    )
    # Metadata under their own names, unless these are taken or would not be unique ids.
    key = id_column_of(metadata)
    texts = {str(cell) for cell in metadata.get(key or "", []) if cell is not None}
    taken = {*taken, *own}
    if key is not None and ("query_id" in taken or len(texts) < len(cases)):
        taken.add(key)
    own |= {
        f"metadata.{key}" if key in taken or key.endswith(("_state", "_reason")) else key: cells
        for key, cells in metadata.items()
    }
    return own, notes


def _texts(case: JsonObject) -> dict[str, Any]:
    texts = {ours: case.get(theirs) for theirs, ours in _TEXTS.items()}
    return {"question": _question(case), **texts, "conversation": texts["conversation"] or None}


def _question(case: JsonObject) -> str | None:
    """The input; for a conversation the scenario, or the first message of the user."""
    question = case.get("input")
    if isinstance(question, list):  # texts and pictures
        question = " ".join(part for part in question if isinstance(part, str))
    if question is None:
        by_role = groups_of(check_records(case.get("turns"), "turns"), lambda t: str(t.get("role")))
        first = by_role.get("user", [{}])[0]
        question = case.get("scenario") or first.get("content")
    return None if question is None else str(question)


def _ids(cases: Sequence[JsonObject], own: CellsByColumn) -> tuple[CellsByColumn, list[str]]:
    """The names of the cases as ids, unless they are positions or repeat a test function's name."""
    names = [str(case.get("name") or "") for case in cases]
    if not all(name.strip() for name in names):
        return {}, []
    if any(map(_NUMBERED.fullmatch, names)):
        why = "are positions"
    # Cases in a pytest loop all carry the name of the test function.
    elif len(set(names)) < len(names):
        why = "are not unique"
    else:
        return {"query_id": names}, ["query ids are the names of the test cases"]
    if all(str(text or "").strip() for text in own.get("question", [None])):
        return {"name": names}, [f"the names of the test cases {why} and are not query ids"]
    ids = distinct_names(names)
    return {"query_id": ids}, [f"query ids are the names of the cases, which {why}"]


def _spent(case: JsonObject) -> dict[str, float | None]:
    numbers = {ours: number_or_none(case.get(theirs)) for theirs, (ours, _) in _SPENT.items()}
    factors = dict(_SPENT.values())
    return {
        ours: None if number is None else number * factors[ours] for ours, number in numbers.items()
    }


DEEPEVAL = Reader(
    "deepeval",
    "DeepEval's test run as JSON, old and new spelling, its dumps and its cache",
    _recognise,
    read_deepeval,
    ("encoding",),
    example="test_run_20260101.json",
)

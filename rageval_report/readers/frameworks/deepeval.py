"""DeepEval's test runs: its own files, dumps of its results, and its cache."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json, replace_lone_surrogates
from rageval_report.readers.base import ScoreFile, distinct_names
from rageval_report.readers.cell_values import number_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    groups_of,
    reader_of,
    snake,
    snake_keys,
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


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    run = _run(document) if not isinstance(document, dict) or len(document) <= _MOST_FIELDS else {}
    lists = [document, *(run.get(key) for key in _CASES)]
    cases = [case for listed in lists if isinstance(listed, list) for case in listed]
    names = {snake(str(key)) for case in cases if isinstance(case, dict) for key in case}
    return SURE if names & {*_METRICS} or isinstance(run.get(_CACHE), dict) else 0.0


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
    run, cases = _run(source.document), _cases(source.document)
    if not any(key in case for case in cases for key in _METRICS):
        raise source.error(
            "expected a test run of DeepEval: testCases or test_results, a list of objects, each "
            "with metricsData"
        )
    rows = [{**case, "scores": _entries(case), "question": _question(case)} for case in cases]
    ids, names, notes = _ids([str(row.get("name") or "") for row in rows], rows)
    metadata = _metadata(cases, has_ids=bool(ids))
    for row, query_id, fields in zip(rows, ids or [""] * len(rows), metadata, strict=True):
        judges = {key: entry.get("evaluation_model") for key, entry in row["scores"].items()}
        row["judges"] = {f"{key}_judge": judge for key, judge in judges.items() if judge}
        row["query_id"], row["turns"] = query_id or None, row.get("turns") or None
        row["metadata"] = {**({"name": row.get("name")} if names else {}), **fields}
    entries = groups_of(
        ((key, entry) for row in rows for key, entry in row["scores"].items()),
        lambda pair: pair[0],
    )
    scores = {key: [entry for _, entry in pairs] for key, pairs in entries.items()}
    directions = {key: way for key, own in scores.items() if (way := _direction(own)) is not None}
    notes += _notes(scores, directions)
    if _CACHE in run:
        notes.append(
            "the cache may contain cases of several runs, and it contains no failed scores"
        )
    config = check_object(run.get("hyperparameters"), "hyperparameters")
    name = str(run.get("identifier") or source.stem)
    return [_FORMAT.score_file(name, rows, notes, config, metrics=directions)]


# -- the document


def _run(document: object) -> JsonObject:
    """The part of a document that describes the run, with its keys in snake case."""
    run = snake_keys(document) if isinstance(document, dict) else {}
    inner = run.get("test_run_data")
    return snake_keys(inner) if isinstance(inner, dict) else run


def _cases(document: object) -> list[JsonObject]:
    run = _run(document)
    if isinstance(document, list):
        cases = check_records(document, "the test results")
    elif _CACHE in run:
        cached = check_object(run[_CACHE], _CACHE)
        cases = [_cached_case(key, value) for key, value in cached.items()]
    else:
        cases = [case for key in _CASES for case in check_records(run.get(key), key)]
    return list(map(snake_keys, cases))


def _cached_case(key: str, value: object) -> JsonObject:
    """A case of the cache, whose keys are the cases themselves, written as JSON."""
    try:
        case = parse_json(replace_lone_surrogates(key)[0])
    except NotJSONError as exc:
        raise ShapeError(f"a key of {_CACHE} is broken: {exc}") from exc
    data = check_object(value, "a cached test case").get("cached_metrics_data")
    listed = check_records(data, "cached_metrics_data")
    entries = [check_object(entry.get("metric_data"), "metric_data") for entry in listed]
    return {**check_object(case, f"a key of {_CACHE}"), "metrics_data": entries}


def _entries(case: JsonObject) -> dict[str, JsonObject]:
    """The metrics of a case; a second one of the same name gets a visible "#2"."""
    key = next((key for key in _METRICS if key in case), _METRICS[0])
    entries = [snake_keys(entry) for entry in check_records(case.get(key), key)]
    names = distinct_names(str(entry.get("name", entry.get("metric"))) for entry in entries)
    return dict(zip(names, entries, strict=True))


# -- metrics


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
) -> list[str]:
    thresholds = {
        name: sorted({number for entry in own if (number := _threshold(entry)) is not None})
        for name, own in scores.items()
    }
    notes = []
    if any(thresholds.values()):
        listed = ", ".join(
            f"{name} {' or '.join(f'{number:g}' for number in numbers)}"
            for name, numbers in thresholds.items()
            if numbers
        )
        notes.append(f"thresholds stored in the file: {listed}")
    if directions:
        names = named(directions, 12)
        notes.append(f"directions follow from the scores that passed their thresholds: {names}")
    return notes


# -- details


def _metadata(cases: Sequence[JsonObject], *, has_ids: bool) -> list[dict[str, Any]]:
    """The metadata of each case; a name that would be taken for ids or states is a longer one."""
    nests = [
        check_object(case.get("metadata") or case.get("additional_metadata"), "metadata")
        for case in cases
    ]
    columns = columns_of(nests)
    key = id_column_of(columns)
    are_ids = len({str(cell) for cell in columns.get(key or "", []) if cell is not None})
    taken = () if key is None or (are_ids == len(cases) and not has_ids) else (key,)
    return [
        {
            f"metadata.{name}" if name in taken or name.endswith(("_state", "_reason")) else name: v
            for name, v in fields.items()
        }
        for fields in nests
    ]


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


def _ids(names: list[str], rows: Sequence[JsonObject]) -> tuple[list[str] | None, bool, list[str]]:
    """The ids, or None; whether the names of the cases are kept as a detail; and a note."""
    if not all(name.strip() for name in names):
        return None, False, []
    # Cases in a pytest loop all carry the name of the test function.
    why = "are only positions" if any(map(_NUMBERED.fullmatch, names)) else "are not unique"
    if why == "are not unique" and len(set(names)) == len(names):
        return names, False, ["query ids are the names of the test cases"]
    if all(str(row["question"] or "").strip() for row in rows):
        return None, True, [f"test-case names {why}, so they are not used as ids"]
    return distinct_names(names), False, [f"query ids are the names of the cases, which {why}"]


_FORMAT = Format.of("deepeval")
DEEPEVAL = reader_of("deepeval", _recognise, read_deepeval)

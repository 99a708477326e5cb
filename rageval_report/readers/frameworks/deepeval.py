"""DeepEval's test runs: its own files, dumps of its results, and its cache."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json, replace_lone_surrogates
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile, distinct_names
from rageval_report.readers.cell_values import number_or_none
from rageval_report.readers.frameworks.judgements import drop_empty
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records
from rageval_report.readers.record_columns import columns_of, frame_of, score_columns
from rageval_report.scores.metric import Override
from rageval_report.scores.table import id_column_of
from rageval_report.types import JsonObject

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# The keys of the cases, and of their metrics: newer versions first.
_CASES = ("test_cases", "test_results", "conversational_test_cases")
_METRICS = ("metrics_data", "metrics_metadata")
_SPELLINGS = frozenset((*_METRICS, "metricsData", "metricsMetadata"))
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
}
_DETAIL_FIELDS = (
    *("scenario", "expected_outcome", "user_description", "tools_called", "expected_tools"),
    *("success", "tags", "comments", "run_duration", "evaluation_cost"),
)
_SPENT = {
    "completion_time": ("latency_ms", 1000.0),
    "token_cost": ("cost_usd", 1.0),
    "input_token_count": ("prompt_tokens", 1.0),
    "output_token_count": ("completion_tokens", 1.0),
}
_NO_SCORE = "DeepEval gave neither a score nor a reason"


class _MetricData(NamedTuple):
    """The result of one metric for one case."""

    name: str
    score: Any
    reason: str | None
    threshold: float | None
    success: bool | None
    judge: str | None


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    if isinstance(document, list):
        cases = document
    elif isinstance(document, dict) and len(document) <= _MOST_FIELDS:
        run = _run(document)
        if isinstance(run.get(_CACHE), dict):
            return 0.95
        cases = [case for key in _CASES if isinstance(run.get(key), list) for case in run[key]]
    else:
        return 0.0
    return (
        0.95 if any(isinstance(case, dict) and _SPELLINGS & case.keys() for case in cases) else 0.0
    )


def read_deepeval(source: Source) -> list[ScoreFile]:
    """Read a test run of DeepEval, with keys in camel case or snake case.

    The file is ``test_run_<time>.json``, ``.latest_run_full.json``, ``.latest_test_run.json``,
    ``.deepeval-cache.json``, or an ``EvaluationResult`` or a list of its test results dumped as
    JSON. A case is a query, identified by its name if the names are unique. A metric that ended in
    an error is a failed score with the error as its reason. The direction of a metric follows from
    the scores that passed their thresholds. ``verboseLogs`` are left out.

    Raises
    ------
    ReaderError
        If the file contains no test case.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> case = {"name": "geo-1", "input": "Capital of Italy?", "metricsData": [
    ...     {"name": "Faithfulness", "score": 0.5, "threshold": 0.7, "success": False},
    ...     {"name": "Bias", "error": "timeout"}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "test_run.json"
    ...     _ = path.write_text(json.dumps({"testCases": [case]}))
    ...     [run] = read_deepeval(Source(path))
    >>> run.frame[["query_id", "Faithfulness", "Bias_state", "Bias_reason"]].values.tolist()
    [['geo-1', 0.5, 'failed', 'timeout']]
    """
    document = source.document
    cases = _cases(document)
    if not any(map(_metrics_key, cases)):
        raise source.error(
            "expected a test run of DeepEval: testCases or test_results, a list of objects, each "
            "with metricsData"
        )
    run = _run(document)
    entries = [{entry.name: entry for entry in _entries(case)} for case in cases]
    metrics = list(dict.fromkeys(name for case in entries for name in case))
    scores = {name: [case.get(name) for case in entries] for name in metrics}
    columns: CellsByColumn = {}
    for name in metrics:
        columns |= _columns(name, scores[name])
    spent = drop_empty(columns_of(_spent(case) for case in cases), keep=())
    details, notes = _details(cases, taken={*columns, *spent})
    return [
        ScoreFile(
            frame_of(details | columns | spent),
            str(run.get("identifier") or source.stem),
            metrics=_directions(scores),
            metric_columns=(*metrics, *spent),
            notes=(*_cache_note(run), *notes, *_notes(scores)),
            config=check_object(run.get("hyperparameters"), "hyperparameters"),
        )
    ]


# -- the document


def _snake(record: JsonObject) -> dict[str, Any]:
    """The record with its keys in snake case; newer dumps have them so, older files do not."""
    return {_HUMP.sub("_", key).lower(): value for key, value in record.items()}


def _run(document: object) -> JsonObject:
    """The part of a document that describes the run."""
    run = _snake(document) if isinstance(document, dict) else {}
    inner = run.get("test_run_data")
    return _snake(inner) if isinstance(inner, dict) else run


def _cases(document: object) -> list[dict[str, Any]]:
    if isinstance(document, list):
        return [_snake(case) for case in check_records(document, "the test results")]
    run = _run(document)
    if _CACHE in run:
        return _cases_in_cache(check_object(run[_CACHE], _CACHE))
    return [_snake(case) for key in _CASES for case in check_records(run.get(key), key)]


def _cases_in_cache(lookup: JsonObject) -> list[dict[str, Any]]:
    """The cases of the cache, whose keys are the cases themselves, written as JSON."""
    cases = []
    for key, value in lookup.items():
        try:
            case = parse_json(replace_lone_surrogates(key)[0])
        except NotJSONError as exc:
            raise ShapeError(f"a key of {_CACHE} is broken: {exc}") from exc
        entries = check_records(
            check_object(value, "a cached test case").get("cached_metrics_data"), "its data"
        )
        cases.append(_snake(check_object(case, f"a key of {_CACHE}")))
        cases[-1]["metrics_data"] = [
            check_object(entry.get("metric_data"), "metric_data") for entry in entries
        ]
    return cases


def _cache_note(run: JsonObject) -> Iterable[str]:
    if _CACHE in run:
        yield "the cache may contain cases of several runs, and it contains no failed scores"


def _metrics_key(case: JsonObject) -> str | None:
    return next((key for key in _METRICS if key in case), None)


def _entries(case: JsonObject) -> list[_MetricData]:
    """The metrics of a case; a second one of the same name gets a visible "#2"."""
    key = _metrics_key(case)
    fields = [_snake(entry) for entry in check_records(case.get(key) if key else None, str(key))]
    names = distinct_names(str(entry.get("name", entry.get("metric"))) for entry in fields)
    return [_entry(name, entry) for name, entry in zip(names, fields, strict=True)]


def _entry(name: str, fields: JsonObject) -> _MetricData:
    error, success = fields.get("error"), fields.get("success")
    score = None if error else fields.get("score")
    is_missing = score is None or (isinstance(score, float) and math.isnan(score))
    reason = error or fields.get("reason") or (_NO_SCORE if is_missing else None)
    judge = fields.get("evaluation_model")
    return _MetricData(
        name,
        score,
        None if reason is None else str(reason),
        number_or_none(fields.get("threshold", fields.get("minimum_score"))),
        success if isinstance(success, bool) and not error else None,
        None if judge is None else str(judge),
    )


# -- metrics


def _columns(name: str, scores: list[_MetricData | None]) -> CellsByColumn:
    columns = score_columns(
        name,
        [entry and entry.score for entry in scores],
        [entry.reason if entry else None for entry in scores],
    )
    judges = {f"{name}_judge": [entry.judge if entry else None for entry in scores]}
    return columns | drop_empty(judges, keep=())


def _directions(scores: Mapping[str, list[_MetricData | None]]) -> dict[str, Override]:
    directions = {name: _is_greater_better(entries) for name, entries in scores.items()}
    return {
        name: {"greater_is_better": is_greater_better}
        for name, is_greater_better in directions.items()
        if is_greater_better is not None
    }


def _is_greater_better(scores: Iterable[_MetricData | None]) -> bool | None:
    """Whether scores above the threshold passed; None if the file does not say."""
    # DeepEval (4.3.1) does not store the direction: Hallucination, Bias and Toxicity pass at or
    # below their threshold, and only `success` shows it.
    directions = {
        (number > entry.threshold) == entry.success
        for entry in scores
        if entry and entry.threshold is not None and entry.success is not None
        for number in (number_or_none(entry.score),)
        # At the threshold itself both directions pass.
        if number is not None and number != entry.threshold
    }
    return directions.pop() if len(directions) == 1 else None


def _notes(scores: Mapping[str, list[_MetricData | None]]) -> Iterable[str]:
    thresholds = {name: _thresholds(cells) for name, cells in scores.items()}
    present = [f"{name} {text}" for name, text in thresholds.items() if text]
    if present:
        yield f"thresholds stored in the file: {', '.join(present)}"
    directions = _directions(scores)
    if directions:
        yield (
            "the direction follows from the scores that passed their thresholds, for "
            f"{named(directions, 12)}"
        )


def _thresholds(scores: Iterable[_MetricData | None]) -> str:
    thresholds = {entry.threshold for entry in scores if entry and entry.threshold is not None}
    return " or ".join(f"{threshold:g}" for threshold in sorted(thresholds))


# -- details


def _details(cases: list[dict[str, Any]], taken: set[str]) -> tuple[CellsByColumn, list[str]]:
    own = drop_empty(columns_of(_texts(case) for case in cases), keep=())
    metadata = columns_of(
        check_object(case.get("metadata") or case.get("additional_metadata"), "metadata")
        for case in cases
    )
    ids, notes = _ids(cases, own)
    own = ids | own
    return own | _metadata(metadata, taken | set(own)), notes


def _texts(case: JsonObject) -> dict[str, Any]:
    row = {"question": _question(case)}
    row |= {ours: case.get(theirs) for theirs, ours in _TEXTS.items()}
    return (
        row
        | {"conversation": case.get("turns") or None}
        | {key: case.get(key) for key in _DETAIL_FIELDS}
    )


def _question(case: JsonObject) -> str | None:
    """The input; for a conversation the scenario, or the first message of the user."""
    question = case.get("input")
    if isinstance(question, list):  # texts and pictures
        question = " ".join(part for part in question if isinstance(part, str))
    if question is None:
        turns = [
            turn for turn in check_records(case.get("turns"), "turns") if turn.get("role") == "user"
        ]
        question = case.get("scenario") or (turns[0].get("content") if turns else None)
    return None if question is None else str(question)


def _ids(cases: list[dict[str, Any]], own: CellsByColumn) -> tuple[CellsByColumn, list[str]]:
    """The names of the cases as ids, unless they are positions or repeat a test function's name."""
    names = [str(case.get("name") or "") for case in cases]
    has_questions = all(str(text or "").strip() for text in own.get("question", [None]))
    if not all(name.strip() for name in names):
        return {}, []
    if any(_NUMBERED.fullmatch(name) for name in names):
        why = "are positions"
    # Cases in a pytest loop all carry the name of the test function.
    elif max(Counter(names).values()) > 1:
        why = "are not unique"
    else:
        return {"query_id": names}, ["query ids are the names of the test cases"]
    if has_questions:
        return {"name": names}, [f"the names of the test cases {why} and are not query ids"]
    return {"query_id": distinct_names(names)}, [
        f"query ids are the names of the cases, which {why}"
    ]


def _metadata(columns: CellsByColumn, taken: set[str]) -> CellsByColumn:
    """The metadata under their own names, unless these are taken or would not be unique ids."""
    ids = id_column_of(columns)
    texts = [str(cell) for cell in columns.get(ids or "", []) if cell is not None]
    n_rows = len(next(iter(columns.values()), []))
    if ids is not None and ("query_id" in taken or len(set(texts)) < n_rows):
        taken = taken | {ids}
    return {
        f"metadata.{key}" if key in taken or key.endswith(("_state", "_reason")) else key: cells
        for key, cells in columns.items()
    }


def _spent(case: JsonObject) -> dict[str, float | None]:
    spent = {}
    for theirs, (ours, factor) in _SPENT.items():
        number = number_or_none(case.get(theirs))
        spent[ours] = None if number is None else number * factor
    return spent


DEEPEVAL = Reader(
    "deepeval",
    "DeepEval's test run as JSON, old and new spelling, its dumps and its cache",
    _recognise,
    read_deepeval,
    ("encoding",),
    example="test_run_20260101.json",
)

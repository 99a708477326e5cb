"""DeepEval's test runs: the files that it keeps of them, their dumps, and its cache."""

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
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records
from rageval_report.readers.record_columns import columns_of, frame_of, score_columns
from rageval_report.scores.metric import Override
from rageval_report.scores.table import id_column_of
from rageval_report.types import JsonObject

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# Where the cases stand, and their metrics: newer versions first.
_CASES = ("test_cases", "test_results", "conversational_test_cases")
_METRICS = ("metrics_data", "metrics_metadata")
_SPELLINGS = frozenset((*_METRICS, "metricsData", "metricsMetadata"))
_CACHE = "test_cases_lookup_map"
_MOST_FIELDS = 100  # of a run; an object of more is a table

# The name of a case that nobody named: its position, which says nothing of the query.
_NUMBERED = re.compile(r"(?:[a-z]+_)*test_case_\d+")

# A case's fields, and under which names they are known here. DeepEval's "context" is the ideal one.
_TEXTS = {
    "actual_output": "answer",
    "expected_output": "reference",
    "retrieval_context": "contexts",
    "context": "reference_contexts",
}
_KEPT = (
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


class _Entry(NamedTuple):
    """What one metric says of one case."""

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
    return 0.95 if any(isinstance(one, dict) and _SPELLINGS & one.keys() for one in cases) else 0.0


def read_deepeval(source: Source) -> list[ScoreFile]:
    """Read what DeepEval keeps of a test run, in old and new spelling.

    That is ``test_run_<time>.json``, ``.latest_run_full.json``, ``.latest_test_run.json``,
    ``.deepeval-cache.json``, and an ``EvaluationResult`` or a list of its test results dumped as
    JSON. A case is a query, under its name if names tell cases apart. A metric that ended in an
    error is a failed score with the error as its reason. Which direction is better is told from
    the scores that passed their thresholds. ``verboseLogs`` are left out.

    Parameters
    ----------
    source : Source
        The file.

    Raises
    ------
    ReaderError
        If it holds no test case.
    ShapeError
        If a part of it is of another shape; `read` tells of which file.

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
    ...     [found] = read_deepeval(Source(path))
    >>> found.frame[["query_id", "Faithfulness", "Bias_state", "Bias_reason"]].values.tolist()
    [['geo-1', 0.5, 'failed', 'timeout']]
    """
    document = source.document
    cases = _cases(document)
    if not any(map(_metrics_key, cases)):
        raise source.error(
            "expected a test run of DeepEval: testCases or test_results, a list of objects with "
            "metricsData each"
        )
    run = _run(document)
    entries = [{one.name: one for one in _entries(case)} for case in cases]
    metrics = list(dict.fromkeys(name for case in entries for name in case))
    scores = {name: [case.get(name) for case in entries] for name in metrics}
    columns: CellsByColumn = {}
    for name in metrics:
        columns |= _columns(name, scores[name])
    spent = _filled(columns_of(_spent(case) for case in cases))
    details, notes = _details(cases, taken={*columns, *spent})
    return [
        ScoreFile(
            frame_of(details | columns | spent),
            str(run.get("identifier") or source.stem),
            metrics=_directions(scores),
            metric_columns=(*metrics, *spent),
            notes=(*_of_cache(run), *notes, *_notes(scores)),
            config=check_object(run.get("hyperparameters"), "hyperparameters"),
        )
    ]


# -- the document


def _snake(record: JsonObject) -> dict[str, Any]:
    """The record with its keys in snake case, as newer dumps have them and older files do not."""
    return {_HUMP.sub("_", key).lower(): value for key, value in record.items()}


def _run(document: object) -> JsonObject:
    """The part of a document that describes the run."""
    found = _snake(document) if isinstance(document, dict) else {}
    inner = found.get("test_run_data")
    return _snake(inner) if isinstance(inner, dict) else found


def _cases(document: object) -> list[dict[str, Any]]:
    if isinstance(document, list):
        return [_snake(case) for case in check_records(document, "the test results")]
    run = _run(document)
    if _CACHE in run:
        return _cached(check_object(run[_CACHE], _CACHE))
    return [_snake(case) for key in _CASES for case in check_records(run.get(key), key)]


def _cached(lookup: JsonObject) -> list[dict[str, Any]]:
    """The cases of the cache, whose keys are the cases themselves, written as JSON."""
    cases = []
    for key, value in lookup.items():
        try:
            case = parse_json(replace_lone_surrogates(key)[0])
        except NotJSONError as exc:
            raise ShapeError(f"a key of {_CACHE} is broken: {exc}") from exc
        kept = check_records(
            check_object(value, "a cached test case").get("cached_metrics_data"), "its data"
        )
        cases.append(_snake(check_object(case, f"a key of {_CACHE}")))
        cases[-1]["metrics_data"] = [
            check_object(one.get("metric_data"), "metric_data") for one in kept
        ]
    return cases


def _of_cache(run: JsonObject) -> Iterable[str]:
    if _CACHE in run:
        yield "the cache may hold cases of several runs, and keeps no score that failed"


def _metrics_key(case: JsonObject) -> str | None:
    return next((key for key in _METRICS if key in case), None)


def _entries(case: JsonObject) -> list[_Entry]:
    """The metrics of a case; a second one of the same name gets a visible "#2"."""
    key = _metrics_key(case)
    given = [_snake(one) for one in check_records(case.get(key) if key else None, str(key))]
    names = distinct_names(str(one.get("name", one.get("metric"))) for one in given)
    return [_entry(name, one) for name, one in zip(names, given, strict=True)]


def _entry(name: str, given: JsonObject) -> _Entry:
    error, success = given.get("error"), given.get("success")
    score = None if error else given.get("score")
    is_missing = score is None or (isinstance(score, float) and math.isnan(score))
    reason = error or given.get("reason") or (_NO_SCORE if is_missing else None)
    judge = given.get("evaluation_model")
    return _Entry(
        name,
        score,
        None if reason is None else str(reason),
        _number(given.get("threshold", given.get("minimum_score"))),
        success if isinstance(success, bool) and not error else None,
        None if judge is None else str(judge),
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -1e300 < value < 1e300 else None


# -- metrics


def _columns(name: str, scores: list[_Entry | None]) -> CellsByColumn:
    found = score_columns(
        name,
        [one and one.score for one in scores],
        [one.reason if one else None for one in scores],
    )
    return found | _filled({f"{name}_judge": [one.judge if one else None for one in scores]})


def _directions(scores: Mapping[str, list[_Entry | None]]) -> dict[str, Override]:
    found = {name: _is_greater_better(cells) for name, cells in scores.items()}
    return {
        name: {"greater_is_better": is_greater_better}
        for name, is_greater_better in found.items()
        if is_greater_better is not None
    }


def _is_greater_better(scores: Iterable[_Entry | None]) -> bool | None:
    """Whether scores above the threshold passed; None where the file does not tell."""
    told = {
        (number > one.threshold) == one.success
        for one in scores
        if one and one.threshold is not None and one.success is not None
        for number in (_number(one.score),)
        if number is not None and number != one.threshold
    }
    return told.pop() if len(told) == 1 else None


def _notes(scores: Mapping[str, list[_Entry | None]]) -> Iterable[str]:
    thresholds = {name: _thresholds(cells) for name, cells in scores.items()}
    told = [f"{name} {shown}" for name, shown in thresholds.items() if shown]
    if told:
        yield f"thresholds stored in the file: {', '.join(told)}"
    directions = _directions(scores)
    if directions:
        yield (
            "which direction is better is told by the scores that passed their thresholds, of "
            f"{named(directions, 12)}"
        )


def _thresholds(scores: Iterable[_Entry | None]) -> str:
    found = sorted({one.threshold for one in scores if one and one.threshold is not None})
    return " or ".join(f"{threshold:g}" for threshold in found)


# -- details


def _details(cases: list[dict[str, Any]], taken: set[str]) -> tuple[CellsByColumn, list[str]]:
    own = _filled(columns_of(_texts(case) for case in cases))
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
    return row | {"conversation": case.get("turns") or None} | {key: case.get(key) for key in _KEPT}


def _question(case: JsonObject) -> str | None:
    """The input; of a conversation its scenario, or what the user said first."""
    asked = case.get("input")
    if isinstance(asked, list):  # texts and pictures
        asked = " ".join(part for part in asked if isinstance(part, str))
    if asked is None:
        turns = [
            turn for turn in check_records(case.get("turns"), "turns") if turn.get("role") == "user"
        ]
        asked = case.get("scenario") or (turns[0].get("content") if turns else None)
    return None if asked is None else str(asked)


def _ids(cases: list[dict[str, Any]], own: CellsByColumn) -> tuple[CellsByColumn, list[str]]:
    """The names of the cases as ids, unless they are positions or those of one test function."""
    names = [str(case.get("name") or "") for case in cases]
    is_asked = all(str(one or "").strip() for one in own.get("question", [None]))
    if not all(name.strip() for name in names):
        return {}, []
    if any(_NUMBERED.fullmatch(name) for name in names):
        why = "are positions"
    elif max(Counter(names).values()) > 1:
        why = "are not unique"
    else:
        return {"query_id": names}, ["query ids are the names of the test cases"]
    if is_asked:
        return {"name": names}, [f"the names of the test cases {why} and are no query ids"]
    return {"query_id": distinct_names(names)}, [
        f"query ids are the names of the cases, which {why}"
    ]


def _metadata(columns: CellsByColumn, taken: set[str]) -> CellsByColumn:
    """The metadata under their own names, unless these are taken or would be poor ids."""
    ids = id_column_of(columns)
    told = [str(cell) for cell in columns.get(ids or "", []) if cell is not None]
    n_rows = len(next(iter(columns.values()), []))
    if ids is not None and ("query_id" in taken or len(set(told)) < n_rows):
        taken = taken | {ids}
    return {
        f"metadata.{key}" if key in taken or key.endswith(("_state", "_reason")) else key: cells
        for key, cells in columns.items()
    }


def _spent(case: JsonObject) -> dict[str, float | None]:
    found = {}
    for theirs, (ours, factor) in _SPENT.items():
        number = _number(case.get(theirs))
        found[ours] = None if number is None else number * factor
    return found


def _filled(columns: CellsByColumn) -> CellsByColumn:
    """The columns that hold anything."""
    return {
        name: cells for name, cells in columns.items() if any(cell is not None for cell in cells)
    }


DEEPEVAL = Reader(
    "deepeval",
    "DeepEval's test run as JSON, old and new spelling, its dumps and its cache",
    _recognise,
    read_deepeval,
    ("encoding",),
    example="test_run_20260101.json",
)

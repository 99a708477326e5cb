"""TruLens's frames: records with their feedback, wide; feedback results, long."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile, distinct_names
from rageval_report.readers.cell_values import is_blank, json_text, parse_literal, parse_objects
from rageval_report.readers.frameworks.format import SURE, described, groups_of, reader_of
from rageval_report.readers.frameworks.rows import SECONDS
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.cells import read_cells
from rageval_report.scores.metric import Override
from rageval_report.scores.states import (
    FAILED,
    MISSING,
    NOT_APPLICABLE,
    REASON,
    SCORED,
    STATE,
    state_columns,
)

_APP = ("app_name", "app_version", "app_id")
_WORDS = described("trulens")
_CALLS, _DIRECTION, _COST = "_calls", " direction", " feedback cost in "
_COMPANIONS = (_CALLS, _DIRECTION, STATE, REASON)
_SEVERAL = ":::"  # between a metric that gives several scores and the name of each

# TruLens writes -1 if it could not read the judge's answer.
_UNREADABLE = -1.0
_NOT_READ = "the judge's answer could not be read; TruLens writes -1"
_STATUS = {"failed": FAILED, "skipped": NOT_APPLICABLE}

# An explanation of the judge, within the text of its calls.
_TEXT = r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\""""
_EXPLANATION = re.compile(rf"""['"](?:explanation|reasons?)['"]:\s*+({_TEXT})""", re.DOTALL)
_LONGEST = 1_000_000


def _recognise(source: Source) -> float:
    header = frozenset(header_of(source))
    is_wide = header >= {"record_id", "input", "output"} and not header.isdisjoint(_APP)
    return SURE if is_wide or _is_long(header) or header >= _WORDS["events"] else 0.0


def _is_long(header: frozenset[str]) -> bool:
    has_ids = header & {"feedback_result_id", "feedback_definition_id"}
    return header >= {"record_id", "result"} and bool(has_ids and header & {"fname", "name"})


def read_trulens(
    source: Source, *, columns: Iterable[str] | None = None, query_id: str | None = None
) -> list[ScoreFile]:
    r"""Read a frame of TruLens from any kind of table: one pipeline per version of an app.

    Ids of records differ from run to run, so the text of the input identifies the query. A blank
    score has failed if its metric was called, and is missing otherwise; -1 among proportions means
    that TruLens could not read the judge's answer.

    Examples
    --------
    >>> text = (
    ...     b"app_version,record_id,input,output,bias,bias direction\n"
    ...     b"v1,r1,Who?,He.,0.5,False\nv2,r2,Who?,She.,0.25,False\n"
    ... )
    >>> files = read_trulens(Source(text))
    >>> [file.pipeline for file in files], files[0].metrics
    (['v1', 'v2'], {'bias': {'greater_is_better': False}})
    """
    header = frozenset(header_of(source))
    if header >= _WORDS["events"]:
        raise source.error(
            "these are TruLens's events, one per span; expected one row per record. Write the "
            "result of get_records_and_feedback() instead"
        )
    selected = None
    if columns is not None and not _is_long(header):
        requested = frozenset((columns,) if isinstance(columns, str) else columns)
        beside = {f"{name}{ending}" for name in requested for ending in (_CALLS, _DIRECTION)}
        selected = requested | (header & {*beside, *_APP, "cost_currency"})
    table = read_table(source, columns=selected, query_id=query_id)
    frame = table.frame.rename(columns=str)
    # The names of apps are texts, because the versions 1.1 and 1.10 differ.
    for name in _APP:
        if name in frame and pd.api.types.is_numeric_dtype(frame[name].dtype):
            frame[name] = read_table(source, columns=[name], query_id=name).frame[name]
    rows = _pivot(frame) if _is_long(header) else frame
    return [
        replace(file, notes=(*table.notes, *file.notes))
        for name, places in _pipelines(rows, source.stem)
        for file in [_score_file(name, rows.iloc[places].reset_index(drop=True), query_id)]
    ]


def _pipelines(frame: pd.DataFrame, otherwise: str) -> list[tuple[str, list[int]]]:
    """The rows of each version of each app, in the order in which they first appear."""
    apps = list(zip(*(_texts_of(frame, name) for name in _APP), strict=True))
    keys = [(app, version) if version else (app or app_id,) for app, version, app_id in apps]
    places: dict[tuple[str, ...], list[int]] = {}
    for row, key in enumerate(keys):
        places.setdefault(key, []).append(row)
    n_apps = len({key[0] for key in places})
    names = [key[-1] if n_apps == 1 else " ".join(filter(None, key)) for key in places]
    labels = distinct_names(name or otherwise for name in names)
    return list(zip(labels, places.values(), strict=True))


def _cells(rows: pd.DataFrame, name: str) -> list[Any]:
    return rows[name].tolist() if name in rows else [None] * len(rows)


def _texts_of(frame: pd.DataFrame, name: str) -> list[str]:
    """The cells as texts, "" for a blank cell."""
    return [json_text(cell) or "" for cell in _cells(frame, name)]


def _score_file(name: str, rows: pd.DataFrame, query_id: str | None) -> ScoreFile:
    metrics = _metrics_of(rows)
    columns, notes = _own_details(rows, metrics, query_id)
    spent = _spent(rows)
    overrides: dict[str, Override] = {}
    for metric in metrics:
        columns |= _metric_columns(rows, metric)
        # The direction is not known if the file does not say it, or says both.
        texts = {text.strip().lower() for text in _texts_of(rows, f"{metric}{_DIRECTION}")} - {""}
        directions = {text in ("true", "1", "1.0") for text in texts}
        if len(directions) == 1:
            overrides[metric] = {"greater_is_better": directions.pop()}
    frame = pd.DataFrame({**columns, **spent})
    return ScoreFile(frame, name, overrides, (*metrics, *spent), notes)


def _own_details(
    rows: pd.DataFrame, metrics: Sequence[str], query_id: str | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    unused = {*metrics, *_WORDS["traces"], "input", "output", "latency", "total_tokens"}
    companions = tuple(f"{metric}{end}" for metric in metrics for end in (*_COMPANIONS, _COST))
    columns: dict[str, Any] = {}
    notes = []
    if "input" in rows:
        columns["question"] = _texts_of(rows, "input")
        if not all(text.strip() for text in columns["question"]) and "record_id" in rows:
            # A record's id is new in each run, so it is the last resort; the input pairs runs.
            columns = {"query_id": rows["record_id"].astype(str), **columns}
            notes.append("some records have no input, so query ids are their ids, new in each run")
    if "output" in rows:
        columns["answer"] = [text or None for text in _texts_of(rows, "output")]
    for label in map(str, rows):
        if label not in unused - {query_id} and not label.startswith(companions):
            columns.setdefault(label, rows[label])
    return columns, tuple(notes)


def _spent(rows: pd.DataFrame) -> dict[str, Any]:
    """The columns of latency, tokens and cost; a cost in another currency stays a detail."""
    sources = {"latency_ms": "latency", "total_tokens": "total_tokens"}
    if set(_texts_of(rows, "cost_currency")) <= {"", "USD"}:
        sources["cost_usd"] = "total_cost"
    spent = {ours: read_cells(_cells(rows, theirs)).numbers for ours, theirs in sources.items()}
    with np.errstate(over="ignore"):  # infinite numbers are refused where scores are read
        spent["latency_ms"] = spent["latency_ms"] * SECONDS
    return {name: numbers for name, numbers in spent.items() if not np.isnan(numbers).all()}


# -- metrics


def _metrics_of(rows: pd.DataFrame) -> list[str]:
    """The columns with a column of calls, directions or costs, and all other columns of numbers."""
    labels = list(map(str, rows))
    named = {label.removesuffix(_DIRECTION) for label in labels if label.endswith(_DIRECTION)}
    named |= {label.partition(_COST)[0] for label in labels if _COST in label}
    called = [label for label in labels if label.endswith(_CALLS)]
    named |= {each.removesuffix(_CALLS) for each in called if any(map(_was_called, rows[each]))}
    present = [label for label in labels if label in named or _may_be_metric(rows[label])]
    several = {label.partition(_SEVERAL)[0] for label in present if _SEVERAL in label}
    return present + [name for name in sorted(named) if name not in {*labels, *several}]


def _may_be_metric(cells: pd.Series) -> bool:
    label = str(cells.name)
    is_other = label in _WORDS["details"] | _WORDS["traces"] or label.endswith(_COMPANIONS)
    is_numeric = pd.api.types.is_numeric_dtype(cells.dtype)
    return is_numeric and not is_other and _COST not in label and not label.startswith("Unnamed")


def _metric_columns(rows: pd.DataFrame, metric: str) -> dict[str, Any]:
    """The columns of a metric's scores, states and reasons."""
    read = read_cells(_cells(rows, metric))
    numbers = read.numbers.copy()
    others = numbers[(numbers != _UNREADABLE) & ~np.isnan(numbers)]
    # Only beside shares: on another scale -1 can be a score.
    are_shares = bool(((others >= 0) & (others <= 1)).all())
    is_unreadable = (numbers == _UNREADABLE) & are_shares
    numbers[is_unreadable] = np.nan
    companions = (_cells(rows, f"{metric}{end}") for end in (_CALLS, STATE, REASON))
    states, reasons = [], []
    for row, (calls, state, reason) in enumerate(zip(*companions, strict=True)):
        # TruLens (2.16.0) writes NaN both for a judge that failed and for one that never ran; only
        # the calls show which.
        unscored = FAILED if is_unreadable[row] or _was_called(calls) else state or MISSING
        is_missing = read.states[row] == MISSING or is_unreadable[row]
        states.append(unscored if is_missing else read.states[row])
        own_reason = _NOT_READ if is_unreadable[row] else read.reasons[row] or reason
        reasons.append(own_reason or _judge_explanation(calls))
    return {metric: numbers, **state_columns(metric, states, reasons)}


def _was_called(calls: object) -> bool:
    if isinstance(calls, list | np.ndarray):
        return len(calls) > 0
    return isinstance(calls, str) and calls.strip() not in ("", "[]", "nan", "None")


def _judge_explanation(calls: object) -> str | None:
    """The explanations of the judge in the calls of a metric, or in their text, a line per call."""
    # By a pattern: the calls hold whole prompts and contexts, which would take long to parse, and
    # objects that are not literals.
    text = calls if isinstance(calls, str) else repr(calls) if _was_called(calls) else ""
    literals = map(parse_literal, _EXPLANATION.findall(text[:_LONGEST]))
    lines = [text for text in dict.fromkeys(literals) if isinstance(text, str) and text.strip()]
    return "\n".join(lines) or None


# -- feedback results, one row per result


def _pivot(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame with one row per record and one column per metric, from one row per result."""
    metric_column = "fname" if "fname" in frame else "name"
    results = frame.to_dict(orient="records")
    records = groups_of(results, lambda result: json_text(result["record_id"]) or "")
    rows = []
    for record, own in records.items():
        row = {"record_id": record, **_record_details(own[0])}
        of_metrics = groups_of(own, lambda result: json_text(result[metric_column]) or "")
        for metric, of_metric in of_metrics.items():
            row |= _metric_cells(metric, of_metric)
        rows.append(row)
    return pd.DataFrame(rows)


def _record_details(result: Mapping[Any, Any]) -> dict[str, Any]:
    record, app = _object(result.get("record_json")), _object(result.get("app_json"))
    return {
        "input": record.get("main_input", record.get("input", result.get("input"))),
        "output": record.get("main_output", record.get("output", result.get("output"))),
        "app_name": app.get("app_name", result.get("app_name")),
        "app_version": app.get("app_version", result.get("app_version")),
        "app_id": app.get("app_id", record.get("app_id", result.get("app_id"))),
    }


def _metric_cells(metric: str, results: Sequence[Mapping[Any, Any]]) -> dict[str, Any]:
    """The mean of a metric's results on a record, or why there is none."""
    cells = [result.get("result") for result in results]
    read = read_cells(None if is_blank(cell) else cell for cell in cells)
    scores = read.numbers[~np.isnan(read.numbers)]
    if len(scores):
        explanations = [_judge_explanation(result.get("calls_json")) for result in results]
        state, reasons = SCORED, explanations
    else:
        state, reasons = _unscored_state(results), [json_text(row.get("error")) for row in results]
    feedback = _object(results[0].get("feedback_json"))
    return {
        metric: float(scores.mean()) if len(scores) else np.nan,
        f"{metric}{_DIRECTION}": feedback.get("higher_is_better"),
        f"{metric}{STATE}": state,
        f"{metric}{REASON}": "\n".join(reason for reason in reasons if reason) or None,
    }


def _unscored_state(results: Iterable[Mapping[Any, Any]]) -> str:
    """The state of a score that is absent; "failed" goes before "not applicable"."""
    states = set()
    for result in results:
        # Some files hold the enum's text, "FeedbackResultStatus.FAILED".
        status = (json_text(result.get("status")) or "").rpartition(".")[2].lower()
        states.add(_STATUS.get(status, MISSING) if is_blank(result.get("error")) else FAILED)
    return next(state for state in (FAILED, NOT_APPLICABLE, MISSING) if state in states)


def _object(cell: object) -> Mapping[str, Any]:
    """The object in a cell, or in its JSON or Python text; otherwise an empty one."""
    [value] = parse_objects([cell])
    return value if isinstance(value, dict) else {}


TRULENS = reader_of("trulens", _recognise, read_trulens, "columns", "query_id")

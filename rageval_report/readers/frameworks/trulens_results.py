"""TruLens's frame of feedback results, with one row per result, and the explanations in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.readers.cell_values import is_blank, json_text, parse_literal, parse_objects
from rageval_report.scores.cells import read_cells
from rageval_report.scores.states import FAILED, MISSING, NOT_APPLICABLE, REASON, SCORED, STATE

# The columns that may hold the metric of a result, and the end of the name of a column that holds
# the direction of a metric.
METRIC_NAMES = ("fname", "name")
DIRECTION = " direction"

# An explanation of the judge, within the text of its calls.
_TEXT = r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\""""
_EXPLANATION = re.compile(rf"""['"](?:explanation|reasons?)['"]:\s*+({_TEXT})""", re.DOTALL)
_LONGEST = 1_000_000

_STATUS = {"failed": FAILED, "skipped": NOT_APPLICABLE}


def judge_explanation(calls: object) -> str | None:
    """The explanations of the judge, one line per call.

    Parameters
    ----------
    calls : list of dict, or str
        The calls of a metric on a record, or their text as Python or JSON writes it; the text may
        contain objects that are not literals.

    Examples
    --------
    >>> judge_explanation("[{'ts': datetime(2026, 1, 1), 'meta': {'reason': 'all there'}}]")
    'all there'
    """
    if isinstance(calls, str):
        # By a pattern: the calls hold whole prompts and contexts, which would take long to parse.
        texts = [parse_literal(text) for text in _EXPLANATION.findall(calls[:_LONGEST])]
    else:
        parsed_calls = list(calls) if isinstance(calls, list | np.ndarray) else []
        texts = [_explanation(call) for call in parsed_calls]
    lines = [text for text in dict.fromkeys(texts) if isinstance(text, str) and text.strip()]
    return "\n".join(lines) or None


def _explanation(call: object) -> str | None:
    meta = call.get("meta") if isinstance(call, dict) else None
    if not isinstance(meta, dict):
        return None
    texts = (meta.get(key) for key in ("explanation", "reason", "reasons"))
    return next((text for text in texts if isinstance(text, str)), None)


def pivot_results(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame with one row per record and one column per metric, from one row per result.

    Parameters
    ----------
    frame : DataFrame
        With ``record_id``, ``fname`` or ``name``, and ``result``; columns of status, error, calls,
        feedback, record and app are used if they are present.

    Examples
    --------
    >>> results = {"record_id": ["r1", "r1"], "fname": ["bias", "tone"], "result": [0.5, 1.0]}
    >>> pivot_results(pd.DataFrame(results))[["record_id", "bias", "tone"]].values.tolist()
    [['r1', 0.5, 1.0]]
    """
    metric_column = next(name for name in METRIC_NAMES if name in frame)
    records: dict[str, dict[str, Any]] = {}
    results: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in frame.to_dict(orient="records"):
        result = {str(name): cell for name, cell in row.items()}
        record = json_text(result["record_id"]) or ""
        metric = json_text(result[metric_column]) or ""
        records.setdefault(record, {"record_id": record, **_record_details(result)})
        results.setdefault((record, metric), []).append(result)
    for (record, metric), of_metric in results.items():
        records[record] |= _metric_cells(metric, of_metric)
    return pd.DataFrame(list(records.values()))


def _record_details(result: Mapping[str, Any]) -> dict[str, Any]:
    record, app = _object(result.get("record_json")), _object(result.get("app_json"))
    return {
        "input": record.get("main_input", record.get("input", result.get("input"))),
        "output": record.get("main_output", record.get("output", result.get("output"))),
        "app_name": app.get("app_name", result.get("app_name")),
        "app_version": app.get("app_version", result.get("app_version")),
        "app_id": app.get("app_id", record.get("app_id", result.get("app_id"))),
    }


def _metric_cells(metric: str, results: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean of a metric's results on a record, or why there is none."""
    read = read_cells(
        None if is_blank(result.get("result")) else result["result"] for result in results
    )
    scores = read.numbers[~np.isnan(read.numbers)]
    if len(scores):
        state, reasons = SCORED, [judge_explanation(result.get("calls_json")) for result in results]
    else:
        state, reasons = _unscored_state(results), [json_text(row.get("error")) for row in results]
    feedback = _object(results[0].get("feedback_json"))
    return {
        metric: float(scores.mean()) if len(scores) else np.nan,
        f"{metric}{DIRECTION}": feedback.get("higher_is_better"),
        f"{metric}{STATE}": state,
        f"{metric}{REASON}": "\n".join(reason for reason in reasons if reason) or None,
    }


def _unscored_state(results: Iterable[Mapping[str, Any]]) -> str:
    """The state of a score that is absent; "failed" goes before "not applicable"."""
    states = set()
    for result in results:
        # Some files hold the enum's text, "FeedbackResultStatus.FAILED".
        status = (json_text(result.get("status")) or "").rpartition(".")[2].lower()
        has_error = not is_blank(result.get("error"))
        states |= {_STATUS.get(status, MISSING), *([FAILED] if has_error else [])}
    return next(state for state in (FAILED, NOT_APPLICABLE, MISSING) if state in states)


def _object(cell: object) -> Mapping[str, Any]:
    """The object in a cell, or in its JSON or Python text; otherwise an empty one."""
    [value] = parse_objects([cell])
    return value if isinstance(value, dict) else {}

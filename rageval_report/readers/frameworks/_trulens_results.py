"""TruLens's frame of feedback results, a row a result; and what its cells hold."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.files.strict_json import replace_lone_surrogates
from rageval_report.readers.frameworks._texts import read_literal
from rageval_report.scores.cells import read_cells
from rageval_report.scores.states import FAILED, MISSING, NOT_APPLICABLE, REASON, SCORED, STATE

# How the columns are named that hold the metric of a result, and that tell a metric's direction.
METRIC_NAMES = ("fname", "name")
DIRECTION = " direction"

# What a judge explained, within the text of its calls.
_TEXT = r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\""""
_EXPLAINED = re.compile(rf"""['"](?:explanation|reasons?)['"]:\s*+({_TEXT})""", re.DOTALL)
_LONGEST = 1_000_000

_STATUS = {"failed": FAILED, "skipped": NOT_APPLICABLE}


def is_blank(cell: object) -> bool:
    """Whether a cell holds nothing.

    Examples
    --------
    >>> is_blank(None), is_blank(float("nan")), is_blank("")
    (True, True, False)
    """
    return cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))


def text_of(cell: object) -> str:
    """The cell as a text: what is none becomes JSON.

    Examples
    --------
    >>> text_of("Who?"), text_of(True), text_of({"query": "Who?"})
    ('Who?', 'true', '{"query": "Who?"}')
    """
    plain = cell.tolist() if isinstance(cell, np.generic | np.ndarray) else cell
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, default=str)


def explained(calls: object) -> str | None:
    """What the judge explained, of each call a line.

    Parameters
    ----------
    calls : list of dict, or str
        The calls of a metric on a record, or their text as Python or JSON writes it, which may
        hold objects that are no literals.

    Examples
    --------
    >>> explained("[{'ret': 1.0, 'ts': datetime(2026, 1, 1), 'meta': {'reason': 'all there'}}]")
    'all there'
    """
    if isinstance(calls, str):
        told = [read_literal(one) for one in _EXPLAINED.findall(calls[:_LONGEST])]
    else:
        given = list(calls) if isinstance(calls, list | np.ndarray) else []
        told = [_explanation(call) for call in given]
    lines = [one for one in dict.fromkeys(told) if isinstance(one, str) and one.strip()]
    return "\n".join(lines) or None


def _explanation(call: object) -> str | None:
    meta = call.get("meta") if isinstance(call, dict) else None
    if not isinstance(meta, dict):
        return None
    found = (meta.get(key) for key in ("explanation", "reason", "reasons"))
    return next((one for one in found if isinstance(one, str)), None)


def records_of(frame: pd.DataFrame) -> pd.DataFrame:
    """A row a record of a frame with a row a result, with a column a metric.

    Parameters
    ----------
    frame : DataFrame
        With ``record_id``, ``fname`` or ``name``, ``result``; what else there is of status, error,
        calls, feedback, record and app is used.

    Examples
    --------
    >>> results = {"record_id": ["r1", "r1"], "fname": ["bias", "tone"], "result": [0.5, 1.0]}
    >>> records_of(pd.DataFrame(results))[["record_id", "bias", "tone"]].values.tolist()
    [['r1', 0.5, 1.0]]
    """
    metric_column = next(name for name in METRIC_NAMES if name in frame)
    rows: dict[str, dict[str, Any]] = {}
    results: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for given in frame.to_dict(orient="records"):
        result = {str(name): cell for name, cell in given.items()}
        record, metric = text_of(result["record_id"]), text_of(result[metric_column])
        rows.setdefault(record, {"record_id": record, **_of_record(result)})
        results.setdefault((record, metric), []).append(result)
    for (record, metric), several in results.items():
        rows[record] |= _of_results(metric, several)
    return pd.DataFrame(list(rows.values()))


def _of_record(result: Mapping[str, Any]) -> dict[str, Any]:
    record, app = _object(result.get("record_json")), _object(result.get("app_json"))
    return {
        "input": record.get("main_input", record.get("input", result.get("input"))),
        "output": record.get("main_output", record.get("output", result.get("output"))),
        "app_name": app.get("app_name", result.get("app_name")),
        "app_version": app.get("app_version", result.get("app_version")),
        "app_id": app.get("app_id", record.get("app_id", result.get("app_id"))),
    }


def _of_results(metric: str, given: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean of a metric's results on a record, or why there is none."""
    read = read_cells(None if is_blank(one.get("result")) else one["result"] for one in given)
    scores = read.numbers[~np.isnan(read.numbers)]
    state = SCORED if len(scores) else _state(given)
    reasons = [explained(one.get("calls_json")) for one in given]
    if not len(scores):
        reasons = [None if is_blank(one.get("error")) else text_of(one["error"]) for one in given]
    told = [_object(one.get("feedback_json")).get("higher_is_better") for one in given]
    return {
        metric: float(scores.mean()) if len(scores) else np.nan,
        f"{metric}{DIRECTION}": told[0],
        f"{metric}{STATE}": state,
        f"{metric}{REASON}": "\n".join(one for one in reasons if one) or None,
    }


def _state(given: Iterable[Mapping[str, Any]]) -> str:
    """The state of a score that is not there: "failed" goes before "not applicable"."""
    told = [text_of(one.get("status")).rpartition(".")[2].lower() for one in given]
    states = {_STATUS.get(status, MISSING) for status in told}
    if any(not is_blank(one.get("error")) for one in given):
        states.add(FAILED)
    return next(state for state in (FAILED, NOT_APPLICABLE, MISSING) if state in states)


def _object(cell: object) -> Mapping[str, Any]:
    """The object that a cell holds, or that its text is in JSON or Python; else an empty one."""
    found = cell
    if isinstance(cell, str) and len(cell) <= _LONGEST:
        try:
            found = json.loads(replace_lone_surrogates(cell)[0])
        except (ValueError, RecursionError):
            found = read_literal(cell)
    return found if isinstance(found, dict) else {}

"""TruLens's frames: records with their feedback, wide; feedback results, long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile, distinct_names
from rageval_report.readers.cell_values import json_text
from rageval_report.readers.frameworks.trulens_results import (
    DIRECTION,
    METRIC_NAMES,
    judge_explanation,
    pivot_results,
)
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.cells import read_cells
from rageval_report.scores.metric import Override
from rageval_report.scores.states import (
    FAILED,
    MISSING,
    REASON,
    STATE,
    state_columns,
)

_RECORD = frozenset(("record_id", "input", "output"))
_APP = ("app_name", "app_version", "app_id")
_RESULT_IDS = frozenset(("feedback_result_id", "feedback_definition_id"))
_EVENTS = frozenset(("record_attributes", "record_type", "resource_attributes", "trace"))

# The columns of a record that are not metrics.
_DETAILS = frozenset(
    "app_id app_name app_version type record_id conversation_id input_id input output tags ts "
    "latency total_tokens total_cost eval_cost eval_cost_snowflake cost_currency num_events "
    "sampled sample_rate eval_decision_reason is_match".split()
)
# Whole traces, and copies of other columns.
_TRACES = ("app_json", "record_json", "cost_json", "perf_json")
_CALLS, _COST = "_calls", " feedback cost in "
_SEVERAL = ":::"  # between a metric that gives several scores and the name of each

# TruLens writes -1 if it could not read the judge's answer.
_UNREADABLE = -1.0
_NOT_READ = "the judge's answer could not be read; TruLens writes -1"


def _recognise(source: Source) -> float:
    header = frozenset(header_of(source))
    is_wide = header >= _RECORD and not header.isdisjoint(_APP)
    return 0.95 if is_wide or _is_long(header) or header >= _EVENTS else 0.0


def _is_long(header: frozenset[str]) -> bool:
    return (
        header >= {"record_id", "result"}
        and not header.isdisjoint(_RESULT_IDS)
        and not header.isdisjoint(METRIC_NAMES)
    )


def read_trulens(
    source: Source, *, columns: Iterable[str] | None = None, query_id: str | None = None
) -> list[ScoreFile]:
    r"""Read a frame of TruLens from any kind of table: one pipeline per version of an app.

    The frame is the result of ``get_records_and_feedback()`` or ``get_feedback()``. Ids of records
    differ from run to run, so the text of the input identifies the query. The file holds the
    directions. A blank score has failed if its metric was called, and is missing otherwise; -1
    among proportions means that TruLens could not read the judge's answer. Traces are left out,
    and so are the calls of metrics except for the judges' explanations.

    Raises
    ------
    ReaderError
        If the file is not such a table, contains events instead of scores, or cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> text = (
    ...     "app_version,record_id,input,output,bias,bias direction\n"
    ...     "v1,r1,Who?,He.,0.5,False\nv2,r2,Who?,She.,0.25,False\n"
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "records.csv"
    ...     _ = path.write_text(text)
    ...     files = read_trulens(Source(path))
    >>> [file.pipeline for file in files], files[0].metrics
    (['v1', 'v2'], {'bias': {'greater_is_better': False}})
    """
    header = frozenset(header_of(source))
    if header >= _EVENTS:
        raise source.error(
            "these are TruLens's events, one per span; expected one row per record. Write the "
            "result of get_records_and_feedback() instead"
        )
    is_long = _is_long(header)
    selected = None if is_long else _with_companions(header, columns)
    table = read_table(source, columns=selected, query_id=query_id)
    frame = _with_text_versions(source, table.frame.rename(columns=str))
    rows = pivot_results(frame) if is_long else frame
    files = []
    for name, row_numbers in _pipelines(rows, source.stem):
        file = _score_file(name, rows.iloc[row_numbers].reset_index(drop=True), query_id)
        files.append(replace(file, notes=(*table.notes, *file.notes)))
    return files


def _with_companions(
    header: frozenset[str], columns: Iterable[str] | None
) -> frozenset[str] | None:
    """The requested columns, their companions, and the columns that identify apps."""
    if columns is None:
        return None
    requested = frozenset((columns,) if isinstance(columns, str) else columns)
    companions = {f"{name}{ending}" for name in requested for ending in (_CALLS, DIRECTION)}
    return requested | (header & {*companions, *_APP, "cost_currency"})


def _with_text_versions(source: Source, frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the names of apps as text, because the versions 1.1 and 1.10 differ."""
    texts = {
        name: read_table(source, columns=[name], query_id=name).frame[name]
        for name in _APP
        if name in frame and pd.api.types.is_numeric_dtype(frame[name].dtype)
    }
    return frame.assign(**texts)


# -- pipelines


def _pipelines(frame: pd.DataFrame, otherwise: str) -> list[tuple[str, list[int]]]:
    """The rows of each version of each app, in the order in which they first appear."""
    keys: dict[tuple[str, ...], list[int]] = {}
    apps = [_texts_of(frame, name) for name in _APP]
    for row in range(len(frame)):
        app, version, app_id = (cells[row] for cells in apps)
        key = (app, version) if version else (app or app_id,)
        keys.setdefault(key, []).append(row)
    n_apps = len({key[0] for key in keys})
    names = [key[-1] if n_apps == 1 else " ".join(part for part in key if part) for key in keys]
    return list(
        zip(distinct_names(name or otherwise for name in names), keys.values(), strict=True)
    )


def _texts_of(frame: pd.DataFrame, name: str) -> list[str]:
    """The cells as texts, "" for a blank cell."""
    if name not in frame:
        return [""] * len(frame)
    return [json_text(cell) or "" for cell in frame[name].tolist()]


def _score_file(name: str, rows: pd.DataFrame, query_id: str | None) -> ScoreFile:
    metrics = _metrics_of(rows)
    columns, notes = _own_details(rows, metrics, query_id)
    spent = _spent(rows)
    for metric in metrics:
        columns |= _metric_columns(rows, metric)
    frame = pd.DataFrame({**columns, **spent})
    directions = {metric: _direction(rows, metric) for metric in metrics}
    overrides: dict[str, Override] = {
        metric: {"greater_is_better": direction}
        for metric, direction in directions.items()
        if direction is not None
    }
    return ScoreFile(frame, name, overrides, (*metrics, *spent), tuple(notes))


# -- details


def _own_details(
    rows: pd.DataFrame, metrics: list[str], query_id: str | None
) -> tuple[dict[str, Any], list[str]]:
    companions = tuple(
        f"{metric}{ending}"
        for metric in metrics
        for ending in (_CALLS, DIRECTION, _COST, STATE, REASON)
    )
    unused = {*metrics, *_TRACES, "input", "output", "latency", "total_tokens"} - {query_id}
    columns: dict[str, Any] = {}
    notes = []
    if "input" in rows:
        columns["question"] = _texts_of(rows, "input")
        if not all(text.strip() for text in columns["question"]) and "record_id" in rows:
            # A record's id is new in each run, so it is the last resort; the input pairs runs.
            columns = {"query_id": rows["record_id"].astype(str), **columns}
            notes.append(
                "some records have no input, so query ids are the ids of records, which differ "
                "from run to run"
            )
    if "output" in rows:
        columns["answer"] = [text or None for text in _texts_of(rows, "output")]
    for label in map(str, rows):
        if label not in unused and not label.startswith(companions):
            columns.setdefault(label, rows[label])
    return columns, notes


def _spent(rows: pd.DataFrame) -> dict[str, Any]:
    """The columns of latency, tokens and cost; a cost in another currency stays a detail."""
    spent = {}
    if "latency" in rows:
        with np.errstate(over="ignore"):  # infinite numbers are refused where scores are read
            spent["latency_ms"] = _numbers(rows["latency"]) * 1000.0
    if "total_tokens" in rows:
        spent["total_tokens"] = _numbers(rows["total_tokens"])
    if "total_cost" in rows and set(_texts_of(rows, "cost_currency")) <= {"", "USD"}:
        spent["cost_usd"] = _numbers(rows["total_cost"])
    return {name: numbers for name, numbers in spent.items() if not np.isnan(numbers).all()}


def _numbers(cells: pd.Series) -> np.ndarray:
    return np.asarray(read_cells(cells.tolist()).numbers)


# -- metrics


def _metrics_of(rows: pd.DataFrame) -> list[str]:
    """The columns with a column of calls, directions or costs, and all other columns of numbers.

    A metric that failed on every record may have no column of its own.
    """
    labels = [str(label) for label in rows]
    named = {label.removesuffix(DIRECTION) for label in labels if label.endswith(DIRECTION)}
    named |= {label.partition(_COST)[0] for label in labels if _COST in label}
    called = [label for label in labels if label.endswith(_CALLS) and _holds_calls(rows[label])]
    named |= {label.removesuffix(_CALLS) for label in called}
    present = [label for label in labels if label in named or _may_be_metric(rows[label])]
    several = {label.partition(_SEVERAL)[0] for label in present if _SEVERAL in label}
    absent = [name for name in sorted(named) if name not in labels and name not in several]
    return present + absent


def _holds_calls(cells: pd.Series) -> bool:
    return any(map(_was_called, cells.tolist()))


def _may_be_metric(cells: pd.Series) -> bool:
    label = str(cells.name)
    return (
        pd.api.types.is_numeric_dtype(cells.dtype)
        and label not in _DETAILS
        and label not in _TRACES
        and _COST not in label
        and not label.endswith((_CALLS, DIRECTION, STATE, REASON))
        and not label.startswith("Unnamed")
    )


def _metric_columns(rows: pd.DataFrame, metric: str) -> dict[str, Any]:
    """The columns of a metric's scores, states and reasons."""
    read = read_cells(_cells(rows, metric))
    numbers = read.numbers.copy()
    # Only beside shares: on another scale -1 can be a score.
    is_unreadable = (numbers == _UNREADABLE) & _are_proportions(numbers[numbers != _UNREADABLE])
    numbers[is_unreadable] = np.nan
    companions = zip(
        *(_cells(rows, f"{metric}{end}") for end in (_CALLS, STATE, REASON)), strict=True
    )
    states, reasons = [], []
    for row, (calls, state, reason) in enumerate(companions):
        # TruLens (2.16.0) writes NaN both for a judge that failed and for one that never ran; only
        # the calls show which.
        unscored = FAILED if is_unreadable[row] or _was_called(calls) else state or MISSING
        is_missing = read.states[row] == MISSING or is_unreadable[row]
        states.append(unscored if is_missing else read.states[row])
        own_reason = _NOT_READ if is_unreadable[row] else read.reasons[row] or reason
        reasons.append(own_reason or judge_explanation(calls))
    return {metric: numbers, **state_columns(metric, states, reasons)}


def _cells(rows: pd.DataFrame, name: str) -> list[Any]:
    return rows[name].tolist() if name in rows else [None] * len(rows)


def _are_proportions(numbers: np.ndarray) -> bool:
    present = numbers[~np.isnan(numbers)]
    return bool(((present >= 0) & (present <= 1)).all())


def _was_called(calls: object) -> bool:
    if isinstance(calls, list | np.ndarray):
        return len(calls) > 0
    return isinstance(calls, str) and calls.strip() not in ("", "[]", "nan", "None")


def _direction(rows: pd.DataFrame, metric: str) -> bool | None:
    """Whether higher is better; None if the file does not say, or says both."""
    texts = {text.strip().lower() for text in _texts_of(rows, f"{metric}{DIRECTION}")} - {""}
    directions = {text in ("true", "1", "1.0") for text in texts}
    return directions.pop() if len(directions) == 1 else None


TRULENS = Reader(
    "trulens",
    "TruLens's frames of records with feedback, or of feedback results: one pipeline per version",
    _recognise,
    read_trulens,
    ("columns", "encoding", "query_id"),
    example="records.csv",
)

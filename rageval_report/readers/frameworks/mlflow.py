"""MLflow's tables: ``eval_results_table.json`` of `evaluate`, ``result_df`` of GenAI `evaluate`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile
from rageval_report.readers.cell_values import json_text, parse_objects, text_or_none
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    average_repeats,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.frameworks.row_parts import split_parts
from rageval_report.readers.record_columns import columns_of, frame_of, rows_of
from rageval_report.readers.table_files import dialect
from rageval_report.scores.cells import read_cells
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import QUERY_ID, id_column_of

_SCORE = re.compile(r"(?P<stem>(?P<name>.+?)(?:/v\d+)?)/score")
_VERSIONED = re.compile(r".+/v\d+/score")
_VALUE, _RATIONALE, _FAULT = "/value", "/rationale", "/error_message"
_JUSTIFICATION = "/justification"

# Names of expectations, for tables without the assessments, which list them.
_EXPECTED = re.compile(r"expected_.*|guidelines")
_USUAL_NAMES = {
    "question": ("inputs",),
    "answer": ("outputs", "predictions"),
    "reference": ("targets", "ground_truth"),
}
# The columns of traces that describe the query; the others repeat these or describe the run.
_OF_TRACES = ("trace_id", "client_request_id", "request_time")

# MLflow's own judges of the first version give grades from 1 to 5.
_JUDGES = frozenset(
    ("answer_correctness", "answer_relevance", "answer_similarity", "faithfulness", "relevance")
)
_MARKS = (1.0, 5.0)
_ON_MARKS: Override = {"kind": "ordinal", "bounds": _MARKS}


def _recognise(names: frozenset[str]) -> float:
    if any(map(_VERSIONED.fullmatch, names)):
        return 0.95
    if "trace_id" in names and any(name.endswith(_VALUE) for name in names):
        return 0.95
    # Without a version the name proves less, so a framework's own reader goes first.
    return 0.92 if any(map(_SCORE.fullmatch, names)) else 0.0


def read_mlflow(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read a table of MLflow: one pipeline, named after the file.

    With `mlflow.evaluate` the columns ``<metric>/<version>/score`` are the metrics and
    ``/justification`` their reasons. With `mlflow.genai.evaluate` these are ``<scorer>/value``,
    ``/rationale`` and ``/error_message``. Ids are a tag or an input that is named like one, or the
    client's request id; never the trace's id, which is new in each run.

    Raises
    ------
    ReaderError
        If no column is a score.
    """
    cells = {str(name): _cells(frame[name]) for name in frame}
    if any(map(_SCORE.fullmatch, cells)):
        return [_read_metrics(source, cells)]
    if any(name.endswith(_VALUE) for name in cells):
        return [_read_scorers(source, cells)]
    raise source.error("expected columns like 'toxicity/v1/score' or 'correctness/value'")


def _cells(column: pd.Series) -> list[Any]:
    """The cells as Python values; None for NA and NaN."""
    has_value = column.notna().tolist()
    return [cell if has else None for cell, has in zip(column, has_value, strict=True)]


# -- eval_results_table.json


def _read_metrics(source: Source, cells: CellsByColumn) -> ScoreFile:
    stems = {match["stem"]: match["name"] for name in cells if (match := _SCORE.fullmatch(name))}
    versions = Counter(stems.values())
    # The version stays in the name only if a table has two of one metric.
    names = {stem: name if versions[name] == 1 else stem for stem, name in stems.items()}
    judgements = {
        name: _judgements(cells[f"{stem}/score"], cells.get(stem + _JUSTIFICATION))
        for stem, name in names.items()
    }
    judged = judgement_columns(rows_of(judgements))
    parts = {f"{stem}{end}" for stem in stems for end in ("/score", _JUSTIFICATION)}
    latency = {"latency_ms": _milliseconds(cells["latency"])} if "latency" in cells else {}
    others = {name: cells[name] for name in cells if name not in parts and name != "latency"}
    details = rename_clashes(_usual_details(others), judged.columns, "data")
    judges = {names[stem] for stem in stems if stem + _JUSTIFICATION in cells}
    scales = _scales(judged.columns, judges & set(judged.metrics), stems, names)
    return ScoreFile(
        frame_of({**details, **judged.columns, **latency}),
        source.stem,
        metrics=scales,
        metric_columns=(*judged.metrics, *latency),
        notes=(*judged.notes, *_notes_of_scales(scales), *_notes_of_latency(latency)),
    )


def _judgements(scores: list[Any], reasons: list[Any] | None) -> list[Judgement]:
    all_reasons = reasons or [None] * len(scores)
    return [
        Judgement(score, text_or_none(reason))
        for score, reason in zip(scores, all_reasons, strict=True)
    ]


def _usual_details(columns: CellsByColumn) -> CellsByColumn:
    """The inputs, outputs and targets under this library's names; inputs as texts."""
    usual_names: dict[str, str] = {}
    for usual, names in _USUAL_NAMES.items():
        present = [name for name in names if name in columns]
        if present and usual not in columns:
            usual_names[present[0]] = usual
    return {
        usual_names.get(name, name): (
            [json_text(cell) for cell in cells] if name in _USUAL_NAMES["question"] else cells
        )
        for name, cells in columns.items()
    }


def _milliseconds(seconds: Iterable[object]) -> list[float]:
    return [float(number) * 1000 for number in read_cells(seconds).numbers]


def _scales(
    columns: CellsByColumn,
    judges: Iterable[str],
    stems: Mapping[str, str],
    names: Mapping[str, str],
) -> dict[str, Override]:
    """The judges that give grades from 1 to 5: MLflow's own, and others with such scores."""
    own = {names[stem] for stem in stems if stem.endswith("/v1") and stems[stem] in _JUDGES}
    scales: dict[str, Override] = {}
    for name in sorted(judges):
        numbers = np.array(columns[name], dtype=float)
        marks = numbers[~np.isnan(numbers)]
        low, high = _MARKS
        are_marks = bool(((marks == np.round(marks)) & (marks >= low) & (marks <= high)).all())
        # All 1 from a judge of one's own may be shares or verdicts; MLflow's own judges give marks.
        if marks.size and are_marks and (name in own or bool((marks > 1).any())):
            scales[name] = _ON_MARKS
    return scales


def _notes_of_scales(scales: Mapping[str, Override]) -> Iterator[str]:
    if scales:
        yield f"read as grades from 1 to 5, which MLflow's judges give: {named(scales)}"


def _notes_of_latency(latency: CellsByColumn) -> Iterator[str]:
    if latency:
        yield "'latency', in seconds, is read as 'latency_ms'"


# -- result_df


def _read_scorers(source: Source, cells: CellsByColumn) -> ScoreFile:
    tags, assessments = (parse_objects(cells.get(name, [])) for name in ("tags", "assessments"))
    scorers = [name.removesuffix(_VALUE) for name in cells if name.endswith(_VALUE)]
    # MLflow (3.17.2) writes expectations as `<name>/value`, exactly like scores.
    expected = _expectations(scorers, assessments)
    labels = [name for name in scorers if name not in expected and _are_labels(name, cells)]
    scored = [name for name in scorers if name not in expected and name not in labels]
    if not scored:
        raise source.error(f"none of {named(scorers)} has a score")
    judged = judgement_columns(rows_of({name: _feedback(name, cells) for name in scored}))
    others = {name: cells[f"{name}{_VALUE}"] for name in labels}
    others |= {
        ("reference" if name == "expected_response" else name): cells[name + _VALUE]
        for name in expected
    }
    measures = drop_empty({"latency_ms": _durations(cells)})
    details, notes = _details(cells, tags)
    columns = details | rename_clashes(others, {*details, *judged.columns}, "expectations")
    columns = rename_clashes(columns, {*judged.columns, *measures}, "trace")
    frame = frame_of({**columns, **judged.columns, **measures})
    metrics = (*judged.metrics, *measures)
    if QUERY_ID in frame:
        frame, repeats = average_repeats(frame, QUERY_ID, metrics)
        notes += repeats
    if labels:
        notes += (f"kept as details, because they are labels and not scores: {named(labels)}",)
    return ScoreFile(frame, source.stem, metric_columns=metrics, notes=(*notes, *judged.notes))


def _expectations(names: Iterable[str], assessments: Iterable[object]) -> list[str]:
    """The columns among the scorers that hold expectations, according to the assessments."""
    lists = [row for row in assessments if isinstance(row, list)]
    objects = [item for row in lists for item in row if isinstance(item, dict)]
    if not objects:
        return [name for name in names if _EXPECTED.fullmatch(name)]
    expected = {str(item.get("assessment_name")) for item in objects if "expectation" in item}
    return [name for name in names if name in expected]


def _are_labels(name: str, cells: CellsByColumn) -> bool:
    read = read_cells(cells[name + _VALUE])
    return bool(read.unread) and bool(np.isnan(read.numbers).all())


def _feedback(name: str, cells: CellsByColumn) -> list[Judgement]:
    n_rows = len(cells[name + _VALUE])
    faults = cells.get(name + _FAULT, [None] * n_rows)
    reasons = cells.get(name + _RATIONALE, [None] * n_rows)
    return [
        Judgement(value, json_text(fault) or json_text(reason), bool(fault))
        for value, fault, reason in zip(cells[name + _VALUE], faults, reasons, strict=True)
    ]


def _durations(cells: CellsByColumn) -> list[Any]:
    """The duration of each trace in milliseconds; pandas may hold time spans instead."""
    spans = cells.get("execution_duration", [])
    return [
        span.total_seconds() * 1000 if isinstance(span, pd.Timedelta) else span for span in spans
    ]


def _details(cells: CellsByColumn, tags: list[Any]) -> tuple[CellsByColumn, tuple[str, ...]]:
    details: CellsByColumn = {}
    for column, role, origin in (
        ("request", "question", "inputs"),
        ("response", "answer", "outputs"),
    ):
        parts = split_parts(parse_objects(cells[column]), role, origin) if column in cells else {}
        details |= {name: parts[name] for name in parts if name not in details}
    own = columns_of(map(_own_tags, tags))
    details |= rename_clashes(own, {*details, QUERY_ID}, "tags")
    details |= drop_empty({name: list(cells[name]) for name in _OF_TRACES if name in cells})
    if "ERROR" in cells.get("state", []):
        message = "the trace ended in an error"
        details["error"] = [message if state == "ERROR" else None for state in cells["state"]]
    return _with_ids(details, own)


def _own_tags(tags: object) -> dict[str, Any]:
    """The tags of the user; those of MLflow begin with its name."""
    if not isinstance(tags, dict):
        return {}
    return {str(key): tag for key, tag in tags.items() if not str(key).startswith("mlflow.")}


def _with_ids(details: CellsByColumn, tags: CellsByColumn) -> tuple[CellsByColumn, tuple[str, ...]]:
    """The details with query ids, if a tag, an input or the client's request id is one."""
    inputs = {name.removeprefix("inputs."): name for name in details if name.startswith("inputs.")}
    in_tags, in_inputs = id_column_of(tags), id_column_of(inputs)
    places = {
        f"the tag {in_tags!r}": tags.get(in_tags or ""),
        f"the input {in_inputs!r}": details.get(inputs.get(in_inputs or "", "")),
        # Never trace_id: it is new in each run and would pair with nothing.
        "'client_request_id'": details.get("client_request_id"),
    }
    for place, ids in places.items():
        if ids and all(isinstance(cell, str | int) and str(cell).strip() for cell in ids):
            rest = {name: cells for name, cells in details.items() if cells is not ids}
            rest.pop(f"tags.{in_tags}", None)
            return {QUERY_ID: list(map(str, ids)), **rest}, (f"query ids are taken from {place}",)
    return details, ()


MLFLOW = dialect(
    "mlflow",
    "MLflow: eval_results_table.json, and result_df of GenAI evaluations saved as any table",
    _recognise,
    read_mlflow,
    example="eval_results_table.json",
)

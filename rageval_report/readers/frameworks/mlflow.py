"""MLflow's tables: ``eval_results_table.json`` of `evaluate`, ``result_df`` of GenAI `evaluate`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile
from rageval_report.readers.cell_values import json_text, parse_objects, text_or_none
from rageval_report.readers.frameworks.format import SURE, described, reader_of_frames, without
from rageval_report.readers.frameworks.rows import (
    SECONDS,
    Judgement,
    are_grades,
    drop_empty,
    judgement_columns,
    overrides_of,
    rename_clashes,
    score_file,
    split_parts,
    texts_of_ids,
)
from rageval_report.readers.record_columns import columns_of, rows_of
from rageval_report.scores.cells import read_cells
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import QUERY_ID, id_column_of

_SCORE = re.compile(r"(?P<stem>(?P<name>.+?)(?:/v\d+)?)/score")
_VERSIONED = re.compile(r".+/v\d+/score")
_VALUE, _JUSTIFICATION = "/value", "/justification"
# Names of expectations, for tables without the assessments, which list them.
_EXPECTED = re.compile(r"expected_.*|guidelines")
_OUR_NAMES = {
    "question": ("inputs",),
    "answer": ("outputs", "predictions"),
    "reference": ("targets", "ground_truth"),
}
# The columns of traces that describe the query; the others repeat these or describe the run.
_OF_TRACES = ("trace_id", "client_request_id", "request_time")
_ON_MARKS: Override = {"kind": "ordinal", "bounds": (1.0, 5.0)}


def _recognise(names: frozenset[str]) -> float:
    is_of_traces = "trace_id" in names and any(name.endswith(_VALUE) for name in names)
    if is_of_traces or any(map(_VERSIONED.fullmatch, names)):
        return SURE
    # Without a version the name proves less, so a framework's own reader goes first.
    return 0.92 if any(map(_SCORE.fullmatch, names)) else 0.0


def _read_mlflow(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read a table of MLflow: ``<metric>/<version>/score``, or ``<scorer>/value`` of GenAI."""
    cells = {
        str(name): [cell if has else None for cell, has in zip(column, column.notna(), strict=True)]
        for name, column in frame.items()
    }
    if any(map(_SCORE.fullmatch, cells)):
        return [_read_metrics(source, cells)]
    if any(name.endswith(_VALUE) for name in cells):
        return [_read_scorers(source, cells)]
    raise source.error("expected columns like 'toxicity/v1/score' or 'correctness/value'")


def _judgements(
    cells: CellsByColumn, name: str, ends: tuple[str, str], fault: str = ""
) -> list[Judgement]:
    """The judgements in the columns of a name that end with a score, its reason and its fault."""
    values = cells[name + ends[0]]
    reasons, faults = (cells.get(name + end, [None] * len(values)) for end in (ends[1], fault))
    return [
        Judgement(value, json_text(fault) or text_or_none(reason), bool(fault))
        for value, reason, fault in zip(values, reasons, faults, strict=True)
    ]


# -- eval_results_table.json


def _read_metrics(source: Source, cells: CellsByColumn) -> ScoreFile:
    stems = {match["stem"]: match["name"] for name in cells if (match := _SCORE.fullmatch(name))}
    versions = Counter(stems.values())
    # The version stays in the name only if a table has two of one metric.
    names = {name if versions[name] == 1 else stem: stem for stem, name in stems.items()}
    ends = ("/score", _JUSTIFICATION)
    judged = judgement_columns(
        rows_of({name: _judgements(cells, stem, ends) for name, stem in names.items()})
    )
    judges = {name: stem for name, stem in names.items() if stem + _JUSTIFICATION in cells}
    scales = overrides_of(lambda name, scores: _scale(judges.get(name), scores), judged)
    grades = f"read as grades from 1 to 5, which MLflow's judges give: {named(sorted(scales))}"
    latency = read_cells(cells.get("latency", [])).numbers * SECONDS
    parts = {f"{stem}{end}" for stem in stems for end in ends}
    details = without(cells, {*parts, "latency"})
    for ours, theirs in _OUR_NAMES.items():
        present = [name for name in theirs if name in details]
        if present and ours not in details:
            details = {ours if name == present[0] else name: details[name] for name in details}
    if "inputs" in cells and "question" in details:  # questions identify rows, so they are texts
        details["question"] = list(map(json_text, details["question"]))
    return score_file(
        source.stem,
        judged,
        details,
        measures={"latency_ms": latency.tolist()} if "latency" in cells else None,
        origin="data",
        metrics=scales,
        notes=[grades] if scales else [],
    )


def _scale(stem: str | None, scores: Sequence[float]) -> Override | None:
    """Grades from 1 to 5 of a judge; all 1 are grades of MLflow's own judges only."""
    judge, _, version = (stem or "").rpartition("/")
    is_own = version == "v1" and judge in described("mlflow")["judges"]
    is_grade = stem is not None and are_grades(scores, whole=True, all_one=is_own)
    return _ON_MARKS if is_grade else None


# -- result_df


def _read_scorers(source: Source, cells: CellsByColumn) -> ScoreFile:
    scorers = [name.removesuffix(_VALUE) for name in cells if name.endswith(_VALUE)]
    # MLflow (3.17.2) writes expectations as `<name>/value`, exactly like scores.
    expected = _expectations(scorers, parse_objects(cells.get("assessments", [])))
    reads = {name: read_cells(cells[name + _VALUE]) for name in scorers if name not in expected}
    labels = [n for n, read in reads.items() if read.unread and bool(np.isnan(read.numbers).all())]
    scored = [name for name in reads if name not in labels]
    if not scored:
        raise source.error(f"none of {named(scorers)} has a score")
    others = {
        "reference" if name == "expected_response" else name: cells[name + _VALUE]
        for name in (*labels, *expected)
    }
    details, ids, notes = _details(cells)
    if labels:
        notes.append(f"kept as details, because they are labels and not scores: {named(labels)}")
    ends = (_VALUE, "/rationale")
    return score_file(
        source.stem,
        rows_of({name: _judgements(cells, name, ends, "/error_message") for name in scored}),
        details | rename_clashes(others, {*details, *scored}, "expectations"),
        ids=ids or None,
        measures={
            "latency_ms": [
                # A duration in milliseconds; pandas may hold time spans instead.
                span.total_seconds() * SECONDS if isinstance(span, pd.Timedelta) else span
                for span in cells.get("execution_duration", [])
            ]
        },
        origin="trace",
        notes=notes,
    )


def _expectations(names: Iterable[str], assessments: Iterable[object]) -> list[str]:
    """The columns among the scorers that hold expectations, according to the assessments."""
    lists = [row for row in assessments if isinstance(row, list)]
    objects = [item for row in lists for item in row if isinstance(item, dict)]
    listed = {str(item.get("assessment_name")) for item in objects if "expectation" in item}
    return [name for name in names if (name in listed if objects else _EXPECTED.fullmatch(name))]


def _details(cells: CellsByColumn) -> tuple[CellsByColumn, list[str], list[str]]:
    """The details, the query ids if a tag, an input or the client's request has one, and notes."""
    details: CellsByColumn = {}
    for column, role, origin in (
        ("request", "question", "inputs"),
        ("response", "answer", "outputs"),
    ):
        parts = split_parts(parse_objects(cells[column]), role, origin) if column in cells else {}
        details |= {name: parts[name] for name in parts if name not in details}
    # The tags of the user; those of MLflow begin with its name.
    tags = columns_of(
        {str(key): tag for key, tag in tags.items() if not str(key).startswith("mlflow.")}
        if isinstance(tags, dict)
        else {}
        for tags in parse_objects(cells.get("tags", []))
    )
    details |= rename_clashes(tags, {*details, QUERY_ID}, "tags")
    details |= drop_empty({name: list(cells[name]) for name in _OF_TRACES if name in cells})
    if "ERROR" in cells.get("state", []):
        message = "the trace ended in an error"
        details["error"] = [message if state == "ERROR" else None for state in cells["state"]]
    inputs = {name.removeprefix("inputs."): name for name in details if name.startswith("inputs.")}
    in_tags, in_inputs = id_column_of(tags), id_column_of(inputs)
    places = {
        f"the tag {in_tags!r}": tags.get(in_tags or ""),
        f"the input {in_inputs!r}": details.get(inputs.get(in_inputs or "", "")),
        # Never trace_id: it is new in each run and would pair with nothing.
        "'client_request_id'": details.get("client_request_id"),
    }
    for place, cells_of_place in places.items():
        ids = texts_of_ids(cells_of_place)
        if ids:
            kept = {name: own for name, own in details.items() if own is not cells_of_place}
            return without(kept, [f"tags.{in_tags}"]), ids, [f"query ids are taken from {place}"]
    return details, [], []


MLFLOW = reader_of_frames("mlflow", _recognise, _read_mlflow)

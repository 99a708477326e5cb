"""Opik: the test results of an evaluation, a test case with its score results each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile
from rageval_report.readers.cell_values import none_if_nan, text_or_none
from rageval_report.readers.frameworks.json_rows import first_fields, read_rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    average_repeats,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.frameworks.row_parts import collect_details
from rageval_report.readers.json_shapes import check_object, check_records
from rageval_report.readers.record_columns import frame_of
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

_RESULTS = "test_results"
_SECONDS = 1000.0  # task_execution_time, in milliseconds


def _recognise(source: Source) -> float:
    return 0.95 if first_fields(source, _RESULTS) >= {"test_case", "score_results"} else 0.0


def read_opik(source: Source) -> list[ScoreFile]:
    """Read the test results of an Opik evaluation: one pipeline, the experiment.

    Trials of a dataset item become one row. A score whose metric failed, which Opik writes as 0,
    is unscored, with the reason.

    Parameters
    ----------
    source : Source
        The file: an evaluation result, a list of test results, or one a line.

    Raises
    ------
    ReaderError
        If it is broken, or holds no test result.
    ShapeError
        If a field holds something else than Opik writes there.
    """
    rows = read_rows(source, _RESULTS)
    if not all({"test_case", "score_results"} <= set(row) for row in rows):
        raise source.error("expected test results of Opik, each with test_case and score_results")
    scores = [check_records(row["score_results"], "score_results") for row in rows]
    found = judgement_columns(map(_judgements, scores))
    cases = [check_object(row["test_case"], "test_case") for row in rows]
    times = drop_empty({"latency_ms": [_milliseconds(row) for row in rows]})
    measures = {name: cells for name, cells in times.items() if name not in found.columns}
    columns = {**measures, **found.columns}
    metrics = (*measures, *found.metrics)
    details = rename_clashes(_details(cases), (*columns, QUERY_ID), "test_case")
    frame = frame_of({**_ids(cases), **details, **columns})
    notes = [*_several_note(scores), *found.notes]
    if QUERY_ID in frame:
        frame, repeats = average_repeats(frame, QUERY_ID, metrics)
        notes = ["query ids are taken from 'dataset_item_id'", *notes, *repeats]
    return [ScoreFile(frame, _name(source), metric_columns=metrics, notes=tuple(notes))]


def _name(source: Source) -> str:
    document = source.document_or_none()
    name = document.get("experiment_name") if isinstance(document, dict) else None
    return text_or_none(name) or source.stem


# -- scores


def _judgements(scores: Iterable[JsonObject]) -> dict[str, Judgement]:
    """What the metrics say of a test case; of several scores of one name the mean is taken."""
    by_name: dict[str, list[JsonObject]] = {}
    for one in scores:
        by_name.setdefault(str(one.get("name")), []).append(one)
    return {name: _judgement(given) for name, given in by_name.items()}


def _judgement(given: list[JsonObject]) -> Judgement:
    scored = [one for one in given if one.get("scoring_failed") is not True]
    told = [text_or_none(one.get("reason")) for one in scored or given]
    reason = "; ".join(dict.fromkeys(one for one in told if one)) or None
    if not scored:
        return Judgement(None, reason, is_failed=True)
    values = [none_if_nan(one.get("value")) for one in scored]
    numbers = [float(one) for one in values if isinstance(one, int | float)]
    several = len(values) > 1 and len(numbers) == len(values)
    return Judgement(math.fsum(numbers) / len(numbers) if several else values[0], reason)


def _several_note(scores: Iterable[list[JsonObject]]) -> list[str]:
    several = {
        str(one.get("name"))
        for given in scores
        for place, one in enumerate(given)
        if one.get("name") in [other.get("name") for other in given[:place]]
    }
    if not several:
        return []
    return [f"several scores of a test case under one name, averaged: {named(sorted(several))}"]


def _milliseconds(row: JsonObject) -> float | None:
    seconds = none_if_nan(row.get("task_execution_time"))
    return seconds * _SECONDS if isinstance(seconds, int | float) else None


# -- details


def _ids(cases: list[JsonObject]) -> CellsByColumn:
    ids = [case.get("dataset_item_id") for case in cases]
    return {} if any(one is None for one in ids) else {QUERY_ID: [str(one) for one in ids]}


def _details(cases: list[JsonObject]) -> CellsByColumn:
    """The texts of the dataset item and of the answer."""
    items = [_content(case) for case in cases]
    outputs = [case.get("task_output") for case in cases]
    questions = [("dataset_item", "question", items)] if any(items) else []
    found = collect_details(*questions, ("task_output", "answer", outputs))
    return drop_empty(found | {"trace_id": [case.get("trace_id") for case in cases]})


def _content(case: JsonObject) -> Mapping[str, Any]:
    content = case.get("dataset_item_content") or case.get("scoring_inputs")
    return check_object(content, "test_case.dataset_item_content")


OPIK = Reader(
    "opik",
    "Opik: test results with score_results[], as JSON or JSON Lines",
    _recognise,
    read_opik,
    ("encoding",),
    example="test_results.json",
)

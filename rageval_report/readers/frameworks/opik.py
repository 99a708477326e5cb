"""Opik: the test results of an evaluation, each with a test case and its score results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile
from rageval_report.readers.cell_values import none_if_nan, number_or_none, text_or_none
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

    Trials of a dataset item become one row. If a metric failed, Opik writes 0; here the query is
    unscored, with the reason.

    Parameters
    ----------
    source : Source
        The file: an evaluation result, a list of test results, or one test result per line.

    Raises
    ------
    ReaderError
        If the file is broken, or contains no test result.
    """
    rows = read_rows(source, _RESULTS)
    if not all({"test_case", "score_results"} <= set(row) for row in rows):
        raise source.error("expected test results of Opik, each with test_case and score_results")
    scores = [check_records(row["score_results"], "score_results") for row in rows]
    judged = judgement_columns(map(_judgements, scores))
    cases = [check_object(row["test_case"], "test_case") for row in rows]
    times = drop_empty({"latency_ms": [_milliseconds(row) for row in rows]})
    measures = {name: cells for name, cells in times.items() if name not in judged.columns}
    columns = {**measures, **judged.columns}
    metrics = (*measures, *judged.metrics)
    details = rename_clashes(_details(cases), (*columns, QUERY_ID), "test_case")
    frame = frame_of({**_ids(cases), **details, **columns})
    notes = [*_several_note(scores), *judged.notes]
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
    """The judgements of a test case; of several scores of one name, their mean."""
    by_name: dict[str, list[JsonObject]] = {}
    for score in scores:
        by_name.setdefault(str(score.get("name")), []).append(score)
    return {name: _judgement(results) for name, results in by_name.items()}


def _judgement(results: list[JsonObject]) -> Judgement:
    # Opik (2.2.122) writes the value 0.0 beside scoring_failed.
    scored = [result for result in results if result.get("scoring_failed") is not True]
    reasons = [text_or_none(result.get("reason")) for result in scored or results]
    reason = "; ".join(dict.fromkeys(text for text in reasons if text)) or None
    if not scored:
        return Judgement(None, reason, is_failed=True)
    values = [none_if_nan(result.get("value")) for result in scored]
    # A value that no float holds is refused where the scores are read.
    numbers = [
        float(value)
        for value in values
        if isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= 1023)
    ]
    several = len(values) > 1 and len(numbers) == len(values)
    return Judgement(math.fsum(numbers) / len(numbers) if several else values[0], reason)


def _several_note(scores: Iterable[list[JsonObject]]) -> list[str]:
    several = {
        name
        for results in scores
        for name, count in Counter(str(result.get("name")) for result in results).items()
        if count > 1
    }
    if not several:
        return []
    return [
        f"averaged, because a test case has several scores of one name: {named(sorted(several))}"
    ]


def _milliseconds(row: JsonObject) -> float | None:
    seconds = number_or_none(row.get("task_execution_time"))
    return None if seconds is None else seconds * _SECONDS


# -- details


def _ids(cases: list[JsonObject]) -> CellsByColumn:
    ids = [case.get("dataset_item_id") for case in cases]
    return {} if None in ids else {QUERY_ID: list(map(str, ids))}


def _details(cases: list[JsonObject]) -> CellsByColumn:
    """The texts of the dataset item and of the answer."""
    items = [_content(case) for case in cases]
    outputs = [case.get("task_output") for case in cases]
    questions = [("dataset_item", "question", items)] if any(items) else []
    details = collect_details(*questions, ("task_output", "answer", outputs))
    return drop_empty(details | {"trace_id": [case.get("trace_id") for case in cases]})


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

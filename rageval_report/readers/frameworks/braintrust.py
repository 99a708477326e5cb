"""Braintrust: experiments as its SDK and its exports write them, one row per case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile
from rageval_report.readers.cell_values import json_text, number_or_none
from rageval_report.readers.frameworks.json_rows import first_fields, read_rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    JudgementColumns,
    average_repeats,
    drop_empty,
    judgement_columns,
    last_line,
    rename_clashes,
)
from rageval_report.readers.frameworks.row_parts import collect_details, rename_partial_ids
from rageval_report.readers.json_shapes import check_object
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.types import JsonObject

_SCORES, _ERRORS = "scores.", "scorer_errors"
_OWN = frozenset(("input", "output", "expected", "metadata", "scores", "error", "metrics"))
# Rows of one case have no id in common (0.47.0); its trials share input and expected value.
_KEY = "input and expected"
_SECONDS = 1000.0

# Braintrust's own measures, and their names in this library.
_MEASURES = {
    "prompt_tokens": "prompt_tokens",
    "completion_tokens": "completion_tokens",
    "tokens": "total_tokens",
    "estimated_cost": "cost_usd",
}


def _recognise(source: Source) -> float:
    names = first_fields(source, "results")
    has_scores = "scores" in names or any(name.startswith(_SCORES) for name in names)
    is_case = names >= {"input", "output", "expected", "metadata"}
    return 0.95 if has_scores and is_case else 0.0


def read_braintrust(source: Source) -> list[ScoreFile]:
    """Read a Braintrust experiment: one pipeline, named after the file.

    Trials of one input become one row. If a scorer failed, the row has no score and its metadata
    has the error; if a scorer returned None, it skipped the case.

    Raises
    ------
    ReaderError
        If the file is broken, or contains no record.
    """
    rows, notes = _roots(read_rows(source, "results"))
    judged = _judge_rows(rows)
    measures = drop_empty(columns_of(map(_measures, rows)))
    scores = {**rename_clashes(measures, judged.columns, "metrics"), **judged.columns}
    metrics = (*[name for name in scores if name not in judged.columns], *judged.metrics)
    details = rename_clashes(_details(rows), (*scores, _KEY), "metadata")
    keys = [json_text([row.get("input"), row.get("expected")]) for row in rows]
    frame, repeats = average_repeats(frame_of({_KEY: keys, **details, **scores}), _KEY, metrics)
    all_notes = (*notes, *judged.notes, *repeats)
    frame = frame.drop(columns=_KEY)
    return [ScoreFile(frame, source.stem, metric_columns=metrics, notes=all_notes)]


def _roots(rows: list[JsonObject]) -> tuple[list[JsonObject], tuple[str, ...]]:
    """The cases, without their inner spans, which an export of all spans contains as well."""
    roots = [row for row in rows if row.get("span_id") == row.get("root_span_id")]
    if not roots or len(roots) == len(rows):
        return rows, ()
    return roots, (f"{len(rows) - len(roots)} rows are inner spans of a case and are left out",)


# -- scores


def _judge_rows(rows: list[JsonObject]) -> JudgementColumns:
    scores = [_scores(row) for row in rows]
    names = dict.fromkeys(name for row_scores in scores for name in row_scores)
    judgements = (
        {name: _judgement(name, row_scores, _scorer_errors(row)) for name in names}
        for row, row_scores in zip(rows, scores, strict=True)
    )
    return judgement_columns(judgements, [row.get("error") for row in rows])


def _scores(row: JsonObject) -> dict[str, Any]:
    flat = {
        name.removeprefix(_SCORES): value for name, value in row.items() if name.startswith(_SCORES)
    }
    return {**flat, **check_object(row.get("scores"), "scores")}


def _scorer_errors(row: JsonObject) -> Mapping[str, Any]:
    return check_object(_metadata(row).get(_ERRORS), f"metadata.{_ERRORS}")


def _judgement(name: str, scores: Mapping[str, Any], errors: Mapping[str, Any]) -> Judgement:
    """A missing score has failed if its scorer did, or if a scorer without a name did."""
    if name in scores:
        return Judgement(scores[name])
    # Braintrust leaves out the key of a failed score and files the error under the scorer's name,
    # which need not be the score's.
    own_errors = [errors[name]] if name in errors else list(errors.values())
    reasons = dict.fromkeys(last_line(error) or "the scorer failed" for error in own_errors)
    return Judgement(None, "; ".join(reasons) or None, bool(own_errors))


def _measures(row: JsonObject) -> dict[str, float | None]:
    metrics = check_object(row.get("metrics"), "metrics")
    start, end = number_or_none(metrics.get("start")), number_or_none(metrics.get("end"))
    latency = None if start is None or end is None else (end - start) * _SECONDS
    measures = {ours: number_or_none(metrics.get(theirs)) for theirs, ours in _MEASURES.items()}
    return {"latency_ms": latency, **measures}


# -- details


def _metadata(row: JsonObject) -> Mapping[str, Any]:
    return check_object(row.get("metadata"), "metadata")


def _details(rows: list[JsonObject]) -> CellsByColumn:
    parts = (("input", "question"), ("output", "answer"), ("expected", "reference"))
    details = collect_details(
        *((name, role, [row.get(name) for row in rows]) for name, role in parts)
    )
    metadata = columns_of(
        {str(key): value for key, value in _metadata(row).items() if key != _ERRORS} for row in rows
    )
    others = columns_of(
        {
            # The id of a row is new in each experiment and would pair with nothing.
            f"row_{key}" if key == "id" else key: value
            for key, value in row.items()
            if _is_other(key)
        }
        for row in rows
    )
    details |= rename_clashes(rename_partial_ids(metadata, "metadata"), details, "metadata")
    details |= rename_clashes(others, details, "row")
    return drop_empty(details | {"error": [json_text(row.get("error")) for row in rows]})


def _is_other(name: str) -> bool:
    return name not in _OWN and not name.startswith(_SCORES)


BRAINTRUST = Reader(
    "braintrust",
    "Braintrust: experiments with one scores{} per row, as JSON, JSON Lines or CSV",
    _recognise,
    read_braintrust,
    ("encoding",),
    example="results.json",
)

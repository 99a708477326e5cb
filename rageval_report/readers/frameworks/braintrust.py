"""Braintrust: experiments as its SDK and its exports write them, a row a case with its scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile
from rageval_report.readers.cell_values import json_text
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
_KEY = "input and expected"
_SECONDS = 1000.0

# Braintrust's own measures, and under which names they are known here.
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

    Trials of one input become one row. A scorer that failed leaves no score and its error in the
    metadata; a scorer that gave None left the case out.

    Parameters
    ----------
    source : Source
        The file.

    Raises
    ------
    ReaderError
        If it is broken, or holds no record.
    ShapeError
        If a field holds something else than Braintrust writes there.
    """
    rows, notes = _roots(read_rows(source, "results"))
    found = _judged(rows)
    measures = drop_empty(columns_of(map(_measures, rows)))
    scores = {**rename_clashes(measures, found.columns, "metrics"), **found.columns}
    metrics = (*[name for name in scores if name not in found.columns], *found.metrics)
    details = rename_clashes(_details(rows), (*scores, _KEY), "metadata")
    keys = [json_text([row.get("input"), row.get("expected")]) for row in rows]
    frame, repeats = average_repeats(frame_of({_KEY: keys, **details, **scores}), _KEY, metrics)
    told = (*notes, *found.notes, *repeats)
    frame = frame.drop(columns=_KEY)
    return [ScoreFile(frame, source.stem, metric_columns=metrics, notes=told)]


def _roots(rows: list[JsonObject]) -> tuple[list[JsonObject], tuple[str, ...]]:
    """The cases without the spans within them, which an export of all spans holds as well."""
    roots = [row for row in rows if row.get("span_id") == row.get("root_span_id")]
    if not roots or len(roots) == len(rows):
        return rows, ()
    return roots, (f"{len(rows) - len(roots)} rows are spans within a case and are left out",)


# -- scores


def _judged(rows: list[JsonObject]) -> JudgementColumns:
    scores = [_scores(row) for row in rows]
    names = dict.fromkeys(name for one in scores for name in one)
    judgements = (
        {name: _judgement(name, given, _scorer_errors(row)) for name in names}
        for row, given in zip(rows, scores, strict=True)
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
    """A score that is not there failed where its scorer did, or one of which nobody knows what."""
    if name in scores:
        return Judgement(scores[name])
    told = [errors[name]] if name in errors else list(errors.values())
    reasons = dict.fromkeys(last_line(one) or "the scorer failed" for one in told)
    return Judgement(None, "; ".join(reasons) or None, bool(told))


def _measures(row: JsonObject) -> dict[str, float | None]:
    given = check_object(row.get("metrics"), "metrics")
    found = {ours: _number(given.get(theirs)) for theirs, ours in _MEASURES.items()}
    start, end = _number(given.get("start")), _number(given.get("end"))
    latency = None if start is None or end is None else (end - start) * _SECONDS
    return {"latency_ms": latency, **found}


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and value == value else None  # type: ignore[arg-type]


# -- details


def _metadata(row: JsonObject) -> Mapping[str, Any]:
    return check_object(row.get("metadata"), "metadata")


def _details(rows: list[JsonObject]) -> CellsByColumn:
    parts = (("input", "question"), ("output", "answer"), ("expected", "reference"))
    found = collect_details(
        *((name, role, [row.get(name) for row in rows]) for name, role in parts)
    )
    metadata = columns_of(
        {str(key): value for key, value in _metadata(row).items() if key != _ERRORS} for row in rows
    )
    others = columns_of(
        {
            f"row_{key}" if key == "id" else key: value
            for key, value in row.items()
            if _is_other(key)
        }
        for row in rows
    )
    found |= rename_clashes(rename_partial_ids(metadata, "metadata"), found, "metadata")
    found |= rename_clashes(others, found, "row")
    return drop_empty(found | {"error": [json_text(row.get("error")) for row in rows]})


def _is_other(name: str) -> bool:
    return name not in _OWN and not name.startswith(_SCORES)


BRAINTRUST = Reader(
    "braintrust",
    "Braintrust: experiments with scores{} a row, as JSON, JSON Lines or CSV",
    _recognise,
    read_braintrust,
    ("encoding",),
    example="results.json",
)

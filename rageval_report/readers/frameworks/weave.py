"""Weave: the calls of `Evaluation.predict_and_score`, dumped as JSON or exported as any table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile, distinct_names
from rageval_report.readers.cell_values import number_or_none, text_or_none
from rageval_report.readers.frameworks.json_rows import first_fields, read_rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    average_repeats,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.frameworks.row_parts import collect_details, own_ids
from rageval_report.readers.record_columns import frame_of
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

_DATA = "calls"
_OP = "Evaluation.predict_and_score"
_SCORES, _EXAMPLE = "output.scores", "inputs.example"
_REASONS = ("reason", "explanation", "rationale", "justification", "comment")
_SECONDS = 1000.0  # model_latency, in milliseconds
_ROW = "/id/"  # before a row's digest, in the reference of a row of a data set


def _recognise(source: Source) -> float:
    names = first_fields(source, _DATA)
    if any(name.startswith(f"{_SCORES}.") for name in names):
        return 0.95 if any(name.startswith("inputs.") for name in names) else 0.0
    if not {"op_name", "inputs", "output"} <= names:
        return 0.0
    return 0.95 if _OP.encode() in source.sample else 0.0


class _EvaluationCall(NamedTuple):
    """What a call says about one example."""

    model: str
    example: object
    answer: object
    scores: dict[str, Judgement]
    words: dict[str, Any]
    latency_ms: float | None
    error: str | None
    created: str | None


def read_weave(source: Source) -> list[ScoreFile]:
    """Read the calls of Weave's evaluations: a `ScoreFile` for each model.

    Only the calls of ``Evaluation.predict_and_score`` hold scores; the others are left out. A
    scorer that gives an object is one metric per number or verdict in it, named
    ``scorer.key``. Queries are identified by an id within the example, by the reference of the
    data set's row, or by the question; trials of an example become one row. A call that ended in
    an exception has failed, and so has a score that is null.

    Raises
    ------
    ReaderError
        If the file is broken, or has no such call with a score.
    """
    rows = [_nested(row) for row in read_rows(source, _DATA)]
    calls = [row for row in rows if _is_evaluation(row)]
    if not calls:
        raise source.error(f"no call of {_OP} is in the file; other calls have no scores")
    groups: dict[str, list[_EvaluationCall]] = {}
    for row in calls:
        groups.setdefault(_group(row), []).append(_read_call(row))
    names = distinct_names(group[0].model or source.stem for group in groups.values())
    n_others = len(rows) - len(calls)
    notes = (f"{n_others} calls of other operations are left out",) if n_others else ()
    return [
        _read_group(source, name, group, notes)
        for name, group in zip(names, groups.values(), strict=True)
    ]


def _nested(row: Mapping[str, Any]) -> JsonObject:
    """The row with the keys of an exported table, such as "output.scores.f1", as objects."""
    nested: dict[str, Any] = {}
    for key, value in row.items():
        *outer, last = str(key).split(".")
        place: dict[str, Any] = nested
        for part in outer if outer and outer[0] in ("inputs", "output", "summary") else ():
            inner = place.setdefault(part, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            is_split = bool(outer) and place is not nested
            place[last if is_split else str(key)] = value
    return nested


def _is_evaluation(row: JsonObject) -> bool:
    op_name = row.get("op_name")
    if isinstance(op_name, str):
        return _OP in op_name
    return isinstance(_part(row, "output", "scores"), dict)


def _part(row: object, *keys: str) -> Any:
    for key in keys:
        row = row.get(key) if isinstance(row, dict) else None
    return row


# -- calls


def _group(row: JsonObject) -> str:
    """The evaluation and the model of a call: two evaluations of one model are two pipelines."""
    return f"{row.get('parent_id') or row.get('trace_id')} {_model(row)}"


def _model(row: JsonObject) -> str:
    """The name of the model with its version, without the project and the digest's length."""
    model = _part(row, "inputs", "model")
    if isinstance(model, dict):
        model = model.get("ref") or model.get("name") or model.get("_class_name")
    text = text_or_none(model) or ""
    return text.rpartition("/")[2] or text


def _read_call(row: JsonObject) -> _EvaluationCall:
    output = row.get("output")
    scores = _part(output, "scores")
    judgements, words = _judgements(scores if isinstance(scores, dict) else {})
    seconds = number_or_none(_part(output, "model_latency"))
    started = row.get("started_at")
    return _EvaluationCall(
        _model(row),
        _part(row, "inputs", "example"),
        _part(output, "output")
        if _part(output, "output") is not None
        else _part(output, "model_output"),
        judgements,
        words,
        None if seconds is None else seconds * _SECONDS,
        text_or_none(row.get("exception")),
        text_or_none(started),
    )


def _judgements(
    scores: Mapping[str, Any], before: str = "", reason: str | None = None
) -> tuple[dict[str, Judgement], dict[str, Any]]:
    """The numbers and verdicts at any depth, and the words and lists beside them."""
    judgements: dict[str, Judgement] = {}
    words: dict[str, Any] = {}
    for key, value in scores.items():
        name = f"{before}{key}"
        if isinstance(value, dict):
            texts = (text_or_none(value.get(label)) for label in _REASONS)
            inner_reason = next((text for text in texts if text), reason)
            inner, inner_words = _judgements(value, f"{name}.", inner_reason)
            judgements |= inner
            words |= inner_words
        elif key in _REASONS and before:
            continue
        elif isinstance(value, bool | int | float) or value is None:
            judgements[name] = Judgement(value, reason, is_failed=value is None)
        else:
            words[name] = value
    return judgements, words


# -- one model


def _read_group(
    source: Source, name: str, calls: Sequence[_EvaluationCall], notes: tuple[str, ...]
) -> ScoreFile:
    errors = [call.error for call in calls]
    # A null is a failed score only of a scorer that gives numbers; beside words it is no label.
    scored = {
        metric
        for call in calls
        for metric, judgement in call.scores.items()
        if judgement.score is not None
    }
    kept = [
        {metric: judgement for metric, judgement in call.scores.items() if metric in scored}
        for call in calls
    ]
    judged = judgement_columns(kept, errors)
    empty = {metric for call in calls for metric in call.scores} - scored
    empty -= {word for call in calls for word in call.words}
    if empty:
        notes = (*notes, f"left out, because they have no score: {named(sorted(empty))}")
    if not judged.metrics:
        raise source.error(f"no call of {name!r} has a score")
    measures = drop_empty({"latency_ms": [call.latency_ms for call in calls]})
    measures = {key: cells for key, cells in measures.items() if key not in judged.columns}
    details, id_notes = _details(calls)
    details = rename_clashes(details, {*judged.columns, *measures}, "example")
    frame = frame_of({**details, **judged.columns, **measures})
    metrics = (*judged.metrics, *measures)
    repeats: tuple[str, ...] = ()
    if QUERY_ID in frame:
        frame, repeats = average_repeats(frame, QUERY_ID, metrics)
    all_notes = (*notes, *id_notes, *judged.notes, *repeats)
    return ScoreFile(frame, name, metric_columns=metrics, notes=all_notes, created=_created(calls))


def _details(calls: Sequence[_EvaluationCall]) -> tuple[CellsByColumn, tuple[str, ...]]:
    examples = [call.example for call in calls]
    are_references = all(isinstance(example, str) and _ROW in example for example in examples)
    inputs = () if are_references else (("example", "question", examples),)
    details = collect_details(*inputs, ("output", "answer", [call.answer for call in calls]))
    words = {key: [call.words.get(key) for call in calls] for call in calls for key in call.words}
    details |= rename_clashes(words, details, "scores")
    details["error"] = [call.error for call in calls]
    details = rename_clashes(drop_empty(details), (QUERY_ID,), "example")
    own = own_ids(examples)
    if own is not None:
        details.pop(f"example.{own[0]}", None)
        return {QUERY_ID: own[1], **details}, (f"query ids are taken from 'example.{own[0]}'",)
    if not are_references:
        return details, ()
    ids = [str(example).rpartition(_ROW)[2] for example in examples]
    return {QUERY_ID: ids, **details}, ("query ids are the digests of the data set's rows",)


def _created(calls: Iterable[_EvaluationCall]) -> datetime | None:
    times = sorted(call.created for call in calls if call.created)
    try:
        return datetime.fromisoformat(times[0]) if times else None
    except ValueError:
        return None


WEAVE = Reader(
    "weave",
    "Weave: calls of Evaluation.predict_and_score, as JSON, JSON Lines or an exported table",
    _recognise,
    read_weave,
    ("encoding",),
    example="calls.jsonl",
)

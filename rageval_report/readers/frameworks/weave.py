"""Weave: the calls of `Evaluation.predict_and_score`, dumped as JSON or exported as any table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile, distinct_names
from rageval_report.readers.cell_values import text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    at,
    first_fields,
    groups_of,
    part,
    read_rows,
)
from rageval_report.readers.frameworks.rows import SECONDS, Judgement, own_ids, time_in
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

_DATA, _OP, _SCORES = "calls", "Evaluation.predict_and_score", "output.scores"
_REASONS = ("reason", "explanation", "rationale", "justification", "comment")
_ROW = "/id/"  # before a row's digest, in the reference of a row of a data set


def _recognise(source: Source) -> float:
    names = first_fields(source, _DATA)
    if any(name.startswith(f"{_SCORES}.") for name in names):
        return SURE if any(name.startswith("inputs.") for name in names) else 0.0
    is_call = {"op_name", "inputs", "output"} <= names
    return SURE if is_call and _OP.encode() in source.sample else 0.0


def _read_weave(source: Source) -> list[ScoreFile]:
    """Read the calls of Weave's evaluations: a pipeline for each evaluation of a model."""
    rows = [_nested(row) for row in read_rows(source, _DATA)]
    calls = [_call(row) for row in rows if _is_evaluation(row)]
    if not calls:
        raise source.error(f"no call of {_OP} is in the file; other calls have no scores")
    # Two evaluations of one model are two pipelines.
    groups = groups_of(
        calls, lambda call: f"{call.get('parent_id') or call.get('trace_id')} {call['model']}"
    )
    names = distinct_names(group[0]["model"] or source.stem for group in groups.values())
    n_others = len(rows) - len(calls)
    notes = [f"{n_others} calls of other operations are left out"] if n_others else []
    return [
        _read_group(name, group, notes) for name, group in zip(names, groups.values(), strict=True)
    ]


def _nested(row: Mapping[str, Any]) -> JsonObject:
    """The row with the keys of an exported table, such as "output.scores.f1", as objects."""
    nested: dict[str, Any] = {}
    for key, value in row.items():
        *outer, last = str(key).split(".")
        if not outer or outer[0] not in ("inputs", "output", "summary"):
            nested[str(key)] = value
            continue
        place: Any = nested
        for step in outer:
            place = place.setdefault(step, {}) if isinstance(place, dict) else None
        if isinstance(place, dict):
            place[last] = value
    return nested


def _is_evaluation(row: JsonObject) -> bool:
    op_name = row.get("op_name")
    return _OP in op_name if isinstance(op_name, str) else isinstance(at(row, _SCORES), dict)


def _call(row: JsonObject) -> JsonObject:
    """The call with its judgements, and the words and lists beside them."""
    judgements, words = _judgements(part(row, _SCORES))
    error = text_or_none(row.get("exception"))
    return {**row, "model": _model(row), "judged": judgements, "words": words, "exception": error}


def _model(row: JsonObject) -> str:
    """The name of the model with its version, without the project."""
    model = at(row, "inputs.model")
    if isinstance(model, dict):
        model = model.get("ref") or model.get("name") or model.get("_class_name")
    text = text_or_none(model) or ""
    return text.rpartition("/")[2] or text


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
            inner = _judgements(value, f"{name}.", next((text for text in texts if text), reason))
            judgements |= inner[0]
            words |= inner[1]
        elif isinstance(value, bool | int | float) or value is None:
            if not (key in _REASONS and before):
                judgements[name] = Judgement(value, reason, is_failed=value is None)
        elif not (key in _REASONS and before):
            words[name] = value
    return judgements, words


def _read_group(name: str, calls: Sequence[JsonObject], notes: Sequence[str]) -> ScoreFile:
    examples = [at(call, "inputs.example") for call in calls]
    are_references = all(isinstance(example, str) and _ROW in example for example in examples)
    key, ids = own_ids(examples) or ("", [])
    id_notes = [f"query ids are taken from 'example.{key}'"] if ids else []
    if are_references:
        ids = [str(example).rpartition(_ROW)[2] for example in examples]
        id_notes = ["query ids are the digests of the data set's rows"]
    # A null is a failed score only of a scorer that gives numbers; beside words it is no label.
    scored = {
        key for call in calls for key, each in call["judged"].items() if each.score is not None
    }
    empty = {key for call in calls for key in call["judged"]} - scored
    empty -= {word for call in calls for word in call["words"]}
    left_out = [f"left out, because they have no score: {named(sorted(empty))}"] if empty else []
    rows = [
        {
            **call,
            "judged": {key: each for key, each in call["judged"].items() if key in scored},
            "example": None if are_references else examples[place],
            "answer": at(call, "output.output|output.model_output"),
            QUERY_ID: ids[place] if ids else None,
        }
        for place, call in enumerate(calls)
    ]
    started = sorted(text for call in calls if (text := text_or_none(call.get("started_at"))))
    return _CALLS.score_file(
        name,
        rows,
        (*notes, *id_notes, *left_out),
        created=time_in(started[0]) if started else None,
        drop=[f"example.{key}"],
    )


_CALLS = Format(
    "weave",
    "Weave: calls of Evaluation.predict_and_score, as JSON, JSON Lines or an exported table",
    "calls.jsonl",
    judge=lambda rows: [row["judged"] for row in rows],
    id=QUERY_ID,
    parts={"example": ("question", "example"), "output": ("answer", "answer")},
    nests={"scores": "words"},
    origin="example",
    error="exception",
    measures={"latency_ms": ("output.model_latency", SECONDS)},
    empty="no call of {name!r} has a score",
)
WEAVE = _CALLS.reader(_recognise, _read_weave)

"""verifiers: the rollouts of an evaluation, several per example, with rewards and metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import json_text, text_or_none
from rageval_report.readers.frameworks.files_beside import document_beside, run_name
from rageval_report.readers.frameworks.json_rows import first_fields, read_rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    average_repeats,
    drop_empty,
    judgement_columns,
    last_line,
    rename_clashes,
)
from rageval_report.readers.json_shapes import ShapeError, check_object
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.readers.run_folders import ROLLOUTS
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

_REWARD, _METRICS, _METADATA = "reward", "metrics", "metadata.json"
_IDS = ("example_id", "id")
# Fields of a rollout that are neither metrics nor texts.
_FIELDS = frozenset(
    (
        *("prompt", "completion", "answer", "info", "task", "error", "error_chain", "timing"),
        *("long_error_chain", "is_completed", "is_truncated", "stop_condition", "tool_defs"),
        *("token_usage", "oai_tools", "trajectory", "model", "generation_ms"),
        *("scoring_ms", "total_ms", _REWARD, _METRICS, *_IDS),
    )
)
# The monitors of verifiers' environments count turns, calls and tokens.
_COUNTS = ("num_", "total_", "n_")
_COUNT_ENDINGS = ("_calls", "_count", "_tokens", "_turns")
_HIGHER: Override = "higher"


def _recognise(source: Source) -> float:
    names = first_fields(source)
    is_rollout = {"prompt", "completion", _REWARD} <= names and bool(set(_IDS) & names)
    return 0.95 if is_rollout else 0.0


def read_verifiers(source: Source) -> list[ScoreFile]:
    """Read ``results.jsonl`` of an evaluation with verifiers.

    The metrics are ``reward`` and the functions of the rubric; what the environment counts, such as
    ``num_turns``, is a detail. The rollouts of an example are averaged. The scores of a rollout
    that ended in an error have failed: verifiers writes 0 for them. The pipeline is named after the
    environment and the model in ``metadata.json``, else after the folder.

    Raises
    ------
    ReaderError
        If the file is broken.
    ShapeError
        If a rollout has no example, or another shape than verifiers writes.
    """
    rollouts = read_rows(source)
    names = _metric_names(rollouts)
    rows = [_judgements(row, names, position) for position, row in enumerate(rollouts, 1)]
    judged = judgement_columns(rows)
    key = next((name for name in _IDS if name in rollouts[0]), _IDS[0])
    details = drop_empty(columns_of(_details(row, names) for row in rollouts))
    columns = {
        QUERY_ID: [_id(row, key, position) for position, row in enumerate(rollouts, 1)],
        **rename_clashes(details, judged.columns, "rollout"),
        **judged.columns,
    }
    frame, repeats = average_repeats(frame_of(columns), QUERY_ID, judged.metrics)
    settings = check_object(document_beside(source, _METADATA), _METADATA)
    return [
        ScoreFile(
            frame,
            _name(source, settings),
            metrics=dict.fromkeys(judged.metrics, _HIGHER),
            metric_columns=judged.metrics,
            notes=(*judged.notes, *repeats, *_notes(rollouts, judged.metrics)),
            config={name: settings[name] for name in settings if not name.startswith("avg_")},
            created=_created(settings),
            is_one_pipeline=True,
            totals="keep",
        )
    ]


# -- rollouts


def _metric_names(rollouts: Sequence[JsonObject]) -> dict[str, None]:
    """The reward, and the functions of the rubric that are not counts."""
    names = {_REWARD: None}
    for row in rollouts:
        inner = row.get(_METRICS)
        # Rollouts of older versions have the functions as fields of their own only.
        fields = inner if isinstance(inner, dict) else row
        for name, value in fields.items():
            is_number = isinstance(value, int | float)
            if is_number and (fields is inner or name not in _FIELDS) and not _is_count(name):
                names[str(name)] = None
    return names


def _is_count(name: str) -> bool:
    return name.startswith(_COUNTS) or name.endswith(_COUNT_ENDINGS)


def _judgements(row: JsonObject, names: Iterable[str], position: int) -> dict[str, Judgement]:
    inner = check_object(row.get(_METRICS), f"{_METRICS} of rollout {position}")
    error = _error(row)
    judgements = {}
    for name in names:
        value = row.get(name, inner.get(name))
        if error is not None:
            judgements[name] = Judgement(None, error, is_failed=True)
        elif value is None:
            judgements[name] = Judgement(None, "verifiers wrote no score", is_failed=True)
        else:
            judgements[name] = Judgement(value)
    return judgements


def _error(row: Mapping[str, Any]) -> str | None:
    """The error of a rollout: a text, or an object with its chain."""
    error = row.get("error")
    if isinstance(error, dict):
        error = error.get("error_chain_repr") or error.get("error")
    return last_line(error)


def _id(row: JsonObject, key: str, position: int) -> str:
    if not isinstance(row.get(key), str | int):
        raise ShapeError(f"rollout {position} has no {key}; expected the number of its example")
    return str(row[key])


def _details(row: JsonObject, names: Iterable[str]) -> dict[str, Any]:
    error = _error(row)
    inner = row.get(_METRICS)
    counts = inner if isinstance(inner, dict) else {}
    used = {*names, *_IDS, _METRICS, "prompt", "completion", "answer", "error", _REWARD}
    others = {**counts, **row}
    return {
        "question": _last_text(row.get("prompt"), "user"),
        "answer": _last_text(row.get("completion"), "assistant"),
        "reference": row.get("answer"),
        **({} if error is None else {"error": error}),
        **{name: value for name, value in others.items() if name not in used},
    }


def _last_text(messages: object, role: str) -> str | None:
    """A text, or the last message of a role."""
    if not isinstance(messages, list):
        return json_text(messages)
    by_role = [
        message
        for message in messages
        if isinstance(message, dict) and message.get("role") == role and message.get("content")
    ]
    return json_text(by_role[-1]["content"]) if by_role else None


# -- the run


def _name(source: Source, settings: Mapping[str, Any]) -> str:
    parts = [text_or_none(settings.get(key)) for key in ("env_id", "model")]
    return ":".join(part for part in parts if part) or run_name(source, ROLLOUTS)


def _created(settings: Mapping[str, Any]) -> datetime | None:
    try:
        return datetime.fromisoformat(str(settings.get("date")))
    except ValueError:
        return None


def _notes(rollouts: Sequence[JsonObject], metrics: Sequence[str]) -> Iterator[str]:
    failed = sum(_error(row) is not None for row in rollouts)
    if failed:
        yield f"{failed} of {len(rollouts)} rollouts ended in an error; their scores do not count"
    others = [name for name in metrics if name != _REWARD]
    if others and _REWARD in metrics:
        yield f"{_REWARD!r} is the weighted sum of functions of the rubric: {named(others)}"


VERIFIERS = Reader(
    "verifiers",
    "verifiers: results.jsonl of an evaluation, with the metadata.json beside it",
    _recognise,
    read_verifiers,
    ("encoding",),
    example=ROLLOUTS,
)

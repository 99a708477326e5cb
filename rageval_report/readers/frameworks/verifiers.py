"""verifiers: the rollouts of an evaluation, and from 0.2 on its episodes with agents' traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import json_text, text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    document_beside,
    first_fields,
    part,
    read_rows,
    run_name,
    without,
)
from rageval_report.readers.frameworks.rows import (
    Judgement,
    drop_empty,
    judge,
    last_line,
    message_text,
    score_file,
    time_in,
)
from rageval_report.readers.json_shapes import ShapeError, check_object
from rageval_report.readers.record_columns import columns_of
from rageval_report.readers.run_folders import ROLLOUTS, TRACES
from rageval_report.scores.metric import Override
from rageval_report.types import JsonObject

_REWARD, _METADATA = "reward", "metadata.json"
_IDS = ("example_id", "id")
# Fields of a rollout that are neither metrics nor texts.
_FIELDS = frozenset(
    (
        *("prompt", "completion", "answer", "info", "task", "error", "error_chain", "timing"),
        *("long_error_chain", "is_completed", "is_truncated", "stop_condition", "tool_defs"),
        *("token_usage", "oai_tools", "trajectory", "model", "generation_ms"),
        *("scoring_ms", "total_ms", _REWARD, "metrics", *_IDS),
    )
)
# The monitors of verifiers' environments count turns, calls and tokens.
_COUNTS = ("num_", "total_", "n_")
_COUNT_ENDINGS = ("_calls", "_count", "_tokens", "_turns")
_HIGHER: Override = "higher"


def _is_count(name: str) -> bool:
    return name.startswith(_COUNTS) or name.endswith(_COUNT_ENDINGS)


def _scores(
    scores: Mapping[str, Any], names: Iterable[str], error: str | None
) -> dict[str, Judgement]:
    """The scores by name; all have failed after an error, for which verifiers writes 0."""
    return {
        name: judge(None if error else scores.get(name), None, error or "verifiers wrote no score")
        for name in names
    }


def _pipeline(
    name: str,
    rows: Sequence[tuple[str, dict[str, Judgement], dict[str, Any]]],
    notes: Iterable[str],
    origin: str,
    settings: Mapping[str, Any],
) -> ScoreFile:
    """The pipeline of rows with id, judgements and details."""
    return score_file(
        name,
        [judgements for _, judgements, _ in rows],
        drop_empty(columns_of(details for _, _, details in rows)),
        ids=[query_id for query_id, _, _ in rows],
        origin=origin,
        metrics=lambda _name, _scores: _HIGHER,
        notes=notes,
        config=without(settings, [key for key in settings if key.startswith("avg_")]),
        created=time_in(settings.get("date")),
        is_one_pipeline=True,
    )


def _notes(what: str, errors: Sequence[str | None], functions: Sequence[str]) -> Iterator[str]:
    failed = sum(error is not None for error in errors)
    if failed:
        yield f"{failed} of {len(errors)} {what} ended in an error; their scores do not count"
    if functions:
        yield f"{_REWARD!r} is the weighted sum of functions of the rubric: {named(functions)}"


# -- rollouts


def _recognise_rollouts(source: Source) -> float:
    names = first_fields(source)
    return SURE if {"prompt", "completion", _REWARD} <= names and names & {*_IDS} else 0.0


def _read_rollouts(source: Source) -> list[ScoreFile]:
    """Read ``results.jsonl`` of an evaluation; the rollouts of an example are averaged."""
    rollouts = read_rows(source)
    names = _metric_names(rollouts)
    key = next((name for name in _IDS if name in rollouts[0]), _IDS[0])
    rows = []
    for position, row in enumerate(rollouts, 1):
        inner = check_object(row.get("metrics"), f"metrics of rollout {position}")
        if not isinstance(row.get(key), str | int):
            raise ShapeError(f"rollout {position} has no {key}; expected the number of its example")
        judgements = _scores({**inner, **row}, names, _rollout_error(row))
        rows.append((str(row[key]), judgements, _rollout_details({**inner, **row}, names)))
    settings = check_object(document_beside(source, _METADATA), _METADATA)
    parts = [text_or_none(settings.get(key)) for key in ("env_id", "model")]
    pipeline = ":".join(part for part in parts if part) or run_name(source, ROLLOUTS)
    notes = _notes("rollouts", list(map(_rollout_error, rollouts)), names[1:])
    return [_pipeline(pipeline, rows, notes, "rollout", settings)]


def _metric_names(rollouts: Sequence[JsonObject]) -> list[str]:
    """The reward, and the functions of the rubric that are not counts."""
    names = {_REWARD: None}
    for row in rollouts:
        inner = row.get("metrics")
        # Rollouts of older versions have the functions as fields of their own only.
        fields = inner if isinstance(inner, dict) else without(row, _FIELDS)
        numbers = (str(name) for name, value in fields.items() if isinstance(value, int | float))
        names |= {name: None for name in numbers if not _is_count(name)}
    return list(names)


def _rollout_error(row: Mapping[str, Any]) -> str | None:
    """The error of a rollout: a text, or an object with its chain."""
    error = row.get("error")
    if isinstance(error, dict):
        error = error.get("error_chain_repr") or error.get("error")
    return last_line(error)


def _rollout_details(row: JsonObject, names: Sequence[str]) -> dict[str, Any]:
    used = {*names, *_IDS, "metrics", "prompt", "completion", "answer", "error"}
    return {
        "question": message_text(row.get("prompt")),
        "answer": message_text(row.get("completion"), "assistant"),
        "reference": row.get("answer"),
        "error": _rollout_error(row),
        **without(row, used),
    }


VERIFIERS = Reader(
    "verifiers",
    "verifiers: results.jsonl of an evaluation, with the metadata.json beside it",
    _recognise_rollouts,
    _read_rollouts,
    ("encoding",),
    example=ROLLOUTS,
)


# -- traces

# The fields of a task by which its episodes belong together, the surest first.
_TASK_IDS = ("id", "idx", "key", "hash")
# The settings of a task's container say nothing about its question.
_SETTINGS = frozenset(
    "prompt system_prompt image workdir agent_user skills network_allow network_block artifacts "
    "artifact_max_bytes timeout resources answer".split()
)
_SPENT = ("num_input_tokens", "num_output_tokens", "num_total_tokens", "stop_condition")


def _recognise_traces(source: Source) -> float:
    return 0.96 if {"task", "traces", "env", "ok"} <= first_fields(source) else 0.0


def _read_traces(source: Source) -> list[ScoreFile]:
    """Read ``traces.jsonl`` of an evaluation with verifiers: one pipeline per agent."""
    episodes = read_rows(source)
    traces = [_traces_of(episode, number) for number, episode in enumerate(episodes, 1)]
    agents = list(dict.fromkeys(name for each in traces for name, _ in each))
    if not agents:
        raise ShapeError("no episode has a trace, so the file holds no scores")
    return [_read_agent(source, episodes, traces, agent, agents) for agent in agents]


def _traces_of(episode: JsonObject, number: int) -> list[tuple[str, JsonObject]]:
    """The traces of an episode, each with the name of its agent."""
    listed = episode.get("traces")
    if not isinstance(listed, list):
        raise ShapeError(f"traces of episode {number} must be a list")
    traces = [check_object(trace, f"a trace of episode {number}") for trace in listed]
    return [(str(part(trace, "agent").get("name") or "agent"), trace) for trace in traces]


def _read_agent(
    source: Source,
    episodes: Sequence[JsonObject],
    traces: Sequence[Sequence[tuple[str, JsonObject]]],
    agent: str,
    agents: Sequence[str],
) -> ScoreFile:
    """The pipeline of one agent; an episode without traces is a failed row of each agent."""
    places: list[tuple[int, JsonObject]] = []
    for place, each in enumerate(traces):
        own = [trace for name, trace in each if name == agent]
        places += [(place, trace) for trace in (own or ([] if each else [episodes[place]]))]
    own = [trace for _, trace in places]
    rewards = dict.fromkeys(name for trace in own for name in part(trace, "rewards"))
    metrics = dict.fromkeys(name for trace in own for name in part(trace, "metrics"))
    names = list({_REWARD: None, **rewards} | {n: None for n in metrics if not _is_count(n)})
    rows = []
    for place, trace in places:
        task = _task(episodes[place], place + 1)
        judgements = _scores(_trace_scores(trace), names, _trace_error(trace))
        rows.append((_task_id(task, place + 1), judgements, _trace_details(task, trace, names)))
    models = [text_or_none(part(trace, "agent.config").get("model")) for trace in own]
    environment = text_or_none(part(episodes[0], "env").get("id"))
    known = [name for name in (environment, next(filter(None, models), None)) if name]
    label = [*(known or [run_name(source, TRACES)]), *([agent] if len(agents) > 1 else [])]
    functions = list(rewards) if len(rewards) > 1 else []
    notes = _notes("traces", list(map(_trace_error, own)), functions)
    return _pipeline(":".join(label), rows, notes, "trace", {})


def _trace_scores(trace: JsonObject) -> dict[str, Any]:
    """The metrics, the functions of the rubric, and their weighted sum."""
    if _trace_error(trace) is not None:
        return {}
    scores: dict[str, Any] = dict(part(trace, "metrics"))
    total: float | None = 0.0
    rewards = part(trace, "rewards")
    for name, reward in rewards.items():
        if reward is None:
            total = scores[name] = None
            continue
        fields = check_object(reward, f"rewards.{name}")
        score, weight = fields.get("score"), fields.get("weight", 1.0)
        if not isinstance(score, int | float) or not isinstance(weight, int | float):
            raise ShapeError(f"rewards.{name} must have a score and a weight; got {reward!r:.60}")
        scores[name] = score
        total = None if total is None else total + score * weight
    return {**scores, _REWARD: total if rewards else None}


def _trace_error(trace: Mapping[str, Any]) -> str | None:
    """Why a trace, or an episode, is not ok; None if it is."""
    if trace.get("ok") is True:
        return None
    errors = trace.get("errors")
    last = errors[-1] if isinstance(errors, list) and errors else None
    if isinstance(last, dict):
        parts = [text_or_none(last.get(key)) for key in ("type", "message")]
        return ": ".join(part for part in parts if part) or "verifiers recorded an error"
    return text_or_none(trace.get("stop_condition")) or "the trace is not complete"


def _task(episode: JsonObject, number: int) -> JsonObject:
    task = check_object(episode.get("task"), f"task of episode {number}")
    return {**part(task, "data"), **{key: task[key] for key in ("key", "hash") if key in task}}


def _task_id(task: JsonObject, number: int) -> str:
    ids = (task[key] for key in _TASK_IDS if isinstance(task.get(key), str | int))
    query_id = next(ids, message_text(task.get("prompt")))
    if query_id is None:
        raise ShapeError(f"the task of episode {number} has no id, idx, key or prompt")
    return str(query_id)


def _trace_details(task: JsonObject, trace: JsonObject, names: Sequence[str]) -> dict[str, Any]:
    nodes = trace.get("nodes")
    messages = [part(node, "message") for node in nodes] if isinstance(nodes, list) else []
    reply = text_or_none(trace.get("root_reply"))
    return {
        "question": message_text(task.get("prompt")),
        "answer": reply or message_text(messages, "assistant"),
        "reference": json_text(task.get("answer")),
        "error": _trace_error(trace),
        **without(part(trace, "metrics"), names),
        **{name: trace[name] for name in _SPENT if name in trace},
        **without(task, {*_TASK_IDS, *_SETTINGS}),
    }


VERIFIERS_TRACES = Reader(
    "verifiers_traces",
    "verifiers from 0.2 on: traces.jsonl of an evaluation, one pipeline per agent",
    _recognise_traces,
    _read_traces,
    ("encoding",),
    example=TRACES,
)

"""verifiers from 0.2 on: the episodes of an evaluation, each with the traces of its agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import json_text, text_or_none
from rageval_report.readers.frameworks.files_beside import run_name
from rageval_report.readers.frameworks.json_rows import first_fields, read_rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    average_repeats,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.json_shapes import ShapeError, check_object
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.readers.run_folders import TRACES
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

_REWARD = "reward"
# The fields of a task by which its episodes belong together, the surest first.
_IDS = ("id", "idx")
# The settings of a task's container say nothing about its question.
_SETTINGS = frozenset(
    "prompt system_prompt image workdir agent_user skills network_allow network_block artifacts "
    "artifact_max_bytes timeout resources answer".split()
)
# The monitors of environments count turns, calls and tokens.
_COUNTS = ("num_", "total_", "n_")
_COUNT_ENDINGS = ("_calls", "_count", "_tokens", "_turns")
_HIGHER: Override = "higher"


def _recognise(source: Source) -> float:
    return 0.96 if {"task", "traces", "env", "ok"} <= first_fields(source) else 0.0


def read_traces(source: Source) -> list[ScoreFile]:
    """Read ``traces.jsonl`` of an evaluation with verifiers: one pipeline per agent.

    The metrics are the functions of the rubric and ``reward``, which is their weighted sum; what
    the environment counts is a detail. The rollouts of a task are averaged. The scores of a trace
    that is not ok have failed, as have those of all agents in an episode without traces. The
    pipeline is named after the environment and the model.

    Raises
    ------
    ReaderError
        If the file is broken.
    ShapeError
        If an episode has no task, or another shape than verifiers writes.
    """
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
    return [(str(_object(trace, "agent").get("name") or "agent"), trace) for trace in traces]


def _read_agent(
    source: Source,
    episodes: Sequence[JsonObject],
    traces: Sequence[Sequence[tuple[str, JsonObject]]],
    agent: str,
    agents: Sequence[str],
) -> ScoreFile:
    """The pipeline of one agent; an episode without traces is a failed row of each agent."""
    rows: list[tuple[int, JsonObject]] = []
    for place, each in enumerate(traces):
        own = [trace for name, trace in each if name == agent]
        rows += [(place, trace) for trace in (own or ([] if each else [episodes[place]]))]
    names = _metric_names([trace for _, trace in rows])
    judged = judgement_columns([_judgements(trace, names) for _, trace in rows])
    tasks = [_task(episodes[place], place + 1) for place, _ in rows]
    pairs = zip(tasks, (trace for _, trace in rows), strict=True)
    details = drop_empty(columns_of(_details(task, trace, names) for task, trace in pairs))
    columns = {
        QUERY_ID: [_id(task, place + 1) for task, (place, _) in zip(tasks, rows, strict=True)],
        **rename_clashes(details, judged.columns, "trace"),
        **judged.columns,
    }
    frame, repeats = average_repeats(frame_of(columns), QUERY_ID, judged.metrics)
    return ScoreFile(
        frame,
        _name(source, episodes[0], [trace for _, trace in rows], agent, agents),
        metrics=dict.fromkeys(judged.metrics, _HIGHER),
        metric_columns=judged.metrics,
        notes=(*judged.notes, *repeats, *_notes([trace for _, trace in rows], judged.metrics)),
        is_one_pipeline=True,
        totals="keep",
    )


# -- one trace


def _object(fields: Mapping[str, Any], key: str) -> JsonObject:
    """The object under a key; empty if there is none."""
    value = fields.get(key)
    return value if isinstance(value, dict) else {}


def _metric_names(traces: Sequence[JsonObject]) -> list[str]:
    """The reward, its functions, and the metrics that are not counts."""
    names = {_REWARD: None}
    for trace in traces:
        names |= dict.fromkeys(_object(trace, "rewards"))
        names |= {name: None for name in _object(trace, "metrics") if not _is_count(name)}
    return list(names)


def _is_count(name: str) -> bool:
    return name.startswith(_COUNTS) or name.endswith(_COUNT_ENDINGS)


def _judgements(trace: JsonObject, names: Sequence[str]) -> dict[str, Judgement]:
    error = _error(trace)
    if error is not None:
        return {name: Judgement(None, error, is_failed=True) for name in names}
    scores = {name: _score(value) for name, value in _object(trace, "rewards").items()}
    scores = {**_object(trace, "metrics"), **scores, _REWARD: _reward(trace)}
    missing = "verifiers wrote no score"
    return {
        name: Judgement(scores[name])
        if scores.get(name) is not None
        else Judgement(None, missing, is_failed=True)
        for name in names
    }


def _score(reward: object) -> object:
    return reward.get("score") if isinstance(reward, dict) else reward


def _reward(trace: JsonObject) -> float | None:
    """The weighted sum of the rewards; None if one of them was not scored."""
    total = 0.0
    for name, reward in _object(trace, "rewards").items():
        if reward is None:
            return None
        fields = check_object(reward, f"rewards.{name}")
        score, weight = fields.get("score"), fields.get("weight", 1.0)
        if not isinstance(score, int | float) or not isinstance(weight, int | float):
            raise ShapeError(f"rewards.{name} must have a score and a weight; got {reward!r:.60}")
        total += score * weight
    return total if _object(trace, "rewards") else None


def _error(trace: Mapping[str, Any]) -> str | None:
    """Why a trace, or an episode, is not ok; None if it is."""
    if trace.get("ok") is True:
        return None
    errors = trace.get("errors")
    last = errors[-1] if isinstance(errors, list) and errors else None
    if isinstance(last, dict):
        parts = [text_or_none(last.get(key)) for key in ("type", "message")]
        return ": ".join(part for part in parts if part) or "verifiers recorded an error"
    return text_or_none(trace.get("stop_condition")) or "the trace is not complete"


# -- the task


def _task(episode: JsonObject, number: int) -> JsonObject:
    task = check_object(episode.get("task"), f"task of episode {number}")
    return {**_object(task, "data"), **{key: task[key] for key in ("key", "hash") if key in task}}


def _id(task: JsonObject, number: int) -> str:
    for key in (*_IDS, "key", "hash"):
        if isinstance(task.get(key), str | int):
            return str(task[key])
    prompt = _last_text(task.get("prompt"), "user")
    if prompt is None:
        raise ShapeError(f"the task of episode {number} has no id, idx, key or prompt")
    return prompt


def _details(task: JsonObject, trace: JsonObject, names: Sequence[str]) -> dict[str, Any]:
    error = _error(trace)
    metrics = _object(trace, "metrics")
    counts = {name: value for name, value in metrics.items() if name not in names}
    tokens = ("num_input_tokens", "num_output_tokens", "num_total_tokens", "stop_condition")
    used = {*_IDS, "key", "hash", *_SETTINGS}
    return {
        "question": _last_text(task.get("prompt"), "user"),
        "answer": text_or_none(trace.get("root_reply"))
        or _last_text(_messages(trace), "assistant"),
        "reference": json_text(task.get("answer")),
        **({} if error is None else {"error": error}),
        **counts,
        **{name: trace[name] for name in tokens if name in trace},
        **{name: value for name, value in task.items() if name not in used},
    }


def _messages(trace: JsonObject) -> list[JsonObject]:
    nodes = trace.get("nodes")
    if not isinstance(nodes, list):
        return []
    return [_object(node, "message") for node in nodes if isinstance(node, dict)]


def _last_text(messages: object, role: str) -> str | None:
    """A text, or the last message of a role."""
    if not isinstance(messages, list):
        return json_text(messages)
    texts = [
        json_text(message["content"])
        for message in messages
        if isinstance(message, dict) and message.get("role") == role and message.get("content")
    ]
    return texts[-1] if texts else None


# -- the run


def _name(
    source: Source,
    episode: JsonObject,
    traces: Sequence[JsonObject],
    agent: str,
    agents: Sequence[str],
) -> str:
    models = [_object(_object(trace, "agent"), "config").get("model") for trace in traces]
    model = next((text for text in map(text_or_none, models) if text), None)
    environment = text_or_none(_object(episode, "env").get("id"))
    parts = [part for part in (environment, model) if part] or [run_name(source, TRACES)]
    return ":".join([*parts, agent] if len(agents) > 1 else parts)


def _notes(traces: Sequence[JsonObject], metrics: Sequence[str]) -> Iterator[str]:
    failed = sum(_error(trace) is not None for trace in traces)
    if failed:
        yield f"{failed} of {len(traces)} traces ended in an error; their scores do not count"
    rewards = dict.fromkeys(name for trace in traces for name in _object(trace, "rewards"))
    if len(rewards) > 1 and _REWARD in metrics:
        yield f"{_REWARD!r} is the weighted sum of functions of the rubric: {named(rewards)}"


VERIFIERS_TRACES = Reader(
    "verifiers_traces",
    "verifiers from 0.2 on: traces.jsonl of an evaluation, one pipeline per agent",
    _recognise,
    read_traces,
    ("encoding",),
    example=TRACES,
)

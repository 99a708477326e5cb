"""OpenAI evals: the events that ``oaieval`` records, one JSON object per line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile, distinct_names
from rageval_report.readers.cell_values import parse_objects
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    average_repeats,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.readers.table_files import dialect
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

_EVENT = frozenset(("run_id", "event_id", "sample_id", "type", "data"))
_OBJECTS = ("data", "spec", "final_report")
_MATCH = "match"
_MATCHED: Override = {
    "kind": "binary",
    "greater_is_better": True,
    "description": "Whether the answer matched what was expected.",
    "source": "OpenAI evals",
}
_INVALID = "__invalid__"  # the choice of a grader whose answer was not one of the choices
_UNSCORED = "sampled, but never scored"
_TOKENS = ("prompt_tokens", "completion_tokens")
_TEXTS = ("question", "answer", "reference", "picked", "error")
_OWN = frozenset((QUERY_ID, *_TEXTS, *_TOKENS))
_NUMBER = re.compile(r"(\d{1,18})$")
_NEAR = 1e-9


def _recognise(names: frozenset[str]) -> float:
    return 0.95 if names >= _EVENT else 0.0


def read_openai_evals(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read the events of runs: one pipeline per run, named after its eval and its models.

    The metrics are ``match``, 1 if the answer was correct, and the numbers in the events
    ``metrics``. A query is a sample. A sample without a score has failed, with the error that was
    recorded; several scores of a sample are averaged.

    Raises
    ------
    ShapeError
        If an event has another shape than the framework writes, or no sample was scored.
    """
    runs = _runs_of(frame)
    scored = [run for run in runs.values() if run.samples]
    if not scored:
        raise source.error("the file contains no event of a sample; did the run end at once?")
    names = distinct_names(run.name or source.stem for run in scored)
    return [_score_file(name, run) for name, run in zip(names, scored, strict=True)]


# -- events


@dataclass
class _Sample:
    """The events of one sample, by type."""

    events: dict[str, list[JsonObject]] = field(default_factory=dict)

    def of(self, kind: str) -> list[JsonObject]:
        return self.events.get(kind, [])


@dataclass
class _EvalRun:
    """A run: its specification, its samples, its final report."""

    spec: JsonObject = field(default_factory=dict)
    report: object = None
    samples: dict[str, _Sample] = field(default_factory=dict)

    @property
    def name(self) -> str:
        models = self.spec.get("completion_fns")
        joined = ",".join(map(str, models)) if isinstance(models, list) else str(models or "")
        return ":".join(part for part in (str(self.spec.get("eval_name") or ""), joined) if part)


def _runs_of(frame: pd.DataFrame) -> dict[str, _EvalRun]:
    """The runs by id; the specification and the report of a run have lines of their own."""
    columns = {name: _objects(frame, name) for name in (*_EVENT, "spec", "final_report")}
    runs: dict[str, _EvalRun] = {}
    for row in range(len(frame)):
        line = {name: cells[row] for name, cells in columns.items() if cells[row] is not None}
        spec = line.get("spec")
        if isinstance(spec, dict):
            runs.setdefault(str(spec.get("run_id")), _EvalRun()).spec = spec
        elif "final_report" in line:
            key = str(line.get("run_id", next(iter(runs), None)))
            runs.setdefault(key, _EvalRun()).report = line["final_report"]
        elif line:
            _add_event(runs, line, row + 1)
    return runs


def _objects(frame: pd.DataFrame, name: str) -> list[Any]:
    """The cells of a column; in a CSV their objects are texts, and ids are never objects."""
    if name not in frame:
        return [None] * len(frame)
    has_value = frame[name].notna().tolist()
    cells = frame[name].tolist()
    cells = parse_objects(cells) if name in _OBJECTS else cells
    return [cell if has else None for cell, has in zip(cells, has_value, strict=True)]


def _add_event(runs: dict[str, _EvalRun], event: JsonObject, number: int) -> None:
    if "sample_id" not in event or "type" not in event:
        raise ShapeError(
            f"record {number} is not an event: it lacks "
            f"{'sample_id' if 'type' in event else 'type'}"
        )
    run = runs.setdefault(str(event.get("run_id")), _EvalRun())
    sample = run.samples.setdefault(str(event["sample_id"]), _Sample())
    data = event.get("data")
    fields = data if isinstance(data, dict) else {"data": data}
    sample.events.setdefault(str(event["type"]), []).append(fields)


# -- a run


def _score_file(name: str, run: _EvalRun) -> ScoreFile:
    samples = dict(sorted(run.samples.items(), key=_sample_order))
    numbers = _numbers_of(samples.values())
    if not numbers:
        raise ShapeError(
            f"none of the {len(samples)} samples of the run {name!r} was scored: expected events "
            "of the types match or metrics"
        )
    rows = [row for item in samples.items() for row in _rows(*item, numbers)]
    judged = judgement_columns(scores for _, scores, _ in rows)
    details = drop_empty(columns_of(texts for _, _, texts in rows))
    measures = {key: details.pop(key) for key in _TOKENS if key in details}
    ids = {QUERY_ID: [query_id for query_id, _, _ in rows]}
    frame = frame_of(
        {**ids, **rename_clashes(details, judged.columns, "metrics"), **judged.columns, **measures}
    )
    metrics = (*judged.metrics, *measures)
    frame, repeats = average_repeats(frame, QUERY_ID, metrics)
    return ScoreFile(
        frame,
        name,
        metrics={_MATCH: _MATCHED} if _MATCH in metrics else {},
        metric_columns=metrics,
        notes=(*judged.notes, *repeats, *_notes(run, frame, judged.metrics)),
    )


def _sample_order(item: tuple[str, _Sample]) -> tuple[str, int]:
    """The sort key of a sample: ids end with numbers, and threads finish in any order."""
    number = _NUMBER.search(item[0])
    return (item[0], 0) if number is None else (item[0][: number.start()], int(number[1]))


def _numbers_of(samples: Iterable[_Sample]) -> dict[str, None]:
    """The metrics: matches, and the numbers and booleans in the other events."""
    metrics: dict[str, None] = {}
    for sample in samples:
        if sample.of(_MATCH):
            metrics[_MATCH] = None
        for data in sample.of("metrics"):
            numbers = (key for key, value in data.items() if isinstance(value, int | float))
            metrics |= {str(key): None for key in numbers}
    return metrics


def _rows(
    sample_id: str, sample: _Sample, names: Mapping[str, None]
) -> Iterator[tuple[str, dict[str, Judgement], dict[str, Any]]]:
    """One row per score of the sample: its id, its judgements and its texts."""
    matches, metrics = sample.of(_MATCH), sample.of("metrics")
    error = _error(sample)
    texts = _texts(sample, error)
    for row in range(max(len(matches), len(metrics), 1)):
        scores = {name: _judgement(metrics[row : row + 1], name, error) for name in names}
        if _MATCH in names and row < len(matches):
            scores[_MATCH] = Judgement(matches[row].get("correct"))
        if not matches and not metrics:
            # oaieval itself leaves such samples out of its mean.
            scores = dict.fromkeys(names, Judgement(None, error or _UNSCORED, is_failed=True))
        labels = {
            f"metrics.{key}" if key in _OWN else str(key): value
            for data in metrics[row : row + 1]
            for key, value in data.items()
            if str(key) not in names
        }
        yield sample_id, scores, {**labels, **texts}


def _judgement(metrics: Sequence[JsonObject], name: str, error: str | None) -> Judgement:
    data = metrics[0] if metrics else {}
    score = data.get(name)
    if score is None and data.get("choice") == _INVALID:
        return Judgement(None, "the grader's answer is not one of the choices", True)
    return Judgement(score, error if score is None else None, score is None and error is not None)


def _error(sample: _Sample) -> str | None:
    errors = sample.of("error")
    messages = (
        ": ".join(str(event[key]) for key in ("type", "message") if event.get(key))
        for event in errors
    )
    return "; ".join(dict.fromkeys(messages)) or None


# -- texts


def _texts(sample: _Sample, error: str | None) -> dict[str, Any]:
    """The question and the answer; of several samplings the first, as the others are graders'."""
    sampled = (sample.of("sampling") or [{}])[0]
    match = (sample.of(_MATCH) or [{}])[0]
    usage = sampled.get("usage")
    tokens = usage if isinstance(usage, dict) else {}
    return {
        "question": _prompt(sampled.get("prompt", match.get("prompt"))),
        "answer": _single(sampled.get("sampled", match.get("sampled"))),
        "reference": _single(match.get("expected")),
        "picked": match.get("picked"),
        "error": error,
        **{key: tokens.get(key) for key in _TOKENS},
    }


def _single(value: object) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _prompt(prompt: object) -> str | None:
    """The text, or the last message of the user in a conversation."""
    if not isinstance(prompt, list):
        return prompt if isinstance(prompt, str) else None
    messages = [message for message in prompt if isinstance(message, dict)]
    by_user = [message for message in messages if message.get("role") == "user"] or messages
    content = by_user[-1].get("content") if by_user else None
    return content if isinstance(content, str) else None


# -- notes


def _notes(run: _EvalRun, frame: pd.DataFrame, metrics: Iterable[str]) -> Iterator[str]:
    errors = Counter(_error(sample) is not None for sample in run.samples.values())[True]
    if errors:
        yield f"{errors} of {len(run.samples)} samples recorded an error"
    unscored = [
        sample_id
        for sample_id, sample in run.samples.items()
        if not sample.of(_MATCH) and not sample.of("metrics")
    ]
    if unscored:
        yield f"{len(unscored)} samples were never scored and count as failed: {named(unscored)}"
    if run.report is None:
        yield "there is no final report: the run did not end"
    yield from _disagreements(run.report, frame, metrics)


def _disagreements(report: object, frame: pd.DataFrame, metrics: Iterable[str]) -> Iterator[str]:
    """Notes about figures of the run's own report that differ from the mean of its samples."""
    figures = report if isinstance(report, dict) else {}
    names = {"accuracy" if name == _MATCH else name: name for name in metrics}
    for key, name in names.items():
        figure, mean = figures.get(key), float(frame[name].mean())
        # `not <=`, so that a NaN counts as a difference.
        if isinstance(figure, int | float) and not abs(figure - mean) <= _NEAR:
            yield f"the final report says {key} {figure:g}; the mean of {name!r} here is {mean:g}"


OPENAI_EVALS = dialect(
    "openai_evals",
    "OpenAI evals: the events that oaieval records, JSON Lines: one pipeline per run",
    _recognise,
    read_openai_evals,
    example="events.jsonl",
)

"""OpenAI: the events that ``oaieval`` records, and the output items of the Evals API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile, distinct_names
from rageval_report.readers.cell_values import is_blank, number_or_none, parse_objects, text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    at,
    described,
    groups_of,
    list_at,
    part,
    read_rows,
    reader_of,
    reader_of_frames,
)
from rageval_report.readers.frameworks.rows import (
    Judgement,
    message_text,
    own_ids,
    texts_of_ids,
    time_in,
)
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

# -- the events of oaieval

_EVENT = described("openai_evals")["event"]
_MATCH = "match"
_MATCHED: Override = {
    "kind": "binary",
    "greater_is_better": True,
    "description": "Whether the answer matched what was expected.",
    "source": "OpenAI evals",
}
_INVALID = "__invalid__"  # the choice of a grader whose answer was not one of the choices
_OWN = frozenset((QUERY_ID, "question", "answer", "reference", "picked", "error"))
_NUMBER = re.compile(r"(\d{1,18})$")
_NEAR = 1e-9

# The data of the events of a sample, by type.
_SampleEvents = dict[str, list[JsonObject]]


@dataclass
class _EvalRun:
    """A run: its specification, its final report, the events of its samples."""

    spec: JsonObject = field(default_factory=dict)
    report: object = None
    samples: dict[str, _SampleEvents] = field(default_factory=dict)

    @property
    def name(self) -> str:
        models = self.spec.get("completion_fns")
        joined = ",".join(map(str, models)) if isinstance(models, list) else str(models or "")
        return ":".join(part for part in (str(self.spec.get("eval_name") or ""), joined) if part)


def _read_events(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read the events of runs: one pipeline per run, named after its eval and its models."""
    scored = [run for run in _runs_of(frame).values() if run.samples]
    if not scored:
        raise source.error("the file contains no event of a sample; did the run end at once?")
    names = distinct_names(run.name or source.stem for run in scored)
    return [_events_file(name, run) for name, run in zip(names, scored, strict=True)]


def _runs_of(frame: pd.DataFrame) -> dict[str, _EvalRun]:
    """The runs by id; the specification and the report of a run have lines of their own."""
    objects = ("data", "spec", "final_report")
    columns = {name: frame[name].tolist() for name in (*_EVENT, *objects) if name in frame}
    # In a CSV objects are texts; ids are never objects.
    columns |= {name: parse_objects(columns[name]) for name in objects if name in columns}
    runs: dict[str, _EvalRun] = {}
    for row in range(len(frame)):
        cells = {name: column[row] for name, column in columns.items()}
        line = {name: cell for name, cell in cells.items() if not is_blank(cell)}
        spec = line.get("spec")
        if isinstance(spec, dict):
            runs.setdefault(str(spec.get("run_id")), _EvalRun()).spec = spec
        elif "final_report" in line:
            key = str(line.get("run_id", next(iter(runs), None)))
            runs.setdefault(key, _EvalRun()).report = line["final_report"]
        elif line:
            _add_event(runs, line, row + 1)
    return runs


def _add_event(runs: dict[str, _EvalRun], event: JsonObject, number: int) -> None:
    missing = next((key for key in ("type", "sample_id") if key not in event), None)
    if missing:
        raise ShapeError(f"record {number} is not an event: it lacks {missing}")
    run = runs.setdefault(str(event.get("run_id")), _EvalRun())
    sample = run.samples.setdefault(str(event["sample_id"]), {})
    data = event.get("data")
    sample.setdefault(str(event["type"]), []).append(
        data if isinstance(data, dict) else {"data": data}
    )


def _events_file(name: str, run: _EvalRun) -> ScoreFile:
    samples = dict(sorted(run.samples.items(), key=_sample_order))
    every = [data for sample in samples.values() for data in sample.get("metrics", ())]
    numbers = {
        str(k): None for data in every for k, v in data.items() if isinstance(v, int | float)
    }
    has_matches = any(_MATCH in sample for sample in samples.values())
    metrics = ({_MATCH: None} if has_matches else {}) | numbers
    if not metrics:
        raise ShapeError(
            f"none of the {len(samples)} samples of the run {name!r} was scored: expected events "
            "of the types match or metrics"
        )
    rows = [row for item in samples.items() for row in _sample_rows(*item, metrics)]
    return _EVENTS.score_file(name, rows, _notes(run, rows))


def _sample_order(item: tuple[str, object]) -> tuple[str, int]:
    """The sort key of a sample: ids end with numbers, and threads finish in any order."""
    number = _NUMBER.search(item[0])
    return (item[0], 0) if number is None else (item[0][: number.start()], int(number[1]))


def _sample_rows(
    sample_id: str, sample: _SampleEvents, names: Mapping[str, None]
) -> Iterator[JsonObject]:
    """One row per score of the sample, with its texts."""
    matches, metrics = sample.get(_MATCH, []), sample.get("metrics", [])
    error = _event_error(sample)
    # Of several samplings the first, as the others are graders'.
    sampled, match = sample.get("sampling", [{}])[0], sample.get(_MATCH, [{}])[0]
    texts = {
        "question": message_text(sampled.get("prompt", match.get("prompt"))),
        "answer": _single(sampled.get("sampled", match.get("sampled"))),
        "reference": _single(match.get("expected")),
        "picked": match.get("picked"),
        "error": error,
    }
    for row in range(max(len(matches), len(metrics), 1)):
        data = metrics[row] if row < len(metrics) else {}
        scores = {name: _event_score(data, name, error) for name in names}
        if row < len(matches):
            scores[_MATCH] = Judgement(matches[row].get("correct"))
        if not matches and not metrics:
            # oaieval itself leaves such samples out of its mean.
            why = error or "sampled, but never scored"
            scores = dict.fromkeys(names, Judgement(None, why, is_failed=True))
        labels = {
            f"metrics.{key}" if key in _OWN else str(key): value
            for key, value in data.items()
            if str(key) not in names
        }
        details = {**labels, **texts}
        yield {
            QUERY_ID: sample_id,
            "scores": scores,
            "details": details,
            "usage": sampled.get("usage"),
        }


def _event_score(data: JsonObject, name: str, error: str | None) -> Judgement:
    score = data.get(name)
    if score is not None:
        return Judgement(score)
    if data.get("choice") == _INVALID:
        error = "the grader's answer is not one of the choices"
    return Judgement(None, error, error is not None)


def _event_error(sample: _SampleEvents) -> str | None:
    messages = (
        ": ".join(str(event[key]) for key in ("type", "message") if event.get(key))
        for event in sample.get("error", ())
    )
    return "; ".join(dict.fromkeys(messages)) or None


def _single(value: object) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _notes(run: _EvalRun, rows: Sequence[JsonObject]) -> Iterator[str]:
    n_errors = sum(_event_error(sample) is not None for sample in run.samples.values())
    if n_errors:
        yield f"{n_errors} of {len(run.samples)} samples recorded an error"
    unscored = [key for key, sample in run.samples.items() if not {_MATCH, "metrics"} & {*sample}]
    if unscored:
        yield f"{len(unscored)} samples were never scored and count as failed: {named(unscored)}"
    if run.report is None:
        yield "there is no final report: the run did not end"
    # A figure of the run's own report may differ from the mean of its samples.
    for name in rows[0]["scores"]:
        key = "accuracy" if name == _MATCH else name
        figure, cells = number_or_none(at(run.report, key)), [row["scores"][name] for row in rows]
        scores = [number_or_none(cell.score, with_booleans=True) for cell in cells]
        mean = pd.Series(scores, dtype=float).mean()
        # `not <=`, so that a NaN counts as a difference.
        if figure is not None and not abs(figure - mean) <= _NEAR:
            yield f"the final report says {key} {figure:g}; the mean of {name!r} here is {mean:g}"


_EVENTS = Format.of("openai_evals", metrics={_MATCH: _MATCHED})
OPENAI_EVALS = reader_of_frames(
    "openai_evals", lambda names: SURE if names >= _EVENT else 0.0, _read_events
)


# -- the output items of the Evals API

_FAILED_STATES = frozenset(("error", "errored", "failed"))
_ITEM = "datasource_item"


def _read_items(source: Source) -> list[ScoreFile]:
    """Read the output items of OpenAI's Evals API: a pipeline for each run."""
    items = read_rows(source, *_ITEMS.rows)
    if not all(map(_ITEMS.fits, items)):
        raise source.error(
            "expected output items of OpenAI's Evals API, each with datasource_item and results"
        )
    groups = groups_of(items, lambda item: text_or_none(item.get("run_id")) or source.stem)
    labels = distinct_names(_run_label(name, group) for name, group in groups.items())
    has_more = at(source.document_or_none(), "has_more") is True
    notes = ["this is one page of the run's output items; the run has more"] if has_more else []
    return [
        _read_run(label, group, notes) for label, group in zip(labels, groups.values(), strict=True)
    ]


def _run_label(run: str, items: Sequence[JsonObject]) -> str:
    """The name of a run: its model beside its id, if all items say the same."""
    models = {text_or_none(at(item, "sample.model")) for item in items} - {None}
    return f"{next(iter(models))} ({run})" if len(models) == 1 else run


def _read_run(name: str, items: Sequence[JsonObject], notes: Iterable[str]) -> ScoreFile:
    sources = [check_object(item.get(_ITEM), _ITEM) for item in items]
    # Some data sources nest the item itself under "item".
    inner = [part(source, "item") or source for source in sources]
    key, ids = own_ids(inner) or ("", [])
    note = f"query ids are taken from '{_ITEM}.{key}'"
    if not ids or len(set(ids)) < len(ids):
        ids = texts_of_ids([item.get("datasource_item_id") for item in items])
        note = "query ids are the items' numbers in the data source (datasource_item_id)"
    if len(set(ids)) < len(items):
        ids, note = [], ""
    rows = [
        {
            _ITEM: inner[place],
            "scores": _item_scores(item),
            "answer": _answer(item),
            "passed": _verdicts(item),
            "error": _item_error(item),
            "usage": check_object(at(item, "sample.usage"), "sample.usage"),
            QUERY_ID: ids[place] if ids else None,
        }
        for place, item in enumerate(items)
    ]
    times = [number_or_none(item.get("created_at")) for item in items]
    first = min((time for time in times if time is not None), default=None)
    return _ITEMS.score_file(name, rows, (*notes, *filter(None, [note])), created=time_in(first))


def _message(error: object) -> str | None:
    """The message of an error of the API, which is an object with blanks if there was none."""
    if isinstance(error, dict):
        return text_or_none(error.get("message")) or text_or_none(error.get("code"))
    return text_or_none(error)


def _item_error(item: JsonObject) -> str | None:
    """The error in which the sample of an item ended; None if there was none."""
    is_failed = str(item.get("status")).lower() in _FAILED_STATES
    default = "the item failed; the file does not say why" if is_failed else None
    return _message(at(item, "sample.error")) or default


def _item_scores(item: JsonObject) -> dict[str, object]:
    judgements: dict[str, object] = {}
    for result in check_records(item.get("results"), "results"):
        errors = (_message(at(result, "sample.error")), _message(result.get("error")))
        # The API writes 0 where the sample or a grader ended in an error.
        error = next(filter(None, (_item_error(item), *errors)), None)
        metric = text_or_none(result.get("metric"))
        name = text_or_none(result.get("name")) or metric or "score"
        name = f"{name}.{metric}" if name in judgements and metric else name
        while name in judgements:
            name = f"{name} #2"
        score = at(result, "score|passed")
        judgements[name] = {"score": score, "reason": result.get("reason"), "error": error}
    return judgements


def _answer(item: JsonObject) -> str | None:
    outputs = list_at(item, "sample.output")
    texts = [text_or_none(at(output, "content")) for output in outputs]
    return "\n".join(text for text in texts if text) or None


def _verdicts(item: JsonObject) -> dict[str, bool]:
    """Whether each grader passed an item, for graders that give a score as well."""
    return {
        f"{result.get('name')} passed": result["passed"]
        for result in check_records(item.get("results"), "results")
        if result.get("score") is not None and isinstance(result.get("passed"), bool)
    }


_ITEMS = Format.of("openai_runs")
OPENAI_RUNS = reader_of("openai_runs", _ITEMS.recognise, _read_items)

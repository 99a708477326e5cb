"""Samples of Inspect, each of one epoch, become one row a query."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rageval_report.errors import named
from rageval_report.readers.base import CellsByColumn, ScoreFile
from rageval_report.readers.cell_values import json_text, number_or_none
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    JudgementColumns,
    average_repeats,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.scores.cells import LETTERS
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.texts import TEXTS
from rageval_report.types import JsonObject

Part = tuple[str, str | None]

# How long a sample took, in seconds; the first of these that any sample of the log has.
_TIMES = ("working_time", "total_time")
_TOKENS = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "total_cost": "cost_usd",
}
_MEASURES = ("latency_ms", *_TOKENS.values())
_RESERVED = TEXTS | {QUERY_ID, "id", "epoch", "choices", *_MEASURES}
_ATTACHMENT = "attachment://"


def score_file(
    header: JsonObject, samples: Sequence[JsonObject], notes: Iterable[str] = ()
) -> ScoreFile:
    """The pipeline of a log: its samples, epochs averaged.

    Parameters
    ----------
    header : mapping
        The log's, with the task, the model and the data set under ``eval``.
    samples : sequence of mapping
        At least one.
    notes : iterable of str
        What was found out before.

    Raises
    ------
    ShapeError
        If a part is not what Inspect writes there, or no sample has a score.
    """
    told = check_object(header.get("eval"), "eval")
    ordered = _ordered(samples, told)
    scores = [check_object(sample.get("scores"), "scores of a sample") for sample in ordered]
    parts = _parts(scores)
    found = judgement_columns(
        {name: _judgement(sample, part) for part, name in parts.items()} for sample in ordered
    )
    if not parts:
        found = _unscored(told, len(ordered))
    measures = drop_empty(columns_of(_measures(ordered, str(told.get("model")))))
    frame = frame_of(
        {**_details(ordered, {*found.columns, *measures}), **found.columns, **measures}
    )
    metrics = (*found.metrics, *measures)
    frame, repeats = average_repeats(frame, QUERY_ID, metrics)
    return ScoreFile(
        frame,
        _pipeline(told),
        metric_columns=metrics,
        notes=(
            *notes,
            *_notes_of_letters(scores),
            *found.notes,
            *repeats,
            *_notes_of_reducers(told),
            *_notes_of_absent(header, told, ordered),
        ),
    )


def _pipeline(told: JsonObject) -> str:
    return ":".join(str(told[key]) for key in ("task", "model") if told.get(key))


def _ordered(samples: Sequence[JsonObject], told: JsonObject) -> list[JsonObject]:
    """The samples in the order of the data set, where the log tells it, not of their finishing."""
    for place, sample in enumerate(samples, 1):
        if sample.get("id") in (None, ""):
            raise ShapeError(f"sample {place} of the log has no id")
    ids = check_object(told.get("dataset"), "eval.dataset").get("sample_ids")
    places = {str(one): place for place, one in enumerate(ids)} if isinstance(ids, list) else {}
    return sorted(samples, key=lambda sample: places.get(str(sample["id"]), len(places)))


# -- metrics


def _parts(scores: Iterable[JsonObject]) -> dict[Part, str]:
    """The metrics: each scorer, or each key of a scorer that gives objects, and its name.

    A key is a metric of that name, as in Inspect's own results; where two scorers have the same
    one, the scorer's name goes before it.
    """
    found: dict[Part, None] = {}
    for row in scores:
        for scorer, score in row.items():
            value = _value(score)
            keys: list[str | None] = [*_keyed(value)] or [None]
            found |= dict.fromkeys((str(scorer), key) for key in keys)
    is_of_objects = {scorer for scorer, key in found if key is not None}
    parts = [part for part in found if part[1] is not None or part[0] not in is_of_objects]
    spelled = Counter(normalise_name(key or scorer) for scorer, key in parts)
    return {part: _name(part, spelled) for part in parts}


def _name(part: Part, spelled: Counter[str]) -> str:
    scorer, key = part
    name = key or scorer
    is_taken = spelled[normalise_name(name)] > 1 or name.isdigit()
    name = f"{scorer}_{key}" if is_taken and key is not None else name
    return f"{name}_score" if normalise_name(name) in _RESERVED else name


def _value(score: object) -> object:
    return check_object(score, "a score").get("value")


def _keyed(value: object) -> dict[str, Any]:
    """The parts of a score: those of an object by key, those of a list by number from 1."""
    if isinstance(value, dict):
        return {str(key): part for key, part in value.items()}
    if isinstance(value, list):
        return {str(number): part for number, part in enumerate(value, 1)}
    return {}


def _judgement(sample: JsonObject, part: Part) -> Judgement:
    """One score of a sample; NaN is how Inspect writes that there is none."""
    scorer, key = part
    given = check_object(sample.get("scores"), "scores of a sample").get(scorer)
    if given is None:
        error = error_of(sample)
        return Judgement(None, error, error is not None)
    score = check_object(given, f"the score of {scorer!r}")
    told = [score.get("explanation"), score.get("reason")]
    reason = next((one for one in told if isinstance(one, str) and one.strip()), None)
    value = score.get("value")
    cell = _keyed(value).get(key) if key is not None else value
    if key is not None and not isinstance(value, dict | list):
        cell = value
    if cell is None or cell != cell:
        return Judgement(None, reason, is_failed=True)
    return Judgement(LETTERS.get(cell, cell) if isinstance(cell, str) else cell, reason)


def error_of(sample: JsonObject) -> str | None:
    """The error that a sample ended in: a text in summaries and frames, an object in samples."""
    error = sample.get("error")
    told = error.get("message") if isinstance(error, dict) else error
    return str(told) if told else None


def _unscored(told: JsonObject, n_samples: int) -> JudgementColumns:
    """The scorers that the log names, where none of them ran; the samples may be scored later."""
    declared = [one.get("name") for one in check_records(told.get("scorers"), "eval.scorers")]
    names = tuple(dict.fromkeys(_name((str(name), None), Counter()) for name in declared if name))
    if not names:
        raise ShapeError(f"none of the {n_samples} samples in the log has a score")
    note = f"none of the {n_samples} samples has a score yet, of {named(names)}: run inspect score"
    return JudgementColumns({name: [math.nan] * n_samples for name in names}, names, (note,))


# -- details and measures


def _details(samples: Sequence[JsonObject], taken: set[str]) -> CellsByColumn:
    told = drop_empty(columns_of(map(_texts, samples)))
    own = {QUERY_ID, "epoch", *told}
    metadata = columns_of(
        {str(key): cell for key, cell in check_object(sample.get("metadata"), "metadata").items()}
        for sample in samples
    )
    ids = {QUERY_ID: [str(sample["id"]) for sample in samples]}
    return ids | told | rename_clashes(metadata, taken | own | _RESERVED, "metadata")


def _texts(sample: JsonObject) -> dict[str, Any]:
    output = check_object(sample.get("output"), "output")
    target = sample.get("target")
    return {
        "question": _attached(_question(sample.get("input")), sample),
        "answer": _attached(_answer(output), sample),
        "reference": target[0] if isinstance(target, list) and len(target) == 1 else target,
        "choices": sample.get("choices"),
        "error": error_of(sample),
    }


def _question(given: object) -> str | None:
    """The text of the input, or of the last thing that the user said in it."""
    if not isinstance(given, list):
        return json_text(given)
    said = [one for one in given if isinstance(one, dict)]
    by_user = [one for one in said if one.get("role") == "user"] or said
    return _content(by_user[-1].get("content")) if by_user else None


def _answer(output: JsonObject) -> str | None:
    if isinstance(output.get("completion"), str):
        return str(output["completion"])
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return _content(message.get("content")) if isinstance(message, dict) else None


def _content(content: object) -> str | None:
    """A message's text; of one in parts those that are text."""
    if not isinstance(content, list):
        return json_text(content)
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str)) or None


def _attached(text: str | None, sample: JsonObject) -> str | None:
    """Inspect keeps long texts apart, and their names in their place."""
    if text is None or not text.startswith(_ATTACHMENT):
        return text
    kept = sample.get("attachments")
    found = kept.get(text.removeprefix(_ATTACHMENT)) if isinstance(kept, dict) else None
    return found if isinstance(found, str) else text


def _measures(samples: Sequence[JsonObject], model: str) -> Iterator[dict[str, float | None]]:
    """Time, tokens and cost of each sample, as far as Inspect counted them."""
    timed = next(
        (key for key in _TIMES if any(number_or_none(one.get(key)) for one in samples)), None
    )
    for sample in samples:
        seconds = None if timed is None else number_or_none(sample.get(timed))
        usage = check_object(sample.get("model_usage"), "model_usage")
        own = [usage[model]] if model in usage else list(usage.values())  # judges have their own
        counted = [check_object(one, "model_usage of a model") for one in own]
        yield {
            "latency_ms": None if seconds is None else seconds * 1000,
            **{ours: _sum(one.get(key) for one in counted) for key, ours in _TOKENS.items()},
        }


def _sum(counts: Iterable[object]) -> float | None:
    numbers = [number for count in counts if (number := number_or_none(count)) is not None]
    return sum(numbers) if numbers else None


# -- notes


def _notes_of_letters(scores: Iterable[JsonObject]) -> Iterator[str]:
    values = [value for row in scores for value in map(_value, row.values())]
    cells = [cell for value in values for cell in (_keyed(value).values() or [value])]
    letters = {cell for cell in cells if isinstance(cell, str) and cell in LETTERS}
    if letters:
        told = ", ".join(f"{letter} as {LETTERS[letter]:g}" for letter in sorted(letters))
        yield f"Inspect's letters are read as numbers: {told}"


def _notes_of_reducers(told: JsonObject) -> Iterator[str]:
    reducers = check_object(told.get("config"), "eval.config").get("epochs_reducer")
    others = [one for one in reducers if one != "mean"] if isinstance(reducers, list) else []
    if others:
        yield f"the log reduces epochs by {named(others)}; here a query's score is their mean"


def _notes_of_absent(
    header: JsonObject, told: JsonObject, samples: Sequence[JsonObject]
) -> Iterator[str]:
    n_errors = sum(error_of(sample) is not None for sample in samples)
    if n_errors:
        yield f"{n_errors} of {len(samples)} samples ended in an error; what they lack is failed"
    ids = check_object(told.get("dataset"), "eval.dataset").get("sample_ids")
    present = {str(sample["id"]) for sample in samples}
    absent = [one for one in ids if str(one) not in present] if isinstance(ids, list) else []
    if absent:
        yield f"{len(absent)} queries of the data set are not in the log: {named(absent)}"
    total = check_object(header.get("results"), "results").get("total_samples")
    if not absent and isinstance(total, int) and total > len(samples):
        yield f"the log counts {total} samples and holds {len(samples)}"

"""Samples of Inspect, each of one epoch, become one row per query."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rageval_report.errors import named
from rageval_report.readers.base import CellsByColumn, ScoreFile
from rageval_report.readers.cell_values import json_text, number_or_none, text_or_none
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
from rageval_report.scores.query_ids import QUERY_ID, TEXTS
from rageval_report.types import JsonObject

# A scorer, and a key of its scores if these are objects.
ScorePart = tuple[str, str | None]

# The duration of a sample in seconds; the first of these keys that any sample of the log has.
# Working time leaves out waiting for rate limits, so it comes first.
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
    """The pipeline of a log: its samples, averaged over epochs.

    Parameters
    ----------
    header : mapping
        The header of the log, with the task, the model and the data set under ``eval``.
    samples : sequence of mapping
        At least one.
    notes : iterable of str
        Earlier notes.

    Raises
    ------
    ShapeError
        If a part has another shape than Inspect writes, or no sample has a score.
    """
    evaluation = check_object(header.get("eval"), "eval")
    ordered = _in_data_order(samples, evaluation)
    scores = [check_object(sample.get("scores"), "scores of a sample") for sample in ordered]
    parts = _parts(scores)
    judged = judgement_columns(
        {name: _judgement(sample, part) for part, name in parts.items()} for sample in ordered
    )
    if not parts:
        judged = _declared_scorers(evaluation, len(ordered))
    measures = drop_empty(columns_of(_measures(ordered, str(evaluation.get("model")))))
    frame = frame_of(
        {**_details(ordered, {*judged.columns, *measures}), **judged.columns, **measures}
    )
    metrics = (*judged.metrics, *measures)
    frame, repeats = average_repeats(frame, QUERY_ID, metrics)
    return ScoreFile(
        frame,
        _pipeline_name(evaluation),
        metric_columns=metrics,
        notes=(
            *notes,
            *_notes_of_letters(scores),
            *judged.notes,
            *repeats,
            *_notes_of_reducers(evaluation),
            *_notes_of_missing_samples(header, evaluation, ordered),
        ),
    )


def _pipeline_name(evaluation: JsonObject) -> str:
    return ":".join(str(evaluation[key]) for key in ("task", "model") if evaluation.get(key))


def _in_data_order(samples: Sequence[JsonObject], evaluation: JsonObject) -> list[JsonObject]:
    """The samples in the order of the data set if the log has it; they finish in any order."""
    for number, sample in enumerate(samples, 1):
        if sample.get("id") in (None, ""):
            raise ShapeError(f"sample {number} of the log has no id")
    ids = check_object(evaluation.get("dataset"), "eval.dataset").get("sample_ids")
    places = {str(name): place for place, name in enumerate(ids)} if isinstance(ids, list) else {}
    return sorted(samples, key=lambda sample: places.get(str(sample["id"]), len(places)))


# -- metrics


def _parts(scores: Iterable[JsonObject]) -> dict[ScorePart, str]:
    """The metrics with their names: each scorer, or each key of a scorer whose scores are objects.

    A key is a metric of that name, as in Inspect's own results; if two scorers have the same key,
    the scorer's name goes before it.
    """
    all_parts: dict[ScorePart, None] = {}
    for row in scores:
        for scorer, score in row.items():
            value = _value(score)
            keys: list[str | None] = [*_values_by_key(value)] or [None]
            all_parts |= dict.fromkeys((str(scorer), key) for key in keys)
    with_keys = {scorer for scorer, key in all_parts if key is not None}
    parts = [part for part in all_parts if part[1] is not None or part[0] not in with_keys]
    spelled = Counter(normalise_name(key or scorer) for scorer, key in parts)
    return {part: _name(part, spelled) for part in parts}


def _name(part: ScorePart, spelled: Counter[str]) -> str:
    scorer, key = part
    name = key or scorer
    # A number says nothing without its scorer.
    is_taken = spelled[normalise_name(name)] > 1 or name.isdigit()
    name = f"{scorer}_{key}" if is_taken and key is not None else name
    return f"{name}_score" if normalise_name(name) in _RESERVED else name


def _value(score: object) -> object:
    return check_object(score, "a score").get("value")


def _values_by_key(value: object) -> dict[str, Any]:
    """The values of a score: those of an object by key, those of a list by number from 1."""
    if isinstance(value, dict):
        return {str(key): part for key, part in value.items()}
    if isinstance(value, list):
        return {str(number): part for number, part in enumerate(value, 1)}
    return {}


def _judgement(sample: JsonObject, part: ScorePart) -> Judgement:
    """One score of a sample; NaN is how Inspect writes that there is none."""
    scorer, key = part
    fields = check_object(sample.get("scores"), "scores of a sample").get(scorer)
    if fields is None:
        error = error_of(sample)
        return Judgement(None, error, error is not None)
    score = check_object(fields, f"the score of {scorer!r}")
    reason = text_or_none(score.get("explanation")) or text_or_none(score.get("reason"))
    value = score.get("value")
    cell = _values_by_key(value).get(key) if key is not None else value
    if key is not None and not isinstance(value, dict | list):
        # A scorer that gives objects writes one NaN for all of its keys if it gives up.
        cell = value
    if cell is None or cell != cell:
        # The scorer ran and gave NaN: Inspect counts that as unscored, not as 0.
        return Judgement(None, reason, is_failed=True)
    return Judgement(LETTERS.get(cell, cell) if isinstance(cell, str) else cell, reason)


def error_of(sample: JsonObject) -> str | None:
    """The error that a sample ended in: a text in summaries and frames, an object in samples."""
    error = sample.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return str(message) if message else None


def _declared_scorers(evaluation: JsonObject, n_samples: int) -> JudgementColumns:
    """The scorers that the log names, if none of them ran; the samples may be scored later."""
    scorers = check_records(evaluation.get("scorers"), "eval.scorers")
    declared = [scorer.get("name") for scorer in scorers]
    names = tuple(dict.fromkeys(_name((str(name), None), Counter()) for name in declared if name))
    if not names:
        raise ShapeError(f"none of the {n_samples} samples in the log has a score")
    note = f"none of the {n_samples} samples has a score yet, of {named(names)}: run inspect score"
    return JudgementColumns({name: [math.nan] * n_samples for name in names}, names, (note,))


# -- details and measures


def _details(samples: Sequence[JsonObject], taken: set[str]) -> CellsByColumn:
    texts = drop_empty(columns_of(map(_texts, samples)))
    own = {QUERY_ID, "epoch", *texts}
    metadata = columns_of(
        {str(key): cell for key, cell in check_object(sample.get("metadata"), "metadata").items()}
        for sample in samples
    )
    ids = {QUERY_ID: [str(sample["id"]) for sample in samples]}
    return ids | texts | rename_clashes(metadata, taken | own | _RESERVED, "metadata")


def _texts(sample: JsonObject) -> dict[str, Any]:
    output = check_object(sample.get("output"), "output")
    target = sample.get("target")
    return {
        "question": _resolve_attachment(_question(sample.get("input")), sample),
        "answer": _resolve_attachment(_answer(output), sample),
        "reference": target[0] if isinstance(target, list) and len(target) == 1 else target,
        "choices": sample.get("choices"),
        "error": error_of(sample),
    }


def _question(content: object) -> str | None:
    """The text of the input, or the last message of the user in it."""
    if not isinstance(content, list):
        return json_text(content)
    messages = [message for message in content if isinstance(message, dict)]
    by_user = [message for message in messages if message.get("role") == "user"] or messages
    return _content(by_user[-1].get("content")) if by_user else None


def _answer(output: JsonObject) -> str | None:
    if isinstance(output.get("completion"), str):
        return str(output["completion"])
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return _content(message.get("content")) if isinstance(message, dict) else None


def _content(content: object) -> str | None:
    """The text of a message; if it has parts, those that are text."""
    if not isinstance(content, list):
        return json_text(content)
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str)) or None


def _resolve_attachment(text: str | None, sample: JsonObject) -> str | None:
    """The text, or the attachment that it names: Inspect keeps long texts apart."""
    if text is None or not text.startswith(_ATTACHMENT):
        return text
    attachments = sample.get("attachments")
    if not isinstance(attachments, dict):
        return text
    attachment = attachments.get(text.removeprefix(_ATTACHMENT))
    return attachment if isinstance(attachment, str) else text


def _measures(samples: Sequence[JsonObject], model: str) -> Iterator[dict[str, float | None]]:
    """Time, tokens and cost of each sample, if Inspect counted them."""
    timed = next(
        (key for key in _TIMES if any(number_or_none(sample.get(key)) for sample in samples)), None
    )
    for sample in samples:
        seconds = None if timed is None else number_or_none(sample.get(timed))
        usage = check_object(sample.get("model_usage"), "model_usage")
        own = [usage[model]] if model in usage else list(usage.values())  # the others are judges
        counted = [check_object(model_usage, "model_usage of a model") for model_usage in own]
        yield {
            "latency_ms": None if seconds is None else seconds * 1000,
            **{ours: _sum(counts.get(key) for counts in counted) for key, ours in _TOKENS.items()},
        }


def _sum(counts: Iterable[object]) -> float | None:
    numbers = [number for count in counts if (number := number_or_none(count)) is not None]
    return sum(numbers) if numbers else None


# -- notes


def _notes_of_letters(scores: Iterable[JsonObject]) -> Iterator[str]:
    values = [value for row in scores for value in map(_value, row.values())]
    cells = [cell for value in values for cell in (_values_by_key(value).values() or [value])]
    letters = {cell for cell in cells if isinstance(cell, str) and cell in LETTERS}
    if letters:
        listed = ", ".join(f"{letter} as {LETTERS[letter]:g}" for letter in sorted(letters))
        yield f"Inspect's letters are read as numbers: {listed}"


def _notes_of_reducers(evaluation: JsonObject) -> Iterator[str]:
    reducers = check_object(evaluation.get("config"), "eval.config").get("epochs_reducer")
    others = [name for name in reducers if name != "mean"] if isinstance(reducers, list) else []
    if others:
        yield f"the log reduces epochs by {named(others)}; here a query's score is their mean"


def _notes_of_missing_samples(
    header: JsonObject, evaluation: JsonObject, samples: Sequence[JsonObject]
) -> Iterator[str]:
    n_errors = sum(error_of(sample) is not None for sample in samples)
    if n_errors:
        yield (
            f"{n_errors} of {len(samples)} samples ended in an error; their missing scores count "
            "as failed"
        )
    ids = check_object(evaluation.get("dataset"), "eval.dataset").get("sample_ids")
    present = {str(sample["id"]) for sample in samples}
    absent = (
        [query_id for query_id in ids if str(query_id) not in present]
        if isinstance(ids, list)
        else []
    )
    if absent:
        yield f"{len(absent)} queries of the data set are not in the log: {named(absent)}"
    total = check_object(header.get("results"), "results").get("total_samples")
    if not absent and isinstance(total, int) and total > len(samples):
        yield f"the log counts {total} samples but contains {len(samples)}"

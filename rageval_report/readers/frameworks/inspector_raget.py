"""InspectorRAGet's JSON: models, metrics, tasks, and each model's evaluation on each task."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import number_or_none
from rageval_report.readers.frameworks.format import SURE, at, groups_of, spelled
from rageval_report.readers.frameworks.rows import JudgementColumns, overrides_of
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, frame_of, score_columns
from rageval_report.scores.metric import Catalogue, Override, normalise_name
from rageval_report.types import JsonObject

# The values of annotations without a judgement, and of those that do not apply.
_NO_JUDGEMENT, _NOT_APPLICABLE = (None, ""), "N/A"
_SINGLE_PRECISION = 1e-6  # similarities are computed in single precision: 1.0000004 is 1
_OUR_NAMES = frozenset("answer contexts conversation query_id question reference retrieved".split())
_OWN_FIELDS = frozenset(
    ("task_id", "taskId", "input", "contexts", "targets", "annotations", "comments")
)
# The values of one evaluation, by metric and annotator.
_AnnotatedValues = Mapping[str, Mapping[str, Any]]


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    tables = (at(document, key) for key in ("models", "metrics", "tasks"))
    is_ours = is_records(_evaluations(document)) and all(map(is_records, tables))
    return SURE if is_ours else 0.0


def _evaluations(document: object) -> Any:
    """The evaluations; the second schema calls them results."""
    return (
        document.get("evaluations") or document.get("results")
        if isinstance(document, dict)
        else None
    )


def _read_inspector_raget(source: Source) -> list[ScoreFile]:
    """Read a file of InspectorRAGet, both schemas: a pipeline for each model."""
    document = source.document
    if not _recognise(source):
        raise source.error(
            "expected models, metrics, tasks and evaluations, each a list of objects"
        )
    evaluations = _evaluations(document)
    values = list(map(_values, evaluations))
    scales = [
        _DeclaredScale(metric, _judged(values, str(metric.get("name"))))
        for metric in document["metrics"]
    ]
    tasks = {str(spelled(task, "task_id")): _task_details(task) for task in document["tasks"]}
    documents = {
        str(spelled(each, "document_id")): each.get("text")
        for each in check_records(document.get("documents"), "documents")
    }
    several = {
        name for by_metric in values for name, by_who in by_metric.items() if len(by_who) > 1
    }
    scored = {scale.name: scale for scale in scales if not scale.is_of_words}
    groups = groups_of(
        zip(evaluations, values, strict=True), lambda pair: str(spelled(pair[0], "model_id"))
    )
    return [
        _score_file(model, pairs, scored, tasks, documents, several)
        for model, pairs in groups.items()
    ]


def _values(evaluation: JsonObject) -> _AnnotatedValues:
    """The values by metric and annotator; the second schema calls them scores."""
    listed = evaluation.get("annotations") or evaluation.get("scores")
    return {
        metric: {
            annotator: check_object(value, f"{metric!r} of {annotator!r}").get("value")
            for annotator, value in check_object(by, f"the annotations of {metric!r}").items()
        }
        for metric, by in check_object(listed, "annotations").items()
    }


def _judged(evaluations: Iterable[_AnnotatedValues], name: str) -> list[Any]:
    """The judgements of a metric from all annotators of all tasks."""
    values = (value for by_metric in evaluations for value in by_metric.get(name, {}).values())
    return [value for value in values if value not in (*_NO_JUDGEMENT, _NOT_APPLICABLE)]


# -- scales


class _DeclaredScale:
    """The declared scale of a metric: its name, the numbers of its steps, its bounds."""

    def __init__(self, metric: JsonObject, judged: Sequence[object]):
        self.metric, self.name = metric, str(metric.get("name"))
        steps = check_records(metric.get("values"), f"the values of {metric.get('name')!r}")
        self.steps = [
            (step.get("value"), number)
            for step in steps
            if (number := number_or_none(spelled(step, "numeric_value"), with_booleans=True))
            is not None
        ]
        # The third number of a range is its step.
        declared = metric.get("range")
        ends = [number for _, number in self.steps] or (
            declared[:2] if isinstance(declared, list) else []
        )
        is_range = all(isinstance(end, int | float) for end in ends) and len(set(ends)) > 1
        self.bounds = (float(min(ends)), float(max(ends))) if is_range else None
        is_categorical = metric.get("type") == "categorical"
        # The values of a scale may be names without numbers.
        are_names = bool(judged) and all(self.number(value) is None for value in judged)
        self.is_of_words = metric.get("type") == "text" or (
            is_categorical and not self.steps and are_names
        )

    def number(self, value: object) -> float | None:
        """The number that a judgement stands for, if any."""
        number = next((step for label, step in self.steps if label == value), value)
        try:
            read = float(number) if isinstance(number, int | float | str) else math.nan
        except (ValueError, OverflowError):
            return None
        return read if math.isfinite(read) else None

    def holds(self, scores: Iterable[float]) -> bool:
        """Whether all scores lie within the bounds."""
        low, high = self.bounds or (-math.inf, math.inf)
        return all(low <= score <= high for score in scores)

    def without_rounding(self, score: float) -> float:
        """The score, moved to the end of the scale if single precision put it just outside."""
        low, high = self.bounds or (score, score)
        nearest = min(max(score, low), high)
        return nearest if abs(score - nearest) < _SINGLE_PRECISION else score

    def override(self, scores: Sequence[float]) -> Override:
        """The declared fields of a metric; its bounds only if all scores are within them."""
        scale, is_within = self.metric, self.holds(scores)
        override: dict[str, Any] = {"greater_is_better": scale.get("order") != "descending"}
        if self.bounds is not None:
            # Some files declare the range of the chart, not of the scores.
            override["bounds"] = self.bounds if is_within else None
        is_share = self.bounds == (0.0, 1.0) and is_within
        is_categorical = scale.get("type") == "categorical"
        override["kind"] = "ordinal" if is_categorical else "proportion" if is_share else "real"
        if Catalogue().find(self.name) is None:
            override |= {"title": spelled(scale, "display_name") or "", "source": "InspectorRAGet"}
            override["description"] = scale.get("description") or ""
        return override


# -- a pipeline


def _score_file(
    model: str,
    pairs: Sequence[tuple[JsonObject, _AnnotatedValues]],
    scales: Mapping[str, _DeclaredScale],
    tasks: Mapping[str, JsonObject],
    documents: Mapping[str, Any],
    several: set[str],
) -> ScoreFile:
    columns = columns_of(
        _row(evaluation, values, scales, tasks, documents, several) for evaluation, values in pairs
    )
    notes = list(_notes(pairs, scales, tasks, several))
    scored: dict[str, list[Any]] = {}
    metrics = [name for name in scales if any(name in values for _, values in pairs)]
    for name in metrics:
        scale = scales[name]
        means = [_mean(scale, values.get(name, {})) for _, values in pairs]
        texts = columns.pop(f"{name}_reason", [None] * len(means))
        reasons = [reason or text for (_, reason, _), text in zip(means, texts, strict=True)]
        scored |= score_columns(name, [cell for cell, _, _ in means], reasons)
        n_unread = sum(n for _, _, n in means)
        if n_unread:
            notes.append(
                f"{n_unread} judgements of {name!r} are neither numbers nor values of its scale"
            )
        present = [score for score in scored[name] if not math.isnan(score)]
        if scale.bounds is not None and not scale.holds(present):
            notes.append(
                f"scores of {name!r} go from {min(present):g} to {max(present):g}; the declared "
                f"range {scale.bounds[0]:g} to {scale.bounds[1]:g} is ignored, as it may be that "
                "of a chart"
            )
    judged = JudgementColumns(scored, tuple(metrics), ())
    overrides = overrides_of(lambda name, scores: scales[name].override(scores), judged)
    frame = frame_of({**columns, **scored})
    return ScoreFile(
        frame, model, metrics=overrides, metric_columns=tuple(metrics), notes=tuple(notes)
    )


def _mean(scale: _DeclaredScale, by_annotator: Mapping[str, Any]) -> tuple[object, str | None, int]:
    """The mean of the judgements that are numbers, else why there is none; how many are unread."""
    values = [value for value in by_annotator.values() if value not in _NO_JUDGEMENT]
    own = [value for value in values if value != _NOT_APPLICABLE]
    numbers = [number for value in own if (number := scale.number(value)) is not None]
    n_unread = len(own) - len(numbers)
    if numbers:
        return scale.without_rounding(fmean(numbers)), None, n_unread
    if own:
        reason = f"judged {named(own)}, which is neither a number nor a value of the scale"
        return None, reason, n_unread
    # Judgements that all say "N/A" are another thing than none at all.
    return "n/a" if values else None, None, 0


def _notes(
    pairs: Sequence[tuple[JsonObject, _AnnotatedValues]],
    scales: Mapping[str, _DeclaredScale],
    tasks: Mapping[str, object],
    several: set[str],
) -> Iterator[str]:
    averaged = {name for _, values in pairs for name in values} & several & scales.keys()
    if averaged:
        yield f"the score is the mean over several annotators for {named(sorted(averaged), 12)}"
    ids = [str(spelled(evaluation, "task_id")) for evaluation, _ in pairs]
    unknown = [task_id for task_id in ids if task_id not in tasks]
    if unknown:
        yield f"{len(unknown)} evaluations are of tasks that are not listed: {named(unknown)}"


# -- details


def _row(
    evaluation: JsonObject,
    values: _AnnotatedValues,
    scales: Mapping[str, _DeclaredScale],
    tasks: Mapping[str, JsonObject],
    documents: Mapping[str, Any],
    several: set[str],
) -> dict[str, Any]:
    task_id = spelled(evaluation, "task_id")
    task = tasks.get(str(task_id), {})
    contexts = evaluation.get("contexts") or task.get("contexts")
    contexts = contexts if isinstance(contexts, list) else []
    row = {f"task_{key}" if key in scales else key: cell for key, cell in task.items()}
    row |= {"query_id": task_id, "answer": _output(evaluation)}
    ids = [str(spelled(c, "document_id")) if isinstance(c, dict) else str(c) for c in contexts]
    row["contexts"] = [
        (context.get("text") if isinstance(context, dict) else context) or documents.get(key)
        for context, key in zip(contexts, ids, strict=True)
    ]
    row["retrieved"] = ids
    for name, by_annotator in values.items():
        if name in scales:
            if name in several:
                row[f"{name}_annotations"] = by_annotator
        elif name not in row:
            row[name] = _annotated_text(by_annotator)
    return row


def _annotated_text(by_annotator: Mapping[str, Any]) -> Any:
    """The text of the annotators; with their names if there are several."""
    texts = {name: text for name, text in by_annotator.items() if text not in _NO_JUDGEMENT}
    if len(texts) <= 1:
        return next(iter(texts.values()), None)
    return "; ".join(f"{name}: {text}" for name, text in texts.items())


def _task_details(task: JsonObject) -> dict[str, Any]:
    turns, targets = task.get("input"), task.get("targets")
    details: dict[str, Any] = {"question": _last_text(turns)}
    if isinstance(turns, list) and len(turns) > 1:
        details["conversation"] = turns
    details["reference"] = _last_text(targets[:1]) if isinstance(targets, list) else targets
    details["contexts"] = task.get("contexts")
    for key, value in task.items():
        if key not in _OWN_FIELDS:
            # A list of labels as one text, so that queries can be grouped by it.
            are_labels = isinstance(value, list) and all(isinstance(each, str) for each in value)
            cell = (", ".join(value) or None) if are_labels else value
            details[f"task_{key}" if normalise_name(key) in _OUR_NAMES else key] = cell
    return details


def _last_text(turns: object) -> Any:
    """The text of the last turn of a conversation, or the text itself."""
    last = (turns[-1] if turns else None) if isinstance(turns, list) else turns
    if not isinstance(turns, list) or not isinstance(last, dict):
        return last
    return last.get("text") or last.get("content") or last.get("value")


def _output(evaluation: JsonObject) -> Any:
    """The answer: a text in the first schema, messages or a typed value in the second."""
    output = evaluation.get("model_response", evaluation.get("output"))
    if isinstance(output, list):
        return _last_text(output)
    return output["value"] if isinstance(output, dict) and "value" in output else output


INSPECTOR_RAGET = Reader(
    "inspector_raget",
    "InspectorRAGet's JSON of models, metrics, tasks and evaluations: one pipeline per model",
    _recognise,
    _read_inspector_raget,
    ("encoding",),
    example="inspector_raget.json",
)

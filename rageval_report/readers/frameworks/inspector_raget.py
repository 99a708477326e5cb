"""InspectorRAGet's JSON: models, metrics, tasks, and each model's evaluation on each task."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile
from rageval_report.readers.cell_values import number_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    at,
    groups_of,
    list_at,
    part,
    reader_of,
    snake_keys,
)
from rageval_report.readers.frameworks.rows import (
    Judgement,
    JudgementColumns,
    judgement_columns,
    overrides_of,
)
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.scores.metric import Catalogue, Override, normalise_name
from rageval_report.types import JsonObject

# The values of annotations without a judgement, and of those that do not apply.
_NO_JUDGEMENT, _NOT_APPLICABLE = (None, ""), "N/A"
_SINGLE_PRECISION = 1e-6  # similarities are computed in single precision: 1.0000004 is 1
_OUR_NAMES = frozenset("answer contexts conversation query_id question reference retrieved".split())
_OF_TASK = frozenset(
    ("task_id", "taskId", "input", "contexts", "targets", "annotations", "comments")
)
# The values of one evaluation, by metric and annotator.
_AnnotatedValues = Mapping[str, Mapping[str, Any]]


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    tables = (at(document, key) for key in ("models", "metrics", "tasks", "evaluations|results"))
    return SURE if all(map(is_records, tables)) else 0.0


def _read_inspector_raget(source: Source) -> list[ScoreFile]:
    """Read a file of InspectorRAGet, both schemas: a pipeline for each model."""
    document = source.document
    if not _recognise(source):
        raise source.error(
            "expected models, metrics, tasks and evaluations, each a list of objects"
        )
    # The second schema writes its keys in snake case, and calls the evaluations results.
    evaluations = [
        {**snake_keys(each), "values": _values(each)}
        for each in at(document, "evaluations|results")
    ]
    scales = {}
    for metric in map(snake_keys, document["metrics"]):
        scale = _DeclaredScale(metric, _judged(evaluations, str(metric.get("name"))))
        if not scale.is_of_words:
            scales[str(metric.get("name"))] = scale
    tasks = {str(at(task, "task_id|taskId")): task for task in document["tasks"]}
    documents = {
        str(each.get("document_id")): each.get("text")
        for each in map(snake_keys, check_records(document.get("documents"), "documents"))
    }
    groups = groups_of(evaluations, lambda evaluation: str(evaluation.get("model_id")))
    several = {name for each in evaluations for name, by in each["values"].items() if len(by) > 1}
    return [
        _score_file(model, own, scales, tasks, documents, several) for model, own in groups.items()
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


def _judged(evaluations: Iterable[JsonObject], name: str) -> list[Any]:
    """The judgements of a metric from all annotators of all tasks."""
    values = (value for each in evaluations for value in each["values"].get(name, {}).values())
    return [value for value in values if value not in (*_NO_JUDGEMENT, _NOT_APPLICABLE)]


class _DeclaredScale:
    """The declared scale of a metric: the numbers of its steps, its bounds."""

    def __init__(self, metric: JsonObject, judged: Sequence[object]):
        self.metric = metric
        steps = check_records(metric.get("values"), f"the values of {metric.get('name')!r}")
        self.steps = [
            (step.get("value"), number)
            for step in map(snake_keys, steps)
            if (number := number_or_none(step.get("numeric_value"), with_booleans=True)) is not None
        ]
        # The third number of a range is its step.
        ends = [number for _, number in self.steps] or list_at(metric, "range")[:2]
        is_range = all(isinstance(end, int | float) for end in ends) and len(set(ends)) > 1
        self.bounds = (float(min(ends)), float(max(ends))) if is_range else None
        is_categorical = metric.get("type") == "categorical"
        # The values of a scale may be names without numbers.
        are_names = bool(judged) and all(self.number(value) is None for value in judged)
        are_names = are_names and is_categorical and not self.steps
        self.is_of_words = metric.get("type") == "text" or are_names

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

    def judgement(self, by_annotator: Mapping[str, Any]) -> Judgement:
        """The mean of the judgements that are numbers, else why there is none."""
        values = [value for value in by_annotator.values() if value not in _NO_JUDGEMENT]
        own = [value for value in values if value != _NOT_APPLICABLE]
        numbers = [number for value in own if (number := self.number(value)) is not None]
        if numbers:
            # Single precision may put a score just outside the end of the scale.
            mean = fmean(numbers)
            low, high = self.bounds or (mean, mean)
            nearest = min(max(mean, low), high)
            return Judgement(nearest if abs(mean - nearest) < _SINGLE_PRECISION else mean)
        if own:
            reason = f"judged {named(own)}, which is neither a number nor a value of the scale"
            return Judgement(None, reason, is_failed=True)
        # Judgements that all say "N/A" are another thing than none at all.
        return Judgement("n/a" if values else None)

    def override(self, scores: Sequence[float]) -> Override:
        """The declared fields of a metric; its bounds only if all scores are within them."""
        metric, is_within = self.metric, self.holds(scores)
        override: dict[str, Any] = {"greater_is_better": metric.get("order") != "descending"}
        if self.bounds is not None:
            # Some files declare the range of the chart, not of the scores.
            override["bounds"] = self.bounds if is_within else None
        is_share = self.bounds == (0.0, 1.0) and is_within
        is_categorical = metric.get("type") == "categorical"
        override["kind"] = "ordinal" if is_categorical else "proportion" if is_share else "real"
        if Catalogue().find(str(metric.get("name"))) is None:
            override |= {"title": metric.get("display_name") or "", "source": "InspectorRAGet"}
            override["description"] = metric.get("description") or ""
        return override


def _score_file(
    model: str,
    evaluations: Sequence[JsonObject],
    scales: Mapping[str, _DeclaredScale],
    tasks: Mapping[str, JsonObject],
    documents: Mapping[str, Any],
    several: set[str],
) -> ScoreFile:
    names = [name for name in scales if any(name in each["values"] for each in evaluations)]
    details = columns_of(_details(each, scales, tasks, documents, several) for each in evaluations)
    texts = {name: details.pop(f"{name}_reason", [None] * len(evaluations)) for name in names}
    rows = [
        {name: scales[name].judgement(each["values"].get(name, {})) for name in names}
        for each in evaluations
    ]
    judged = judgement_columns(
        {
            name: each._replace(reason=each.reason or texts[name][place])
            for name, each in row.items()
        }
        for place, row in enumerate(rows)
    )
    overrides = overrides_of(lambda name, scores: scales[name].override(scores), judged)
    notes = [*_notes(evaluations, scales, tasks, several), *_notes_of_scales(judged, scales)]
    frame = frame_of({**details, **judged.columns})
    return ScoreFile(frame, model, overrides, judged.metrics, (*notes, *judged.notes))


def _notes_of_scales(
    judged: JudgementColumns, scales: Mapping[str, _DeclaredScale]
) -> Iterator[str]:
    for name in judged.metrics:
        scale, scores = scales[name], [s for s in judged.columns[name] if not math.isnan(s)]
        if scale.bounds is not None and not scale.holds(scores):
            yield (
                f"scores of {name!r} go from {min(scores):g} to {max(scores):g}; the declared "
                f"range {scale.bounds[0]:g} to {scale.bounds[1]:g} is ignored, as it may be that "
                "of a chart"
            )


def _notes(
    evaluations: Sequence[JsonObject],
    scales: Mapping[str, _DeclaredScale],
    tasks: Mapping[str, object],
    several: set[str],
) -> Iterator[str]:
    for name, scale in scales.items():
        n_unread = sum(scale.number(value) is None for value in _judged(evaluations, name))
        if n_unread:
            yield f"{n_unread} judgements of {name!r} are neither numbers nor values of its scale"
    averaged = {name for each in evaluations for name in each["values"]} & several & scales.keys()
    if averaged:
        yield f"the score is the mean over several annotators for {named(sorted(averaged), 12)}"
    ids = [str(evaluation.get("task_id")) for evaluation in evaluations]
    unknown = [task_id for task_id in ids if task_id not in tasks]
    if unknown:
        yield f"{len(unknown)} evaluations are of tasks that are not listed: {named(unknown)}"


# -- details


def _details(
    evaluation: JsonObject,
    scales: Mapping[str, _DeclaredScale],
    tasks: Mapping[str, JsonObject],
    documents: Mapping[str, Any],
    several: set[str],
) -> dict[str, Any]:
    task_id = evaluation.get("task_id")
    task = tasks.get(str(task_id), {})
    contexts = list_at(evaluation, "contexts") or list_at(task, "contexts")
    ids = [str(at(c, "document_id|documentId") if isinstance(c, dict) else c) for c in contexts]
    own = [context.get("text") if isinstance(context, dict) else context for context in contexts]
    row = {f"task_{k}" if k in scales else k: v for k, v in _task_details(task).items()}
    row |= {
        "query_id": task_id,
        "answer": _output(evaluation),
        "contexts": [text or documents.get(key) for text, key in zip(own, ids, strict=True)],
        "retrieved": ids,
    }
    for name, by_annotator in evaluation["values"].items():
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
    for key, value in task.items():
        if key not in _OF_TASK:
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
    output = at(evaluation, "model_response|output")
    if isinstance(output, list):
        return _last_text(output)
    return part({"": output}, "").get("value", output)


INSPECTOR_RAGET = reader_of("inspector_raget", _recognise, _read_inspector_raget)

"""InspectorRAGet's JSON: models, metrics, tasks, and each model's evaluation on each task."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import number_or_none
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, frame_of, score_columns
from rageval_report.scores.metric import Catalogue, Override, normalise_name
from rageval_report.types import JsonObject

# The values of annotations without a judgement, and of those that do not apply.
_NO_JUDGEMENT = (None, "")
_NOT_APPLICABLE = "N/A"

# Similarities are computed in single precision: 1.0000004 is 1.
_SINGLE_PRECISION = 1e-6

_OUR_NAMES = frozenset("answer contexts conversation query_id question reference retrieved".split())
_OWN_FIELDS = frozenset(
    ("task_id", "taskId", "input", "contexts", "targets", "annotations", "comments")
)


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    if not isinstance(document, dict):
        return 0.0
    tables = (
        *(document.get(key) for key in ("models", "metrics", "tasks")),
        _evaluations(document),
    )
    return 0.95 if all(map(is_records, tables)) else 0.0


def _evaluations(document: JsonObject) -> Any:
    """The evaluations; the second schema calls them results."""
    return document.get("evaluations") or document.get("results")


def read_inspector_raget(source: Source) -> list[ScoreFile]:
    """Read a file of InspectorRAGet, both schemas: a `ScoreFile` for each model.

    A metric's score is the mean over its annotators. The column ``<metric>_annotations`` has the
    judgement of each annotator, and ``<metric>_reason`` their text about it. Scales and directions
    are those that the file declares.

    Raises
    ------
    ReaderError
        If one of the tables is missing.
    """
    document = source.document
    if not _recognise(source):
        raise source.error(
            "expected models, metrics, tasks and evaluations, each a list of objects"
        )
    raget_file = _RagetFile(document)
    by_model: dict[str, list[JsonObject]] = {}
    for evaluation in _evaluations(document):
        by_model.setdefault(str(_field(evaluation, "model_id")), []).append(evaluation)
    return [raget_file.score_file(model, evaluations) for model, evaluations in by_model.items()]


def _field(record: JsonObject, name: str) -> Any:
    """The value of a name in snake case, or in the camel case of the tool's own exports."""
    first, *rest = name.split("_")
    return record.get(name, record.get(first + "".join(word.title() for word in rest)))


class _TaskScore(NamedTuple):
    """The annotators' judgements of one metric on one task, summarised."""

    cell: object
    reason: str | None = None
    n_unread: int = 0


class _RagetFile:
    """The parts of a file that all models share: tasks, texts of documents, scales."""

    def __init__(self, document: JsonObject):
        self._tasks = {
            str(_field(task, "task_id")): _task_details(task) for task in document["tasks"]
        }
        documents = check_records(document.get("documents"), "documents")
        self._texts = {
            str(_field(document, "document_id")): document.get("text") for document in documents
        }
        evaluations = [_annotations(evaluation) for evaluation in _evaluations(document)]
        declared = {str(metric.get("name")): metric for metric in document["metrics"]}
        self._scales = {
            name: scale
            for name, scale in declared.items()
            if scale.get("type") != "text"
            and not _is_of_labels(scale, _all_values(evaluations, name))
        }
        self._with_several_annotators = {
            name
            for by_metric in evaluations
            for name, by_annotator in by_metric.items()
            if len(by_annotator) > 1
        }

    def score_file(self, model: str, evaluations: list[JsonObject]) -> ScoreFile:
        """One model's rows."""
        annotations = [_annotations(evaluation) for evaluation in evaluations]
        columns = columns_of(map(self._row, evaluations, annotations))
        metrics: dict[str, Override] = {}
        notes = [*self._notes(evaluations, annotations)]
        for name, scale in self._scales.items():
            if not any(name in by_metric for by_metric in annotations):
                continue
            scores = [_task_score(scale, by_metric.get(name, {})) for by_metric in annotations]
            texts = columns.pop(f"{name}_reason", [None] * len(scores))
            reasons = [score.reason or text for score, text in zip(scores, texts, strict=True)]
            scored = score_columns(name, [score.cell for score in scores], reasons)
            columns |= scored
            metrics[name] = _scale_override(scale, _is_within(scored[name], _bounds(scale)))
            notes += _notes_of_metric(scale, scores, scored[name])
        return ScoreFile(
            frame_of(columns),
            model,
            metrics=metrics,
            metric_columns=tuple(metrics),
            notes=tuple(notes),
        )

    def _row(self, evaluation: JsonObject, annotations: Mapping[str, JsonObject]) -> dict[str, Any]:
        task_id = _field(evaluation, "task_id")
        task = self._tasks.get(str(task_id), {})
        contexts = evaluation.get("contexts") or task.get("contexts")
        contexts = contexts if isinstance(contexts, list) else []
        row = {f"task_{key}" if key in self._scales else key: task[key] for key in task}
        row |= {"query_id": task_id, "answer": _output(evaluation)}
        row["contexts"] = [self._text_of(context) for context in contexts]
        row["retrieved"] = [_document_id(context) for context in contexts]
        for name, by_annotator in annotations.items():
            if name in self._scales:
                if name in self._with_several_annotators:
                    row[f"{name}_annotations"] = by_annotator
            elif name not in row:
                row[name] = _annotated_text(by_annotator)
        return row

    def _text_of(self, context: object) -> Any:
        text = context.get("text") if isinstance(context, dict) else context
        return text or self._texts.get(_document_id(context))

    def _notes(
        self, evaluations: Iterable[JsonObject], annotations: Iterable[Mapping[str, JsonObject]]
    ) -> Iterable[str]:
        several = {
            name for by_metric in annotations for name in by_metric
        } & self._with_several_annotators
        if several & set(self._scales):
            listed = named(sorted(several & set(self._scales)), 12)
            yield f"the score is the mean over several annotators for {listed}"
        ids = [str(_field(evaluation, "task_id")) for evaluation in evaluations]
        unknown = [task_id for task_id in ids if task_id not in self._tasks]
        if unknown:
            yield f"{len(unknown)} evaluations are of tasks that are not listed: {named(unknown)}"


def _annotations(evaluation: JsonObject) -> dict[str, dict[str, Any]]:
    """The values by metric and annotator; the second schema calls them scores."""
    annotations = check_object(
        evaluation.get("annotations") or evaluation.get("scores"), "annotations"
    )
    return {
        metric: {
            annotator: check_object(value, f"{metric!r} of {annotator!r}").get("value")
            for annotator, value in check_object(
                by_annotator, f"the annotations of {metric!r}"
            ).items()
        }
        for metric, by_annotator in annotations.items()
    }


def _all_values(evaluations: Iterable[Mapping[str, JsonObject]], name: str) -> list[Any]:
    """The values of a metric from all annotators of all tasks."""
    return [value for by_metric in evaluations for value in by_metric.get(name, {}).values()]


def _annotated_text(by_annotator: JsonObject) -> Any:
    """The text of the annotators; with their names if there are several."""
    texts = {name: text for name, text in by_annotator.items() if text not in _NO_JUDGEMENT}
    if len(texts) <= 1:
        return next(iter(texts.values()), None)
    return "; ".join(f"{name}: {text}" for name, text in texts.items())


# -- judgements


def _task_score(scale: JsonObject, by_annotator: JsonObject) -> _TaskScore:
    """The mean of the judgements that are numbers; else why there is none."""
    values = [value for value in by_annotator.values() if value not in _NO_JUDGEMENT]
    numbers = [_number(scale, value) for value in values if value != _NOT_APPLICABLE]
    read = [number for number in numbers if number is not None and math.isfinite(number)]
    n_unread = len(numbers) - len(read)
    if read:
        return _TaskScore(
            _without_rounding(math.fsum(read) / len(read), _bounds(scale)), n_unread=n_unread
        )
    if n_unread:
        unread = [value for value in values if value != _NOT_APPLICABLE]
        reason = f"judged {named(unread)}, which is neither a number nor a value of the scale"
        return _TaskScore(None, reason, n_unread)
    # Judgements that all say "N/A" are another thing than none at all.
    return _TaskScore("n/a" if values else None)


def _number(scale: JsonObject, value: object) -> float | None:
    """The number that a judgement stands for, if any."""
    number = next((step for at, step in _steps(scale) if at == value), value)
    if not isinstance(number, int | float | str):
        return None
    try:
        return float(number)
    except (ValueError, OverflowError):
        return None


def _notes_of_metric(
    scale: JsonObject, task_scores: Iterable[_TaskScore], scores: Sequence[float]
) -> Iterable[str]:
    name, bounds = scale.get("name"), _bounds(scale)
    n_unread = sum(score.n_unread for score in task_scores)
    if n_unread:
        yield f"{n_unread} judgements of {name!r} are neither numbers nor values of its scale"
    if bounds is not None and not _is_within(scores, bounds):
        present = [score for score in scores if not math.isnan(score)]
        yield (
            f"scores of {name!r} go from {min(present):g} to {max(present):g}; the declared range "
            f"{bounds[0]:g} to {bounds[1]:g} is ignored, as it may be that of a chart"
        )


# -- scales


def _scale_override(scale: JsonObject, is_within: bool) -> Override:
    """The declared fields of a metric; its bounds only if all scores are within them."""
    override: dict[str, Any] = {"greater_is_better": scale.get("order") != "descending"}
    bounds = _bounds(scale)
    if bounds is not None:
        # Some files declare the range of the chart, not of the scores.
        override["bounds"] = bounds if is_within else None
    if scale.get("type") == "categorical":
        override["kind"] = "ordinal"
    else:
        override["kind"] = "proportion" if bounds == (0.0, 1.0) and is_within else "real"
    if Catalogue().find(str(scale["name"])) is None:
        override |= {"title": _field(scale, "display_name") or "", "source": "InspectorRAGet"}
        override["description"] = scale.get("description") or ""
    return override


def _steps(scale: JsonObject) -> list[tuple[Any, float]]:
    """The values of a categorical scale and their numbers."""
    return [
        (step.get("value"), number)
        for step in check_records(scale.get("values"), f"the values of {scale.get('name')!r}")
        if (number := number_or_none(_field(step, "numeric_value"), with_booleans=True)) is not None
    ]


def _is_of_labels(scale: JsonObject, values: Iterable[object]) -> bool:
    """Whether the values of a scale are names without numbers."""
    labels = [value for value in values if value not in (*_NO_JUDGEMENT, _NOT_APPLICABLE)]
    if scale.get("type") != "categorical" or _steps(scale):
        return False
    return bool(labels) and all(_number(scale, value) is None for value in labels)


def _bounds(scale: JsonObject) -> tuple[float, float] | None:
    """The ends of the scale; the third number of a range is its step."""
    numbers = [number for _, number in _steps(scale)] or scale.get("range")
    if not isinstance(numbers, list) or not all(isinstance(end, int | float) for end in numbers):
        return None
    ends = numbers if _steps(scale) else numbers[:2]
    return (float(min(ends)), float(max(ends))) if len(set(ends)) > 1 else None


def _is_within(scores: Iterable[float], bounds: tuple[float, float] | None) -> bool:
    return bounds is None or all(
        bounds[0] <= score <= bounds[1] for score in scores if not math.isnan(score)
    )


def _without_rounding(score: float, bounds: tuple[float, float] | None) -> float:
    """The score, moved to the end of its scale if single precision put it just outside."""
    if bounds is None:
        return score
    nearest = min(max(score, bounds[0]), bounds[1])
    return nearest if abs(score - nearest) < _SINGLE_PRECISION else score


# -- tasks


def _task_details(task: JsonObject) -> dict[str, Any]:
    turns, targets = task.get("input"), task.get("targets")
    details: dict[str, Any] = {"question": _last_text(turns)}
    if isinstance(turns, list) and len(turns) > 1:
        details["conversation"] = turns
    details["reference"] = _last_text(targets[:1]) if isinstance(targets, list) else targets
    details["contexts"] = task.get("contexts")
    for key, value in task.items():
        if key not in _OWN_FIELDS:
            details[f"task_{key}" if normalise_name(key) in _OUR_NAMES else key] = _label(value)
    return details


def _last_text(turns: object) -> Any:
    """The text of the last turn of a conversation, or the text itself."""
    if not isinstance(turns, list):
        return turns
    last = turns[-1] if turns else None
    if not isinstance(last, dict):
        return last
    return last.get("text") or last.get("content") or last.get("value")


def _label(value: object) -> Any:
    """A list of labels as one text, so that queries can be grouped by it."""
    if isinstance(value, list) and all(isinstance(label, str) for label in value):
        return ", ".join(value) or None
    return value


def _output(evaluation: JsonObject) -> Any:
    """The answer: a text in the first schema, messages or a typed value in the second."""
    output = evaluation.get("model_response", evaluation.get("output"))
    if isinstance(output, list):
        return _last_text(output)
    if isinstance(output, dict) and "value" in output:
        return output["value"]
    return output


def _document_id(context: object) -> str:
    if isinstance(context, dict):
        return str(_field(context, "document_id"))
    return str(context)


INSPECTOR_RAGET = Reader(
    "inspector_raget",
    "InspectorRAGet's JSON of models, metrics, tasks and evaluations: one pipeline per model",
    _recognise,
    read_inspector_raget,
    ("encoding",),
    example="inspector_raget.json",
)

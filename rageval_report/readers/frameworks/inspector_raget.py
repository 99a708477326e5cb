"""InspectorRAGet's JSON: models, metrics, tasks, and each model's evaluation on each task."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, frame_of, score_columns
from rageval_report.scores.metric import Catalogue, Override, normalise_name
from rageval_report.types import JsonObject

# What annotators leave where they judge nothing, and where there is nothing to judge.
_NOT_GIVEN = (None, "")
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
    """The second schema calls them results."""
    return document.get("evaluations") or document.get("results")


def read_inspector_raget(source: Source) -> list[ScoreFile]:
    """Read a file of InspectorRAGet, both schemas: a `ScoreFile` for each model.

    A metric's score is the mean over its annotators; what each of them said stands in the column
    ``<metric>_annotations``, and what they wrote of it in ``<metric>_reason``. Scales and
    directions are those that the file declares.

    Parameters
    ----------
    source : Source
        The file.

    Raises
    ------
    ReaderError
        If one of the tables is missing.
    ShapeError
        If a part of it is of another shape; `read` tells of which file.
    """
    document = source.document
    if not _recognise(source):
        raise source.error(
            "expected models, metrics, tasks and evaluations, each a list of objects"
        )
    reading = _Reading(document)
    by_model: dict[str, list[JsonObject]] = {}
    for evaluation in _evaluations(document):
        by_model.setdefault(str(_field(evaluation, "model_id")), []).append(evaluation)
    return [reading.score_file(model, evaluations) for model, evaluations in by_model.items()]


def _field(record: JsonObject, name: str) -> Any:
    """What stands under a name in snake case, or in the camel case of the tool's own memory."""
    first, *rest = name.split("_")
    return record.get(name, record.get(first + "".join(word.title() for word in rest)))


class _Judged(NamedTuple):
    """What the annotators' judgements of one metric on one task come to."""

    cell: object
    reason: str | None = None
    n_unread: int = 0


class _Reading:
    """What the evaluations of all models share: tasks, texts of documents, scales."""

    def __init__(self, document: JsonObject):
        self._tasks = {
            str(_field(task, "task_id")): _task_details(task) for task in document["tasks"]
        }
        documents = check_records(document.get("documents"), "documents")
        self._texts = {str(_field(one, "document_id")): one.get("text") for one in documents}
        evaluations = [_annotations(one) for one in _evaluations(document)]
        declared = {str(metric.get("name")): metric for metric in document["metrics"]}
        self._scales = {
            name: scale
            for name, scale in declared.items()
            if scale.get("type") != "text" and not _is_of_labels(scale, _said(evaluations, name))
        }
        self._judged_by_several = {
            name for judged in evaluations for name, said in judged.items() if len(said) > 1
        }

    def score_file(self, model: str, evaluations: list[JsonObject]) -> ScoreFile:
        """One model's rows."""
        annotations = [_annotations(evaluation) for evaluation in evaluations]
        columns = columns_of(map(self._row, evaluations, annotations))
        metrics: dict[str, Override] = {}
        notes = [*self._notes(evaluations, annotations)]
        for name, scale in self._scales.items():
            if not any(name in judged for judged in annotations):
                continue
            judged = [_judgement(scale, said.get(name, {})) for said in annotations]
            told = columns.pop(f"{name}_reason", [None] * len(judged))
            reasons = [one.reason or text for one, text in zip(judged, told, strict=True)]
            scored = score_columns(name, [one.cell for one in judged], reasons)
            columns |= scored
            metrics[name] = _declared(scale, _is_within(scored[name], _bounds(scale)))
            notes += _notes_of_metric(scale, judged, scored[name])
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
        for name, said in annotations.items():
            if name in self._scales:
                if name in self._judged_by_several:
                    row[f"{name}_annotations"] = said
            elif name not in row:
                row[name] = _written(said)
        return row

    def _text_of(self, context: object) -> Any:
        text = context.get("text") if isinstance(context, dict) else context
        return text or self._texts.get(_document_id(context))

    def _notes(
        self, evaluations: Iterable[JsonObject], annotations: Iterable[Mapping[str, JsonObject]]
    ) -> Iterable[str]:
        several = {name for said in annotations for name in said} & self._judged_by_several
        if several & set(self._scales):
            told = named(sorted(several & set(self._scales)), 12)
            yield f"the mean over several annotators is the score of {told}"
        ids = [str(_field(evaluation, "task_id")) for evaluation in evaluations]
        unknown = [task_id for task_id in ids if task_id not in self._tasks]
        if unknown:
            yield f"{len(unknown)} evaluations are of tasks that are not listed: {named(unknown)}"


def _annotations(evaluation: JsonObject) -> dict[str, dict[str, Any]]:
    """Metric to annotator to what they said; the second schema calls them scores."""
    found = check_object(evaluation.get("annotations") or evaluation.get("scores"), "annotations")
    return {
        metric: {
            who: check_object(said, f"what {who!r} says of {metric!r}").get("value")
            for who, said in check_object(judged, f"the annotations of {metric!r}").items()
        }
        for metric, judged in found.items()
    }


def _said(evaluations: Iterable[Mapping[str, JsonObject]], name: str) -> list[Any]:
    """All that anybody said of a metric."""
    return [value for judged in evaluations for value in judged.get(name, {}).values()]


def _written(said: JsonObject) -> Any:
    """What annotators wrote, as one text; who wrote it only where there are several."""
    texts = {who: text for who, text in said.items() if text not in _NOT_GIVEN}
    if len(texts) <= 1:
        return next(iter(texts.values()), None)
    return "; ".join(f"{who}: {text}" for who, text in texts.items())


# -- judgements


def _judgement(scale: JsonObject, said: JsonObject) -> _Judged:
    """The mean of what can be read; else why there is none."""
    given = [value for value in said.values() if value not in _NOT_GIVEN]
    numbers = [_number(scale, value) for value in given if value != _NOT_APPLICABLE]
    read = [number for number in numbers if number is not None and math.isfinite(number)]
    n_unread = len(numbers) - len(read)
    if read:
        return _Judged(_without_rounding(fmean(read), _bounds(scale)), n_unread=n_unread)
    if n_unread:
        unread = [value for value in given if value != _NOT_APPLICABLE]
        told = f"judged {named(unread)}, which is no number and no value of its scale"
        return _Judged(None, told, n_unread)
    return _Judged("n/a" if given else None)


def _number(scale: JsonObject, value: object) -> float | None:
    """The number that a judgement stands for; None where it stands for none."""
    number = next((step for at, step in _steps(scale) if at == value), value)
    if not isinstance(number, int | float | str):
        return None
    try:
        return float(number)
    except (ValueError, OverflowError):
        return None


def _notes_of_metric(
    scale: JsonObject, judged: Iterable[_Judged], scores: Sequence[float]
) -> Iterable[str]:
    name, bounds = scale.get("name"), _bounds(scale)
    n_unread = sum(one.n_unread for one in judged)
    if n_unread:
        yield f"{n_unread} judgements of {name!r} are no number and no value of its scale"
    if bounds is not None and not _is_within(scores, bounds):
        present = [score for score in scores if not math.isnan(score)]
        yield (
            f"scores of {name!r} go from {min(present):g} to {max(present):g}; the range "
            f"{bounds[0]:g} to {bounds[1]:g} that the file declares is taken for that of a chart"
        )


# -- scales


def _declared(scale: JsonObject, is_within: bool) -> Override:
    """What the file says of a metric; its bounds where all scores are within them."""
    found: dict[str, Any] = {"greater_is_better": scale.get("order") != "descending"}
    bounds = _bounds(scale)
    if bounds is not None:
        found["bounds"] = bounds if is_within else None
    if scale.get("type") == "categorical":
        found["kind"] = "ordinal"
    else:
        found["kind"] = "proportion" if bounds == (0.0, 1.0) and is_within else "real"
    if Catalogue().find(str(scale["name"])) is None:
        found |= {"title": _field(scale, "display_name") or "", "source": "InspectorRAGet"}
        found["description"] = scale.get("description") or ""
    return found


def _steps(scale: JsonObject) -> list[tuple[Any, float]]:
    """The values of a categorical scale that stand for numbers."""
    return [
        (step.get("value"), float(_field(step, "numeric_value")))
        for step in check_records(scale.get("values"), f"the values of {scale.get('name')!r}")
        if isinstance(_field(step, "numeric_value"), int | float)
    ]


def _is_of_labels(scale: JsonObject, said: Iterable[object]) -> bool:
    """Whether the values of a scale are names that stand for no numbers."""
    given = [value for value in said if value not in (*_NOT_GIVEN, _NOT_APPLICABLE)]
    if scale.get("type") != "categorical" or _steps(scale):
        return False
    return bool(given) and all(_number(scale, value) is None for value in given)


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
    """A score that single precision put just outside its scale, on its end."""
    if bounds is None:
        return score
    nearest = min(max(score, bounds[0]), bounds[1])
    return nearest if abs(score - nearest) < _SINGLE_PRECISION else score


# -- tasks


def _task_details(task: JsonObject) -> dict[str, Any]:
    turns, targets = task.get("input"), task.get("targets")
    found: dict[str, Any] = {"question": _last_text(turns)}
    if isinstance(turns, list) and len(turns) > 1:
        found["conversation"] = turns
    found["reference"] = _last_text(targets[:1]) if isinstance(targets, list) else targets
    found["contexts"] = task.get("contexts")
    for key, value in task.items():
        if key not in _OWN_FIELDS:
            found[f"task_{key}" if normalise_name(key) in _OUR_NAMES else key] = _label(value)
    return found


def _last_text(turns: object) -> Any:
    """The text of the last turn of a conversation, or the text that there is."""
    if not isinstance(turns, list):
        return turns
    last = turns[-1] if turns else None
    if not isinstance(last, dict):
        return last
    return last.get("text") or last.get("content") or last.get("value")


def _label(value: object) -> Any:
    """A list of labels as one text, so that queries can be grouped by it."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
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
    "InspectorRAGet's JSON of models, metrics, tasks and evaluations: one pipeline a model",
    _recognise,
    read_inspector_raget,
    ("encoding",),
    example="inspector_raget.json",
)

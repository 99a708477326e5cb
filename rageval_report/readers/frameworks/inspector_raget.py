"""InspectorRAGet's JSON: models, metrics, tasks, and each model's evaluation on each task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers._columns import columns_of, frame_of
from rageval_report.readers._shapes import ShapeError, is_records, mapping, records
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.scores.metric import Catalogue, Override, normalised

Json = Mapping[str, Any]

# Similarities are computed in single precision: 1.0000004 is 1.
_SINGLE_PRECISION = 1e-6

_OUR_NAMES = frozenset("answer contexts conversation query_id question reference retrieved".split())
_OWN_FIELDS = frozenset(("task_id", "input", "contexts", "targets", "annotations", "comments"))


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    if not isinstance(document, dict):
        return 0.0
    tables = (
        *(document.get(key) for key in ("models", "metrics", "tasks")),
        _evaluations(document),
    )
    return 0.95 if all(map(is_records, tables)) else 0.0


def _evaluations(document: Json) -> Any:
    """The second schema calls them results."""
    return document.get("evaluations") or document.get("results")


def read_inspector_raget(source: Source) -> list[ScoreFile]:
    """Read a file of InspectorRAGet, both schemas: a `ScoreFile` for each model.

    A metric's score is the mean over its annotators; what each of them said stands in the column
    ``<metric>_annotations``. Scales and directions are those that the file declares.

    Parameters
    ----------
    source : Source
        The file.

    Raises
    ------
    ReaderError
        If one of the tables is missing.
    ShapeError
        If an annotation is no value of its scale; `read` tells of which file.
    """
    document = source.document
    if not _recognise(source):
        raise source.error(
            "expected models, metrics, tasks and evaluations, each a list of objects"
        )
    reading = _Reading(document)
    by_model: dict[str, list[Json]] = {}
    for evaluation in _evaluations(document):
        model = str(evaluation.get("model_id", evaluation.get("modelId")))
        by_model.setdefault(model, []).append(evaluation)
    return [reading.score_file(model, evaluations) for model, evaluations in by_model.items()]


class _Reading:
    """What the evaluations of all models share: tasks, texts of documents, scales."""

    def __init__(self, document: Json):
        self._tasks = {str(task.get("task_id")): _task_details(task) for task in document["tasks"]}
        documents = records(document.get("documents"), "documents")
        self._texts = {str(one.get("document_id")): one.get("text") for one in documents}
        self._scales = {
            str(metric.get("name")): metric
            for metric in document["metrics"]
            if metric.get("type") != "text"
        }
        self._judged_by_several = {
            name
            for evaluation in _evaluations(document)
            for name, judged in _annotations(evaluation).items()
            if len(judged) > 1
        }

    def score_file(self, model: str, evaluations: list[Json]) -> ScoreFile:
        """One model's rows."""
        rows = columns_of(self._row(evaluation) for evaluation in evaluations)
        scored = [
            name for name in self._scales if any(cell is not None for cell in rows.get(name, []))
        ]
        return ScoreFile(
            frame_of(rows),
            model,
            metrics={name: _declared(self._scales[name]) for name in scored},
            metric_columns=tuple(scored),
            notes=tuple(self._notes(evaluations)),
        )

    def _row(self, evaluation: Json) -> dict[str, Any]:
        task_id = evaluation.get("task_id")
        task = self._tasks.get(str(task_id), {})
        contexts = evaluation.get("contexts") or task.get("contexts")
        contexts = contexts if isinstance(contexts, list) else []
        row = {f"task_{key}" if key in self._scales else key: task[key] for key in task}
        row |= {"query_id": task_id, "answer": _output(evaluation)}
        row["contexts"] = [self._text_of(context) for context in contexts]
        row["retrieved"] = [_document_id(context) for context in contexts]
        for name, judged in _annotations(evaluation).items():
            if name in self._judged_by_several:
                row[f"{name}_annotations"] = judged
            if name in self._scales:
                row[name] = self._mean(name, judged, task_id)
        return row

    def _text_of(self, context: object) -> Any:
        text = context.get("text") if isinstance(context, dict) else context
        return text or self._texts.get(_document_id(context))

    def _mean(self, metric: str, judged: Json, task_id: object) -> float | None:
        values = [self._number(metric, value, task_id) for value in judged.values()]
        given = [value for value in values if value is not None]
        return _without_rounding(fmean(given), _bounds(self._scales[metric])) if given else None

    def _number(self, metric: str, value: object, task_id: object) -> float | None:
        if value is None or value == "" or value == "N/A":
            return None
        number = next((step for at, step in _steps(self._scales[metric]) if at == value), value)
        try:
            return float(number)  # type: ignore[arg-type]
        except (TypeError, ValueError) as exc:
            raise ShapeError(
                f"{metric!r} of task {task_id!r} is judged {value!r}, which is no number and no "
                "value of its scale"
            ) from exc

    def _notes(self, evaluations: Iterable[Json]) -> Iterable[str]:
        if self._judged_by_several:
            several = sorted(self._judged_by_several)
            yield f"the mean over several annotators is the score of {named(several, 12)}"
        ids = [str(evaluation.get("task_id")) for evaluation in evaluations]
        unknown = [task_id for task_id in ids if task_id not in self._tasks]
        if unknown:
            yield f"{len(unknown)} evaluations are of tasks that are not listed: {named(unknown)}"


def _annotations(evaluation: Json) -> dict[str, dict[str, Any]]:
    """Metric to annotator to what they said; the second schema calls them scores."""
    found = mapping(evaluation.get("annotations") or evaluation.get("scores"), "annotations")
    return {
        metric: {
            who: mapping(said, f"what {who!r} says of {metric!r}").get("value")
            for who, said in mapping(judged, f"the annotations of {metric!r}").items()
        }
        for metric, judged in found.items()
    }


# -- scales


def _declared(scale: Json) -> Override:
    """What the file says of a metric."""
    found: dict[str, Any] = {"greater_is_better": scale.get("order") != "descending"}
    bounds = _bounds(scale)
    if bounds is not None:
        found["bounds"] = bounds
    if scale.get("type") == "categorical":
        found["kind"] = "ordinal"
    else:
        found["kind"] = "proportion" if bounds == (0.0, 1.0) else "real"
    if Catalogue().find(str(scale["name"])) is None:
        found |= {"title": scale.get("display_name") or "", "source": "InspectorRAGet"}
        found["description"] = scale.get("description") or ""
    return found


def _steps(scale: Json) -> list[tuple[Any, float]]:
    """The values of a categorical scale that stand for numbers."""
    return [
        (step.get("value"), float(step["numeric_value"]))
        for step in records(scale.get("values"), f"the values of {scale.get('name')!r}")
        if isinstance(step.get("numeric_value"), int | float)
    ]


def _bounds(scale: Json) -> tuple[float, float] | None:
    """The ends of the scale; the third number of a range is its step."""
    numbers = [number for _, number in _steps(scale)] or scale.get("range")
    if not isinstance(numbers, list) or not all(isinstance(end, int | float) for end in numbers):
        return None
    ends = numbers if _steps(scale) else numbers[:2]
    return (float(min(ends)), float(max(ends))) if len(set(ends)) > 1 else None


def _without_rounding(score: float, bounds: tuple[float, float] | None) -> float:
    """A score that single precision put just outside its scale, on its end."""
    if bounds is None:
        return score
    nearest = min(max(score, bounds[0]), bounds[1])
    return nearest if abs(score - nearest) < _SINGLE_PRECISION else score


# -- tasks


def _task_details(task: Json) -> dict[str, Any]:
    turns, targets = task.get("input"), task.get("targets")
    found: dict[str, Any] = {"question": _last_text(turns)}
    if isinstance(turns, list) and len(turns) > 1:
        found["conversation"] = turns
    found["reference"] = _last_text(targets[:1]) if isinstance(targets, list) else targets
    found["contexts"] = task.get("contexts")
    for key, value in task.items():
        if key not in _OWN_FIELDS:
            found[f"task_{key}" if normalised(key) in _OUR_NAMES else key] = _label(value)
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


def _output(evaluation: Json) -> Any:
    """The answer: a text in the first schema, messages or a typed value in the second."""
    output = evaluation.get("model_response", evaluation.get("output"))
    if isinstance(output, list):
        return _last_text(output)
    if isinstance(output, dict) and "value" in output:
        return output["value"]
    return output


def _document_id(context: object) -> str:
    if isinstance(context, dict):
        return str(context.get("document_id", context.get("documentId")))
    return str(context)


INSPECTOR_RAGET = Reader(
    "inspector_raget",
    "InspectorRAGet's JSON of models, metrics, tasks and evaluations: one pipeline a model",
    _recognise,
    read_inspector_raget,
    ("encoding",),
)

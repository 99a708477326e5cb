"""The run files of the ragbench evaluation framework, and the samples beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rageval_report.errors import ReaderError, named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, frame_of, score_columns
from rageval_report.scores.metric import Catalogue, Override
from rageval_report.types import JsonObject

_SURE = 0.95
_SAMPLES = "_samples.json"  # the end of the name of a run's samples
_UNDEFINED = "undefined for this question"
_LOWER = frozenset(("uncited_claim_rate",))


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    if not isinstance(document, dict):
        return 0.0
    return _SURE if _is_run(document) or _is_samples(document) else 0.0


def _is_run(document: JsonObject) -> bool:
    card = document.get("scorecard")
    metrics = card.get("metrics") if isinstance(card, dict) else None
    if not isinstance(metrics, list) or not is_records(metrics) or "config" not in document:
        return False
    return all({"name", "value", "group", "sample_size"} <= set(metric) for metric in metrics)


def _is_samples(document: JsonObject) -> bool:
    samples = document.get("samples")
    if "run_id" not in document or not isinstance(samples, list) or not is_records(samples):
        return False
    return all({"question", "response"} <= set(sample) for sample in samples)


def read_ragbench(source: Source) -> list[ScoreFile]:
    """Read a run of ragbench with its scores question by question, or the samples of a run.

    The texts come from the samples, where they lie beside the run. Earlier versions keep scores
    without the questions' ids: their ids here are places in this run, and pair with no other's.

    Parameters
    ----------
    source : Source
        The file.

    Raises
    ------
    ReaderError
        If the run keeps nothing but means.
    ShapeError
        If a part of it is of another shape; `read` tells of which file.
    """
    document = check_object(source.document, "the document")
    if _is_samples(document):
        return [_of_samples(source, document)]
    if not _is_run(document):
        raise source.error("expected a run of ragbench: a scorecard with metrics, and its config")
    return [_of_run(source, document)]


# -- runs


def _of_run(source: Source, run: JsonObject) -> ScoreFile:
    metrics = check_records(
        check_object(run.get("scorecard"), "scorecard").get("metrics"), "metrics"
    )
    by_question = {
        str(metric["name"]): _per_question(metric) for metric in metrics if _has_ids(metric)
    }
    if not by_question:
        return _of_places(source, run, metrics)
    ids = list(dict.fromkeys(query for cells in by_question.values() for query in cells))
    texts, notes = _texts_beside(source, ids)
    columns: dict[str, list[Any]] = {"query_id": list(ids), **texts}
    for metric in metrics:
        name = str(metric["name"])
        if name in by_question:
            columns |= _scored(name, metric, by_question[name], ids)
        elif metric.get("value") is None:
            columns |= score_columns(
                name, ["n/a"] * len(ids), ["undefined for this data"] * len(ids)
            )
    without = [str(one["name"]) for one in metrics if str(one["name"]) not in columns]
    if without:
        notes.append(f"kept as one number for the whole run, and left out: {named(without, 12)}")
    return _score_file(source, run, columns, metrics, (*notes, *_notes_of_run(run)))


def _score_file(
    source: Source,
    run: JsonObject,
    columns: dict[str, list[Any]],
    metrics: list[JsonObject],
    notes: Iterable[str],
) -> ScoreFile:
    names = [str(metric["name"]) for metric in metrics if str(metric["name"]) in columns]
    groups = {str(metric["name"]): metric.get("group") for metric in metrics}
    return ScoreFile(
        frame_of(columns),
        str(run.get("name") or source.stem),
        metrics={name: told for name in names if (told := _told(name, groups[name]))},
        metric_columns=tuple(names),
        notes=tuple(notes),
    )


def _told(name: str, group: object) -> Override | None:
    """What the file says of a metric: its group; of its direction only the framework's own page."""
    told: dict[str, Any] = {"greater_is_better": False} if name in _LOWER else {}
    known = ("retrieval", "generation", "citation", "abstention", "performance")
    if Catalogue().find(name) is None and group in known:
        told["group"] = group
    return told or None


def _has_ids(metric: JsonObject) -> bool:
    return bool(_per_question(metric))


def _per_question(metric: JsonObject) -> JsonObject:
    name = metric.get("name")
    details = check_object(metric.get("details"), f"the details of {name!r}")
    return check_object(details.get("per_question"), f"the scores of {name!r} by question")


def _scored(
    name: str, metric: JsonObject, cells: JsonObject, ids: list[str]
) -> dict[str, list[Any]]:
    """The columns of a metric; where it has no score it failed, did not apply, or is missing."""
    absent = [query for query in ids if cells.get(query) is None]
    n_undefined = check_object(metric.get("details"), "details").get("not_applicable_count")
    all_undefined = isinstance(n_undefined, int) and n_undefined >= len(absent) > 0
    undefined = {query for query in absent if all_undefined or query in cells}
    told = ["n/a" if query in undefined else cells.get(query) for query in ids]
    return score_columns(name, told, [_UNDEFINED if query in undefined else None for query in ids])


def _notes_of_run(run: JsonObject) -> Iterator[str]:
    n_errors = run.get("error_count")
    if isinstance(n_errors, int) and n_errors > 0:
        yield (
            f"{n_errors} of {run.get('question_count')} questions ended in an error and are not in "
            "the file"
        )


def _of_places(source: Source, run: JsonObject, metrics: list[JsonObject]) -> ScoreFile:
    """A run of an earlier version: scores in the order of the questions, and no ids."""
    lists = {str(metric["name"]): _individual_scores(metric) for metric in metrics}
    n = max(map(len, lists.values()), default=0)
    if not n:
        raise _means_alone(source, metrics)
    whole = {name: cells for name, cells in lists.items() if len(cells) == n}
    columns: dict[str, list[Any]] = {
        "query_id": [f"{run.get('id') or source.stem}:{place}" for place in range(1, n + 1)]
    }
    for name, cells in whole.items():
        columns |= score_columns(name, cells)
    notes = [
        "this version of ragbench keeps scores without the questions' ids: the ids are places in "
        "this run, and pair with no other run",
        *_notes_of_run(run),
    ]
    left = [name for name in lists if name not in whole]
    if left:
        notes.append(f"left out, as it is not told of which questions they are: {named(left, 12)}")
    return _score_file(source, run, columns, metrics, notes)


def _individual_scores(metric: JsonObject) -> list[Any]:
    name = metric.get("name")
    found = check_object(metric.get("details"), f"the details of {name!r}").get("individual_scores")
    if found is not None and not isinstance(found, list):
        raise ShapeError(f"the individual scores of {name!r} must be a list")
    return found or []


def _means_alone(source: Source, metrics: list[JsonObject]) -> ReaderError:
    means = ", ".join(f"{metric['name']} {metric['value']}" for metric in metrics[:6])
    return source.error(
        f"this run keeps means and no scores question by question ({means}); there is nothing to "
        "compare or to look into. Run it again with a version that keeps details.per_question"
    )


# -- samples


def _texts_beside(source: Source, ids: list[str]) -> tuple[dict[str, list[Any]], list[str]]:
    """The texts of the questions, from the samples that lie beside the run, and what is told."""
    path = source.plain_path
    beside = None if path is None else path.with_name(path.stem + _SAMPLES)
    if beside is None or not beside.is_file():
        return {}, []
    try:
        rows = _rows_of_samples(check_object(Source(beside).document, "the document"))
    except (ReaderError, ShapeError) as exc:
        return {}, [f"the samples beside it cannot be read: {exc}"]
    by_id = {str(row["query_id"]): row for row in rows}
    found = columns_of({"query_id": query, **by_id.get(query, {})} for query in ids)
    del found["query_id"]
    return found, [f"the texts are those of {beside.name}"]


def _of_samples(source: Source, document: JsonObject) -> ScoreFile:
    columns = columns_of(_rows_of_samples(document))
    measured = [
        name
        for name in ("latency_ms", "prompt_tokens", "completion_tokens")
        if any(cell is not None for cell in columns.get(name, []))
    ]
    if not measured:
        raise source.error(
            "these are the texts of a run of ragbench; its scores stand in the file of the same "
            f"name without {_SAMPLES.removesuffix('.json')!r}"
        )
    note = "these are the samples of a run; the scores of its quality stand in the run's own file"
    return ScoreFile(
        frame_of(columns),
        str(document.get("run_id") or source.stem),
        metric_columns=tuple(measured),
        notes=(note,),
    )


def _rows_of_samples(document: JsonObject) -> list[dict[str, Any]]:
    samples = check_records(document.get("samples"), "samples")
    return [
        _row(
            check_object(one.get("question"), "question"),
            check_object(one.get("response"), "response"),
        )
        for one in samples
    ]


_OF_QUESTION = ("query_type", "difficulty", "domain")
_OF_RESPONSE = ("latency_ms", "time_to_first_token_ms", "session_id")


def _row(question: JsonObject, response: JsonObject) -> dict[str, Any]:
    chunks = check_records(response.get("retrieved_chunks"), "retrieved_chunks")
    gold = check_records(question.get("gold_passages"), "gold_passages")
    usage = check_object(response.get("token_usage"), "token_usage")
    return {
        "query_id": question.get("id"),
        "question": question.get("question"),
        "answer": response.get("answer"),
        "reference": question.get("expected_answer"),
        "contexts": [chunk.get("text") for chunk in chunks],
        "retrieved": [chunk.get("chunk_id") for chunk in chunks],
        "relevant": {str(one.get("chunk_id")): one.get("relevance_score") for one in gold},
        "citations": [
            one.get("chunk_id") for one in check_records(response.get("citations"), "citations")
        ],
        "answerable": not question.get("is_unanswerable"),
        **{key: question.get(key) for key in _OF_QUESTION},
        **{key: response.get(key) for key in _OF_RESPONSE},
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
    }


RAGBENCH = Reader(
    "ragbench",
    "run files of the ragbench evaluation framework, and their samples",
    _recognise,
    read_ragbench,
    ("encoding",),
    example="eval_runs/a1b2c3d4_20260717_103000.json",
)

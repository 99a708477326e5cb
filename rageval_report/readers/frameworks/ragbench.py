"""The run files of the ragbench evaluation framework, and the samples beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from rageval_report.errors import DataError, ReaderError, named
from rageval_report.files.inputs import is_file
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile, in_dialect
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, frame_of, score_columns
from rageval_report.scores.catalogue.dialects import DialectName
from rageval_report.scores.metric import Catalogue, Override
from rageval_report.scores.run_file import time_of
from rageval_report.types import JsonObject

_SURE = 0.95
_SAMPLES = "_samples.json"  # the end of the file name of a run's samples
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


def read_ragbench(source: Source, *, dialect: DialectName | None = None) -> list[ScoreFile]:
    """Read a run of ragbench with scores of each question, or the samples of a run.

    The texts come from the samples, if they are in the same folder. Earlier versions keep scores
    without the questions' ids: the ids are then positions in the run, and pair with no other run.

    Parameters
    ----------
    source : Source
        The run, or its samples.
    dialect : {"ragbench"}, optional
        Describe the metrics as ragbench does, and compute percentiles by its rule.

    Raises
    ------
    ReaderError
        If the run has only means.
    """
    document = check_object(source.document, "the document")
    if _is_samples(document):
        return [in_dialect(_read_samples(source, document), dialect, "ragbench")]
    if not _is_run(document):
        raise source.error("expected a run of ragbench: a scorecard with metrics, and its config")
    return [in_dialect(_read_run(source, document), dialect, "ragbench")]


# -- runs


def _read_run(source: Source, run: JsonObject) -> ScoreFile:
    metrics = check_records(
        check_object(run.get("scorecard"), "scorecard").get("metrics"), "metrics"
    )
    by_question = {
        str(metric["name"]): _per_question(metric) for metric in metrics if _has_ids(metric)
    }
    if not by_question:
        return _read_run_without_ids(source, run, metrics)
    ids = list(dict.fromkeys(query for cells in by_question.values() for query in cells))
    texts, notes = _texts_of_samples(source, ids)
    columns: dict[str, list[Any]] = {"query_id": list(ids), **texts}
    for metric in metrics:
        name = str(metric["name"])
        if name in by_question:
            columns |= _metric_columns(name, metric, by_question[name], ids)
        elif metric.get("value") is None:
            columns |= score_columns(
                name, ["n/a"] * len(ids), ["undefined for this data"] * len(ids)
            )
    without = [name for name in (str(metric["name"]) for metric in metrics) if name not in columns]
    if without:
        notes.append(f"left out, because the run has only their mean: {named(without, 12)}")
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
        metrics={
            name: override for name in names if (override := _metric_override(name, groups[name]))
        },
        metric_columns=tuple(names),
        notes=tuple(notes),
        config=_config_of(run, metrics),
        created=_created_of(run),
    )


# Versions without scores by question write constants here, whatever the pipeline does.
_CONSTANTS = ("retrieval_top_k", "hybrid_search_enabled", "contextual_retrieval_enabled")


def _config_of(run: JsonObject, metrics: list[JsonObject]) -> dict[str, Any]:
    """The settings that the run knows; null is unknown."""
    written = check_object(run.get("config"), "config")
    settings = {
        **written,
        "datasets": run.get("datasets"),
        "metadata": run.get("metadata"),
    }
    unknown = () if any(map(_has_ids, metrics)) else _CONSTANTS
    return {
        str(name): value
        for name, value in settings.items()
        if value not in (None, {}, []) and name not in unknown
    }


def _created_of(run: JsonObject) -> datetime | None:
    written = run.get("created_at")
    try:
        return time_of(written) if isinstance(written, str) else None
    except DataError:
        return None


def _metric_override(name: str, group: object) -> Override | None:
    """The group of a metric from the file, and its direction from the framework's documentation."""
    override: dict[str, Any] = {"greater_is_better": False} if name in _LOWER else {}
    groups = ("retrieval", "generation", "citation", "abstention", "performance")
    if Catalogue().find(name) is None and group in groups:
        override["group"] = group
    return override or None


def _has_ids(metric: JsonObject) -> bool:
    return bool(_per_question(metric))


def _per_question(metric: JsonObject) -> JsonObject:
    name = metric.get("name")
    details = check_object(metric.get("details"), f"the details of {name!r}")
    return check_object(details.get("per_question"), f"the scores of {name!r} by question")


def _metric_columns(
    name: str, metric: JsonObject, cells: JsonObject, ids: list[str]
) -> dict[str, list[Any]]:
    """The columns of a metric; a question without a score did not apply, or is missing."""
    absent = [query for query in ids if cells.get(query) is None]
    n_undefined = check_object(metric.get("details"), "details").get("not_applicable_count")
    # The file counts the questions without a score only in total: if the count covers all that are
    # absent, none of them failed.
    all_undefined = isinstance(n_undefined, int) and n_undefined >= len(absent) > 0
    undefined = {query for query in absent if all_undefined or query in cells}
    scores = ["n/a" if query in undefined else cells.get(query) for query in ids]
    reasons = [_UNDEFINED if query in undefined else None for query in ids]
    return score_columns(name, scores, reasons)


def _notes_of_run(run: JsonObject) -> Iterator[str]:
    n_errors = run.get("error_count")
    if isinstance(n_errors, int) and n_errors > 0:
        yield (
            f"{n_errors} of {run.get('question_count')} questions ended in an error and are not in "
            "the file"
        )


def _read_run_without_ids(source: Source, run: JsonObject, metrics: list[JsonObject]) -> ScoreFile:
    """A run of an earlier version: scores in the order of the questions, and no ids."""
    lists = {str(metric["name"]): _individual_scores(metric) for metric in metrics}
    n = max(map(len, lists.values()), default=0)
    if not n:
        raise _means_alone(source, metrics)
    whole = {name: cells for name, cells in lists.items() if len(cells) == n}
    columns: dict[str, list[Any]] = {
        # With the run's id in front, so that positions of two runs never pair.
        "query_id": [f"{run.get('id') or source.stem}:{place}" for place in range(1, n + 1)]
    }
    for name, cells in whole.items():
        columns |= score_columns(name, cells)
    notes = [
        "this version of ragbench keeps scores without the questions' ids: the ids are positions "
        "in this run, and pair with no other run",
        *_notes_of_run(run),
    ]
    incomplete = [name for name in lists if name not in whole]
    if incomplete:
        notes.append(f"left out, because their questions are unknown: {named(incomplete, 12)}")
    return _score_file(source, run, columns, metrics, notes)


def _individual_scores(metric: JsonObject) -> list[Any]:
    name = metric.get("name")
    scores = check_object(metric.get("details"), f"the details of {name!r}").get(
        "individual_scores"
    )
    if scores is not None and not isinstance(scores, list):
        raise ShapeError(f"the individual scores of {name!r} must be a list")
    return scores or []


def _means_alone(source: Source, metrics: list[JsonObject]) -> ReaderError:
    means = ", ".join(f"{metric['name']} {metric['value']}" for metric in metrics[:6])
    return source.error(
        f"this run has means but no scores of single questions ({means}). Run it again with a "
        "version that keeps details.per_question"
    )


# -- samples


def _texts_of_samples(source: Source, ids: list[str]) -> tuple[dict[str, list[Any]], list[str]]:
    """The texts of the questions, from the samples in the folder of the run, and notes."""
    path = source.plain_path
    samples = None if path is None else path.with_name(path.stem + _SAMPLES)
    if samples is None or not is_file(samples):
        return {}, []
    try:
        rows = _rows_of_samples(check_object(Source(samples).document, "the document"))
    except (ReaderError, ShapeError) as exc:
        return {}, [f"the samples in the same folder cannot be read: {exc}"]
    by_id = {str(row["query_id"]): row for row in rows}
    texts = columns_of({"query_id": query, **by_id.get(query, {})} for query in ids)
    del texts["query_id"]
    return texts, [f"the texts come from {samples.name}"]


def _read_samples(source: Source, document: JsonObject) -> ScoreFile:
    columns = columns_of(_rows_of_samples(document))
    measured = [
        name
        for name in ("latency_ms", "prompt_tokens", "completion_tokens")
        if any(cell is not None for cell in columns.get(name, []))
    ]
    if not measured:
        raise source.error(
            "these are the texts of a run of ragbench; its scores are in the file of the same name "
            f"without {_SAMPLES.removesuffix('.json')!r}"
        )
    note = "these are the samples of a run; the scores of its quality are in the run's own file"
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
            check_object(sample.get("question"), "question"),
            check_object(sample.get("response"), "response"),
        )
        for sample in samples
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
        "relevant": {
            str(passage.get("chunk_id")): passage.get("relevance_score") for passage in gold
        },
        "citations": [
            citation.get("chunk_id")
            for citation in check_records(response.get("citations"), "citations")
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
    ("dialect", "encoding"),
    example="eval_runs/a1b2c3d4_20260717_103000.json",
)

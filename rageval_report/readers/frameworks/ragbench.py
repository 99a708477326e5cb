"""The run files of the ragbench evaluation framework, and the samples beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rageval_report.errors import ReaderError, named
from rageval_report.files.inputs import is_file
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile, in_dialect
from rageval_report.readers.frameworks.format import SURE, at
from rageval_report.readers.frameworks.rows import time_in
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, frame_of, score_columns
from rageval_report.scores.catalogue.dialects import DialectName
from rageval_report.scores.metric import Catalogue, Override
from rageval_report.scores.run_file import time_of
from rageval_report.types import JsonObject

_SAMPLES = "_samples.json"  # the end of the file name of a run's samples
_UNDEFINED = "undefined for this question"
_LOWER = frozenset(("uncited_claim_rate",))
_GROUPS = ("retrieval", "generation", "citation", "abstention", "performance")
# Versions without scores by question write constants here, whatever the pipeline does.
_CONSTANTS = ("retrieval_top_k", "hybrid_search_enabled", "contextual_retrieval_enabled")
_SPENT = ("latency_ms", "prompt_tokens", "completion_tokens")


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    return SURE if _is_run(document) or _is_samples(document) else 0.0


def _is_run(document: object) -> bool:
    metrics = at(document, "scorecard.metrics")
    return (
        isinstance(document, dict)
        and "config" in document
        and is_records(metrics)
        and all(metric.keys() >= {"name", "value", "group", "sample_size"} for metric in metrics)
    )


def _is_samples(document: object) -> bool:
    samples = at(document, "samples")
    return (
        isinstance(document, dict)
        and "run_id" in document
        and is_records(samples)
        and all(sample.keys() >= {"question", "response"} for sample in samples)
    )


def _read_ragbench(source: Source, *, dialect: DialectName | None = None) -> list[ScoreFile]:
    """Read a run of ragbench with scores of each question, or the samples of a run."""
    document = check_object(source.document, "the document")
    if _is_samples(document):
        return [in_dialect(_read_samples(source, document), dialect, "ragbench")]
    if not _is_run(document):
        raise source.error("expected a run of ragbench: a scorecard with metrics, and its config")
    metrics = {str(metric["name"]): metric for metric in document["scorecard"]["metrics"]}
    by_question = {name: cells for name in metrics if (cells := _per_question(metrics[name]))}
    read = (
        _with_ids(source, metrics, by_question)
        if by_question
        else _without_ids(source, document, metrics)
    )
    columns, notes = read
    names = [name for name in metrics if name in columns]
    overrides = {name: _override(name, metrics[name].get("group")) for name in names}
    file = ScoreFile(
        frame_of(columns),
        str(document.get("name") or source.stem),
        metrics={name: override for name, override in overrides.items() if override},
        metric_columns=tuple(names),
        notes=(*notes, *_notes_of_run(document)),
        config=_config_of(document, () if by_question else _CONSTANTS),
        created=_created(document.get("created_at")),
    )
    return [in_dialect(file, dialect, "ragbench")]


# -- runs


def _per_question(metric: JsonObject) -> JsonObject:
    return check_object(
        _details(metric).get("per_question"), f"the scores of {metric.get('name')!r} by question"
    )


def _details(metric: JsonObject) -> JsonObject:
    return check_object(metric.get("details"), f"the details of {metric.get('name')!r}")


def _with_ids(
    source: Source, metrics: Mapping[str, JsonObject], by_question: Mapping[str, JsonObject]
) -> tuple[CellsByColumn, list[str]]:
    """The columns of a run with scores by question."""
    ids = list(dict.fromkeys(query for cells in by_question.values() for query in cells))
    texts, notes = _texts_of_samples(source, ids)
    columns: CellsByColumn = {"query_id": list(ids), **texts}
    for name, metric in metrics.items():
        if name in by_question:
            columns |= _metric_columns(name, metric, by_question[name], ids)
        elif metric.get("value") is None:
            undefined = ["undefined for this data"] * len(ids)
            columns |= score_columns(name, ["n/a"] * len(ids), undefined)
    left_out = [name for name in metrics if name not in columns]
    if left_out:
        notes.append(f"left out, because the run has only their mean: {named(left_out, 12)}")
    return columns, notes


def _metric_columns(
    name: str, metric: JsonObject, cells: JsonObject, ids: list[str]
) -> CellsByColumn:
    """The columns of a metric; a question without a score did not apply, or is missing."""
    absent = [query for query in ids if cells.get(query) is None]
    n_undefined = _details(metric).get("not_applicable_count")
    # The file counts the questions without a score only in total: if the count covers all that are
    # absent, none of them failed.
    all_undefined = isinstance(n_undefined, int) and n_undefined >= len(absent) > 0
    undefined = {query for query in absent if all_undefined or query in cells}
    scores = ["n/a" if query in undefined else cells.get(query) for query in ids]
    return score_columns(
        name, scores, [_UNDEFINED if query in undefined else None for query in ids]
    )


def _without_ids(
    source: Source, run: JsonObject, metrics: Mapping[str, JsonObject]
) -> tuple[CellsByColumn, list[str]]:
    """The columns of a run of an earlier version: scores in the order of the questions, no ids."""
    lists = {
        name: _details(metric).get("individual_scores") or [] for name, metric in metrics.items()
    }
    for name, cells in lists.items():
        if not isinstance(cells, list):
            raise ShapeError(f"the individual scores of {name!r} must be a list")
    n = max(map(len, lists.values()), default=0)
    if not n:
        every = list(metrics.items())[:6]
        means = ", ".join(f"{name} {metric['value']}" for name, metric in every)
        raise source.error(
            f"this run has means but no scores of single questions ({means}). Run it again with a "
            "version that keeps details.per_question"
        )
    # With the run's id in front, so that positions of two runs never pair.
    ids = [f"{run.get('id') or source.stem}:{place}" for place in range(1, n + 1)]
    columns: CellsByColumn = {"query_id": list(ids)}
    for name, cells in lists.items():
        columns |= score_columns(name, cells) if len(cells) == n else {}
    notes = [
        "this version of ragbench keeps scores without the questions' ids: the ids are positions "
        "in this run, and pair with no other run"
    ]
    incomplete = [name for name, cells in lists.items() if len(cells) < n]
    if incomplete:
        notes.append(f"left out, because their questions are unknown: {named(incomplete, 12)}")
    return columns, notes


def _override(name: str, group: object) -> Override | None:
    """The group of a metric from the file, and its direction from the framework's documentation."""
    override: dict[str, Any] = {"greater_is_better": False} if name in _LOWER else {}
    if Catalogue().find(name) is None and group in _GROUPS:
        override["group"] = group
    return override or None


def _config_of(run: JsonObject, unknown: Iterable[str]) -> dict[str, Any]:
    """The settings that the run knows; null is unknown."""
    written = check_object(run.get("config"), "config")
    settings = {**written, "datasets": run.get("datasets"), "metadata": run.get("metadata")}
    return {
        str(name): value
        for name, value in settings.items()
        if value not in (None, {}, []) and name not in unknown
    }


def _created(written: object) -> Any:
    moment = time_in(written) if isinstance(written, str) else None
    return None if moment is None else time_of(moment)


def _notes_of_run(run: JsonObject) -> Iterator[str]:
    n_errors = run.get("error_count")
    if isinstance(n_errors, int) and n_errors > 0:
        n = run.get("question_count")
        yield f"{n_errors} of {n} questions ended in an error and are not in the file"


# -- samples


def _texts_of_samples(source: Source, ids: list[str]) -> tuple[CellsByColumn, list[str]]:
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
    measured = [name for name in _SPENT if any(cell is not None for cell in columns.get(name, []))]
    if not measured:
        raise source.error(
            "these are the texts of a run of ragbench; its scores are in the file of the same name "
            f"without {_SAMPLES.removesuffix('.json')!r}"
        )
    note = "these are the samples of a run; the scores of its quality are in the run's own file"
    name = str(document.get("run_id") or source.stem)
    return ScoreFile(frame_of(columns), name, metric_columns=tuple(measured), notes=(note,))


def _rows_of_samples(document: JsonObject) -> list[dict[str, Any]]:
    rows = []
    for sample in check_records(document.get("samples"), "samples"):
        question = check_object(sample.get("question"), "question")
        response = check_object(sample.get("response"), "response")
        chunks = check_records(response.get("retrieved_chunks"), "retrieved_chunks")
        gold = check_records(question.get("gold_passages"), "gold_passages")
        citations = check_records(response.get("citations"), "citations")
        usage = check_object(response.get("token_usage"), "token_usage")
        of_question, of_response = (
            ("query_type", "difficulty", "domain"),
            ("latency_ms", "time_to_first_token_ms", "session_id"),
        )
        rows.append(
            {
                "query_id": question.get("id"),
                "question": question.get("question"),
                "answer": response.get("answer"),
                "reference": question.get("expected_answer"),
                "contexts": [chunk.get("text") for chunk in chunks],
                "retrieved": [chunk.get("chunk_id") for chunk in chunks],
                "relevant": {str(p.get("chunk_id")): p.get("relevance_score") for p in gold},
                "citations": [citation.get("chunk_id") for citation in citations],
                "answerable": not question.get("is_unanswerable"),
                **{key: question.get(key) for key in of_question},
                **{key: response.get(key) for key in of_response},
                **{key: usage.get(key) for key in _SPENT[1:]},
            }
        )
    return rows


RAGBENCH = Reader(
    "ragbench",
    "run files of the ragbench evaluation framework, and their samples",
    _recognise,
    _read_ragbench,
    ("dialect", "encoding"),
    example="eval_runs/a1b2c3d4_20260717_103000.json",
)

"""lm-evaluation-harness: ``samples_<task>_<time>.jsonl``, ``results_<time>.json`` beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile, distinct_names
from rageval_report.readers.cell_values import is_blank, parse_objects
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    JudgementColumns,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.frameworks.lm_eval_results import TaskResults, results_beside
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.record_columns import columns_of, frame_of, rows_of
from rageval_report.readers.table_files import dialect
from rageval_report.scores.metric import Catalogue, Override
from rageval_report.scores.query_ids import QUERY_ID, QUESTION, first_named, id_column_of
from rageval_report.types import JsonObject

# The rows of one document, by the filter that was applied to its answer before scoring.
RowsByFilter = Mapping[str, JsonObject]

_LINE = frozenset(("doc_id", "doc", "target", "resps", "filtered_resps"))
_OBJECTS = ("doc", "arguments", "resps", "filtered_resps", "metrics")
_HASHES = ("doc_hash", "prompt_hash", "target_hash")
_OWN = frozenset((*_LINE, *_OBJECTS, *_HASHES, "filter", "index"))
_NO_FILTER = "none"
_PREDICTED_ONLY = "bypass"  # lm-eval writes it with --predict_only, which scores nothing

# lm-eval keeps each data set's own names: problem (MATH), ctx (HellaSwag), goal (PIQA), premise
# (COPA, NLI).
_QUESTIONS = (*QUESTION, "problem", "prompt", "ctx", "goal", "sentence", "premise")
_TAKEN = frozenset((QUERY_ID, "question", "answer", "reference", "doc_id"))
_UNIT, _OF_A_HUNDRED = (0.0, 1.0), (0.0, 100.0)


def _recognise(names: frozenset[str]) -> float:
    return 0.95 if names >= _LINE else 0.0


def read_lm_eval(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read the samples of a task: one pipeline.

    A query is a document: its id is a field of the document, or else its hash. Several filters
    score the same answers, so each is a metric of its own, such as ``exact_match(strict)``. The
    directions of the metrics and the names of task and model come from the results file that the
    same run wrote into the same folder, if it is still there.

    Parameters
    ----------
    source : Source
        The file.
    frame : DataFrame
        The table in it: JSON Lines, or any other file that the table was saved to.

    Raises
    ------
    ShapeError
        If a document appears twice, or nothing was scored.
    """
    rows = _rows_of(frame)
    filters = list(dict.fromkeys(_filter_of(row) for row in rows))
    documents = _by_document(rows)
    names = _metrics_of(rows)
    scored = [name for name, is_scored in names.items() if is_scored]
    if not scored:
        raise ShapeError(
            f"the metrics {named(names)} have no scores of documents; was the run made with "
            "--predict_only, or does the metric need all documents at once?"
        )
    judged = judgement_columns(_judgements(document, scored, filters) for document in documents)
    results, notes = results_beside(source, scored)
    details, id_notes = _details(documents)
    return [
        ScoreFile(
            frame_of({**rename_clashes(details, judged.columns, "doc"), **judged.columns}),
            results.pipeline or source.stem,
            metrics=_metric_overrides(judged, filters, scored, results),
            metric_columns=judged.metrics,
            notes=(
                *id_notes,
                *notes,
                *judged.notes,
                *_notes_of_filters(filters),
                *_notes_of_unscored(names),
                *results.notes_on(len(documents)),
            ),
        )
    ]


def _rows_of(frame: pd.DataFrame) -> list[JsonObject]:
    """The lines; in a CSV their objects are texts."""
    columns = {str(name): frame[name].tolist() for name in frame}
    columns |= {name: parse_objects(columns[name]) for name in _OBJECTS if name in columns}
    return [
        {name: cell for name, cell in row.items() if not is_blank(cell)} for row in rows_of(columns)
    ]


def _filter_of(row: JsonObject) -> str:
    return str(row.get("filter", _NO_FILTER))


def _by_document(rows: Iterable[JsonObject]) -> list[dict[str, JsonObject]]:
    """The rows of each document, by filter; ``doc_id`` is the document's number in the task."""
    documents: dict[str, dict[str, JsonObject]] = {}
    for row in rows:
        doc_id, filter_name = str(row.get("doc_id")), _filter_of(row)
        seen = documents.setdefault(doc_id, {})
        # Averaging two runs as repeats would be a silent mistake.
        if filter_name in seen:
            raise ShapeError(
                f"doc_id {doc_id} appears twice with the filter {filter_name!r}; does the file "
                "contain two runs or tasks? Read each by itself"
            )
        seen[filter_name] = row
    return list(documents.values())


# -- metrics


def _metrics_of(rows: Iterable[JsonObject]) -> dict[str, bool]:
    """The metrics, and whether each has scores of documents.

    Lines list their metrics; in older ones, which do not, every other number is a metric. A metric
    over all documents, such as a correlation, has a list in each line instead of a score.
    """
    metrics: dict[str, bool] = {}
    for row in rows:
        listed = row.get("metrics")
        names = listed if isinstance(listed, list) else _numbers_in(row)
        for name in map(str, names):
            # Metrics over all documents, such as perplexity, write their parts per line, not a
            # score.
            is_score = name in row and not isinstance(row[name], list | tuple | dict)
            metrics[name] = metrics.get(name, False) or (is_score and name != _PREDICTED_ONLY)
    return metrics


def _numbers_in(row: JsonObject) -> list[str]:
    return [
        name
        for name, cell in row.items()
        if name not in _OWN and isinstance(cell, bool | int | float)
    ]


def _judgements(
    document: RowsByFilter, metrics: Iterable[str], filters: list[str]
) -> dict[str, Judgement]:
    return {
        _column(metric, name, filters): Judgement(document.get(name, {}).get(metric))
        for metric in metrics
        for name in filters
    }


def _column(metric: str, filter_name: str, filters: list[str]) -> str:
    return metric if len(filters) == 1 else f"{metric}({filter_name})"


def _metric_overrides(
    judged: JudgementColumns, filters: list[str], metrics: Iterable[str], results: TaskResults
) -> dict[str, Override]:
    """The overrides: the direction in the results file, and what the catalogue knows."""
    catalogue = Catalogue()
    overrides: dict[str, Override] = {}
    for metric in metrics:
        for name in filters:
            column = _column(metric, name, filters)
            if column not in judged.columns:
                continue
            override = _catalogue_override(catalogue, metric, column, judged.columns[column])
            if metric in results.directions:
                override["greater_is_better"] = results.directions[metric]
            if override:
                overrides[column] = override
    return overrides


def _catalogue_override(
    catalogue: Catalogue, metric: str, column: str, numbers: list[float]
) -> dict[str, Any]:
    """The override of a column that is named after a filter, or counts to 100 instead of 1."""
    known = catalogue.find(metric)
    if known is None:
        return {}
    override: dict[str, Any] = {}
    if column != metric:
        fields = ("group", "kind", "greater_is_better", "bounds", "description", "source")
        override = {name: getattr(known, name) for name in fields}
    # Some tasks compute the same metric as a percentage.
    if known.bounds == _UNIT and any(1.0 < number <= 100.0 for number in numbers):
        override |= {"bounds": _OF_A_HUNDRED, "kind": "real"}
    return override


def _notes_of_filters(filters: list[str]) -> Iterator[str]:
    if len(filters) > 1:
        yield f"the scores of each filter are a metric of their own: {named(filters)}"
    elif filters != [_NO_FILTER]:
        yield f"answers were scored after the filter {filters[0]!r}"


def _notes_of_unscored(names: Mapping[str, bool]) -> Iterator[str]:
    unscored = [name for name, is_scored in names.items() if not is_scored]
    if unscored:
        yield f"left out, because they have no scores of documents: {named(unscored)}"


# -- details


def _details(documents: list[dict[str, JsonObject]]) -> tuple[CellsByColumn, tuple[str, ...]]:
    firsts = [next(iter(document.values())) for document in documents]
    docs = [doc if isinstance(doc := row.get("doc"), dict) else {} for row in firsts]
    fields = columns_of({str(key): cell for key, cell in doc.items()} for doc in docs)
    own = {
        "question": _questions(firsts, fields),
        "answer": [_first_text(row.get("resps")) for row in firsts],
        "reference": [row.get("target") for row in firsts],
        "doc_id": [row.get("doc_id") for row in firsts],
    }
    ids, notes, used = _ids(firsts, fields)
    used |= {name for name in fields if fields[name] == own["question"]}
    fields = {name: cells for name, cells in fields.items() if name not in used}
    answers = columns_of(map(_filtered_answers, documents))
    rest = columns_of(_rest(row) for row in firsts)
    details = drop_empty({**own, **answers})
    details |= rename_clashes(rest, {*details, *_TAKEN}, "line")
    return ids | details | rename_clashes(fields, {*details, *_TAKEN}, "doc"), notes


def _ids(
    rows: list[JsonObject], fields: CellsByColumn
) -> tuple[CellsByColumn, tuple[str, ...], set[str]]:
    """An id in each document, else the document's hash, else its number; notes; the used field."""
    key = id_column_of(fields)
    inner = fields.get(key or "", [])
    are_ids = all(isinstance(cell, str | int) and str(cell).strip() for cell in inner)
    if inner and are_ids and len(set(map(str, inner))) == len(inner):
        note = f"query ids are taken from doc.{key}"
        return {QUERY_ID: list(map(str, inner))}, (note,), {str(key)}
    hashes = [row.get("doc_hash") for row in rows]
    if all(isinstance(digest, str) and digest for digest in hashes):
        # A document's number depends on the data set around it, its hash on the document alone.
        note = "query ids are the hashes of documents"
        return {QUERY_ID: distinct_names(map(str, hashes))}, (note,), set()
    numbers = [str(row.get("doc_id")) for row in rows]
    note = (
        "query ids are the documents' numbers in the task: the lines come from an older "
        "lm-eval and have no hashes"
    )
    return {QUERY_ID: numbers}, (note,), set()


def _questions(rows: list[JsonObject], fields: CellsByColumn) -> list[str | None]:
    """The question in the document, else the prompt."""
    name = first_named(fields, _QUESTIONS)
    in_documents = fields.get(name or "", [None] * len(rows))
    return [
        question if isinstance(question, str) else _first_text(row.get("arguments"))
        for question, row in zip(in_documents, rows, strict=True)
    ]


def _first_text(value: object) -> str | None:
    """The first text in lists and objects of any depth; None if another value comes first."""
    while isinstance(value, list | tuple | dict) and value:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return value if isinstance(value, str) else None


def _filtered_answers(document: RowsByFilter) -> dict[str, Any]:
    """The answer after each filter."""
    return {
        f"filtered_resps({name})": _first_text(row.get("filtered_resps"))
        for name, row in document.items()
        if name != _NO_FILTER
    }


def _rest(row: JsonObject) -> dict[str, Any]:
    """The other fields that a task writes, such as labels."""
    listed = row.get("metrics")
    metrics = set(map(str, listed)) if isinstance(listed, list) else set(_numbers_in(row))
    return {name: cell for name, cell in row.items() if name not in _OWN | metrics}


LM_EVAL = dialect(
    "lm_eval",
    "lm-evaluation-harness: samples_*.jsonl, with the results_*.json of the run beside it",
    _recognise,
    read_lm_eval,
    example="samples_task_2026.jsonl",
)

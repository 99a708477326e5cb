"""Converts an evaluation to a run file, one JSON document, and back.

The document holds everything that an evaluation holds, so that it reads back equal, and at its top
what a colleague or another program looks for first: the configuration and the scorecard.
``format_version`` increases when older readers could misread a newer file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any, TypedDict, Unpack

import numpy as np
import pandas as pd

from rageval_report._version import __version__
from rageval_report.errors import DataError
from rageval_report.scores.correct import Correct, correct_fields, parse_correct
from rageval_report.scores.metric import Catalogue, Metric, metric_fields, metric_from_fields
from rageval_report.scores.query_ids import QUERY_ID, REFERENCE, first_named
from rageval_report.scores.saved_columns import (
    SavedColumn,
    plain_value,
    restore_column,
    save_column,
)
from rageval_report.scores.states import SCORED, states_frame
from rageval_report.scores.table import Scored
from rageval_report.types import JsonObject

FORMAT = "rageval_report run"
FORMAT_VERSION = 1


class SavedFacts(TypedDict, total=False):
    """What a file holds of an evaluation besides its scores and details."""

    config: Mapping[str, Any] | None  # of the pipeline
    notes: Iterable[str]  # guesses and corrections that were made when the rows were read
    created: datetime | None  # when the pipeline was run
    correct: Correct | None  # the rule for a correct answer
    results: Mapping[str, JsonObject] | None  # tables of the run, as ``Result.to_dict`` gives them


@dataclass(frozen=True, eq=False)
class SavedFile:
    """What every file says that holds an evaluation."""

    name: str  # of the pipeline
    version: str  # of rageval_report that wrote it
    metrics: dict[str, Metric]  # by the column in the file
    details: dict[str, SavedColumn]
    config: dict[str, Any]
    notes: tuple[str, ...]
    created: datetime | None
    correct: Correct | None
    results: dict[str, JsonObject]


@dataclass(frozen=True, eq=False)
class RunFile(SavedFile):
    """The content of a run file, as `score_table` takes it."""

    rows: dict[str, list[Any] | pd.Series]  # query_id, the details, the metrics
    # The columns of `rows` that are details under another name, because a metric has it.
    detail_names: dict[str, str]


def described(evaluation: Scored, file_format: str, **facts: Unpack[SavedFacts]) -> dict[str, Any]:
    """The fields that every file begins with that holds an evaluation."""
    created, results = facts.get("created"), facts.get("results")
    return {
        "format": file_format,
        "format_version": FORMAT_VERSION,
        "version": __version__,
        "name": evaluation.name,
        **({} if created is None else {"created": time_of(created).isoformat()}),
        "config": plain_value(dict(facts.get("config") or {})),
        **correct_fields(facts.get("correct")),
        "metrics": {name: metric_fields(metric) for name, metric in evaluation.metrics.items()},
        **({"results": dict(results)} if results else {}),
        "notes": list(facts.get("notes", ())),
    }


def run_document(evaluation: Scored, **facts: Unpack[SavedFacts]) -> dict[str, Any]:
    """The document of a run file; `run_file.schema.json` describes it.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> run = RAGPipelineEvaluation("hybrid", {"query_id": ["a", "b"], "recall": [0.5, None]})
    >>> document = run_document(run, config={"top_k": 5})
    >>> document["scorecard"]
    {'retrieval': {'recall': {'mean': 0.5, 'n': 1, 'n_unscored': 1}}}
    >>> document["queries"][1]
    {'query_id': 'b', 'scores': {'recall': None}, 'states': {'recall': 'missing'}, 'details': {}}
    """
    ids = [str(query_id) for query_id in evaluation.scores.index]
    saved = {
        str(name): save_column(column, str(name), ids, "json")
        for name, column in evaluation.details.items()
    }
    return {
        **described(evaluation, FORMAT, **facts),
        "query_set": {"n": len(ids), "hash": query_set_hash(evaluation)},
        "scorecard": _scorecard(evaluation),
        "details": list(saved),
        "columns": {name: column.to_document() for name, (_, column) in saved.items()},
        "queries": _queries(evaluation, ids, {name: cells for name, (cells, _) in saved.items()}),
    }


def time_of(created: object) -> datetime:
    """A datetime with a time zone: UTC if it has none, midnight if it is a date.

    Examples
    --------
    >>> time_of("2026-08-01").isoformat(), time_of("2026-08-01T09:30:00+02:00").isoformat()
    ('2026-08-01T00:00:00+00:00', '2026-08-01T09:30:00+02:00')
    """
    problem = (
        "created must be a datetime or a text in the ISO 8601 format, such as "
        f"2026-08-01T09:30:00+00:00; got {created!r:.60}"
    )
    try:
        moment = datetime.fromisoformat(created.strip()) if isinstance(created, str) else created
    except ValueError as exc:
        raise DataError(problem) from exc
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    if not isinstance(moment, datetime) or pd.isna(moment):
        raise DataError(problem)
    # Times with and without a zone cannot be sorted together.
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def query_set_hash(evaluation: Scored) -> str:
    """A hash of the query ids and, if there are any, the references, in any order of the rows."""
    texts = "\n".join(sorted(query_set(evaluation)))
    return hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def query_set(evaluation: Scored) -> list[str]:
    """The id and the reference of each query as one text: equal texts, the same question.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> rows = {"query_id": ["a"], "recall": [0.5], "reference": ["Paris"]}
    >>> query_set(RAGPipelineEvaluation("hybrid", rows))
    ['["a", "Paris"]']
    """
    column = reference_column(map(str, evaluation.details))
    cells = [None] * len(evaluation.scores)
    if column is not None:
        cells = [plain_value(value) for value in evaluation.details[column].tolist()]
    # Whole numbers beside a missing one are floats in pandas.
    references = [int(c) if isinstance(c, float) and c.is_integer() else c for c in cells]
    return [
        json.dumps(pair, ensure_ascii=False, sort_keys=True)
        for pair in zip(map(str, evaluation.scores.index), references, strict=True)
    ]


def reference_column(details: Iterable[str]) -> str | None:
    """The column of the details that holds the references; None without one."""
    return first_named(details, REFERENCE)


def _scorecard(evaluation: Scored) -> dict[str, dict[str, Any]]:
    card: dict[str, dict[str, Any]] = {}
    for name, metric in evaluation.metrics.items():
        numbers = evaluation.scores[name].to_numpy()
        n = int(np.count_nonzero(~np.isnan(numbers)))
        mean = float(np.nanmean(numbers)) if n else None
        entry = {"mean": mean, "n": n, "n_unscored": len(numbers) - n}
        card.setdefault(metric.group, {})[name] = entry
    return card


def _queries(
    evaluation: Scored, ids: list[str], details: Mapping[str, pd.Series]
) -> list[dict[str, Any]]:
    scores = evaluation.scores
    columns = {name: cells.tolist() for name, cells in details.items()}
    numbers = {str(name): list(map(plain_value, scores[name].tolist())) for name in scores}
    all_states = states_frame(scores, evaluation.details)
    states = {name: all_states[name].tolist() for name in numbers}
    return [
        {
            "query_id": query_id,
            "scores": {name: cells[row] for name, cells in numbers.items()},
            "states": {name: cells[row] for name, cells in states.items() if cells[row] != SCORED},
            "details": {name: cells[row] for name, cells in columns.items()},
        }
        for row, query_id in enumerate(ids)
    ]


# -- reading


def parse_run_document(document: Mapping[str, Any]) -> RunFile:
    """The content of a document that `run_document` made, parsed from JSON.

    Raises
    ------
    DataError
        If a newer version wrote the document, or a part is missing or of another type.
    """
    head = parse_head(document, "columns")
    queries = get_field(document, "queries", list)
    names = [str(name) for name in get_field(document, "details", list)]
    columns = distinct_columns(names, {QUERY_ID, *head["metrics"]})
    if not all(isinstance(query, Mapping) for query in queries):
        raise DataError("field 'queries' of the file must be a list of objects")
    details, scores = (
        [get_field(query, part, dict) for query in queries] for part in ("details", "scores")
    )
    ids: list[Any] = [query.get("query_id") for query in queries]
    rows: dict[str, list[Any] | pd.Series] = {QUERY_ID: ids}
    for name, column in columns.items():
        cells, saved = [of_query.get(name) for of_query in details], head["details"].get(name)
        # An older file has no descriptions of its columns.
        rows[column] = cells if saved is None else restore_column(cells, saved, ids)
    rows |= {name: [of_query.get(name) for of_query in scores] for name in head["metrics"]}
    renamed = {column: name for name, column in columns.items() if column != name}
    return RunFile(**head, rows=rows, detail_names=renamed)


def parse_head(document: Mapping[str, Any], details: str) -> dict[str, Any]:
    """The fields of `SavedFile` in a document of this format version."""
    version = document.get("format_version")
    if type(version) is not int or version < 1:
        raise DataError(f"format_version must be an integer >= 1; got {version!r:.60}")
    if version > FORMAT_VERSION:
        raise DataError(
            f"the file has format version {version}, written by rageval_report "
            f"{document.get('version', 'of a later version')}; this is version {__version__}, "
            f"which reads format versions up to {FORMAT_VERSION}: update rageval_report"
        )
    catalogue = Catalogue()
    correct, correct_notes = parse_correct(document)
    created = document.get("created")
    return {
        "name": str(document.get("name") or ("run" if details == "columns" else "scores")),
        "version": str(document.get("version", "of a later version")),
        "metrics": {
            str(name): metric_from_fields(str(name), fields, catalogue)
            for name, fields in get_field(document, "metrics", dict).items()
        },
        "details": {
            column: SavedColumn.of_document(fields, column)
            for column, fields in get_field(document, details, dict).items()
        },
        "config": get_field(document, "config", dict),
        "notes": (*map(str, get_field(document, "notes", list)), *correct_notes),
        "created": None if created is None else time_of(created),
        "correct": correct,
        "results": get_field(document, "results", dict),
    }


def distinct_columns(names: Iterable[str], reserved: Collection[str]) -> dict[str, str]:
    """The column of each detail; one with a reserved name gets the ending "_detail".

    Examples
    --------
    >>> distinct_columns(["recall", "topic"], {"query_id", "recall"})
    {'recall': 'recall_detail', 'topic': 'topic'}
    """
    every = list(names)
    taken = {*reserved, *every}
    columns: dict[str, str] = {}
    for name in every:
        column = name
        while column in reserved or (column != name and column in taken):
            column += "_detail"
        taken.add(column)
        columns[name] = column
    return columns


def get_field(document: Mapping[str, Any], name: str, kind: type) -> Any:
    """A field of a file, empty if it is absent, of the type that it must have."""
    value = document.get(name, kind())
    if type(value) is not kind:
        raise DataError(f"field {name!r} of the file must be a {kind.__name__}; got {value!r:.60}")
    return value

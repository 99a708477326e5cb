"""Converts an evaluation to a run file, one JSON document, and back.

The document holds everything that an evaluation holds, so that it reads back equal, and at its top
what a colleague or another program looks for first: the configuration and the scorecard.
``format_version`` increases when older readers could misread a newer file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import Any

import numpy as np
import pandas as pd

from rageval_report._version import __version__
from rageval_report.errors import DOUBT, DataError, named
from rageval_report.files.digests import (
    DIGEST,
    canonical_json,
    digest_of_parts,
    document_digest,
)
from rageval_report.scores.correct import Correct, correct_fields, parse_correct
from rageval_report.scores.exact_values import plain_value as plain_value
from rageval_report.scores.metric import Catalogue, Metric
from rageval_report.scores.metric_fields import metric_fields, metric_from_fields
from rageval_report.scores.query_ids import QUERY_ID, first_named
from rageval_report.scores.saved_columns import (
    SavedColumn,
    changed_cells_notes,
    restore_column,
    save_column,
)
from rageval_report.scores.states import FAILED, MISSING, SCORED, states_frame
from rageval_report.scores.table import Scored
from rageval_report.scores.texts import REFERENCE
from rageval_report.types import JsonObject

FORMAT = "rageval_report run"
FORMAT_VERSION = 1
QUERY_DIGESTS = "query_digests"
# The queries have digests of their own, so that one that is damaged costs no other.
_NOT_IN_DIGEST = (DIGEST, "queries")
_DAMAGED = (
    "the run file is damaged: its content does not have the digest that was written with it. "
    "Restore it from a copy; if you changed it on purpose, remove the fields "
    f"'{DIGEST}' and '{QUERY_DIGESTS}'"
)


@dataclass(frozen=True, eq=False)
class RunFile:
    """The content of a run file, as `score_table` takes it.

    Parameters
    ----------
    name : str
    rows : dict of str to list or Series
        ``query_id``, the details, the metrics.
    metrics : dict of str to Metric
        The description of each metric.
    config : dict
        The configuration of the pipeline.
    notes : tuple of str
    created : datetime, optional
        When the pipeline was run, if the file says so.
    correct : optional
        The rule for a correct answer.
    detail_names : dict of str to str
        The columns of `rows` that are details under another name, because a metric has it.
    results : dict of str to dict
        Tables of the run, such as the weighted score, as ``Result.to_dict`` gave them.
    """

    name: str
    rows: dict[str, list[Any] | pd.Series]
    metrics: dict[str, Metric]
    config: dict[str, Any]
    notes: tuple[str, ...]
    created: datetime | None = None
    correct: Correct | None = None
    detail_names: dict[str, str] = field(default_factory=dict)
    results: dict[str, JsonObject] = field(default_factory=dict)


def run_document(
    evaluation: Scored,
    *,
    config: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
    created: datetime | None = None,
    correct: Correct | None = None,
    results: Mapping[str, JsonObject] | None = None,
) -> dict[str, Any]:
    """The document of a run file.

    Parameters
    ----------
    evaluation : Scored
        The evaluation to keep.
    config : mapping, optional
        The configuration of the pipeline; settings that are not known are left out.
    notes : iterable of str
        Guesses and corrections that were made when the rows were read.
    created : datetime, optional
        When the pipeline was run; if omitted, the document has no such field.
    correct : optional
        The rule for a correct answer.
    results : mapping of str to dict, optional
        Tables as ``Result.to_dict`` gives them, such as the weighted score, for other programs.
        They are kept as they are when the run is read and saved again.

    Returns
    -------
    dict
        ``format``, ``format_version``, ``version``, ``name``, ``created`` (ISO 8601, if known),
        ``config``, ``query_set`` (the number of queries, and a hash of ids and references),
        ``correct`` (if there is a rule), ``metrics``, ``scorecard`` by group, ``results`` (if there
        are any), ``notes``,
        ``details`` (the names of the columns), ``columns`` (the type of each detail, and what JSON
        cannot hold of it), ``queries`` (``query_id``, ``scores``, ``states`` of unscored metrics,
        ``details``), ``query_digests`` (one per query, in their order), ``digest`` (of everything
        but the queries).

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
    queries = _queries(evaluation, {name: cells for name, (cells, _) in saved.items()})
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": __version__,
        "name": evaluation.name,
        **({} if created is None else {"created": time_of(created).isoformat()}),
        "config": plain_value(dict(config or {})),
        **correct_fields(correct),
        "query_set": {"n": len(evaluation.scores), "hash": query_set_hash(evaluation)},
        "metrics": {name: metric_fields(metric) for name, metric in evaluation.metrics.items()},
        "scorecard": _scorecard(evaluation),
        **({"results": dict(results)} if results else {}),
        "notes": list(notes),
        "details": list(saved),
        "columns": {name: column.to_document() for name, (_, column) in saved.items()},
        "queries": queries,
        QUERY_DIGESTS: [_query_digest(query) for query in queries],
    }
    return {**document, DIGEST: document_digest(document, without=_NOT_IN_DIGEST)}


def time_of(created: datetime | date | str) -> datetime:
    """A datetime with a time zone: UTC if it has none, midnight if it is a date.

    Parameters
    ----------
    created : datetime, date or str
        A text must be in the ISO 8601 format.

    Raises
    ------
    DataError
        If a text has another format, or `created` has another type.

    Examples
    --------
    >>> time_of("2026-08-01").isoformat(), time_of("2026-08-01T09:30:00+02:00").isoformat()
    ('2026-08-01T00:00:00+00:00', '2026-08-01T09:30:00+02:00')
    """
    moment = _parse_time(created) if isinstance(created, str) else created
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    if not isinstance(moment, datetime) or pd.isna(moment):
        raise DataError(_not_a_time_message(created))
    # Times with and without a zone cannot be sorted together.
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _parse_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError as exc:
        raise DataError(_not_a_time_message(text)) from exc


def _not_a_time_message(value: object) -> str:
    return (
        "created must be a datetime or a text in the ISO 8601 format, such as "
        f"2026-08-01T09:30:00+00:00; got {value!r:.60}"
    )


def query_set_hash(evaluation: Scored) -> str:
    """A hash of the query ids and, if there are any, the references, in any order of the rows."""
    texts = "\n".join(sorted(query_set(evaluation)))
    return hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def query_set(evaluation: Scored) -> list[str]:
    """The id and the reference of each query as one text, in the order of the rows.

    Parameters
    ----------
    evaluation : Scored
        If a query has equal texts in two evaluations, both were asked the same question.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> rows = {"query_id": ["a"], "recall": [0.5], "reference": ["Paris"]}
    >>> query_set(RAGPipelineEvaluation("hybrid", rows))
    ['["a", "Paris"]']
    """
    column = reference_column(map(str, evaluation.details))
    references = [None] * len(evaluation.scores)
    if column is not None:
        references = [_reference(value) for value in evaluation.details[column].tolist()]
    return [
        json.dumps(pair, ensure_ascii=False, sort_keys=True)
        for pair in zip(map(str, evaluation.scores.index), references, strict=True)
    ]


def _reference(value: object) -> Any:
    plain = plain_value(value)
    # Whole numbers beside a missing one are floats in pandas.
    return int(plain) if isinstance(plain, float) and plain.is_integer() else plain


def reference_column(details: Iterable[str]) -> str | None:
    """The column of the details that holds the references; None without one.

    Examples
    --------
    >>> reference_column(["question", "reference"]), reference_column(["question"])
    ('reference', None)
    """
    return first_named(details, REFERENCE)


def _scorecard(evaluation: Scored) -> dict[str, dict[str, Any]]:
    card: dict[str, dict[str, Any]] = {}
    for name, metric in evaluation.metrics.items():
        numbers = evaluation.scores[name].to_numpy()
        n = int(np.count_nonzero(~np.isnan(numbers)))
        mean = float(np.nanmean(numbers)) if n else None
        card.setdefault(metric.group, {})[name] = {
            "mean": mean,
            "n": n,
            "n_unscored": len(numbers) - n,
        }
    return card


def _queries(evaluation: Scored, details: Mapping[str, pd.Series]) -> list[dict[str, Any]]:
    scores = evaluation.scores
    columns = {name: cells.tolist() for name, cells in details.items()}
    numbers = {str(name): list(map(plain_value, scores[name].tolist())) for name in scores}
    all_states = states_frame(scores, evaluation.details)
    states = {name: all_states[name].tolist() for name in numbers}
    return [
        {
            "query_id": str(query_id),
            "scores": {name: cells[row] for name, cells in numbers.items()},
            "states": {name: cells[row] for name, cells in states.items() if cells[row] != SCORED},
            "details": {name: cells[row] for name, cells in columns.items()},
        }
        for row, query_id in enumerate(scores.index)
    ]


# -- reading


def parse_run_document(document: Mapping[str, Any]) -> RunFile:
    """The content of a document that `run_document` made.

    Parameters
    ----------
    document : mapping
        The parsed JSON of a run file.

    Raises
    ------
    DataError
        If a newer version wrote the document, a part is missing or of another type, or anything
        but a query is damaged. A damaged query is unscored, and a note says so.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> run = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
    >>> parse_run_document(run_document(run)).rows
    {'query_id': ['a'], 'recall': [0.5]}
    """
    _check_version(document)
    queries = _get_field(document, "queries", list)
    if not all(isinstance(query, Mapping) for query in queries):
        raise DataError("field 'queries' of the run file must be a list of objects")
    damaged = damaged_queries(document) or []
    metrics = _get_field(document, "metrics", dict)
    queries = _without_damaged(queries, damaged, metrics)
    names = [str(name) for name in _get_field(document, "details", list)]
    columns = distinct_columns(names, {QUERY_ID, *metrics})
    ids: list[Any] = [query.get("query_id") for query in queries]
    rows: dict[str, list[Any] | pd.Series] = {QUERY_ID: ids}
    details = [_get_object(query, "details") for query in queries]
    saved = {
        name: SavedColumn.of_document(fields, name)
        for name, fields in _get_field(document, "columns", dict).items()
    }
    for name, column in columns.items():
        cells = [of_query.get(name) for of_query in details]
        # An older file has no descriptions of its columns.
        rows[column] = restore_column(cells, saved[name], ids) if name in saved else cells
    scores = [_get_object(query, "scores") for query in queries]
    rows |= {name: [of_query.get(name) for of_query in scores] for name in metrics}
    states = [_get_object(query, "states") for query in queries]
    rows |= _state_cells(rows, metrics, states)
    catalogue = Catalogue()
    correct, correct_notes = parse_correct(document)
    return RunFile(
        str(document.get("name") or "run"),
        rows,
        {name: metric_from_fields(name, metric, catalogue) for name, metric in metrics.items()},
        dict(_get_object(document, "config")),
        (
            *_notes_of_damage(queries, damaged),
            *map(str, _get_field(document, "notes", list)),
            *correct_notes,
            *changed_cells_notes(saved.values()),
        ),
        parse_created(document.get("created")),
        correct,
        {column: name for name, column in columns.items() if column != name},
        parse_results(document),
    )


def parse_results(document: Mapping[str, Any]) -> dict[str, JsonObject]:
    """The tables that a file holds beside the scores.

    Raises
    ------
    DataError
        If they are not JSON objects.

    Examples
    --------
    >>> parse_results({"results": {"costs": {"title": "Costs", "rows": []}}})
    {'costs': {'title': 'Costs', 'rows': []}}
    """
    results: dict[str, JsonObject] = _get_field(document, "results", dict)
    for name, table in results.items():
        if not isinstance(table, Mapping):
            raise DataError(f"results: {name!r} must be an object; got {table!r:.60}")
    return dict(results)


def damaged_queries(document: Mapping[str, Any]) -> list[int] | None:
    """The positions of the queries that are not as they were written; None without digests.

    Parameters
    ----------
    document : mapping
        The parsed JSON of a run file.

    Raises
    ------
    DataError
        If anything but a query is damaged, so that no number of the file can be relied on.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> run = RAGPipelineEvaluation("hybrid", {"query_id": ["a", "b"], "recall": [0.5, 1.0]})
    >>> document = run_document(run)
    >>> damaged_queries(document)
    []
    >>> document["queries"][1]["scores"]["recall"] = 0.0
    >>> damaged_queries(document)
    [1]
    """
    if DIGEST not in document and QUERY_DIGESTS not in document:
        return None
    queries, digests = document.get("queries"), document.get(QUERY_DIGESTS)
    if not isinstance(queries, list):
        raise DataError(_DAMAGED)
    now = [_query_digest(query) for query in queries]
    if document.get(DIGEST) == document_digest(document, without=_NOT_IN_DIGEST):
        if not isinstance(digests, list) or len(digests) != len(now):
            raise DataError(_DAMAGED)
        pairs = zip(now, digests, strict=True)
        return [row for row, (of_query, written) in enumerate(pairs) if of_query != written]
    # If only the list of digests is damaged, the queries and everything else are whole.
    repaired = {**document, QUERY_DIGESTS: now}
    if document.get(DIGEST) == document_digest(repaired, without=_NOT_IN_DIGEST):
        return []
    raise DataError(_DAMAGED)


def _query_digest(query: object) -> str:
    # Half of a digest: it stands once per query, and the whole list is in the digest of the file.
    return digest_of_parts([canonical_json(query)]).hex()[:16]


def _without_damaged(
    queries: list[Mapping[str, Any]], damaged: list[int], metrics: Iterable[str]
) -> list[Mapping[str, Any]]:
    """The queries; of those that are damaged, only the id is kept."""
    kept = list(queries)
    for row in damaged:
        kept[row] = {
            "query_id": queries[row].get("query_id"),
            "states": dict.fromkeys(metrics, FAILED),
            "details": {"error": "the query is damaged in the run file"},
        }
    return kept


def _notes_of_damage(queries: list[Mapping[str, Any]], damaged: list[int]) -> list[str]:
    if not damaged:
        return []
    ids = named(queries[row].get("query_id") for row in damaged)
    return [
        f"{DOUBT}the run file is damaged: {len(damaged)} of {len(queries)} queries differ from "
        f"their digests and are unscored: {ids}. Restore the file from a copy"
    ]


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


def parse_created(value: object) -> datetime | None:
    """The time in the field "created" of a file; None if there is none.

    Raises
    ------
    DataError
        If it is not a text in the ISO 8601 format.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        raise DataError(f"field 'created' of the run file must be a text; got {value!r:.60}")
    return time_of(value)


def _check_version(document: Mapping[str, Any]) -> None:
    version = document.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DataError(f"format_version of the run file must be an integer >= 1; got {version!r}")
    if version > FORMAT_VERSION:
        raise DataError(
            f"this run file has format version {version}, written by rageval_report "
            f"{document.get('version', 'of a later version')}; this is version {__version__}, "
            f"which reads format versions up to {FORMAT_VERSION}: update rageval_report"
        )


def _get_field(document: Mapping[str, Any], name: str, kind: type) -> Any:
    value = document.get(name, kind())
    if not isinstance(value, kind):
        expected = "a list" if kind is list else "an object"
        raise DataError(f"field {name!r} of the run file must be {expected}; got {value!r:.60}")
    return value


def _get_object(query: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = query.get(name) or {}
    if not isinstance(value, Mapping):
        raise DataError(
            f"field {name!r} of query {query.get('query_id')!r} must be an object; "
            f"got {value!r:.60}"
        )
    return value


def _state_cells(
    rows: Collection[str], names: Iterable[str], states: list[Mapping[str, Any]]
) -> dict[str, list[str]]:
    """The states that the details do not hold, for metrics with states other than missing."""
    columns = {}
    for name in names:
        cells = [str(by_metric.get(name, SCORED)) for by_metric in states]
        is_needed = not {*cells} <= {SCORED, MISSING}
        if is_needed and f"{name}_state" not in rows and "error" not in rows:
            columns[f"{name}_state"] = cells
    return columns

"""Converts an evaluation to a run file, one JSON document, and back.

The document holds everything that an evaluation holds, so that it reads back equal, and at its top
what a colleague or another program looks for first: the configuration and the scorecard.
``format_version`` increases when older readers could misread a newer file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd

from rageval_report._version import __version__
from rageval_report.errors import DataError
from rageval_report.scores.metric import Metric
from rageval_report.scores.query_ids import first_named
from rageval_report.scores.states import MISSING, SCORED, states_frame
from rageval_report.scores.table import Scored
from rageval_report.scores.texts import REFERENCE

FORMAT = "rageval_report run"
FORMAT_VERSION = 1

# The fields of a metric that the file holds. Its names are keys, and its function is code.
_OMITTED_FIELDS = ("name", "known_as", "aliases", "compute", "needs")
_METRIC_FIELDS = tuple(field.name for field in fields(Metric) if field.name not in _OMITTED_FIELDS)


@dataclass(frozen=True, eq=False)
class RunFile:
    """The content of a run file, as `score_table` takes it.

    Parameters
    ----------
    name : str
    rows : dict of str to list
        ``query_id``, the details, the metrics.
    metrics : dict of str to dict
        The description of each metric.
    config : dict
        The configuration of the pipeline.
    notes : tuple of str
    created : datetime, optional
        When the pipeline was run, if the file says so.
    """

    name: str
    rows: dict[str, list[Any]]
    metrics: dict[str, dict[str, Any]]
    config: dict[str, Any]
    notes: tuple[str, ...]
    created: datetime | None = None


def run_document(
    evaluation: Scored,
    *,
    config: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
    created: datetime | None = None,
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

    Returns
    -------
    dict
        ``format``, ``format_version``, ``version``, ``name``, ``created`` (ISO 8601, if known),
        ``config``, ``query_set`` (the number of queries, and a hash of ids and references),
        ``metrics``, ``scorecard`` by group, ``notes``, ``details`` (the names of the columns),
        ``queries`` (``query_id``, ``scores``, ``states`` of unscored metrics, ``details``).

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
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": __version__,
        "name": evaluation.name,
        **({} if created is None else {"created": time_of(created).isoformat()}),
        "config": plain_value(dict(config or {})),
        "query_set": {"n": len(evaluation.scores), "hash": query_set_hash(evaluation)},
        "metrics": {
            name: {key: plain_value(getattr(metric, key)) for key in _METRIC_FIELDS}
            for name, metric in evaluation.metrics.items()
        },
        "scorecard": _scorecard(evaluation),
        "notes": list(notes),
        "details": [str(name) for name in evaluation.details],
        "queries": _queries(evaluation),
    }


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
    """A hash of the query ids and, if there are any, the references, in any order of the rows.

    Parameters
    ----------
    evaluation : Scored
        Two evaluations of equal hash have the same queries with the same references.
    """
    # Sorted, because the same questions in another order are the same set.
    pairs = sorted(query_set(evaluation))
    return blake2b("\n".join(pairs).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


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
    column = first_named(map(str, evaluation.details), REFERENCE)
    references = (
        [None] * len(evaluation.scores)
        if column is None
        else map(plain_value, evaluation.details[column].tolist())
    )
    return [
        json.dumps(pair, ensure_ascii=False, sort_keys=True)
        for pair in zip(map(str, evaluation.scores.index), references, strict=True)
    ]


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


def _queries(evaluation: Scored) -> list[dict[str, Any]]:
    details, scores = evaluation.details, evaluation.scores
    columns = {str(name): list(map(plain_value, details[name].tolist())) for name in details}
    numbers = {str(name): list(map(plain_value, scores[name].tolist())) for name in scores}
    all_states = states_frame(scores, details)
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


def plain_value(value: object) -> Any:
    """The value as JSON can hold it; None if it is missing or not a finite number.

    Examples
    --------
    >>> plain_value((1, float("nan"), {2: "x"}))
    [1, None, {'2': 'x'}]
    """
    if isinstance(value, Mapping):
        return {str(key): plain_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [plain_value(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        # NaN and Infinity are not JSON; many parsers refuse them.
        return value if math.isfinite(value) else None
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    return value if isinstance(value, bool | int | str) else str(value)


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
        If a newer version wrote the document, or a part is missing or of another type.

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
    metrics = _get_field(document, "metrics", dict)
    columns = [str(name) for name in _get_field(document, "details", list)]
    rows: dict[str, list[Any]] = {"query_id": [query.get("query_id") for query in queries]}
    for field, names in (("details", columns), ("scores", metrics)):
        objects = [_get_object(query, field) for query in queries]
        rows |= {name: [cells.get(name) for cells in objects] for name in names}
    states = [_get_object(query, "states") for query in queries]
    rows |= _state_cells(rows, metrics, states)
    return RunFile(
        str(document.get("name") or "run"),
        rows,
        {name: _metric_fields(metric) for name, metric in metrics.items()},
        dict(_get_object(document, "config")),
        tuple(str(note) for note in _get_field(document, "notes", list)),
        _parse_created(document.get("created")),
    )


def _parse_created(value: object) -> datetime | None:
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
    rows: Mapping[str, list[Any]], names: Iterable[str], states: list[Mapping[str, Any]]
) -> dict[str, list[str]]:
    """The states that the details do not hold, for metrics with states other than missing."""
    columns = {}
    for name in names:
        cells = [str(by_metric.get(name, SCORED)) for by_metric in states]
        is_needed = not {*cells} <= {SCORED, MISSING}
        if is_needed and f"{name}_state" not in rows and "error" not in rows:
            columns[f"{name}_state"] = cells
    return columns


def _metric_fields(metric: object) -> dict[str, Any]:
    known = metric if isinstance(metric, Mapping) else {}
    values = {key: known[key] for key in _METRIC_FIELDS if key in known}
    if isinstance(values.get("bounds"), list):
        values["bounds"] = tuple(values["bounds"])
    return values

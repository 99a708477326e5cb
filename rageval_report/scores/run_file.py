"""A run as one JSON document: what it was, how it scored, and every query with its states.

It holds all that an evaluation holds, so that it reads back equal, and what a colleague or another
program wants first: the configuration and the scorecard. ``format_version`` counts up when older
readers could misread a newer file.
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

# What the file says of a metric; how it is computed is code, and stays out.
_CODE = ("name", "known_as", "aliases", "compute", "needs")
_TOLD = tuple(one.name for one in fields(Metric) if one.name not in _CODE)


@dataclass(frozen=True, eq=False)
class Run:
    """What a run file says, as `score_table` takes it.

    Parameters
    ----------
    name : str
    rows : dict of str to list
        ``query_id``, the details, the metrics.
    metrics : dict of str to dict
        What is known of each metric.
    config : dict
        How the pipeline was set up.
    notes : tuple of str
    created : datetime, optional
        When the pipeline was run, where the file says it.
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
    """The document of a run.

    Parameters
    ----------
    evaluation : Scored
        The run.
    config : mapping, optional
        How the pipeline was set up; what is not known is left out, never invented.
    notes : iterable of str
        What was guessed or mended when the rows were read.
    created : datetime, optional
        When the pipeline was run; the field is left out where nobody said.

    Returns
    -------
    dict
        ``format``, ``format_version``, ``version``, ``name``, ``created`` (ISO 8601, where known),
        ``config``, ``query_set`` (how many,
        and the hash of ids and references), ``metrics``, ``scorecard`` by group, ``notes``,
        ``details`` (the names of the columns), ``queries`` (``query_id``, ``scores``, ``states``
        of what is unscored, ``details``).

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
            name: {key: plain_value(getattr(metric, key)) for key in _TOLD}
            for name, metric in evaluation.metrics.items()
        },
        "scorecard": _scorecard(evaluation),
        "notes": list(notes),
        "details": [str(name) for name in evaluation.details],
        "queries": _queries(evaluation),
    }


def time_of(told: datetime | date | str) -> datetime:
    """A moment with its zone; one without is taken as UTC, a day as its first moment.

    Parameters
    ----------
    told : datetime, date or str
        A text is of ISO 8601.

    Raises
    ------
    DataError
        If a text is of another form, or `told` is something else.

    Examples
    --------
    >>> time_of("2026-08-01").isoformat(), time_of("2026-08-01T09:30:00+02:00").isoformat()
    ('2026-08-01T00:00:00+00:00', '2026-08-01T09:30:00+02:00')
    """
    moment = _read_time(told) if isinstance(told, str) else told
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    if not isinstance(moment, datetime) or pd.isna(moment):
        raise DataError(f"a time must be a datetime or a text of ISO 8601; {_not_a_time(told)}")
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _read_time(told: str) -> datetime:
    try:
        return datetime.fromisoformat(told.strip())
    except ValueError as exc:
        raise DataError(f"a time must be of ISO 8601; {_not_a_time(told)}") from exc


def _not_a_time(told: object) -> str:
    return f"as 2026-08-01T09:30:00+00:00; got {told!r:.60}"


def query_set_hash(evaluation: Scored) -> str:
    """A hash of the query ids and, where they are there, the references; the order plays no part.

    Parameters
    ----------
    evaluation : Scored
        The run. Two runs of equal hash were asked the same and held to the same answers.
    """
    pairs = sorted(query_set(evaluation))
    return blake2b("\n".join(pairs).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def query_set(evaluation: Scored) -> list[str]:
    """Each query's id and reference as one text, in the order of the rows.

    Parameters
    ----------
    evaluation : Scored
        The run; a query of two runs was the same question to both where these texts are equal.

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
    told_states = states_frame(scores, details)
    states = {name: told_states[name].tolist() for name in numbers}
    return [
        {
            "query_id": str(query_id),
            "scores": {name: cells[row] for name, cells in numbers.items()},
            "states": {name: one[row] for name, one in states.items() if one[row] != SCORED},
            "details": {name: cells[row] for name, cells in columns.items()},
        }
        for row, query_id in enumerate(scores.index)
    ]


def plain_value(value: object) -> Any:
    """A value that JSON knows; None for whatever is missing or no finite number.

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
        return value if math.isfinite(value) else None
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    return value if isinstance(value, bool | int | str) else str(value)


# -- reading


def run_of(document: Mapping[str, Any]) -> Run:
    """What a document says.

    Parameters
    ----------
    document : mapping
        As `run_document` makes it.

    Raises
    ------
    DataError
        If it was written by a newer version, or a part is missing or of another kind.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> run = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
    >>> run_of(run_document(run)).rows
    {'query_id': ['a'], 'recall': [0.5]}
    """
    _check_version(document)
    queries = _part(document, "queries", list)
    if not all(isinstance(query, Mapping) for query in queries):
        raise DataError("field 'queries' of the run file must be a list of objects")
    names = _part(document, "metrics", dict)
    columns = [str(name) for name in _part(document, "details", list)]
    rows: dict[str, list[Any]] = {"query_id": [query.get("query_id") for query in queries]}
    for part, listed in (("details", columns), ("scores", names)):
        cells = [_object(query, part) for query in queries]
        rows |= {name: [cell.get(name) for cell in cells] for name in listed}
    states = [_object(query, "states") for query in queries]
    rows |= _state_columns(rows, names, states)
    return Run(
        str(document.get("name") or "run"),
        rows,
        {name: _told(one) for name, one in names.items()},
        dict(_object(document, "config")),
        tuple(str(note) for note in _part(document, "notes", list)),
        _created(document.get("created")),
    )


def _created(told: object) -> datetime | None:
    if told is None:
        return None
    if not isinstance(told, str):
        raise DataError(f"field 'created' of the run file must be a text; got {told!r:.60}")
    return time_of(told)


def _check_version(document: Mapping[str, Any]) -> None:
    version = document.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DataError(f"format_version of the run file must be a whole number; got {version!r}")
    if version > FORMAT_VERSION:
        raise DataError(
            f"this run file is of format version {version}, written by rageval_report "
            f"{document.get('version', 'of a later version')}; this is version {__version__}, "
            f"which reads up to {FORMAT_VERSION}: update rageval_report"
        )


def _part(document: Mapping[str, Any], name: str, kind: type) -> Any:
    found = document.get(name, kind())
    if not isinstance(found, kind):
        told = "a list" if kind is list else "an object"
        raise DataError(f"field {name!r} of the run file must be {told}; got {found!r:.60}")
    return found


def _object(query: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = query.get(name) or {}
    if not isinstance(found, Mapping):
        raise DataError(
            f"field {name!r} of query {query.get('query_id')!r} must be an object; "
            f"got {found!r:.60}"
        )
    return found


def _state_columns(
    rows: Mapping[str, list[Any]], names: Iterable[str], states: list[Mapping[str, Any]]
) -> dict[str, list[str]]:
    """States that the details do not hold already, where some score is not just missing."""
    found = {}
    for name in names:
        told = [str(one.get(name, SCORED)) for one in states]
        if f"{name}_state" not in rows and "error" not in rows and not {*told} <= {SCORED, MISSING}:
            found[f"{name}_state"] = told
    return found


def _told(metric: object) -> dict[str, Any]:
    known = metric if isinstance(metric, Mapping) else {}
    told = {key: known[key] for key in _TOLD if key in known}
    if isinstance(told.get("bounds"), list):
        told["bounds"] = tuple(told["bounds"])
    return told

"""Records that hold their scores as a list of objects, as one row per score."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rageval_report.readers.json_shapes import is_records
from rageval_report.readers.long_columns import COMPANIONS
from rageval_report.scores.metric import normalise_name

# The keys under which frameworks keep the scores of a record as a list.
NESTS = (
    *("scores", "results", "evaluations", "evals", "metrics", "metric_results", "score_results"),
    *("evaluation_results", "eval_results", "feedback", "feedbacks", "assessments", "annotations"),
    *("grades", "judgements", "judgments", "checks", "metrics_data"),
)
_NAMES = (
    *("metric", "metric_name", "name", "score_name", "evaluator", "evaluator_name", "key"),
    *("criterion", "scorer", "scorer_name", "grader", "metric_id"),
)
_VALUES = ("score", "value", "score_value", "numeric_value", "metric_value", "rating", "result")
# The names in a row that belong to the score if both the record and the score have them.
_OF_RECORD = "case_"
_OF_SCORE = "score_"


def find_nest(records: Sequence[Mapping[str, Any]]) -> str | None:
    """The key whose values are lists of scores, each with the name of its metric; or None."""
    keys = dict.fromkeys(key for record in records for key in record)
    for key in keys:
        if normalise_name(str(key)) not in NESTS:
            continue
        nests = [record[key] for record in records if record.get(key)]
        if nests and all(map(_are_scores, nests)):
            return str(key)
    return None


def _are_scores(nest: object) -> bool:
    return is_records(nest) and all(
        isinstance(score.get(_key_of(score, _NAMES) or ""), str)
        and _key_of(score, _VALUES) is not None
        for score in nest
    )


def _key_of(score: Mapping[str, Any], names: Iterable[str]) -> str | None:
    by_name = {normalise_name(str(key)): key for key in reversed(list(score))}
    return next((by_name[name] for name in names if name in by_name), None)


def unnest(records: Iterable[Mapping[str, Any]], nest: str) -> list[dict[str, Any]]:
    r"""One row per score, with the fields of its record; no record is lost."""
    every = [dict(record) for record in records]
    scores = [score for record in every for score in record.get(nest) or []]
    names = dict.fromkeys(score.get(_key_of(score, _NAMES) or "") for score in scores)
    blanks = [{"metric": name, "value": None} for name in names]
    taken = {_shared_name(str(key)) for record in every for key in record if key != nest}
    rows: list[dict[str, Any]] = []
    for record in every:
        shared = {_shared_name(str(key)): part for key, part in record.items() if key != nest}
        own = [_score_fields(score, taken) for score in record.get(nest) or []]
        rows += [{**shared, **score} for score in own or blanks]
    return rows


def _shared_name(key: str) -> str:
    """The name of a record's field, which must not be taken for that of a metric or a value."""
    return f"{_OF_RECORD}{key}" if normalise_name(key) in (*_NAMES, *_VALUES) else key


def _score_fields(score: Mapping[str, Any], taken: Collection[str]) -> dict[str, Any]:
    """The fields of a score; its error, state and reason go before those of its record."""
    name, value = _key_of(score, _NAMES), _key_of(score, _VALUES)
    fields: dict[str, Any] = {}
    for key, part in score.items():
        if key in (name, value):
            continue
        if normalise_name(str(key)) in COMPANIONS:
            if part is not None:
                fields[str(key)] = part
        else:
            fields[f"{_OF_SCORE}{key}" if key in taken else str(key)] = part
    return {**fields, "metric": score.get(name or ""), "value": score.get(value or "")}

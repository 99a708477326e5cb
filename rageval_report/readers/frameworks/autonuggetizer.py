"""AutoNuggetizer: the scores of answers by their nuggets, and the assignments behind them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import json_text, number_or_none, text_or_none
from rageval_report.readers.frameworks.json_rows import first_fields, first_row, read_rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.json_shapes import ShapeError, is_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

_SCORES = ("strict_vital_score", "strict_all_score", "vital_score", "all_score")
_NUGGETS, _RUN, _TOTAL = "nuggets", "run_id", "all"
_PROPORTION: Override = {"kind": "proportion", "bounds": (0.0, 1.0), "source": "AutoNuggetizer"}
_SUPPORT = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}
_NEAR = 1e-9
_TEXTS = {"query": "question", "answer_text": "answer"}
_OWN = frozenset(("qid", _RUN, _NUGGETS, "metrics", *_TEXTS, *_SCORES))


def _recognise(source: Source) -> float:
    names = first_fields(source)
    if "qid" not in names:
        return 0.0
    return 0.95 if _has_scores(names) or _is_assignment(first_row(source)) else 0.0


def _has_scores(names: Iterable[str]) -> bool:
    return set(_SCORES) <= set(names)


def _is_assignment(row: JsonObject) -> bool:
    """Whether a row holds nuggets that are assigned to an answer."""
    nuggets = row.get(_NUGGETS)
    return is_records(nuggets) and nuggets[0].keys() >= {"importance", "assignment"}


def read_autonuggetizer(source: Source) -> list[ScoreFile]:
    """Read the metrics of AutoNuggetizer, or the assignments from which they are computed.

    One pipeline per ``run_id``. The row ``all`` holds the means and is not a query; a note says if
    they differ from the means of the rows. AutoNuggetizer gives 0 to an answer whose topic has no
    nugget (or no vital one): in assignments such a score is not applicable, and an assignment that
    failed is a failed score.

    Raises
    ------
    ReaderError
        If the file is broken.
    ShapeError
        If a row has no topic or no score.
    """
    rows = read_rows(source)
    pipelines: dict[str, list[_ScoredTopic]] = {}
    totals: dict[str, JsonObject] = {}
    for position, row in enumerate(rows, 1):
        name = text_or_none(row.get(_RUN)) or source.stem
        if row.get("qid") == _TOTAL and _NUGGETS not in row:
            totals[name] = row
        else:
            pipelines.setdefault(name, []).append(_score(row, position))
    if not pipelines:
        raise source.error("the file holds only the means of all topics; write one row per topic")
    return [_score_file(name, scored, totals.get(name)) for name, scored in pipelines.items()]


# -- rows


class _ScoredTopic(NamedTuple):
    """The topic of a row, its scores and its other fields."""

    query_id: str
    judgements: dict[str, Judgement]
    details: dict[str, Any]


def _score(row: JsonObject, position: int) -> _ScoredTopic:
    if not isinstance(row.get("qid"), str | int):
        raise ShapeError(f"row {position} has no qid; expected a topic with its scores")
    details = {ours: row[theirs] for theirs, ours in _TEXTS.items() if theirs in row}
    details |= {key: value for key, value in row.items() if key not in _OWN}
    nuggets = row.get(_NUGGETS)
    if nuggets is not None and not _has_scores(row):
        details |= _counts(nuggets)
        return _ScoredTopic(str(row["qid"]), _computed(nuggets, position), details)
    judgements = {name: _written(row, name) for name in _SCORES}
    return _ScoredTopic(str(row["qid"]), judgements, details)


def _written(row: Mapping[str, Any], name: str) -> Judgement:
    value = row.get(name)
    if value is None:
        return Judgement(None, "AutoNuggetizer wrote no score", is_failed=True)
    return Judgement(value)


def _computed(nuggets: object, position: int) -> dict[str, Judgement]:
    """The four scores of an answer from the assignments of its nuggets."""
    if not isinstance(nuggets, list) or not all(isinstance(each, dict) for each in nuggets):
        raise ShapeError(f"nuggets of row {position} must be a list of objects")
    vital = [nugget for nugget in nuggets if nugget.get("importance") == "vital"]
    return {
        "strict_vital_score": _share(vital, "vital nugget", is_strict=True),
        "strict_all_score": _share(nuggets, "nugget", is_strict=True),
        "vital_score": _share(vital, "vital nugget", is_strict=False),
        "all_score": _share(nuggets, "nugget", is_strict=False),
    }


def _share(nuggets: Sequence[JsonObject], kind: str, *, is_strict: bool) -> Judgement:
    if not nuggets:
        return Judgement("n/a", f"the topic has no {kind}")
    labels = [json_text(nugget.get("assignment")) for nugget in nuggets]
    unknown = [label for label in labels if label not in _SUPPORT]
    if unknown:
        return Judgement(
            None, f"{len(unknown)} of {len(labels)} nuggets are not assigned: {unknown[0]!r}", True
        )
    points = [_SUPPORT[str(label)] for label in labels]
    counted = [math.floor(point) for point in points] if is_strict else points
    return Judgement(sum(counted) / len(counted))


def _counts(nuggets: object) -> dict[str, Any]:
    listed = nuggets if is_records(nuggets) else []
    n_vital = sum(nugget.get("importance") == "vital" for nugget in listed)
    return {"n_nuggets": len(listed), "n_vital_nuggets": n_vital}


# -- a pipeline


def _score_file(name: str, scored: Sequence[_ScoredTopic], total: JsonObject | None) -> ScoreFile:
    judged = judgement_columns(row.judgements for row in scored)
    details = drop_empty(columns_of(row.details for row in scored), ())
    frame = frame_of(
        {
            QUERY_ID: [row.query_id for row in scored],
            **rename_clashes(details, judged.columns, "row"),
            **judged.columns,
        }
    )
    return ScoreFile(
        frame,
        name,
        metrics=dict.fromkeys(judged.metrics, _PROPORTION),
        metric_columns=judged.metrics,
        notes=(*judged.notes, *_notes(judged.columns, judged.metrics, total)),
        is_one_pipeline=True,
        totals="keep",
    )


def _notes(
    columns: Mapping[str, Sequence[Any]], metrics: Iterable[str], total: JsonObject | None
) -> Iterator[str]:
    if total is None:
        return
    yield f"the row {_TOTAL!r} holds the means of all topics and is left out"
    for name in metrics:
        scores = [score for score in columns[name] if score == score]
        mean, stated = (
            sum(scores) / len(scores) if scores else math.nan,
            number_or_none(total.get(name)),
        )
        # `not <=`, so that a NaN counts as a difference.
        if stated is not None and not abs(stated - mean) <= _NEAR:
            yield f"the row {_TOTAL!r} says {name} {stated:g}; the mean of its rows is {mean:g}"


AUTONUGGETIZER = Reader(
    "autonuggetizer",
    "AutoNuggetizer: JSON Lines of metrics by topic, or of assigned nuggets",
    _recognise,
    read_autonuggetizer,
    ("encoding",),
    example="metrics.jsonl",
)

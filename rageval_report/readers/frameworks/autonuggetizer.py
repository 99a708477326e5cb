"""AutoNuggetizer: the scores of answers by their nuggets, and the assignments behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile
from rageval_report.readers.cell_values import json_text, number_or_none, text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    first_fields,
    first_row,
    groups_of,
    read_rows,
)
from rageval_report.readers.frameworks.rows import Judgement, judge
from rageval_report.readers.json_shapes import ShapeError, is_records
from rageval_report.scores.metric import Override
from rageval_report.types import JsonObject

# The scores: of vital nuggets only or of all; partial support counts half, or not if strict.
_SCORES = {
    "strict_vital_score": (True, True),
    "strict_all_score": (False, True),
    "vital_score": (True, False),
    "all_score": (False, False),
}
_TOTAL = "all"
_PROPORTION: Override = {"kind": "proportion", "bounds": (0.0, 1.0), "source": "AutoNuggetizer"}
_SUPPORT = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}
_NEAR = 1e-9


def _recognise(source: Source) -> float:
    names = first_fields(source)
    nuggets = first_row(source).get("nuggets")
    are_assigned = is_records(nuggets) and nuggets[0].keys() >= {"importance", "assignment"}
    return SURE if "qid" in names and (names >= _SCORES.keys() or are_assigned) else 0.0


def _read_autonuggetizer(source: Source) -> list[ScoreFile]:
    """Read the metrics of AutoNuggetizer, or the assignments from which they are computed."""
    rows = read_rows(source)
    groups = groups_of(rows, lambda row: text_or_none(row.get("run_id")) or source.stem)
    totals, topics = {}, {}
    for position, row in enumerate(rows, 1):
        if not isinstance(row.get("qid"), str | int):
            raise ShapeError(f"row {position} has no qid; expected a topic with its scores")
        _check_nuggets(row, position)
    for name, group in groups.items():
        topics[name] = [row for row in group if not _is_total(row)]
        totals[name] = next((row for row in reversed(group) if _is_total(row)), None)
    if not any(topics.values()):
        raise source.error("the file holds only the means of all topics; write one row per topic")
    return [
        _TOPICS.score_file(name, list(map(_topic, group)), _notes(group, totals[name]))
        for name, group in topics.items()
        if group
    ]


def _is_total(row: JsonObject) -> bool:
    return row.get("qid") == _TOTAL and "nuggets" not in row


def _check_nuggets(row: JsonObject, position: int) -> None:
    nuggets = row.get("nuggets")
    are_objects = isinstance(nuggets, list) and all(isinstance(each, dict) for each in nuggets)
    if nuggets is not None and not row.keys() >= _SCORES.keys() and not are_objects:
        raise ShapeError(f"nuggets of row {position} must be a list of objects")


def _topic(row: JsonObject) -> JsonObject:
    """The row with the counts of its nuggets, if they are what is scored."""
    nuggets = row.get("nuggets")
    if nuggets is None or row.keys() >= _SCORES.keys():
        return {**row, "qid": str(row["qid"])}
    n_vital = sum(nugget.get("importance") == "vital" for nugget in nuggets)
    counts = {"n_nuggets": len(nuggets), "n_vital_nuggets": n_vital}
    return {**row, "qid": str(row["qid"]), **counts}


def _judgements(row: JsonObject) -> dict[str, Judgement]:
    nuggets = row.get("nuggets")
    if nuggets is None or row.keys() >= _SCORES.keys():
        return {
            name: judge(row.get(name), None, "AutoNuggetizer wrote no score") for name in _SCORES
        }
    vital = [nugget for nugget in nuggets if nugget.get("importance") == "vital"]
    return {
        name: _share(vital if is_vital else nuggets, is_vital=is_vital, is_strict=is_strict)
        for name, (is_vital, is_strict) in _SCORES.items()
    }


def _share(nuggets: Sequence[JsonObject], *, is_vital: bool, is_strict: bool) -> Judgement:
    if not nuggets:
        return Judgement("n/a", f"the topic has no {'vital ' if is_vital else ''}nugget")
    labels = [json_text(nugget.get("assignment")) for nugget in nuggets]
    unknown = [label for label in labels if label not in _SUPPORT]
    if unknown:
        n = f"{len(unknown)} of {len(labels)}"
        return Judgement(None, f"{n} nuggets are not assigned: {unknown[0]!r}", is_failed=True)
    points = [_SUPPORT[str(label)] for label in labels]
    return Judgement(fmean(map(math.floor, points) if is_strict else points))


def _notes(rows: Sequence[JsonObject], total: Mapping[str, Any] | None) -> Iterator[str]:
    if total is None:
        return
    yield f"the row {_TOTAL!r} holds the means of all topics and is left out"
    for name in _SCORES:
        scores = [number_or_none(_judgements(row)[name].score) for row in rows]
        present = [score for score in scores if score is not None]
        mean, stated = fmean(present) if present else math.nan, number_or_none(total.get(name))
        # `not <=`, so that a NaN counts as a difference.
        if stated is not None and not abs(stated - mean) <= _NEAR:
            yield f"the row {_TOTAL!r} says {name} {stated:g}; the mean of its rows is {mean:g}"


_TOPICS = Format(
    "autonuggetizer",
    "AutoNuggetizer: JSON Lines of metrics by topic, or of assigned nuggets",
    "metrics.jsonl",
    judge=lambda rows: map(_judgements, rows),
    metrics=dict.fromkeys(_SCORES, _PROPORTION),
    id="qid",
    texts={"question": "query", "answer": "answer_text"},
    others="row",
    own=("qid", "run_id", "nuggets", "metrics", *_SCORES),
    is_one_pipeline=True,
    averages=False,
)
AUTONUGGETIZER = _TOPICS.reader(_recognise, _read_autonuggetizer)

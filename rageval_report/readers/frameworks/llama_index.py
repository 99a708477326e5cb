"""LlamaIndex: frames of `get_eval_results_df`, and lists of `EvaluationResult`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import json_text, none_if_nan, parse_objects, text_or_none
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.json_shapes import is_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import Override, normalise_name
from rageval_report.types import JsonObject

_FRAME = frozenset(("rag", "query", "scores", "feedbacks"))
_RESULT = frozenset(("query", "response", "passing", "feedback", "score"))
_PASSING: Override = {"kind": "binary", "description": "Whether LlamaIndex let it pass."}
_GRADED: Override = {"kind": "real", "bounds": (1.0, 5.0)}
_TEXTS = {"query": "question", "response": "answer", "contexts": "contexts"}
_USED = {*_TEXTS, "score", "feedback", "passing", "invalid_result", "invalid_reason"}


def _recognise(source: Source) -> float:
    if _lists_in(source.document_or_none()):
        return 0.95
    names = frozenset(header_of(source))
    return 0.95 if names >= _FRAME or names >= _RESULT else 0.0


def _lists_in(document: object) -> dict[str, list[JsonObject]]:
    """The results of each evaluator, as `BatchEvalRunner` groups them; none where it is another."""
    if not isinstance(document, dict):
        return {}
    is_grouped = document and all(
        is_records(one) and all(set(result) >= _RESULT for result in one)
        for one in document.values()
    )
    return document if is_grouped else {}


def read_llama_index(source: Source) -> list[ScoreFile]:
    """Read LlamaIndex's results.

    A frame has a pipeline in its column ``rag`` and one metric without a name. Lists of results
    are one pipeline, with a metric an evaluator where they are grouped by it.

    Parameters
    ----------
    source : Source
        The file.

    Raises
    ------
    ReaderError
        If it is none of these.
    """
    grouped = _lists_in(source.document_or_none())
    if grouped:
        return [_of_evaluators(source.stem, grouped)]
    table = read_table(source)
    names = set(map(str, table.frame))
    rows = _rows_of(table.frame)
    if names >= _RESULT:
        found = [_of_evaluators(source.stem, {"score": rows})]
    elif names >= _FRAME:
        found = _of_frame(source.stem, rows)
    else:
        raise source.error(
            "expected the columns rag, query, scores and feedbacks, or results with query, "
            "response, passing, feedback and score"
        )
    return [ScoreFile(one.frame, one.pipeline, one.metrics, one.metric_columns,
                      (*table.notes, *one.notes)) for one in found]  # fmt: skip


def _rows_of(frame: pd.DataFrame) -> list[JsonObject]:
    cells = {str(name): parse_objects(frame[name].tolist()) for name in frame}
    rows = zip(*cells.values(), strict=True)
    return [dict(zip(cells, map(none_if_nan, row), strict=True)) for row in rows]


def _of_frame(stem: str, rows: list[JsonObject]) -> list[ScoreFile]:
    groups: dict[str, list[JsonObject]] = {}
    for row in rows:
        name = stem if row["rag"] is None else str(row["rag"])
        result = {key: cell for key, cell in row.items() if key not in ("rag", *_RENAMED)}
        result |= {new: row.get(old) for old, new in _RENAMED.items()}
        groups.setdefault(name, []).append(result)
    return [_of_evaluators(name, {"score": group}) for name, group in groups.items()]


_RENAMED = {"answer": "response", "scores": "score", "feedbacks": "feedback"}


# -- lists of results


def _of_evaluators(pipeline: str, grouped: Mapping[str, Iterable[JsonObject]]) -> ScoreFile:
    """The results of all evaluators, put together by their questions."""
    judgements: dict[tuple[str | None, int], dict[str, Judgement]] = {}
    details: dict[tuple[str | None, int], dict[str, Any]] = {}
    metrics: dict[str, Override] = {}
    for name, results in grouped.items():
        given = list(results)
        scored_by = "score" if any(one.get("score") is not None for one in given) else "passing"
        if scored_by == "passing":
            metrics[name] = _PASSING
        seen: Counter[str | None] = Counter()
        for one in given:
            question = json_text(one.get("query"))
            key = question, seen[question]
            seen[question] += 1
            judgements.setdefault(key, {})[name] = _judgement(one, scored_by)
            told = details.setdefault(key, {"question": question})
            _add_details(told, one, "" if name == "score" else f"{name}.")
    found = judgement_columns(judgements.values())
    others = drop_empty(columns_of(details.values()))
    frame = frame_of(rename_clashes(others, found.columns, "result") | found.columns)
    metrics |= {name: _GRADED for name in found.metrics if _is_graded(name, found.columns[name])}
    told_metrics = {name: one for name, one in metrics.items() if name in found.metrics}
    notes = (*found.notes, *_notes(grouped, told_metrics))
    return ScoreFile(frame, pipeline, told_metrics, found.metrics, notes)


def _is_graded(name: str, scores: Iterable[float]) -> bool:
    """Whether these are the grades from 1 to 5 that LlamaIndex's correctness evaluator gives."""
    low, high = 1.0, 5.0
    given = [score for score in scores if not math.isnan(score)]
    is_within = all(low <= score <= high for score in given)
    return (
        normalise_name(name) == "correctness" and is_within and any(score > low for score in given)
    )


def _judgement(result: JsonObject, scored_by: str) -> Judgement:
    if result.get("invalid_result") is True:
        reasons = (text_or_none(result.get(key)) for key in ("invalid_reason", "feedback"))
        return Judgement(None, next((one for one in reasons if one), None), is_failed=True)
    return Judgement(result.get(scored_by), text_or_none(result.get("feedback")))


def _add_details(told: dict[str, Any], result: JsonObject, prefix: str) -> None:
    """What of a result is no score; the answer of the first evaluator that has one."""
    for key, ours in _TEXTS.items():
        if told.get(ours) is None:
            told[ours] = result.get(key)
    told[f"{prefix}passing"] = result.get("passing")
    for key, value in result.items():
        if key not in _USED:
            told[f"{prefix}{key}"] = value


def _notes(grouped: Mapping[str, object], metrics: Mapping[str, object]) -> list[str]:
    notes = [
        f"{name!r} is taken for LlamaIndex's grades from 1 to 5"
        if told is _GRADED
        else f"{name!r} has no scores: whether it passed is the score"
        for name, told in metrics.items()
    ]
    if set(grouped) == {"score"}:
        notes.append("the file does not name its metric; it is called 'score'")
    return notes


LLAMA_INDEX = Reader(
    "llama_index",
    "LlamaIndex: frames of get_eval_results_df (column rag), EvaluationResult lists as JSON",
    _recognise,
    read_llama_index,
    ("encoding",),
    example="eval_results.csv",
)

"""LlamaIndex: frames of `get_eval_results_df`, lists of results of answers and of retrievers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import json_text, parse_rows, text_or_none
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.frameworks.llama_retrieval import is_retrieval_file, read_retrieval
from rageval_report.readers.json_shapes import is_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import Override, normalise_name
from rageval_report.types import JsonObject

_FRAME = frozenset(("rag", "query", "scores", "feedbacks"))
_RESULT = frozenset(("query", "response", "passing", "feedback", "score"))
_PASSING: Override = {"kind": "binary", "description": "Whether the evaluator passed the answer."}
_GRADED: Override = {"kind": "real", "bounds": (1.0, 5.0)}
_TEXTS = {"query": "question", "response": "answer", "contexts": "contexts"}
_USED = {*_TEXTS, "score", "feedback", "passing", "invalid_result", "invalid_reason"}


def _recognise(source: Source) -> float:
    if _lists_in(source.document_or_none()) or is_retrieval_file(source):
        return 0.95
    names = frozenset(header_of(source))
    return 0.95 if names >= _FRAME or names >= _RESULT else 0.0


def _lists_in(document: object) -> dict[str, list[JsonObject]]:
    """The results by evaluator, as `BatchEvalRunner` groups them; none for another document."""
    if not isinstance(document, dict):
        return {}
    is_grouped = document and all(
        is_records(results) and all(set(result) >= _RESULT for result in results)
        for results in document.values()
    )
    return document if is_grouped else {}


def read_llama_index(source: Source) -> list[ScoreFile]:
    """Read LlamaIndex's results.

    A frame names the pipeline in its column ``rag`` and has one metric without a name. Lists of
    results are one pipeline, with one metric per evaluator if they are grouped by evaluators.
    Results of a retriever have one metric per entry of their ``metric_dict``.

    Raises
    ------
    ReaderError
        If the file is none of these.
    """
    if is_retrieval_file(source):
        return read_retrieval(source)
    grouped = _lists_in(source.document_or_none())
    if grouped:
        return [_read_evaluators(source.stem, grouped)]
    table = read_table(source)
    names = set(map(str, table.frame))
    rows = parse_rows(table.frame)
    if names >= _RESULT:
        files = [_read_evaluators(source.stem, {"score": rows})]
    elif names >= _FRAME:
        files = _read_frame(source.stem, rows)
    else:
        raise source.error(
            "expected the columns rag, query, scores and feedbacks, or results with query, "
            "response, passing, feedback and score"
        )
    return [replace(file, notes=(*table.notes, *file.notes)) for file in files]


def _read_frame(stem: str, rows: Iterable[JsonObject]) -> list[ScoreFile]:
    groups: dict[str, list[JsonObject]] = {}
    for row in rows:
        name = stem if row["rag"] is None else str(row["rag"])
        result = {key: cell for key, cell in row.items() if key not in ("rag", *_RENAMED)}
        result |= {new: row.get(old) for old, new in _RENAMED.items()}
        groups.setdefault(name, []).append(result)
    return [_read_evaluators(name, {"score": group}) for name, group in groups.items()]


_RENAMED = {"answer": "response", "scores": "score", "feedbacks": "feedback"}


# -- lists of results


def _read_evaluators(pipeline: str, grouped: Mapping[str, Sequence[JsonObject]]) -> ScoreFile:
    """The results of all evaluators, joined by their questions."""
    judgements: dict[tuple[str | None, int], dict[str, Judgement]] = {}
    details: dict[tuple[str | None, int], dict[str, Any]] = {}
    metrics: dict[str, Override] = {}
    for name, results in grouped.items():
        has_scores = any(result.get("score") is not None for result in results)
        # Some evaluators set only `passing`.
        scored_by = "score" if has_scores else "passing"
        if scored_by == "passing":
            metrics[name] = _PASSING
        seen: Counter[str | None] = Counter()
        for result in results:
            question = json_text(result.get("query"))
            # By question and its count, because results have no id and a question may occur twice.
            key = question, seen[question]
            seen[question] += 1
            judgements.setdefault(key, {})[name] = _judgement(result, scored_by)
            row_details = details.setdefault(key, {"question": question})
            _add_details(row_details, result, "" if name == "score" else f"{name}.")
    judged = judgement_columns(judgements.values())
    others = drop_empty(columns_of(details.values()))
    frame = frame_of(rename_clashes(others, judged.columns, "result") | judged.columns)
    metrics |= {name: _GRADED for name in judged.metrics if _is_graded(name, judged.columns[name])}
    overrides = {name: metric for name, metric in metrics.items() if name in judged.metrics}
    notes = (*judged.notes, *_notes(grouped, overrides))
    return ScoreFile(frame, pipeline, overrides, judged.metrics, notes)


def _is_graded(name: str, scores: Iterable[float]) -> bool:
    """Whether these are the grades from 1 to 5 that LlamaIndex's correctness evaluator gives."""
    low, high = 1.0, 5.0
    present = [score for score in scores if not math.isnan(score)]
    is_within = all(low <= score <= high for score in present)
    return (
        normalise_name(name) == "correctness"
        and is_within
        # All 1.0 may also be perfect shares from 0 to 1.
        and any(score > low for score in present)
    )


def _judgement(result: JsonObject, scored_by: str) -> Judgement:
    # LlamaIndex marks a judge's unreadable answer so, and its frames then have a blank score.
    if result.get("invalid_result") is True:
        reasons = (text_or_none(result.get(key)) for key in ("invalid_reason", "feedback"))
        return Judgement(None, next((reason for reason in reasons if reason), None), is_failed=True)
    return Judgement(result.get(scored_by), text_or_none(result.get("feedback")))


def _add_details(details: dict[str, Any], result: JsonObject, prefix: str) -> None:
    """Add the fields of a result that are not its score; the first evaluator's texts stay."""
    for key, ours in _TEXTS.items():
        if details.get(ours) is None:
            details[ours] = result.get(key)
    details[f"{prefix}passing"] = result.get("passing")
    for key, value in result.items():
        if key not in _USED:
            details[f"{prefix}{key}"] = value


def _notes(grouped: Mapping[str, object], metrics: Mapping[str, object]) -> list[str]:
    notes = [
        f"{name!r} is read as LlamaIndex's grades from 1 to 5"
        if override is _GRADED
        else f"{name!r} has no scores: the score is whether it passed"
        for name, override in metrics.items()
    ]
    if set(grouped) == {"score"}:
        notes.append("the file does not name its metric; it is called 'score'")
    return notes


LLAMA_INDEX = Reader(
    "llama_index",
    "LlamaIndex: frames of get_eval_results_df (column rag), lists of results",
    _recognise,
    read_llama_index,
    ("encoding",),
    example="eval_results.csv",
)

"""LlamaIndex: frames of `get_eval_results_df`, lists of results of answers and of retrievers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import json_text, parse_rows, text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    first_fields,
    groups_of,
    read_rows,
    without,
)
from rageval_report.readers.frameworks.rows import (
    ON_GRADES,
    Judgement,
    are_grades,
    drop_empty,
    judgement_columns,
    overrides_of,
    score_file,
)
from rageval_report.readers.json_shapes import ShapeError, is_records
from rageval_report.readers.record_columns import columns_of
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import Override, normalise_name
from rageval_report.types import JsonObject

_FRAME = frozenset(("rag", "query", "scores", "feedbacks"))
_RESULT = frozenset(("query", "response", "passing", "feedback", "score"))
_PASSING: Override = {"kind": "binary", "description": "Whether the evaluator passed the answer."}
_TEXTS = {"query": "question", "response": "answer", "contexts": "contexts"}
_USED = {*_TEXTS, "score", "feedback", "passing", "invalid_result", "invalid_reason"}
_RENAMED = {"answer": "response", "scores": "score", "feedbacks": "feedback"}


def _recognise(source: Source) -> float:
    document, names = source.document_or_none(), frozenset(header_of(source))
    is_list = _grouped(document, _RESULT.issubset) or _is_retrieval(source)
    return SURE if is_list or names >= _FRAME or names >= _RESULT else 0.0


def _is_retrieval(source: Source) -> bool:
    document = source.document_or_none()
    return bool(_grouped(document, _are_retrieved)) or _are_retrieved(first_fields(source))


def _grouped(
    document: object, fits: Callable[[Iterable[str]], bool]
) -> dict[str, list[JsonObject]]:
    """The results by evaluator or retriever, as runners group them; none for another document."""
    if not isinstance(document, dict):
        return {}
    is_grouped = all(is_records(rows) and all(map(fits, rows)) for rows in document.values())
    return document if is_grouped else {}


def _read_llama_index(source: Source) -> list[ScoreFile]:
    """Read LlamaIndex's results."""
    if _is_retrieval(source):
        groups = _grouped(source.document_or_none(), _are_retrieved)
        return [
            _read_retrieved(name, rows)
            for name, rows in (groups or {source.stem: read_rows(source)}).items()
        ]
    grouped = _grouped(source.document_or_none(), _RESULT.issubset)
    if grouped:
        return [_read_evaluators(source.stem, grouped)]
    table = read_table(source)
    names, rows = set(map(str, table.frame)), parse_rows(table.frame)
    if names >= _RESULT:
        files = [_read_evaluators(source.stem, {"score": rows})]
    elif names >= _FRAME:
        pipelines = groups_of(rows, lambda row: json_text(row["rag"]) or source.stem)
        files = [
            _read_evaluators(name, {"score": [_result(row) for row in group]})
            for name, group in pipelines.items()
        ]
    else:
        raise source.error(
            "expected the columns rag, query, scores and feedbacks, or results with query, "
            "response, passing, feedback and score"
        )
    return [replace(file, notes=(*table.notes, *file.notes)) for file in files]


def _result(row: JsonObject) -> JsonObject:
    """A row of a frame with the names of a result."""
    renamed = {new: row.get(old) for old, new in _RENAMED.items()}
    return {**without(row, {"rag", *_RENAMED}), **renamed}


# -- results of evaluators of answers


def _read_evaluators(pipeline: str, grouped: Mapping[str, Sequence[JsonObject]]) -> ScoreFile:
    """The results of all evaluators, joined by their questions."""
    judgements: dict[tuple[str | None, int], dict[str, Judgement]] = {}
    details: dict[tuple[str | None, int], dict[str, Any]] = {}
    passing = set()
    for name, results in grouped.items():
        has_scores = any(result.get("score") is not None for result in results)
        if not has_scores:  # some evaluators set only `passing`
            passing.add(name)
        seen: Counter[str | None] = Counter()
        for result in results:
            question = json_text(result.get("query"))
            # By question and its count, because results have no id and a question may occur twice.
            key = question, seen[question]
            seen[question] += 1
            score = result.get("score" if has_scores else "passing")
            judgements.setdefault(key, {})[name] = _judgement(result, score)
            row = details.setdefault(key, {"question": question})
            for theirs, ours in _TEXTS.items():  # the first evaluator's texts stay
                if row.get(ours) is None:
                    row[ours] = result.get(theirs)
            prefix = "" if name == "score" else f"{name}."
            row[f"{prefix}passing"] = result.get("passing")
            row |= {f"{prefix}{key}": value for key, value in without(result, _USED).items()}
    judged = judgement_columns(judgements.values())
    overrides = overrides_of(lambda name, scores: _override(name, scores, passing), judged)
    notes = [
        f"{name!r} is read as LlamaIndex's grades from 1 to 5"
        if override is ON_GRADES
        else f"{name!r} has no scores: the score is whether it passed"
        for name, override in overrides.items()
    ]
    if set(grouped) == {"score"}:
        notes.append("the file does not name its metric; it is called 'score'")
    return score_file(
        pipeline,
        judged,
        drop_empty(columns_of(details.values())),
        origin="result",
        metrics=overrides,
        notes=notes,
    )


def _override(name: str, scores: list[float], passing: set[str]) -> Override | None:
    """The grades from 1 to 5 that LlamaIndex's correctness evaluator gives, or verdicts."""
    if normalise_name(name) == "correctness" and are_grades(scores):
        return ON_GRADES
    return _PASSING if name in passing else None


def _judgement(result: JsonObject, score: object) -> Judgement:
    feedback = text_or_none(result.get("feedback"))
    # LlamaIndex marks a judge's unreadable answer so, and its frames then have a blank score.
    if result.get("invalid_result") is True:
        return Judgement(None, text_or_none(result.get("invalid_reason")) or feedback, True)
    return Judgement(score, feedback)


# -- results of retrievers

_METRICS, _SCORE = "metric_dict", ".score"


def _are_retrieved(names: Iterable[str]) -> bool:
    keys = set(names)
    has_metrics = _METRICS in keys or any(
        name.startswith(f"{_METRICS}.") and name.endswith(_SCORE) for name in keys
    )
    return has_metrics and {"query", "expected_ids", "retrieved_ids"} <= keys


def _read_retrieved(name: str, rows: Sequence[JsonObject]) -> ScoreFile:
    if not all(map(_are_retrieved, rows)):
        raise ShapeError(f"each result must have query, expected_ids, retrieved_ids and {_METRICS}")
    return _RETRIEVED.score_file(name, rows)


def _scores(row: Mapping[str, Any]) -> dict[str, Judgement]:
    """The scores in ``metric_dict``, or in the columns ``metric_dict.<metric>.score``."""
    nested, before = row.get(_METRICS), f"{_METRICS}."
    scores = {
        str(metric): result.get("score") if isinstance(result, dict) else result
        for metric, result in (nested.items() if isinstance(nested, dict) else ())
    }
    scores |= {
        key.removeprefix(before).removesuffix(_SCORE): value
        for key, value in row.items()
        if key.startswith(before) and key.endswith(_SCORE)
    }
    return {metric: Judgement(score) for metric, score in scores.items()}


_RETRIEVED = Format(
    "llama_index",
    "LlamaIndex: frames of get_eval_results_df (column rag), lists of results",
    "eval_results.csv",
    judge=lambda rows: map(_scores, rows),
    texts={
        "question": "query",
        "relevant": "expected_ids",
        "retrieved": "retrieved_ids",
        "contexts": "retrieved_texts",
    },
    others="result",
    own=(_METRICS,),
    empty="the results of {name!r} have no score in " + _METRICS,
)
LLAMA_INDEX = Reader(
    _RETRIEVED.name,
    _RETRIEVED.sentence,
    _recognise,
    _read_llama_index,
    ("encoding",),
    example=_RETRIEVED.example,
)

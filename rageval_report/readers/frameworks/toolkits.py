"""Toolkits that score RAG answers: RAGChecker, Tonic Validate, FlashRAG, AutoNuggetizer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile
from rageval_report.readers.cell_values import json_text, number_or_none, parse_list, text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    at,
    described,
    first_fields,
    first_row,
    groups_of,
    metrics_of,
    read_rows,
    reader_of,
    run_name,
    without,
)
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records, is_records
from rageval_report.readers.run_folders import INTERMEDIATE_DATA
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import Override
from rageval_report.types import JsonObject

# -- RAGChecker

_NEEDS = {
    "answer": "the answer makes no claim",
    "reference": "the reference makes no claim",
    "context": "nothing was retrieved",
    "use": "no claim of the reference was retrieved",
}
_NEEDED = described("ragchecker")


def _is_ragchecker(source: Source) -> float:
    rows = at(source.document_or_none(), "results")
    fields = {"query_id", "query", "gt_answer", "response"}
    return SURE if is_records(rows) and all(row.keys() >= fields for row in rows) else 0.0


def _read_ragchecker(source: Source) -> list[ScoreFile]:
    """Read the JSON that RAGChecker writes after the evaluation."""
    rows = check_records(check_object(source.document, "the document").get("results"), "results")
    if not rows:
        raise source.error("expected RAGChecker's results: a list of objects")
    if not any(map(_claim_scores, rows)):
        raise source.error(
            f"these {len(rows)} results have no metrics: the file is RAGChecker's input, or was "
            "checked but not evaluated. Evaluate it with RAGChecker, and pass the resulting file"
        )
    return [_RAGCHECKER.score_file(source.stem, list(map(_with_documents, rows)), _notes(rows))]


def _with_documents(row: JsonObject) -> JsonObject:
    contexts = row.get("retrieved_context")
    documents = contexts if isinstance(contexts, list) else []
    ids = [each.get("doc_id") if isinstance(each, dict) else None for each in documents]
    needs = {name: _missing_need(name, score, row) for name, score in _claim_scores(row).items()}
    return {
        **{key: value for key, value in row.items() if value is not None},
        "scores": {
            name: {"score": "n/a", "reason": needs[name]} if needs[name] else score
            for name, score in _claim_scores(row).items()
        },
        "texts": [each.get("text") if isinstance(each, dict) else each for each in documents],
        "documents": ids if any(each is not None for each in ids) else None,
    }


def _claim_scores(row: JsonObject) -> JsonObject:
    return check_object(row.get("metrics"), f"the metrics of query {row.get('query_id')!r}")


def _missing_need(name: str, score: object, row: JsonObject) -> str | None:
    """Why a score of 0 had nothing to count; None if it had something."""
    # RAGChecker (0.1.9) writes 0.0 both for a bad score and for nothing to score.
    if isinstance(score, bool) or score != 0:
        return None
    claims = row.get("retrieved2answer")
    labels = [label for claim in claims or () if isinstance(claim, list) for label in claim]
    is_missing = {
        "answer": [] in (row.get("response_claims"), row.get("answer2response")),
        "reference": [] in (row.get("gt_answer_claims"), row.get("response2answer")),
        "context": row.get("retrieved_context") == [],
        "use": isinstance(claims, list) and bool(labels) and "Entailment" not in labels,
    }
    needs = (need for need in _NEEDS if need in _NEEDED.get(name, ()))
    return next((_NEEDS[need] for need in needs if is_missing[need]), None)


def _notes(rows: Sequence[JsonObject]) -> Iterator[str]:
    empty = Counter(
        name
        for row in rows
        for name, score in _claim_scores(row).items()
        if _missing_need(name, score, row)
    )
    if empty:
        counts = ", ".join(f"{name} ({empty[name]})" for name in _NEEDED if empty[name])
        yield (
            "RAGChecker wrote 0 if there was nothing to score, and its own means count that; here "
            f"the score is not applicable: {counts}"
        )


_RAGCHECKER = Format.of("ragchecker", metrics=metrics_of("ragchecker"))
RAGCHECKER = reader_of("ragchecker", _is_ragchecker, _read_ragchecker)


# -- Tonic Validate

# The fields of a row; in a run its scores are an object, in a table they are columns.
_MARKS = {"reference_question", "llm_answer"}
_METRICS = metrics_of("tonic_validate")


def _is_tonic_validate(source: Source) -> float:
    is_table = set(header_of(source)) >= {*_MARKS, "reference_answer"}
    return SURE if _tonic_rows(source.document_or_none()) or is_table else 0.0


def _tonic_rows(document: object) -> list[JsonObject]:
    """The rows of a run: as a list, as the run holds them, or as they are uploaded."""
    if isinstance(document, dict):
        document = document.get("run_data", document.get("data"))
    is_run = is_records(document) and all(row.keys() >= {*_MARKS, "scores"} for row in document)
    return document if is_records(document) and is_run else []


def _read_tonic_validate(
    source: Source, *, columns: Iterable[str] | None = None, query_id: str | None = None
) -> list[ScoreFile]:
    """Read a run of Tonic Validate: its JSON, or a table with one column per metric."""
    rows = _tonic_rows(source.document_or_none())
    if rows:
        run = source.document if isinstance(source.document, dict) else {}
        judged_by = [f"judged by {run['llm_evaluator']}"] if run.get("llm_evaluator") else []
        return [_TONIC.score_file(source.stem, rows, judged_by)]
    if not _MARKS & set(header_of(source)):
        raise source.error(
            "expected a run of Tonic Validate: JSON with run_data, or a table with the columns "
            "reference_question and llm_answer"
        )
    table = read_table(source, columns=columns, query_id=query_id)
    frame = table.frame.rename(columns={theirs: ours for ours, theirs in _TONIC.texts.items()})
    if "contexts" in frame:
        frame = frame.assign(contexts=pd.Series(map(parse_list, frame["contexts"]), dtype=object))
    metrics = {name: _METRICS[name] for name in frame if name in _METRICS}
    return [ScoreFile(frame, source.stem, metrics=metrics, notes=table.notes)]


_TONIC = Format.of("tonic_validate", metrics=_METRICS)
TONIC_VALIDATE = reader_of(
    "tonic_validate", _is_tonic_validate, _read_tonic_validate, "columns", "query_id"
)


# -- FlashRAG

_NAMES = described("flashrag")


def _is_flashrag(source: Source) -> float:
    row = first_row(source)
    return SURE if row.keys() >= _NAMES["item"] and isinstance(row["output"], dict) else 0.0


def _read_flashrag(source: Source) -> list[ScoreFile]:
    """Read ``intermediate_data.json``, which FlashRAG's evaluator saves."""
    items = [_item(row, position) for position, row in enumerate(read_rows(source), 1)]
    if not any(item["scores"] for item in items):
        raise source.error(
            "no item has the field output.metric_score: evaluate the run with "
            "save_intermediate_data: True, then read the file that FlashRAG's evaluator writes"
        )
    return [_FLASHRAG.score_file(run_name(source, INTERMEDIATE_DATA), items)]


def _item(row: JsonObject, position: int) -> JsonObject:
    """The item with its scores, its counts and the texts of the documents apart."""
    if not row.keys() >= _NAMES["item"]:
        missing = named(sorted(_NAMES["item"] - row.keys()))
        raise ShapeError(f"item {position} is not an item of FlashRAG: it lacks {missing}")
    output = check_object(row["output"], f"output of item {position}")
    scores = check_object(output.get("metric_score"), f"metric_score of item {position}")
    query_id, retrieved = row.get("id"), output.get("retrieval_result")
    others = without(output, ["metric_score", "pred", "retrieval_result"])
    return {
        **row,
        "query_id": query_id if isinstance(query_id, str | int) else None,
        "scores": without(scores, _NAMES["counts"]),
        "metadata": row.get("metadata") or None,
        "contexts": [at(document, "contents|text") for document in retrieved]
        if is_records(retrieved)
        else retrieved,
        "others": {key: scores[key] for key in scores if key in _NAMES["counts"]} | others,
    }


def _flashrag_scale(name: str, scores: Sequence[Any]) -> Override | None:
    if name not in _NAMES["proportions"] or not all(0 <= score <= 1 for score in scores):
        return None
    return {"kind": "proportion", "bounds": (0.0, 1.0), "source": "FlashRAG"}


_FLASHRAG = Format.of("flashrag", metrics=_flashrag_scale)
FLASHRAG = reader_of("flashrag", _is_flashrag, _read_flashrag)


# -- AutoNuggetizer

# The scores: of vital nuggets only or of all; partial support counts half, or not if strict.
_NUGGET_SCORES = {
    "strict_vital_score": (True, True),
    "strict_all_score": (False, True),
    "vital_score": (True, False),
    "all_score": (False, False),
}
_PROPORTION: Override = {"kind": "proportion", "bounds": (0.0, 1.0), "source": "AutoNuggetizer"}
_SUPPORT = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}
_NEAR = 1e-9


def _is_autonuggetizer(source: Source) -> float:
    names, nuggets = first_fields(source), first_row(source).get("nuggets")
    are_assigned = is_records(nuggets) and nuggets[0].keys() >= {"importance", "assignment"}
    is_scored = names >= _NUGGET_SCORES.keys() or are_assigned
    return SURE if "qid" in names and is_scored else 0.0


def _read_autonuggetizer(source: Source) -> list[ScoreFile]:
    """Read the metrics of AutoNuggetizer, or the assignments from which they are computed."""
    rows = [_topic(row, position) for position, row in enumerate(read_rows(source), 1)]
    groups = groups_of(rows, lambda row: text_or_none(row.get("run_id")) or source.stem)
    # The row "all" holds the means of all topics.
    topics = {
        name: [row for row in group if row["qid"] != "all" or "nuggets" in row]
        for name, group in groups.items()
    }
    if not any(topics.values()):
        raise source.error("the file holds only the means of all topics; write one row per topic")
    return [
        _TOPICS.score_file(name, group, _notes_of_means(group, groups[name][-1]))
        for name, group in topics.items()
        if group
    ]


def _topic(row: JsonObject, position: int) -> JsonObject:
    """The row with its scores, or those of its nuggets and how many these are."""
    if not isinstance(row.get("qid"), str | int):
        raise ShapeError(f"row {position} has no qid; expected a topic with its scores")
    row, nuggets = {**row, "qid": str(row["qid"])}, row.get("nuggets")
    if nuggets is None or row.keys() >= _NUGGET_SCORES.keys():
        return {**row, "scores": {name: row.get(name) for name in _NUGGET_SCORES}}
    if not isinstance(nuggets, list) or not all(isinstance(each, dict) for each in nuggets):
        raise ShapeError(f"nuggets of row {position} must be a list of objects")
    vital = [nugget for nugget in nuggets if nugget.get("importance") == "vital"]
    scores = {
        name: _share(vital if is_vital else nuggets, is_strict=is_strict)
        for name, (is_vital, is_strict) in _NUGGET_SCORES.items()
    }
    return {**row, "scores": scores, "n_nuggets": len(nuggets), "n_vital_nuggets": len(vital)}


def _share(nuggets: Sequence[JsonObject], *, is_strict: bool) -> dict[str, object]:
    if not nuggets:
        return {"score": "n/a", "reason": "the topic has no such nugget"}
    labels = [json_text(nugget.get("assignment")) for nugget in nuggets]
    unknown = [label for label in labels if label not in _SUPPORT]
    if unknown:
        n = f"{len(unknown)} of {len(labels)}"
        return {"error": f"{n} nuggets are not assigned: {unknown[0]!r}"}
    points = [_SUPPORT[str(label)] for label in labels]
    return {"score": fmean(map(math.floor, points) if is_strict else points)}


def _notes_of_means(rows: Sequence[JsonObject], total: Mapping[str, Any]) -> Iterator[str]:
    if total in rows:
        return
    yield "the row 'all' holds the means of all topics and is left out"
    for name in _NUGGET_SCORES:
        scores = [number_or_none(row["scores"].get(name)) for row in rows]
        present = [score for score in scores if score is not None]
        mean, stated = fmean(present) if present else math.nan, number_or_none(total.get(name))
        # `not <=`, so that a NaN counts as a difference.
        if stated is not None and not abs(stated - mean) <= _NEAR:
            yield f"the row 'all' says {name} {stated:g}; the mean of its rows is {mean:g}"


_TOPICS = Format.of("autonuggetizer", metrics=dict.fromkeys(_NUGGET_SCORES, _PROPORTION))
AUTONUGGETIZER = reader_of("autonuggetizer", _is_autonuggetizer, _read_autonuggetizer)

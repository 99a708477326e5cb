"""FlashRAG: the items of a run with their scores, as its evaluator saves them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    at,
    first_row,
    read_rows,
    run_name,
    without,
)
from rageval_report.readers.frameworks.rows import Judgement, judge
from rageval_report.readers.json_shapes import ShapeError, check_object, is_records
from rageval_report.readers.run_folders import INTERMEDIATE_DATA
from rageval_report.scores.metric import Override
from rageval_report.types import JsonObject

_ITEM = frozenset(("id", "question", "golden_answers", "output"))
_SCORES, _RETRIEVED = "metric_score", "retrieval_result"
_COUNTS = frozenset(("input_tokens",))  # the metrics of FlashRAG that are counts
_PROPORTIONS = frozenset(
    (
        *("em", "f1", "acc", "recall", "precision", "bleu", "retrieval_recall"),
        *("retrieval_precision", "rouge-1", "rouge-2", "rouge-l", "gaokao_acc"),
        *("zh_rouge-1", "zh_rouge-2", "zh_rouge-l"),
    )
)


def _recognise(source: Source) -> float:
    row = first_row(source)
    return SURE if row.keys() >= _ITEM and isinstance(row["output"], dict) else 0.0


def _read_flashrag(source: Source) -> list[ScoreFile]:
    """Read ``intermediate_data.json``, which FlashRAG's evaluator saves."""
    items = [_item(row, position) for position, row in enumerate(read_rows(source), 1)]
    if not any(item["scores"] for item in items):
        raise source.error(
            f"no item has the field output.{_SCORES}: evaluate the run with "
            "save_intermediate_data: True, then read the file that FlashRAG's evaluator writes"
        )
    return [_FLASHRAG.score_file(run_name(source, INTERMEDIATE_DATA), items)]


def _item(row: JsonObject, position: int) -> JsonObject:
    """The item with its scores, its counts and the texts of the documents apart."""
    if not row.keys() >= _ITEM:
        missing = named(sorted(_ITEM - row.keys()))
        raise ShapeError(f"item {position} is not an item of FlashRAG: it lacks {missing}")
    output = check_object(row["output"], f"output of item {position}")
    scores = check_object(output.get(_SCORES), f"{_SCORES} of item {position}")
    counts = {name: value for name, value in scores.items() if name in _COUNTS}
    query_id = row.get("id")
    return {
        **row,
        "query_id": query_id if isinstance(query_id, str | int) else None,
        "scores": scores,
        "metadata": row.get("metadata") or None,
        "contexts": _contexts(output.get(_RETRIEVED)),
        "others": {**counts, **without(output, [_SCORES, "pred", _RETRIEVED])},
    }


def _contexts(retrieved: object) -> object:
    """The texts of the retrieved documents."""
    if not is_records(retrieved):
        return retrieved
    return [at(document, "contents|text") for document in retrieved]


def _scores(rows: Sequence[JsonObject]) -> Iterator[dict[str, Judgement]]:
    for row in rows:
        scores = without(row["scores"], _COUNTS)
        yield {key: judge(score, None, "FlashRAG wrote no score") for key, score in scores.items()}


def _notes(rows: Sequence[JsonObject]) -> Iterator[str]:
    counts = list(dict.fromkeys(name for row in rows for name in row["scores"] if name in _COUNTS))
    if counts:
        yield f"kept as details, because they are counts: {named(counts)}"


def _override(name: str, scores: Sequence[Any]) -> Override | None:
    if name not in _PROPORTIONS or not all(0 <= score <= 1 for score in scores):
        return None
    return {"kind": "proportion", "bounds": (0.0, 1.0), "source": "FlashRAG"}


_FLASHRAG = Format(
    "flashrag",
    "FlashRAG: intermediate_data.json of a run, with output.metric_score of each item",
    INTERMEDIATE_DATA,
    judge=_scores,
    notes=_notes,
    metrics=_override,
    id="query_id",
    texts={
        "question": "question",
        "answer": "output.pred",
        "reference": "golden_answers",
        "contexts": "contexts",
        "metadata": "metadata",
    },
    nests={"output": "others"},
    is_one_pipeline=True,
    averages=False,
)
FLASHRAG = _FLASHRAG.reader(_recognise, _read_flashrag)

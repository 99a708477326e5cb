"""FlashRAG: the items of a run with their scores, as its evaluator saves them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import json_text
from rageval_report.readers.frameworks.files_beside import run_name
from rageval_report.readers.frameworks.json_rows import first_row, read_rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.json_shapes import ShapeError, check_object, is_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.readers.run_folders import INTERMEDIATE_DATA
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

_ITEM = frozenset(("id", "question", "golden_answers", "output"))
_SCORES = "metric_score"
# Metrics of FlashRAG that are counts.
_COUNTS = frozenset(("input_tokens",))
_PROPORTION: Override = {"kind": "proportion", "bounds": (0.0, 1.0), "source": "FlashRAG"}
_PROPORTIONS = frozenset(
    (
        *("em", "f1", "acc", "recall", "precision", "bleu", "retrieval_recall"),
        *("retrieval_precision", "rouge-1", "rouge-2", "rouge-l", "gaokao_acc"),
        *("zh_rouge-1", "zh_rouge-2", "zh_rouge-l"),
    )
)
_PREDICTIONS, _RETRIEVED = "pred", "retrieval_result"


def _recognise(source: Source) -> float:
    row = first_row(source)
    return 0.95 if row.keys() >= _ITEM and isinstance(row["output"], dict) else 0.0


def read_flashrag(source: Source) -> list[ScoreFile]:
    """Read ``intermediate_data.json``, which FlashRAG's evaluator saves.

    The scores are the entries of ``output.metric_score``; a file with the usual name is named after
    its folder. A score that is null has failed. ``input_tokens`` is a detail.

    Raises
    ------
    ReaderError
        If the file is broken, or no item has a score.
    ShapeError
        If an item has another shape than FlashRAG writes.
    """
    items = read_rows(source)
    scores = [_scores(item, position) for position, item in enumerate(items, 1)]
    if not any(scores):
        raise source.error(
            f"no item has the field output.{_SCORES}: evaluate the run with "
            "save_intermediate_data: True, then read the file that FlashRAG's evaluator writes"
        )
    judged = judgement_columns(
        {name: _judgement(value) for name, value in row.items() if name not in _COUNTS}
        for row in scores
    )
    details = drop_empty(columns_of(map(_details, items, scores)))
    ids = [item.get("id") for item in items]
    has_ids = all(isinstance(query_id, str | int) for query_id in ids)
    frame = frame_of(
        {
            **({QUERY_ID: list(map(str, ids))} if has_ids else {}),
            **rename_clashes(details, judged.columns, "output"),
            **judged.columns,
        }
    )
    return [
        ScoreFile(
            frame,
            run_name(source, INTERMEDIATE_DATA),
            metrics={name: _PROPORTION for name in judged.metrics if _is_share(name, judged)},
            metric_columns=judged.metrics,
            notes=(*judged.notes, *_notes(scores)),
            is_one_pipeline=True,
            totals="keep",
        )
    ]


def _scores(item: JsonObject, position: int) -> JsonObject:
    if not item.keys() >= _ITEM:
        missing = named(sorted(_ITEM - item.keys()))
        raise ShapeError(f"item {position} is not an item of FlashRAG: it lacks {missing}")
    output = check_object(item["output"], f"output of item {position}")
    return check_object(output.get(_SCORES), f"{_SCORES} of item {position}")


def _judgement(value: object) -> Judgement:
    if value is None:
        return Judgement(None, "FlashRAG wrote no score", is_failed=True)
    return Judgement(value)


def _is_share(name: str, judged: Any) -> bool:
    """Whether a metric is one of FlashRAG's from 0 to 1, and its scores lie there."""
    return name in _PROPORTIONS and all(
        0 <= score <= 1 for score in judged.columns[name] if score == score
    )


def _details(item: JsonObject, scores: Mapping[str, Any]) -> dict[str, Any]:
    output = item["output"] or {}
    metadata = item.get("metadata")
    others = {
        key: value
        for key, value in output.items()
        if key not in (_SCORES, _PREDICTIONS, _RETRIEVED)
    }
    return {
        "question": json_text(item.get("question")),
        "answer": output.get(_PREDICTIONS),
        "reference": item.get("golden_answers"),
        "contexts": _contexts(output.get(_RETRIEVED)),
        **({"metadata": metadata} if metadata else {}),
        **{name: value for name, value in scores.items() if name in _COUNTS},
        **others,
    }


def _contexts(retrieved: object) -> object:
    """The texts of the retrieved documents."""
    if not is_records(retrieved):
        return retrieved
    return [document.get("contents", document.get("text")) for document in retrieved]


def _notes(scores: Iterable[JsonObject]) -> Iterable[str]:
    counts = list(dict.fromkeys(name for row in scores for name in row if name in _COUNTS))
    if counts:
        yield f"kept as details, because they are counts: {named(counts)}"


FLASHRAG = Reader(
    "flashrag",
    "FlashRAG: intermediate_data.json of a run, with output.metric_score of each item",
    _recognise,
    read_flashrag,
    ("encoding",),
    example=INTERMEDIATE_DATA,
)

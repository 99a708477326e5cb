"""MTEB: the predictions of a retrieval task are scored; its results hold means and are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from rageval_report.errors import ReaderError
from rageval_report.files.source import Source
from rageval_report.metrics.ranking_options import RankingOptions
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import number_or_none, text_or_none
from rageval_report.readers.frameworks.format import SURE, without
from rageval_report.readers.json_shapes import ShapeError, check_object
from rageval_report.readers.rankings import RANKINGS, read_rankings
from rageval_report.types import JsonObject

if TYPE_CHECKING:
    from rageval_report.metrics.ranking_scores import DuplicateDocs

_META = "mteb_model_meta"
# Versions before 1.11 wrote their results under other names.
_RESULTS = (
    frozenset(("task_name", "mteb_version", "scores")),
    frozenset(("mteb_dataset_name", "mteb_version")),
)
_REFUSED = (
    "these are MTEB's means over all queries, without scores of queries. Evaluate with "
    'prediction_folder="predictions", and pass predictions/<task>_predictions.json with the '
    "judgments of the task: qrels="
)
_HOW = (
    "these are the rankings of an MTEB task, without scores of queries. Pass the judgments of the "
    'task: read_scores(path, qrels="qrels.tsv", metrics=["ndcg@10"]), or on the command line '
    "--qrels QRELS --metric ndcg@10"
)


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    keys = document.keys() if isinstance(document, dict) else frozenset()
    return SURE if _META in keys or any(keys >= names for names in _RESULTS) else 0.0


def _read_mteb(
    source: Source,
    *,
    metrics: object = None,
    duplicates: DuplicateDocs = "error",
    **options: Unpack[RankingOptions],
) -> list[ScoreFile]:
    """Score ``<task>_predictions.json`` of MTEB against the judgments of the task."""
    document = source.document
    if not isinstance(document, dict) or _META not in document:
        raise source.error(_REFUSED)
    parts = list(_rankings(document))
    if not parts:
        raise source.error("the file holds no predictions")
    if options.get("qrels") is None:
        raise source.error(_HOW)
    model = check_object(document[_META], _META)
    name = text_or_none(model.get("model_name")) or source.stem
    files = []
    for subset, split, ranking in parts:
        label = f"{name}, {subset}, {split}" if len(parts) > 1 else name
        inner = Source(json.dumps(ranking).encode())
        try:
            [file] = read_rankings(inner, metrics=metrics, duplicates=duplicates, **options)
        except ReaderError as exc:
            raise source.error(f"{subset}, {split}: {exc}") from exc
        config = {**model, "subset": subset, "split": split}
        files.append(replace(file, pipeline=label, config=config, is_one_pipeline=True))
    return files


def _rankings(document: JsonObject) -> Iterator[tuple[str, str, JsonObject]]:
    """The subset, the split and the ranking: ``{query: {document: score}}``."""
    for subset, splits in without(document, [_META]).items():
        for split, ranking in check_object(splits, f"the subset {subset!r}").items():
            # Other tasks predict labels or numbers, in lists.
            if not isinstance(ranking, dict):
                raise ShapeError(
                    f"the predictions of {subset!r}, {split!r} are not rankings; only those of "
                    "retrieval tasks can be scored by query"
                )
            for query_id, documents in ranking.items():
                scores = documents.values() if isinstance(documents, dict) else [None]
                if any(number_or_none(score) is None for score in scores):
                    raise ShapeError(
                        f"the documents of the query {query_id!r} in {subset!r}, {split!r} must "
                        "have scores that are numbers"
                    )
            yield str(subset), str(split), ranking


MTEB = Reader(
    "mteb",
    "MTEB: <task>_predictions.json of retrieval tasks, scored against qrels=",
    _recognise,
    _read_mteb,
    RANKINGS.options,
    example="SciFact_predictions.json",
)

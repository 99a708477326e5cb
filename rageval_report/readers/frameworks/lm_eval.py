"""lm-evaluation-harness: ``samples_<task>_<time>.jsonl``, ``results_<time>.json`` beside it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from rageval_report.errors import RagevalError, named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile, distinct_names
from rageval_report.readers.cell_values import is_blank, parse_objects
from rageval_report.readers.frameworks.format import SURE, at, groups_of, part, without
from rageval_report.readers.frameworks.rows import (
    Judgement,
    drop_empty,
    judgement_columns,
    overrides_of,
    rename_clashes,
    score_file,
    texts_of_ids,
)
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.record_columns import columns_of, rows_of
from rageval_report.readers.table_files import dialect
from rageval_report.scores.metric import Catalogue, Override
from rageval_report.scores.query_ids import QUERY_ID, QUESTION, first_named, id_column_of
from rageval_report.types import JsonObject

# The rows of one document, by the filter that was applied to its answer before scoring.
_Document = Mapping[str, JsonObject]

_LINE = frozenset(("doc_id", "doc", "target", "resps", "filtered_resps"))
_OBJECTS = ("doc", "arguments", "resps", "filtered_resps", "metrics")
_HASHES = ("doc_hash", "prompt_hash", "target_hash")
_OWN = frozenset((*_LINE, *_OBJECTS, *_HASHES, "filter", "index"))
_NO_FILTER = "none"
_PREDICTED_ONLY = "bypass"  # lm-eval writes it with --predict_only, which scores nothing

# lm-eval keeps each data set's own names: problem (MATH), ctx (HellaSwag), goal (PIQA), premise
# (COPA, NLI).
_QUESTIONS = (*QUESTION, "problem", "prompt", "ctx", "goal", "sentence", "premise")
_TAKEN = frozenset((QUERY_ID, "question", "answer", "reference", "doc_id"))

# The time of the run ends the names of all files that it wrote.
_TIME = re.compile(r"_(?P<time>\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?)$")
_LARGEST = 1 << 26  # results files are small; a larger file is something else


def _read_lm_eval(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read the samples of a task: one pipeline."""
    rows = _rows_of(frame)
    filters = list(dict.fromkeys(map(_filter_of, rows)))
    documents = _documents(rows)
    names = _metrics_of(rows)
    scored = [name for name, is_scored in names.items() if is_scored]
    if not scored:
        raise ShapeError(
            f"the metrics {named(names)} have no scores of documents; was the run made with "
            "--predict_only, or does the metric need all documents at once?"
        )
    several = len(filters) > 1
    columns = {
        (f"{metric}({name})" if several else metric): (metric, name)
        for metric in scored
        for name in filters
    }
    judged = judgement_columns(
        {
            column: Judgement(document.get(name, {}).get(metric))
            for column, (metric, name) in columns.items()
        }
        for document in documents
    )
    results, notes = _results_beside(source, scored)
    details, ids, id_note = _details(documents)
    unscored = [name for name in names if name not in scored]
    if several:
        notes.append(f"the scores of each filter are a metric of their own: {named(filters)}")
    elif filters != [_NO_FILTER]:
        notes.append(f"answers were scored after the filter {filters[0]!r}")
    if unscored:
        notes.append(f"left out, because they have no scores of documents: {named(unscored)}")
    if results.n_samples not in (None, len(documents)):
        notes.append(
            f"the file contains {len(documents)} documents; the results in the same folder say "
            f"that {results.n_samples} were evaluated"
        )
    return [
        score_file(
            results.pipeline or source.stem,
            judged,
            details,
            ids=ids,
            origin="doc",
            metrics=overrides_of(
                lambda name, scores: _override(columns[name][0], name, scores, results), judged
            ),
            notes=(id_note, *notes),
            averages=False,
        )
    ]


def _rows_of(frame: pd.DataFrame) -> list[JsonObject]:
    """The lines; in a CSV their objects are texts."""
    columns = {str(name): frame[name].tolist() for name in frame}
    columns |= {name: parse_objects(columns[name]) for name in _OBJECTS if name in columns}
    return [
        {name: cell for name, cell in row.items() if not is_blank(cell)} for row in rows_of(columns)
    ]


def _filter_of(row: JsonObject) -> str:
    return str(row.get("filter", _NO_FILTER))


def _documents(rows: Iterable[JsonObject]) -> list[_Document]:
    """The rows of each document, by filter; ``doc_id`` is the document's number in the task."""
    documents: list[_Document] = []
    for doc_id, own in groups_of(rows, lambda row: str(row.get("doc_id"))).items():
        by_filter = groups_of(own, _filter_of)
        repeated = next((name for name, lines in by_filter.items() if len(lines) > 1), None)
        # Averaging two runs as repeats would be a silent mistake.
        if repeated is not None:
            raise ShapeError(
                f"doc_id {doc_id} appears twice with the filter {repeated!r}; does the file "
                "contain two runs or tasks? Read each by itself"
            )
        documents.append({name: lines[0] for name, lines in by_filter.items()})
    return documents


# -- metrics


def _metrics_of(rows: Iterable[JsonObject]) -> dict[str, bool]:
    """The metrics, and whether each has scores of documents."""
    metrics: dict[str, bool] = {}
    for row in rows:
        for name in _names_in(row):
            is_score = name in row and not isinstance(row[name], list | tuple | dict)
            metrics[name] = metrics.get(name, False) or (is_score and name != _PREDICTED_ONLY)
    return metrics


def _names_in(row: JsonObject) -> list[str]:
    """The metrics that a line lists; in older ones, which do not, every other number is one."""
    listed = row.get("metrics")
    if isinstance(listed, list):
        return list(map(str, listed))
    others = without(row, _OWN)
    return [name for name, cell in others.items() if isinstance(cell, bool | int | float)]


class _TaskResults(NamedTuple):
    """The task and the model, directions of metrics, the number of evaluated documents."""

    pipeline: str | None = None
    directions: Mapping[str, Any] = {}
    n_samples: object = None


def _override(
    metric: str, column: str, scores: Sequence[float], results: _TaskResults
) -> Override | None:
    """The direction in the results file, and what the catalogue knows of the metric."""
    override: dict[str, Any] = {}
    known = Catalogue().find(metric)
    if known is not None and column != metric:
        fields = ("group", "kind", "greater_is_better", "bounds", "description", "source")
        override = {name: getattr(known, name) for name in fields}
    # Some tasks compute the same metric as a percentage.
    if (
        known is not None
        and known.bounds == (0.0, 1.0)
        and any(1 < score <= 100 for score in scores)
    ):
        override |= {"bounds": (0.0, 100.0), "kind": "real"}
    if isinstance(results.directions.get(metric), bool):
        override["greater_is_better"] = results.directions[metric]
    return override or None


# -- the results file of the same run


def _results_beside(source: Source, metrics: Collection[str]) -> tuple[_TaskResults, list[str]]:
    """The results of the run, from the file of the same time in the samples' folder."""
    documents = [
        (path, document)
        for path in _candidates(source)
        if (document := _results_in(path)) is not None
    ]
    # Of several results it is not known which belong to these samples.
    if len(documents) != 1:
        return _TaskResults(), []
    [(path, document)] = documents
    directions = document["higher_is_better"]
    stem = f"{source.stem}_".removeprefix("samples_")
    fitting = [str(task) for task in directions if set(metrics) <= set(directions[task])]
    by_name = [task for task in fitting if stem.startswith(f"{task}_")]
    if not by_name and len(fitting) != 1:
        return _TaskResults(), [
            f"{path.name} in the same folder is for another task and is not used"
        ]
    # The longest, because one task's name may begin another's: mmlu and mmlu_anatomy.
    task = max(by_name or fitting, key=len)
    model, counted = document.get("model_name"), part(document, "n-samples")
    n = at(part(counted, task), "effective")
    pipeline = f"{task}:{model}" if isinstance(model, str) and model else task
    note = f"directions and the pipeline's name come from {path.name} in the same folder"
    n_samples = n if isinstance(n, int) else None
    return _TaskResults(pipeline, directions[task], n_samples), [note]


def _candidates(source: Source) -> list[Path]:
    if source.folder is None:
        return []
    time = _TIME.search(source.stem)
    ending = "results*.json" if time is None else f"*_{time['time']}.json"
    try:
        paths = sorted(source.folder.glob(ending))
        return [path for path in paths if path.is_file() and path.stat().st_size <= _LARGEST]
    except OSError:
        return []


def _results_in(path: Path) -> JsonObject | None:
    """The results in a file; None if it contains anything else."""
    try:
        document = Source(path).document_or_none()
    except RagevalError:
        return None
    directions = at(document, "higher_is_better")
    has_directions = isinstance(directions, dict) and all(
        isinstance(by_metric, dict) for by_metric in directions.values()
    )
    are_results = isinstance(at(document, "results"), dict) and has_directions
    return document if isinstance(document, dict) and are_results else None


# -- details


def _details(documents: Sequence[_Document]) -> tuple[CellsByColumn, list[str], str]:
    """The details of the documents, their ids, and a note on the ids."""
    firsts = [next(iter(document.values())) for document in documents]
    fields = columns_of({str(k): v for k, v in part(row, "doc").items()} for row in firsts)
    question = first_named(fields, _QUESTIONS)
    own: CellsByColumn = {
        "question": [
            text if isinstance(text, str) else _first_text(row.get("arguments"))
            for text, row in zip(
                fields.get(question or "", [None] * len(firsts)), firsts, strict=True
            )
        ],
        "answer": [_first_text(row.get("resps")) for row in firsts],
        "reference": [row.get("target") for row in firsts],
        "doc_id": [row.get("doc_id") for row in firsts],
    }
    key, ids, note = _ids(firsts, fields)
    used = {key, *(name for name in fields if fields[name] == own["question"])}
    answers = columns_of(
        {
            f"filtered_resps({name})": _first_text(row.get("filtered_resps"))
            for name, row in document.items()
            if name != _NO_FILTER
        }
        for document in documents
    )
    # The other fields that a task writes, such as labels.
    rest = columns_of(without(row, {*_OWN, *_names_in(row)}) for row in firsts)
    details = drop_empty({**own, **answers})
    details |= rename_clashes(rest, {*details, *_TAKEN}, "line")
    return details | rename_clashes(without(fields, used), {*details, *_TAKEN}, "doc"), ids, note


def _ids(rows: Sequence[JsonObject], fields: CellsByColumn) -> tuple[str, list[str], str]:
    """The field of the ids, the ids and a note: an id in each document, else its hash or number."""
    key = id_column_of(fields) or ""
    ids = texts_of_ids(fields.get(key))
    if ids and len(set(ids)) == len(ids):
        return key, ids, f"query ids are taken from doc.{key}"
    hashes = [row.get("doc_hash") for row in rows]
    if all(isinstance(digest, str) and digest for digest in hashes):
        # A document's number depends on the data set around it, its hash on the document alone.
        return "", distinct_names(map(str, hashes)), "query ids are the hashes of documents"
    return (
        "",
        [str(row.get("doc_id")) for row in rows],
        "query ids are the documents' numbers in the task: the lines come from an older "
        "lm-eval and have no hashes",
    )


def _first_text(value: object) -> str | None:
    """The first text in lists and objects of any depth; None if another value comes first."""
    while isinstance(value, list | tuple | dict) and value:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return value if isinstance(value, str) else None


LM_EVAL = dialect(
    "lm_eval",
    "lm-evaluation-harness: samples_*.jsonl, with the results_*.json of the run beside it",
    lambda names: SURE if names >= _LINE else 0.0,
    _read_lm_eval,
    example="samples_task_2026.jsonl",
)

"""lm-evaluation-harness: ``samples_<task>_<time>.jsonl``, ``results_<time>.json`` beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile, distinct_names
from rageval_report.readers.cell_values import parse_objects
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    JudgementColumns,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.frameworks.lm_eval_results import Results, results_beside
from rageval_report.readers.json_shapes import ShapeError, check_object
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.readers.table_files import dialect
from rageval_report.scores.metric import Catalogue, Override
from rageval_report.scores.query_ids import QUERY_ID, first_named, id_column_of
from rageval_report.scores.texts import QUESTION
from rageval_report.types import JsonObject

# The rows of one document, by the filter that its answer went through before it was scored.
Rows = Mapping[str, JsonObject]

_LINE = frozenset(("doc_id", "doc", "target", "resps", "filtered_resps"))
_OBJECTS = ("doc", "arguments", "resps", "filtered_resps", "metrics")
_HASHES = ("doc_hash", "prompt_hash", "target_hash")
_OWN = frozenset((*_LINE, *_OBJECTS, *_HASHES, "filter", "index"))
_NO_FILTER = "none"
_PREDICTED_ONLY = "bypass"  # what lm-eval writes with --predict_only, where nothing is scored

_QUESTIONS = (*QUESTION, "problem", "prompt", "ctx", "goal", "sentence", "premise")
_TAKEN = frozenset((QUERY_ID, "question", "answer", "reference", "doc_id"))
_UNIT, _OF_A_HUNDRED = (0.0, 1.0), (0.0, 100.0)


def _recognise(names: frozenset[str]) -> float:
    return 0.95 if names >= _LINE else 0.0


def read_lm_eval(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read the samples of a task: one pipeline.

    A query is a document: its id is one that stands in the document, else its hash. Several
    filters score the same answers, so that each is a metric of its own, ``exact_match(strict)``.
    The direction of the metrics and the names of task and model are those of the results file that
    the same run wrote into the same folder, where it is still there.

    Parameters
    ----------
    source : Source
        The file.
    frame : DataFrame
        The table in it: of the JSON Lines, or of any file it was saved to since.

    Raises
    ------
    ShapeError
        If a document stands there twice, or nothing was scored; `read` tells of which file.
    """
    rows = _rows_of(frame)
    filters = list(dict.fromkeys(_filter_of(row) for row in rows))
    documents = _by_document(rows)
    names = _metrics_of(rows)
    scored = {name: one for name, one in names.items() if one}
    if not scored:
        raise ShapeError(
            f"the metrics {named(names)} hold no score a document; was the run made with "
            "--predict_only, or is the metric one over all documents?"
        )
    found = judgement_columns(_judgements(document, scored, filters) for document in documents)
    results, notes = results_beside(source, scored)
    details, id_notes = _details(documents)
    return [
        ScoreFile(
            frame_of({**rename_clashes(details, found.columns, "doc"), **found.columns}),
            results.pipeline or source.stem,
            metrics=_told(found, filters, scored, results),
            metric_columns=found.metrics,
            notes=(
                *id_notes,
                *notes,
                *found.notes,
                *_notes_of_filters(filters),
                *_notes_of_unscored(names),
                *results.notes_on(len(documents)),
            ),
        )
    ]


def _rows_of(frame: pd.DataFrame) -> list[JsonObject]:
    """The lines again; in a CSV their objects are texts."""
    columns = {str(name): frame[name].tolist() for name in frame}
    columns |= {name: parse_objects(columns[name]) for name in _OBJECTS if name in columns}
    names = list(columns)
    return [
        {name: cell for name, cell in zip(names, row, strict=True) if not _is_nothing(cell)}
        for row in zip(*columns.values(), strict=True)
    ]


def _is_nothing(cell: object) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell)


def _filter_of(row: JsonObject) -> str:
    return str(row.get("filter", _NO_FILTER))


def _by_document(rows: Iterable[JsonObject]) -> list[dict[str, JsonObject]]:
    """The rows of each document, by filter; a document is what has the same number in the task."""
    documents: dict[str, dict[str, JsonObject]] = {}
    for row in rows:
        doc_id, filtered = str(row.get("doc_id")), _filter_of(row)
        seen = documents.setdefault(doc_id, {})
        if filtered in seen:
            raise ShapeError(
                f"doc_id {doc_id} stands there twice with the filter {filtered!r}; does the file "
                "hold two runs or tasks? Read each by itself"
            )
        seen[filtered] = row
    return list(documents.values())


# -- metrics


def _metrics_of(rows: Iterable[JsonObject]) -> dict[str, bool]:
    """The metrics, and whether each has scores of documents.

    Lines name their metrics; of older ones, which do not, all other numbers are taken. A metric
    over all documents, as a correlation, keeps in each line what it needs: a list.
    """
    found: dict[str, bool] = {}
    for row in rows:
        told = row.get("metrics")
        names = told if isinstance(told, list) else _numbers_in(row)
        for name in map(str, names):
            is_score = name in row and not isinstance(row[name], list | tuple | dict)
            found[name] = found.get(name, False) or (is_score and name != _PREDICTED_ONLY)
    return found


def _numbers_in(row: JsonObject) -> list[str]:
    return [
        name
        for name, cell in row.items()
        if name not in _OWN and isinstance(cell, bool | int | float)
    ]


def _judgements(document: Rows, metrics: Iterable[str], filters: list[str]) -> dict[str, Judgement]:
    return {
        _column(name, one, filters): Judgement(document.get(one, {}).get(name))
        for name in metrics
        for one in filters
    }


def _column(metric: str, filtered: str, filters: list[str]) -> str:
    return metric if len(filters) == 1 else f"{metric}({filtered})"


def _told(
    found: JudgementColumns, filters: list[str], metrics: Iterable[str], results: Results
) -> dict[str, Override]:
    """What the catalogue says of each metric under its own name, and the results file before it."""
    catalogue = Catalogue()
    told: dict[str, Override] = {}
    for metric in metrics:
        for filtered in filters:
            column = _column(metric, filtered, filters)
            if column not in found.columns:
                continue
            change = _known(catalogue, metric, column, found.columns[column])
            if metric in results.directions:
                change["greater_is_better"] = results.directions[metric]
            if change:
                told[column] = change
    return told


def _known(catalogue: Catalogue, metric: str, column: str, numbers: list[float]) -> dict[str, Any]:
    """What to say of a column that bears its filter, or counts to 100 where others count to 1."""
    known = catalogue.find(metric)
    if known is None:
        return {}
    change: dict[str, Any] = {}
    if column != metric:
        fields = ("group", "kind", "greater_is_better", "bounds", "description", "source")
        change = {name: getattr(known, name) for name in fields}
    if known.bounds == _UNIT and any(1.0 < number <= 100.0 for number in numbers):
        change |= {"bounds": _OF_A_HUNDRED, "kind": "real"}
    return change


def _notes_of_filters(filters: list[str]) -> Iterator[str]:
    if len(filters) > 1:
        yield f"each filter's scores are a metric of their own: {named(filters)}"
    elif filters != [_NO_FILTER]:
        yield f"answers were scored after the filter {filters[0]!r}"


def _notes_of_unscored(names: Mapping[str, bool]) -> Iterator[str]:
    unscored = [name for name, is_scored in names.items() if not is_scored]
    if unscored:
        yield f"without a score a document, and so left out: {named(unscored)}"


# -- details


def _details(documents: list[dict[str, JsonObject]]) -> tuple[CellsByColumn, tuple[str, ...]]:
    firsts = [next(iter(document.values())) for document in documents]
    docs = [
        check_object(row.get("doc"), "doc") if isinstance(row.get("doc"), dict) else {}
        for row in firsts
    ]
    fields = columns_of({str(key): cell for key, cell in doc.items()} for doc in docs)
    own = {
        "question": _questions(firsts, fields),
        "answer": [_first_text(row.get("resps")) for row in firsts],
        "reference": [row.get("target") for row in firsts],
        "doc_id": [row.get("doc_id") for row in firsts],
    }
    ids, notes, used = _ids(firsts, fields)
    used |= {name for name in fields if fields[name] == own["question"]}
    fields = {name: cells for name, cells in fields.items() if name not in used}
    filtered = columns_of(map(_filtered, documents))
    rest = columns_of(_rest(row) for row in firsts)
    found = drop_empty({**own, **filtered})
    found |= rename_clashes(rest, {*found, *_TAKEN}, "line")
    return ids | found | rename_clashes(fields, {*found, *_TAKEN}, "doc"), notes


def _ids(
    rows: list[JsonObject], fields: CellsByColumn
) -> tuple[CellsByColumn, tuple[str, ...], set[str]]:
    """An id that stands in each document, else the document's hash, else its number.

    With it what there is to say, and which field of the documents it is.
    """
    key = id_column_of(fields)
    inner = fields.get(key or "", [])
    are_ids = all(isinstance(one, str | int) and str(one).strip() for one in inner)
    if inner and are_ids and len(set(map(str, inner))) == len(inner):
        note = f"query ids are taken from doc.{key}"
        return {QUERY_ID: list(map(str, inner))}, (note,), {str(key)}
    hashes = [row.get("doc_hash") for row in rows]
    if all(isinstance(one, str) and one for one in hashes):
        note = "query ids are the hashes of documents"
        return {QUERY_ID: distinct_names(map(str, hashes))}, (note,), set()
    numbers = [str(row.get("doc_id")) for row in rows]
    note = (
        "query ids are the documents' numbers in the task: the lines are of an older lm-eval and "
        "hold no hashes"
    )
    return {QUERY_ID: numbers}, (note,), set()


def _questions(rows: list[JsonObject], fields: CellsByColumn) -> list[str | None]:
    """The question in the document, else the prompt."""
    name = first_named(fields, _QUESTIONS)
    in_documents = fields.get(name or "", [None] * len(rows))
    return [
        told if isinstance(told, str) else _first_text(row.get("arguments"))
        for told, row in zip(in_documents, rows, strict=True)
    ]


def _first_text(value: object) -> str | None:
    """The first text in lists and objects of any depth; none where a number comes first."""
    while isinstance(value, list | tuple | dict) and value:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return value if isinstance(value, str) else None


def _filtered(document: Rows) -> dict[str, Any]:
    """What each filter left of the answer, where there is one."""
    return {
        f"filtered_resps({one})": _first_text(row.get("filtered_resps"))
        for one, row in document.items()
        if one != _NO_FILTER
    }


def _rest(row: JsonObject) -> dict[str, Any]:
    """What a task writes beside its metrics, as labels."""
    told = row.get("metrics")
    metrics = set(map(str, told)) if isinstance(told, list) else set(_numbers_in(row))
    return {name: cell for name, cell in row.items() if name not in _OWN | metrics}


LM_EVAL = dialect(
    "lm_eval",
    "lm-evaluation-harness: samples_*.jsonl, with the results_*.json of the run beside it",
    _recognise,
    read_lm_eval,
    example="samples_task_2026.jsonl",
)

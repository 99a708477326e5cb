"""Arize Phoenix: frames of `evaluate_dataframe`, annotation frames, experiments as JSON and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile
from rageval_report.readers.cell_values import none_if_nan, parse_columns, text_or_none
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    average_repeats,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.frameworks.row_parts import collect_details
from rageval_report.readers.json_shapes import check_object, check_records
from rageval_report.readers.record_columns import columns_of, frame_of, rows_of
from rageval_report.readers.table_files import dialect
from rageval_report.scores.cells import read_cells
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import QUERY_ID

_SCORE, _DETAILS, _LABEL = "_score", "_execution_details", "_label"
_RUN = frozenset(("example_id", "repetition_number", "input", "reference_output", "output"))
_ANNOTATION = frozenset(("annotation_name", "annotator_kind", "score", "label"))
_OF_ANNOTATIONS = _ANNOTATION | {
    *("explanation", "metadata", "identifier", "id", "source", "user_id", "annotation_id"),
    *("created_at", "updated_at"),
}
_ANNOTATED = re.compile(r"annotation_(.+)_score")
_DIRECTIONS: dict[str, Override] = {"maximize": "higher", "minimize": "lower"}

# An experiment's own measures of a run, and their names in this library.
_MEASURES = {
    "latency_ms": "latency_ms",
    "prompt_token_count": "prompt_tokens",
    "completion_token_count": "completion_tokens",
}
_PARTS = {"input": "question", "output": "answer", "reference_output": "reference"}


def _recognise(names: frozenset[str]) -> float:
    is_evaluated = any(name.endswith(_DETAILS) for name in names) and any(
        name.endswith(_SCORE) for name in names
    )
    return 0.95 if is_evaluated or names >= _RUN or _is_annotations(names) else 0.0


def _is_annotations(names: Iterable[str]) -> bool:
    return set(names) >= _ANNOTATION and _span_column(names) is not None


def _span_column(names: Iterable[str]) -> str | None:
    return next((name for name in names if "span_id" in name.lower()), None)


def read_phoenix(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read a frame of Phoenix: one pipeline, named after the file.

    Evaluated frames have ``<metric>_score`` objects with their direction; experiments have runs of
    examples with annotations, several runs of a repeated example; annotation frames have one row
    per annotation of a span.
    """
    cells = parse_columns(frame)
    if set(cells) >= _RUN:
        return [_read_experiment(source, cells)]
    if _is_annotations(cells):
        return [_read_annotations(source, cells)]
    return [_read_evaluated(source, cells)]


# -- frames of evaluate_dataframe


def _read_evaluated(source: Source, cells: CellsByColumn) -> ScoreFile:
    scores = [name for name in cells if name.endswith(_SCORE)]
    executions = {name: cells[name] for name in cells if name.endswith(_DETAILS)}
    objects = {name.removesuffix(_SCORE): _score_objects(name, cells[name]) for name in scores}
    judgements = {
        metric: _evaluated_cells(metric_scores, _executions_of(metric, executions, objects))
        for metric, metric_scores in objects.items()
    }
    judged = judgement_columns(rows_of(judgements))
    labels = {
        f"{metric}{_LABEL}": _fields(metric_scores, "label")
        for metric, metric_scores in objects.items()
    }
    others = {name: cells[name] for name in cells if name not in executions and name not in scores}
    details = rename_clashes(others, judged.columns, "input") | drop_empty(labels)
    directions, notes = _directions(
        {metric: _fields(objects[metric], "direction") for metric in judged.metrics}
    )
    return ScoreFile(
        frame_of(details | judged.columns),
        source.stem,
        metrics=directions,
        metric_columns=judged.metrics,
        notes=(*judged.notes, *notes, *_not_run(executions)),
    )


def _score_objects(name: str, cells: list[Any]) -> list[Mapping[str, Any]]:
    return [check_object(cell, f"a cell of {name!r}") for cell in cells]


def _fields(objects: Iterable[Mapping[str, Any]], key: str) -> list[Any]:
    return [fields.get(key) for fields in objects]


def _executions_of(
    metric: str, executions: CellsByColumn, objects: Mapping[str, object]
) -> list[list[Mapping[str, Any]]]:
    """The executions of the evaluator by row; one with several scores has a name of its own."""
    own = f"{metric}{_DETAILS}"
    other_names = [name for name in executions if name.removesuffix(_DETAILS) not in objects]
    names = [own] if own in executions else other_names
    columns = [
        [check_object(cell, f"a cell of {name!r}") for cell in executions[name]] for name in names
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _evaluated_cells(
    objects: list[Mapping[str, Any]], executions: list[list[Mapping[str, Any]]]
) -> list[Judgement]:
    executions = executions or [[] for _ in objects]
    return [
        Judgement(score.get("score"), text_or_none(score.get("explanation")))
        if score
        else _failure(execution)
        for score, execution in zip(objects, executions, strict=True)
    ]


def _failure(execution: list[Mapping[str, Any]]) -> Judgement:
    failed = [fields for fields in execution if fields.get("status") == "FAILED"]
    exceptions = [fields.get("exceptions") for fields in failed]
    texts = [str(text) for listed in exceptions if isinstance(listed, list) for text in listed]
    return Judgement(None, "; ".join(dict.fromkeys(texts)) or None, bool(failed))


def _not_run(executions: CellsByColumn) -> Iterator[str]:
    for name, cells in executions.items():
        objects = [cell for cell in cells if isinstance(cell, dict)]
        n = sum(cell.get("status") == "DID NOT RUN" for cell in objects)
        if n:
            yield f"{n} cells of {name.removesuffix(_DETAILS)!r} did not run, and are missing"


def _directions(cells_by_metric: Mapping[str, list[Any]]) -> tuple[dict[str, Override], list[str]]:
    """The directions stored with the scores, if they agree, and notes about those that do not."""
    directions: dict[str, Override] = {}
    notes = []
    for metric, cells in cells_by_metric.items():
        words = {str(cell) for cell in cells if cell is not None}
        if len(words) == 1 and words <= set(_DIRECTIONS):
            directions[metric] = _DIRECTIONS[words.pop()]
        elif words:
            notes.append(f"the direction of {metric!r} is stored as {named(sorted(words))}")
    return directions, notes


# -- annotation frames


def _read_annotations(source: Source, cells: CellsByColumn) -> ScoreFile:
    """One row per annotation becomes one row per span, or per query if a column has query ids.

    Several annotations of one name are averaged. Columns besides those of annotations, such as the
    texts of a span, are details.
    """
    owner = QUERY_ID if QUERY_ID in cells else str(_span_column(cells))
    rows: dict[tuple[str, int], dict[str, Judgement]] = {}
    first_lines: dict[tuple[str, int], int] = {}
    names = [str(name) for name in cells["annotation_name"]]
    for line, judgement in enumerate(_annotation_judgements(names, cells)):
        repeat, key, name = 0, (str(cells[owner][line]), 0), names[line]
        while name in rows.setdefault(key, {}):
            repeat += 1
            key = (key[0], repeat)
        rows[key][name] = judgement
        first_lines.setdefault(key, line)
    judged = judgement_columns(rows.values())
    others = {
        name: [column[line] for line in first_lines.values()]
        for name, column in cells.items()
        if name not in _OF_ANNOTATIONS and name != owner
    }
    details = drop_empty(rename_clashes(others, (*judged.columns, QUERY_ID), "span"))
    frame = frame_of({QUERY_ID: [query for query, _ in rows], **details, **judged.columns})
    frame, notes = average_repeats(frame, QUERY_ID, judged.metrics)
    directions, direction_notes = _directions(_annotation_directions(names, cells))
    return ScoreFile(
        frame,
        source.stem,
        metrics={name: word for name, word in directions.items() if name in judged.metrics},
        metric_columns=judged.metrics,
        notes=(
            f"query ids are taken from column {owner!r}",
            *judged.notes,
            *direction_notes,
            *notes,
        ),
    )


def _annotation_judgements(names: list[str], cells: CellsByColumn) -> Iterator[Judgement]:
    """The scores; the labels of annotations that have no score anywhere."""
    scores = [none_if_nan(score) for score in cells["score"]]
    scored = {name for name, score in zip(names, scores, strict=True) if score is not None}
    reasons = cells.get("explanation") or [None] * len(names)
    for name, score, label, reason in zip(names, scores, cells["label"], reasons, strict=True):
        value = score if name in scored else text_or_none(label)
        yield Judgement(value, text_or_none(reason))


def _annotation_directions(names: list[str], cells: CellsByColumn) -> dict[str, list[Any]]:
    directions: dict[str, list[Any]] = {}
    for name, meta in zip(names, cells.get("metadata") or [None] * len(names), strict=True):
        direction = meta.get("direction") if isinstance(meta, dict) else None
        directions.setdefault(name, []).append(direction)
    return directions


# -- experiments


def _read_experiment(source: Source, cells: CellsByColumn) -> ScoreFile:
    ids = list(map(str, cells["example_id"]))
    judged = judgement_columns(_annotations_of_runs(cells), cells.get("error"))
    measures = drop_empty(
        {ours: cells[theirs] for theirs, ours in _MEASURES.items() if theirs in cells}
    )
    scores = {**measures, **judged.columns}
    details = rename_clashes(_details(cells), scores, "metadata")
    metrics = (*measures, *judged.metrics)
    frame = frame_of({QUERY_ID: ids, **details, **scores})
    unreadable = []
    for name in measures:
        numbers = read_cells(frame[name]).numbers
        n_lost = int((np.isnan(numbers) & frame[name].notna().to_numpy()).sum())
        if n_lost:
            unreadable.append(f"{n_lost} cells of {name!r} are not numbers and are left out")
        frame[name] = numbers
    frame, notes = average_repeats(frame, QUERY_ID, metrics)
    return ScoreFile(
        frame,
        source.stem,
        metric_columns=metrics,
        notes=("query ids are taken from column 'example_id'", *unreadable, *judged.notes, *notes),
    )


def _details(cells: CellsByColumn) -> CellsByColumn:
    """The texts, the metadata of the example, and the error of the run."""
    metadata = columns_of(_with_text_keys(cell) for cell in cells.get("metadata", []))
    details = collect_details(*((name, role, cells[name]) for name, role in _PARTS.items()))
    details |= rename_clashes(metadata, (*details, QUERY_ID), "metadata")
    return details | drop_empty({"error": list(cells.get("error", []))})


def _with_text_keys(cell: object) -> dict[str, Any]:
    return {str(key): value for key, value in cell.items()} if isinstance(cell, dict) else {}


def _annotations_of_runs(cells: CellsByColumn) -> Iterable[dict[str, Judgement]]:
    if "annotations" in cells:
        return [
            {
                str(item.get("name")): _annotation(item)
                for item in check_records(cell, "annotations")
            }
            for cell in cells["annotations"]
        ]
    names = [match[1] for name in cells if (match := _ANNOTATED.fullmatch(name))]
    if not names:
        return [{} for _ in cells["example_id"]]
    return rows_of({name: _flat_annotations(name, cells) for name in names})


def _flat_annotations(name: str, cells: CellsByColumn) -> list[Judgement]:
    columns = {
        part: cells.get(f"annotation_{name}_{part}") for part in ("score", "explanation", "error")
    }
    return [
        _annotation({part: column[row] for part, column in columns.items() if column is not None})
        for row in range(len(cells["example_id"]))
    ]


def _annotation(fields: Mapping[str, Any]) -> Judgement:
    error = text_or_none(fields.get("error"))
    return Judgement(
        none_if_nan(fields.get("score")),
        error or text_or_none(fields.get("explanation")),
        bool(error),
    )


PHOENIX = dialect(
    "phoenix",
    "Arize Phoenix: frames of evaluate_dataframe, annotation frames, experiments (JSON, CSV)",
    _recognise,
    read_phoenix,
    example="experiment.json",
)

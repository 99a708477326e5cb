"""Arize Phoenix: frames of `evaluate_dataframe`, annotation frames, experiments as JSON and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile
from rageval_report.readers.cell_values import (
    none_if_nan,
    number_or_none,
    parse_columns,
    text_or_none,
)
from rageval_report.readers.frameworks.format import SURE, Format, at, without
from rageval_report.readers.frameworks.rows import Judgement, drop_empty, score_file
from rageval_report.readers.json_shapes import check_object, check_records
from rageval_report.readers.record_columns import columns_of, rows_of
from rageval_report.readers.table_files import dialect
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

_SCORE, _DETAILS = "_score", "_execution_details"
_RUN = frozenset(("example_id", "repetition_number", "input", "reference_output", "output"))
_ANNOTATION = frozenset(("annotation_name", "annotator_kind", "score", "label"))
_OF_ANNOTATIONS = _ANNOTATION | {
    *("explanation", "metadata", "identifier", "id", "source", "user_id", "annotation_id"),
    *("created_at", "updated_at"),
}
_FLAT = re.compile(r"annotation_(?P<name>.+)_score")
_DIRECTIONS: dict[str, Override] = {"maximize": "higher", "minimize": "lower"}


def _recognise(names: frozenset[str]) -> float:
    is_evaluated = all(any(name.endswith(end) for name in names) for end in (_DETAILS, _SCORE))
    return SURE if is_evaluated or names >= _RUN or _is_annotations(names) else 0.0


def _is_annotations(names: Iterable[str]) -> bool:
    return set(names) >= _ANNOTATION and _span_column(names) is not None


def _span_column(names: Iterable[str]) -> str | None:
    return next((name for name in names if "span_id" in name.lower()), None)


def _read_phoenix(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read a frame of Phoenix: evaluated rows, runs of an experiment, or annotations of spans."""
    cells = parse_columns(frame)
    if cells.keys() >= _RUN:
        rows = rows_of(cells)
        return [_EXPERIMENT.score_file(source.stem, list(map(_run, rows)), _unreadable(rows))]
    if _is_annotations(cells):
        return [_read_annotations(source.stem, cells)]
    return [_read_evaluated(source.stem, cells)]


# -- frames of evaluate_dataframe


def _read_evaluated(name: str, cells: CellsByColumn) -> ScoreFile:
    """`<metric>_score` objects with their direction, and the executions of their evaluators."""
    ours = [label for label in cells if label.endswith((_SCORE, _DETAILS))]
    objects = {
        label: [check_object(cell, f"a cell of {label!r}") for cell in cells[label]]
        for label in ours
    }
    scores = {
        label.removesuffix(_SCORE): objects[label] for label in ours if label.endswith(_SCORE)
    }
    executions = {
        label.removesuffix(_DETAILS): objects[label] for label in ours if label.endswith(_DETAILS)
    }
    # An evaluator that gives several scores has a name of its own.
    others = [label for label in executions if label not in scores]
    judgements = {
        metric: [
            _evaluated(
                score, [executions[label][row] for label in _own(metric, executions, others)]
            )
            for row, score in enumerate(metric_scores)
        ]
        for metric, metric_scores in scores.items()
    }
    labels = {f"{key}_label": [cell.get("label") for cell in scores[key]] for key in scores}
    words = {key: [cell.get("direction") for cell in scores[key]] for key in scores}
    directions, notes = _directions(words)
    not_run = {
        label: sum(cell.get("status") == "DID NOT RUN" for cell in column)
        for label, column in executions.items()
    }
    notes += [
        f"{n} cells of {label!r} did not run, and are missing" for label, n in not_run.items() if n
    ]
    details = without(cells, ours) | drop_empty(labels)
    return score_file(
        name, rows_of(judgements), details, origin="input", metrics=directions, notes=notes
    )


def _own(metric: str, executions: Mapping[str, object], others: list[str]) -> list[str]:
    return [metric] if metric in executions else others


def _evaluated(score: JsonObject, executions: Iterable[JsonObject]) -> Judgement:
    if score:
        return Judgement(score.get("score"), text_or_none(score.get("explanation")))
    failed = [fields for fields in executions if fields.get("status") == "FAILED"]
    exceptions = [fields.get("exceptions") for fields in failed]
    texts = [str(text) for listed in exceptions if isinstance(listed, list) for text in listed]
    return Judgement(None, "; ".join(dict.fromkeys(texts)) or None, bool(failed))


def _directions(cells_by_metric: Mapping[str, list[Any]]) -> tuple[dict[str, Override], list[str]]:
    """The directions stored with the scores, if they agree, and notes about those that do not."""
    directions: dict[str, Override] = {}
    notes = []
    for metric, cells in cells_by_metric.items():
        words = {str(cell) for cell in cells if cell is not None}
        if len(words) == 1 and words <= _DIRECTIONS.keys():
            directions[metric] = _DIRECTIONS[words.pop()]
        elif words:
            notes.append(f"the direction of {metric!r} is stored as {named(sorted(words))}")
    return directions, notes


# -- annotation frames


def _read_annotations(stem: str, cells: CellsByColumn) -> ScoreFile:
    """One row per annotation becomes one row per span, or per query if a column has query ids."""
    owner = QUERY_ID if QUERY_ID in cells else str(_span_column(cells))
    lines = rows_of(cells)
    scored = {
        str(line["annotation_name"]) for line in lines if none_if_nan(line["score"]) is not None
    }
    rows: dict[tuple[str, int], dict[str, Judgement]] = {}
    firsts: list[JsonObject] = []
    words: dict[str, list[Any]] = {}
    for line in lines:
        name, repeat = str(line["annotation_name"]), 0
        while name in rows.get((str(line[owner]), repeat), {}):
            repeat += 1
        if (str(line[owner]), repeat) not in rows:
            firsts.append(line)
        # The labels of annotations that have no score anywhere.
        value = none_if_nan(line["score"]) if name in scored else text_or_none(line["label"])
        judgement = Judgement(value, text_or_none(line.get("explanation")))
        rows.setdefault((str(line[owner]), repeat), {})[name] = judgement
        words.setdefault(name, []).append(at(line, "metadata.direction"))
    directions, notes = _directions(words)
    return score_file(
        stem,
        rows.values(),
        columns_of(without(line, {*_OF_ANNOTATIONS, owner}) for line in firsts),
        ids=[query for query, _ in rows],
        origin="span",
        metrics=directions,
        notes=(f"query ids are taken from column {owner!r}", *notes),
    )


# -- experiments

_SPENT = {
    "latency_ms": "latency_ms",
    "prompt_tokens": "prompt_token_count",
    "completion_tokens": "completion_token_count",
}


def _run(row: JsonObject) -> JsonObject:
    metadata = row.get("metadata")
    return {**row, "metadata": metadata if isinstance(metadata, dict) else {}}


def _unreadable(rows: Sequence[JsonObject]) -> Iterator[str]:
    for ours, theirs in _SPENT.items():
        cells = [none_if_nan(row.get(theirs)) for row in rows]
        n_lost = sum(cell is not None and number_or_none(cell) is None for cell in cells)
        if n_lost:
            yield f"{n_lost} cells of {ours!r} are not numbers and are left out"


def _annotations(row: JsonObject) -> dict[str, Judgement]:
    if "annotations" in row:
        listed = check_records(row["annotations"], "annotations")
        return {str(item.get("name")): _annotation(item) for item in listed}
    names = [match["name"] for key in row if (match := _FLAT.fullmatch(key))]
    parts = ("score", "explanation", "error")
    return {
        name: _annotation({part: row.get(f"annotation_{name}_{part}") for part in parts})
        for name in names
    }


def _annotation(fields: Mapping[str, Any]) -> Judgement:
    error = text_or_none(fields.get("error"))
    reason = error or text_or_none(fields.get("explanation"))
    return Judgement(none_if_nan(fields.get("score")), reason, bool(error))


_EXPERIMENT = Format(
    "phoenix",
    "Arize Phoenix: frames of evaluate_dataframe, annotation frames, experiments (JSON, CSV)",
    "experiment.json",
    judge=lambda rows: map(_annotations, rows),
    id="example_id",
    id_note="query ids are taken from column 'example_id'",
    parts={
        "input": ("question", "input"),
        "output": ("answer", "output"),
        "reference_output": ("reference", "reference_output"),
    },
    nests={"metadata": "metadata"},
    error="error",
    measures_first=True,
    measures={ours: (theirs, 1) for ours, theirs in _SPENT.items()},
)
PHOENIX = dialect(
    _EXPERIMENT.name, _EXPERIMENT.sentence, _recognise, _read_phoenix, _EXPERIMENT.example
)

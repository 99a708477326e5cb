"""Arize Phoenix: frames of `evaluate_dataframe`, annotation frames, experiments as JSON and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile
from rageval_report.readers.cell_values import none_if_nan, parse_objects, text_or_none
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    average_repeats,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.frameworks.row_parts import collect_details
from rageval_report.readers.json_shapes import check_object, check_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.readers.table_files import dialect
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import QUERY_ID

_SCORE, _DETAILS, _LABEL = "_score", "_execution_details", "_label"
_RUN = frozenset(("example_id", "repetition_number", "input", "reference_output", "output"))
_ANNOTATION = frozenset(("annotation_name", "annotator_kind", "score", "label"))
_ANNOTATED = re.compile(r"annotation_(.+)_score")
_DIRECTIONS: dict[str, Override] = {"maximize": "higher", "minimize": "lower"}

# An experiment's own measures of a run, and under which names they are known here.
_MEASURES = {
    "latency_ms": "latency_ms",
    "prompt_token_count": "prompt_tokens",
    "completion_token_count": "completion_tokens",
}
_PARTS = {"input": "question", "output": "answer", "reference_output": "reference"}


def _recognise(names: frozenset[str]) -> float:
    evaluated = any(name.endswith(_DETAILS) for name in names) and any(
        name.endswith(_SCORE) for name in names
    )
    return 0.95 if evaluated or names >= _RUN or _is_annotations(names) else 0.0


def _is_annotations(names: Iterable[str]) -> bool:
    return set(names) >= _ANNOTATION and _span_column(names) is not None


def _span_column(names: Iterable[str]) -> str | None:
    return next((name for name in names if "span_id" in name.lower()), None)


def read_phoenix(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read what Phoenix writes: one pipeline a file, named after it.

    Evaluated frames have ``<metric>_score`` objects with their direction; experiments have runs of
    examples with annotations, several of an example where it was repeated; annotation frames have
    a row an annotation of a span.

    Parameters
    ----------
    source : Source
        The file.
    frame : DataFrame
        The table in it.

    Raises
    ------
    ShapeError
        If a cell holds something else than Phoenix writes there; `read` tells of which file.
    """
    cells = {str(name): parse_objects(frame[name].tolist()) for name in frame}
    if set(cells) >= _RUN:
        return [_experiment(source, cells)]
    if _is_annotations(cells):
        return [_annotations(source, cells)]
    return [_evaluated(source, cells)]


# -- frames of evaluate_dataframe


def _evaluated(source: Source, cells: CellsByColumn) -> ScoreFile:
    scores = [name for name in cells if name.endswith(_SCORE)]
    executions = {name: cells[name] for name in cells if name.endswith(_DETAILS)}
    objects = {name.removesuffix(_SCORE): _score_objects(name, cells[name]) for name in scores}
    rows = _rows_of(
        {
            metric: _evaluated_cells(given, _executions_of(metric, executions, objects))
            for metric, given in objects.items()
        }
    )
    found = judgement_columns(rows)
    labels = {f"{metric}{_LABEL}": _parts(given, "label") for metric, given in objects.items()}
    others = {
        name: list(cells[name]) for name in cells if name not in executions and name not in scores
    }
    details = rename_clashes(others, found.columns, "input") | drop_empty(labels)
    directions, notes = _directions(
        {metric: _parts(objects[metric], "direction") for metric in found.metrics}
    )
    return ScoreFile(
        frame_of(details | found.columns),
        source.stem,
        metrics=directions,
        metric_columns=found.metrics,
        notes=(*found.notes, *notes, *_not_run(executions)),
    )


def _score_objects(name: str, cells: list[Any]) -> list[Mapping[str, Any]]:
    return [check_object(cell, f"a cell of {name!r}") for cell in cells]


def _parts(objects: Iterable[Mapping[str, Any]], key: str) -> list[Any]:
    return [one.get(key) for one in objects]


def _executions_of(
    metric: str, executions: CellsByColumn, objects: Mapping[str, object]
) -> list[list[Mapping[str, Any]]]:
    """How the evaluator fared, row by row; one that gives several scores bears another name."""
    own = f"{metric}{_DETAILS}"
    strangers = [name for name in executions if name.removesuffix(_DETAILS) not in objects]
    names = [own] if own in executions else strangers
    told = [
        [check_object(cell, f"a cell of {name!r}") for cell in executions[name]] for name in names
    ]
    return [list(row) for row in zip(*told, strict=True)]


def _evaluated_cells(
    objects: list[Mapping[str, Any]], executions: list[list[Mapping[str, Any]]]
) -> list[Judgement]:
    executions = executions or [[] for _ in objects]
    return [
        Judgement(score.get("score"), text_or_none(score.get("explanation")))
        if score
        else _unscored(execution)
        for score, execution in zip(objects, executions, strict=True)
    ]


def _unscored(execution: list[Mapping[str, Any]]) -> Judgement:
    failed = [one for one in execution if one.get("status") == "FAILED"]
    exceptions = [one.get("exceptions") for one in failed]
    told = [str(text) for one in exceptions if isinstance(one, list) for text in one]
    return Judgement(None, "; ".join(dict.fromkeys(told)) or None, bool(failed))


def _not_run(executions: CellsByColumn) -> Iterator[str]:
    for name, cells in executions.items():
        n = sum(isinstance(one, dict) and one.get("status") == "DID NOT RUN" for one in cells)
        if n:
            yield f"{n} cells of {name.removesuffix(_DETAILS)!r} did not run, and are missing"


def _directions(told: Mapping[str, list[Any]]) -> tuple[dict[str, Override], list[str]]:
    """What the scores say of their direction, where they agree."""
    directions: dict[str, Override] = {}
    notes = []
    for metric, cells in told.items():
        said = {str(one) for one in cells if one is not None}
        if len(said) == 1 and said <= set(_DIRECTIONS):
            directions[metric] = _DIRECTIONS[said.pop()]
        elif said:
            notes.append(f"the direction of {metric!r} is stored as {named(sorted(said))}")
    return directions, notes


# -- annotation frames


def _annotations(source: Source, cells: CellsByColumn) -> ScoreFile:
    """A row an annotation becomes a row a span; of several of one name the mean is taken."""
    span = str(_span_column(cells))
    rows: dict[tuple[str, int], dict[str, Judgement]] = {}
    names = [str(name) for name in cells["annotation_name"]]
    reasons = cells.get("explanation") or [None] * len(names)
    given = zip(cells[span], names, cells["score"], reasons, strict=True)
    for span_id, name, score, reason in given:
        place = 0
        while name in rows.setdefault((str(span_id), place), {}):
            place += 1
        rows[str(span_id), place][name] = Judgement(none_if_nan(score), text_or_none(reason))
    found = judgement_columns(rows.values())
    frame = frame_of({QUERY_ID: [span_id for span_id, _ in rows], **found.columns})
    frame, notes = average_repeats(frame, QUERY_ID, found.metrics)
    told = _directions(_directions_of_annotations(names, cells))
    return ScoreFile(
        frame,
        source.stem,
        metrics={name: one for name, one in told[0].items() if name in found.metrics},
        metric_columns=found.metrics,
        notes=(f"query ids are taken from column {span!r}", *found.notes, *told[1], *notes),
    )


def _directions_of_annotations(names: list[str], cells: CellsByColumn) -> dict[str, list[Any]]:
    told: dict[str, list[Any]] = {}
    for name, meta in zip(names, cells.get("metadata") or [None] * len(names), strict=True):
        told.setdefault(name, []).append(meta.get("direction") if isinstance(meta, dict) else None)
    return told


# -- experiments


def _experiment(source: Source, cells: CellsByColumn) -> ScoreFile:
    ids = [str(one) for one in cells["example_id"]]
    found = judgement_columns(_annotations_of_runs(cells), cells.get("error"))
    measures = drop_empty(
        {ours: list(cells[theirs]) for theirs, ours in _MEASURES.items() if theirs in cells}
    )
    scores = {**measures, **found.columns}
    details = rename_clashes(_details(cells), scores, "metadata")
    metrics = (*measures, *found.metrics)
    frame = frame_of({QUERY_ID: ids, **details, **scores})
    for name in measures:
        frame[name] = pd.to_numeric(frame[name], errors="coerce")
    frame, notes = average_repeats(frame, QUERY_ID, metrics)
    return ScoreFile(
        frame,
        source.stem,
        metric_columns=metrics,
        notes=("query ids are taken from column 'example_id'", *found.notes, *notes),
    )


def _details(cells: CellsByColumn) -> CellsByColumn:
    """The texts, what is known of the example, and the error of the run."""
    metadata = columns_of(_keyed(cell) for cell in cells.get("metadata", []))
    found = collect_details(*((name, role, cells[name]) for name, role in _PARTS.items()))
    found |= rename_clashes(metadata, (*found, QUERY_ID), "metadata")
    return found | drop_empty({"error": list(cells.get("error", []))})


def _keyed(cell: object) -> dict[str, Any]:
    return {str(key): value for key, value in cell.items()} if isinstance(cell, dict) else {}


def _annotations_of_runs(cells: CellsByColumn) -> Iterable[dict[str, Judgement]]:
    if "annotations" in cells:
        return [
            {str(one.get("name")): _annotation(one) for one in check_records(cell, "annotations")}
            for cell in cells["annotations"]
        ]
    names = [match[1] for name in cells if (match := _ANNOTATED.fullmatch(name))]
    return _rows_of({name: _flattened(name, cells) for name in names}, len(cells["example_id"]))


def _flattened(name: str, cells: CellsByColumn) -> list[Judgement]:
    told = {
        part: cells.get(f"annotation_{name}_{part}") for part in ("score", "explanation", "error")
    }
    return [
        _annotation({part: given[row] for part, given in told.items() if given is not None})
        for row in range(len(cells["example_id"]))
    ]


def _annotation(one: Mapping[str, Any]) -> Judgement:
    error = text_or_none(one.get("error"))
    return Judgement(
        none_if_nan(one.get("score")), error or text_or_none(one.get("explanation")), bool(error)
    )


def _rows_of(
    columns: Mapping[str, list[Judgement]], n_rows: int | None = None
) -> list[dict[str, Judgement]]:
    if not columns:
        return [{} for _ in range(n_rows or 0)]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


PHOENIX = dialect(
    "phoenix",
    "Arize Phoenix: frames of evaluate_dataframe, annotation frames, experiments (JSON, CSV)",
    _recognise,
    read_phoenix,
    example="experiment.json",
)

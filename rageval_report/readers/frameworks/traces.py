"""Platforms that judge traces and spans: Langfuse and Arize Phoenix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile
from rageval_report.readers.cell_values import (
    is_blank,
    json_text,
    none_if_nan,
    number_or_none,
    parse_columns,
    text_or_none,
)
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    at,
    described,
    first_fields,
    groups_of,
    read_rows,
    reader_of,
    reader_of_frames,
    without,
)
from rageval_report.readers.frameworks.rows import Judgement, drop_empty, score_file
from rageval_report.readers.json_shapes import check_object
from rageval_report.readers.record_columns import columns_of, rows_of
from rageval_report.scores.cells import read_cell
from rageval_report.scores.metric import Override, normalise_name
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

# -- Langfuse

_LANGFUSE = Format.of("langfuse")
_WORDS = described("langfuse")
# In the order in which they identify the query: the item of a data set is the same in each run.
_OWNERS = ("dataset_item_id", "observation_id", "trace_id", "session_id")
_SHARED = (
    *("session_id", "environment", "dataset_run_id", "trace_name", "user_id", "trace_id"),
    *("question", "answer", "reference"),
)


def _is_langfuse(source: Source) -> float:
    names = {normalise_name(name) for name in first_fields(source, "data")}
    return SURE if names >= _WORDS["score"] and names & _WORDS["typed"] else 0.0


def _read_langfuse(source: Source) -> list[ScoreFile]:
    """Read Langfuse's scores: one row per trace or observation, a column per name of a score."""
    rows = [
        {normalise_name(str(key)): none_if_nan(value) for key, value in row.items()}
        for row in read_rows(source, "data")
    ]
    owned = [row for row in rows if _owner(row, _OWNERS)]
    if not owned:
        raise source.error("no score belongs to a trace, an observation or a session")
    key = _owner_key(owned)
    groups = groups_of(owned, lambda row: _owner(row, key) or _owner(row, _OWNERS) or "")
    labels = named(dict.fromkeys(_name(row) for row in owned if _label(row) is not None))
    notes = [f"query ids are taken from {key[0]!r}"]
    if labels:
        notes.append(f"kept as labels, because they are categories or texts: {labels}")
    if len(owned) < len(rows):
        notes.append(f"{len(rows) - len(owned)} scores belong to no trace and are left out")
    document = source.document_or_none()
    page, pages = at(document, "meta.page"), at(document, "meta.totalPages|meta.total_pages")
    if isinstance(page, int) and isinstance(pages, int) and pages > 1:
        notes.append(f"this is page {page} of {pages}; the other pages have more scores")
    traces = [_trace(owner, scores) for owner, scores in groups.items()]
    return [_LANGFUSE.score_file(source.stem, traces, notes)]


def _owner(row: Mapping[str, Any], key: Sequence[str]) -> str | None:
    """The id of what a score judges: the first that is there."""
    ids = (row.get(name) for name in key)
    return next((str(owner) for owner in ids if not is_blank(owner) and str(owner).strip()), None)


def _owner_key(rows: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """The ids that identify the rows, by falling preference."""
    if all(_owner(row, ("dataset_item_id",)) for row in rows):
        return ("dataset_item_id",)
    observations: dict[tuple[str | None, str], set[str]] = {}
    for row in rows:
        trace = _owner(row, ("trace_id", "session_id"))
        own = observations.setdefault((trace, _name(row)), set())
        own |= {_owner(row, ("observation_id",)) or ""} - {""}
    # Several observations of a trace with a score of one name: each is a query of its own.
    are_apart = any(len(ids) > 1 for ids in observations.values())
    return ("observation_id", "trace_id", "session_id") if are_apart else ("trace_id", "session_id")


def _name(row: Mapping[str, Any]) -> str:
    return json_text(row.get("name")) or "score"


def _trace(owner: str, rows: Sequence[JsonObject]) -> JsonObject:
    """A row of the table: the scores, the labels and the shared fields of some records."""
    shared = {
        name: next((row[name] for row in rows if not is_blank(row.get(name))), None)
        for name in _SHARED
    }
    labels = {f"{_name(row)}_label": label for row in rows if (label := _label(row)) is not None}
    scores = [
        {"name": _name(row), "value": _value(row), "comment": row.get("comment")}
        for row in rows
        if _label(row) is None
    ]
    return {"owner": owner, "scores": scores, "labels": labels, "shared": shared}


def _label(row: JsonObject) -> str | None:
    """The text of a score that is a category or a text; None of a number or a verdict."""
    kind, value = str(row.get("data_type") or "").upper(), row.get("value")
    text = text_or_none(row.get("string_value"))
    is_label = kind in _WORDS["labels"] or (not kind and text is not None and is_blank(value))
    return (text or json_text(value) or "") if is_label else None


def _value(row: JsonObject) -> object:
    value = row.get("value")
    if is_blank(value) and str(row.get("data_type") or "").upper() == "BOOLEAN":
        value = text_or_none(row.get("string_value"))
    number = None if is_blank(value) else none_if_nan(read_cell(value).number)
    return value if number is None else number


LANGFUSE = reader_of("langfuse", _is_langfuse, _read_langfuse)


# -- Phoenix

_SCORE, _DETAILS = "_score", "_execution_details"
_FLAT = re.compile(r"annotation_(?P<name>.+)_score")
_DIRECTIONS: dict[str, Override] = {"maximize": "higher", "minimize": "lower"}
_EXPERIMENT = Format.of("phoenix")
_FIELDS = described("phoenix")


def _is_phoenix(names: frozenset[str]) -> float:
    is_evaluated = all(any(name.endswith(end) for name in names) for end in (_DETAILS, _SCORE))
    return SURE if is_evaluated or names >= _FIELDS["run"] or _is_annotations(names) else 0.0


def _is_annotations(names: Iterable[str]) -> bool:
    return set(names) >= _FIELDS["annotation"] and _span_column(names) is not None


def _span_column(names: Iterable[str]) -> str | None:
    return next((name for name in names if "span_id" in name.lower()), None)


def _read_phoenix(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read a frame of Phoenix: evaluated rows, runs of an experiment, or annotations of spans."""
    cells = parse_columns(frame)
    if cells.keys() >= _FIELDS["run"]:
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
    judgements = {}
    for metric, column in scores.items():
        own = [executions[label] for label in ([metric] if metric in executions else others)]
        judgements[metric] = [
            _evaluated(score, [each[row] for each in own]) for row, score in enumerate(column)
        ]
    labels = {f"{key}_label": [cell.get("label") for cell in scores[key]] for key in scores}
    words = {key: [cell.get("direction") for cell in scores[key]] for key in scores}
    return score_file(
        name,
        rows_of(judgements),
        without(cells, ours) | drop_empty(labels),
        origin="input",
        metrics=_directions(words),
    )


def _evaluated(score: JsonObject, executions: Iterable[JsonObject]) -> Judgement:
    if score:
        return Judgement(score.get("score"), text_or_none(score.get("explanation")))
    failed = [fields for fields in executions if fields.get("status") == "FAILED"]
    exceptions = [fields.get("exceptions") for fields in failed]
    texts = [str(text) for listed in exceptions if isinstance(listed, list) for text in listed]
    return Judgement(None, "; ".join(dict.fromkeys(texts)) or None, bool(failed))


def _directions(cells_by_metric: Mapping[str, list[Any]]) -> dict[str, Override]:
    """The directions stored with the scores, if they agree."""
    directions: dict[str, Override] = {}
    for metric, cells in cells_by_metric.items():
        words = {str(cell) for cell in cells if cell is not None}
        if len(words) == 1 and words <= _DIRECTIONS.keys():
            directions[metric] = _DIRECTIONS[words.pop()]
    return directions


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
    return score_file(
        stem,
        rows.values(),
        columns_of(without(line, {*_FIELDS["of_annotations"], owner}) for line in firsts),
        ids=[query for query, _ in rows],
        origin="span",
        metrics=_directions(words),
        notes=[f"query ids are taken from column {owner!r}"],
    )


# -- experiments


def _run(row: JsonObject) -> JsonObject:
    """A run with its annotations as objects, which a CSV file has as columns."""
    fields = ("score", "explanation", "error")
    names = [match["name"] for key in row if (match := _FLAT.fullmatch(key))]
    flat = {
        name: {each: none_if_nan(row.get(f"annotation_{name}_{each}")) for each in fields}
        for name in names
    }
    metadata = row.get("metadata")
    return {
        **row,
        "metadata": metadata if isinstance(metadata, dict) else {},
        "annotations": row.get("annotations", flat),
    }


def _unreadable(rows: Sequence[JsonObject]) -> Iterator[str]:
    for ours, (theirs, _) in _EXPERIMENT.measures.items():
        cells = [none_if_nan(row.get(theirs)) for row in rows]
        n_lost = sum(cell is not None and number_or_none(cell) is None for cell in cells)
        if n_lost:
            yield f"{n_lost} cells of {ours!r} are not numbers and are left out"


PHOENIX = reader_of_frames("phoenix", _is_phoenix, _read_phoenix)

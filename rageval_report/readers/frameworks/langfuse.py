"""Langfuse: exported scores, one record per score, as JSON of the API or as any table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile
from rageval_report.readers.cell_values import is_blank, json_text, text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    at,
    first_fields,
    groups_of,
    read_rows,
)
from rageval_report.readers.frameworks.rows import Judgement
from rageval_report.scores.cells import read_cell
from rageval_report.scores.metric import normalise_name
from rageval_report.types import JsonObject

_DATA = "data"
# With the names normalised: the API writes traceId, the Python library trace_id.
_SCORE = frozenset(("trace_id", "name", "value"))
_TYPED = frozenset(("data_type", "string_value"))
# In the order in which they identify the query: the item of a data set is the same in each run.
_OWNERS = ("dataset_item_id", "observation_id", "trace_id", "session_id")
_LABELS = frozenset(("CATEGORICAL", "TEXT", "CORRECTION"))
_SHARED = (
    *("session_id", "environment", "dataset_run_id", "trace_name", "user_id", "trace_id"),
    *("question", "answer", "reference"),
)


def _recognise(source: Source) -> float:
    names = {normalise_name(name) for name in first_fields(source, _DATA)}
    return SURE if names >= _SCORE and names & _TYPED else 0.0


def _read_langfuse(source: Source) -> list[ScoreFile]:
    """Read Langfuse's scores: one row per trace or observation, a column per name of a score."""
    rows = [
        {normalise_name(str(key)): value for key, value in row.items()}
        for row in read_rows(source, _DATA)
    ]
    owned = [row for row in rows if _owner(row, _OWNERS)]
    if not owned:
        raise source.error("no score belongs to a trace, an observation or a session")
    key = _key(owned)
    groups = groups_of(owned, lambda row: _owner(row, key) or _owner(row, _OWNERS) or "")
    notes = [f"query ids are taken from {key[0]!r}"]
    if len(owned) < len(rows):
        notes.append(f"{len(rows) - len(owned)} scores belong to no trace and are left out")
    document = source.document_or_none()
    page, pages = at(document, "meta.page"), at(document, "meta.totalPages|meta.total_pages")
    if isinstance(page, int) and isinstance(pages, int) and pages > 1:
        notes.append(f"this is page {page} of {pages}; the other pages have more scores")
    traces = [_trace(owner, scores) for owner, scores in groups.items()]
    return [_TRACES.score_file(source.stem, traces, notes)]


def _owner(row: Mapping[str, Any], key: Sequence[str]) -> str | None:
    """The id of what a score judges: the first that is there."""
    ids = (row.get(name) for name in key)
    return next((str(owner) for owner in ids if not is_blank(owner) and str(owner).strip()), None)


def _key(rows: Sequence[Mapping[str, Any]]) -> Sequence[str]:
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
    """A row of the table: the judgements, the labels and the shared fields of some scores."""
    labels = {_name(row): label for row in rows if (label := _label(row)) is not None}
    judged = groups_of((row for row in rows if _label(row) is None), _name)
    shared = {
        name: next((row[name] for row in rows if not is_blank(row.get(name))), None)
        for name in _SHARED
    }
    return {
        "owner": owner,
        "judged": {name: _judgement(several) for name, several in judged.items()},
        "labels": {f"{name}_label": label for name, label in labels.items()},
        "shared": shared,
        "names": {"labels": list(labels), "averaged": [n for n, v in judged.items() if len(v) > 1]},
    }


def _label(row: JsonObject) -> str | None:
    """The text of a score that is a category or a text; None of a number or a verdict."""
    kind, value = str(row.get("data_type") or "").upper(), row.get("value")
    text = text_or_none(row.get("string_value"))
    is_label = kind in _LABELS or (not kind and text is not None and is_blank(value))
    return (text or json_text(value) or "") if is_label else None


def _judgement(rows: Sequence[JsonObject]) -> Judgement:
    """The only judgement, or the mean of several with all their reasons."""
    values = []
    for row in rows:
        value = row.get("value")
        if is_blank(value) and str(row.get("data_type") or "").upper() == "BOOLEAN":
            value = text_or_none(row.get("string_value"))
        values.append(None if is_blank(value) else value)
    reasons = dict.fromkeys(text for row in rows if (text := text_or_none(row.get("comment"))))
    reason = "; ".join(reasons) or None
    if len(values) == 1:
        return Judgement(values[0], reason)
    numbers = [number for value in values if not math.isnan(number := read_cell(value).number)]
    return Judgement(math.fsum(numbers) / len(numbers) if numbers else None, reason)


def _notes(traces: Sequence[JsonObject]) -> Iterator[str]:
    labels, averaged = (
        list(dict.fromkeys(name for trace in traces for name in trace["names"][key]))
        for key in ("labels", "averaged")
    )
    if labels:
        yield f"kept as labels, because they are categories or texts: {named(labels)}"
    if averaged:
        yield f"averaged, because a row has several scores of one name: {named(averaged)}"


_TRACES = Format(
    "langfuse",
    "Langfuse: exported scores (traceId, name, value, dataType) as JSON of the API or any table",
    "scores.json",
    judge=lambda traces: [trace["judged"] for trace in traces],
    notes=_notes,
    id="owner",
    averages=False,
    nests={"score": "shared", "langfuse": "labels"},
)
LANGFUSE = _TRACES.reader(_recognise, _read_langfuse)

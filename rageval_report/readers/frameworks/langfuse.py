"""Langfuse: exported scores, one record per score, as JSON of the API or as any table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import is_blank, json_text, text_or_none
from rageval_report.readers.frameworks.json_rows import first_fields, read_rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.scores.cells import read_cell
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

_DATA, _META = "data", "meta"
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
    return 0.95 if names >= _SCORE and names & _TYPED else 0.0


class _LangfuseScore(NamedTuple):
    """One score: the id of what it judges, its name, its judgement, its label, and its fields."""

    owner: str
    name: str
    judgement: Judgement | None
    label: str | None
    fields: Mapping[str, Any]


def read_langfuse(source: Source) -> list[ScoreFile]:
    """Read Langfuse's scores: one row per trace, one column per name of a score.

    Numeric and boolean scores are metrics. Categorical scores and texts are labels: the number
    beside a category is only its place in a list. If one trace has several scores of a name that
    judge different observations, the rows are observations; several scores of one name for the
    same row are averaged, with a note. Scores of whole data set runs are left out.

    Raises
    ------
    ReaderError
        If the file is broken, or contains no score of a trace.
    """
    rows = [
        {normalise_name(str(key)): value for key, value in row.items()}
        for row in read_rows(source, _DATA)
    ]
    owned = [row for row in rows if _owner(row, _OWNERS)]
    if not owned:
        raise source.error("no score belongs to a trace, an observation or a session")
    key = _key(owned)
    scores = [_read_score(row, key) for row in owned]
    groups: dict[str, list[_LangfuseScore]] = {}
    for score in scores:
        groups.setdefault(score.owner, []).append(score)
    judged = judgement_columns(_judgements(group) for group in groups.values())
    labels = columns_of(_labels(group) for group in groups.values())
    labels = rename_clashes({f"{name}_label": cells for name, cells in labels.items()},
                            judged.columns, "langfuse")  # fmt: skip
    details = columns_of(_shared_fields(group) for group in groups.values())
    details = rename_clashes(details, {*judged.columns, *labels, QUERY_ID}, "score")
    details = drop_empty(details, keep=())
    frame = frame_of({QUERY_ID: list(groups), **details, **labels, **judged.columns})
    notes = (
        f"query ids are taken from {key[0]!r}",
        *_notes(source, rows, owned, scores, groups),
        *judged.notes,
    )
    return [ScoreFile(frame, source.stem, metric_columns=judged.metrics, notes=notes)]


def _owner(row: Mapping[str, Any], key: Sequence[str]) -> str | None:
    """The id of what a score judges: the first that is there."""
    ids = (row.get(name) for name in key)
    return next((str(owner) for owner in ids if not is_blank(owner) and str(owner).strip()), None)


def _key(rows: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """The ids that identify the rows, by falling preference."""
    if all(_owner(row, ("dataset_item_id",)) for row in rows):
        return ("dataset_item_id",)
    places = [
        (_owner(row, ("trace_id", "session_id")), _name(row), _owner(row, ("observation_id",)))
        for row in rows
    ]
    observations: dict[tuple[str | None, str], set[str | None]] = {}
    for trace, name, observation in places:
        observations.setdefault((trace, name), set()).add(observation)
    # Several observations of a trace with a score of one name: each is a query of its own.
    are_apart = any(len(names - {None}) > 1 for names in observations.values())
    return ("observation_id", "trace_id", "session_id") if are_apart else ("trace_id", "session_id")


def _name(row: Mapping[str, Any]) -> str:
    return json_text(row.get("name")) or "score"


def _read_score(row: JsonObject, key: Sequence[str]) -> _LangfuseScore:
    owner = _owner(row, key) or _owner(row, _OWNERS) or ""
    name = _name(row)
    kind = str(row.get("data_type") or "").upper()
    text = text_or_none(row.get("string_value"))
    if kind in _LABELS or (not kind and text is not None and is_blank(row.get("value"))):
        return _LangfuseScore(owner, name, None, text or json_text(row.get("value")), row)
    value = row.get("value")
    if is_blank(value) and kind == "BOOLEAN":
        value = text
    judgement = Judgement(None if is_blank(value) else value, text_or_none(row.get("comment")))
    return _LangfuseScore(owner, name, judgement, None, row)


def _judgements(scores: Iterable[_LangfuseScore]) -> dict[str, Judgement]:
    by_name: dict[str, list[Judgement]] = {}
    for score in scores:
        if score.judgement is not None:
            by_name.setdefault(score.name, []).append(score.judgement)
    return {name: _mean(judgements) for name, judgements in by_name.items()}


def _mean(judgements: list[Judgement]) -> Judgement:
    """The only judgement, or the mean of several with all their reasons."""
    if len(judgements) == 1:
        return judgements[0]
    numbers = [read_cell(judgement.score).number for judgement in judgements]
    present = [number for number in numbers if not math.isnan(number)]
    reasons = dict.fromkeys(judgement.reason for judgement in judgements if judgement.reason)
    mean = math.fsum(present) / len(present) if present else None
    return Judgement(mean, "; ".join(reasons) or None)


def _labels(scores: Iterable[_LangfuseScore]) -> dict[str, str | None]:
    return {score.name: score.label for score in scores if score.judgement is None}


def _shared_fields(scores: Sequence[_LangfuseScore]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in _SHARED:
        values = (score.fields.get(name) for score in scores)
        fields[name] = next((value for value in values if not is_blank(value)), None)
    return fields


def _notes(
    source: Source,
    rows: Sequence[object],
    owned: Sequence[object],
    scores: Iterable[_LangfuseScore],
    groups: Mapping[str, list[_LangfuseScore]],
) -> Iterable[str]:
    every = list(scores)
    labels = dict.fromkeys(score.name for score in every if score.judgement is None)
    if labels:
        yield f"kept as labels, because they are categories or texts: {named(labels)}"
    repeated = dict.fromkeys(
        score.name
        for group in groups.values()
        for place, score in enumerate(group)
        if score.judgement is not None and any(score.name == other.name for other in group[:place])
    )
    if repeated:
        yield f"averaged, because a row has several scores of one name: {named(repeated)}"
    if len(owned) < len(rows):
        yield f"{len(rows) - len(owned)} scores belong to no trace and are left out"
    yield from _page_note(source.document_or_none())


def _page_note(document: object) -> Iterable[str]:
    meta = document.get(_META) if isinstance(document, dict) else None
    if isinstance(meta, dict):
        page, pages = (meta.get(name) for name in ("page", "totalPages"))
        pages = meta.get("total_pages") if pages is None else pages
        if isinstance(page, int) and isinstance(pages, int) and pages > 1:
            yield f"this is page {page} of {pages}; the other pages have more scores"


LANGFUSE = Reader(
    "langfuse",
    "Langfuse: exported scores (traceId, name, value, dataType) as JSON of the API or any table",
    _recognise,
    read_langfuse,
    ("encoding",),
    example="scores.json",
)

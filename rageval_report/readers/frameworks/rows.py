"""The rows of a pipeline become a frame: judgements, texts, ids, measures, repeats, states."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rageval_report.errors import named
from rageval_report.readers.base import CellsByColumn, ScoreFile
from rageval_report.readers.cell_values import is_blank, json_text, none_if_nan, number_or_none
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.record_columns import columns_of, frame_of, score_columns
from rageval_report.scores.cells import plain_number, read_cells
from rageval_report.scores.metric import Catalogue, Override, normalise_name
from rageval_report.scores.query_ids import (
    ANSWER,
    CONTEXTS,
    QUERY_ID,
    QUESTION,
    REFERENCE,
    TEXTS,
    first_named,
    id_column_of,
)
from rageval_report.scores.states import ERROR, FAILED, MISSING, REASON, SCORED, STATE

N_REPEATS, LABEL = "n_repeats", "_label"
SECONDS = 1000.0  # in milliseconds
ON_GRADES: Override = {"kind": "real", "bounds": (1.0, 5.0)}
_NO_REASON = "failed; the file does not say why"
_CASE = "the case of a repeat"


# -- judgements


class Judgement(NamedTuple):
    """One score as a framework wrote it, its reason, and whether scoring failed."""

    score: object = None
    reason: str | None = None
    is_failed: bool = False


def judge(score: object, reason: str | None = None, otherwise: str | None = None) -> Judgement:
    """The judgement; one that failed, with `reason` or `otherwise`, if there is no score."""
    if none_if_nan(score) is None:
        return Judgement(None, reason or otherwise, is_failed=True)
    return Judgement(score, reason)


def mean_judgement(judgements: Iterable[Judgement]) -> Judgement:
    """The only judgement, or the mean of those that are numbers, with all their reasons."""
    every = list(judgements)
    scored = [each for each in every if not each.is_failed]
    reasons = dict.fromkeys(each.reason for each in scored or every if each.reason)
    reason = "; ".join(reasons) or None
    if not scored:
        return Judgement(None, reason, is_failed=True)
    numbers = [number for each in scored if (number := number_or_none(each.score)) is not None]
    is_mean = 1 < len(scored) == len(numbers)
    return Judgement(math.fsum(numbers) / len(numbers) if is_mean else scored[0].score, reason)


class JudgementColumns(NamedTuple):
    """The columns of all metrics with their states and reasons, the metrics, and notes."""

    columns: CellsByColumn
    metrics: tuple[str, ...]
    notes: tuple[str, ...]


def judgement_columns(
    rows: Iterable[Mapping[str, Judgement]], errors: Iterable[object] | None = None
) -> JudgementColumns:
    """The judgements of rows as columns; `errors` are those in which rows ended, if they did."""
    all_rows = list(rows)
    row_errors = [None] * len(all_rows) if errors is None else [last_line(text) for text in errors]
    columns: CellsByColumn = {}
    metrics, labels, empty, notes = [], [], [], []
    for name in dict.fromkeys(name for row in all_rows for name in row):
        judgements = [
            _with_error(row.get(name, Judgement()), error)
            for row, error in zip(all_rows, row_errors, strict=True)
        ]
        # A number beside a failure is not a score: some frameworks write 0 if a judge failed.
        scores = [None if judgement.is_failed else judgement.score for judgement in judgements]
        read = read_cells(scores)
        if not any(state == SCORED for state in read.states):
            # Words alone, such as "relevant", are labels; beside scores a word is a failed score.
            if read.unread:
                labels.append(name)
                columns[f"{name}{LABEL}"] = scores
                continue
            if not any(judgement.is_failed or judgement.reason for judgement in judgements):
                empty.append(name)
                continue
        elif read.unread:
            cells = named(dict.fromkeys(str(scores[row])[:40] for row in read.unread))
            n = len(read.unread)
            notes.append(f"{n} cells of {name!r} are not scores and count as failed: {cells}")
        metrics.append(name)
        default = {True: _NO_REASON, False: None}
        reasons = [each.reason or default[each.is_failed] for each in judgements]
        columns |= score_columns(name, scores, reasons)
    if labels:
        notes.append(f"kept as labels, because they are words and not scores: {named(labels)}")
    if empty:
        notes.append(f"left out, because they have no score: {named(empty)}")
    return JudgementColumns(columns, tuple(metrics), tuple(notes))


def _with_error(judgement: Judgement, error: str | None) -> Judgement:
    # A score that was given stands, even if the row failed later.
    if error is None or judgement.score is not None:
        return judgement
    return Judgement(None, judgement.reason or error, is_failed=True)


def last_line(error: object) -> str | None:
    """The last line of an error, which is the message of a traceback; None if there is no text."""
    lines = (json_text(error) or "").strip().splitlines()
    return lines[-1].strip() if lines else None


# -- a pipeline

# The override of a metric: by its name, or from its name and its scores.
Overrides = Mapping[str, Override | None] | Callable[[str, list[float]], Override | None]


def score_file(
    name: str,
    judgements: Iterable[Mapping[str, Judgement]] | JudgementColumns,
    details: CellsByColumn,
    *,
    ids: Sequence[object] | None = None,
    cases: Sequence[object] | None = None,
    errors: Iterable[object] | None = None,
    measures: CellsByColumn | None = None,
    measures_first: bool = False,
    origin: str = "row",
    metrics: Overrides | None = None,
    notes: Iterable[str] = (),
    config: Mapping[str, Any] | None = None,
    created: datetime | None = None,
    is_one_pipeline: bool = False,
    averages: bool = True,
) -> ScoreFile:
    """The file of a pipeline, one row per query: repeats of an id are averaged.

    `cases` tell repeats where the format has no ids that other runs share. `origin` goes before a
    detail whose name a metric has. All rows are queries of one pipeline if the format says so; an
    id that occurs twice is a repeat only in a format that `averages`, else an error.
    """
    if isinstance(judgements, JudgementColumns):
        judged = judgements
    else:
        judged = judgement_columns(judgements, errors)
    if not judged.metrics:
        raise ShapeError(f"no row of {name!r} has a score; is this the file of the results?")
    filled = drop_empty(measures or {}, ())
    spent = {key: filled[key] for key in filled if key not in judged.columns}
    taken = {*judged.columns, *spent, *([] if ids is None else [QUERY_ID])}
    if ids is not None:  # then a question need not identify the row
        details = drop_empty(details, ())
    names = (*spent, *judged.metrics) if measures_first else (*judged.metrics, *spent)
    scores = {**spent, **judged.columns} if measures_first else {**judged.columns, **spent}
    columns = {**rename_clashes(details, taken, origin), **scores}
    repeats: tuple[str, ...] = ()
    key, keys = (QUERY_ID, ids) if ids is not None else (_CASE, cases)
    if keys is None:
        frame = frame_of(columns)
    else:
        frame = frame_of({key: [json_text(each) for each in keys], **columns})
        if averages:
            frame, repeats = average_repeats(frame, key, names)
        frame = frame.drop(columns=_CASE, errors="ignore")
    return ScoreFile(
        frame,
        name,
        metrics=overrides_of(metrics or {}, judged),
        metric_columns=names,
        notes=(*notes, *judged.notes, *repeats),
        config=config or {},
        created=created,
        is_one_pipeline=is_one_pipeline,
        totals="keep" if is_one_pipeline else "auto",
    )


def overrides_of(metrics: Overrides, judged: JudgementColumns) -> dict[str, Override]:
    """What is known of each metric of a file; a function sees the scores that are there."""
    overrides = {}
    for name in judged.metrics:
        if callable(metrics):
            scores = [score for score in judged.columns[name] if score == score]
            override = metrics(name, scores)
        else:
            override = metrics.get(name)
        if override:
            overrides[name] = override
    return overrides


def are_grades(scores: Collection[float], *, whole: bool = False, all_one: bool = False) -> bool:
    """Whether these are grades from 1 to 5; all 1 may also be verdicts or shares."""
    is_within = all(1 <= score <= 5 and (not whole or score == round(score)) for score in scores)
    return bool(scores) and is_within and (all_one or any(score > 1 for score in scores))


def times(value: object, factor: float = SECONDS) -> float | None:
    """A number times a factor, such as seconds in milliseconds; None if it is not a number."""
    number = number_or_none(value)
    return None if number is None else number * factor


def time_in(value: object) -> datetime | None:
    """The time in an ISO text or in seconds since 1970; None if it is neither."""
    seconds = number_or_none(value)
    try:
        if seconds is not None:
            return datetime.fromtimestamp(seconds, UTC)
        return datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except (ValueError, OverflowError, OSError):
        return None


def rename_clashes(details: CellsByColumn, taken: Collection[str], origin: str) -> CellsByColumn:
    """The details; one whose name is taken gets its origin's name in front."""
    return {f"{origin}.{name}" if name in taken else name: cells for name, cells in details.items()}


def drop_empty(columns: CellsByColumn, keep: Collection[str] = ("question",)) -> CellsByColumn:
    """The columns with at least one value, and those to keep: questions may identify the rows."""
    return {
        name: cells
        for name, cells in columns.items()
        if name in keep or any(cell is not None for cell in cells)
    }


# -- repeats


def average_repeats(
    frame: pd.DataFrame, key: str, metrics: Sequence[str]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """One row per query: the means of its repeats' scores, the details of the first repeat."""
    if key in metrics:
        raise ShapeError(f"a metric is named {key!r}, as the column of ids is; rename the metric")
    # Repeats are averaged before any test: as rows of their own they would count one query several
    # times.
    ids = [cell if isinstance(cell, Hashable) else str(cell) for cell in frame[key].tolist()]
    if len(set(ids)) == len(frame):
        return frame, ()
    frame = frame.assign(**{key: pd.Series(ids, index=frame.index, dtype=object)})
    groups = frame.groupby(key, sort=False, dropna=False)
    averaged = frame.drop_duplicates(key).set_index(key)
    merged: dict[str, Any] = {N_REPEATS: groups.size()}
    for name in metrics:
        merged[name] = groups[name].mean()
        for ending, merge in ((REASON, _join_texts), (STATE, _state_of_repeats)):
            if f"{name}{ending}" in averaged:
                merged[f"{name}{ending}"] = groups[f"{name}{ending}"].agg(merge)
    if ERROR in averaged:
        merged[ERROR] = groups[ERROR].agg(_join_texts)
    averaged = averaged.assign(**merged)
    note = (
        f"{len(frame)} rows of {len(averaged)} queries: the score of a query is the mean of its "
        f"scored repeats; the column {N_REPEATS!r} counts the repeats"
    )
    return averaged.reset_index()[[*frame.columns, N_REPEATS]], (note,)


def _join_texts(cells: pd.Series) -> str | None:
    texts = [cell for cell in cells.tolist() if isinstance(cell, str)]
    return "; ".join(dict.fromkeys(texts)) or None


def _state_of_repeats(cells: pd.Series) -> str:
    """Scored if any repeat is, else failed if any is."""
    states = cells.tolist()
    return next((state for state in (SCORED, FAILED) if state in states), str(states[0]))


# -- texts

# The usual names of the part that is the question, the answer or the reference itself.
_NAMES: dict[str, tuple[str, ...]] = {
    "question": (*QUESTION, "prompt", "text"),
    "answer": (*ANSWER, "result", "text"),
    "reference": (*REFERENCE, *ANSWER, "expected", "label"),
}
_USUAL = {"contexts": CONTEXTS, "reference": REFERENCE}


def split_parts(values: Iterable[object], role: str, origin: str) -> CellsByColumn:
    """The column of a role, and a column for each other part of objects.

    The role takes the part that is named like it, or the only part; an object without either is
    written as JSON text. `origin` goes before a name that would be taken for something else.
    """
    all_values = list(values)
    objects = [value if isinstance(value, dict) else {} for value in all_values]
    parts = columns_of({str(key): part for key, part in fields.items()} for fields in objects)
    main = first_named(parts, _NAMES[role]) or (next(iter(parts)) if len(parts) == 1 else None)
    cells: list[Any]
    if main is None:
        cells = [json_text(value) for value in all_values]
    else:
        cells = [
            (parts[main][row] if value else None) if isinstance(value, dict) else value
            for row, value in enumerate(all_values)
        ]
        if role == "question":  # questions identify rows, so they must be texts
            cells = [json_text(cell) for cell in cells]
    others = [name for name in parts if name != main]
    usual = {first_named(others, names): ours for ours, names in _USUAL.items() if ours != role}
    return {role: cells} | {
        usual.get(name) or _part_name(name, origin): parts[name] for name in others
    }


def _part_name(name: str, origin: str) -> str:
    """The name, unless it would be taken for the row's id or for another text of the row."""
    is_taken = id_column_of([name]) is not None or normalise_name(name) in TEXTS
    return f"{origin}.{name}" if is_taken else name


def own_ids(objects: Iterable[object]) -> tuple[str, list[str]] | None:
    """The key of the ids in the objects of all rows, and the ids; None if a row has none."""
    parts = columns_of(value if isinstance(value, dict) else {} for value in objects)
    key = id_column_of(map(str, parts))
    ids = texts_of_ids(parts.get(key or "", []))
    return (key, ids) if key is not None and ids else None


def texts_of_ids(cells: Sequence[object] | None) -> list[str]:
    """The ids as texts; none if a row has no id."""
    are_ids = all(isinstance(cell, str | int) and str(cell).strip() for cell in cells or ())
    return list(map(str, cells)) if cells and are_ids else []


def rename_partial_ids(columns: CellsByColumn, origin: str) -> CellsByColumn:
    """The columns; one named like ids that lacks some rows gets its origin's name in front."""
    partial = [name for name in columns if id_column_of([name]) and None in columns[name]]
    return rename_clashes(columns, partial, origin)


def message_text(messages: object, role: str = "user") -> str | None:
    """A text as it is; of a conversation the last message of a role, or the last one of all."""
    if not isinstance(messages, list):
        return json_text(messages)
    every = [message for message in messages if isinstance(message, dict)]
    own = [message for message in every if message.get("role", message.get("type")) == role]
    own = [message for message in own if message.get("content")] or (
        every if role == "user" else []
    )
    return content_text(own[-1].get("content")) if own else None


def content_text(content: object) -> str | None:
    """The text of a message; if it has parts, those that are text."""
    if not isinstance(content, list):
        return json_text(content)
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str)) or None


# -- tables with blanks


def mark_blank_scores(
    frame: pd.DataFrame, other_columns: Collection[str]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """The frame with blank scores marked as failed, and their number by metric."""
    catalogue = Catalogue()
    columns: dict[str, np.ndarray] = {}
    counts = {}
    for name in map(str, frame):
        if name in other_columns or normalise_name(name) in TEXTS or f"{name}{STATE}" in frame:
            continue
        if not _may_hold_scores(frame[name], is_known=catalogue.find(name) is not None):
            continue
        read = read_cells(frame[name].tolist())
        # Ragas 0.4.3 and Haystack 3.4.0 write NaN if a judge failed, so here a blank is a failure.
        is_missing = read.states == MISSING
        if is_missing.any():
            states = np.where(is_missing, FAILED, read.states)
            columns |= {name: read.numbers, f"{name}{STATE}": states}
            counts[name] = int(is_missing.sum())
    return (frame.assign(**columns) if columns else frame), counts


def _may_hold_scores(cells: pd.Series, *, is_known: bool) -> bool:
    """Whether a column holds numbers and blanks; without a number it must be a known metric."""
    if pd.api.types.is_numeric_dtype(cells.dtype):
        # A column without any value is a metric that failed everywhere only if its name is one;
        # else it is a detail that nobody filled.
        return bool(cells.isna().any()) and (is_known or not bool(cells.isna().all()))
    numbers = [
        plain_number(cell) if isinstance(cell, str) else None
        for cell in cells.tolist()
        if not is_blank(cell)
    ]
    if None in numbers:
        return False
    return is_known or any(number is not None and not math.isnan(number) for number in numbers)

"""The judgements of rows become columns; the rows of one query become one row."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from rageval_report.errors import named
from rageval_report.readers.base import CellsByColumn
from rageval_report.readers.cell_values import json_text
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.record_columns import score_columns
from rageval_report.scores.cells import read_cells
from rageval_report.scores.states import ERROR, FAILED, REASON, SCORED, STATE

N_REPEATS, LABEL = "n_repeats", "_label"
_NO_REASON = "failed; the file does not say why"


class Judgement(NamedTuple):
    """One score as a framework wrote it, its reason, and whether scoring failed."""

    score: object = None
    reason: str | None = None
    is_failed: bool = False


class JudgementColumns(NamedTuple):
    """The columns of all metrics with their states and reasons, the metrics, and notes."""

    columns: CellsByColumn
    metrics: tuple[str, ...]
    notes: tuple[str, ...]


def judgement_columns(
    rows: Iterable[Mapping[str, Judgement]], errors: Iterable[object] | None = None
) -> JudgementColumns:
    """The judgements of rows as columns, in the order in which the metrics first appear.

    A metric whose judgements are words becomes a column of labels; a metric without a single
    judgement is left out. Both get a note.

    Parameters
    ----------
    rows : iterable of mapping of str to Judgement
        The judgements of each row, by metric.
    errors : iterable, optional
        The text of the error in which each row ended, if any: its unscored cells have failed.

    Examples
    --------
    >>> rows = [{"tone": Judgement(0.5)}, {"tone": Judgement(0, "timeout", True)}]
    >>> result = judgement_columns(rows)
    >>> result.columns["tone"], result.columns["tone_state"]
    ([0.5, nan], ['scored', 'failed'])
    """
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
        if any(state == SCORED for state in read.states):
            notes += _unread_note(name, [scores[row] for row in read.unread])
        # Words alone, such as "relevant", are labels; beside scores a word is a failed score.
        elif read.unread:
            labels.append(name)
            columns[f"{name}{LABEL}"] = scores
            continue
        elif not any(judgement.is_failed or judgement.reason for judgement in judgements):
            empty.append(name)
            continue
        metrics.append(name)
        reasons = [
            judgement.reason or (_NO_REASON if judgement.is_failed else None)
            for judgement in judgements
        ]
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
    r"""The last line of an error, which is the message of a traceback; None if there is no text.

    Examples
    --------
    >>> last_line("Traceback: ...\nValueError: broken\n"), last_line(None), last_line(" ")
    ('ValueError: broken', None, None)
    """
    lines = (json_text(error) or "").strip().splitlines()
    return lines[-1].strip() if lines else None


def _unread_note(name: str, cells: list[object]) -> list[str]:
    if not cells:
        return []
    examples = named(dict.fromkeys(str(cell)[:40] for cell in cells))
    return [f"{len(cells)} cells of {name!r} are not scores and count as failed: {examples}"]


def rename_clashes(details: CellsByColumn, taken: Collection[str], origin: str) -> CellsByColumn:
    """The details; one whose name is taken gets its origin's name in front.

    Examples
    --------
    >>> rename_clashes({"score": ["high"], "k": [5]}, ["score"], "inputs")
    {'inputs.score': ['high'], 'k': [5]}
    """
    return {f"{origin}.{name}" if name in taken else name: cells for name, cells in details.items()}


def drop_empty(columns: CellsByColumn, keep: Collection[str] = ("question",)) -> CellsByColumn:
    """The columns with at least one value, and those to keep: questions may identify the rows.

    Examples
    --------
    >>> drop_empty({"error": [None, None], "answer": ["a", None]})
    {'answer': ['a', None]}
    """
    return {
        name: cells
        for name, cells in columns.items()
        if name in keep or any(cell is not None for cell in cells)
    }


# -- repeats


def average_repeats(
    frame: pd.DataFrame, key: str, metrics: Sequence[str]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """One row per query: the means of its repeats' scores, the details of the first repeat.

    Unscored repeats do not enter the mean; the column ``n_repeats`` counts all rows.

    Parameters
    ----------
    frame : DataFrame
        One row per repeat.
    key : str
        The column of ids.
    metrics : sequence of str
        The columns of numbers.

    Raises
    ------
    ShapeError
        If a metric has the name of the column of ids.

    Examples
    --------
    >>> frame = pd.DataFrame({"query_id": ["a", "a", "b"], "recall": [1.0, 0.0, 0.5]})
    >>> average_repeats(frame, "query_id", ["recall"])[0].to_numpy().tolist()
    [['a', 0.5, 2], ['b', 0.5, 1]]
    """
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
    means = groups[list(metrics)].mean()
    averaged = averaged.assign(**{name: means[name] for name in metrics})
    text_columns = [*(f"{name}{REASON}" for name in metrics), ERROR]
    texts = {name: groups[name].agg(_join_texts) for name in text_columns if name in averaged}
    states = {
        f"{name}{STATE}": groups[f"{name}{STATE}"].agg(_state_of_repeats)
        for name in metrics
        if f"{name}{STATE}" in averaged
    }
    averaged = averaged.assign(**texts, **states, **{N_REPEATS: groups.size()})
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

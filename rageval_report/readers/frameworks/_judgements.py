"""What judges said of rows becomes columns; rows of one query become one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from rageval_report.errors import named
from rageval_report.readers._columns import score_columns
from rageval_report.readers.frameworks._told import text_of
from rageval_report.scores.cells import read_cells
from rageval_report.scores.states import ERROR, FAILED, REASON, SCORED, STATE

N_REPEATS, LABEL = "n_repeats", "_label"
_UNTOLD = "failed; the file does not say why"

Columns = dict[str, list[Any]]


class Judgement(NamedTuple):
    """One score as a framework wrote it, what was said of it, and whether it could not be had."""

    score: object = None
    reason: str | None = None
    is_failed: bool = False


class Judged(NamedTuple):
    """The columns of all metrics with their states and reasons, the metrics, and notes."""

    columns: Columns
    metrics: tuple[str, ...]
    notes: tuple[str, ...]


def judged(
    rows: Iterable[Mapping[str, Judgement]], errors: Iterable[object] | None = None
) -> Judged:
    """The judgements of rows as columns, in the order in which the metrics first appear.

    What has words alone becomes a column of labels, and what has nothing at all is left out, each
    with a note.

    Parameters
    ----------
    rows : iterable of mapping of str to Judgement
        Of each row what was said, by metric.
    errors : iterable, optional
        Of each row the text of the error that it ended in: its unscored cells failed.

    Examples
    --------
    >>> found = judged([{"tone": Judgement(0.5)}, {"tone": Judgement(0, "timeout", True)}])
    >>> found.columns["tone"], found.columns["tone_state"]
    ([0.5, nan], ['scored', 'failed'])
    """
    all_rows = list(rows)
    ends = [ends_with(one) for one in errors] if errors is not None else [None] * len(all_rows)
    columns: Columns = {}
    metrics, labels, empty, notes = [], [], [], []
    for name in dict.fromkeys(name for row in all_rows for name in row):
        cells = [
            _with_error(row.get(name, Judgement()), end)
            for row, end in zip(all_rows, ends, strict=True)
        ]
        given = [None if cell.is_failed else cell.score for cell in cells]
        read = read_cells(given)
        if any(state == SCORED for state in read.states):
            notes += _unread_note(name, [given[place] for place in read.unread])
        elif read.unread:
            labels.append(name)
            columns[f"{name}{LABEL}"] = given
            continue
        elif not any(cell.is_failed or cell.reason for cell in cells):
            empty.append(name)
            continue
        metrics.append(name)
        reasons = [cell.reason or (_UNTOLD if cell.is_failed else None) for cell in cells]
        columns |= score_columns(name, given, reasons)
    if labels:
        notes.append(f"words and no scores, and so no metrics: {named(labels)}")
    if empty:
        notes.append(f"without a single score, and so no metrics: {named(empty)}")
    return Judged(columns, tuple(metrics), tuple(notes))


def _with_error(cell: Judgement, error: str | None) -> Judgement:
    if error is None or cell.score is not None:
        return cell
    return Judgement(None, cell.reason or error, is_failed=True)


def ends_with(error: object) -> str | None:
    r"""The last line of an error, which says what a traceback comes to; None where there is none.

    Examples
    --------
    >>> ends_with("Traceback: ...\nValueError: broken\n"), ends_with(None), ends_with(" ")
    ('ValueError: broken', None, None)
    """
    text = text_of(error) or ""
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else None


def _unread_note(name: str, cells: list[object]) -> list[str]:
    if not cells:
        return []
    told = named(dict.fromkeys(str(cell)[:40] for cell in cells))
    return [f"{len(cells)} cells of {name!r} hold no score and count as failed: {told}"]


def beside(details: Mapping[str, list[Any]], taken: Collection[str], origin: str) -> Columns:
    """The details; one that is named like a column of scores is put under its origin.

    Examples
    --------
    >>> beside({"score": ["high"], "k": [5]}, ["score"], "inputs")
    {'inputs.score': ['high'], 'k': [5]}
    """
    return {f"{origin}.{name}" if name in taken else name: cells for name, cells in details.items()}


def without_empty(columns: Mapping[str, list[Any]]) -> Columns:
    """The columns that hold anything, and the questions, by which rows are known.

    Examples
    --------
    >>> without_empty({"error": [None, None], "answer": ["a", None]})
    {'answer': ['a', None]}
    """
    return {
        name: cells
        for name, cells in columns.items()
        if name == "question" or any(one is not None for one in cells)
    }


# -- repeats


def mean_of_repeats(
    frame: pd.DataFrame, key: str, metrics: Sequence[str]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """One row a query: the means of its repeats' scores, the details of the first.

    Unscored repeats are left out of the mean; how many rows there were stands in ``n_repeats``.

    Parameters
    ----------
    frame : DataFrame
        One row a repeat.
    key : str
        The column of ids.
    metrics : sequence of str
        The columns of numbers.

    Examples
    --------
    >>> frame = pd.DataFrame({"query_id": ["a", "a", "b"], "recall": [1.0, 0.0, 0.5]})
    >>> mean_of_repeats(frame, "query_id", ["recall"])[0].to_numpy().tolist()
    [['a', 0.5, 2], ['b', 0.5, 1]]
    """
    groups = frame.groupby(key, sort=False, dropna=False)
    if groups.ngroups == len(frame):
        return frame, ()
    found = frame.drop_duplicates(key).set_index(key)
    means = groups[list(metrics)].mean()
    found = found.assign(**{name: means[name] for name in metrics})
    texts = [*(f"{name}{REASON}" for name in metrics), ERROR]
    told = {name: groups[name].agg(_distinct) for name in texts if name in found}
    states = {
        f"{name}{STATE}": groups[f"{name}{STATE}"].agg(_state)
        for name in metrics
        if f"{name}{STATE}" in found
    }
    found = found.assign(**told, **states, **{N_REPEATS: groups.size()})
    note = (
        f"{len(frame)} rows of {len(found)} queries: each query's score is the mean of its repeats "
        f"that were scored, their number stands in {N_REPEATS!r}"
    )
    return found.reset_index()[[*frame.columns, N_REPEATS]], (note,)


def _distinct(cells: pd.Series) -> str | None:
    texts = [one for one in cells.tolist() if isinstance(one, str)]
    return "; ".join(dict.fromkeys(texts)) or None


def _state(cells: pd.Series) -> str:
    """Scored if any repeat is, else failed if any is."""
    present = cells.tolist()
    return next((state for state in (SCORED, FAILED) if state in present), str(present[0]))

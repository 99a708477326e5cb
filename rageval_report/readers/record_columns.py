"""Records become columns, and columns a frame in which no value changes its meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, TypeVar

import pandas as pd

from rageval_report.readers.base import CellsByColumn, id_columns
from rageval_report.scores.cells import read_cells, split_object
from rageval_report.scores.column_scale import CellColumn
from rageval_report.scores.states import FAILED, MISSING, REASON, STATE, state_columns

T = TypeVar("T")

# The columns in which frameworks keep the scores of a row one level down.
NESTS = ("metrics", "scores")
# So many records stay in the cache of one core from their parsing until their cells are collected.
PIECE = 256


def frame_of(
    columns: Mapping[str, Sequence[Any] | pd.Series], query_id: str | None = None
) -> pd.DataFrame:
    """A frame of the columns; ids that are not texts stay as they are: 1 and "1" may differ.

    Examples
    --------
    >>> frame_of({"id": [1, "1"], "recall": [0.5, None]}).dtypes.astype(str).tolist()
    ['object', 'float64']
    """
    return pd.DataFrame(series_of(columns, query_id))


def series_of(
    columns: Mapping[str, Sequence[Any] | pd.Series], query_id: str | None = None
) -> dict[str, pd.Series]:
    """The columns of `frame_of` as separate series.

    Examples
    --------
    >>> series_of({"recall": [1, None]})["recall"].tolist()
    [1.0, nan]
    """
    ids = set(id_columns(columns, query_id))
    return {
        name: _series(cells, is_object=name in ids and not _are_texts(cells))
        for name, cells in columns.items()
    }


def _series(cells: Sequence[Any] | pd.Series, *, is_object: bool) -> pd.Series:
    try:
        return pd.Series(cells, dtype=object if is_object else None)
    except OverflowError:  # pandas 2.2 looks for a number in integers that no float holds
        return pd.Series(cells, dtype=object)


def _are_texts(cells: Sequence[Any] | pd.Series) -> bool:
    return all(issubclass(kind, str) for kind in {*map(type, cells)})


def columns_of(records: Iterable[Mapping[str, Any]]) -> CellsByColumn:
    """The columns of some records, in the order in which their keys first appear.

    Examples
    --------
    >>> columns_of([{"a": 1}, {"b": 2}])
    {'a': [1, None], 'b': [None, 2]}
    """
    columns: CellsByColumn = {}
    n = 0
    iterator = iter(records)
    while piece := list(islice(iterator, PIECE)):
        add_records(columns, piece, n)
        n += len(piece)
    return columns


def add_records(
    columns: CellsByColumn, records: Sequence[Mapping[str, Any]], n_before: int
) -> None:
    """Add the cells of some records to columns that hold so many cells.

    Examples
    --------
    >>> columns = {"a": [1]}
    >>> add_records(columns, [{"a": 2, "b": 3}], 1)
    >>> columns
    {'a': [1, 2], 'b': [None, 3]}
    """
    if not records:
        return
    cells = _cells_of_equal_records(records, list(columns or records[0]))
    if cells is None:
        _append_records(columns, records, n_before)
        return
    for key, values in cells.items():
        columns.setdefault(key, []).extend(values)


def _cells_of_equal_records(
    records: Sequence[Mapping[str, Any]], keys: Sequence[str]
) -> CellsByColumn | None:
    """The cells, collected in one pass per column; None if any record has other keys."""
    # Other kinds of dicts may invent a value for a key that they lack.
    if {*map(len, records)} != {len(keys)} or {*map(type, records)} != {dict}:
        return None
    try:
        # Of as many keys, none is missing only if all are the same.
        return {key: list(map(itemgetter(key), records)) for key in keys}
    except KeyError:
        return None


def _append_records(
    columns: CellsByColumn, records: Iterable[Mapping[str, Any]], n_before: int
) -> None:
    """Add records with other keys than the columns have; what a record lacks is None."""
    for n, record in enumerate(records, n_before):
        for key, value in record.items():
            if key not in columns:
                columns[key] = [None] * n
            columns[key].append(value)
        if len(record) < len(columns):
            for cells in columns.values():
                if len(cells) == n:
                    cells.append(None)


def rows_of(columns: Mapping[str, Sequence[T]]) -> list[dict[str, T]]:
    """The rows of some columns, each a dict of all columns.

    Examples
    --------
    >>> rows_of({"a": [1, 2], "b": [3, 4]})
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 4}]
    """
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def lift_nested_scores(columns: CellsByColumn) -> tuple[CellsByColumn, list[str]]:
    """The columns, with scores from one level down as columns of their own, and a note.

    ``{"metrics": {"f1": {"score": 0.5, "reason": "..."}}}`` becomes ``f1`` and ``f1_reason``, and
    ``{"scores": {"f1": 0.5}}`` becomes ``f1``. Other fields beside a score are kept as a dict in
    ``f1_details``.

    Examples
    --------
    >>> lift_nested_scores({"scores": [{"f1": 0.5}, None]})[0]
    {'f1': [0.5, None]}
    """
    lifted: CellsByColumn = {}
    notes = []
    for name, cells in columns.items():
        if name not in NESTS or not _are_scores(cells):
            lifted[name] = cells
            continue
        flat = columns_of(_flatten_scores(cell or {}) for cell in cells)
        taken = [column for column in flat if column in columns]
        # A nested score must not replace a column of the row.
        flat = {f"{name}.{column}" if column in taken else column: flat[column] for column in flat}
        lifted |= flat
        notes.append(f"the scores within {name!r} became columns: {', '.join(flat)}")
    return lifted, notes


def _are_scores(cells: list[Any]) -> bool:
    nests = [cell for cell in cells if cell is not None]
    return any(nests) and all(
        isinstance(nest, dict) and all(map(_may_be_score, nest.values())) for nest in nests
    )


def _may_be_score(value: object) -> bool:
    if isinstance(value, dict):
        return split_object(value) is not None
    return not isinstance(value, list)


def _flatten_scores(nest: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for metric, value in nest.items():
        if not isinstance(value, dict):
            flat[metric] = value
            continue
        score = split_object(value)
        if score is None:  # not in a nest of scores, which `_are_scores` checks
            continue
        flat[metric] = score.inner
        if score.has_error and score.inner is None:
            flat[f"{metric}{STATE}"] = FAILED
        if score.reason is not None:
            flat[f"{metric}{REASON}"] = score.reason
        if score.other_fields:
            flat[f"{metric}_details"] = score.other_fields
    return flat


def score_columns(
    name: str,
    cells: Iterable[object],
    reasons: Iterable[str | None] | None = None,
    ids: Sequence[object] | None = None,
) -> CellsByColumn:
    """The columns of one metric: its numbers, and states and reasons if they are known.

    Parameters
    ----------
    name : str
        The name of the metric.
    cells : iterable
        The cells as the framework wrote them; `rageval_report.scores.cells.read_cells` reads them.
    reasons : iterable of str or None, optional
        The explanation of a judge, or why there is no score, if the file keeps them elsewhere; a
        score that is missing for a reason has failed.
    ids : sequence, optional
        The id of each cell, for messages; if omitted, cells are counted from 1.

    Raises
    ------
    DataError
        If the cells may be on two scales.

    Examples
    --------
    >>> columns = score_columns("faithfulness", [0.5, None], ["all but one", "timeout"])
    >>> columns["faithfulness_state"], columns["faithfulness_reason"]
    (['scored', 'failed'], ['all but one', 'timeout'])
    """
    read = read_cells(cells, CellColumn(name, ids))
    explanations = [None] * len(read.numbers) if reasons is None else list(reasons)
    final_reasons = [
        explanation or reason
        for explanation, reason in zip(explanations, read.reasons, strict=True)
    ]
    states = [
        # Whoever wrote a reason tried to score.
        FAILED if state == MISSING and reason else state
        for state, reason in zip(read.states, final_reasons, strict=True)
    ]
    return {name: read.numbers.tolist(), **state_columns(name, states, final_reasons)}

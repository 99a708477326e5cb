"""Records become columns, and columns a frame in which no value changes its meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

import pandas as pd

from rageval_report.readers.base import CellsByColumn, id_columns
from rageval_report.scores.cells import CellColumn, ParsedCells, read_cells, split_object
from rageval_report.scores.states import FAILED, MISSING, REASON, STATE, state_columns

T = TypeVar("T")

# The columns in which frameworks keep the scores of a row one level down.
NESTS = ("metrics", "scores")


def frame_of(
    columns: Mapping[str, Sequence[Any] | pd.Series], query_id: str | None = None
) -> pd.DataFrame:
    """A frame of the columns; ids that are not texts stay as they are: 1 and "1" may differ."""
    ids = set(id_columns(columns, query_id))
    return pd.DataFrame(
        {
            name: _series(cells, is_object=name in ids and not _are_texts(cells))
            for name, cells in columns.items()
        }
    )


def _series(cells: Sequence[Any] | pd.Series, *, is_object: bool) -> pd.Series:
    try:
        return pd.Series(cells, dtype=object if is_object else None)
    except OverflowError:  # pandas 2.2 looks for a number in integers that no float holds
        return pd.Series(cells, dtype=object)


def _are_texts(cells: Sequence[Any] | pd.Series) -> bool:
    return all(issubclass(kind, str) for kind in {*map(type, cells)})


def columns_of(records: Iterable[Mapping[str, Any]]) -> CellsByColumn:
    """The columns of some records, in the order in which their keys first appear."""
    every = list(records)
    keys = dict.fromkeys(chain.from_iterable(every))
    return {key: [record.get(key) for record in every] for key in keys}


def rows_of(columns: Mapping[str, Sequence[T]]) -> list[dict[str, T]]:
    """The rows of some columns, each a dict of all columns."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def lift_nested_scores(columns: CellsByColumn) -> tuple[CellsByColumn, list[str]]:
    """The columns, with scores from one level down as columns of their own, and a note."""
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
    """The columns of one metric: its numbers, and states and reasons if they are known."""
    return parsed_columns(name, read_cells(cells, CellColumn(name, ids)), reasons)


def parsed_columns(
    name: str, read: ParsedCells, reasons: Iterable[str | None] | None = None
) -> CellsByColumn:
    """The columns of one metric whose cells are read."""
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

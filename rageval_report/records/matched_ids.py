"""Records whose ids are compared after changes of their form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from rageval_report.records.id_changes import IdChange, IdSide, MatchIds, change_id, parse_changes

# The fields that hold a value for each retrieved document, in the order of the ids.
_BESIDE_RETRIEVED = ("retrieved_scores", "retrieved_spans", "retrieved_sections")
_SECTIONS: dict[str, IdSide] = {
    "retrieved_sections": "retrieved",
    "cited_sections": "retrieved",
    "relevant_sections": "gold",
}


def match_record_ids(records: pd.DataFrame, match_ids: MatchIds) -> tuple[pd.DataFrame, str]:
    """The records with ids changed on both sides, and a note that says how.

    A document whose chunks get one id is retrieved once, at the rank of its best chunk; gold ids
    that become equal have the highest of their grades.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` returns them.
    match_ids : str or iterable of str
        Names of `rageval_report.records.id_changes.ID_CHANGES`, in the order in which they are
        applied; "prefix:TEXT" and "suffix:TEXT" remove a text, "cut:TEXT" cuts an id at the last
        occurrence of the text. With "gold:" or "retrieved:" before it, a change applies to ids of
        one side only.

    Examples
    --------
    >>> from rageval_report.records import record_table
    >>> rows = [{"query_id": "q", "relevant": ["a.md"], "retrieved": ["b#1", "b#2", "a#1"]}]
    >>> records, note = match_record_ids(record_table(rows), ["cut:#", "extension"])
    >>> records.loc["q", "relevant"], records.loc["q", "retrieved"]
    ({'a': 1.0}, ['b', 'a'])
    >>> note
    'ids are compared after cut:#, extension; 1 repeat of a document is left out after that'
    """
    changes = parse_changes(match_ids)
    table = records.copy()
    n_repeats = 0
    if "relevant" in table:
        _set(table, "relevant", [_changed_grades(cell, changes) for cell in table["relevant"]])
    if "retrieved" in table:
        places = [_first_places(cell, changes) for cell in table["retrieved"]]
        n_repeats = sum(
            len(cell) - len(first)
            for cell, first in zip(table["retrieved"], places, strict=True)
            if first is not None
        )
        for field in (name for name in _BESIDE_RETRIEVED if name in table):
            pairs = zip(table[field], places, strict=True)
            _set(table, field, [_at(cell, first) for cell, first in pairs])
        _set(table, "retrieved", [None if first is None else list(first) for first in places])
    if "citations" in table:
        _set(table, "citations", [_changed_ids(cell, changes) for cell in table["citations"]])
    for field, side in _SECTIONS.items():
        if field in table:
            _set(table, field, [_changed_sections(cell, changes, side) for cell in table[field]])
    return table, note_of_changes(changes, n_repeats)


def note_of_changes(changes: Sequence[IdChange], n_repeats: int) -> str:
    """The note that says after which changes ids are compared."""
    repeats = "repeat of a document is" if n_repeats == 1 else "repeats of documents are"
    left_out = f"; {n_repeats} {repeats} left out after that" if n_repeats else ""
    return f"ids are compared after {', '.join(map(str, changes))}{left_out}"


def _set(table: pd.DataFrame, field: str, cells: list[Any]) -> None:
    table[field] = pd.Series(cells, index=table.index, dtype=object)


def _changed_grades(
    cell: Mapping[str, float] | None, changes: Sequence[IdChange]
) -> dict[str, float] | None:
    if cell is None:
        return None
    grades: dict[str, float] = {}
    for name, grade in cell.items():
        changed = change_id(name, changes, "gold")
        grades[changed] = max(grade, grades.get(changed, grade))
    return grades


def _first_places(cell: Sequence[str] | None, changes: Sequence[IdChange]) -> dict[str, int] | None:
    """Each changed id of a ranking with its first place."""
    if cell is None:
        return None
    places: dict[str, int] = {}
    for place, name in enumerate(cell):
        places.setdefault(change_id(name, changes, "retrieved"), place)
    return places


def _at(cell: Sequence[Any] | None, places: Mapping[str, int] | None) -> list[Any] | None:
    return None if cell is None or places is None else [cell[place] for place in places.values()]


def _changed_sections(
    cell: Sequence[Sequence[Any]] | None, changes: Sequence[IdChange], side: IdSide
) -> list[tuple[Any, ...]] | None:
    """Document, chunk and perhaps grade of each passage, with both ids changed."""
    if cell is None:
        return None
    return [
        (
            None if document is None else change_id(document, changes, side),
            change_id(name, changes, side),
            *grade,
        )
        for document, name, *grade in cell
    ]


def _changed_ids(cell: Sequence[str] | None, changes: Sequence[IdChange]) -> list[str] | None:
    return None if cell is None else [change_id(name, changes, "retrieved") for name in cell]

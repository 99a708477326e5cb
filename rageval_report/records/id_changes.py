"""Changes of the form of ids, so that two ways of writing the same id become equal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import pandas as pd

from rageval_report.errors import DataError, check_choice

IdSide = Literal["both", "gold", "retrieved"]
MatchIds = str | Iterable[str]

_EXTENSION = re.compile(r"(?<=[^/.])\.[A-Za-z][A-Za-z0-9]{0,4}$")
_PADDING = re.compile(r"(?<![0-9.])0+(?=[0-9])")
_WHOLE = re.compile(r"(?<=[0-9])\.0+$")

# By name, in the order in which a search tries them: what loses nothing first.
ID_CHANGES: dict[str, Callable[[str], str]] = {
    "case": str.casefold,
    "number": lambda name: _WHOLE.sub("", _PADDING.sub("", name)),
    "extension": lambda name: _EXTENSION.sub("", name),
    "file": lambda name: name.replace("\\", "/").rstrip("/").rpartition("/")[2] or name,
}

# Changes with a text of the user after a colon.
_PARTS: dict[str, Callable[[str, str], str]] = {
    "prefix": lambda name, part: name.removeprefix(part) or name,
    "suffix": lambda name, part: name.removesuffix(part) or name,
    # The last one, because a document's id may contain the same text.
    "cut": lambda name, part: name.rpartition(part)[0] or name,
}
_SIDES: tuple[IdSide, ...] = ("gold", "retrieved")


@dataclass(frozen=True)
class IdChange:
    """A change of the form of ids: a name of `ID_CHANGES`, or "prefix", "suffix" or "cut"."""

    name: str
    part: str = ""
    side: IdSide = "both"

    @classmethod
    def parse(cls, text: str) -> IdChange:
        """The change that a user wrote, such as "case", "prefix:docs/" or "retrieved:cut:#"."""
        side: IdSide = next((side for side in _SIDES if text.startswith(f"{side}:")), "both")
        rest = text if side == "both" else text.removeprefix(f"{side}:")
        name, _, part = rest.partition(":")
        if name not in _PARTS:
            check_choice("match_ids", rest, (*ID_CHANGES, *(f"{name}:TEXT" for name in _PARTS)))
        elif not part:
            raise DataError(f'match_ids: "{name}" needs a text, such as "{name}:#"; got {text!r}')
        return cls(name, part, side)

    def __call__(self, name: str) -> str:
        """The changed id."""
        return _PARTS[self.name](name, self.part) if self.part else ID_CHANGES[self.name](name)

    def __str__(self) -> str:
        side = "" if self.side == "both" else f"{self.side}:"
        return f"{side}{self.name}:{self.part}" if self.part else f"{side}{self.name}"

    def applies_to(self, side: IdSide) -> bool:
        """Whether ids of this side are changed."""
        return self.side in ("both", side)


def parse_changes(match_ids: MatchIds) -> tuple[IdChange, ...]:
    """The changes that a user wrote, in their order."""
    texts = [match_ids] if isinstance(match_ids, str) else list(match_ids)
    return tuple(map(IdChange.parse, texts))


def change_id(name: str, changes: Iterable[IdChange], side: IdSide) -> str:
    """An id of one side after the changes that apply to it."""
    for change in changes:
        if change.applies_to(side):
            name = change(name)
    return name


# -- records

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
        Names of `ID_CHANGES`, in the order in which they are applied; "prefix:TEXT" and
        "suffix:TEXT" remove a text, "cut:TEXT" cuts an id at the last occurrence of the text. With
        "gold:" or "retrieved:" before it, a change applies to ids of one side only.

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

    def map_cells(field: str, convert: Callable[[Any], Any]) -> None:
        if field in table:
            cells = [None if cell is None else convert(cell) for cell in table[field]]
            table[field] = pd.Series(cells, index=table.index, dtype=object)

    def change_grades(cell: dict[str, float]) -> dict[str, float]:
        grades: dict[str, float] = {}
        for name, grade in cell.items():
            changed = change_id(name, changes, "gold")
            grades[changed] = max(grade, grades.get(changed, grade))
        return grades

    map_cells("relevant", change_grades)
    map_cells("citations", lambda cell: [change_id(name, changes, "retrieved") for name in cell])
    if "retrieved" in table:
        rankings = [_first_ranks(cell, changes) for cell in table["retrieved"]]
        lengths = [0 if cell is None else len(cell) for cell in table["retrieved"]]
        n_repeats = sum(lengths) - sum(len(ranks or ()) for ranks in rankings)
        # What is beside the ids keeps the values of the ranks that are left.
        for field in {"retrieved_scores", "retrieved_spans", "retrieved_sections"} & set(table):
            pairs = zip(table[field], rankings, strict=True)
            kept = [
                None if cell is None or ranks is None else [cell[rank] for rank in ranks.values()]
                for cell, ranks in pairs
            ]
            table[field] = pd.Series(kept, index=table.index, dtype=object)
        names = [None if ranks is None else list(ranks) for ranks in rankings]
        table["retrieved"] = pd.Series(names, index=table.index, dtype=object)
    for field, side in _SECTIONS.items():
        map_cells(field, partial(_changed_sections, changes=changes, side=side))
    return table, note_of_changes(changes, n_repeats)


def _first_ranks(cell: Sequence[str] | None, changes: Sequence[IdChange]) -> dict[str, int] | None:
    """Each changed id of a ranking with its first rank."""
    if cell is None:
        return None
    ranks: dict[str, int] = {}
    for rank, name in enumerate(cell):
        ranks.setdefault(change_id(name, changes, "retrieved"), rank)
    return ranks


def _changed_sections(
    cell: Sequence[Sequence[Any]], changes: Sequence[IdChange], side: IdSide
) -> list[tuple[Any, ...]]:
    """Document, chunk and perhaps grade of each passage, with both ids changed."""
    return [
        (
            None if document is None else change_id(document, changes, side),
            change_id(name, changes, side),
            *grade,
        )
        for document, name, *grade in cell
    ]


def note_of_changes(changes: Sequence[IdChange], n_repeats: int) -> str:
    """The note that says after which changes ids are compared."""
    repeats = "repeat of a document is" if n_repeats == 1 else "repeats of documents are"
    left_out = f"; {n_repeats} {repeats} left out after that" if n_repeats else ""
    return f"ids are compared after {', '.join(map(str, changes))}{left_out}"

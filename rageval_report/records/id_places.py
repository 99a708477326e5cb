"""Chooses where in the passages of a table the ids are, if several keys may hold them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from rageval_report.records import cells
from rageval_report.records.passage_ids import (
    IdCandidate,
    IdPlaces,
    PassageIds,
    note_on_places,
    passage_ids,
)

ID_PLACES = "rageval_report.id_places"
"""The key of the note on places in the attributes of a table of records."""


def preferred_places(retrieved: Sequence[object], relevant: Sequence[object]) -> IdPlaces:
    """The places at which ids of retrieved passages meet the gold of their query most often.

    Parameters
    ----------
    retrieved, relevant : sequence of cells
        One cell per query each, as they came.

    Returns
    -------
    IdPlaces
        Empty where the usual choice meets the gold as often.

    Examples
    --------
    >>> passage = {"id": "7f3a", "metadata": {"id": "c7", "source": "web"}}
    >>> preferred_places([[passage]], [["c7"]]).chunk
    'metadata.id'
    """
    by_document, by_chunk = Counter[str](), Counter[str]()
    for cell, gold_cell in zip(retrieved, relevant, strict=True):
        gold = _gold_ids(gold_cell)
        passages = [passage_ids(item) for item in _mappings_in(cell)] if gold else []
        by_document.update(_places_met([(p.documents, p.choose()[0]) for p in passages], gold))
        by_chunk.update(_places_met([(p.chunks, p.choose()[1]) for p in passages], gold))
    return IdPlaces(_best_place(by_document), _best_place(by_chunk))


# Counts the queries at which the usual choice meets the gold.
_USUAL = ""


def _places_met(
    passages: Sequence[tuple[list[IdCandidate], IdCandidate | None]], gold: set[str]
) -> set[str]:
    """The places at which some passage of a query meets its gold."""
    met = {item.place for items, _ in passages for item in items if str(item.value) in gold}
    if any(usual is not None and str(usual.value) in gold for _, usual in passages):
        met.add(_USUAL)
    return met


def _best_place(counts: Counter[str]) -> str:
    best = max(counts, key=lambda place: (counts[place], place == _USUAL, place), default=_USUAL)
    return best if counts[best] > counts[_USUAL] else _USUAL


def _gold_ids(cell: object) -> set[str]:
    """All ids that a cell of gold may hold."""
    if cells.is_missing(cell):
        return set()
    ids = set()
    for item in _items_of(cell):
        if isinstance(item, Mapping):
            candidates: PassageIds = passage_ids(item)
            ids |= {
                str(c.value) for c in (*candidates.documents, *candidates.chunks, *candidates.names)
            }
        else:
            ids.add(str(item[0] if isinstance(item, list | tuple) and item else item))
    return ids


def _mappings_in(cell: object) -> Iterator[Mapping[str, Any]]:
    for item in [] if cells.is_missing(cell) else _items_of(cell):
        passage = item[0] if isinstance(item, list | tuple) and item else item
        if isinstance(passage, Mapping):
            yield passage


def _items_of(cell: object) -> list[Any]:
    whole = cells.decoded(cell)
    if isinstance(whole, Mapping) and not passage_ids(whole).is_certain:
        return list(whole)  # ids with grades
    if isinstance(whole, set | frozenset):
        return list(whole)
    return cells.items_in(whole)


def with_note(
    table: pd.DataFrame, places: Mapping[str, Sequence[IdPlaces]], *, earlier: pd.DataFrame
) -> pd.DataFrame:
    """A table of records with the note on where ids were read in its attributes.

    Parameters
    ----------
    table : DataFrame
        The records.
    places : mapping of str to sequence of IdPlaces
        By field, the places that were read now.
    earlier : DataFrame
        The table before it was checked, whose note holds if its ids are in place already.
    """
    note = note_on_places(places) or earlier.attrs.get(ID_PLACES, "")
    if note:
        table.attrs[ID_PLACES] = note
    return table


def note_of_table(table: pd.DataFrame) -> str:
    """The note on where the ids of passages were read; empty if they stood beside the passages.

    Examples
    --------
    >>> from rageval_report.records import record_table
    >>> passage = {"page_content": "Oslo.", "metadata": {"source": "no.md"}}
    >>> note_of_table(record_table([{"query_id": "q", "retrieved": [passage]}]))
    'ids: of retrieved passages, metadata.source is taken for the id of the document; they have \
none of a chunk'
    """
    return str(table.attrs.get(ID_PLACES, ""))

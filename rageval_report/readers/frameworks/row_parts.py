"""The input, output and reference of a row: a text, or an object whose parts become columns."""

from __future__ import annotations

from collections.abc import Iterable

from rageval_report.readers.base import CellsByColumn
from rageval_report.readers.cell_values import json_text
from rageval_report.readers.record_columns import columns_of
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import (
    ANSWER,
    CONTEXTS,
    QUESTION,
    REFERENCE,
    TEXTS,
    first_named,
    id_column_of,
)

# The usual names of the part that is the question, the answer or the reference itself.
_NAMES: dict[str, tuple[str, ...]] = {
    "question": (*QUESTION, "prompt", "text"),
    "answer": (*ANSWER, "result", "text"),
    "reference": (*REFERENCE, *ANSWER, "expected", "label"),
}
_USUAL = {"contexts": CONTEXTS, "reference": REFERENCE}


def split_parts(values: Iterable[object], role: str, origin: str) -> CellsByColumn:
    """The column of a role, and a column for each other part.

    Parameters
    ----------
    values : iterable
        One value per row: a text, an object or anything else.
    role : {"question", "answer", "reference"}
        What the values are. The column of the role takes the part of an object that is named like
        it, or its only part; an object without either is written as JSON text.
    origin : str
        The framework's name for the values. It is put before the name of a part that would
        otherwise be taken for something else.

    Examples
    --------
    >>> split_parts([{"query": "why?", "k": 5}], "question", "input")
    {'question': ['why?'], 'k': [5]}
    """
    all_values = list(values)
    objects = [value if isinstance(value, dict) else {} for value in all_values]
    parts = columns_of({str(key): part for key, part in fields.items()} for fields in objects)
    main = first_named(parts, _NAMES[role]) or (next(iter(parts)) if len(parts) == 1 else None)
    if main is None:
        texts = [json_text(value) for value in all_values]
        return {role: texts, **_other_parts(parts, role, None, origin)}
    cells = [
        (parts[main][row] if value else None) if isinstance(value, dict) else value
        for row, value in enumerate(all_values)
    ]
    if role == "question":  # questions identify rows, so they must be texts
        cells = [json_text(cell) for cell in cells]
    return {role: cells, **_other_parts(parts, role, main, origin)}


def _other_parts(parts: CellsByColumn, role: str, main: str | None, origin: str) -> CellsByColumn:
    """The other parts by name; retrieved texts and a reference under their usual names."""
    others = [name for name in parts if name != main]
    usual = {first_named(others, names): ours for ours, names in _USUAL.items() if ours != role}
    return {usual.get(name) or _part_name(name, origin): parts[name] for name in others}


def _part_name(name: str, origin: str) -> str:
    """The name, unless it would be taken for the row's id or for another text of the row."""
    is_taken = id_column_of([name]) is not None or normalise_name(name) in TEXTS
    return f"{origin}.{name}" if is_taken else name


def collect_details(*fields: tuple[str, str, Iterable[object]]) -> CellsByColumn:
    """The parts of several fields, each an origin, a role and its values, under different names.

    Examples
    --------
    >>> collect_details(("input", "question", [{"q": "?", "query": "why", "k": 5}]),
    ...                 ("output", "answer", [{"answer": "so", "k": 6}]))
    {'question': ['why'], 'q': ['?'], 'k': [5], 'answer': ['so'], 'output.k': [6]}
    """
    details: CellsByColumn = {}
    for origin, role, values in fields:
        parts = split_parts(values, role, origin)
        details |= {f"{origin}.{name}" if name in details else name: parts[name] for name in parts}
    return details


def own_ids(objects: Iterable[object]) -> tuple[str, list[str]] | None:
    """The key of the ids in the objects of all rows, and the ids as texts; None if a row has none.

    Examples
    --------
    >>> own_ids([{"id": 7, "query": "why"}, {"id": 8}])
    ('id', ['7', '8'])
    """
    every = list(objects)
    parts = columns_of(value if isinstance(value, dict) else {} for value in every)
    key = id_column_of(map(str, parts))
    cells = parts.get(key or "", [])
    are_ids = bool(cells) and all(
        isinstance(cell, str | int) and str(cell).strip() for cell in cells
    )
    return (key, list(map(str, cells))) if key is not None and are_ids else None


def rename_partial_ids(columns: CellsByColumn, origin: str) -> CellsByColumn:
    """The columns; one that is named like ids but lacks some rows gets its origin's name in front.

    Examples
    --------
    >>> rename_partial_ids({"id": ["a", None], "qid": ["1", "2"]}, "metadata")
    {'metadata.id': ['a', None], 'qid': ['1', '2']}
    """
    return {
        f"{origin}.{name}" if id_column_of([name]) and None in cells else name: cells
        for name, cells in columns.items()
    }

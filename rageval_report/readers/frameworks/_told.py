"""What stands in the input, the output and the reference of a row: text, or an object of parts."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rageval_report.files.strict_json import NotJSONError, parse_json, replace_lone_surrogates
from rageval_report.readers._columns import columns_of
from rageval_report.scores.metric import normalised
from rageval_report.scores.query_ids import first_named, id_column_of
from rageval_report.scores.texts import ANSWER, CONTEXTS, QUESTION, REFERENCE, TEXTS

Columns = dict[str, list[Any]]

# What the part is called that is the question, the answer or the reference itself.
_NAMES: dict[str, tuple[str, ...]] = {
    "question": (*QUESTION, "prompt", "text"),
    "answer": (*ANSWER, "result", "text"),
    "reference": (*REFERENCE, *ANSWER, "expected", "label"),
}
_USUAL = {"contexts": CONTEXTS, "reference": REFERENCE}
_LONGEST_LITERAL = 100_000


def parts_of(values: Iterable[object], role: str, origin: str) -> Columns:
    """The column of a role, and one for each other part.

    Parameters
    ----------
    values : iterable
        A text, an object or anything else a row.
    role : {"question", "answer", "reference"}
        What it is all about. Of an object the part with a name for it, or the only part there is;
        an object without either is its own text.
    origin : str
        How the framework calls it, put before the names of other parts that would be mistaken.

    Examples
    --------
    >>> parts_of([{"query": "why?", "k": 5}], "question", "input")
    {'question': ['why?'], 'k': [5]}
    """
    given = list(values)
    objects = [value if isinstance(value, dict) else {} for value in given]
    parts = columns_of({str(key): part for key, part in one.items()} for one in objects)
    main = first_named(parts, _NAMES[role]) or (next(iter(parts)) if len(parts) == 1 else None)
    if main is None:
        return {role: [text_of(value) for value in given], **_others(parts, role, None, origin)}
    own = [
        (parts[main][place] if value else None) if isinstance(value, dict) else value
        for place, value in enumerate(given)
    ]
    told = [text_of(value) for value in own] if role == "question" else own
    return {role: told, **_others(parts, role, main, origin)}


def _others(parts: Columns, role: str, main: str | None, origin: str) -> Columns:
    """The other parts under their names; retrieved texts and a reference under the usual ones."""
    others = [name for name in parts if name != main]
    usual = {first_named(others, names): ours for ours, names in _USUAL.items() if ours != role}
    return {usual.get(name) or _kept_name(name, origin): parts[name] for name in others}


def _kept_name(name: str, origin: str) -> str:
    """The name, unless it would be taken for the row's id or for another text of the row."""
    is_taken = id_column_of([name]) is not None or normalised(name) in TEXTS
    return f"{origin}.{name}" if is_taken else name


def details_of(*given: tuple[str, str, Iterable[object]]) -> Columns:
    """What stands in several fields, each an origin, a role and its values; no name twice.

    Examples
    --------
    >>> details_of(("input", "question", [{"q": "?", "query": "why", "k": 5}]),
    ...            ("output", "answer", [{"answer": "so", "k": 6}]))
    {'question': ['why'], 'q': ['?'], 'k': [5], 'answer': ['so'], 'output.k': [6]}
    """
    found: Columns = {}
    for origin, role, values in given:
        parts = parts_of(values, role, origin)
        found |= {f"{origin}.{name}" if name in found else name: parts[name] for name in parts}
    return found


def with_whole_ids(columns: Columns, origin: str) -> Columns:
    """The columns; one that is named like ids but is not there in every row goes by its origin.

    Examples
    --------
    >>> with_whole_ids({"id": ["a", None], "qid": ["1", "2"]}, "metadata")
    {'metadata.id': ['a', None], 'qid': ['1', '2']}
    """
    return {
        f"{origin}.{name}" if id_column_of([name]) and None in cells else name: cells
        for name, cells in columns.items()
    }


def text_of(value: object) -> str | None:
    """A text as it is, None where there is nothing, anything else as JSON.

    Examples
    --------
    >>> text_of("why?"), text_of(None), text_of({"k": 5})
    ('why?', None, '{"k": 5}')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value != value:
        return None
    return json.dumps(value, ensure_ascii=False, default=str)


def plain_of(value: object) -> object:
    """The value; None where it is NaN.

    Examples
    --------
    >>> plain_of(float("nan")), plain_of(0.5)
    (None, 0.5)
    """
    return None if isinstance(value, float) and value != value else value


def reason_of(value: object) -> str | None:
    """A text that says something; None for anything else.

    Examples
    --------
    >>> reason_of("too short"), reason_of(" "), reason_of(float("nan"))
    ('too short', None, None)
    """
    return value if isinstance(value, str) and value.strip() else None


def objects_in(cells: Sequence[object]) -> list[Any]:
    """Cells of a table in which JSON or Python literals of objects and lists became values again.

    Examples
    --------
    >>> objects_in(['{"a": 1}', "{'a': None}", "plain", None])
    [{'a': 1}, {'a': None}, 'plain', None]
    """
    return [_value_in(cell) for cell in cells]


def _value_in(cell: object) -> object:
    if isinstance(cell, np.ndarray | dict | list):
        return _without_arrays(cell)
    if not isinstance(cell, str) or len(cell) > _LONGEST_LITERAL:
        return plain_of(cell)
    text = replace_lone_surrogates(cell.strip())[0]
    if (text[:1], text[-1:]) not in (("{", "}"), ("[", "]")):
        return cell
    try:
        return parse_json(text)
    except NotJSONError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return cell


def _without_arrays(value: object) -> object:
    """Lists where Parquet gives arrays."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _without_arrays(part) for key, part in value.items()}
    return [_without_arrays(part) for part in value] if isinstance(value, list) else value

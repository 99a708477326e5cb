"""The kinds of columns, determined in one pass, so that Parquet can be written in batches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

_TEXT, _TEXTS, _MIXED = "text", "texts", "mixed"
_INT64_LIMIT = 2**63

# The columns that a run fills, in order, and their kinds.
ANSWER_COLUMNS: dict[str, str] = {
    "answer": _TEXT,
    "retrieved": _TEXTS,
    "retrieved_sections": _MIXED,
    "retrieved_scores": "numbers",
    "retrieved_spans": _MIXED,
    "contexts": _TEXTS,
    "citations": _TEXTS,
    "cited_sections": _MIXED,
    "latency_ms": "float",
    "first_byte_ms": "float",
    "prompt_tokens": "float",
    "completion_tokens": "float",
    "cost_usd": "float",
    "model": _TEXT,
    "hidden_values": _TEXTS,
    "attempts": "int",
    "asked_at": _TEXT,
    "error": _TEXT,
    "error_kind": _TEXT,
}


def kinds_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The kind of each column, from all its values.

    Parameters
    ----------
    rows : iterable of mapping
        The rows.

    Returns
    -------
    dict of str to str
        "bool", "int", "float", "text", "texts" for lists of texts, or "mixed": any value that is
        not a text is then written as JSON.

    Examples
    --------
    >>> kinds_of([{"a": 1, "b": ["x"], "c": None}, {"a": 0.5, "b": {"x": 1}}])
    {'a': 'float', 'b': 'mixed', 'c': 'text'}
    """
    kinds: dict[str, str | None] = {}
    for row in rows:
        for name, value in row.items():
            kinds[name] = _merge_kinds(kinds.get(name), _kind(value))
    return {name: kind or _TEXT for name, kind in kinds.items()}


def _kind(value: object) -> str | None:
    if value is None:
        return None
    # Before int, because True is an int in Python.
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        # Parquet's largest integer has 64 bits; a longer one is kept as a text.
        return "int" if abs(value) < _INT64_LIMIT else _MIXED
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return _TEXTS
    return {float: "float", str: _TEXT}.get(type(value), _MIXED)


def _merge_kinds(first: str | None, second: str | None) -> str | None:
    if first is None or second is None or first == second:
        return first or second
    return "float" if {first, second} == {"int", "float"} else _MIXED


def cell_of(value: object, kind: str) -> object:
    """Convert a value to the kind of its column.

    Examples
    --------
    >>> cell_of({"d1": 2.0}, "mixed"), cell_of("as it is", "mixed"), cell_of(None, "mixed")
    ('{"d1": 2.0}', 'as it is', None)
    """
    if value is None:
        return None
    if kind == _MIXED and not isinstance(value, str):
        # Parquet gives a column one type, so mixed values are kept as JSON.
        return json.dumps(value, ensure_ascii=False, default=str)
    return float(value) if kind == "float" else value  # type: ignore[arg-type]

"""The kinds of columns, found in one pass, so that records go to Parquet piece by piece."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

_TEXT, _TEXTS, _MIXED = "text", "texts", "mixed"
_LARGEST = 2**63

# The fields that a run fills, in their order, and their kinds.
ANSWER_COLUMNS: dict[str, str] = {
    "answer": _TEXT,
    "retrieved": _TEXTS,
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
    "attempts": "int",
    "asked_at": _TEXT,
    "error": _TEXT,
    "error_kind": _TEXT,
}


def kinds_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The kind of each column: what all its values are.

    Parameters
    ----------
    rows : iterable of mapping
        A row at a time.

    Returns
    -------
    dict of str to str
        "bool", "int", "float", "text", "texts" for lists of texts, else "mixed", which is written
        as text: JSON, but for what is text already.

    Examples
    --------
    >>> kinds_of([{"a": 1, "b": ["x"], "c": None}, {"a": 0.5, "b": {"x": 1}}])
    {'a': 'float', 'b': 'mixed', 'c': 'text'}
    """
    kinds: dict[str, str | None] = {}
    for row in rows:
        for name, value in row.items():
            kinds[name] = _merged(kinds.get(name), _kind(value))
    return {name: kind or _TEXT for name, kind in kinds.items()}


def _kind(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if abs(value) < _LARGEST else _MIXED
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return _TEXTS
    return {float: "float", str: _TEXT}.get(type(value), _MIXED)


def _merged(one: str | None, other: str | None) -> str | None:
    if one is None or other is None or one == other:
        return one or other
    return "float" if {one, other} == {"int", "float"} else _MIXED


def cell_of(value: Any, kind: str) -> Any:
    """A value as its column takes it.

    Examples
    --------
    >>> cell_of({"d1": 2.0}, "mixed"), cell_of("as it is", "mixed"), cell_of(None, "mixed")
    ('{"d1": 2.0}', 'as it is', None)
    """
    if value is None:
        return None
    if kind == _MIXED and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, default=str)
    return float(value) if kind == "float" else value

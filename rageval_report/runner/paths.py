"""Paths into a JSON document: keys and positions, separated by dots."""

from __future__ import annotations

from typing import Any

_EACH = "*"


def value_at(document: object, path: str) -> Any:
    """The value at a path; None if there is none.

    Parameters
    ----------
    document : JSON value
        Objects, lists, texts, numbers.
    path : str
        Such as ``choices.0.message.content``; ``*`` means each item of a list, as in
        ``sources.*.id``; an empty path means the whole document.

    Examples
    --------
    >>> document = {"answer": "Paris", "sources": [{"id": "d1"}, {"id": "d2"}]}
    >>> value_at(document, "answer"), value_at(document, "sources.*.id")
    ('Paris', ['d1', 'd2'])
    >>> value_at(document, "usage.prompt_tokens") is None
    True
    """
    return _within(document, path.split(".") if path else [])


def _within(value: object, steps: list[str]) -> Any:
    for place, step in enumerate(steps):
        # On an object "*" stays an ordinary key.
        if step == _EACH and isinstance(value, list):
            rest = steps[place + 1 :]
            return [_within(item, rest) for item in value]
        value = _step_into(value, step)
    return value


def _step_into(value: object, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return None

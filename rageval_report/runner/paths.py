"""Where a field stands in a JSON document: names and places with dots between them."""

from __future__ import annotations

from typing import Any

_EACH = "*"


def value_at(document: Any, path: str) -> Any:
    """What stands at a path; None where nothing does.

    Parameters
    ----------
    document : JSON value
        Objects, lists, texts, numbers.
    path : str
        As ``choices.0.message.content``; ``*`` stands for each item of a list, as in
        ``sources.*.id``; an empty path is the whole document.

    Examples
    --------
    >>> document = {"answer": "Paris", "sources": [{"id": "d1"}, {"id": "d2"}]}
    >>> value_at(document, "answer"), value_at(document, "sources.*.id")
    ('Paris', ['d1', 'd2'])
    >>> value_at(document, "usage.prompt_tokens") is None
    True
    """
    return _within(document, path.split(".") if path else [])


def _within(value: Any, steps: list[str]) -> Any:
    for place, step in enumerate(steps):
        if step == _EACH and isinstance(value, list):
            rest = steps[place + 1 :]
            return [_within(item, rest) for item in value]
        value = _one_step(value, step)
    return value


def _one_step(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return None

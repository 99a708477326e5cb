"""The line of a YAML file that an error is about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rageval_report._registry import import_yaml
from rageval_report.errors import RagevalError, UnknownNameError

# How errors call the whole file, and how a message that names the place of a value begins.
_TOP = ("the configuration", "the settings")
_PLACE = re.compile(r"[^\s:]+")


def line_of(text: str, exc: RagevalError) -> int | None:
    r"""The line of the key or the value that is wrong; None if the message does not name it.

    Parameters
    ----------
    text : str
        The file.
    exc : RagevalError
        The error. It begins with the place, as in "judge.prices.m: ...", or names an unknown key or
        value.

    Examples
    --------
    >>> from rageval_report.errors import DataError
    >>> wrong = DataError("judge.max_cost: expected a number; got 'much'")
    >>> line_of("judge:\n  model: llama3.1\n  max_cost: much\n", wrong)
    3
    """
    yaml = import_yaml()  # by name: it comes with an extra, and eval without --config needs none
    document = yaml.compose(text, yaml.SafeLoader)
    if not isinstance(exc, UnknownNameError):
        return _line_at(document, _PLACE.match(str(exc)))
    if exc.what.startswith("key of "):
        where = exc.what.removeprefix("key of ")
        sections = [] if where in _TOP else where.split(".")
        return _line_under(document, [*sections, exc.name])
    return next((line for value, line in _scalars(document) if value == exc.name), None)


def _line_at(document: Any, place: re.Match[str] | None) -> int | None:
    """The line of the place that a message begins with: ``judge.prices.m`` or ``metrics[2]``."""
    if place is None:
        return None
    return _line_under(document, [step for step in re.split(r"[.\[\]]", place[0]) if step])


def _line_under(node: Any, steps: list[str]) -> int | None:
    """The line of a key, or of the item of a list, step by step from the top."""
    line = None
    while steps:
        step = _take_step(node, steps)
        if step is None:
            return None
        line, node, steps = step
    return line


def _take_step(node: Any, steps: list[str]) -> tuple[int, Any, list[str]] | None:
    """The line and the node one step further, and the steps that are left.

    A key may contain a dot itself, as names of models do.
    """
    if node is not None and node.id == "sequence" and steps[0].isdigit():
        items = node.value[int(steps[0]) :]
        return (items[0].start_mark.line + 1, items[0], steps[1:]) if items else None
    for n in range(1, len(steps) + 1):
        for key, value in _entries(node):
            if key.value == ".".join(steps[:n]):
                return key.start_mark.line + 1, value, steps[n:]
    return None


def _scalars(node: Any) -> Iterator[tuple[str, int]]:
    """All texts in a node, and their lines."""
    if node is None or node.id == "scalar":
        if node is not None:
            yield node.value, node.start_mark.line + 1
        return
    for child in node.value:  # a mapping holds pairs of a key and a value
        for part in child if isinstance(child, tuple) else (child,):
            yield from _scalars(part)


def _entries(node: Any) -> list[tuple[Any, Any]]:
    """The keys and values of a node that is a mapping."""
    return node.value if node is not None and node.id == "mapping" else []

"""JSON objects in an answer, alone or among prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]

_THOUGHTS = re.compile(r"<(think|thinking|thought)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_MOST_TRIES = 1000  # braces that open nothing, as in a program, are given up after so many
_SHOWN = 80


class UnreadableError(ValueError):
    """A judge's answer holds no verdict, or more than one."""


def spoken(text: str) -> str:
    """An answer without what the model thought before it.

    Examples
    --------
    >>> spoken("<think>Maybe 3?</think>SCORE: 4")
    'SCORE: 4'
    """
    return _THOUGHTS.sub("", text).strip()


def shown(text: str) -> str:
    """How an answer begins, in one line, for a reason."""
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…")


def objects_in(text: str) -> list[Document]:
    """The outermost JSON objects of a text, in order.

    Examples
    --------
    >>> objects_in('Sure! {"score": 4} as {asked}.')
    [{'score': 4}]
    """
    return list(_objects(text))


def _objects(text: str) -> Iterator[Document]:
    decoder = json.JSONDecoder()
    place, tries = text.find("{"), 0
    while place != -1 and tries < _MOST_TRIES:
        try:
            found, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            tries, end = tries + 1, place + 1
        else:
            yield found
        place = text.find("{", end)


def reasoning_in(document: Document) -> str | None:
    """What a judge gives as its reasons: under the name that it was asked for, else any text."""
    told = document.get("reasoning", document.get("reason", document.get("explanation")))
    if told is None:
        texts = [value for value in document.values() if isinstance(value, str)]
        told = max(texts, key=len, default=None)
    return " ".join(str(told).split()) or None if told is not None else None

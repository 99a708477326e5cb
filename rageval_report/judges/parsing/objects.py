"""JSON objects in an answer, alone or among prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rageval_report.files.strict_json import check_depth

JsonDocument = dict[str, Any]

# An unclosed tag reaches to the end: an answer that was cut within the thoughts has no verdict.
_THOUGHTS = re.compile(r"<(think|thinking|thought)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
# Each brace that opens no object costs a try, and a text of braces alone has as many as characters.
_MOST_TRIES = 1000
_MOST_SHOWN = 80


class UnreadableError(ValueError):
    """A judge's answer contains no verdict, or several.

    Examples
    --------
    >>> issubclass(UnreadableError, ValueError)
    True
    """


def remove_thoughts(text: str) -> str:
    """An answer without the model's thoughts before it.

    Examples
    --------
    >>> remove_thoughts("<think>Maybe 3?</think>SCORE: 4")
    'SCORE: 4'
    """
    return _THOUGHTS.sub("", text).strip()


def quote_beginning(text: str) -> str:
    """The beginning of an answer in one line and in quotes, for a reason."""
    line = " ".join(text.split())
    return repr(line if len(line) <= _MOST_SHOWN else line[: _MOST_SHOWN - 1] + "…")


def find_objects(text: str) -> list[JsonDocument]:
    """The outermost JSON objects of a text, in order.

    Examples
    --------
    >>> find_objects('Sure! {"score": 4} as {asked}.')
    [{'score': 4}]
    """
    return list(_iterate_objects(text))


def _iterate_objects(text: str) -> Iterator[JsonDocument]:
    decoder = json.JSONDecoder()
    start, tries = text.find("{"), 0
    while start != -1 and tries < _MOST_TRIES:
        try:
            document, end = decoder.raw_decode(text, start)
            check_depth(document, end - start)
        except (ValueError, RecursionError):
            tries, end = tries + 1, start + 1
        else:
            yield document
        # Behind the object that was read, so that objects inside it are not read again.
        start = text.find("{", end)


def find_reasoning(document: JsonDocument) -> str | None:
    """The judge's reasons: under the name that the form gives them, else the longest text."""
    reasoning = document.get("reasoning", document.get("reason", document.get("explanation")))
    if reasoning is None:
        texts = [value for value in document.values() if isinstance(value, str)]
        reasoning = max(texts, key=len, default=None)
    return None if reasoning is None else " ".join(str(reasoning).split()) or None

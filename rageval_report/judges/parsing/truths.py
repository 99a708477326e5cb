"""Yes or no, and which of two, out of JSON or out of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeVar

from rageval_report.judges.parsing.objects import (
    UnreadableError,
    objects_in,
    reasoning_in,
    shown,
    spoken,
)
from rageval_report.judges.parsing.words import FALSE, TIE, TRUE, VERDICT

Choice = Literal["first", "second", "tie"]
T = TypeVar("T")

_WORD = re.compile(r"[^\W_]+")
_FIRST = frozenset(("1", "first", "a", "one"))
_SECOND = frozenset(("2", "second", "b", "two"))


def read_truth(text: str) -> tuple[bool, str | None]:
    r"""Yes or no, and the reasons.

    Parameters
    ----------
    text : str
        JSON with ``verdict``, or an answer that begins with TRUE or FALSE, yes or no, or with a
        line that does, labelled as the verdict.

    Raises
    ------
    UnreadableError
        If it says neither, or both.

    Examples
    --------
    >>> read_truth("**TRUE.**")
    (True, None)
    >>> read_truth('{"reasoning": "Another town.", "verdict": false}')
    (False, 'Another town.')
    """
    return _read(text, truth_of, "verdict")


def read_preference(text: str) -> tuple[Choice, str | None]:
    """Which of two answers is better, and the reasons.

    Parameters
    ----------
    text : str
        JSON with ``better``: "1", "2" or "tie"; or an answer that begins with one of these.

    Raises
    ------
    UnreadableError
        If it says none of them.

    Examples
    --------
    >>> read_preference('{"reasoning": "Fuller.", "better": "2"}')
    ('second', 'Fuller.')
    """
    return _read(text, choice_of, "better")


def truth_of(value: Any) -> bool | None:
    """A truth in a JSON value or at the beginning of a text; None where there is none.

    Examples
    --------
    >>> truth_of("Ja."), truth_of("untrue"), truth_of("No errors: TRUE")
    (True, None, None)
    """
    if isinstance(value, bool):
        return value
    words = _words(value)
    first = next(words, "")
    if first not in TRUE | FALSE:
        return None
    says = first in TRUE
    against = "false" if says else "true"
    return None if against in words else says


def choice_of(value: Any) -> Choice | None:
    """A choice in a JSON value or at the beginning of a text; None where there is none.

    Examples
    --------
    >>> choice_of("Answer 2"), choice_of("Tie"), choice_of("Both are good")
    ('second', 'tie', 'tie')
    """
    if isinstance(value, bool):
        return None
    words = [word for word in _words(value) if word not in ("answer", "response")]
    first = words[0] if words else ""
    if first in TIE:
        return "tie"
    return "first" if first in _FIRST else "second" if first in _SECOND else None


def _read(text: str, of: Callable[[Any], T | None], name: str) -> tuple[T, str | None]:
    said = spoken(text)
    for document in reversed(objects_in(said)):
        verdict = _in_values(document, of, name)
        if verdict is not None:
            return verdict, reasoning_in(document)
    labelled = [of(value) for value in _labelled(said)]
    known = [one for one in labelled[-1:] if one is not None]
    verdict = known[0] if known else None if labelled else of(said)
    if verdict is None:
        raise UnreadableError(f"no verdict in {shown(said)}" if said else "the answer is empty")
    return verdict, None if len(said.split()) == 1 else " ".join(said.split())


def _in_values(document: dict[str, Any], of: Callable[[Any], T | None], name: str) -> T | None:
    if name in document:
        return of(document[name])
    found = [one for one in map(of, _short(document.values())) if one is not None]
    return found[0] if len(found) == 1 else None


def _short(values: Iterable[Any]) -> Iterator[Any]:
    """Truths and single words: whatever its name was translated to, a verdict is one of them."""
    return (value for value in values if isinstance(value, bool) or len(str(value).split()) == 1)


def _labelled(said: str) -> Iterator[str]:
    """What stands behind the label of a verdict, line by line."""
    for line in said.splitlines():
        for colon in (":", "："):
            label, found, value = line.partition(colon)
            if found and set(_words(label)) & VERDICT:
                yield value


def _words(value: Any) -> Iterator[str]:
    return (word[0] for word in _WORD.finditer(str(value).lower()))

"""Yes or no, and which of two answers is better, from JSON or from words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, TypeVar

from rageval_report.judges.parsing.objects import (
    JsonDocument,
    UnreadableError,
    find_objects,
    find_reasoning,
    quote_beginning,
    remove_thoughts,
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
        JSON with ``verdict``; or an answer that begins with TRUE or FALSE, yes or no, or contains a
        line that does so after the label of a verdict.

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
    return _read_verdict(text, parse_truth, "verdict")


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
    return _read_verdict(text, parse_choice, "better")


def parse_truth(value: object) -> bool | None:
    """The truth in a JSON value or at the beginning of a text; None if there is none.

    Examples
    --------
    >>> parse_truth("Ja."), parse_truth("untrue"), parse_truth("No errors: TRUE")
    (True, None, None)
    """
    if isinstance(value, bool):
        return value
    words = _words_of(value)
    first = next(words, "")
    if first not in TRUE | FALSE:
        return None
    is_true = first in TRUE
    contrary = "false" if is_true else "true"  # "No errors: TRUE" says both
    return None if contrary in words else is_true


def parse_choice(value: object) -> Choice | None:
    """The choice in a JSON value or at the beginning of a text; None if there is none.

    Examples
    --------
    >>> parse_choice("Answer 2"), parse_choice("Tie"), parse_choice("Both are good")
    ('second', 'tie', 'tie')
    """
    if isinstance(value, bool):
        return None
    # "Answer 1" and "1" are the same choice.
    words = [word for word in _words_of(value) if word not in ("answer", "response")]
    first = words[0] if words else ""
    if first in TIE:
        return "tie"
    return "first" if first in _FIRST else "second" if first in _SECOND else None


def _read_verdict(
    text: str, parse: Callable[[object], T | None], name: str
) -> tuple[T, str | None]:
    answer = remove_thoughts(text)
    # JSON first; the last object counts, because models correct themselves.
    for document in reversed(find_objects(answer)):
        verdict = _find_verdict(document, parse, name)
        if verdict is not None:
            return verdict, find_reasoning(document)
    # Then the last line with the label of a verdict; the beginning counts only without such a line.
    labelled = [parse(value) for value in _labelled_values(answer)]
    verdict = labelled[-1] if labelled else parse(answer)
    if verdict is None:
        raise UnreadableError(
            f"no verdict in {quote_beginning(answer)}" if answer else "the answer is empty"
        )
    words = answer.split()
    return verdict, None if len(words) == 1 else " ".join(words)


def _find_verdict(
    document: JsonDocument, parse: Callable[[object], T | None], name: str
) -> T | None:
    """The verdict under its name, else the only short value that is one: names are translated."""
    if name in document:
        return parse(document[name])
    short = (v for v in document.values() if isinstance(v, bool) or len(str(v).split()) == 1)
    verdicts = [verdict for verdict in map(parse, short) if verdict is not None]
    return verdicts[0] if len(verdicts) == 1 else None


def _labelled_values(answer: str) -> Iterator[str]:
    """What follows the label of a verdict, line by line."""
    for line in answer.splitlines():
        # The second is the full-width colon of Chinese and Japanese text.
        for colon in (":", "："):
            label, separator, value = line.partition(colon)
            if separator and set(_words_of(label)) & VERDICT:
                yield value


def _words_of(value: object) -> Iterator[str]:
    return (match[0] for match in _WORD.finditer(str(value).lower()))

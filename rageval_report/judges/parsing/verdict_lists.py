"""Lists in a judge's answer: the claims of a text, and a verdict for each of several things."""

from __future__ import annotations

import re
from typing import Any

from rageval_report.judges.parsing.choices import parse_truth
from rageval_report.judges.parsing.objects import (
    JsonDocument,
    UnreadableError,
    find_objects,
    find_reasoning,
    quote_beginning,
    remove_thoughts,
)

_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+(?P<text>\S.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^\W*(?P<number>\d{1,3})\W+(?P<verdict>\S.*)$", re.MULTILINE)
_NO_NUMBER = -1  # a number that no item has, so that the list is refused

# Number, verdict if it can be read, and reasons.
_VerdictItem = tuple[int, bool | None, str | None]


def read_claims(text: str) -> list[str]:
    r"""The claims that a judge lists; an empty list is an answer too.

    Parameters
    ----------
    text : str
        JSON with ``claims``, or a list with a bullet or a number per line.

    Raises
    ------
    UnreadableError
        If there is no list.

    Examples
    --------
    >>> read_claims('{"claims": ["Paris is a city.", "It is in France."]}')
    ['Paris is a city.', 'It is in France.']
    >>> read_claims("1. Paris is a city.\n2. It is in France.")
    ['Paris is a city.', 'It is in France.']
    """
    answer = remove_thoughts(text)
    claims = _find_list(answer, "claims")
    if claims is None:
        claims = [item["text"].strip() for item in _ITEM.finditer(answer)] or None
    if claims is None:
        raise UnreadableError(f"no list of claims in {quote_beginning(answer)}")
    if not all(isinstance(claim, str) for claim in claims):
        raise UnreadableError(f"the claims must be texts; got {quote_beginning(str(claims))}")
    return [claim.strip() for claim in claims if claim.strip()]


def read_verdicts(text: str, n: int) -> list[tuple[bool, str | None]]:
    r"""A verdict for each of `n` things, in their order, with the reasons.

    Parameters
    ----------
    text : str
        JSON with ``verdicts``, each with ``number`` (from 1), ``verdict`` and ``reasoning``; or a
        line such as "2. TRUE: because ..." for each.
    n : int
        The number of things.

    Raises
    ------
    UnreadableError
        If one of them has no verdict, or two.

    Examples
    --------
    >>> read_verdicts("1. TRUE\n2. FALSE: nobody says so", 2)
    [(True, 'TRUE'), (False, 'FALSE: nobody says so')]
    """
    answer = remove_thoughts(text)
    listed = _find_list(answer, "verdicts")
    if listed is None:
        items = _numbered_lines(answer)
    else:
        items = [_parse_item(position, item) for position, item in enumerate(listed, 1)]
    by_number = {
        number: (verdict, reasons) for number, verdict, reasons in items if verdict is not None
    }
    # A missing or doubled number may shift all others, so that no verdict of the list can be
    # trusted.
    if len(items) != n or by_number.keys() != set(range(1, n + 1)):
        raise UnreadableError(
            f"expected a verdict for each of {n}; got verdicts for {sorted(by_number)}"
        )
    return [by_number[number] for number in range(1, n + 1)]


def _find_list(answer: str, name: str) -> list[Any] | None:
    """The last list of that name, else the only list: its name may have been translated."""
    for document in reversed(find_objects(answer)):
        if isinstance(document.get(name), list):
            return list(document[name])
        lists = [value for value in document.values() if isinstance(value, list)]
        if len(lists) == 1:
            return list(lists[0])
    return None


def _parse_item(position: int, item: object) -> _VerdictItem:
    """An item that is a verdict or contains one; without a number its position counts."""
    if not isinstance(item, dict):
        return position, parse_truth(item), None
    number = item.get("number", position)
    verdict = parse_truth(item["verdict"]) if "verdict" in item else _only_truth(item)
    is_number = isinstance(number, int) and not isinstance(number, bool)
    return (number if is_number else _NO_NUMBER), verdict, find_reasoning(item)


def _only_truth(item: JsonDocument) -> bool | None:
    truths = [value for value in item.values() if isinstance(value, bool)]
    return truths[0] if len(truths) == 1 else None


def _numbered_lines(answer: str) -> list[_VerdictItem]:
    return [
        (int(line["number"]), parse_truth(line["verdict"]), line["verdict"].strip())
        for line in _NUMBERED.finditer(answer)
    ]

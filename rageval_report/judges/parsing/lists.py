"""Lists out of a judge's answer: the claims of a text, a verdict for each of several things."""

from __future__ import annotations

import re
from typing import Any

from rageval_report.judges.parsing.objects import (
    UnreadableError,
    objects_in,
    reasoning_in,
    shown,
    spoken,
)
from rageval_report.judges.parsing.truths import truth_of

Verdicts = list[tuple[bool, str | None]]

_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+(?P<text>\S.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^\W*(?P<number>\d{1,3})\W+(?P<said>\S.*)$", re.MULTILINE)


def read_claims(text: str) -> list[str]:
    r"""The claims that a judge found in a text; none is an answer too.

    Parameters
    ----------
    text : str
        JSON with ``claims``, or a list with a bullet or a number a line.

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
    said = spoken(text)
    found = _list_in(said, "claims")
    if found is None:
        found = [item["text"].strip() for item in _ITEM.finditer(said)] or None
    if found is None:
        raise UnreadableError(f"no list of claims in {shown(said)}")
    if not all(isinstance(one, str) for one in found):
        raise UnreadableError(f"the claims are to be texts; got {shown(str(found))}")
    return [one.strip() for one in found if one.strip()]


def read_verdicts(text: str, n: int) -> Verdicts:
    r"""A verdict for each of `n` things, in their order.

    Parameters
    ----------
    text : str
        JSON with ``verdicts``, each with ``number`` (from 1), ``verdict`` and ``reasoning``; or a
        line as "2. TRUE: because ..." for each.
    n : int
        How many there are.

    Raises
    ------
    UnreadableError
        If one has no verdict, or two.

    Examples
    --------
    >>> read_verdicts("1. TRUE\n2. FALSE: nobody says so", 2)
    [(True, 'TRUE'), (False, 'FALSE: nobody says so')]
    """
    said = spoken(text)
    found = _list_in(said, "verdicts")
    pairs = _of_lines(said) if found is None else [_of_item(*one) for one in enumerate(found, 1)]
    by_number = {number: (verdict, why) for number, verdict, why in pairs if verdict is not None}
    if len(pairs) != n or by_number.keys() != set(range(1, n + 1)):
        told = sorted(by_number)
        raise UnreadableError(f"expected a verdict for each of {n}; got them for {told}")
    return [(bool(by_number[place][0]), by_number[place][1]) for place in range(1, n + 1)]


def _list_in(said: str, name: str) -> list[Any] | None:
    """The last list of that name, else the only list, whatever its name was translated to."""
    for document in reversed(objects_in(said)):
        if isinstance(document.get(name), list):
            return list(document[name])
        lists = [value for value in document.values() if isinstance(value, list)]
        if len(lists) == 1:
            return list(lists[0])
    return None


def _of_item(place: int, item: Any) -> tuple[int, bool | None, str | None]:
    """An item that is a verdict, or holds one; its place is its number where it has none."""
    if not isinstance(item, dict):
        return place, truth_of(item), None
    number = item.get("number", place)
    verdict = truth_of(item["verdict"]) if "verdict" in item else _only_truth(item)
    is_number = isinstance(number, int) and not isinstance(number, bool)
    return (number if is_number else -1), verdict, reasoning_in(item)


def _only_truth(item: dict[str, Any]) -> bool | None:
    truths = [value for value in item.values() if isinstance(value, bool)]
    return truths[0] if len(truths) == 1 else None


def _of_lines(said: str) -> list[tuple[int, bool | None, str | None]]:
    return [
        (int(line["number"]), truth_of(line["said"]), line["said"].strip())
        for line in _NUMBERED.finditer(said)
    ]

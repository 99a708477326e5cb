"""A mark on a scale, out of JSON or out of words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rageval_report.errors import DataError
from rageval_report.judges.parsing.objects import (
    Document,
    UnreadableError,
    objects_in,
    reasoning_in,
    shown,
    spoken,
)
from rageval_report.judges.parsing.words import SCORE

_MARK = re.compile(
    r"(?P<mark>[-+]?\d+(?:[.,]\d+)?)\s*"
    r"(?:(?P<percent>%)|(?:/|／|of|out of|von|sur|de|su|из)\s*(?P<full>\d+(?:[.,]\d+)?))?"
)
_BEFORE = "*_`#>•[({\"'“「 \t"
_AFTER = "*_`])}\"'”」. \t"
_BULLET = re.compile(r"^-\s+")
_REASONING = re.compile(r"^\W*reason(?:ing|s)?\W*[:：]\s*(.+)", re.IGNORECASE | re.DOTALL)
_HUNDRED = 100.0


@dataclass(frozen=True)
class Scale:
    """The marks that a judge may give.

    Parameters
    ----------
    low, high : float
        The worst mark and the best.
    whole : bool
        Whether marks are whole numbers.

    Raises
    ------
    DataError
        If there is no room between them.

    Examples
    --------
    >>> Scale(1, 5, whole=True).share(4)
    0.75
    """

    low: float = 0.0
    high: float = 1.0
    whole: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise DataError(f"a scale goes from a lower mark to a higher; got {self}")

    @property
    def marks(self) -> list[int] | None:
        """All marks, where they are whole."""
        return list(range(int(self.low), int(self.high) + 1)) if self.whole else None

    def share(self, mark: float) -> float:
        """How far up the scale a mark lies, from 0 to 1.

        Raises
        ------
        UnreadableError
            If it is not on the scale.
        """
        between = self.whole and mark != int(mark) if math.isfinite(mark) else True
        if between or not self.low <= mark <= self.high:
            raise UnreadableError(f"{mark:g} is not on the scale, {self}")
        return (mark - self.low) / (self.high - self.low)

    def __str__(self) -> str:
        marks = "whole numbers " if self.whole else ""
        return f"{marks}from {self.low:g} to {self.high:g}"


def read_grade(text: str, scale: Scale) -> tuple[float, str | None]:
    r"""The mark in a judge's answer as a share of the scale, and the reasons.

    Parameters
    ----------
    text : str
        JSON with ``score``, alone or among prose, or a line as "SCORE: 0.8", "4/5", "[80%]"; of
        several labelled lines the last counts.
    scale : Scale
        "8/10" on a scale from 0 is 0.8 of it; on a scale of ten it is the mark 8.

    Raises
    ------
    UnreadableError
        If there is no mark, if it is not on the scale, or if several that differ stand there.

    Examples
    --------
    >>> read_grade('{"reasoning": "It fits.", "score": 4}', Scale(1, 5, whole=True))
    (0.75, 'It fits.')
    >>> read_grade("REASONING: partly\nSCORE: **8/10**", Scale())[0]
    0.8
    """
    said = spoken(text)
    found = [one for one in objects_in(said) if _mark_in(one) is not None]
    if found:
        return _share(_mark_in(found[-1]), scale), reasoning_in(found[-1])
    return _labelled(said, scale)


def _mark_in(document: Document) -> Any:
    """What stands under ``score``, else the only number, whatever its name was translated to."""
    if "score" in document:
        return document["score"]
    numbers = [value for value in document.values() if _is_number(value)]
    return numbers[0] if len(numbers) == 1 else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _share(mark: Any, scale: Scale) -> float:
    if _is_number(mark):
        return scale.share(float(mark))
    whole = _MARK.fullmatch(_bare(str(mark)))
    if isinstance(mark, str) and whole:
        return _of_match(whole, scale)
    raise UnreadableError(f"{shown(str(mark))} is no mark")


def _of_match(found: re.Match[str], scale: Scale) -> float:
    mark, full = _number(found["mark"]), found["full"]
    if found["percent"]:
        full = str(_HUNDRED)
    if full is None or _number(full) == scale.high:
        return scale.share(mark)
    if scale.low != 0.0 or not 0.0 <= mark <= _number(full) or not _number(full):
        raise UnreadableError(f"{found[0].strip()!r} is not on the scale, {scale}")
    return mark / _number(full)


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _labelled(said: str, scale: Scale) -> tuple[float, str | None]:
    """The mark of the last line that is labelled as one, else of lines that hold nothing else."""
    labelled, bare = [], []
    rest: list[str] = []
    for line in said.splitlines():
        label, mark = _parted(line)
        if mark is None:
            rest.append(line)
        elif label:
            labelled.append(mark)
        else:
            bare.append(mark)
    shares = [_of_match(mark, scale) for mark in labelled[-1:] or bare]
    if not shares:
        raise UnreadableError(f"no mark in {shown(said)}" if said else "the answer is empty")
    if len(set(shares)) > 1:
        raise UnreadableError(f"several marks that differ in {shown(said)}")
    return shares[0], _reasons(rest)


def _parted(line: str) -> tuple[bool, re.Match[str] | None]:
    """Whether a line is labelled as a mark, and the mark, if the line holds nothing else."""
    bare = _bare(line)
    for label, value in _splits(bare):
        words = {_bare(word) for word in label.lower().split()}
        if words & SCORE:
            return True, _MARK.fullmatch(_bare(value))
    return False, _MARK.fullmatch(bare)


def _bare(text: str) -> str:
    """A text without brackets, stars and the like; a minus and a point before a digit stay."""
    return _BULLET.sub("", text.strip()).lstrip(_BEFORE).rstrip(_AFTER)


def _splits(line: str) -> Iterator[tuple[str, str]]:
    for colon in (":", "：", "="):
        label, found, value = line.partition(colon)
        if found:
            yield label, value


def _reasons(lines: list[str]) -> str | None:
    """All lines beside the mark; what follows the label, where there is one."""
    text = "\n".join(lines).strip()
    found = _REASONING.search(text)
    return " ".join((found[1] if found else text).split()) or None

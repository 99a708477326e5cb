"""A grade on a scale, from JSON or from words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from rageval_report.errors import DataError
from rageval_report.judges.parsing.objects import (
    JsonDocument,
    UnreadableError,
    find_objects,
    find_reasoning,
    quote_beginning,
    remove_thoughts,
)
from rageval_report.judges.parsing.words import SCORE

_GRADE = re.compile(
    r"(?P<grade>[-+]?\d+(?:[.,]\d+)?)\s*"
    r"(?:(?P<percent>%)|(?:/|／|of|out of|von|sur|de|su|из)\s*(?P<full>\d+(?:[.,]\d+)?))?"
)
# Markdown, brackets and quotes that models put around a grade.
_BEFORE = "*_`#>•[({\"'“「 \t"
_AFTER = "*_`])}\"'”」. \t"
_BULLET = re.compile(r"^-\s+")
_REASONING = re.compile(r"^\W*reason(?:ing|s)?\W*[:：]\s*(.+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class GradeScale:
    """The grades that a judge may give.

    Parameters
    ----------
    low, high : float
        The worst and the best grade.
    whole : bool
        Whether grades are whole numbers.

    Raises
    ------
    DataError
        If `low` is not below `high`.

    Examples
    --------
    >>> GradeScale(1, 5, whole=True).share(4)
    0.75
    """

    low: float = 0.0
    high: float = 1.0
    whole: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise DataError(f"scale must go from a lower to a higher number; got {self}")

    @property
    def grades(self) -> list[int] | None:
        """All grades, if they are whole numbers."""
        return list(range(int(self.low), int(self.high) + 1)) if self.whole else None

    def share(self, grade: float) -> float:
        """The position of a grade on the scale, from 0 to 1.

        Raises
        ------
        UnreadableError
            If it is not on the scale.
        """
        is_valid = math.isfinite(grade) and self.low <= grade <= self.high
        if not is_valid or (self.whole and grade != int(grade)):
            raise UnreadableError(f"{grade:g} is not on the scale, {self}")
        return (grade - self.low) / (self.high - self.low)

    def __str__(self) -> str:
        kind = "whole numbers " if self.whole else ""
        return f"{kind}from {self.low:g} to {self.high:g}"


def read_grade(text: str, scale: GradeScale) -> tuple[float, str | None]:
    r"""The grade in a judge's answer as a share of the scale, and the reasons.

    Parameters
    ----------
    text : str
        JSON with ``score``, alone or among prose, or a line such as "SCORE: 0.8", "4/5", "[80%]";
        of several labelled lines the last counts.
    scale : GradeScale
        "8/10" on a scale from 0 is 0.8 of it; on a scale of ten it is the grade 8.

    Raises
    ------
    UnreadableError
        If there is no grade, if it is not on the scale, or if several grades differ.

    Examples
    --------
    >>> read_grade('{"reasoning": "It fits.", "score": 4}', GradeScale(1, 5, whole=True))
    (0.75, 'It fits.')
    >>> read_grade("REASONING: partly\nSCORE: **8/10**", GradeScale())[0]
    0.8
    """
    answer = remove_thoughts(text)
    # The last object counts, because models correct themselves.
    for document in reversed(find_objects(answer)):
        value = _find_grade(document)
        if value is not None:
            return _share_of_value(value, scale), find_reasoning(document)
    return _read_lines(answer, scale)


def _find_grade(document: JsonDocument) -> object:
    """The value of ``score``, else the only number: the name may have been translated."""
    if "score" in document:
        return document["score"]
    numbers = [value for value in document.values() if _is_number(value)]
    return numbers[0] if len(numbers) == 1 else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _share_of_value(value: object, scale: GradeScale) -> float:
    if _is_number(value):
        # By way of a text: an integer of 400 digits becomes infinite instead of raising an error.
        return scale.share(float(str(value)))
    match = _GRADE.fullmatch(_strip_markup(value)) if isinstance(value, str) else None
    if match is None:
        raise UnreadableError(f"{quote_beginning(str(value))} is not a grade")
    return _share_of_match(match, scale)


def _share_of_match(match: re.Match[str], scale: GradeScale) -> float:
    grade, full = _parse_number(match["grade"]), match["full"]
    if match["percent"]:
        full = "100"
    # "4/5" on a scale from 1 to 5 is the grade 4, not the share 0.8.
    if full is None or _parse_number(full) == scale.high:
        return scale.share(grade)
    # A share such as 8/10 or 80% has a meaning only on a scale that starts at 0.
    if scale.low != 0.0 or not 0.0 <= grade <= _parse_number(full) or not _parse_number(full):
        raise UnreadableError(f"{match[0].strip()!r} is not on the scale, {scale}")
    return grade / _parse_number(full)


def _parse_number(text: str) -> float:
    # A decimal comma, as judges write that answer in German or French.
    return float(text.replace(",", "."))


def _read_lines(answer: str, scale: GradeScale) -> tuple[float, str | None]:
    """The grade of the last labelled line, else of the lines that contain nothing but a grade."""
    labelled, unlabelled = [], []
    other_lines: list[str] = []
    for line in answer.splitlines():
        is_labelled, grade = _split_line(line)
        if grade is None:
            other_lines.append(line)
        elif is_labelled:
            labelled.append(grade)
        else:
            unlabelled.append(grade)
    # The last labelled line, because models correct themselves; lines without a label must all
    # agree.
    shares = [_share_of_match(grade, scale) for grade in labelled[-1:] or unlabelled]
    if not shares:
        raise UnreadableError(
            f"no grade in {quote_beginning(answer)}" if answer else "the answer is empty"
        )
    if len(set(shares)) > 1:
        raise UnreadableError(f"several grades that differ in {quote_beginning(answer)}")
    return shares[0], _join_reasons(other_lines)


def _split_line(line: str) -> tuple[bool, re.Match[str] | None]:
    """Whether a line has the label of a grade, and the grade, if it contains nothing else."""
    text = _strip_markup(line)
    for label, value in _label_and_value(text):
        words = {_strip_markup(word) for word in label.lower().split()}
        if words & SCORE:
            return True, _GRADE.fullmatch(_strip_markup(value))
    return False, _GRADE.fullmatch(text)


def _strip_markup(text: str) -> str:
    """A text without brackets, stars and the like; a sign and a point before a digit stay."""
    return _BULLET.sub("", text.strip()).lstrip(_BEFORE).rstrip(_AFTER)


def _label_and_value(line: str) -> Iterator[tuple[str, str]]:
    for colon in (":", "：", "="):
        label, separator, value = line.partition(colon)
        if separator:
            yield label, value


def _join_reasons(lines: list[str]) -> str | None:
    """All other lines, or what follows the label of the reasons if there is one."""
    text = "\n".join(lines).strip()
    match = _REASONING.search(text)
    return " ".join((match[1] if match else text).split()) or None

"""A judge's answer becomes a verdict; an answer without a clear verdict is never guessed.

The form asks for one JSON object, so JSON is looked for first, alone or among prose; then a verdict
in words, in the languages in which judges sometimes answer. What a judge quotes from the material
that it was shown is no verdict of its own: the readers take that material, and leave out objects
and labelled lines that occur in it. An answer that cannot be read raises `UnreadableError`, and the
score is missing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from rageval_report.errors import DataError
from rageval_report.files.strict_json import check_depth
from rageval_report.judges.chats import WORDS

T = TypeVar("T")
JsonDocument = dict[str, Any]
Choice = Literal["first", "second", "tie"]
Truth = tuple[bool, str | None]

_TRUE, _FALSE = frozenset(WORDS["verdicts"]["true"]), frozenset(WORDS["verdicts"]["false"])
_SCORE, _VERDICT = frozenset(WORDS["labels"]["grade"]), frozenset(WORDS["labels"]["verdict"])
_CHOICES = {word: choice for choice, words in WORDS["choices"].items() for word in words}

# An unclosed tag reaches to the end: an answer that was cut within the thoughts has no verdict.
_THOUGHTS = re.compile(r"<(think|thinking|thought)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"\A```\w*\s*|\s*```\Z")
_WORD = re.compile(r"[^\W_]+")
_GRADE = re.compile(
    r"(?P<grade>[-+]?\d+(?:[.,]\d+)?)\s*"
    r"(?:(?P<percent>%)|(?:/|／|of|out of|von|sur|de|su|из)\s*(?P<full>\d+(?:[.,]\d+)?))?"
)
# Markdown, brackets and quotes that models put around a grade.
_BEFORE = "*_`#>•[({\"'“「 \t"
_AFTER = "*_`])}\"'”」. \t"
_BULLET = re.compile(r"^-\s+")
_REASONING = re.compile(r"^\W*reason(?:ing|s)?\W*[:：]\s*(.+)", re.IGNORECASE | re.DOTALL)
_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+(?P<text>\S.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^\W*(?P<number>\d{1,3})\W+(?P<verdict>\S.*)$", re.MULTILINE)
# Each brace that opens no object costs a try, and a text of braces alone has as many as characters.
_MOST_TRIES = 1000
_MOST_SHOWN = 80
_LONGEST_LABEL = 2  # words; a longer text before a colon is a sentence


class UnreadableError(ValueError):
    """A judge's answer contains no verdict, or several."""


@dataclass(frozen=True)
class GradeScale:
    """The grades that a judge may give."""

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
        """The position of a grade on the scale, from 0 to 1; an error if it is not on it."""
        is_valid = math.isfinite(grade) and self.low <= grade <= self.high
        if not is_valid or (self.whole and grade != int(grade)):
            raise UnreadableError(f"{grade:g} is not on the scale, {self}")
        return (grade - self.low) / (self.high - self.low)

    def __str__(self) -> str:
        kind = "whole numbers " if self.whole else ""
        return f"{kind}from {self.low:g} to {self.high:g}"


# -- the readers


def read_grade(text: str, scale: GradeScale, material: str = "") -> tuple[float, str | None]:
    """The grade in a judge's answer as a share of the scale, and the reasons."""
    answer = _JudgeAnswer(text, material)
    for document in answer.documents:
        # ``score``, else the only number: the name may have been translated.
        numbers = [value for value in document.values() if _is_number(value)]
        value = document.get("score", numbers[0] if len(numbers) == 1 else None)
        if value is not None or "score" in document:
            return _share_of_value(value, scale), _find_reasoning(document)
    labelled: list[re.Match[str]] = []
    unlabelled: list[re.Match[str]] = []
    others: list[str] = []
    for line in answer.lines:
        plain = _strip_markup(line)
        values = [_strip_markup(value) for value in answer.labelled(line, _SCORE)]
        grade = _GRADE.fullmatch(values[0] if values else plain)
        if grade is None:
            others.append(line)
        else:
            (labelled if values else unlabelled).append(grade)
    # The last labelled line, because models correct themselves; lines without a label must agree.
    shares = {_share_of_match(grade, scale) for grade in labelled[-1:] or unlabelled}
    if not shares:
        raise answer.unreadable("grade")
    if len(shares) > 1:
        raise UnreadableError(f"several grades that differ in {quote_beginning(answer.text)}")
    # All other lines, or what follows the label of the reasons if there is one.
    rest = "\n".join(others).strip()
    match = _REASONING.search(rest)
    return shares.pop(), " ".join((match[1] if match else rest).split()) or None


def read_truth(text: str, material: str = "") -> Truth:
    """Yes or no, and the reasons."""
    return _read_verdict(text, material, _parse_truth, "verdict")


def read_preference(text: str, material: str = "") -> tuple[Choice, str | None]:
    """Which of two answers is better, and the reasons."""
    return _read_verdict(text, material, _parse_choice, "better")


def read_claims(text: str, material: str = "") -> list[str]:
    """The claims that a judge lists; an empty list is an answer too."""
    answer = _JudgeAnswer(text, material)
    claims = answer.find_list("claims")
    if claims is None:
        claims = [item["text"].strip() for item in _ITEM.finditer(answer.text)] or None
    if claims is None:
        raise UnreadableError(f"no list of claims in {quote_beginning(answer.text)}")
    if not all(isinstance(claim, str) for claim in claims):
        raise UnreadableError(f"the claims must be texts; got {quote_beginning(str(claims))}")
    return [claim.strip() for claim in claims if claim.strip()]


def read_verdicts(text: str, n: int, material: str = "") -> list[Truth]:
    """A verdict for each of `n` things, in their order, with the reasons."""
    answer = _JudgeAnswer(text, material)
    listed = answer.find_list("verdicts")
    if listed is None:
        items = [
            (int(line["number"]), _parse_truth(line["verdict"]), line["verdict"].strip())
            for line in _NUMBERED.finditer(answer.text)
        ]
    else:
        items = [_parse_item(position, item) for position, item in enumerate(listed, 1)]
    by_number = {number: (verdict, why) for number, verdict, why in items if verdict is not None}
    # A missing or doubled number may shift all others, so that no verdict of the list can be
    # trusted.
    if len(items) != n or by_number.keys() != set(range(1, n + 1)):
        raise UnreadableError(
            f"expected a verdict for each of {n}; got verdicts for {sorted(by_number)}"
        )
    return [by_number[number] for number in range(1, n + 1)]


# -- what an answer contains


class _JudgeAnswer:
    """A judge's answer without its thoughts, and what in it is the judge's own."""

    def __init__(self, text: str, material: str):
        self.text = remove_thoughts(text)
        self.lines = self.text.splitlines()
        self._material = _words(material)
        objects = list(_iterate_objects(self.text))
        # A quoted object is no verdict, unless it is all that the judge says.
        is_whole = len(objects) == 1 and _FENCE.sub("", self.text) == objects[0][1]
        own = [pair for pair in objects if is_whole or not self._is_quoted(pair[1])]
        # The last object first, because models correct themselves.
        self.documents = [document for document, _ in reversed(own)]

    def _is_quoted(self, part: str) -> bool:
        return _words(part) in self._material

    def labelled(self, line: str, labels: frozenset[str]) -> list[str]:
        """What follows a label in a line; not where the label and its value are quoted."""
        values = []
        for colon in (":", "：", "="):
            label, separator, value = line.partition(colon)
            words = [_strip_markup(word) for word in label.lower().split()]
            if separator and not labels.isdisjoint(words):
                is_whole = len(self.lines) == 1 and len(words) <= _LONGEST_LABEL
                said = f"{words[-1]} {(_WORD.findall(value) or [''])[0]}"
                if is_whole or not self._is_quoted(said):
                    values.append(value)
        return values

    def find_list(self, name: str) -> list[Any] | None:
        """The last list of that name, else the only list: its name may have been translated."""
        for document in self.documents:
            if isinstance(document.get(name), list):
                return list(document[name])
            lists = [value for value in document.values() if isinstance(value, list)]
            if len(lists) == 1:
                return list(lists[0])
        return None

    def unreadable(self, what: str) -> UnreadableError:
        """That there is no grade or verdict in the answer."""
        return UnreadableError(
            f"no {what} in {quote_beginning(self.text)}" if self.text else "the answer is empty"
        )


def _words(text: str) -> str:
    """The words of a text, with a blank around each, to look for one text in another."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def remove_thoughts(text: str) -> str:
    """An answer without the model's thoughts before it."""
    return _THOUGHTS.sub("", text).strip()


def quote_beginning(text: str) -> str:
    """The beginning of an answer in one line and in quotes, for a reason."""
    line = " ".join(text.split())
    return repr(line if len(line) <= _MOST_SHOWN else line[: _MOST_SHOWN - 1] + "…")


def find_objects(text: str) -> list[JsonDocument]:
    """The outermost JSON objects of a text, in order."""
    return [document for document, _ in _iterate_objects(text)]


def _iterate_objects(text: str) -> Iterator[tuple[JsonDocument, str]]:
    """The outermost objects, and their source."""
    decoder = json.JSONDecoder()
    start, tries = text.find("{"), 0
    while start != -1 and tries < _MOST_TRIES:
        try:
            document, end = decoder.raw_decode(text, start)
            check_depth(document, end - start)
        except (ValueError, RecursionError):
            tries, end = tries + 1, start + 1
        else:
            yield document, text[start:end]
        # Behind the object that was read, so that objects inside it are not read again.
        start = text.find("{", end)


def _find_reasoning(document: JsonDocument) -> str | None:
    """The judge's reasons: under the name that the form gives them, else the longest text."""
    reasoning = document.get("reasoning", document.get("reason", document.get("explanation")))
    if reasoning is None:
        texts = [value for value in document.values() if isinstance(value, str)]
        reasoning = max(texts, key=len, default=None)
    return None if reasoning is None else " ".join(str(reasoning).split()) or None


# -- grades


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
    # A decimal comma, as judges write that answer in German or French.
    grade = float(match["grade"].replace(",", "."))
    full = float(match["full"].replace(",", ".")) if match["full"] else None
    if match["percent"]:
        full = 100.0
    # "4/5" on a scale from 1 to 5 is the grade 4, not the share 0.8.
    if full is None or full == scale.high:
        return scale.share(grade)
    # A share such as 8/10 or 80% has a meaning only on a scale that starts at 0.
    if scale.low != 0.0 or not 0.0 <= grade <= full or not full:
        raise UnreadableError(f"{match[0].strip()!r} is not on the scale, {scale}")
    return grade / full


def _strip_markup(text: str) -> str:
    """A text without brackets, stars and the like; a sign and a point before a digit stay."""
    return _BULLET.sub("", text.strip()).lstrip(_BEFORE).rstrip(_AFTER)


# -- yes, no and choices


def _parse_truth(value: object) -> bool | None:
    """The truth in a JSON value or at the beginning of a text; None if there is none."""
    if isinstance(value, bool):
        return value
    words = _WORD.findall(str(value).lower())
    if not words or words[0] not in _TRUE | _FALSE:
        return None
    is_true = words[0] in _TRUE
    # "No errors: TRUE" says both.
    return None if ("false" if is_true else "true") in words else is_true


def _parse_choice(value: object) -> Choice | None:
    """The choice in a JSON value or at the beginning of a text; None if there is none."""
    if isinstance(value, bool):
        return None
    # "Answer 1" and "1" are the same choice.
    words = (w for w in _WORD.findall(str(value).lower()) if w not in ("answer", "response"))
    return cast("Choice | None", _CHOICES.get(next(words, "")))


def _read_verdict(
    text: str, material: str, parse: Callable[[object], T | None], name: str
) -> tuple[T, str | None]:
    answer = _JudgeAnswer(text, material)
    for document in answer.documents:
        # The verdict under its name, else the only short value that is one: names are translated.
        short = [v for v in document.values() if isinstance(v, bool) or len(str(v).split()) == 1]
        values = [document[name]] if name in document else short
        verdicts = [verdict for verdict in map(parse, values) if verdict is not None]
        if len(verdicts) == 1:
            return verdicts[0], _find_reasoning(document)
    # Then the last line with the label of a verdict; the beginning counts only without such a line.
    labelled = [v for line in answer.lines for v in answer.labelled(line, _VERDICT)]
    verdict = parse(labelled[-1] if labelled else answer.text)
    if verdict is None:
        raise answer.unreadable("verdict")
    words = answer.text.split()
    return verdict, None if len(words) == 1 else " ".join(words)


def _parse_item(position: int, item: object) -> tuple[int, bool | None, str | None]:
    """Number, verdict and reasons of an item; without a number its position counts."""
    if not isinstance(item, dict):
        return position, _parse_truth(item), None
    number = item.get("number", position)
    if not isinstance(number, int) or isinstance(number, bool):
        number = -1  # no item has it, so that the list is refused
    truths = [value for value in item.values() if isinstance(value, bool)]
    only = truths[0] if len(truths) == 1 else None
    verdict = _parse_truth(item["verdict"]) if "verdict" in item else only
    return number, verdict, _find_reasoning(item)

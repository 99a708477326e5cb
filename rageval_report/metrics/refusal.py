"""Metrics of refusals: whether the pipeline refused to answer, and whether it should have.

Each metric takes a `Refusals` and returns one score per query; a cutoff is an error, because there
is no ranking to cut. Each rate is over the questions to which it applies: false refusals over the
answerable ones, hallucinated answers over those without an answer. Elsewhere the score is NaN, "not
applicable".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import DataError
from rageval_report.types import BoolArray, FloatArray

PHRASES: dict[str, tuple[str, ...]] = {
    "too little is known": (
        "not enough information",
        "don't have enough information",
        "do not have enough information",
        "insufficient information",
        "no information available",
        "no relevant information",
    ),
    "cannot answer": ("cannot answer", "can not answer", "can't answer", "unable to answer"),
    "do not know": ("don't know", "do not know"),
    "cannot be determined": (
        "cannot be determined",
        "can not be determined",
        "can't be determined",
    ),
    "not there": ("not mentioned", "not found"),
}
"""Fragments of refusals by family; each counts anywhere in an answer."""

# Many models write typographic apostrophes, which a plain list of phrases misses.
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\u00b4`\uff07", "'"))


def simplify(answer: str) -> str:
    r"""An answer in lower case, with straight apostrophes and single blanks."""
    return " ".join(answer.translate(_APOSTROPHES).lower().split())


@dataclass(frozen=True)
class RefusalRule:
    """How to recognise a refusal; an empty or blank answer always is one.

    Parameters
    ----------
    phrases : iterable of str
        Fragments: an answer that contains one of them is a refusal, in upper or lower case. Those
        of `PHRASES` if omitted; none if the list is empty.
    token : str, optional
        An answer that is a refusal, compared without case and surrounding blanks.
    pattern : str or compiled pattern, optional
        A regular expression that is searched for in the original answer; a text is compiled to
        ignore case.
    reach : int, optional
        Phrases count only if they begin within this number of characters: an answer that says at
        its end that a detail is "not mentioned" is not a refusal.

    Raises
    ------
    DataError
        If a phrase is blank, the pattern is not a regular expression, or it is one text.

    Examples
    --------
    >>> RefusalRule().refuses("Sorry, I can\u2019t answer that.")
    True
    >>> RefusalRule(phrases=(), token="not in context").refuses("Not in context")
    True
    >>> RefusalRule(reach=30).refuses("The tower is 300 m high; its weight is not mentioned.")
    False
    """

    phrases: Iterable[str] = tuple(phrase for family in PHRASES.values() for phrase in family)
    token: str | None = None
    pattern: str | re.Pattern[str] | None = None
    reach: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.phrases, str):
            raise DataError(f"phrases must be a list; got one text: write [{self.phrases!r}]")
        object.__setattr__(self, "phrases", tuple(self.phrases))
        for phrase in self.phrases:
            if not isinstance(phrase, str) or not phrase.strip():
                raise DataError(f"phrases must be texts that are not blank; got {phrase!r}")
        object.__setattr__(self, "pattern", _compile(self.pattern))

    @cached_property
    def _phrase(self) -> re.Pattern[str] | None:
        fragments = sorted({simplify(phrase) for phrase in self.phrases})
        return re.compile("|".join(map(re.escape, fragments))) if fragments else None

    def refuses(self, answer: str) -> bool:
        """Whether an answer is a refusal."""
        text = simplify(answer)
        if not text or (self.token is not None and text == simplify(self.token)):
            return True
        # The pattern sees the answer as it is, because its author wrote it for that.
        if isinstance(self.pattern, re.Pattern) and self.pattern.search(answer):
            return True
        match = self._phrase.search(text) if self._phrase else None
        return match is not None and (self.reach is None or match.start() < self.reach)


def _compile(pattern: str | re.Pattern[str] | None) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern, re.IGNORECASE) if isinstance(pattern, str) else pattern
    except re.error as exc:
        raise DataError(f"pattern must be a regular expression; got {pattern!r}: {exc}") from exc


_OF_UNANSWERABLE = ("hallucinated_answer", "abstention_recall")


@dataclass(frozen=True, eq=False)
class Refusals:
    """Which questions were refused and which have an answer; see `refusals_of`."""

    refused: FloatArray
    answerable: FloatArray

    @property
    def is_answerable(self) -> BoolArray:
        """The questions that have an answer."""
        return np.equal(self.answerable, 1.0)

    @property
    def is_unanswerable(self) -> BoolArray:
        """The questions without an answer."""
        return np.equal(self.answerable, 0.0)

    def applies(self, metric: str) -> BoolArray:
        """Whether a metric applies to each question; true if that is not known."""
        if metric == "false_refusal":
            return ~self.is_unanswerable
        if metric in _OF_UNANSWERABLE:
            return ~self.is_answerable
        return np.ones(len(self.answerable), dtype=bool)


def refusals_of(records: pd.DataFrame, rule: RefusalRule | None = None) -> Refusals:
    """The refusals of checked records."""

    def column(name: str) -> list[Any]:
        return records[name].tolist() if name in records else [None] * len(records)

    pairs = zip(column("answer"), column("error"), strict=True)
    # A pipeline that failed has not refused.
    answers = [None if error and not answer else answer for answer, error in pairs]
    return refusals_between(answers, column("answerable"), rule)


def refusals_between(
    answers: Sequence[str | None],
    answerable: Sequence[bool | None],
    rule: RefusalRule | None = None,
) -> Refusals:
    """The refusals in a list of answers; None stands for a missing answer or an unknown truth."""
    refuses = (rule or RefusalRule()).refuses
    refused = [refuses(answer) if isinstance(answer, str) else np.nan for answer in answers]
    has_answer = [np.nan if pd.isna(flag) else bool(flag) for flag in answerable]
    return Refusals(np.array(refused, dtype=np.float64), np.array(has_answer, dtype=np.float64))


def abstention_recall(view: Refusals) -> FloatArray:
    """Whether a question without an answer was refused."""
    # ragbench's unanswerable_accuracy counts right answers too: see abstention_accuracy.
    return np.where(view.is_unanswerable, view.refused, np.nan)


def hallucinated_answer(view: Refusals) -> FloatArray:
    """Whether a question without an answer was answered anyway; lower is better."""
    return np.where(view.is_unanswerable, 1.0 - view.refused, np.nan)


def false_refusal(view: Refusals) -> FloatArray:
    """Whether an answerable question was refused; lower is better."""
    return np.where(view.is_answerable, view.refused, np.nan)


def abstention_accuracy(view: Refusals) -> FloatArray:
    """Whether an answerable question was answered, or any other question refused."""
    # 0 * NaN is NaN: a question whose answerability is unknown stays unscored.
    return np.where(view.is_answerable, 1.0 - view.refused, view.refused + 0.0 * view.answerable)

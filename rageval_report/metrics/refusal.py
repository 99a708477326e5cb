"""Whether the pipeline refused to answer, and whether it should have.

Each rate is over the questions that it is about: false refusals over the answerable, hallucinated
answers over those without an answer. On all others the score is NaN, "not applicable".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rageval_report.errors import DataError
from rageval_report.rankings.checks import refuse_cutoff

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

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
"""Fragments of refusals by family; each counts wherever it stands in an answer."""

_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\u00b4`\uff07", "'"))


def plain(answer: str) -> str:
    r"""An answer in lower case, with straight apostrophes and single blanks.

    Examples
    --------
    >>> plain("  I don\u2019t\n know ")
    "i don't know"
    """
    return " ".join(answer.translate(_APOSTROPHES).lower().split())


@dataclass(frozen=True)
class RefusalRule:
    """What counts as a refusal; an empty or blank answer always does.

    Parameters
    ----------
    phrases : iterable of str
        Fragments; an answer that holds one of them refuses, upper or lower case. Those of `PHRASES`
        where not given; an empty list looks for none.
    token : str, optional
        An exact answer that refuses, upper or lower case, blanks around it not counted.
    pattern : str or compiled pattern, optional
        A regular expression that is searched for in the answer as it stands; a text is compiled
        to ignore case.
    reach : int, optional
        Phrases count only if they begin within so many characters: an answer that says at its
        end that a detail is "not mentioned" is an answer.
    longest : int, optional
        Phrases and pattern count only in answers of at most so many characters.

    Raises
    ------
    DataError
        If a phrase is blank, the pattern cannot be compiled, or a number is below 1.

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
    longest: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.phrases, str):
            raise DataError(f"phrases must be a list; got one text: [{self.phrases!r}]")
        object.__setattr__(self, "phrases", tuple(self.phrases))
        blank = [one for one in self.phrases if not isinstance(one, str) or not one.strip()]
        if blank:
            raise DataError(f"a phrase must be a text that is not blank; got {blank[0]!r}")
        for name in ("reach", "longest"):
            _check_length(name, getattr(self, name))
        object.__setattr__(self, "pattern", _compiled(self.pattern))

    @cached_property
    def _phrase(self) -> re.Pattern[str] | None:
        fragments = sorted({plain(phrase) for phrase in self.phrases})
        return re.compile("|".join(map(re.escape, fragments))) if fragments else None

    def refuses(self, answer: str) -> bool:
        """Whether an answer is a refusal."""
        text = plain(answer)
        if not text or (self.token is not None and text == plain(self.token)):
            return True
        if self.longest is not None and len(text) > self.longest:
            return False
        if isinstance(self.pattern, re.Pattern) and self.pattern.search(answer):
            return True
        found = self._phrase.search(text) if self._phrase else None
        return found is not None and (self.reach is None or found.start() < self.reach)


def _check_length(name: str, value: object) -> None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (is_whole and value >= 1):  # type: ignore[operator]
        raise DataError(f"{name} must be a number of characters from 1 upwards; got {value!r}")


def _compiled(pattern: str | re.Pattern[str] | None) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern, re.IGNORECASE) if isinstance(pattern, str) else pattern
    except re.error as exc:
        raise DataError(f"{pattern!r} is no regular expression: {exc}") from exc


_OF_UNANSWERABLE = ("hallucinated_answer", "unanswerable_accuracy")


@dataclass(frozen=True, eq=False)
class Refusals:
    """Which questions were refused and which have an answer; made by `refusals_of`.

    Parameters
    ----------
    refused : ndarray of float
        1 where the answer is a refusal, 0 where it is an answer, NaN where there is none.
    answerable : ndarray of float
        1 where the question has an answer, 0 where it has none, NaN where that is not known.
    """

    refused: Floats
    answerable: Floats

    @property
    def is_answerable(self) -> Flags:
        """The questions that false refusals are about."""
        return np.equal(self.answerable, 1.0)

    @property
    def is_unanswerable(self) -> Flags:
        """The questions that hallucinated answers are about."""
        return np.equal(self.answerable, 0.0)

    def applies(self, metric: str) -> Flags:
        """Whether a metric of this family is about each question; true where nobody knows.

        Examples
        --------
        >>> view = refusals_between(["a", "b", "c"], [True, False, None])
        >>> view.applies("false_refusal").tolist()
        [True, False, True]
        """
        if metric == "false_refusal":
            return ~self.is_unanswerable
        if metric in _OF_UNANSWERABLE:
            return ~self.is_answerable
        return np.ones(len(self.answerable), dtype=bool)


def refusals_of(records: pd.DataFrame, rule: RefusalRule | None = None) -> Refusals:
    """The refusals of checked records.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` gives it: ``answer`` and ``answerable``; where
        ``error`` says that the pipeline failed, an empty answer is none and no refusal.
    rule : RefusalRule, optional
        What counts as a refusal.

    Examples
    --------
    >>> records = pd.DataFrame({"answer": ["Paris", "I don't know."], "answerable": [True, False]})
    >>> refusals_of(records).refused
    array([0., 1.])
    """

    def column(name: str) -> list[Any]:
        return records[name].tolist() if name in records else [None] * len(records)

    pairs = zip(column("answer"), column("error"), strict=True)
    answers = [None if error and not answer else answer for answer, error in pairs]
    return refusals_between(answers, column("answerable"), rule)


def refusals_between(
    answers: Sequence[str | None], answerable: Sequence[Any], rule: RefusalRule | None = None
) -> Refusals:
    """The refusals among lists of answers; None where there is none, or where it is not known.

    Examples
    --------
    >>> refusals_between(["Paris", None, ""], [True, None, False]).refused
    array([ 0., nan,  1.])
    """
    refuses = (rule or RefusalRule()).refuses
    refused = [refuses(one) if isinstance(one, str) else np.nan for one in answers]
    known = [np.nan if pd.isna(one) else bool(one) for one in answerable]
    return Refusals(np.array(refused, dtype=np.float64), np.array(known, dtype=np.float64))


def unanswerable_accuracy(view: Refusals, k: int | None = None) -> Floats:
    """Whether a question without an answer was refused.

    Parameters
    ----------
    view : Refusals
        What was refused and what has an answer.
    k : None
        There is nothing to cut.

    Returns
    -------
    ndarray of shape (n_queries,)
        0 or 1; NaN on answerable questions (not applicable), and where it is not known whether
        there is an answer, or what was answered.

    Examples
    --------
    >>> view = refusals_between(["I don't know", "Oslo", "Bonn"], [False, False, True])
    >>> unanswerable_accuracy(view)
    array([ 1.,  0., nan])
    """
    refuse_cutoff("unanswerable_accuracy", k)
    return np.where(view.is_unanswerable, view.refused, np.nan)


def hallucinated_answer(view: Refusals, k: int | None = None) -> Floats:
    """Whether a question without an answer was answered all the same; lower is better.

    Parameters
    ----------
    view : Refusals
        What was refused and what has an answer.
    k : None
        There is nothing to cut.

    Returns
    -------
    ndarray of shape (n_queries,)
        0 or 1; NaN as for `unanswerable_accuracy`.

    Examples
    --------
    >>> view = refusals_between(["I don't know", "Oslo", "Bonn"], [False, False, True])
    >>> hallucinated_answer(view)
    array([ 0.,  1., nan])
    """
    refuse_cutoff("hallucinated_answer", k)
    return np.where(view.is_unanswerable, 1.0 - view.refused, np.nan)


def false_refusal(view: Refusals, k: int | None = None) -> Floats:
    """Whether an answerable question was refused; lower is better.

    Parameters
    ----------
    view : Refusals
        What was refused and what has an answer.
    k : None
        There is nothing to cut.

    Returns
    -------
    ndarray of shape (n_queries,)
        0 or 1; NaN on questions without an answer (not applicable), and where it is not known
        whether there is an answer, or what was answered.

    Examples
    --------
    >>> false_refusal(refusals_between(["I don't know", "Oslo", "Bonn"], [True, True, False]))
    array([ 1.,  0., nan])
    """
    refuse_cutoff("false_refusal", k)
    return np.where(view.is_answerable, view.refused, np.nan)


def abstention_accuracy(view: Refusals, k: int | None = None) -> Floats:
    """Whether the pipeline did the right thing: answered the answerable, refused the others.

    Parameters
    ----------
    view : Refusals
        What was refused and what has an answer.
    k : None
        There is nothing to cut.

    Returns
    -------
    ndarray of shape (n_queries,)
        0 or 1; NaN where it is not known whether there is an answer, or what was answered.

    Examples
    --------
    >>> abstention_accuracy(refusals_between(["I don't know", "Oslo", "Bonn"], [True, True, False]))
    array([0., 1., 0.])
    """
    refuse_cutoff("abstention_accuracy", k)
    return np.where(view.is_answerable, 1.0 - view.refused, view.refused + 0.0 * view.answerable)

"""Negative references: texts that an answer must not contain, such as plausible wrong answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rageval_report.metrics.tokens import characters_or_words
from rageval_report.rankings.checks import refuse_cutoff
from rageval_report.types import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class NegativeReferences:
    """The answers beside the texts that they must not contain, query by query.

    Parameters
    ----------
    answer : list of str or None
        One answer per query; None if the pipeline gave none.
    negatives : list of lists of str
        The texts that the answer must not contain; an empty list if there are none.
    references : list of lists of str
        The right answers, which may contain such a text.
    """

    answer: list[str | None]
    negatives: list[list[str]]
    references: list[list[str]]

    def applies(self, metric: str) -> BoolArray:  # noqa: ARG002  (the protocol of the views)
        """Whether a query has a negative reference.

        Examples
        --------
        >>> view = NegativeReferences(["a", "b"], [["x"], []], [[], []])
        >>> view.applies("negative_reference_hit").tolist()
        [True, False]
        """
        has_any = [any(map(characters_or_words, texts)) for texts in self.negatives]
        return np.array(has_any, dtype=bool)


def negative_reference_hit(view: NegativeReferences, k: int | None = None) -> FloatArray:
    """Whether the answer contains a negative reference; lower is better.

    Words are compared in lower case and without punctuation, in a row; of scripts without blanks,
    characters. A text that is only there as a part of a reference is no hit: "Paris" is in "Paris,
    Texas".

    Returns
    -------
    ndarray of shape (n_queries,)
        0 or 1; NaN if a query has no negative reference (not applicable), or there is no answer.

    Examples
    --------
    >>> answers = ["It is Lyon.", "Paris, Texas.", "Lyonnais", "Lyon"]
    >>> negatives = [["Lyon", "Nice"], ["Paris"], ["Lyon"], []]
    >>> view = NegativeReferences(answers, negatives, [[], ["Paris, Texas"], [], []])
    >>> negative_reference_hit(view)
    array([ 1.,  0.,  0., nan])
    """
    refuse_cutoff("negative_reference_hit", k)
    rows = zip(view.answer, view.negatives, view.references, strict=True)
    applies = view.applies("negative_reference_hit")
    hits = [
        np.nan if answer is None else float(_contains_any(answer, negatives, references))
        for answer, negatives, references in rows
    ]
    return np.where(applies, np.array(hits, dtype=np.float64), np.nan)


def _contains_any(answer: str, negatives: Sequence[str], references: Sequence[str]) -> bool:
    words = characters_or_words(answer)
    right = [characters_or_words(text) for text in references]
    for wrong in filter(None, map(characters_or_words, negatives)):
        around = [text for text in right if len(text) > len(wrong) and _places(text, wrong)]
        allowed = {
            start + inner
            for text in around
            for start in _places(words, text)
            for inner in _places(text, wrong)
        }
        if set(_places(words, wrong)) - allowed:
            return True
    return False


def _places(words: Sequence[str], part: Sequence[str]) -> list[int]:
    """Where a row of words begins among others."""
    n = len(part)
    return [start for start in range(len(words) - n + 1) if words[start : start + n] == part]

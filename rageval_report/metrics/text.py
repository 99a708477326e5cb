"""Metrics that compare answers with references word for word, and the answers beside both.

They need only NumPy; BLEU, chrF and ROUGE are in `overlap` and need the extra ``text``.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rageval_report.types import BoolArray, FloatArray

# Scripts without blanks between words: Thai, Lao, Myanmar, Khmer; kana; Han with its extensions.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
_UNSPACED += "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


def characters_or_words(text: str) -> list[str]:
    """The tokens of a text: characters of scripts without blanks, otherwise words, in lower case.

    A tokenizer for `token_f1`, ROUGE and BLEU. By default a Japanese or Thai sentence is one token
    for `token_f1` and BLEU and no token for ROUGE, so that only equal sentences score above 0.

    Parameters
    ----------
    text : str
        Any text; punctuation is not part of any token.

    Returns
    -------
    list of str

    Examples
    --------
    >>> characters_or_words("Python 3 は楽しい。")
    ['python', '3', 'は', '楽', 'し', 'い']
    """
    return _TOKEN.findall(text.lower())


Tokenizer = Callable[[str], list[str]]
"""Cuts a text into tokens; use `characters_or_words` for scripts without blanks."""


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers and the right answers, query by query.

    Parameters
    ----------
    answer : list of str or None
        One answer per query; None if the pipeline gave none. An empty text is an answer.
    references : list of lists of str
        The right answers of each query, any number of them.
    right_refusals : list of float, optional
        For a question that has no answer, 1 if it was refused and 0 if it was answered; NaN for any
        other. If omitted, every question is taken to have an answer.

    Examples
    --------
    >>> answers = Answers(["Rome", None, "4"], [["Rome", "Roma"], ["Oslo"], []])
    >>> answers.pairs
    [('Rome', 'Rome'), ('Rome', 'Roma')]
    >>> answers.best([1.0, 0.5])
    array([ 1., nan, nan])
    """

    answer: list[str | None]
    references: list[list[str]]
    right_refusals: list[float] | None = None

    def __len__(self) -> int:
        return len(self.answer)

    @cached_property
    def n_pairs(self) -> NDArray[np.int64]:
        """How many references each query is compared with; 0 if it has no answer."""
        both = zip(self.answer, self.references, strict=True)
        return np.array([0 if a is None else len(refs) for a, refs in both], dtype=np.int64)

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Each answer with each of its references, queries in order."""
        both = zip(self.answer, self.references, strict=True)
        return [(a, reference) for a, refs in both if a is not None for reference in refs]

    def best(self, scores: ArrayLike) -> FloatArray:
        """The highest score of each query, from one score per pair; NaN if it has no pair."""
        best = np.full(len(self), np.nan)
        paired = self.n_pairs > 0
        if paired.any():
            starts = np.cumsum(self.n_pairs[paired]) - self.n_pairs[paired]
            best[paired] = np.maximum.reduceat(np.asarray(scores, dtype=np.float64), starts)
        return best

    def with_refusals(self, scores: FloatArray) -> FloatArray:
        """The scores of a measure of right answers, in which a right refusal is a right answer."""
        if self.right_refusals is None:
            return scores
        is_right = np.array(self.right_refusals, dtype=np.float64) == 1.0
        return np.where(is_right & ~np.isnan(scores), 1.0, scores)

    def score_each(self, score: Callable[[str, list[str]], float]) -> FloatArray:
        """The scores of a function of an answer and its references; NaN if either is missing."""
        both = zip(self.answer, self.references, strict=True)
        scores = [np.nan if a is None or not refs else score(a, refs) for a, refs in both]
        return np.array(scores, dtype=np.float64)


_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]+")  # faster than str.translate


def normalise_squad(text: str) -> str:
    """A text in lower case, without ASCII punctuation, English articles and extra blanks."""
    # The order of SQuAD's script: lower case, punctuation, articles, blanks.
    bare = _PUNCTUATION.sub("", text.lower())
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(answers: Answers) -> FloatArray:
    """Whether the answer equals a reference, letter by letter."""
    scores = answers.best([answer == reference for answer, reference in answers.pairs])
    return answers.with_refusals(scores)


def exact_match_squad(answers: Answers) -> FloatArray:
    """Whether the answer equals a reference after both are normalised as in SQuAD."""
    bare = normalise_squad
    scores = answers.best([bare(answer) == bare(reference) for answer, reference in answers.pairs])
    return answers.with_refusals(scores)


def token_f1(answers: Answers, *, tokenizer: Tokenizer | None = None) -> FloatArray:
    """The harmonic mean of the shares of tokens that answer and reference have in common."""
    cut = tokenizer or _squad_tokens
    counts: dict[str, Counter[str]] = {}
    for text in {text for pair in answers.pairs for text in pair}:
        counts[text] = Counter(cut(text))
    scores = answers.best([_overlap_f1(counts[a], counts[b]) for a, b in answers.pairs])
    return answers.with_refusals(scores)


def _squad_tokens(text: str) -> list[str]:
    return normalise_squad(text).split()


def _overlap_f1(answer: Counter[str], reference: Counter[str]) -> float:
    # SQuAD's rule: two texts without tokens agree, one alone does not.
    if not answer or not reference:
        return float(answer == reference)
    common = (answer & reference).total()
    precision, recall = common / answer.total(), common / reference.total()
    return 2 * precision * recall / (precision + recall) if common else 0.0


@dataclass(frozen=True, eq=False)
class NegativeReferences:
    """The answers beside the texts that they must not contain, query by query."""

    answer: list[str | None]
    negatives: list[list[str]]
    references: list[list[str]]

    def applies(self, metric: str) -> BoolArray:  # noqa: ARG002  (the protocol of the views)
        """Whether a query has a negative reference."""
        has_any = [any(map(characters_or_words, texts)) for texts in self.negatives]
        return np.array(has_any, dtype=bool)


def negative_reference_hit(view: NegativeReferences) -> FloatArray:
    """Whether the answer contains a negative reference; lower is better."""
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

"""Words, shingles and their overlap, by which duplicates, support and leaks are found."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from rageval_report.scores.query_ids import plain_text

_WORD = re.compile(r"\w+")

# English words without a meaning of their own; in other languages all words count.
_EMPTY = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his how i if in "
    "into is it its of on or she so such that the their them there these they this to was were "
    "what when where which who whom why will with would you your not no yes than then".split()
)
_N_LETTERS = 3  # of a shingle

# Answers that no text contains: they count neither as supported nor as leaked.
YES_NO = frozenset(("yes", "no", "true", "false"))


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case.

    Examples
    --------
    >>> words_of("What's the  capital?")
    ['what', 's', 'the', 'capital']
    """
    # casefold, not lower: "Straße" and "STRASSE" are one word.
    return _WORD.findall(plain_text(text).casefold())


def content_words(text: str) -> set[str]:
    """The words that have a meaning of their own.

    Examples
    --------
    >>> sorted(content_words("The river Seine"))
    ['river', 'seine']
    """
    return {word for word in words_of(text) if word not in _EMPTY}


def share_within(text: str, others: Iterable[str]) -> float:
    """The share of a text's content words that other texts contain; NaN if it has none.

    Parameters
    ----------
    text : str
        For example an answer.
    others : iterable of str
        For example the passages that it should come from.

    Examples
    --------
    >>> share_within("the river Seine", ["Along the Seine."])
    0.5
    """
    words = content_words(text)
    available = {word for other in others for word in content_words(other)}
    return len(words & available) / len(words) if words else math.nan


def shingles(text: str) -> frozenset[str]:
    """The runs of three characters of a text's words; a shorter text is one run.

    Examples
    --------
    >>> sorted(shingles("Who is it?"))
    [' is', ' it', 'ho ', 'is ', 'o i', 's i', 'who']
    """
    plain = " ".join(words_of(text))
    starts = range(max(1, len(plain) - _N_LETTERS + 1))
    return frozenset(plain[i : i + _N_LETTERS] for i in starts) if plain else frozenset()


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """The size of the intersection over that of the union; 0 if both sets are empty."""
    n_common = len(first & second)
    n_union = len(first) + len(second) - n_common
    return n_common / n_union if n_union else 0.0


def numbers_of(text: str) -> frozenset[str]:
    """The words of a text that contain a digit.

    Examples
    --------
    >>> sorted(numbers_of("From 1998 on, the B52"))
    ['1998', 'b52']
    """
    return frozenset(word for word in words_of(text) if any(map(str.isdecimal, word)))

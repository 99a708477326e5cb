"""Words, shingles and their overlap: what tells duplicates, support and leaks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from rageval_report.scores.query_ids import plain_text

_WORD = re.compile(r"\w+")

# Words of English that say nothing by themselves; in other languages all words count.
_EMPTY = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his how i if in "
    "into is it its of on or she so such that the their them there these they this to was were "
    "what when where which who whom why will with would you your not no yes than then".split()
)
_N_LETTERS = 3


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case.

    Examples
    --------
    >>> words_of("What's the  capital?")
    ['what', 's', 'the', 'capital']
    """
    return _WORD.findall(plain_text(text).casefold())


def content_words(text: str) -> set[str]:
    """The words that say something.

    Examples
    --------
    >>> sorted(content_words("The river Seine"))
    ['river', 'seine']
    """
    return {word for word in words_of(text) if word not in _EMPTY}


def share_within(text: str, others: Iterable[str]) -> float:
    """The share of a text's content words that the other texts hold; NaN where it has none.

    Parameters
    ----------
    text : str
        As an answer.
    others : iterable of str
        As the passages it should come from.

    Examples
    --------
    >>> share_within("the river Seine", ["Along the Seine."])
    0.5
    """
    wanted = content_words(text)
    held = {word for other in others for word in content_words(other)}
    return len(wanted & held) / len(wanted) if wanted else math.nan


def shingles(text: str) -> frozenset[str]:
    """The runs of three characters of a text's words; a shorter text is one run.

    Examples
    --------
    >>> sorted(shingles("Who is it?"))
    [' is', ' it', 'ho ', 'is ', 'o i', 's i', 'who']
    """
    plain = " ".join(words_of(text))
    ends = range(max(1, len(plain) - _N_LETTERS + 1))
    return frozenset(plain[end : end + _N_LETTERS] for end in ends) if plain else frozenset()


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """What two sets share, over what they hold together; 0 where both are empty."""
    common = len(first & second)
    together = len(first) + len(second) - common
    return common / together if together else 0.0


def numbers_of(text: str) -> frozenset[str]:
    """The words of a text that hold a digit.

    Examples
    --------
    >>> sorted(numbers_of("From 1998 on, the B52"))
    ['1998', 'b52']
    """
    return frozenset(word for word in words_of(text) if any(map(str.isdecimal, word)))

"""What a drafted item must be before it is taken; each filter gives its reason, or None."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rageval_report._registry import Registry
from rageval_report.datasets.golden_items import GoldenItem
from rageval_report.golden.word_overlap import content_words, share_within, words_of

Filter = Callable[[GoldenItem, Sequence[str]], str | None]

_FEWEST_WORDS, _MOST_WORDS = 3, 60
_LEAST_SUPPORT, _LEAK = 0.5, 0.8
_YES_NO = frozenset(("yes", "no", "true", "false"))

# Words by which a question leans on a text that nobody else sees.
_LEANING = re.compile(
    r"\b(the|this|these|that|above|given|provided) (text|passage|document|paragraph|excerpt|author"
    r"|article|section|context|texts|passages|documents)\b|\baccording to\b",
    re.IGNORECASE,
)

_HERE = __name__
FILTERS: Registry[Filter] = Registry(
    "filter of drafted questions",
    {
        "length": f"{_HERE}:right_length",
        "self_contained": f"{_HERE}:self_contained",
        "supported": f"{_HERE}:supported",
        "not_leaking": f"{_HERE}:not_leaking",
    },
)


def right_length(item: GoldenItem, contexts: Sequence[str]) -> str | None:  # noqa: ARG001
    """A question has from 3 to 60 words.

    Examples
    --------
    >>> right_length(GoldenItem("a", "Why?"), [])
    'the question has 1 words; expected 3 to 60'
    """
    n = len(words_of(item.question))
    if _FEWEST_WORDS <= n <= _MOST_WORDS:
        return None
    return f"the question has {n} words; expected {_FEWEST_WORDS} to {_MOST_WORDS}"


def self_contained(item: GoldenItem, contexts: Sequence[str]) -> str | None:  # noqa: ARG001
    """A question does not lean on a text that its reader has not seen.

    Examples
    --------
    >>> self_contained(GoldenItem("a", "What does the author say of it?"), [])
    "the question leans on 'the author'"
    """
    found = _LEANING.search(item.question)
    return None if found is None else f"the question leans on {found[0]!r}"


def supported(item: GoldenItem, contexts: Sequence[str]) -> str | None:
    """At least half of the words of the answer stand in the text.

    Examples
    --------
    >>> supported(GoldenItem("a", "Who wrote it?", ("Ann Lee",)), ["By Bob."])
    "the text holds 0% of the words of 'Ann Lee'"
    """
    for answer in item.references:
        share = share_within(answer, contexts)
        if share < _LEAST_SUPPORT and content_words(answer) - _YES_NO:
            return f"the text holds {share:.0%} of the words of {answer!r:.60}"
    return None


def not_leaking(item: GoldenItem, contexts: Sequence[str]) -> str | None:  # noqa: ARG001
    """The question does not hold its answer.

    Examples
    --------
    >>> not_leaking(GoldenItem("a", "Did Ann write it?", ("Ann",)), [])
    "the question holds its answer 'Ann'"
    """
    for answer in item.references:
        if content_words(answer) - _YES_NO and share_within(answer, [item.question]) >= _LEAK:
            return f"the question holds its answer {answer!r:.60}"
    return None

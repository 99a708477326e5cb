"""Filters of drafted items: each returns why it rejects an item, or None."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rageval_report._registry import Registry
from rageval_report.datasets.golden_items import GoldenItem
from rageval_report.golden.word_overlap import YES_NO, content_words, share_within, words_of

DraftFilter = Callable[[GoldenItem, Sequence[str]], str | None]

_FEWEST_WORDS, _MOST_WORDS = 3, 60
_LEAST_SUPPORT, _LEAK = 0.5, 0.8  # the limits of `check_golden`

# Words by which a question refers to a text that its reader has not seen.
_LEANING = re.compile(
    r"\b(the|this|these|that|above|given|provided) (text|passage|document|paragraph|excerpt|author"
    r"|article|section|context|texts|passages|documents)\b|\baccording to\b",
    re.IGNORECASE,
)

_HERE = __name__
FILTERS: Registry[DraftFilter] = Registry(
    "filter of drafted questions",
    {
        "length": f"{_HERE}:reject_length",
        "self_contained": f"{_HERE}:reject_leaning",
        "supported": f"{_HERE}:reject_unsupported",
        "not_leaking": f"{_HERE}:reject_leaking",
    },
)


def reject_length(item: GoldenItem, contexts: Sequence[str]) -> str | None:  # noqa: ARG001
    """Reject questions with fewer than 3 or more than 60 words.

    Examples
    --------
    >>> reject_length(GoldenItem("a", "Why?"), [])
    'the question has 1 words; expected 3 to 60'
    """
    n = len(words_of(item.question))
    if _FEWEST_WORDS <= n <= _MOST_WORDS:
        return None
    return f"the question has {n} words; expected {_FEWEST_WORDS} to {_MOST_WORDS}"


def reject_leaning(item: GoldenItem, contexts: Sequence[str]) -> str | None:  # noqa: ARG001
    """Reject questions that refer to a text which their reader has not seen.

    Examples
    --------
    >>> reject_leaning(GoldenItem("a", "What does the author say of it?"), [])
    "the question refers to 'the author'"
    """
    match = _LEANING.search(item.question)
    return None if match is None else f"the question refers to {match[0]!r}"


def reject_unsupported(item: GoldenItem, contexts: Sequence[str]) -> str | None:
    """Reject answers of which the text contains less than half of the words.

    Examples
    --------
    >>> reject_unsupported(GoldenItem("a", "Who wrote it?", ("Ann Lee",)), ["By Bob."])
    "the text contains 0% of the words of 'Ann Lee'"
    """
    for answer in item.references:
        share = share_within(answer, contexts)
        if share < _LEAST_SUPPORT and content_words(answer) - YES_NO:
            return f"the text contains {share:.0%} of the words of {answer!r:.60}"
    return None


def reject_leaking(item: GoldenItem, contexts: Sequence[str]) -> str | None:  # noqa: ARG001
    """Reject questions that contain their answer.

    Examples
    --------
    >>> reject_leaking(GoldenItem("a", "Did Ann write it?", ("Ann",)), [])
    "the question contains its answer 'Ann'"
    """
    for answer in item.references:
        if content_words(answer) - YES_NO and share_within(answer, [item.question]) >= _LEAK:
            return f"the question contains its answer {answer!r:.60}"
    return None

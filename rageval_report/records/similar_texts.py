"""Words, runs of characters and their overlap, by which duplicates, support and leaks are found."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from rageval_report.errors import DataError
from rageval_report.scores.query_ids import plain_text

_WORD = re.compile(r"\w+")

# English words without a meaning of their own; in other languages all words count.
_EMPTY = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his how i if in "
    "into is it its of on or she so such that the their them there these they this to was were "
    "what when where which who whom why will with would you your not no yes than then".split()
)
_N_LETTERS = 3  # of a run

# Answers that no text contains: they count neither as supported nor as leaked.
YES_NO = frozenset(("yes", "no", "true", "false"))

# Rows whose overlap with all others is counted at once.
_BLOCK = 256


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    # casefold, not lower: "Straße" and "STRASSE" are one word.
    return _WORD.findall(plain_text(text).casefold())


def content_words(text: str) -> set[str]:
    """The words that have a meaning of their own."""
    return {word for word in words_of(text) if word not in _EMPTY}


def share_within(text: str, others: Iterable[str]) -> float:
    """The share of a text's content words that other texts contain; NaN if it has none."""
    words = content_words(text)
    available = {word for other in others for word in content_words(other)}
    return len(words & available) / len(words) if words else math.nan


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """The size of the intersection over that of the union; 0 if both sets are empty."""
    n_common = len(first & second)
    n_union = len(first) + len(second) - n_common
    return n_common / n_union if n_union else 0.0


def _runs(text: str) -> frozenset[str]:
    """The runs of three characters of a text's words; a shorter text is one run."""
    plain = " ".join(words_of(text))
    starts = range(max(1, len(plain) - _N_LETTERS + 1))
    return frozenset(plain[i : i + _N_LETTERS] for i in starts) if plain else frozenset()


def _numbers_of(text: str) -> frozenset[str]:
    """The words of a text that contain a digit: "in 2019" and "in 2020" are two questions."""
    return frozenset(word for word in words_of(text) if any(map(str.isdecimal, word)))


class SeenQuestions:
    """Questions so far, which know the one that is nearest to another."""

    def __init__(self, threshold: float):
        self._threshold = check_threshold(threshold)
        self._groups: defaultdict[frozenset[str], dict[str, frozenset[str]]] = defaultdict(dict)

    def add(self, text: str) -> None:
        """Add one more question."""
        self._groups[_numbers_of(text)].setdefault(text, _runs(text))

    def nearest(self, text: str) -> str | None:
        """The nearest of the questions, the first of several; None if none is near."""
        runs, group = _runs(text), self._groups[_numbers_of(text)]
        values = {other: jaccard(runs, group[other]) for other in group}
        nearest = max(values, key=values.__getitem__, default=None)
        return nearest if nearest is not None and values[nearest] >= self._threshold else None


def near_pairs(texts: Sequence[str], threshold: float) -> list[tuple[int, int, float]]:
    """The pairs of texts whose Jaccard similarity of runs is at least `threshold`; with it."""
    from scipy.sparse import csr_array  # loads when it is needed

    check_threshold(threshold)
    runs, numbers = list(map(_runs, texts)), list(map(_numbers_of, texts))
    columns: dict[str, int] = {}
    places = [columns.setdefault(run, len(columns)) for of_text in runs for run in of_text]
    sizes = np.array(list(map(len, runs)), dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    ones = np.ones(len(places), dtype=np.int32)
    has_run = csr_array((ones, places, starts), shape=(len(texts), max(len(columns), 1)))
    pairs = []
    for low in range(0, len(texts), _BLOCK):
        common = (has_run[low : low + _BLOCK] @ has_run.T).tocoo()
        first, second = common.row.astype(np.int64) + low, common.col
        values = common.data / (sizes[first] + sizes[second] - common.data)
        for place in np.flatnonzero((first < second) & (values >= threshold)).tolist():
            a, b = int(first[place]), int(second[place])
            if numbers[a] == numbers[b]:
                pairs.append((a, b, float(values[place])))
    return sorted(pairs)


def check_threshold(threshold: float) -> float:
    """Check that a threshold is > 0 and <= 1, and return it."""
    if not 0.0 < threshold <= 1.0:
        raise DataError(f"the threshold must be > 0 and <= 1; got {threshold!r}")
    return threshold

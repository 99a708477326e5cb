"""Words, runs of characters and their overlap, by which duplicates, support and leaks are found."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.scores.query_ids import plain_text

BitWords = npt.NDArray[np.uint64]

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

# Questions have about as many runs as characters, so that a sketch of 256 bits is sparse.
_N_WORDS = 4
_N_BITS = 64 * _N_WORDS
_FIRST_CAPACITY = 64
_BIT_COUNTS = np.array([value.bit_count() for value in range(1 << 16)], dtype=np.uint8)


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    # casefold, not lower: "Straße" and "STRASSE" are one word.
    return _WORD.findall(plain_text(text).casefold())


def content_words(text: str) -> set[str]:
    """The words that have a meaning of their own."""
    return {word for word in words_of(text) if word not in _EMPTY}


def share_within(text: str, others: Iterable[str]) -> float:
    """The share of a text's content words that other texts contain; NaN if it has none.

    Examples
    --------
    >>> share_within("the river Seine", ["Along the Seine."])
    0.5
    """
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


def _count_bits(words: BitWords) -> npt.NDArray[Any]:
    """The number of bits that are set in each word; NumPy counts them itself from version 2 on."""
    count: Callable[[BitWords], npt.NDArray[Any]] | None = getattr(np, "bitwise_count", None)
    if count is not None:
        return count(words)
    halves = words.view(np.uint16).reshape(-1, 4)
    counted: npt.NDArray[Any] = _BIT_COUNTS[halves].sum(axis=1, dtype=np.int64)
    return counted


class _SketchedSets:
    """Texts as sets of runs, each with a sketch that shows quickly which sets are far apart.

    Each run flips one of the sketch's bits, so that two sketches differ in at most as many bits as
    the sets in runs: sets whose sketches differ in many bits need not be compared.
    """

    def __init__(self, threshold: float, run_numbers: dict[str, int]):
        self._threshold = threshold
        self._run_numbers = run_numbers
        self._sets: list[frozenset[str]] = []
        self._sizes = np.zeros(_FIRST_CAPACITY, dtype=np.int64)
        self._bits = np.zeros((_N_WORDS, _FIRST_CAPACITY), dtype=np.uint64)

    def add(self, runs: frozenset[str]) -> None:
        """Add one more text."""
        position = len(self._sets)
        if position == len(self._sizes):  # double the capacity
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
            self._bits = np.concatenate([self._bits, np.zeros_like(self._bits)], axis=1)
        self._sets.append(runs)
        self._sizes[position] = len(runs)
        self._bits[:, position] = self._sketch(runs)

    def near(self, runs: frozenset[str], low: int = 0) -> Iterator[tuple[int, float]]:
        """The positions of near texts, from `low` on, with their similarities."""
        candidates = slice(low, len(self._sets))
        n_differing = np.zeros(candidates.stop - low, dtype=np.int64)
        # The sketches differ in at most as many bits as the sets in elements, so this rules pairs
        # out but never loses one.
        for words, word in zip(self._bits, self._sketch(runs), strict=True):
            n_differing += _count_bits(words[candidates] ^ word)
        # |A - B| + |B - A| = (|A| + |B|) (1 - J) / (1 + J); rounding must not lose a pair
        ratio = (1.0 - self._threshold) / (1.0 + self._threshold)
        limits = (self._sizes[candidates] + len(runs)) * ratio + 1e-9
        for position in (np.flatnonzero(n_differing <= limits) + low).tolist():
            value = jaccard(runs, self._sets[position])
            if value >= self._threshold:
                yield position, value

    def first_of_size(self, least: float) -> int:
        """The first position whose set is not smaller; the sets must have been added by size."""
        return int(np.searchsorted(self._sizes[: len(self._sets)], least - 1e-9))

    def _sketch(self, runs: frozenset[str]) -> BitWords:
        # Runs get their numbers in the order of first use; sorting makes it the same each time.
        numbers = self._run_numbers
        bits = [numbers.setdefault(text, len(numbers)) % _N_BITS for text in sorted(runs)]
        flips = np.bincount(np.array(bits, dtype=np.int64), minlength=_N_BITS)
        return np.packbits(flips % 2 == 1).view(np.uint64)


class SeenQuestions:
    """Questions so far, which know the one that is nearest to another.

    Examples
    --------
    >>> seen = SeenQuestions(0.8)
    >>> seen.add("Who wrote Hamlet?")
    >>> seen.nearest("who wrote HAMLET"), seen.nearest("When?")
    ('Who wrote Hamlet?', None)
    """

    def __init__(self, threshold: float):
        self._threshold = check_threshold(threshold)
        self._run_numbers: dict[str, int] = {}
        self._texts: defaultdict[frozenset[str], list[str]] = defaultdict(list)
        self._groups: dict[frozenset[str], _SketchedSets] = {}

    def add(self, text: str) -> None:
        """Add one more question."""
        numbers = _numbers_of(text)
        group = self._groups.setdefault(numbers, _SketchedSets(self._threshold, self._run_numbers))
        group.add(_runs(text))
        self._texts[numbers].append(text)

    def nearest(self, text: str) -> str | None:
        """The nearest of the questions, the first of several; None if none is near."""
        numbers = _numbers_of(text)
        if numbers not in self._groups:
            return None
        near = self._groups[numbers].near(_runs(text))
        position, _ = max(near, key=itemgetter(1), default=(None, 0.0))
        return None if position is None else self._texts[numbers][position]


def near_pairs(texts: Sequence[str], threshold: float) -> list[tuple[int, int, float]]:
    """The pairs of texts whose Jaccard similarity of runs is at least `threshold`; with it.

    Texts that contain different numbers are not near.

    Notes
    -----
    Exact: no pair is missed, and nothing is random. Texts with the same numbers are sorted by size,
    and each is compared with those before it that are not too small, first by its sketch. The
    remaining pairs are compared run by run.

    References
    ----------
    .. [1] Sandes, Teodoro, Melo (2020). Bitmap filter: speeding up exact set similarity joins
       with bitwise operations. Information Systems 88.

    Examples
    --------
    >>> near_pairs(["Who wrote Hamlet?", "who wrote Hamlet", "When?"], 0.8)
    [(0, 1, 1.0)]
    """
    check_threshold(threshold)
    by_numbers: defaultdict[frozenset[str], dict[int, frozenset[str]]] = defaultdict(dict)
    for position, text in enumerate(texts):
        by_numbers[_numbers_of(text)][position] = _runs(text)
    run_numbers: dict[str, int] = {}
    pairs = []
    for sets in by_numbers.values():
        earlier = _SketchedSets(threshold, run_numbers)
        # Sets whose sizes differ by more than the threshold cannot be near.
        by_size = sorted(sets, key=lambda position: len(sets[position]))
        for position in by_size:
            low = earlier.first_of_size(threshold * len(sets[position]))
            for place, value in earlier.near(sets[position], low):
                first, second = sorted((position, by_size[place]))
                pairs.append((first, second, value))
            earlier.add(sets[position])
    return sorted(pairs)


def check_threshold(threshold: float) -> float:
    """Check that a threshold is > 0 and <= 1, and return it."""
    if not 0.0 < threshold <= 1.0:
        raise DataError(f"the threshold must be > 0 and <= 1; got {threshold!r}")
    return threshold

"""Questions that are nearly the same: all pairs of a set, or those of one more question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.golden.word_overlap import jaccard, numbers_of, shingles

BitWords = npt.NDArray[np.uint64]

# Questions have about as many shingles as characters, so that a sketch of 256 bits is sparse.
_N_WORDS = 4
_N_BITS = 64 * _N_WORDS
_FIRST_CAPACITY = 64
_BIT_COUNTS = np.array([value.bit_count() for value in range(1 << 16)], dtype=np.uint8)


def _count_bits(words: BitWords) -> npt.NDArray[Any]:
    """The number of bits that are set in each word; NumPy counts them itself from version 2 on."""
    count: Callable[[BitWords], npt.NDArray[Any]] | None = getattr(np, "bitwise_count", None)
    if count is not None:
        return count(words)
    halves = words.view(np.uint16).reshape(-1, 4)
    counted: npt.NDArray[Any] = _BIT_COUNTS[halves].sum(axis=1, dtype=np.int64)
    return counted


def similarity(first: str, second: str) -> float:
    """The Jaccard similarity of two texts' shingles; 0 if they contain different numbers.

    Questions on two years are two questions, however similar they look.

    Examples
    --------
    >>> similarity("Who won in 1998?", "who won in 1998"), similarity("Who won in 1998?", "in 1999")
    (1.0, 0.0)
    """
    # "in 2019" and "in 2020" are nearly the same text, but different questions.
    if numbers_of(first) != numbers_of(second):
        return 0.0
    return jaccard(shingles(first), shingles(second))


class _SketchedSets:
    """Texts as sets of shingles, each with a sketch that shows quickly which sets are far apart.

    Each shingle flips one of the sketch's bits, so that two sketches differ in at most as many bits
    as the sets in shingles: sets whose sketches differ in many bits need not be compared.
    """

    def __init__(self, threshold: float, shingle_numbers: dict[str, int]):
        self._threshold = threshold
        self._shingle_numbers = shingle_numbers
        self._sets: list[frozenset[str]] = []
        self._sizes = np.zeros(_FIRST_CAPACITY, dtype=np.int64)
        self._bits = np.zeros((_N_WORDS, _FIRST_CAPACITY), dtype=np.uint64)

    def add(self, shingle_set: frozenset[str]) -> None:
        """Add one more text."""
        position = len(self._sets)
        if position == len(self._sizes):  # double the capacity
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
            self._bits = np.concatenate([self._bits, np.zeros_like(self._bits)], axis=1)
        self._sets.append(shingle_set)
        self._sizes[position] = len(shingle_set)
        self._bits[:, position] = self._sketch(shingle_set)

    def near(self, shingle_set: frozenset[str], low: int = 0) -> Iterator[tuple[int, float]]:
        """The positions of near texts, from `low` on, with their similarities."""
        candidates = slice(low, len(self._sets))
        n_differing = np.zeros(candidates.stop - low, dtype=np.int64)
        # The sketches differ in at most as many bits as the sets in elements, so this rules pairs
        # out but never loses one.
        for words, word in zip(self._bits, self._sketch(shingle_set), strict=True):
            n_differing += _count_bits(words[candidates] ^ word)
        # |A - B| + |B - A| = (|A| + |B|) (1 - J) / (1 + J); rounding must not lose a pair
        ratio = (1.0 - self._threshold) / (1.0 + self._threshold)
        limits = (self._sizes[candidates] + len(shingle_set)) * ratio + 1e-9
        for position in (np.flatnonzero(n_differing <= limits) + low).tolist():
            value = jaccard(shingle_set, self._sets[position])
            if value >= self._threshold:
                yield position, value

    def first_of_size(self, least: float) -> int:
        """The first position whose set is not smaller; the sets must have been added by size."""
        return int(np.searchsorted(self._sizes[: len(self._sets)], least - 1e-9))

    def _sketch(self, shingle_set: frozenset[str]) -> BitWords:
        # Shingles get their numbers in the order of first use; sorting makes it the same each time.
        numbers = self._shingle_numbers
        bits = [numbers.setdefault(text, len(numbers)) % _N_BITS for text in sorted(shingle_set)]
        flips = np.bincount(np.array(bits, dtype=np.int64), minlength=_N_BITS)
        return np.packbits(flips % 2 == 1).view(np.uint64)


class SeenQuestions:
    """Questions so far, which know the one that is nearest to another.

    Parameters
    ----------
    threshold : float
        The lowest `similarity` of near questions.

    Examples
    --------
    >>> seen = SeenQuestions(0.8)
    >>> seen.add("Who wrote Hamlet?")
    >>> seen.nearest("who wrote HAMLET"), seen.nearest("When?")
    ('Who wrote Hamlet?', None)
    """

    def __init__(self, threshold: float):
        self._threshold = check_threshold(threshold)
        self._shingle_numbers: dict[str, int] = {}
        self._texts: defaultdict[frozenset[str], list[str]] = defaultdict(list)
        self._groups: dict[frozenset[str], _SketchedSets] = {}

    def add(self, text: str) -> None:
        """Add one more question."""
        numbers = numbers_of(text)
        group = self._groups.setdefault(
            numbers, _SketchedSets(self._threshold, self._shingle_numbers)
        )
        group.add(shingles(text))
        self._texts[numbers].append(text)

    def nearest(self, text: str) -> str | None:
        """The nearest of the questions, the first of several; None if none is near."""
        numbers = numbers_of(text)
        group = self._groups.get(numbers)
        if group is None:
            return None
        position, _ = max(group.near(shingles(text)), key=itemgetter(1), default=(None, 0.0))
        return None if position is None else self._texts[numbers][position]


def near_pairs(texts: Sequence[str], threshold: float) -> list[tuple[int, int, float]]:
    """The pairs of texts that have a `similarity` of at least `threshold`.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    threshold : float
        Greater than 0, at most 1.

    Returns
    -------
    list of (int, int, float)
        Positions of the first and the second, and the similarity; in order.

    Notes
    -----
    Exact: no pair is missed, and nothing is random. Texts with the same numbers are sorted by size,
    and each is compared with those before it that are not too small, first by its sketch. The
    remaining pairs are compared shingle by shingle.

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
    by_numbers: defaultdict[frozenset[str], list[int]] = defaultdict(list)
    for position, text in enumerate(texts):
        by_numbers[numbers_of(text)].append(position)
    shingle_numbers: dict[str, int] = {}
    return sorted(
        pair
        for positions in by_numbers.values()
        for pair in _near_pairs_of(
            {position: shingles(texts[position]) for position in positions},
            threshold,
            shingle_numbers,
        )
    )


def _near_pairs_of(
    sets: Mapping[int, frozenset[str]], threshold: float, shingle_numbers: dict[str, int]
) -> Iterator[tuple[int, int, float]]:
    """The near pairs of some texts; sets that are near have similar sizes."""
    earlier = _SketchedSets(threshold, shingle_numbers)
    # Sets whose sizes differ by more than the threshold cannot be near.
    by_size = sorted(sets, key=lambda position: len(sets[position]))
    for position in by_size:
        shingle_set = sets[position]
        low = earlier.first_of_size(threshold * len(shingle_set))
        for place, value in earlier.near(shingle_set, low):
            other = by_size[place]
            yield min(position, other), max(position, other), value
        earlier.add(shingle_set)


def check_threshold(threshold: float) -> float:
    """Check a threshold, and return it.

    Raises
    ------
    DataError
        If it is not > 0 and <= 1.
    """
    if not 0.0 < threshold <= 1.0:
        raise DataError(f"the threshold must be > 0 and <= 1; got {threshold!r}")
    return threshold

"""Which questions are nearly the same: all pairs of a set, or those of one more question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.golden.word_overlap import jaccard, numbers_of, shingles

Words = npt.NDArray[np.uint64]

_N_WORDS = 4  # of 64 bits
_ROOM = 64
_ONES = np.array([value.bit_count() for value in range(1 << 16)], dtype=np.uint8)


def _ones_in(words: Words) -> npt.NDArray[Any]:
    """How many bits are set in each; NumPy counts them itself from version 2 on."""
    count: Callable[[Words], npt.NDArray[Any]] | None = getattr(np, "bitwise_count", None)
    if count is not None:
        return count(words)
    halves = words.view(np.uint16).reshape(-1, 4)
    counted: npt.NDArray[Any] = _ONES[halves].sum(axis=1, dtype=np.int64)
    return counted


def similarity(first: str, second: str) -> float:
    """The Jaccard similarity of two texts' shingles; 0 where they name different numbers.

    Questions of two years are two questions, however alike they read.

    Examples
    --------
    >>> similarity("Who won in 1998?", "who won in 1998"), similarity("Who won in 1998?", "in 1999")
    (1.0, 0.0)
    """
    if numbers_of(first) != numbers_of(second):
        return 0.0
    return jaccard(shingles(first), shingles(second))


class _Group:
    """Texts as sets of shingles, and a sketch of each that tells at a glance which are far apart.

    Each shingle flips one of the sketch's bits, so that sketches differ in no more bits than sets
    in shingles: sets whose sketches differ in many bits need not be compared.
    """

    def __init__(self, threshold: float, places: dict[str, int]):
        self._threshold = threshold
        self._places = places
        self._sets: list[frozenset[str]] = []
        self._sizes = np.zeros(_ROOM, dtype=np.int64)
        self._bits = np.zeros((_N_WORDS, _ROOM), dtype=np.uint64)

    def add(self, held: frozenset[str]) -> None:
        """Take one more text."""
        place = len(self._sets)
        if place == len(self._sizes):
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
            self._bits = np.concatenate([self._bits, np.zeros_like(self._bits)], axis=1)
        self._sets.append(held)
        self._sizes[place] = len(held)
        self._bits[:, place] = self._sketch(held)

    def near(self, held: frozenset[str], low: int = 0) -> Iterator[tuple[int, float]]:
        """Which of the texts, from place `low` on, are near to this one, and how near."""
        here = slice(low, len(self._sets))
        differing = np.zeros(here.stop - low, dtype=np.int64)
        for word, one in zip(self._bits, self._sketch(held), strict=True):
            differing += _ones_in(word[here] ^ one)
        # |A - B| + |B - A| = (|A| + |B|) (1 - J) / (1 + J); rounding must not lose a pair
        ratio = (1.0 - self._threshold) / (1.0 + self._threshold)
        most = (self._sizes[here] + len(held)) * ratio + 1e-9
        for place in (np.flatnonzero(differing <= most) + low).tolist():
            value = jaccard(held, self._sets[place])
            if value >= self._threshold:
                yield place, value

    def first_of_size(self, least: float) -> int:
        """The first place whose set is not smaller, where they were added by size."""
        return int(np.searchsorted(self._sizes[: len(self._sets)], least - 1e-9))

    def _sketch(self, held: frozenset[str]) -> Words:
        known = self._places
        places = [known.setdefault(one, len(known)) % (64 * _N_WORDS) for one in sorted(held)]
        flips = np.bincount(np.array(places, dtype=np.int64), minlength=64 * _N_WORDS)
        return np.packbits(flips % 2 == 1).view(np.uint64)


class Seen:
    """Questions that were seen, asked for the one that another is nearest to.

    Parameters
    ----------
    threshold : float
        From which `similarity` on two are near.

    Examples
    --------
    >>> seen = Seen(0.8)
    >>> seen.add("Who wrote Hamlet?")
    >>> seen.nearest("who wrote HAMLET"), seen.nearest("When?")
    ('Who wrote Hamlet?', None)
    """

    def __init__(self, threshold: float):
        self._threshold = checked_threshold(threshold)
        self._places: dict[str, int] = {}
        self._texts: defaultdict[frozenset[str], list[str]] = defaultdict(list)
        self._groups: dict[frozenset[str], _Group] = {}

    def add(self, text: str) -> None:
        """Take one more question."""
        numbers = numbers_of(text)
        group = self._groups.setdefault(numbers, _Group(self._threshold, self._places))
        group.add(shingles(text))
        self._texts[numbers].append(text)

    def nearest(self, text: str) -> str | None:
        """The nearest question that was seen, the first of several; None where none is near."""
        numbers = numbers_of(text)
        group = self._groups.get(numbers)
        found = [] if group is None else list(group.near(shingles(text)))
        return self._texts[numbers][max(found, key=_value)[0]] if found else None


def _value(found: tuple[int, float]) -> float:
    return found[1]


def near_pairs(texts: Sequence[str], threshold: float) -> list[tuple[int, int, float]]:
    """The pairs of texts that have a `similarity` of at least `threshold`.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    threshold : float
        Above 0, at most 1.

    Returns
    -------
    list of (int, int, float)
        Places of the first and the second, and the similarity; in order.

    Notes
    -----
    Exact: no pair is missed, and nothing is drawn at random. Texts that name the same numbers are
    put in order of size, and each is held against those before it that are not too small, by its
    sketch first. What is left is compared shingle by shingle.

    References
    ----------
    .. [1] Sandes, Teodoro, Melo (2020). Bitmap filter: speeding up exact set similarity joins
       with bitwise operations. Information Systems 88.

    Examples
    --------
    >>> near_pairs(["Who wrote Hamlet?", "who wrote Hamlet", "When?"], 0.8)
    [(0, 1, 1.0)]
    """
    checked_threshold(threshold)
    alike: defaultdict[frozenset[str], list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        alike[numbers_of(text)].append(place)
    known: dict[str, int] = {}
    return sorted(
        pair
        for places in alike.values()
        for pair in _within({one: shingles(texts[one]) for one in places}, threshold, known)
    )


def _within(
    sets: Mapping[int, frozenset[str]], threshold: float, known: dict[str, int]
) -> Iterator[tuple[int, int, float]]:
    """The near pairs of some texts; sets that are near are of about one size."""
    group = _Group(threshold, known)
    ordered = sorted(sets, key=lambda place: len(sets[place]))
    for place in ordered:
        held = sets[place]
        for at, value in group.near(held, group.first_of_size(threshold * len(held))):
            yield min(place, ordered[at]), max(place, ordered[at]), value
        group.add(held)


def checked_threshold(threshold: float) -> float:
    """The threshold, if it is above 0 and at most 1.

    Raises
    ------
    DataError
        If it is not.
    """
    if not 0.0 < threshold <= 1.0:
        raise DataError(f"the threshold must be above 0 and at most 1; got {threshold!r}")
    return threshold

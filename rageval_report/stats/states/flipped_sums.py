"""Sums of paired differences under random signs that belong to the queries, not to their order.

The signs of a query are bits of a hash of its id, so each part of the queries has its own sums, and
the sums of all parts do not depend on how the queries were divided, nor on their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rageval_report.stats.maxt import adjust_step_down
from rageval_report.types import BoolArray, FloatArray, WordArray

# SplitMix64 (Steele, Lea, Flood 2014): each word mixes a counter that starts at the id's hash.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_LAST_SHIFT = np.uint64(31)
_BITS = 64
# Queries and words of a tile: half a megabyte of signs stays in the cache.
_TILE = (1024, 1)
# Columns of a product: one so small is not divided among threads, which took ten times as long, and
# for 40 columns on two busy cores fifty times.
_COLUMNS = 4


def mix_words(words: WordArray) -> WordArray:
    """Words whose bits all depend on all bits of the words.

    Examples
    --------
    >>> mix_words(np.array([1], dtype=np.uint64))  # as the published algorithm
    array([6238072747940578789], dtype=uint64)
    """
    mixed = words
    for shift, factor in _MIXERS:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> _LAST_SHIFT))


def hashed_signs(prints: WordArray, first: int, n: int, seed: int) -> BoolArray:
    """Whether each of some sign patterns keeps the sign of each query.

    Parameters
    ----------
    prints : ndarray of uint64, shape (n_queries,)
        A hash of each id.
    first : int
        The first pattern, a multiple of 64.
    n : int
        The number of patterns.
    seed : int
        The seed of the signs.

    Returns
    -------
    ndarray of bool, shape (n_queries, n)

    Examples
    --------
    >>> prints = np.arange(4, dtype=np.uint64)
    >>> both = hashed_signs(prints, 0, 128, seed=0)
    >>> np.array_equal(both[:, 64:], hashed_signs(prints, 64, 64, seed=0))
    True
    """
    words = -(-n // _BITS)
    places = np.arange(1 + first // _BITS, 1 + first // _BITS + words, dtype=np.uint64)
    start = mix_words(prints ^ mix_words(np.array([seed], dtype=np.uint64) + _STEP))
    mixed = mix_words(start[:, None] + places * _STEP)
    # Little-endian bytes, so that every machine draws the same signs.
    octets = mixed.astype("<u8", copy=False).view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=n, bitorder="little")
    return bits.view(np.bool_)


@dataclass(frozen=True, eq=False)
class FlippedSums:
    """The sums of columns of differences, as they are and under random signs.

    Parameters
    ----------
    totals, squares : ndarray of shape (n_columns,)
        The sums of the differences, and of their squares.
    flipped : ndarray of shape (n_columns, n_resamples)
        The sums under each pattern of signs.

    Examples
    --------
    >>> differences = np.array([[0.25], [-0.75], [0.5]])
    >>> prints = np.array([11, 12, 13], dtype=np.uint64)
    >>> both = FlippedSums.of(differences[:2], prints[:2], n_resamples=99, seed=0)
    >>> both += FlippedSums.of(differences[2:], prints[2:], n_resamples=99, seed=0)
    >>> whole = FlippedSums.of(differences, prints, n_resamples=99, seed=0)
    >>> np.array_equal(both.flipped, whole.flipped)
    True
    """

    totals: FloatArray
    squares: FloatArray
    flipped: FloatArray

    @classmethod
    def of(
        cls, differences: FloatArray, prints: WordArray, *, n_resamples: int, seed: int
    ) -> FlippedSums:
        """The sums of some queries.

        Parameters
        ----------
        differences : ndarray of shape (n_queries, n_columns)
            Candidate minus baseline; 0 where a pair is missing.
        prints : ndarray of uint64
            A hash of each id.
        n_resamples, seed : int
            The number of patterns of signs, and their seed.
        """
        totals = differences.sum(axis=0)
        kept = np.zeros((differences.shape[1], n_resamples))
        n_queries, width = _TILE[0], _TILE[1] * _BITS
        for row in range(0, len(differences), n_queries):
            part, hashes = differences[row : row + n_queries].T, prints[row : row + n_queries]
            for first in range(0, n_resamples, width):
                n = min(width, n_resamples - first)
                signs = hashed_signs(hashes, first, n, seed).astype(np.float64)
                for column in range(0, len(part), _COLUMNS):
                    columns = slice(column, column + _COLUMNS)
                    kept[columns, first : first + n] += part[columns] @ signs
        # What keeps its sign, less all the rest.
        flipped = 2.0 * kept - totals[:, None]
        return cls(totals, np.square(differences).sum(axis=0), flipped)

    def __add__(self, other: FlippedSums) -> FlippedSums:
        """The sums of both parts."""
        return FlippedSums(
            self.totals + other.totals, self.squares + other.squares, self.flipped + other.flipped
        )

    def by_column(self) -> list[FlippedSums]:
        """The sums of each column alone."""
        places = (slice(place, place + 1) for place in range(self.totals.size))
        return [
            FlippedSums(self.totals[place], self.squares[place], self.flipped[place])
            for place in places
        ]


def adjust_by_flips(parts: Sequence[FlippedSums], half_ties: Sequence[bool]) -> FloatArray:
    """Step-down maxT adjusted p-values of the columns of all parts, as `westfall_young`.

    Parameters
    ----------
    parts : sequence of FlippedSums
        Sums under the same signs, such as those of several candidates.
    half_ties : sequence of bool
        For each column whether patterns that tie with the observed one count half.

    Returns
    -------
    ndarray
        One p-value per column, in the order of the parts.
    """
    # The statistic is the mean over the root of the sum of squares, and n cancels.
    scale = np.sqrt(np.concatenate([part.squares for part in parts]))
    scale[scale == 0] = 1.0  # no difference anywhere: the statistic is 0, and p is 1
    observed = np.abs(np.concatenate([part.totals for part in parts])) / scale
    flipped = np.abs(np.concatenate([part.flipped for part in parts])) / scale[:, None]
    return adjust_step_down(observed, flipped.T, np.asarray(half_ties))

"""Order statistics of a long column without sorting it.

A small sorted sample shows between which two values a rank must lie; one sweep over the column
counts the scores below and keeps those between, and only these few are sorted. The result is exact:
a rank outside its bracket is looked up in the sorted column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rageval_report.types import FloatArray, IndexArray

# Below this length, or for more ranks, sorting the column is as fast. Where NumPy sorts by AVX-512,
# that holds up to a million scores; the sort of ten million takes three times as long.
SHORT = 2**16
MANY_RANKS = 32

# A block and its masks stay in the cache while all brackets are compared with it.
BLOCK = 2**15
_SAMPLE = 2**14
# Half the width of a bracket, in standard deviations of the sample's rank: it misses in 0.3 % of
# cases, and then the column is sorted.
_DEVIATIONS = 3.0


def order_statistics(values: FloatArray, n: int, ranks: IndexArray) -> FloatArray:
    """The scores of these ranks.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The column, NaN included.
    n : int
        The number of scores that are not NaN.
    ranks : ndarray of int
        Each from 0, the smallest score, to n - 1, the largest.

    Returns
    -------
    ndarray
        In the order of the ranks.

    Examples
    --------
    >>> order_statistics(np.array([0.4, np.nan, 0.1, 0.9]), 3, np.array([0, 2]))
    array([0.1, 0.9])
    """
    distinct_ranks = np.unique(ranks)
    if values.size < SHORT or distinct_ranks.size > MANY_RANKS:
        return np.sort(values)[ranks]
    brackets = _brackets(values, n, distinct_ranks)
    candidates = np.concatenate([_sweep(block, brackets) for block in blocks(values)])
    score_of = {
        rank: score for bracket in brackets for rank, score in bracket.select(candidates, values)
    }
    if len(score_of) < distinct_ranks.size:
        return np.sort(values)[ranks]
    scores: FloatArray = np.array([score_of[rank] for rank in distinct_ranks.tolist()])
    return scores[np.searchsorted(distinct_ranks, ranks)]


def blocks(values: FloatArray) -> Iterator[FloatArray]:
    """The column in pieces that fit the cache.

    Examples
    --------
    >>> [block.size for block in blocks(np.zeros(BLOCK + 5))]
    [32768, 5]
    """
    for start in range(0, values.size, BLOCK):
        yield values[start : start + BLOCK]


@dataclass(slots=True)
class _Bracket:
    """Two values of the sample, the ranks that should lie between them, and how many lie below."""

    low: float
    high: float
    ranks: Sequence[int]
    at_most_low: int = 0

    def select(self, candidates: FloatArray, values: FloatArray) -> Iterator[tuple[int, float]]:
        """The ranks with their scores; a rank outside the bracket is left out."""
        inside = candidates[(candidates > self.low) & (candidates < self.high)]
        places = [rank - self.at_most_low for rank in self.ranks]
        within = [place for place in places if 0 <= place < inside.size]
        if within:
            inside.partition(within)
        for rank, place in zip(self.ranks, places, strict=True):
            if 0 <= place < inside.size:
                yield rank, float(inside[place])
            # Ties: the rank may be one of many scores that equal an end of the bracket.
            elif place < 0 and rank >= np.count_nonzero(values < self.low):
                yield rank, self.low
            elif place >= 0 and rank < np.count_nonzero(values <= self.high):
                yield rank, self.high


def _sweep(block: FloatArray, brackets: Sequence[_Bracket]) -> FloatArray:
    """The scores of a block inside a bracket; those at or below its low end are counted."""
    inside = np.zeros(block.size, dtype=np.bool_)
    for bracket in brackets:
        at_most_low = block <= bracket.low
        bracket.at_most_low += int(np.count_nonzero(at_most_low))
        inside |= np.greater(block < bracket.high, at_most_low)
    return block[inside]


def _brackets(values: FloatArray, n: int, ranks: IndexArray) -> list[_Bracket]:
    """A bracket for each group of neighbouring ranks, from every k-th score of the column."""
    sample = values[:: max(1, values.size // _SAMPLE)]
    sample = np.sort(sample[~np.isnan(sample)])
    if not sample.size:
        return []
    groups = np.split(ranks, np.flatnonzero(np.diff(ranks) > 1) + 1)
    return [_bracket(sample, group.tolist(), n) for group in groups]


def _bracket(sample: FloatArray, ranks: Sequence[int], n: int) -> _Bracket:
    share = (ranks[0] + ranks[-1] + 1) / (2.0 * n)
    middle = share * sample.size
    width = _DEVIATIONS * math.sqrt(sample.size * share * (1.0 - share)) + 2.0
    low = min(max(int(middle - width), 0), sample.size - 1)
    high = min(int(middle + width), sample.size - 1)
    return _Bracket(float(sample[low]), float(sample[high]), ranks)

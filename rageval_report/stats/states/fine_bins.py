"""A histogram of many narrow bins whose edges are the same for every part of the data.

The width of a bin is a power of two and an edge lies at 0, so that two histograms are added after
the bins of the finer one are joined in pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rageval_report.stats.states.counted_steps import Scores
from rageval_report.types import FloatArray, IntArray

MOST_BINS = 2**16
# A bin is not narrower than this many bits of the largest magnitude: doubles have 53.
_BITS = 50
_BLOCK = 2**17


@dataclass(frozen=True, slots=True, eq=False)
class FineBins:
    """The number of values in each of many narrow bins.

    Parameters
    ----------
    exponent : int
        The width of a bin is 2 to this power.
    lowest : int
        The number of the first bin, which begins at this many widths above 0.
    counts : ndarray of int
        The number of values in each bin; a bin contains its lower edge.
    offsets : ndarray
        The sum of the distances of the values in each bin from its lower edge, in widths.

    Examples
    --------
    >>> bins = FineBins.of(np.array([0.0, 0.5, 1.0])) + FineBins.of(np.array([-1.0, 3.0]))
    >>> bins.n, bins.counts.size, bins.width == 2**-14
    (5, 65537, True)
    """

    exponent: int
    lowest: int
    counts: IntArray
    offsets: FloatArray

    @classmethod
    def of(cls, values: Scores, counts: IntArray | None = None) -> FineBins:
        """The histogram of finite values, at least one; each counts once, or as often as stated."""
        low, high = float(values.min()), float(values.max())
        exponent = _exponent_of_bins(low, high)
        lowest = math.floor(math.ldexp(low, -exponent))
        in_bins = np.zeros(math.floor(math.ldexp(high, -exponent)) - lowest + 1, dtype=np.int64)
        offsets = np.zeros(in_bins.size)
        scale = math.ldexp(1.0, -exponent)
        for start in range(0, values.size, _BLOCK):
            places = np.multiply(values[start : start + _BLOCK], scale, dtype=np.float64)
            floors = np.floor(places)
            places -= floors
            floors -= lowest
            bins = floors.astype(np.intp)
            if counts is None:
                in_bins += np.bincount(bins, minlength=in_bins.size)
                offsets += np.bincount(bins, places, minlength=in_bins.size)
            else:
                np.add.at(in_bins, bins, counts[start : start + _BLOCK])
                np.add.at(offsets, bins, places * counts[start : start + _BLOCK])
        return cls(exponent, lowest, in_bins, offsets)

    def __add__(self, other: FineBins) -> FineBins:
        """The histogram of both, in bins so wide that they are not too many."""
        exponent = max(self.exponent, other.exponent)
        first, second = self.widened(exponent), other.widened(exponent)
        lowest = min(first.lowest, second.lowest)
        size = max(each.lowest + each.counts.size for each in (first, second)) - lowest
        if size > MOST_BINS + 1:
            by = math.ceil(math.log2(size / MOST_BINS))
            return first.widened(exponent + by) + second.widened(exponent + by)
        counts, offsets = np.zeros(size, dtype=np.int64), np.zeros(size)
        for each in (first, second):
            place = slice(each.lowest - lowest, each.lowest - lowest + each.counts.size)
            counts[place] += each.counts
            offsets[place] += each.offsets
        return FineBins(exponent, lowest, counts, offsets)

    def negated(self) -> FineBins:
        """The bins of the same values with their signs reversed, but for values on an edge."""
        lowest = -(self.lowest + self.counts.size)
        return FineBins(
            self.exponent, lowest, self.counts[::-1], (self.counts - self.offsets)[::-1]
        )

    @property
    def n(self) -> int:
        """The number of values."""
        return int(self.counts.sum())

    @property
    def width(self) -> float:
        """The width of a bin."""
        return math.ldexp(1.0, self.exponent)

    @property
    def edges(self) -> FloatArray:
        """The edges of the bins, one more than bins."""
        places = self.lowest + np.arange(self.counts.size + 1, dtype=np.float64)
        return np.ldexp(places, self.exponent)

    @property
    def means(self) -> FloatArray:
        """The mean of the values in each bin that has any."""
        is_used = self.counts > 0
        places = self.lowest + np.flatnonzero(is_used).astype(np.float64)
        places += self.offsets[is_used] / self.counts[is_used]
        return np.ldexp(places, self.exponent)

    @property
    def nbytes(self) -> int:
        """The memory of the arrays, in bytes."""
        return self.counts.nbytes + self.offsets.nbytes

    def widened(self, exponent: int) -> FineBins:
        """The same values in bins of a width that is a larger power of two."""
        by = exponent - self.exponent
        if by == 0:
            return self
        lowest = self.lowest >> by
        bins = self.lowest + np.arange(self.counts.size)
        places = (bins >> by) - lowest
        counts = np.zeros(int(places[-1]) + 1, dtype=np.int64)
        np.add.at(counts, places, self.counts)
        from_edge = (bins & ((1 << by) - 1)) * self.counts + self.offsets
        offsets = np.zeros(counts.size)
        np.add.at(offsets, places, np.ldexp(from_edge, -by))
        return FineBins(exponent, lowest, counts, offsets)


def _exponent_of_bins(low: float, high: float) -> int:
    """The finest bins that are not too many, and not narrower than rounding."""
    top = max(abs(low), abs(high))
    finest = math.frexp(top)[1] - _BITS if top else 0
    if high == low:
        return finest
    mantissa, exponent = math.frexp((high - low) / MOST_BINS)
    return max(finest, exponent - 1 if mantissa == 0.5 else exponent)

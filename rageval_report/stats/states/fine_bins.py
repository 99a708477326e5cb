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
_BLOCK = 2**14  # numbers of which a few arrays stay in the second-level cache


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
    squares : ndarray
        The sum of the squares of these distances.

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
    squares: FloatArray

    @classmethod
    def of(cls, values: Scores, counts: IntArray | None = None) -> FineBins:
        """The histogram of finite values, at least one; each counts once, or as often as stated."""
        low, high = float(values.min()), float(values.max())
        exponent = _exponent_of_bins(low, high)
        lowest = math.floor(math.ldexp(low, -exponent))
        size = math.floor(math.ldexp(high, -exponent)) - lowest + 1
        in_bins, offsets, squares = np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros(size)
        scale = math.ldexp(1.0, -exponent)
        places, floors = np.empty((2, min(values.size, _BLOCK)))
        bins = np.empty(floors.size, dtype=np.intp)
        for start in range(0, values.size, _BLOCK):
            block = values[start : start + _BLOCK]
            part = slice(0, block.size)
            np.multiply(block, scale, out=places[part], dtype=np.float64)
            np.floor(places[part], out=floors[part])
            places[part] -= floors[part]
            np.subtract(floors[part], lowest, out=bins[part], casting="unsafe")
            # As fast as a bincount, which makes an array of all bins for every block.
            times = 1 if counts is None else counts[start : start + _BLOCK]
            np.add.at(in_bins, bins[part], times)
            weighted = places[part] if counts is None else places[part] * times
            np.add.at(offsets, bins[part], weighted)
            np.multiply(weighted, places[part], out=places[part])
            np.add.at(squares, bins[part], places[part])
        return cls(exponent, lowest, in_bins, offsets, squares)

    def __add__(self, other: FineBins) -> FineBins:
        """The histogram of both, in bins so wide that they are not too many."""
        exponent = max(self.exponent, other.exponent)
        first, second = self.widened(exponent), other.widened(exponent)
        lowest = min(first.lowest, second.lowest)
        size = max(each.lowest + each.counts.size for each in (first, second)) - lowest
        if size > MOST_BINS + 1:
            by = math.ceil(math.log2(size / MOST_BINS))
            return first.widened(exponent + by) + second.widened(exponent + by)
        counts = np.zeros(size, dtype=np.int64)
        offsets, squares = np.zeros((2, size))
        for each in (first, second):
            place = slice(each.lowest - lowest, each.lowest - lowest + each.counts.size)
            counts[place] += each.counts
            offsets[place] += each.offsets
            squares[place] += each.squares
        return FineBins(exponent, lowest, counts, offsets, squares)

    def negated(self) -> FineBins:
        """The bins of the same values with their signs reversed, but for values on an edge."""
        lowest = -(self.lowest + self.counts.size)
        offsets = self.counts - self.offsets
        squares = self.counts - 2.0 * self.offsets + self.squares
        return FineBins(self.exponent, lowest, self.counts[::-1], offsets[::-1], squares[::-1])

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
        return self.counts.nbytes + self.offsets.nbytes + self.squares.nbytes

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
        # A distance d from the edge of a bin is k + d from the edge of the wider one.
        k = bins & ((1 << by) - 1)
        offsets, squares = np.zeros((2, counts.size))
        np.add.at(offsets, places, np.ldexp(k * self.counts + self.offsets, -by))
        from_edge = k * (k * self.counts + 2.0 * self.offsets) + self.squares
        np.add.at(squares, places, np.ldexp(from_edge, -2 * by))
        return FineBins(exponent, lowest, counts, offsets, squares)

    def sums_of_powers(self, centre: float, exponent: int, order: int) -> FloatArray:
        """The sums of the powers of the distances of all values from a centre.

        Within a bin the distance of a value from the mean of the bin enters by its square. The
        third power, which is left out, is 1e-13 of the whole for 65,536 bins.

        Parameters
        ----------
        centre, exponent : float, int
            The centre; distances are divided by 2 to this power.
        order : int
            The highest power, at least 2.

        Examples
        --------
        >>> bins = FineBins.of(np.array([0.25, 0.5, 1.0]))
        >>> bins.sums_of_powers(0.5, 0, 3)
        array([3.      , 0.25    , 0.3125  , 0.109375])
        """
        is_used = self.counts > 0
        n = self.counts[is_used]
        distances = np.ldexp(self.means - centre, -exponent)
        spread = self.squares[is_used] - np.square(self.offsets[is_used]) / n
        np.maximum(spread, 0.0, out=spread)  # of one value it is 0, but for rounding
        spread = np.ldexp(spread, 2 * (self.exponent - exponent))
        powers = [np.ones(n.size), distances]
        sums = [float(n.sum()), float((n * distances).sum())]
        for power in range(2, order + 1):
            powers.append(powers[-1] * distances)
            within = math.comb(power, 2) * (powers[power - 2] * spread).sum()
            sums.append(float((n * powers[power]).sum() + within))
        return np.array(sums)


def _exponent_of_bins(low: float, high: float) -> int:
    """The finest bins that are not too many, and not narrower than rounding."""
    top = max(abs(low), abs(high))
    finest = math.frexp(top)[1] - _BITS if top else 0
    if high == low:
        return finest
    mantissa, exponent = math.frexp((high - low) / MOST_BINS)
    return max(finest, exponent - 1 if mantissa == 0.5 else exponent)

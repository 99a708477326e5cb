"""Sums of powers about a centre, which are added part by part.

They give the mean, the variance, and the characteristic function of a sum of random signs wherever
its argument times the largest value is small. A value far from the others would spoil that, so it
is kept as it is, beside the sums of the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rageval_report.stats.states.counted_steps import Scores
from rageval_report.stats.states.fine_bins import FineBins
from rageval_report.types import FloatArray, IntArray

# The powers that the characteristic function needs, and those of a mean and a variance.
ORDER_OF_SIGNS = 26
ORDER_OF_SPREAD = 2
# In standard deviations; a value farther from the centre is kept as it is. At 100,000 values the
# characteristic function of the others has died out long before the power series ends.
_FAR = 12.0
# So many values show whether any may be far. No value is far if all lie within half of that many
# standard deviations of the sample: a sample with 3 % of large values has a large spread itself.
_SAMPLE = 1024
# As many far values are kept at most.
MOST_FAR = 2**15
_BLOCK = 2**14  # numbers of which two arrays stay in the second-level cache


@dataclass(frozen=True, slots=True, eq=False)
class PowerSums:
    """The sums of the powers of some values about a centre.

    Parameters
    ----------
    centre : float
        The centre.
    exponent : int
        The distances are divided by 2 to this power, so that no power overflows.
    sums : ndarray of shape (order + 1,)
        The sums of the powers 0 to the order of these quotients.
    low, high : float
        The least and the largest value in the sums.
    far : ndarray
        Values far from the others, which are not in the sums, in ascending order.
    bins : FineBins, optional
        The histogram of the values in the sums.

    Examples
    --------
    >>> sums = PowerSums.of(np.array([1.0, 2.0, 4.0]), 2) + PowerSums.of(np.array([5.0]), 2)
    >>> sums.n, sums.mean, round(sums.standard_deviation, 6)
    (4, 3.0, 1.825742)
    """

    centre: float
    exponent: int
    sums: FloatArray
    low: float
    high: float
    far: FloatArray
    bins: FineBins | None = None

    @classmethod
    def of(cls, values: Scores, order: int, *, has_bins: bool = False) -> PowerSums:
        """The sums of finite values, of which there is at least one.

        Parameters
        ----------
        values : ndarray
            The values.
        order : int
            The highest power.
        has_bins : bool
            Whether a histogram is made as well.
        """
        low, high = float(values.min()), float(values.max())
        centre = _centre_between(float(values.mean(dtype=np.float64)), high - low)
        far = values[:0]
        if _may_have_far(values, max(high - centre, centre - low)):
            reach = _FAR * float(values.std(dtype=np.float64))
            is_far = np.abs(values - centre) > reach
            far, values = values[is_far], values[~is_far]
        sums = _sums_about(centre, values, None, order, has_bins=has_bins)
        return replace(sums, far=np.sort(far.astype(np.float64)))._with_few_far()

    @classmethod
    def of_counts(
        cls, values: FloatArray, counts: IntArray, order: int, *, has_bins: bool = False
    ) -> PowerSums:
        """The sums of values of which each occurs as often as stated.

        Examples
        --------
        >>> PowerSums.of_counts(np.array([1.0, 4.0]), np.array([2, 1]), 2).mean
        2.0
        """
        mean = float((values * counts).sum() / counts.sum())
        centre = _centre_between(mean, float(np.ptp(values)))
        return _sums_about(centre, values, counts, order, has_bins=has_bins)

    def __add__(self, other: PowerSums) -> PowerSums:
        """The sums of both, about the centre of the one with more values."""
        first, second = (self, other) if self.n >= other.n else (other, self)
        second = second.about(first.centre)
        exponent = max(first.exponent, second.exponent)
        return PowerSums(
            first.centre,
            exponent,
            first.sums_at(exponent) + second.sums_at(exponent),
            min(first.low, second.low),
            max(first.high, second.high),
            np.sort(np.concatenate((first.far, second.far))),
            first.bins + second.bins if first.bins and second.bins else None,
        )._with_few_far()

    def raised(self, order: int) -> PowerSums:
        """The same with the sums of more powers, which the histogram gives.

        Parameters
        ----------
        order : int
            The highest power.

        Examples
        --------
        >>> values = np.sin(np.arange(1000.0))
        >>> sums = PowerSums.of(values, 2, has_bins=True).raised(4)
        >>> bool(abs(sums.sums[4] / (values**4).sum() - 1) < 1e-14)
        True
        """
        if order <= self.order:
            return self
        if self.bins is None:
            raise ValueError("these sums have no histogram")
        sums = self.bins.sums_of_powers(self.centre, self.exponent, order)
        sums[: self.sums.size] = self.sums
        return replace(self, sums=sums)

    def negated(self) -> PowerSums:
        """The sums of the same values with their signs reversed."""
        signs = (-1.0) ** np.arange(self.sums.size)
        return PowerSums(
            -self.centre,
            self.exponent,
            self.sums * signs,
            -self.high,
            -self.low,
            -self.far[::-1],
            None if self.bins is None else self.bins.negated(),
        )

    @property
    def order(self) -> int:
        """The highest power."""
        return self.sums.size - 1

    @property
    def n(self) -> int:
        """The number of values."""
        return round(float(self.sums[0])) + self.far.size

    @property
    def nbytes(self) -> int:
        """The memory of the arrays, in bytes."""
        return self.sums.nbytes + self.far.nbytes + (self.bins.nbytes if self.bins else 0)

    @property
    def minimum(self) -> float:
        """The least value."""
        return min(self.low, float(self.far[0])) if self.far.size else self.low

    @property
    def maximum(self) -> float:
        """The largest value."""
        return max(self.high, float(self.far[-1])) if self.far.size else self.high

    @property
    def total(self) -> float:
        """The sum of the values."""
        near = math.ldexp(float(self.sums[1]), self.exponent)
        return math.fsum([self.n * self.centre, near, *(self.far - self.centre).tolist()])

    @property
    def mean(self) -> float:
        """The mean of the values."""
        near = math.ldexp(float(self.sums[1]), self.exponent)
        return self.centre + math.fsum([near, *(self.far - self.centre).tolist()]) / self.n

    @property
    def standard_deviation(self) -> float:
        """The standard deviation with denominator n - 1; NaN for one value."""
        n = self.n
        if n < 2:
            return math.nan
        mean = self.mean
        about_mean = self.about(mean)
        near = math.ldexp(float(about_mean.sums[2]), 2 * about_mean.exponent)
        squares = math.fsum([near, *np.square(self.far - mean).tolist()])
        return math.sqrt(max(squares, 0.0) / (n - 1))

    def about(self, centre: float) -> PowerSums:
        """The sums of the same values about another centre, by the binomial theorem.

        Examples
        --------
        >>> PowerSums.of(np.array([1.0, 2.0, 4.0]), 2).about(0.0).total
        7.0
        """
        if centre == self.centre:
            return self
        reach = max(self.high - centre, centre - self.low)
        exponent = max(math.frexp(reach)[1], self.exponent)
        old = self.sums_at(exponent).tolist()
        moved = math.ldexp(self.centre - centre, -exponent)
        powers = [moved**power for power in range(len(old))]
        sums = [
            math.fsum(math.comb(j, i) * powers[j - i] * old[i] for i in range(j + 1))
            for j in range(len(old))
        ]
        return replace(self, centre=centre, exponent=exponent, sums=np.array(sums))

    def sums_at(self, exponent: int) -> FloatArray:
        """The sums of the powers of the distances divided by 2 to this power."""
        orders = np.arange(self.sums.size)
        return np.ldexp(self.sums, (self.exponent - exponent) * orders)

    def _with_few_far(self) -> PowerSums:
        """The same, with the nearer half of too many far values in the sums."""
        if self.far.size <= MOST_FAR:
            return self
        distances = np.abs(self.far - self.centre)
        is_far = distances > float(np.median(distances))
        near = _sums_about(
            self.centre, self.far[~is_far], None, self.order, has_bins=self.bins is not None
        )
        return replace(self, far=self.far[is_far]) + near


def _sums_about(
    centre: float, values: Scores, counts: IntArray | None, order: int, *, has_bins: bool
) -> PowerSums:
    """The sums of values none of which is far from the others."""
    low, high = float(values.min()), float(values.max())
    exponent = math.frexp(max(high - centre, centre - low))[1]
    return PowerSums(
        centre,
        exponent,
        sums_of_powers(values, counts, centre, exponent, order),
        low,
        high,
        np.zeros(0),
        FineBins.of(values, counts) if has_bins else None,
    )


def _centre_between(mean: float, spread: float) -> float:
    """A number of few digits near the mean, which parts of the same data are likely to share."""
    if spread == 0.0:
        return mean
    grid = math.ldexp(1.0, math.frexp(spread)[1] - 4)
    return round(mean / grid) * grid


def _may_have_far(values: Scores, reach: float) -> bool:
    """Whether a value may be far from the centre, from which none lies farther than `reach`."""
    if values.size <= _FAR * _FAR or not reach > 0.0:
        return False
    sample = values[:: 1 + values.size // _SAMPLE]
    return reach > 0.5 * _FAR * float(sample.std(dtype=np.float64))


def sums_of_powers(
    values: Scores, counts: IntArray | FloatArray | None, centre: float, exponent: int, order: int
) -> FloatArray:
    """The sums of the powers 0 to `order` of the distances from a centre, over 2 to the exponent.

    The order is at least 2.

    Examples
    --------
    >>> sums_of_powers(np.array([1.0, 3.0]), None, 1.0, 1, 2)
    array([2., 1., 1.])
    """
    # Block by block, as that stays in the cache.
    sums = np.zeros(order + 1)
    sums[0] = values.size if counts is None else counts.sum()
    scale = math.ldexp(1.0, -exponent)
    distances, powers = np.empty((2, min(values.size, _BLOCK)))
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        distance, product = distances[: block.size], powers[: block.size]
        np.subtract(block, centre, out=distance, dtype=np.float64)
        distance *= scale
        weighted = distance if counts is None else distance * counts[start : start + _BLOCK]
        sums[1] += np.add.reduce(weighted)
        np.multiply(weighted, distance, out=product)
        sums[2] += np.add.reduce(product)
        for power in range(3, order + 1):
            product *= distance
            sums[power] += np.add.reduce(product)
    return sums

"""The five numbers of a column from which most intervals of a mean are computed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rageval_report.stats.base import TIE_TOLERANCE, finite_values
from rageval_report.stats.magnitudes import unit_of
from rageval_report.stats.means.selection import blocks
from rageval_report.stats.states.counted_steps import CountedSteps
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import FloatArray


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, mean, spread and extremes of the scored queries of a column.

    Parameters
    ----------
    n : int
        The number of scored queries.
    mean : float
        Their mean; NaN if nothing is scored.
    std : float
        The standard deviation with denominator n - 1: NaN for one score, exactly 0 if all scores
        are equal up to rounding.
    minimum, maximum : float
        The extremes; NaN if nothing is scored.
    is_binary : bool
        Whether every score is 0 or 1, and there is at least one.
    """

    n: int
    mean: float
    std: float
    minimum: float
    maximum: float
    is_binary: bool

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; NaN for fewer than two scores.

        Examples
        --------
        >>> moments(np.array([1.0, 2.0, 3.0])).standard_error
        0.577...
        """
        return self.std / math.sqrt(self.n) if self.n > 1 else math.nan

    @property
    def is_constant(self) -> bool:
        """Whether there are at least two scores and all are equal."""
        return self.std == 0.0

    def times(self, unit: float) -> Moments:
        """The moments of scores that are this many times as large.

        Examples
        --------
        >>> moments(np.array([1.0, 2.0, 3.0])).times(2.0).mean
        4.0
        """
        extremes = self.minimum * unit, self.maximum * unit
        binary = self.n > 0 and set(extremes) <= {0.0, 1.0} and self.is_binary
        return Moments(self.n, self.mean * unit, self.std * unit, *extremes, binary)


NO_MOMENTS = Moments(0, math.nan, math.nan, math.nan, math.nan, is_binary=False)


def moments(values: FloatArray) -> Moments:
    """The moments of a column.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The scores; NaN is unscored and does not count.

    Returns
    -------
    Moments

    Raises
    ------
    DataError
        If a score is infinite.

    Examples
    --------
    >>> moments(np.array([0.0, 1.0, np.nan, 1.0, 1.0]))
    Moments(n=4, mean=0.75, std=0.5, minimum=0.0, maximum=1.0, is_binary=True)
    """
    steps = CountedSteps.of(finite_values(values))
    return moments_off_steps(values) if steps is None else moments_of_steps(steps)


def moments_off_steps(values: FloatArray) -> Moments:
    """The moments of scores without infinities that are known to lie on no lattice.

    Examples
    --------
    >>> round(moments_off_steps(np.array([0.1234567, 0.7654321])).mean, 7)
    0.4444444
    """
    with np.errstate(over="ignore", under="ignore"):
        parts = [part for block in blocks(values) if (part := _moments_of_block(block))]
    if not parts:
        return NO_MOMENTS
    sizes, means, rests, squares, minima, maxima = np.array(parts).T
    n, minimum, maximum = int(sizes.sum()), float(minima.min()), float(maxima.max())
    unit = unit_of(minimum, maximum)
    if unit != 1.0:
        return moments(values / unit).times(unit)
    binary = {minimum, maximum} <= {0.0, 1.0} and _only_bits(values)
    # Equal scores that were computed in different ways differ in the last digit; a spread of 1e-17
    # would make every difference from them significant.
    if maximum - minimum <= TIE_TOLERANCE * max(abs(minimum), abs(maximum)):
        return Moments(n, minimum, 0.0 if n > 1 else math.nan, minimum, maximum, binary)
    # The blocks are combined by their means, because a sum of squares minus the square of a sum
    # loses digits (Chan, Golub, LeVeque 1979). Far from 0 a mean itself is rounded to few digits of
    # the spread, so they are compared with the first of them, and with what was rounded.
    mean = sum_of_products(sizes, means) / n
    offsets = (means - means[0]) + rests
    offsets -= sum_of_products(sizes, offsets) / n
    square = float(squares.sum()) + sum_of_products(sizes, offsets**2)
    # Rounding can put the mean of nearly equal scores just outside them.
    mean = min(max(mean, minimum), maximum)
    return Moments(n, mean, math.sqrt(square / (n - 1)), minimum, maximum, binary)


def mean_off_steps(values: FloatArray, ends: tuple[float, float]) -> float:
    """The mean that `moments_off_steps` gives, of scores whose least and largest are known.

    Parameters
    ----------
    values : ndarray
        The scores, none of them missing.
    ends : (float, float)
        The least and the largest of them.

    Examples
    --------
    >>> round(mean_off_steps(np.array([0.1234567, 0.7654321]), (0.1234567, 0.7654321)), 7)
    0.4444444
    """
    low, high = ends
    if unit_of(low, high) != 1.0 or high - low <= TIE_TOLERANCE * max(abs(low), abs(high)):
        return moments_off_steps(values).mean
    sizes, means = np.array([(part.size, part.sum() / part.size) for part in blocks(values)]).T
    return min(max(sum_of_products(sizes, means) / values.size, low), high)


def moments_of_steps(steps: CountedSteps) -> Moments:
    """The moments of scores on a lattice, each rounded once: no order of the scores moves them.

    Examples
    --------
    >>> moments_of_steps(CountedSteps.of(np.array([0.1, 0.2, 0.3]))).mean
    0.2
    """
    n = steps.n
    if not n:
        return NO_MOMENTS
    deviation = steps.standard_deviation
    return Moments(n, steps.mean, deviation, steps.minimum, steps.maximum, steps.is_binary)


def _moments_of_block(block: FloatArray) -> tuple[float, ...] | None:
    """Count, mean, its rounding error, sum of squared deviations, minimum and maximum.

    None if nothing is scored.
    """
    total = float(block.sum())
    if not math.isfinite(total):  # one NaN is enough to make the sum NaN
        block = finite_values(block)
        total = float(block.sum())
    if not block.size:
        return None
    mean = total / block.size
    deviation = block - mean
    rest = float(deviation.sum()) / block.size
    square = sum_of_products(deviation, deviation)
    return block.size, mean, rest, square, float(block.min()), float(block.max())


def _only_bits(values: FloatArray) -> bool:
    """Whether every score that is present is 0 or 1."""
    return all(
        bool(np.all((block == 0.0) | (block == 1.0) | np.isnan(block))) for block in blocks(values)
    )

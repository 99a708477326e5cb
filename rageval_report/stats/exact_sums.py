"""Sums without rounding: they are added in any order, and rounded once when they are read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from rageval_report.types import FloatArray

# A double is a whole number of 53 bits times a power of two, and none is finer than this one.
_BITS = 53
_FINEST = 1127
# Whole numbers are added in two parts: sums of 2 ** 26 of either are exact doubles.
_LOW_BITS = 27
_BLOCK = 1 << 26


@dataclass(frozen=True)
class ExactSum:
    """The number and the sum of some scores.

    Parameters
    ----------
    n : int
        The number of scores.
    total : int
        Their sum as a multiple of 2 ** -1127.

    Examples
    --------
    >>> total = ExactSum.of(np.array([1e16, 0.25])) + ExactSum.of(np.array([-1e16, 0.25]))
    >>> total.n, total.sum, total.mean
    (4, 0.5, 0.125)
    """

    n: int = 0
    total: int = 0

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """The sum of finite numbers.

        Parameters
        ----------
        values : ndarray of shape (n,)
            The numbers.
        """
        blocks = (values[first : first + _BLOCK] for first in range(0, values.size, _BLOCK))
        return cls(int(values.size), sum(map(_total_of, blocks)))

    def __add__(self, other: ExactSum) -> ExactSum:
        """The sum of both."""
        return ExactSum(self.n + other.n, self.total + other.total)

    @property
    def sum(self) -> float:
        """The sum, rounded once."""
        return float(Fraction(self.total, 1 << _FINEST))

    @property
    def mean(self) -> float:
        """The mean, rounded once; NaN of nothing."""
        return float(Fraction(self.total, self.n << _FINEST)) if self.n else math.nan


def _total_of(values: FloatArray) -> int:
    mantissas, exponents = np.frexp(values)
    whole = np.ldexp(mantissas, _BITS).astype(np.int64)
    lowest = int(exponents.min())
    shifts = exponents - lowest
    high, low = whole >> _LOW_BITS, whole & ((1 << _LOW_BITS) - 1)
    sums = [np.bincount(shifts, weights=part.astype(np.float64)) for part in (high, low)]
    total = 0
    for shift, (first, second) in enumerate(zip(*sums, strict=True)):
        total += ((int(first) << _LOW_BITS) + int(second)) << shift
    return total << (lowest - _BITS + _FINEST)

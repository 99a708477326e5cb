"""A column of numbers as its distinct values and how often each occurs.

Every statistic of this package depends on a table only through such columns, so the same functions
serve fifty scores in memory and a billion rows of a warehouse whose values an engine counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats import base
from rageval_report.stats.base import Bounds
from rageval_report.types import BoolArray, FloatArray

# Squares of larger and of smaller scores leave the range of doubles.
_LARGE, _SMALL = 2.0**500, 2.0**-400
# Numbers that are summed without any rounding; beyond, pairwise summation loses no printed digit.
_SUMMED_EXACTLY = 2**13
# A score beyond its bounds by no more than this is a rounding error, and is accepted.
BOUNDS_TOLERANCE = 1e-9
# Up to so many numbers are listed one by one where a method cannot take counts.
MOST_LISTED = 10_000_000

# Steps 1/D of scores: shares of up to 64, of three small numbers (840), reciprocal ranks to ten
# (2520 = lcm of 1 to 10), decimals rounded to two, three and four digits.
_DENOMINATORS = np.array([*range(1, 65), 100, 840, 1000, 2520, 10_000], dtype=np.float64)
# With finer steps than this, relative to the largest value, ties are as rare as without any.
MOST_STEPS = 50_000
# How far a value may lie from a multiple, relative to the largest value: scores in float32 are
# rounded to 6e-8, and their lattice must still be found ...
_NOISE = 1e-6
# ... and relative to the step, because any value is close to a multiple of a very fine step.
_MISFIT = 0.05
# A step is tried on this many values first: most fail there, at no cost.
_SAMPLE = 8


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers with counts, and beside them their exact number, mean and standard deviation.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        The distinct numbers in ascending order (of clusters, the distinct pairs of a number and a
        weight).
    counts : ndarray of float, shape (n_values,)
        How often each occurs.
    mean, std : float
        Of the numbers themselves, also where `values` stand on a grid. The standard deviation has
        the denominator n - 1: NaN for one number, exactly 0 if all are equal up to rounding. With
        weights it is that of the distances from the mean times the weight.
    is_exact : bool
        Whether the values are the numbers themselves, and not a grid between them.
    weights : ndarray, optional
        How much of a shift of every query each value takes, 1 on average: the numbers of queries
        of clusters. None if all take the shift itself.

    Examples
    --------
    >>> column = Column.of([0.5, 1.0, float("nan"), 1.0])
    >>> column.values, column.counts, column.n, round(column.mean, 3)
    (array([0.5, 1. ]), array([1., 2.]), 3, 0.833)
    >>> column.minimum, column.maximum, round(column.variance, 4), round(column.standard_error, 4)
    (0.5, 1.0, 0.0833, 0.1667)
    >>> column.is_constant, column.is_binary, column.listed(), column.at_ranks([0, 1])
    (False, False, array([0.5, 1. , 1. ]), array([0.5, 1. ]))
    >>> Column.of_counts(column.values, column.counts).mean == column.mean
    True
    """

    values: FloatArray
    counts: FloatArray
    mean: float
    std: float
    is_exact: bool = True
    weights: FloatArray | None = None

    @classmethod
    def of(cls, numbers: npt.ArrayLike | Column) -> Column:
        """The column of some numbers; NaN is left out, a column is returned as it is.

        Raises
        ------
        DataError
            If a number is infinite, or they are not one-dimensional.
        """
        if isinstance(numbers, Column):
            return numbers
        values, counts = np.unique(base.finite_values(numbers), return_counts=True)
        return cls.of_counts(values, counts)

    @classmethod
    def of_counts(
        cls, values: FloatArray, counts: npt.ArrayLike, weights: FloatArray | None = None
    ) -> Self:
        """The column of distinct values in ascending order that occur this often."""
        often = np.asarray(counts, dtype=np.float64)
        mean, std = _mean_and_std(values, often)
        if weights is not None:
            # As if all weighed alike: a shift of every query shifts each of these by as much.
            alike = values - mean * (weights - 1.0)
            std = _mean_and_std(alike, often)[1]
        return cls(values, often, mean, std, weights=weights)

    @cached_property
    def n(self) -> int:
        """The number of numbers."""
        return round(float(self.counts.sum()))

    @property
    def minimum(self) -> float:
        """The least number; NaN if there is none."""
        return float(self.values[0]) if self.values.size else math.nan

    @property
    def maximum(self) -> float:
        """The largest number; NaN if there is none."""
        return float(self.values[-1]) if self.values.size else math.nan

    @property
    def variance(self) -> float:
        """The square of `std`."""
        return self.std * self.std

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; NaN for fewer than two numbers."""
        return self.std / math.sqrt(self.n) if self.n > 1 else math.nan

    @property
    def is_constant(self) -> bool:
        """Whether there are at least two numbers, and all are equal up to rounding."""
        return self.std == 0.0

    @property
    def is_binary(self) -> bool:
        """Whether every number is 0 or 1, and there is at least one."""
        return 0 < self.values.size <= 2 and {*self.values.tolist()} <= {0.0, 1.0}

    @cached_property
    def step(self) -> float | None:
        """The largest step of which all values are multiples; None if no sums of them tie.

        Examples
        --------
        >>> Column.of([0.5, -1.0, 0.5, 0.0]).step, Column.of([0.31, -0.123, 0.05]).step
        (0.5, None)
        """
        if not self.is_exact:
            return None
        # Sums of clusters lie on the lattice of the scores, on which rounding is least.
        scale = 1.0 if self.weights is None else lattice_step(self.weights) or 1.0
        step = lattice_step(self.values / scale)
        if step is None or not _sums_tie(self.values / scale / step, self.counts):
            return None
        return step * scale

    def listed(self, purpose: str = "this method") -> FloatArray:
        """The numbers one by one in ascending order, for a method that takes no counts.

        Raises
        ------
        DataError
            If there are too many, or only a grid between them is known.
        """
        if not self.is_exact or self.n > MOST_LISTED:
            raise DataError(
                f"{purpose} needs every score in memory, and of this scan only counts are known; "
                "choose another one, or bring the scores into memory with .collect()"
            )
        return np.repeat(self.values, self.counts.astype(np.int64))

    def at_ranks(self, ranks: npt.NDArray[np.intp]) -> FloatArray:
        """The numbers at some places of the ascending order, the first of which is 0."""
        return self.values[np.searchsorted(np.cumsum(self.counts), ranks, side="right")]


def difference_column(baseline: npt.ArrayLike, candidate: npt.ArrayLike) -> Column:
    """The column of the differences, candidate minus baseline, of pairs of finite scores."""
    before, after = np.asarray(baseline, np.float64), np.asarray(candidate, np.float64)
    largest = max(base.largest_magnitude(before), base.largest_magnitude(after))
    values, counts = np.unique(base.without_noise(after - before, largest), return_counts=True)
    return Column.of_counts(*merge_ties(values, counts, base.TIE_TOLERANCE * max(1.0, largest)))


def check_bounds(column: Column, bounds: Bounds) -> Bounds:
    """The bounds as floats, after a check that they are a range and contain every score."""
    low, high = float(bounds[0]), float(bounds[1])
    if not low < high:
        raise DataError(f"bounds must be the smallest and largest score, e.g. (0, 1); got {bounds}")
    # Values on a grid may lie a little beyond the scores that they stand for.
    for score in (column.maximum, column.minimum) if column.is_exact else ():
        if score < low - BOUNDS_TOLERANCE or score > high + BOUNDS_TOLERANCE:
            raise DataError(
                f"scores must lie within the bounds {low:g} and {high:g}; found {score:g}: "
                "correct the score or give other bounds"
            )
    return low, high


def merge_ties(
    values: FloatArray, counts: npt.ArrayLike, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """Ascending values and their counts; values as close as this are replaced by their mean."""
    often = np.asarray(counts, dtype=np.float64)
    is_first = np.append(True, np.diff(values) > tolerance)
    if not values.size or is_first.all():
        return values, often
    starts = np.flatnonzero(is_first)
    merged = np.add.reduceat(often, starts)
    means = np.add.reduceat(values * often, starts) / merged
    ends = values[np.append(starts[1:], values.size) - 1]
    return np.clip(means, values[starts], ends), merged


def condense(
    values: FloatArray, counts: FloatArray, n_cells: int = 2**10
) -> tuple[FloatArray, FloatArray]:
    """Fewer values in place of ascending ones: two per cell, with its mean and its variance."""
    edges = np.linspace(values[0], values[-1], n_cells + 1)[:-1]
    by_number = np.linspace(0, values.size, n_cells + 1).astype(np.intp)[:-1]
    starts = np.unique(np.append(np.searchsorted(values, edges), by_number))
    often = np.add.reduceat(counts, starts)
    means = np.add.reduceat(values * counts, starts) / often
    offsets = values - np.repeat(means, np.diff(np.append(starts, values.size)))
    deviations = np.sqrt(np.add.reduceat(offsets * offsets * counts, starts) / often)
    above = np.floor(often / 2) * (deviations > 0)
    is_split, below = above > 0, often - above
    lower = means - deviations * np.sqrt(above / below)
    upper = (means + deviations * np.sqrt(below / np.maximum(above, 1.0)))[is_split]
    return np.append(lower, upper), np.append(below, above[is_split])


def _mean_and_std(values: FloatArray, counts: FloatArray) -> tuple[float, float]:
    """The mean and the standard deviation, of huge and tiny numbers too."""
    n = float(counts.sum())
    if not n:
        return math.nan, math.nan
    low, high = float(values.min()), float(values.max())
    largest = max(high, -low)
    exponent = 0 if _SMALL <= largest <= _LARGE else math.frexp(largest)[1]
    scaled = np.ldexp(values, -exponent) if exponent else values
    low, high = math.ldexp(low, -exponent), math.ldexp(high, -exponent)
    mean = min(max(_sum(scaled * counts) / n, low), high)
    if high - low <= base.TIE_TOLERANCE * max(high, -low):
        # Equal scores that were computed in different ways differ in the last digit.
        return math.ldexp(mean, exponent), 0.0 if n > 1 else math.nan
    offsets = scaled - mean
    offsets -= _sum(offsets * counts) / n
    std = math.sqrt(_sum(offsets * offsets * counts) / (n - 1))
    return math.ldexp(mean, exponent), math.ldexp(std, exponent)


def _sum(numbers: FloatArray) -> float:
    return math.fsum(numbers.tolist()) if numbers.size <= _SUMMED_EXACTLY else float(numbers.sum())


def lattice_step(values: FloatArray) -> float | None:
    """The largest step of which all values are multiples up to noise, if it is not too fine."""
    sizes = np.abs(values[values != 0.0])
    if not sizes.size:
        return None
    top, sample = float(sizes.max()), sizes[:: 1 + sizes.size // _SAMPLE]
    # Also in parts of the smallest one: sizes of clusters are divided by their mean.
    for unit in (1.0, float(sizes.min())):
        parts = _DENOMINATORS[_DENOMINATORS * top <= MOST_STEPS * unit]
        for some in (sample, sizes) if parts.size else ():
            parts = parts[_are_whole(np.outer(parts, some / unit), _NOISE * top / unit * parts)]
        if parts.size:
            multiples = np.rint(sizes / unit * parts[0]).astype(np.int64)
            return top / (int(multiples.max()) // int(np.gcd.reduce(multiples)))
    return None


def _are_whole(steps: FloatArray, noise: FloatArray) -> BoolArray:
    """For each row, whether all numbers are whole up to its noise."""
    most = np.minimum(noise, _MISFIT)[:, np.newaxis]
    return np.asarray((np.abs(steps - np.rint(steps)) <= most).all(axis=1))


def _sums_tie(steps: FloatArray, counts: FloatArray) -> bool:
    """Whether different patterns of signs give the same sum of multiples of a step."""
    sizes = np.abs(np.rint(steps))
    n_moved = float(counts[sizes > 0].sum())
    return n_moved > np.unique(sizes[sizes > 0]).size or n_moved > math.log2(sizes.sum() + 1.0)

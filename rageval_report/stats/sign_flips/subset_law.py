"""Limits of the sign-flip test where most differences are equal, mostly zero: exact, from counts.

A pattern of signs flips a subset of the differences, and its sum reaches the observed one exactly
if the mean of the subset is at most the shift. If one value occurs m times, the subset takes a
binomial number j of these; of the others only their sum and their number matter. So a p-value is a
sum over the subsets of the few others, each with a binomial tail that is read from a table, and a
limit is a quantile of the means of subsets (Hartigan 1969): no series, and nothing approximate.

On a lattice each sum is spread evenly over its cell, see `inversion`; then the p-value is piecewise
linear in the shift.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy

from rageval_report.stats.sign_flips.lattice import multiples
from rageval_report.stats.sign_flips.meet_in_the_middle import (
    SAME_SUM,
    binomial_weights,
    log2_sums,
)
from rageval_report.stats.sign_flips.ties import group_ties
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import FloatArray, IntArray

# Up to so many subsets of the others are listed, as a power of two: a p-value costs some 5 ns for
# each of them.
MOST_COUNTED = 15.0
# Large samples mostly show in so many values that there are too many distinct ones.
_SAMPLE = 512
# So many means of subsets are sorted at once: that costs as much as a p-value of 2**16 subsets.
_MOST_SORTED = 2**12
# Up to so many pairs of a sum and a size are counted on a lattice.
_MOST_CELLS = 2**13
# A limit is bracketed at this distance of an estimate, in half widths of the interval, and by this
# factor closer whenever it was.
_NEAR, _CLOSER = 0.05, 0.02
# Between two shifts as close as this, in half widths, the p-value of a spread law is straight.
_STRAIGHT = 1e-6
# Shifts as close as this are one mean of subsets.
_ONE_MEAN = 1e-13
# After so many rounds the bracket is halved: the p-values then follow no line.
_MOST_SECANTS = 6
_MOST_ROUNDS = 100
# Sums of the same probabilities in another order differ by less than this, relatively.
_ROUNDING = 1e-12
_SMALLEST = float(np.finfo(np.float64).tiny)
# A shift this close to zero, relative to the largest value, lies between zero and all means of
# subsets.
_BESIDE_ZERO = 1e-100
# Sizes of values whose quotients are neither too small nor too large for a double.
_SIZES = (1e-150, 1e150)


# Sums, sizes and probabilities.
Subsets: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class SubsetLaw:
    """Which sums and sizes a random subset of differences has, apart from the most frequent value.

    Parameters
    ----------
    common : float
        The most frequent difference. All others, and all shifts, are counted from it.
    sums, sizes, weights : ndarray of shape (n_subsets,)
        The sum, the number and the probability of each subset of the other differences.
    at_least, moments : ndarray of shape (repeats + 2,)
        Of the number j of flipped common differences: the probability of k and more, and the sum of
        their probabilities times j.
    spread : float
        The width of the cell of a sum, one step; zero where the law is not spread.
    ends : tuple of float
        The least and the largest difference, counted from the common one.
    """

    common: float
    sums: FloatArray
    sizes: FloatArray
    weights: FloatArray
    at_least: FloatArray
    moments: FloatArray
    spread: float
    ends: tuple[float, float]

    @classmethod
    def of(
        cls, values: FloatArray, counts: FloatArray | None, step: float | None
    ) -> SubsetLaw | None:
        """The law of differences; None if too many of them differ from the most frequent one.

        Parameters
        ----------
        values : ndarray
            The differences.
        counts : ndarray, optional
            How often each occurs; once by default.
        step : float, optional
            The step of which all are multiples, if the sums are to be spread over their cells.

        Examples
        --------
        >>> law = SubsetLaw.of(np.array([0.0, 0.5, 0.8]), np.array([4.0, 1.0, 1.0]), None)
        >>> law.sums, law.sizes
        (array([0. , 0.5, 0.8, 1.3]), array([0., 1., 1., 2.]))
        """
        sample = values[:: 1 + values.size // _SAMPLE]
        if step is None and np.unique(sample).size > 2 * MOST_COUNTED:
            return None  # each value but one has two subsets at least
        values, counts = group_ties(values, counts)
        place = int(counts.argmax())
        others, rest = np.delete(values - values[place], place), np.delete(counts, place)
        subsets = _subsets(others, rest) if step is None else _subsets_on_step(others, rest, step)
        if subsets is None:
            return None
        sums, sizes, weights = subsets
        chances = binomial_weights(float(counts[place]))
        at_least = np.append(np.cumsum(chances[::-1])[::-1], 0.0)
        moments = np.append(np.cumsum((chances * np.arange(chances.size))[::-1])[::-1], 0.0)
        common = float(values[place])
        ends = float(values[0]) - common, float(values[-1]) - common
        return cls(common, sums, sizes, weights, at_least, moments, step or 0.0, ends)

    @property
    def beside_zero(self) -> float:
        """A shift between zero and all means of subsets."""
        least, largest = self.ends
        return _BESIDE_ZERO * max(-least, largest)

    @property
    def repeats(self) -> int:
        """How often the common difference occurs."""
        return self.at_least.size - 2

    def with_signs_reversed(self) -> SubsetLaw:
        """The law of the same differences with their signs reversed."""
        least, largest = self.ends
        ends = -largest, -least
        return replace(self, common=-self.common, sums=-self.sums, ends=ends)

    def pvalues(self, shifts: FloatArray) -> FloatArray:
        """The one-sided p-values of shifts, counted from the common difference.

        Examples
        --------
        >>> law = SubsetLaw.of(np.array([0.0, 0.5, 0.8]), np.array([4.0, 1.0, 1.0]), None)
        >>> law.pvalues(np.array([-0.1, 0.0, 0.1]))  # 1, 16 and 17 of 64 patterns
        array([0.015625, 0.25    , 0.265625])
        """
        each, offset = self._per_flip(shifts[:, np.newaxis])
        if not self.spread:
            return self._weigh(self.at_least[self._whole(self.sums / each + offset)])
        half = self.spread / 2
        full = self._whole((self.sums + half) / each + offset)
        some = self._whole((self.sums - half) / each + offset)
        # A sum whose cell holds the observed one counts with the part beyond it.
        beyond = 0.5 - (self.sums + each * offset) / self.spread
        beyond *= self.at_least[some] - self.at_least[full]
        beyond += each / self.spread * (self.moments[some] - self.moments[full])
        return self._weigh(self.at_least[full] + beyond)

    def lowest(self, level: float, reach: float, mean: float) -> float:
        """The smallest shift that is accepted at a one-sided level.

        Parameters
        ----------
        level : float
            The error rate.
        reach : float
            How far below the mean the limit is if the flipped sum is normal.
        mean : float
            The mean difference.

        Examples
        --------
        >>> law = SubsetLaw.of(np.array([0.0, 0.5, 0.8]), np.array([4.0, 1.0, 1.0]), None)
        >>> law.lowest(0.25, 0.2, 1.3 / 6), law.lowest(0.24, 0.2, 1.3 / 6)
        (0.1, 0.0)
        """
        search = _Search(self, level, reach, mean - self.common)
        return self.common + (search.crossing() if self.spread else search.quantile())

    def first_flips(self, shift: float) -> IntArray:
        """From how many on the common differences are enough, for each subset.

        These are flipped ones if the shift is above zero, and others if it is below.
        """
        each, offset = self._per_flip(np.array(shift))
        return self._whole(self.sums / each + offset)

    def _per_flip(self, shifts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How much of a sum each common difference takes, and how many more the sum needs.

        If the shift is above zero each flipped one lowers the sum by the shift. If it is below zero
        each one that is *not* flipped does so: their number has the same law.
        """
        each = np.maximum(np.abs(shifts), self.beside_zero)
        return each, np.where(shifts < 0, self.repeats + self.sizes, -self.sizes)

    def _whole(self, numbers: FloatArray) -> IntArray:
        np.ceil(numbers, out=numbers)
        return np.clip(numbers, 0.0, self.repeats + 1.0, out=numbers).astype(np.int64)

    def _weigh(self, chances: FloatArray) -> FloatArray:
        chances *= self.weights
        return np.asarray(chances.sum(axis=1))


@dataclass(frozen=True, slots=True)
class _ShiftRange:
    """Two shifts and their p-values: the first is not accepted, the second is."""

    low: float
    high: float
    below: float
    above: float

    @property
    def width(self) -> float:
        """The distance of the two shifts."""
        return self.high - self.low

    def narrowed(self, shifts: FloatArray, pvalues: FloatArray, level: float) -> _ShiftRange:
        """The smallest bracket that has its ends among these shifts and the present ends."""
        low, high, below, above = self.low, self.high, self.below, self.above
        for shift, pvalue in zip(shifts.tolist(), pvalues.tolist(), strict=True):
            if low < shift < high and pvalue > level:
                high, above = shift, pvalue
            elif low < shift < high:
                low, below = shift, pvalue
        return _ShiftRange(low, high, below, above)


@dataclass(frozen=True, slots=True)
class _Search:
    """The search of a limit, in shifts that are counted from the common difference."""

    law: SubsetLaw
    level: float
    reach: float
    mean: float

    def crossing(self) -> float:
        """Where the p-value of a spread law is the level."""
        least = self.law.ends[0]
        # A shift below all differences leaves all signs alike, and its p-value is the smallest.
        ends = np.array([least + _STRAIGHT * (self.mean - least), self.mean])
        below, above = self.law.pvalues(ends).tolist()
        if below > self.level:
            return least
        straight = 2 * _STRAIGHT * self.reach
        first = _ShiftRange(float(ends[0]), self.mean, below, above)
        bracket = self._narrow(first, lambda bracket: bracket.width <= 1.01 * straight)
        share = (self.level - bracket.below) / (bracket.above - bracket.below)
        return bracket.low + share * bracket.width

    def quantile(self) -> float:
        """The mean of a subset at which the p-value passes the level."""
        slack = _STRAIGHT * self.reach
        # Zero is the mean of many subsets. It is an end of the bracket, so that all other means
        # have the same sign.
        low, high = self.law.ends[0] - slack, self.mean + slack
        shifts = np.array([low, -self.law.beside_zero, 0.0])
        pvalues = self.law.pvalues(shifts)
        bracket = _ShiftRange(low, high, float(pvalues[0]), 1.0)
        bracket = bracket.narrowed(shifts, pvalues, self.level)
        if bracket.width <= self.law.beside_zero:
            return 0.0
        bracket = self._narrow(bracket, self._is_short)
        means, weights = self._means_within(bracket)
        order = np.argsort(means)
        reached = bracket.below + np.cumsum(weights[order])
        # Only where the bracket ends in a mean may rounding leave none that passes the level.
        passed = int(np.searchsorted(reached, self.level * (1.0 + _ROUNDING), side="right"))
        return float(means[order[passed]]) if passed < order.size else bracket.high

    def _narrow(
        self, bracket: _ShiftRange, is_enough: Callable[[_ShiftRange], bool]
    ) -> _ShiftRange:
        """The bracket, narrowed around where the p-value is close to a line on the scale of z."""
        z, guess, near = float(scipy.special.ndtri(self.level)), self.mean - self.reach, _NEAR
        for turn in range(_MOST_ROUNDS):
            if is_enough(bracket):
                break
            middle = (bracket.low + bracket.high) / 2
            if turn >= _MOST_SECANTS or not bracket.low < guess < bracket.high:
                guess = middle
            if turn >= _MOST_SECANTS:
                near = bracket.width / (4 * self.reach)
            away = max(near, _STRAIGHT) * self.reach
            shifts = np.array([guess - away, guess + away])
            pvalues = self.law.pvalues(shifts)
            bracket = bracket.narrowed(shifts, pvalues, self.level)
            first, second = scipy.special.ndtri(np.maximum(pvalues, _SMALLEST)).tolist()
            if first < z <= second:
                near *= _CLOSER
            rise = second - first
            guess = guess + away * (2 * z - first - second) / rise if rise > 0 else middle
        return bracket

    def _is_short(self, bracket: _ShiftRange) -> bool:
        """Whether few means of subsets lie in the bracket, or only one of many."""
        if bracket.width <= _ONE_MEAN * self.reach:
            return True
        few = self.law.first_flips(bracket.low) - self.law.first_flips(bracket.high)
        return int(few.sum()) <= _MOST_SORTED

    def _means_within(self, bracket: _ShiftRange) -> tuple[FloatArray, FloatArray]:
        """The means of subsets between the ends of a bracket on one side of zero."""
        first = self.law.first_flips(bracket.high)
        sizes = self.law.first_flips(bracket.low) - first
        which = np.repeat(np.arange(sizes.size), sizes)
        counted = np.arange(which.size) - np.repeat(np.cumsum(sizes) - sizes - first, sizes)
        # Below zero the common differences that are not flipped are counted.
        flipped = counted if bracket.low >= 0 else self.law.repeats - counted
        means = self.law.sums[which] / (self.law.sizes[which] + flipped)
        chances = self.law.at_least[counted] - self.law.at_least[counted + 1]
        return means, np.asarray(self.law.weights[which] * chances)


def _subsets(values: FloatArray, counts: FloatArray) -> Subsets | None:
    """The sum, size and probability of each subset; None if there are too many."""
    top = float(np.abs(values).max(initial=0.0))
    if log2_sums(counts) > MOST_COUNTED or not _SIZES[0] < top < _SIZES[1]:
        return None
    sums, sizes, weights = np.zeros(1), np.zeros(1), np.ones(1)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        taken = np.arange(count + 1.0)
        sums = np.add.outer(taken * value, sums).ravel()
        sizes = np.add.outer(taken, sizes).ravel()
        weights = np.multiply.outer(binomial_weights(count), weights).ravel()
    # Sums that are zero but for rounding are zero.
    sums[np.abs(sums) <= SAME_SUM * sum_of_products(np.abs(values), counts)] = 0.0
    return sums, sizes, weights


def _subsets_on_step(values: FloatArray, counts: FloatArray, step: float) -> Subsets | None:
    """The subsets of multiples of a step; those of the same sum and size are one."""
    whole = multiples(values, step)
    most = round(float(counts.sum()))
    lowest, highest = (
        round(sum_of_products(part, counts))
        for part in (np.minimum(whole, 0), np.maximum(whole, 0))
    )
    if (most + 1) * (highest - lowest + 1) > _MOST_CELLS:
        return None
    # One row per size, one column per sum, and one part added for each count of a value.
    table = np.zeros((most + 1, highest - lowest + 1))
    table[0, -lowest] = 1.0
    flat, n_columns = table.ravel(), table.shape[1]
    for value, count in zip(whole.tolist(), counts.tolist(), strict=True):
        before = flat.copy()
        flat *= 0.5**count
        for taken, chance in enumerate(binomial_weights(count).tolist()[1:], start=1):
            move = taken * (n_columns + value)
            flat[move:] += chance * before[: flat.size - move]
    sizes, sums = np.nonzero(table)
    steps = (sums + lowest).astype(np.float64)
    return steps * step, sizes.astype(np.float64), table[sizes, sums]

"""The exact sign-flip test of a mean paired difference and its inversion to an interval.

If the two pipelines are exchangeable within each query, each difference could as well have had the
other sign, so all patterns of signs are equally likely. The p-value is the share of patterns whose
mean is at least as far out as the one observed (Fisher 1935; Pitman 1937); large samples make it a
test of a zero mean even without symmetry (Romano 1990). On a lattice (ratings, shares of a few)
ties are many, and a test that counts them in full rejects too rarely; there they count half.

The interval contains every shift that the two-sided test does not reject after the shift has been
subtracted from all differences (Hartigan 1969), so the interval and the p-value never contradict
each other: 0 is outside exactly if ``p <= 1 - confidence_level``. A shift is subtracted from every
query, so a cluster of queries loses the shift times its weight. A shift off the lattice would break
all ties, so half ties are meant as what they are without a shift: each sum is spread evenly over
its cell of the lattice and counts with its part beyond the observed one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from rageval_report.errors import DataError
from rageval_report.stats import base
from rageval_report.stats.base import Alternative, Interval
from rageval_report.stats.columns import Column, condense
from rageval_report.stats.sign_sums import DIGITS, SAME_SUM, SignSum
from rageval_report.types import FloatArray

IDENTICAL = "identical"
# A p-value is never zero: the observed pattern is one of those counted.
_SMALLEST = float(np.finfo(np.float64).tiny)
# More values than this are condensed.
_MOST_VALUES = 2**12
# Up to so many the p-value has steps that are larger than the precision of a limit.
_MOST_STAIRS = 22
# While a limit is searched p-values have this many digits (1e-7, see `sign_sums.DIGITS`), and the
# limit is known to this part of the half width.
_SEARCH_DIGITS = 17.0
_PRECISION = 1e-7
# A limit that may not be zero lies this far from it, relative to the mean.
_BESIDE = 1e-13


def sign_flip_pvalue(
    differences: npt.ArrayLike | Column,
    *,
    alternative: Alternative = "two-sided",
    midp: bool | None = None,
    shift: float = 0.0,
) -> float:
    """The p-value of the exact sign-flip test of a mean difference, without random numbers.

    Parameters
    ----------
    differences : array-like of shape (n,), or Column
        Paired differences; NaN is left out, and zeros do not matter.
    alternative : {"two-sided", "less", "greater"}
        "greater": the mean is above the shift.
    midp : bool, optional
        Whether patterns that tie with the observed one count half; by default if the differences
        lie on a lattice on which sums tie, see `Column.step`.
    shift : float
        The mean under the null hypothesis, which is subtracted from all differences.

    Returns
    -------
    float
        Above 0, at most 1; 1 if all differences are equal to the shift.

    References
    ----------
    .. [1] Fisher (1935). The Design of Experiments, section 21.
    .. [2] Pitman (1937). Significance tests which may be applied to samples from any populations.
       Journal of the Royal Statistical Society Supplement 4.
    .. [3] Lancaster (1961). Significance tests in discrete distributions. Journal of the American
       Statistical Association 56.

    Examples
    --------
    >>> sign_flip_pvalue([0.2, 0.5, 0.9, 0.1, 0.7, 0.33])  # two of 64 patterns have all signs alike
    0.03125
    >>> sign_flip_pvalue([1, 1, 1, -1, 1, 1, 0, 0])  # a lattice: mid-p, as McNemar's
    0.125
    >>> sign_flip_pvalue([0.0, 0.0])
    1.0
    """
    base.check_alternative(alternative)
    column = Column.of(differences)
    sample = _ShiftedColumn.of(column, column.step is not None if midp is None else midp)
    moved = sample.shifted(shift)
    total = float(moved @ sample.counts)
    if not moved.any():
        return 1.0
    if alternative == "two-sided":
        outward = sample.pvalue(shift) if total >= 0 else sample.reversed().pvalue(-shift)
        return min(1.0, 2 * outward)
    return sample.pvalue(shift) if alternative == "greater" else sample.reversed().pvalue(-shift)


def sign_flip_interval(
    differences: npt.ArrayLike | Column, *, confidence_level: float = 0.95
) -> Interval:
    """The mean differences that the sign-flip test does not reject.

    It is the t interval, with a note, if there are so few differences that none can be rejected (up
    to five at 95 %).

    Parameters
    ----------
    differences : array-like of shape (n,), or Column
        Paired differences; NaN is left out.
    confidence_level : float
        Between 0 and 1.

    Raises
    ------
    DataError
        If there is no difference.

    References
    ----------
    .. [1] Hartigan (1969). Using subsample values as typical values. Journal of the American
       Statistical Association 64.

    Examples
    --------
    >>> interval = sign_flip_interval([0.11, 0.23, 0.31, 0.47, 0.52, 0.68])
    >>> interval.low, interval.high  # of six differences, the smallest and the largest
    (0.11, 0.68)
    >>> round(sign_flip_interval([1, 1, 2, 3, 1, 2]).high, 3)  # on a lattice ties count half
    2.68
    """
    column = Column.of(differences)
    level = base.check_level(confidence_level)
    if not column.n:
        raise DataError("an interval needs at least one difference; got none")
    n, mean, alpha, half = column.n, column.mean, 1.0 - level, column.step is not None
    if not column.values.any():
        return Interval(0.0, 0.0, 0.0, 0.0, "sign-flip", level, (IDENTICAL,))
    if n == 1:
        return Interval.unknown(mean, "sign-flip", level, "with 1 pair there is no interval")
    # No two-sided p-value of n pairs is below 2**(1 - n), with half ties 2**-n.
    if 0.5 ** (n - 1) > alpha and not (half and 0.5**n < alpha):
        return _interval_of_few(column, level)
    if column.is_constant:
        return Interval(mean, mean, mean, 0.0, "sign-flip", level, ("all differences are equal",))
    sample = _ShiftedColumn.of(column, half)
    low, high = sample.lowest(alpha / 2), -sample.reversed().lowest(alpha / 2)
    notes: tuple[str, ...] = ()
    if min(abs(low), abs(high)) <= 1e-3 * (high - low):
        # So close to zero the p-value of zero itself decides.
        if sign_flip_pvalue(column) > alpha:
            low, high = min(low, 0.0), max(high, 0.0)
        elif low <= 0.0 <= high:
            notes = ("the interval ends at 0, which is itself rejected",)
            beside = _BESIDE * mean
            low, high = (beside, high) if mean > 0 else (low, beside)
    return Interval(mean, low, high, column.standard_error, "sign-flip", level, notes)


def _interval_of_few(column: Column, level: float) -> Interval:
    """The t interval where no shift can be rejected, widened to all differences.

    At a lower level the smallest and the largest difference may be the limits, and the interval of
    a higher level contains that of a lower one.
    """
    n, mean, error = column.n, column.mean, column.standard_error
    apart = column.values
    if column.weights is not None:
        apart = mean + (apart - mean * column.weights) / column.weights
    reach = float(stdtrit(n - 1, 0.5 + level / 2)) * error
    low, high = min(mean - reach, float(apart.min())), max(mean + reach, float(apart.max()))
    note = f"with {n} pairs the sign-flip interval is unbounded; t interval given"
    if low < mean - reach or high > mean + reach:
        note = f"{note}, widened to all differences"
    return Interval(mean, low, high, error, "t", level, (note,))


@dataclass(frozen=True, eq=False)
class _ShiftedColumn:
    """Differences from which a shift is subtracted, in units of a power of two.

    `step` is 0 without a lattice; `ties` is the share of tied patterns that counts.
    """

    values: FloatArray
    counts: FloatArray
    weights: FloatArray | None
    step: float
    ties: float
    exponent: int

    @classmethod
    def of(cls, column: Column, half: bool) -> _ShiftedColumn:
        largest = float(np.abs(column.values).max(initial=0.0))
        exponent = math.frexp(largest)[1]
        values, counts = np.ldexp(column.values, -exponent), column.counts
        step = 0.0 if column.step is None else math.ldexp(column.step, -exponent)
        if values.size > _MOST_VALUES and column.weights is None and (half or not step):
            # On so many steps half ties are as good as none.
            values, counts = condense(values, counts)
            step = 0.0
        return cls(values, counts, column.weights, step, 0.5 if half else 1.0, exponent)

    def reversed(self) -> _ShiftedColumn:
        return replace(self, values=-self.values)

    def shifted(self, shift: float) -> FloatArray:
        """The differences minus the shift; noise is zero."""
        if not shift:
            return self.values
        move = math.ldexp(shift, -self.exponent)
        moved = self.values - (move if self.weights is None else move * self.weights)
        moved[np.abs(moved) <= base.TIE_TOLERANCE * max(1.0, abs(move))] = 0.0
        return np.asarray(moved)

    def pvalue(self, shift: float, digits: float = DIGITS) -> float:
        """The one-sided p-value of a shift against larger means."""
        moved, counts = self.shifted(shift), self.counts
        is_moved = moved != 0.0
        if not is_moved.all():
            moved, counts = moved[is_moved], counts[is_moved]
        if not moved.size:
            return 1.0
        total, top = float(moved @ counts), float(np.abs(moved) @ counts)
        total = 0.0 if abs(total) <= SAME_SUM * top else total
        if moved.size > _MOST_VALUES and not self.step:
            order = np.argsort(moved)
            moved, counts = condense(moved[order], counts[order])
        # Half of a tie becomes half of a cell of the lattice, which a shift moves.
        step, spread = self.step, 0.0
        if shift:
            step, spread = 0.0, self.step if self.ties == 0.5 else 0.0
        signs = SignSum(np.abs(moved), counts, step, self.ties, spread).without_dust()
        tail = signs.tail(total, digits)
        return min(1.0, max(tail, _SMALLEST))

    def lowest(self, level: float) -> float:
        """The smallest shift that is accepted at a one-sided level."""
        n = float(self.counts.sum())
        weights = np.ones_like(self.values) if self.weights is None else self.weights
        least = float((self.values / weights).min())
        on_lattice = self.step > 0 and self.ties == 0.5
        mean, z = float(self.values @ self.counts) / n, -float(ndtri(level))
        away = self.values - mean * weights
        # If the flipped sum is normal, the reach r solves (n r)^2 = z^2 variance(r).
        squares, cross = float(away * away @ self.counts), float(weights * away @ self.counts)
        own = max(n * n - z * z * float(weights * weights @ self.counts), n)
        half = z * z * cross / own
        reach = half + math.sqrt(half * half + z * z * squares / own)

        def excess(shift: float) -> float:
            pvalue = self.pvalue(math.ldexp(shift, self.exponent), _SEARCH_DIGITS)
            return float(ndtri(pvalue)) + z

        is_staircase = n <= _MOST_STAIRS and not on_lattice
        root = _increasing_root(excess, least, mean, mean - reach, z / reach, is_staircase)
        return math.ldexp(root, self.exponent)


def _increasing_root(
    function: Callable[[float], float],
    least: float,
    high: float,
    start: float,
    slope: float,
    is_staircase: bool,
) -> float:
    """Where an increasing function changes sign, by secants in a bracket, of a staircase by halves.

    It is `least` if the function is positive there.

    A straight line with this slope through zero at `start` is the first guess.
    """
    width, x = high - start, max(start, least)
    low, last, step = least - width, math.nan, math.nan
    for turn in range(200):
        value = function(x)
        if value > 0 and x <= least:
            return least
        low, high = (low, x) if value > 0 else (x, high)
        change = math.inf
        if (value - last) * step > 0 and not is_staircase:
            secant = (value - last) / step
            change, slope = abs(secant / slope - 1), secant
        step, last = -value / slope, value
        # The next step is wrong by as much as the slope has changed.
        if min(abs(step) * change, high - low) <= _PRECISION * width:
            break
        new = max(x + step, least)
        if not low < new < high or (is_staircase and turn > 2):
            new = (max(low, least) + high) / 2
        x, step = new, new - x
    return max(high, least) if is_staircase else min(max(x + step, low, least), high)

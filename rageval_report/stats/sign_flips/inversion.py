"""The interval of a mean paired difference by inversion of the sign-flip test.

It holds every shift that the two-sided test does not reject when it is taken off all differences
(Hartigan 1969), so the interval and the p-value never contradict each other: zero is outside
exactly when ``p <= 1 - confidence_level``. Nothing is drawn at random.

The test is the one that "auto" takes: ties count half if the differences lie on a lattice, in full
otherwise. With half ties the accepted shifts can end at zero without zero itself: any shift off the
lattice breaks the ties. The limit is then the smallest number above (or below) zero; it prints as
0.000, and a note says so.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import ndtri, stdtrit

from rageval_report.errors import DataError
from rageval_report.stats.base import (
    TIE_TOLERANCE,
    Interval,
    check_level,
    finite_values,
    paired_differences,
)
from rageval_report.stats.sign_flips.lattice import lattice_step, multiples
from rageval_report.stats.sign_flips.meet_in_the_middle import log2_sums
from rageval_report.stats.sign_flips.sign_sums import Tail
from rageval_report.stats.sign_flips.sign_tail import MOST_LISTED, coarse_tail, rough_tail
from rageval_report.stats.sign_flips.signflip import sign_flip_pvalue
from rageval_report.types import FloatArray

IDENTICAL = "identical"
# Up to here the means of all subsets are listed.
_MOST_LISTED = 16
# How well a limit is found, and how much farther than expected it is looked for, in half widths.
_PRECISION = 1e-6
_SAFETY = 1.05
_MARGIN = 1e-4
_SMALLEST = float(np.finfo(np.float64).tiny)
# How close a coarse search comes, in half widths, and after how many secants the data are no line.
_NEAR = 1e-4
_MOST_SECANTS = 6

TailOf: TypeAlias = Callable[[FloatArray, FloatArray | None, float], Tail]


def sign_flip(
    baseline: FloatArray, candidate: FloatArray, *, confidence_level: float, **_options: object
) -> Interval:
    """The mean differences that the sign-flip test does not reject.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides, pair by pair.
    confidence_level : float
        Between 0 and 1.

    Returns
    -------
    Interval
        The t interval, with a note, if there are so few pairs that no difference can be rejected
        (five at 95 %).

    Examples
    --------
    >>> before, after = np.zeros(6), np.array([0.11, 0.23, 0.31, 0.47, 0.52, 0.68])
    >>> interval = sign_flip(before, after, confidence_level=0.95)
    >>> interval.low, interval.high  # of six pairs, the smallest and the largest difference
    (0.11, 0.68)
    """
    differences = paired_differences(baseline, candidate)
    return _interval(differences, confidence_level, midp=None)


def sign_flip_interval(
    differences: npt.ArrayLike, *, confidence_level: float = 0.95, midp: bool | None = None
) -> Interval:
    """The shifts of the differences that the sign-flip test does not reject.

    Parameters
    ----------
    differences : array-like of shape (n,)
        Paired differences; NaN are left out.
    confidence_level : float
        Between 0 and 1.
    midp : bool, optional
        Whether ties count half, as in `sign_flip_pvalue`, with which the interval then agrees.

    References
    ----------
    .. [1] Hartigan (1969). Using subsample values as typical values. Journal of the American
       Statistical Association 64.

    Examples
    --------
    >>> interval = sign_flip_interval([1, 1, 2, 3, 1, 2])
    >>> interval.low, interval.high  # with half ties, the second mean of a subset at either end
    (1.0, 2.5)
    """
    values = finite_values(differences)
    if not values.size:
        raise DataError("an interval needs at least one difference; got none")
    return _interval(values, check_level(confidence_level), midp=midp)


def _interval(differences: FloatArray, level: float, *, midp: bool | None) -> Interval:
    n, alpha = differences.size, 1.0 - level
    mean = float(differences.mean())
    if not differences.any():
        return Interval(0.0, 0.0, 0.0, 0.0, "sign-flip", level, (IDENTICAL,))
    if 0.5 ** (n - 1) > alpha:
        return _too_few(differences, level)
    if float(np.ptp(differences)) <= 1e-12 * abs(mean):
        return Interval(mean, mean, mean, 0.0, "sign-flip", level, ("all differences are equal",))
    step = lattice_step(differences)
    half = step is not None if midp is None else midp
    shifts = Shifts.of(differences, step)
    low, high = shifts.lowest(alpha / 2, half), -shifts.mirrored().lowest(alpha / 2, half)
    rejected = sign_flip_pvalue(differences, midp=half) <= alpha
    low, high, notes = _agree(low, high, mean, rejected=rejected)
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, low, high, error, "sign-flip", level, notes)


def _agree(
    low: float, high: float, mean: float, *, rejected: bool
) -> tuple[float, float, tuple[str, ...]]:
    """Limits between which zero lies exactly if the test does not reject it."""
    if not rejected:
        return min(low, 0.0), max(high, 0.0), ()
    if low > 0 or high < 0:
        return low, high, ()
    note = ("the interval ends at 0, which is itself rejected",)
    return (_SMALLEST, high, note) if mean > 0 else (low, -_SMALLEST, note)


def _too_few(differences: FloatArray, level: float) -> Interval:
    """The t interval, where no shift at all can be rejected."""
    n, mean = differences.size, float(differences.mean())
    if n == 1:
        nothing = (math.nan, math.nan, math.nan)
        return Interval(mean, *nothing, "sign-flip", level, ("with 1 pair there is no interval",))
    note = f"with {n} pairs the sign-flip interval is unbounded; t interval given"
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    reach = float(stdtrit(n - 1, 0.5 + level / 2)) * error
    return Interval(mean, mean - reach, mean + reach, error, "t", level, (note,))


@dataclass(frozen=True, slots=True)
class Shifts:
    """Differences, and what the test says when a shift is taken off all of them.

    Parameters
    ----------
    values : ndarray
        The differences, or the distinct ones.
    counts : ndarray, optional
        How often each occurs; once by default.

    Examples
    --------
    >>> Shifts.of(np.array([0.5, 1.0, 0.5, -0.5]), 0.5)
    Shifts(values=array([-0.5,  0.5,  1. ]), counts=array([1., 2., 1.]))
    """

    values: FloatArray
    counts: FloatArray | None

    @classmethod
    def of(cls, differences: FloatArray, step: float | None) -> Shifts:
        """The distinct differences if they lie on a lattice, else all."""
        if step is None:
            return cls(differences, None)
        steps = multiples(differences, step)
        lowest = int(steps.min())
        counts = np.bincount(steps - lowest)
        seen = np.flatnonzero(counts)
        return cls(np.asarray((seen + lowest) * step), counts[seen].astype(np.float64))

    def mirrored(self) -> Shifts:
        """The differences with all signs turned."""
        return Shifts(-self.values, self.counts)

    def lowest(self, level: float, half: bool) -> float:
        """The lower limit: the least shift that is accepted, at the one-sided level."""
        n = self.values.size if self.counts is None else round(float(self.counts.sum()))
        if n > _MOST_LISTED:
            return self._searched(level, half, n)
        # As far out are the observed pattern, and each subset with a mean of at most the shift.
        rank = math.floor(level * 2**n + (0.5 if half else 0.0))
        return float(np.partition(self._subset_means(), rank - 1)[rank - 1])

    def pvalue(self, shift: float, half: bool, tail_of: TailOf = rough_tail) -> float:
        """The one-sided p-value of a shift below the mean."""
        left = self.values - shift
        threshold = float(left.sum() if self.counts is None else left @ self.counts)
        magnitudes, counts = np.abs(left), self.counts
        there = magnitudes > TIE_TOLERANCE * abs(shift)
        if not there.all():
            magnitudes, counts = magnitudes[there], None if counts is None else counts[there]
        tail = tail_of(magnitudes, counts, max(threshold, 0.0))
        return tail.at_least - (tail.equal / 2 if half else 0.0)

    def _subset_means(self) -> FloatArray:
        """The mean of each subset but the empty one."""
        counts = 1 if self.counts is None else self.counts.astype(np.int64)
        sums, sizes = np.zeros(1), np.zeros(1)
        for value in np.repeat(self.values, counts).tolist():
            sums, sizes = np.append(sums, sums + value), np.append(sizes, sizes + 1.0)
        return np.asarray(sums[1:] / sizes[1:])

    def _searched(self, level: float, half: bool, n: int) -> float:
        """The lower limit by search: on the scale of z the p-value is close to a line.

        A coarse p-value leads to the place, where two of the true one settle it as a rule.
        """
        mean, spread = self._moments(n)
        z = -float(ndtri(level))
        reach = z * math.sqrt(spread / (n * max(n - z * z, 1.0)))

        def excess(shift: float, tail_of: TailOf) -> float:
            return float(ndtri(max(self.pvalue(shift, half, tail_of), _SMALLEST))) + z

        true = functools.cache(functools.partial(excess, tail_of=rough_tail))
        if (n if self.counts is None else log2_sums(self.counts)) > MOST_LISTED:
            coarse = functools.partial(excess, tail_of=coarse_tail)
            near = settled(coarse, Near(mean - reach, z / reach), _NEAR * reach, mean)
            found = near and settled(true, near, _PRECISION * reach, mean)
            if found:
                return found.shift
        return _bracketed(true, mean, reach, z)  # few sums are a staircase

    def _moments(self, n: int) -> tuple[float, float]:
        """The mean, and the sum of squares around it."""
        if self.counts is None:
            mean = float(self.values.mean())
            return mean, float(np.square(self.values - mean).sum())
        mean = float(self.values @ self.counts) / n
        return mean, float(np.square(self.values - mean) @ self.counts)


@dataclass(frozen=True, slots=True)
class Near:
    """A shift close to where an excess is zero, and how steep the excess is there."""

    shift: float
    slope: float


def settled(
    excess: Callable[[float], float], start: Near, precision: float, most: float
) -> Near | None:
    """Where the excess is zero, by secants; None where it is too far from a line for them.

    Parameters
    ----------
    excess : callable
        Of a shift.
    start : Near
        Where to begin.
    precision : float
        How far, by the last slope, the answer may lie from the last shift looked at.
    most : float
        No shift beyond it is looked at.

    Examples
    --------
    >>> found = settled(lambda shift: shift**2 - 2, Near(1.5, 2.5), 1e-6, 2.0)
    >>> round(found.shift, 9)
    1.414213562
    """
    shift, slope = start.shift, start.slope
    last, step = excess(shift), 0.0
    for _ in range(_MOST_SECANTS):
        step = -last / slope
        if abs(step) <= precision:
            return Near(shift + step, slope)
        shift = min(shift + step, most)
        now = excess(shift)
        slope, last = (now - last) / step, now
        if not (slope > 0 and math.isfinite(slope)):
            break
    return None


def _bracketed(excess: Callable[[float], float], mean: float, reach: float, z: float) -> float:
    """Where the excess is zero, whatever its form, between two shifts of different signs."""
    first = mean - reach
    away = _SAFETY * reach * excess(first) / z
    away += math.copysign(_MARGIN * reach, away)
    second = min(first - away, mean)
    while excess(first) * excess(second) > 0 and second < mean:
        away *= 2
        second = min(first - away, mean)
    return float(brentq(excess, first, second, xtol=_PRECISION * reach))

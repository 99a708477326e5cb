"""The interval of a mean paired difference by inversion of the sign-flip test.

The interval contains every shift that the two-sided test does not reject after the shift has been
subtracted from all differences (Hartigan 1969), so the interval and the p-value never contradict
each other: zero is outside exactly if ``p <= 1 - confidence_level``. Nothing is drawn at random.

A shift is subtracted from every query, so a cluster of queries loses the shift times the number of
its queries; clusters of different sizes therefore have weights.

The test is the one that "auto" takes: ties count half if the differences lie on a lattice, in full
otherwise. A shift off the lattice would break all ties, and a test that then counts the observed
pattern in full accepts shifts beside zero although it rejects zero. So half ties are meant as what
they are without a shift: each sum is spread evenly over its cell of the lattice, half a step to
either side, and counts with its part beyond the observed one. That is a continuous law of all
shifts, and mid-p at zero.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.errors import DataError
from rageval_report.stats.base import (
    TIE_TOLERANCE,
    Alternative,
    Interval,
    check_level,
    finite_values,
)
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.sign_flips.large_samples import LargeSample, lowest_shifts_of_large
from rageval_report.stats.sign_flips.lattice import count_multiples, lattice_step
from rageval_report.stats.sign_flips.limit_batch import ShiftRows, lowest_shifts
from rageval_report.stats.sign_flips.meet_in_the_middle import log2_sums
from rageval_report.stats.sign_flips.sign_sums import Tail
from rageval_report.stats.sign_flips.sign_tail import (
    MOST_AT_ONCE,
    MOST_LISTED,
    coarse_tail,
    rough_tail,
    summed_tail,
)
from rageval_report.stats.sign_flips.signflip import (
    pvalue_of_pairs,
    pvalue_of_spread_sums,
    pvalue_of_sums,
    pvalue_on_step,
)
from rageval_report.stats.sign_flips.subset_law import MOST_COUNTED, SubsetLaw
from rageval_report.stats.sign_flips.summed_signs import SummedSigns
from rageval_report.stats.sign_flips.tail_batch import batch_width
from rageval_report.stats.states.power_sums import PowerSums
from rageval_report.stats.sums import sum_of_products
from rageval_report.stats.threads import lock_free_property
from rageval_report.types import FloatArray

IDENTICAL = "identical"
# Up to this many differences the means of all 2**n subsets are listed: exact, and 1.1 ms for 16
# where a search takes 1.9 ms; with 18 the list takes longer.
_MOST_LISTED = 16
# How precisely a limit is computed, in half widths of the interval.
_PRECISION = 1e-6
# The bracket around a limit reaches this factor, and this share of the half width, beyond the place
# where a straight line would put the limit.
_SAFETY = 1.05
_MARGIN = 1e-4
# Of differences closer than this to each other, relative to their mean, only rounding is left.
_EQUAL = 1e-12
_SMALLEST = float(np.finfo(np.float64).tiny)
# A limit that may not be zero lies this far from it, relative to the mean, at every level.
_BESIDE = 1e-13
# How close a coarse search comes, in half widths, and after how many secants it gives up, because
# the p-values then do not follow a line.
_NEAR = 1e-4
_MOST_SECANTS = 6


class TailFunction(Protocol):
    """`rough_tail` or `coarse_tail`."""

    def __call__(
        self, values: FloatArray, counts: FloatArray | None, threshold: float, spread: float = 0.0
    ) -> Tail:
        """The tail of a sum of random signs, spread or not."""


def sign_flip(pairs: PairedScores, *, confidence_level: float, **_options: object) -> Interval:
    """The mean differences that the sign-flip test does not reject.

    It is the t interval, with a note, if there are so few pairs that no difference can be rejected
    (up to five at 95 %).

    Examples
    --------
    >>> pairs = PairedScores.of([0] * 6, [0.11, 0.23, 0.31, 0.47, 0.52, 0.68])
    >>> interval = sign_flip(pairs, confidence_level=0.95)
    >>> interval.low, interval.high  # of six pairs, the smallest and the largest difference
    (0.11, 0.68)
    """
    half = pairs.step is not None
    return _invert_test(
        *(shifts_of(pairs), confidence_level),
        lambda: pvalue_of_pairs(pairs, "two-sided", midp=half),
        half=half,
        known=pairs.sign_flip_limits.get(confidence_level),
    )


def pvalue_of_shift(pairs: PairedScores, shift: float, alternative: Alternative) -> float:
    """The p-value of the sign-flip test after a shift has been subtracted from every query.

    Ties count half if the differences lie on a lattice, as in the interval of `sign_flip`, which
    contains every shift that this test does not reject.

    Parameters
    ----------
    pairs : PairedScores
        Independent pairs.
    shift : float
        The mean difference under the null hypothesis.
    alternative : {"two-sided", "less", "greater"}
        "greater": the mean difference is larger than the shift.

    Examples
    --------
    >>> pairs = PairedScores.of([0] * 6, [0.11, 0.23, 0.31, 0.47, 0.52, 0.68])
    >>> pvalue_of_shift(pairs, 0.1, "greater"), pvalue_of_shift(pairs, 0.7, "greater")
    (0.015625, 1.0)
    """
    half = pairs.step is not None
    if not shift:
        return pvalue_of_pairs(pairs, alternative, midp=half)
    if pairs.sums is not None:
        return pvalue_of_sums(pairs.sums, shift, alternative)
    lattice = pairs.lattice
    values = pairs.differences if lattice is None else lattice.values
    moved = values - shift * (1.0 if pairs.weights is None else pairs.weights)
    moved[np.abs(moved) <= pairs.tolerance] = 0.0
    if pairs.step is not None:
        counts = None if lattice is None else lattice.multiplicities.astype(np.float64)
        return pvalue_of_spread_sums(moved, pairs.step, alternative, counts)
    return pvalue_on_step(moved, lattice_step(moved), midp=half, alternative=alternative)


def sign_flip_interval(
    differences: npt.ArrayLike, *, confidence_level: float = 0.95, midp: bool | None = None
) -> Interval:
    """The shifts of the differences that the sign-flip test does not reject.

    Parameters
    ----------
    differences : array-like of shape (n,)
        Paired differences; NaN is left out.
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
    >>> interval.low, round(interval.high, 3)  # on a lattice ties count half
    (1.0, 2.68)
    """
    values = finite_values(differences)
    if not values.size:
        raise DataError("an interval needs at least one difference; got none")
    step = lattice_step(values)
    half = step is not None if midp is None else midp
    return _invert_test(
        *(Shifts.of(values, step), check_level(confidence_level)),
        lambda: pvalue_on_step(values, step, midp=half),
        half=half,
    )


def _invert_test(
    shifts: Shifts,
    level: float,
    pvalue: Callable[[], float],
    *,
    half: bool,
    known: tuple[float, float] | None = None,
) -> Interval:
    """The interval; `pvalue` gives the two-sided p-value of zero, if that is needed.

    `known` are its limits, if they have been searched already.
    """
    n, alpha, mean = shifts.n, 1.0 - level, shifts.mean
    if shifts.ends == (0.0, 0.0):
        return Interval(0.0, 0.0, 0.0, 0.0, "sign-flip", level, (IDENTICAL,))
    # No two-sided p-value of n pairs is below 2**(1 - n), with half ties 2**-n.
    if 0.5 ** (n - 1) > alpha and not (half and 0.5**n < alpha):
        return _interval_of_few(shifts, level)
    if shifts.are_equal:
        return Interval(mean, mean, mean, 0.0, "sign-flip", level, ("all differences are equal",))
    [(low, high)] = [known] if known else search_limits([shifts], alpha / 2, half=[half])
    rejected = pvalue() <= alpha
    low, high, notes = limits_that_agree(low, high, mean, rejected=rejected)
    return Interval(mean, low, high, shifts.error, "sign-flip", level, notes)


def search_limits(
    samples: Sequence[Shifts], level: float, *, half: Sequence[bool]
) -> list[tuple[float, float]]:
    """Both limits of each sample, at a one-sided level.

    Parameters
    ----------
    samples : sequence of Shifts
        The differences.
    level : float
        The one-sided error rate.
    half : sequence of bool
        For each sample, whether ties count half.

    Examples
    --------
    >>> shifts = Shifts(np.array([0.11, 0.23, 0.31, 0.47, 0.52, 0.68]))
    >>> search_limits([shifts], 0.025, half=[False])
    [(0.11, 0.68)]
    """
    halves = [ties for ties in half for _ in range(2)]

    def side(place: int) -> Shifts:
        # Made where it is needed: the upper limit of a large sample follows from sums of powers.
        shifts = samples[place // 2]
        return shifts.with_signs_reversed() if place % 2 else shifts

    pairs = zip(samples, half, strict=True)
    limits = np.ravel([shifts.counted_limits(level, ties) for shifts, ties in pairs])
    small = {
        place: side(place)
        for place in np.flatnonzero(np.isnan(limits)).tolist()
        if samples[place // 2].n <= MOST_AT_ONCE
    }
    suits = [place for place, each in small.items() if each.suits_batch(level, halves[place])]
    if suits:
        limits[suits] = lowest_shifts(shift_rows([small[place] for place in suits]), level)
    limits = _limits_of_large(samples, limits, level, half)
    for place in np.flatnonzero(np.isnan(limits)).tolist():
        limits[place] = side(place).lowest(level, halves[place])
    return [(low, -high) for low, high in limits.reshape(-1, 2).tolist()]


def _limits_of_large(
    samples: Sequence[Shifts], limits: FloatArray, level: float, half: Sequence[bool]
) -> FloatArray:
    """The limits, with those that follow from sums of powers; NaN where there are none yet."""
    known = {
        place: shifts.large_sample
        for place, shifts in enumerate(samples)
        if np.isnan(limits[2 * place : 2 * place + 2]).all()
        and (shifts.step is not None) == half[place]
    }
    large = {place: sample for place, sample in known.items() if sample is not None}
    if not large:
        return limits
    sides = [side for each in large.values() for side in (each, each.with_signs_reversed())]
    lowest = lowest_shifts_of_large(sides, level)
    places = 2 * np.array(list(large))
    limits[places], limits[places + 1] = lowest[::2], lowest[1::2]
    return limits


def limits_that_agree(
    low: float, high: float, mean: float, *, rejected: bool
) -> tuple[float, float, tuple[str, ...]]:
    """The limits, corrected so that zero lies between them exactly if it is not rejected.

    Examples
    --------
    >>> limits_that_agree(-0.01, 0.3, 0.15, rejected=False)
    (-0.01, 0.3, ())
    >>> limits_that_agree(0.01, 0.3, 0.15, rejected=False)
    (0.0, 0.3, ())
    >>> limits_that_agree(-0.01, 0.3, 0.15, rejected=True)[:2]
    (1.5e-14, 0.3)
    """
    if not rejected:
        return min(low, 0.0), max(high, 0.0), ()
    if low > 0 or high < 0:
        return low, high, ()
    note = ("the interval ends at 0, which is itself rejected",)
    beside = _BESIDE * mean
    return (beside, high, note) if mean > 0 else (low, beside, note)


def _per_weight(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    """The shifts that leave nothing of each difference."""
    return values if weights is None else values / weights


def _interval_of_few(shifts: Shifts, level: float) -> Interval:
    """The t interval, where no shift at all can be rejected, and all differences.

    At a lower level the smallest and the largest difference may be the limits, and the interval of
    a higher level contains that of a lower one.
    """
    n, mean = shifts.n, shifts.mean
    if n == 1:
        nan, notes = math.nan, ("with 1 pair there is no interval",)
        return Interval(mean, nan, nan, nan, "sign-flip", level, notes)
    note = f"with {n} pairs the sign-flip interval is unbounded; t interval given"
    apart = _per_weight(shifts.residuals, shifts.weights)
    error = shifts.error
    reach = float(scipy.special.stdtrit(n - 1, 0.5 + level / 2)) * error
    below, above = max(reach, -float(apart.min())), max(reach, float(apart.max()))
    if below > reach or above > reach:
        note = f"{note}, widened to all differences"
    return Interval(mean, mean - below, mean + above, error, "t", level, (note,))


def shifts_of(pairs: PairedScores) -> Shifts:
    """The differences of pairs, to be shifted: one by one, by their counts, or by their sums.

    Examples
    --------
    >>> shifts_of(PairedScores.of([0, 0, 0], [1, 1, 2])).values
    array([1., 2.])
    """
    if pairs.lattice is not None:
        lattice = pairs.lattice
        counts = lattice.multiplicities.astype(np.float64)
        shifts = Shifts(lattice.values, counts, step=lattice.step)
    elif pairs.sums is not None:
        shifts = SummedShifts(np.zeros(0), sums=pairs.sums)
    else:
        shifts = Shifts.of(pairs.differences, pairs.step, pairs.weights)
        if pairs.step is None and pairs.weights is None:
            shifts.__dict__.update(mean=pairs.mean, ends=pairs.ends)
            if pairs.standard_deviation > 0.0:
                shifts.__dict__["error"] = pairs.standard_deviation / math.sqrt(pairs.n)
    if pairs.sizes is None:  # the test has asked for the same sums as a rule
        shifts.__dict__["large_sample"] = pairs.large_sample
    return shifts


@dataclass(frozen=True)
class Shifts:
    """Differences, and the p-value of the test after a shift is subtracted from all of them.

    Parameters
    ----------
    values : ndarray
        The differences, or the distinct ones.
    counts : ndarray, optional
        How often each occurs; once by default.
    weights : ndarray, optional
        How much of the shift is subtracted from each difference; all of it by default. Their mean
        is 1, and with them each difference occurs once.
    step : float, optional
        The step of which all differences are multiples.

    Examples
    --------
    >>> shifts = Shifts.of(np.array([0.5, 1.0, 0.5, -0.5]), 0.5)
    >>> shifts.values, shifts.counts
    (array([-0.5,  0.5,  1. ]), array([1., 2., 1.]))
    """

    values: FloatArray
    counts: FloatArray | None = None
    weights: FloatArray | None = None
    step: float | None = None

    @classmethod
    def of(
        cls, differences: FloatArray, step: float | None, weights: FloatArray | None = None
    ) -> Shifts:
        """The distinct differences if they lie on a lattice and weigh alike, else all."""
        if step is None or weights is not None:
            return cls(differences, weights=weights, step=step)
        lowest, counts = count_multiples(differences, step)
        occupied = np.flatnonzero(counts)
        values = np.asarray((occupied + lowest) * step)
        return cls(values, counts[occupied].astype(np.float64), step=step)

    @lock_free_property
    def n(self) -> int:
        """The number of differences."""
        return self.values.size if self.counts is None else round(float(self.counts.sum()))

    @lock_free_property
    def mean(self) -> float:
        """The mean difference."""
        if self.counts is None:
            return float(self.values.mean())
        return sum_of_products(self.values, self.counts) / self.n

    @lock_free_property
    def large_sample(self) -> LargeSample | None:
        """The differences as sums of powers; None of few, or if some dominate the others."""
        if self.n <= MOST_AT_ONCE or self.weights is not None:
            return None
        return LargeSample.of(self.values, self.counts, self.step)

    @lock_free_property
    def ends(self) -> tuple[float, float]:
        """The least and the largest difference."""
        return float(self.values.min()), float(self.values.max())

    @lock_free_property
    def residuals(self) -> FloatArray:
        """How far the differences lie from those that a shift of every query would give."""
        return self.values - self.mean * (1.0 if self.weights is None else self.weights)

    @property
    def spread(self) -> float:
        """The distance between the extremes of the residuals."""
        if self.weights is None:
            return self.ends[1] - self.ends[0]
        return float(np.ptp(self.residuals))

    @property
    def are_equal(self) -> bool:
        """Whether only rounding separates the differences."""
        return self.spread <= _EQUAL * abs(self.mean)

    @property
    def squares(self) -> float:
        """The sum of the squared residuals."""
        counts = 1.0 if self.counts is None else self.counts
        return float((np.square(self.residuals) * counts).sum())

    @lock_free_property
    def error(self) -> float:
        """The standard error of the mean difference."""
        residuals = self.residuals
        if self.counts is None:
            return float(residuals.std(ddof=1)) / math.sqrt(self.n)
        away = residuals - sum_of_products(residuals, self.counts) / self.n
        squares = sum_of_products(np.square(away), self.counts)
        return math.sqrt(squares / (self.n - 1) / self.n)

    def with_signs_reversed(self) -> Shifts:
        """The same with the signs of all differences reversed."""
        return Shifts(-self.values, self.counts, self.weights, self.step)

    def lowest(self, level: float, half: bool) -> float:
        """The lower limit: the smallest shift that is accepted, at the one-sided level."""
        n = self.n
        if half and self.step is not None:
            # A shift below all differences leaves all signs alike, and its p-value is the smallest.
            least = float(_per_weight(self.values, self.weights).min())
            beyond = least + _PRECISION * (self.mean - least)
            if self.pvalue(beyond, half) > level:
                return least
            return self._search_lowest(level, half, n)
        if n > _MOST_LISTED:
            return self._search_lowest(level, half, n)
        # Flipping the signs of a subset gives a sum as large as the observed one exactly if the
        # mean of the subset, weighted if there are weights, is at most the shift; the observed
        # pattern itself always counts. So the limit is an order statistic of all these means.
        rank = math.floor(level * 2**n + (0.5 if half else 0.0))
        return float(np.partition(self._subset_means(), rank - 1)[rank - 1])

    def counted_limits(self, level: float, half: bool) -> tuple[float, float]:
        """The lower limit of both sides, from the counts of subsets; NaN if there are too many."""
        if self.weights is not None or (half and self.step is None):
            return math.nan, math.nan
        law = SubsetLaw.of(self.values, self.counts, self.step if half else None)
        if law is None:
            return math.nan, math.nan
        z = -float(scipy.special.ndtri(level))
        reach, other = (side.normal_reach(z) for side in (self, self.with_signs_reversed()))
        turned = law.with_signs_reversed()
        return law.lowest(level, reach, self.mean), turned.lowest(level, other, -self.mean)

    def suits_batch(self, level: float, half: bool) -> bool:
        """Whether `limit_batch` can find the limit: the p-value is no staircase there."""
        is_spread = self.step is not None
        if self.n > MOST_AT_ONCE or is_spread != half:
            return False
        if self.counts is None and not is_spread:
            distinct = np.unique(self.values).size
            return distinct > MOST_LISTED or (self.n > MOST_LISTED and distinct > MOST_COUNTED)
        counts = np.ones(self.values.size) if self.counts is None else self.counts
        apart = _per_weight(self.values, self.weights)
        beyond = float(counts[apart > apart.min()].sum())
        # With few differences above the least, the least itself may be the limit.
        return log2_sums(counts) > MOST_LISTED and 0.5**beyond < level / 4

    def pvalue(self, shift: float, half: bool, tail_of: TailFunction = rough_tail) -> float:
        """The one-sided p-value of a shift below the mean."""
        left = self.values - (shift if self.weights is None else shift * self.weights)
        threshold = float(left.sum()) if self.counts is None else sum_of_products(left, self.counts)
        magnitudes, counts = np.abs(left, out=left), self.counts
        is_moved = magnitudes > TIE_TOLERANCE * abs(shift)
        if not is_moved.all():
            magnitudes, counts = magnitudes[is_moved], None if counts is None else counts[is_moved]
        if half and self.step is not None:
            return tail_of(magnitudes, counts, max(threshold, 0.0), self.step).at_least
        tail = tail_of(magnitudes, counts, max(threshold, 0.0))
        return tail.at_least - (tail.equal / 2 if half else 0.0)

    def repeated(self) -> tuple[FloatArray, FloatArray]:
        """Every difference, equal ones as often as they occur, and their weights."""
        counts = 1 if self.counts is None else self.counts.astype(np.int64)
        values = np.repeat(self.values, counts)
        return values, np.ones_like(values) if self.weights is None else self.weights

    def _subset_means(self) -> FloatArray:
        """The weighted mean of each subset but the empty one."""
        values, weights = self.repeated()
        sums, sizes = np.zeros(1), np.zeros(1)
        for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
            sums, sizes = np.append(sums, sums + value), np.append(sizes, sizes + weight)
        return np.asarray(sums[1:] / sizes[1:])

    def _search_lowest(self, level: float, half: bool, n: int) -> float:
        """The lower limit by search: on the scale of z the p-value is close to a straight line.

        Coarse p-values, which cost a fraction of the true ones, lead close to the limit; there two
        true p-values are enough as a rule.
        """
        mean, z = self.mean, -float(scipy.special.ndtri(level))
        reach = self.normal_reach(z)

        def excess(shift: float, tail_of: TailFunction) -> float:
            # A p-value can underflow to 0, whose normal quantile is infinite.
            return float(scipy.special.ndtri(max(self.pvalue(shift, half, tail_of), _SMALLEST))) + z

        true = functools.cache(functools.partial(excess, tail_of=rough_tail))
        if (n if self.counts is None else log2_sums(self.counts)) > MOST_LISTED:
            coarse = functools.partial(excess, tail_of=coarse_tail)
            start = SecantPoint(mean - reach, z / reach)
            near = follow_secants(coarse, start, _NEAR * reach, mean)
            limit = near and follow_secants(true, near, _PRECISION * reach, mean)
            if limit:
                return limit.shift
        # With few distinct sums the p-value is a staircase, on which secants do not converge.
        return _search_bracket(true, mean, reach, z)

    def normal_reach(self, z: float) -> float:
        """How far below the mean the limit is if the flipped sum is normal.

        The variance of that sum is the sum of squares after the shift, so it grows with the shift:
        ``(n r)^2 = z^2 (squares + 2 r cross + r^2 own)`` is solved for the reach r.
        """
        n = self.n
        own, cross = float(n), 0.0
        if self.weights is not None:
            own, cross = (
                sum_of_products(self.weights, self.weights),
                sum_of_products(self.weights, self.residuals),
            )
        squares = self.squares
        # With a few heavy weights no reach is far enough; then the search begins at some reach.
        most = max(n * n - z * z * own, float(n))
        half = z * z * cross / most
        return half + math.sqrt(half * half + z * z * squares / most)


@dataclass(frozen=True)
class SummedShifts(Shifts):
    """Differences of which sums of powers are known, and the p-value after a shift.

    Parameters
    ----------
    values : ndarray
        Empty.
    sign : float
        -1.0 if the signs of all differences are reversed.
    sums : PowerSums
        The sums of the powers of the differences.
    """

    sign: float = 1.0
    sums: PowerSums = field(kw_only=True)

    @lock_free_property
    def n(self) -> int:
        """The number of differences."""
        return self.sums.n

    @lock_free_property
    def mean(self) -> float:
        """The mean difference."""
        return self.sign * self.sums.mean

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest difference."""
        low, high = sorted((self.sign * self.sums.minimum, self.sign * self.sums.maximum))
        return low, high

    @property
    def spread(self) -> float:
        """The distance between the extremes."""
        return self.sums.maximum - self.sums.minimum

    @property
    def squares(self) -> float:
        """The sum of the squared distances from the mean."""
        return (self.n - 1) * self.sums.standard_deviation**2

    @property
    def error(self) -> float:
        """The standard error of the mean difference."""
        return self.sums.standard_deviation / math.sqrt(self.n)

    def with_signs_reversed(self) -> Shifts:
        """The same with the signs of all differences reversed."""
        return replace(self, sign=-self.sign)

    def lowest(self, level: float, half: bool) -> float:
        """The lower limit: the smallest shift that is accepted, at the one-sided level."""
        return self._search_lowest(level, half, self.n)

    def pvalue(self, shift: float, half: bool, tail_of: TailFunction = rough_tail) -> float:  # noqa: ARG002
        """The one-sided p-value of a shift below the mean."""
        signs = SummedSigns.of(self.sums, self.sign * shift)
        threshold = self.n * (self.mean - shift)
        return summed_tail(signs, max(threshold, 0.0) / signs.unit).at_least

    def counted_limits(self, level: float, half: bool) -> tuple[float, float]:  # noqa: ARG002
        """Never: the differences themselves are not known."""
        return math.nan, math.nan

    def suits_batch(self, level: float, half: bool) -> bool:  # noqa: ARG002
        """Never: the differences themselves are not known."""
        return False


def shift_rows(sides: Sequence[Shifts]) -> ShiftRows:
    """The differences of several samples as a matrix, equal ones repeated.

    Examples
    --------
    >>> shift_rows([Shifts(np.array([0.5, 1.0]), np.array([2.0, 1.0])), Shifts(np.ones(1))]).values
    array([[0.5, 0.5, 1. , 0. , 0. , 0. , 0. , 0. ],
           [1. , 0. , 0. , 0. , 0. , 0. , 0. , 0. ]])
    """
    repeated = [side.repeated() for side in sides]
    values = np.zeros((len(sides), batch_width(max(row.size for row, _ in repeated))))
    weights = np.zeros_like(values)
    for place, (row, weight) in enumerate(repeated):
        values[place, : row.size], weights[place, : row.size] = row, weight
    return ShiftRows(values, weights, np.array([side.step or 0.0 for side in sides]))


@dataclass(frozen=True, slots=True)
class SecantPoint:
    """A shift close to where an excess is zero, and the slope of the excess there."""

    shift: float
    slope: float


def follow_secants(
    excess: Callable[[float], float], start: SecantPoint, precision: float, most: float
) -> SecantPoint | None:
    """Where the excess is zero, by secants; None if it is too far from a straight line.

    Parameters
    ----------
    excess : callable
        A function of a shift.
    start : SecantPoint
        Where to begin.
    precision : float
        How far, by the last slope, the answer may lie from the last shift that was tried.
    most : float
        The largest shift to try.

    Examples
    --------
    >>> root = follow_secants(lambda shift: shift**2 - 2, SecantPoint(1.5, 2.5), 1e-6, 2.0)
    >>> round(root.shift, 9)
    1.414213562
    """
    shift, slope = start.shift, start.slope
    last, step = excess(shift), 0.0
    for _ in range(_MOST_SECANTS):
        step = -last / slope
        if abs(step) <= precision:
            return SecantPoint(shift + step, slope)
        shift = min(shift + step, most)
        now = excess(shift)
        slope, last = (now - last) / step, now
        if not (slope > 0 and math.isfinite(slope)):
            break
    return None


def _search_bracket(excess: Callable[[float], float], mean: float, reach: float, z: float) -> float:
    """Where the excess is zero, whatever its form, between two shifts with opposite signs of it."""
    first = mean - reach
    away = _SAFETY * reach * excess(first) / z
    away += math.copysign(_MARGIN * reach, away)
    second = min(first - away, mean)
    while excess(first) * excess(second) > 0 and second < mean:
        away *= 2
        second = min(first - away, mean)
    return float(scipy.optimize.brentq(excess, first, second, xtol=_PRECISION * reach))

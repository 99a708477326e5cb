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

Both need the law of a sum of random signs, ``S = sum of sign_i * size_i``. The signs of few values
are listed. Of more, an integral along a line through the saddlepoint gives the tail with full
relative precision, however small it is:

    P(S >= s) = 1 / 2 pi * integral of exp(K(z) - z s) kernel(z) dt,    z = tilt + i t,
    K(z) = sum of count_i log cosh(z size_i)

The kernel is 1 / z if the sums lie on no lattice, a geometric series if they do, and that of a
uniform law if each sum is spread over its cell. The trapezoidal rule needs some twenty terms,
spaced by a bound of its error: Poisson's summation formula, and Chernoff's bound beyond the
threshold, which is explicit as K'' falls with the tilt.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import binom, ndtri, stdtrit

from rageval_report.errors import DataError
from rageval_report.stats import base
from rageval_report.stats.base import Alternative, Interval
from rageval_report.stats.columns import Column, condense, lattice_step
from rageval_report.types import ComplexArray, FloatArray, IndexArray

# -- the test and the interval

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
_PRECISION = 1e-9
# A limit that may not be zero lies this far from it, relative to the mean.
_BESIDE = 1e-13

# -- the law of a sum of random signs

# Sums closer than this, relative to the sum of all sizes, are equal: adding doubles in another
# order changes a sum by about 1e-13, and real differences are rarely as close as 1e-11.
SAME_SUM = 1e-11
# The signs of up to so many values are listed, two lists of 2**14 sums; of more if values occur
# several times; and fewer of sums on a lattice, or spread, whose integral converges quickly.
_MOST_LISTED, _MOST_LISTED_OF_STEPS, _MOST_COUNTED = 28, 20, 1000
# Longer lists, of sums that matter, where the integral does not converge.
_LONGEST_LIST = 2**20
# The relative error of a tail is about exp(-27) = 2e-12 where the integral converges quickly, and
# at most this where it does not: a few dozen values without a lattice. Of a lattice that a shift
# moves it is up to 1e-4 (3e-4 in tails below 1e-70): the integrand returns for ever, if by less.
DIGITS = 27.0
_TOLERANCE = 1e-6
# Numbers of terms times values: up to which none is left out, and the largest of few values, of a
# first attempt (some 20 ms), and of the last.
_FEW_TERMS, _TERMS_OF_FEW, _MANY_TERMS, _MOST_TERMS = 2**12, 2**20, 2**22, 2**23
# Up to so many additions a convolution takes less time than the integral.
_MOST_ADDITIONS = 2**20
# Up to so many values, lists of all sums take less time than many terms.
_RATHER_LISTED = 36
# So many neighbouring terms are computed together, and so many numbers at once.
_GROUP, _AT_ONCE = 8, 2**18
# Terms of this size, relative to the first, do not matter.
_SMALL_TERM = 1e-7
# Returns of the cosines are looked for at so many places; a step may be this part of the largest.
_WAVES = 2**10
# So many values, at most, that dominate the others have their signs listed; at once if the square
# of each is this many times the variance of the others. So many sums of them may matter.
_MOST_DOMINATING, _MUCH_LARGER, _MOST_NEAR = 20, 400.0, 200
# From so many values on they may have been condensed.
_CONDENSED = 2**12
# The smallest values are left out if their sum is smaller than this part of the whole.
_DUST = 1e-12


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
    >>> round(interval.low, 9), round(interval.high, 9)  # of six, the smallest and the largest
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
        return Interval.unknown(mean, "sign-flip", level, "one pair is too few for an interval")
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
    """The t interval where no shift can be rejected, widened to all differences."""
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
    """Differences from which a shift is subtracted, in units of a power of two."""

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
    """Where an increasing function changes sign, by secants, of a staircase by halves."""
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


# -- the law of a sum of random signs: how likely it reaches a threshold


@dataclass(frozen=True)
class TiltedLine:
    """The line of integration for a threshold, and how the integrand falls along it."""

    tilt: float
    slopes: FloatArray
    bend: float
    exponent: float
    period: float


@dataclass(frozen=True)
class SignSum:
    """A sum of random signs, and what is counted of it."""

    sizes: FloatArray
    counts: FloatArray
    step: float = 0.0
    ties: float = 1.0
    spread: float = 0.0

    def tail(self, threshold: float, digits: float = DIGITS) -> float:
        """The probability that the sum is at least as large as the threshold."""
        if threshold < 0:
            return 1.0 - replace(self, ties=1.0 - self.ties).tail(-threshold, digits)
        n, top = float(self.counts.sum()), float(self.sizes @ self.counts)
        if threshold > top * (1 + SAME_SUM):
            return 0.0
        if threshold >= top * (1 - SAME_SUM):
            return float(0.5**n * (0.5 if self.spread else self.ties))
        # The number of different sums, as a power of two.
        size = float(np.log2(self.counts + 1).sum()) if n <= _MOST_COUNTED else math.inf
        most_listed = _MOST_LISTED_OF_STEPS if self.step or self.spread else _MOST_LISTED
        tail = self._convolved(top, threshold) if self.step else None
        if tail is None and size > most_listed:
            tail = self._given_odd(threshold, digits)
            if tail is None:
                tail = self._given_largest(threshold, digits, _MUCH_LARGER)
            if tail is None:
                terms = _TERMS_OF_FEW if size <= _RATHER_LISTED else _MANY_TERMS
                tail = self._integrated(top, threshold, digits, terms)
        if tail is None:
            tail = self._listed(top, threshold)
        if tail is None:
            tail = self._given_largest(threshold, digits, 0.0)
        if tail is None:
            tail = self._integrated(top, threshold, digits, _MOST_TERMS, cut=True)
        return tail or 0.0

    def without_dust(self) -> SignSum:
        """The same without the smallest values: sums that only they separate are equal."""
        least = _DUST * float(self.sizes @ self.counts)
        if self.step or self.spread or self.sizes.min() >= least:
            return self
        order = np.argsort(self.sizes)
        a, c = self.sizes[order], self.counts[order]
        kept = np.cumsum(a * c) >= least
        return replace(self, sizes=a[kept], counts=c[kept])

    def line(self, top: float, threshold: float, digits: float) -> TiltedLine:
        """The line of integration, close to the saddlepoint and not too close to zero."""
        a, c = self.sizes, self.counts
        squares = a * a * c
        variance = float(squares.sum()) + self.spread * self.spread / 3
        least = 2 / math.sqrt(variance)

        def slope_and_bend(tilt: float) -> tuple[FloatArray, float, float]:
            slopes = np.tanh(tilt * a)
            slope, bend = float(a * c @ slopes), float(squares @ (1 - slopes * slopes))
            if self.spread:  # a uniform summand of its own
                y = max(tilt * self.spread, 1e-3)
                slope += self.spread * (1 / math.tanh(y) - 1 / y)
                bend += self.spread**2 * (1 / y**2 - 1 / math.sinh(min(y, 300.0)) ** 2)
            return slopes, slope, max(bend, 1e-10 * variance)

        tilt = max(threshold / variance, least)
        slopes, slope, bend = slope_and_bend(tilt)
        for _ in range(100):
            missing = threshold - slope
            if missing <= math.sqrt(0.05 * bend) or bend <= 1e-10 * variance:
                break
            # The slope is a concave function, so that no step of Newton's goes too far.
            tilt += missing / bend
            slopes, slope, bend = slope_and_bend(tilt)
        x = tilt * a
        exponent = float(c @ (x + np.log1p(np.exp(-2 * x)) - math.log(2))) - tilt * threshold
        enough = digits + math.log1p(2.5 * tilt * math.sqrt(bend))
        beyond = slope - threshold + math.sqrt(2 * bend * enough)
        most = top - threshold + 2 * max(self.step, self.spread)
        period = max((enough - exponent) / tilt, min(beyond, most))
        return TiltedLine(tilt, slopes, bend, exponent, period)

    def _integrated(
        self, top: float, threshold: float, digits: float, most_terms: int, *, cut: bool = False
    ) -> float | None:
        """The tail by the integral; if that needs more terms None, or what it is so far."""
        line = self.line(top, threshold, digits)
        if line.exponent < -740:
            return 0.0
        most_groups = max(most_terms // (_GROUP * self.sizes.size), 1)
        period, n_groups = line.period, 2**60
        if self.step:
            n_groups = math.ceil(period / self.step / (4 * _GROUP))
            # A product of small primes, as a Fourier transform is that long.
            n_groups += -n_groups % (1 << max(n_groups.bit_length() - 4, 0))
            period = n_groups * self.step * 4 * _GROUP
        spacing = 2 * math.pi / period
        front = math.ceil(math.sqrt(2 * digits / line.bend) / spacing / _GROUP) + 1
        returns, noise = np.zeros(0, dtype=np.intp), 0.0
        if n_groups * self.sizes.size <= _FEW_TERMS:
            front = n_groups
        else:
            far, returns, noise = self._returns(line, spacing, n_groups, digits)
            front = max(front, far)
        if front > most_groups and not cut:
            return None
        front = min(front, n_groups, most_groups)
        total = 0.5 * float(self._kernel(np.array([line.tilt + 0j]))[0].real)
        least = math.exp(-digits) * total / (1 + line.tilt * math.sqrt(line.bend))
        n_done, groups = 0, np.append(np.arange(front), returns[returns >= front])
        while n_done + groups.size <= most_groups or cut:
            n_done += groups.size
            values = self._values(line, spacing, groups)
            places = _GROUP * groups[:, np.newaxis] + np.arange(1, _GROUP + 1)
            terms = (values * np.exp(-1j * spacing * threshold * places)).real
            terms[places == n_groups * _GROUP] *= 0.5
            total += float(terms.sum())
            # Off a lattice terms that have not died out at the front are followed farther.
            at_front = np.abs(values[groups == front - 1])
            is_quiet = at_front.size > 0 and float(at_front.max()) < max(noise, least)
            if is_quiet or self.step or n_done > most_groups:
                return spacing / math.pi * math.exp(line.exponent) * total
            groups = np.setdiff1d(np.arange(front, 2 * front), returns)
            front *= 2
        return None

    def _values(self, line: TiltedLine, spacing: float, groups: IndexArray) -> ComplexArray:
        """The integrand without the threshold's factor, a row per group of neighbouring places."""
        within = np.exp(1j * spacing * np.outer(self.sizes, np.arange(1, _GROUP + 1)))
        starts = spacing * _GROUP * groups
        values = np.empty((groups.size, _GROUP), dtype=np.complex128)
        n_rows = max(1, _AT_ONCE // (_GROUP * self.sizes.size))
        for row in range(0, groups.size, n_rows):
            some = np.exp(1j * np.outer(self.sizes, starts[row : row + n_rows]))
            turns = some[:, :, np.newaxis] * within[:, np.newaxis]
            turns.imag *= line.slopes[:, np.newaxis, np.newaxis]
            values[row : row + n_rows] = product_of_powers(turns, self.counts)
        t = starts[:, np.newaxis] + spacing * np.arange(1, _GROUP + 1)
        return np.asarray(values * self._kernel(line.tilt + 1j * t))

    def _returns(
        self, line: TiltedLine, spacing: float, n_groups: int, digits: float
    ) -> tuple[int, IndexArray, float]:
        """How many groups of places matter, other groups that may, and the size of noise."""
        a, c = self.sizes, self.counts
        n, weights = float(c.sum()), c * (1 - line.slopes * line.slopes)
        if self.step:
            stride = max(1, min(_GROUP, math.floor(0.4 / (spacing * float(a.max())))))
            stride = 1 << (stride.bit_length() - 1)
            length = 2 * _GROUP * n_groups // stride
            places, ruler = np.rint(a / self.step).astype(np.intp) % length, float(stride)
        else:
            length, most = 8 * _WAVES, _WAVES - 1
            places = np.rint(a * (most / a.max())).astype(np.intp)
            ruler = math.pi * most / length / float(a.max()) / spacing
        share = np.fft.rfft(np.bincount(places, weights, length)).real
        noise = far = 0.0
        least = share[0] + 2.1 * n * math.expm1(2 * math.log(_SMALL_TERM) / n)
        if not self.step:
            share, least = share[: 2 * _WAVES], max(least, 0.6 * share[0])
            deviation = math.sqrt(line.bend)
            allowed = max(_TOLERANCE, math.exp(-0.7 * digits)) / (1 + line.tilt * deviation)
            noise = math.exp(0.5 * float(c @ np.log1p(-0.5 * weights / c)))
            far = (noise / allowed) ** 2 / deviation
            noise *= 4 / max(far, line.tilt)
        alike = np.flatnonzero(share > least)[1:]
        size = np.exp(0.5 * n * np.log1p((share[alike] - share[0]) / (2.1 * n)))
        size *= np.abs(self._kernel(line.tilt + 1j * spacing * ruler * alike)) * line.tilt
        centres = (alike[size > _SMALL_TERM] * (ruler / _GROUP)).astype(np.intp)
        returns = np.unique(np.concatenate([centres - 1, centres, centres + 1]))
        returns = returns[(returns >= 0) & (returns < n_groups)]
        return math.ceil(min(far / spacing, 2.0**50) / _GROUP), returns, noise

    def _convolved(self, top: float, threshold: float) -> float | None:
        """The tail from the number of sets of values with each sum; None if that takes too long."""
        n, most = float(self.counts.sum()), round((top - threshold) / 2 / self.step)
        if n > 512 or most * top > _MOST_ADDITIONS * self.step:
            return None
        sets = np.eye(1, most + 1)[0]
        for size, count in zip(self.sizes, self.counts, strict=True):
            multiple = round(float(size) / self.step)
            several = np.arange(min(int(count), most // multiple) + 1)
            ways = np.zeros(multiple * several[-1] + 1)
            ways[::multiple] = binom(count, several)
            sets = np.convolve(sets, ways)[: most + 1]
        return math.ldexp(float(sets.sum() - (1.0 - self.ties) * sets[most]), -round(n))

    def _listed(self, top: float, threshold: float) -> float | None:
        """The tail from the sums of both halves; None if these are too many."""
        # Counted are the sets of values with a negative sign whose sum is at most this.
        most, near = (top - threshold) / 2, SAME_SUM * top
        if self.spread:
            near = self.spread / 2
        is_small = self.sizes <= most + near
        order = np.argsort(self.sizes[is_small])
        sizes, counts = self.sizes[is_small][order], self.counts[is_small][order]
        if counts.sum() > _MOST_COUNTED:
            return None
        if self.step:
            sizes, most, near = np.rint(sizes / self.step), round(most / self.step), 0.25
        left = _subset_sums(sizes[::2], counts[::2], most + near)
        right = _subset_sums(sizes[1::2], counts[1::2], most + near)
        if left is None or right is None:
            return None
        room, sums = most - left[0], right[0]
        number = np.append(0.0, np.cumsum(right[1]))
        up_to = np.searchsorted(sums, room + near, "right")
        sets = number[up_to]
        if self.spread or self.ties < 1.0:
            below = np.searchsorted(sums, room - near, "left")
            near_sets, share = sets - number[below], np.full(room.size, self.ties)
            if self.spread:
                share = 0.5 + room / self.spread
            sets = number[below] + near_sets * share
        if self.spread:
            totals = np.append(0.0, np.cumsum(sums * right[1]))
            sets -= (totals[up_to] - totals[below]) / self.spread
        return math.ldexp(float((sets * left[1]).sum()), -round(float(self.counts.sum())))

    def _given_largest(self, threshold: float, digits: float, excess: float) -> float | None:
        """The tail given the signs of values that dominate the others; None if none do."""
        squares = self.sizes * self.sizes
        if squares.max() * (_MOST_DOMINATING + 1) < squares @ self.counts:
            return None
        order = np.argsort(-squares)
        a, c = self.sizes[order], self.counts[order]
        rest = (squares[order] * c)[::-1].cumsum()[::-1]
        smooth = np.flatnonzero(rest >= 25 * squares[order])
        if not smooth.size or not 0 < c[: smooth[0]].sum() <= _MOST_DOMINATING:
            return None
        first = int(smooth[0])
        if a[first - 1] ** 2 < excess * rest[first]:
            return None
        signs, reach = np.zeros(1), 10 * math.sqrt(rest[first])
        for size in np.repeat(a[:first], c[:first].astype(np.intp)):
            signs = np.concatenate([signs + size, signs - size])
        others = replace(self, sizes=a[first:], counts=c[first:])
        left = np.sort(threshold - signs)
        below, up_to = np.searchsorted(left, [-reach, reach]).tolist()
        # If no sum of the large values comes close, the nearest of them decides.
        near = left[below : max(up_to, below + 1)] if not below else left[below:up_to]
        if near.size > _MOST_NEAR:
            return None
        return float(below + sum(others.tail(x, digits) for x in near.tolist())) / signs.size

    def _given_odd(self, threshold: float, digits: float) -> float | None:
        """The tail given the signs of a few values off the lattice of the others; None off any."""
        n = float(self.counts.sum())
        if self.step or self.spread or not 2 * self.sizes.size < n < _CONDENSED:
            return None
        step = lattice_step(self.sizes[self.counts > 1])
        if step is None:
            return None
        is_odd = np.abs(self.sizes / step - np.rint(self.sizes / step)) > 1e-6
        if self.counts[is_odd].sum() > _MOST_DOMINATING / 2:
            return None
        signs = np.zeros(1)
        for size in np.repeat(self.sizes[is_odd], self.counts[is_odd].astype(np.intp)):
            signs = np.concatenate([signs + size, signs - size])
        others = replace(self, sizes=self.sizes[~is_odd], counts=self.counts[~is_odd], step=step)
        top, total = float(others.sizes @ others.counts), 0.0
        for left in (threshold - signs).tolist():
            cells = (top - left) / (2 * step)
            whole = math.floor(cells + 1e-6)
            # Between two sums of the others the next one above counts in full.
            ties = self.ties if cells - whole < 1e-6 else 1.0
            total += replace(others, ties=ties).tail(top - 2 * step * whole, digits)
        return total / signs.size

    def _kernel(self, z: npt.NDArray[np.complexfloating]) -> ComplexArray:
        if self.step:
            width = 2 * self.step
            return np.asarray(width * (self.ties + 1 / np.expm1(z * width)))
        if self.spread:
            return np.asarray(np.sinh(z * self.spread) / (z * z * self.spread))
        return np.asarray(1 / z)


def _subset_sums(
    sizes: FloatArray, counts: FloatArray, most: float
) -> tuple[FloatArray, FloatArray] | None:
    """The sums of subsets up to the largest, ascending, and their numbers; None if too many."""
    sums, numbers = np.zeros(1), np.ones(1)
    for size, count in zip(sizes.tolist(), counts.astype(int).tolist(), strict=True):
        sums = np.add.outer(size * np.arange(count + 1), sums).ravel()
        if count > 1 or numbers.size > 1:
            ways = np.array([math.comb(count, k) for k in range(count + 1)], dtype=np.float64)
            numbers = np.multiply.outer(ways, np.broadcast_to(numbers, sums.size // (count + 1)))
            numbers = numbers.ravel()
        kept = sums <= most
        if not kept.all():
            sums = sums[kept]
            numbers = numbers[kept] if numbers.size > 1 else numbers
        if sums.size > _LONGEST_LIST:
            return None
    if numbers.size == 1:
        return np.sort(sums), np.ones(sums.size)
    order = np.argsort(sums)
    return sums[order], numbers[order]


def product_of_powers(factors: ComplexArray, counts: FloatArray) -> ComplexArray:
    """The product of the rows, each as often as it occurs, by repeated squares."""
    left = counts.astype(np.int64)
    product = np.ones(factors.shape[1:], dtype=np.complex128)
    while True:
        is_odd = left % 2 == 1
        product *= np.multiply.reduce(factors if is_odd.all() else factors[is_odd], axis=0)
        left //= 2
        if not left.any():
            return product
        factors, left = factors[left > 0] ** 2, left[left > 0]

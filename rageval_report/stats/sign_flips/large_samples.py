"""Tails of many large samples at once, each known by the sums of the powers of its differences.

The logarithm K of the moment generating function of a sum of random signs is a series in the even
powers of the differences, and a shift of all differences moves these sums by the binomial theorem.
So one pass over a sample serves its p-value and every round of the search for its limits, and all
samples of a table are a few arrays. The integral is that of `fourier`: the same line through the
saddlepoint, the same nodes.

What this takes for granted is checked, sample by sample: hardly any difference is so large that the
series does not converge (these few are multiplied one by one), and the characteristic function does
not return far out. A fast Fourier transform of the histogram shows where it might. Sums that are
spread over the cells of a lattice hardly see its returns; a bound says how little. A sample that
fails a check is left to `sign_tail`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import scipy

from rageval_report.stats.sign_flips.fourier import FAR
from rageval_report.stats.sign_flips.limit_batch import secants_together
from rageval_report.stats.sign_flips.saddlepoint import LEAST_TILT
from rageval_report.stats.sign_flips.sign_sums import coefficients_of_log_cosh
from rageval_report.stats.sign_flips.summed_signs import root_of_squares
from rageval_report.stats.sign_flips.trapezoid import shortest_period
from rageval_report.stats.states.power_sums import ORDER_OF_SIGNS, PowerSums, sums_of_powers
from rageval_report.types import FloatArray, IntArray

# In units in which the squares of the differences sum up to 1, about: with larger values the series
# would not converge at the outermost nodes, which lie some ten units from zero.
_LARGEST = 0.085
# So many larger values are multiplied one by one at each node.
_MOST_LARGE = 12
# How far the computed nodes reach, in standard deviations of a normal characteristic function:
# farther than the terms matter, so that the bound on all others need not be sharp.
_BODY = 9.5
# The trapezoid rule may add this share of the result.
_ALIAS = 1e-11
# The largest tilt of these lines.
_MOST_TILT = 6.0
# Powers that are left out change K by this much at most, where the terms are as large as the first;
# a tail has that relative error. At a node t the terms have fallen by exp(-_DECAY * t**2) or more.
_LEFT_OUT = 1e-14
_DECAY = 0.3
# A shift makes differences larger by less than this factor.
_ROOM = 1.2
_SMALLEST = 1e-10  # below this, `sign_tail` has a formula that is good enough
_CLOSE = 1e-9  # how close to the saddlepoint the tilt is, in standard deviations
_MOST_STEPS = 50
# Two neighbours on the grid of the transform are this far apart at most, and the grid begins here;
# nearer to zero the nodes are computed. Both in radians per unit.
_SPACING, _FIRST = 4.0, 1.95 * _BODY
# Beyond the wave number up to which sums of powers suffice, a grid with this share of that number
# between neighbours, and so much at most, is tried first: it takes a third of the time.
_WIDE_SHARE, _WIDEST = 0.5, 32.0
# Terms are left out below 1e-9, relative to the first: this is the length of the vector (see
# `Histogram.dies_out`) that a term then has, for the largest tilt.
_AWAY = math.sqrt(2.0 * 4.0 * math.log(1e9)) * math.cosh(_MOST_TILT * _LARGEST)
_LEAST_EXPONENT = -1000
# The width of a bin of the histogram, in units.
_BIN = 1.0 / 32_000
# In units: more than any tail that is not negligible.
_FARTHEST = 1e9
_BLOCK = 2**14  # numbers of which a few arrays stay in the second-level cache
# The share of a tail that the returns of a lattice may add; a limit then moves by 1e-5 of the half
# width at most. So many returns are looked at: farther ones add next to nothing.
_RETURNS = 5e-5
_MOST_RETURNS = 100
# How far out the terms are followed, in tilts: in a search, and for a p-value that is shown.
_FAR, _FAR_OF_TEST = 1000.0, FAR
# How precisely a limit is computed, in half widths of the interval.
_PRECISION = 1e-9


@cache
def _binomials() -> FloatArray:
    """The binomial coefficients of the even powers: a row for each of 2, 4, ..., 26."""
    orders, lower = 2 * np.arange(1, ORDER_OF_SIGNS // 2 + 1), np.arange(ORDER_OF_SIGNS + 1)
    return np.asarray(scipy.special.binom(orders[:, np.newaxis], lower))


@cache
def _largest_by_order() -> FloatArray:
    """The largest differences for which the powers above 2, 4, ..., 24 do not matter.

    The coefficient of the kth power in log cosh is at most 2 (2 / pi)**k / k, and the sum of the
    kth powers at most largest**(k - 2), as the squares sum up to 1. The first power that is left
    out bounds all of them.
    """
    left_out = np.arange(4.0, ORDER_OF_SIGNS + 1, 2.0)
    # Where |z|**k exp(-_DECAY t**2) is largest, on the outermost line.
    squares = np.maximum(_MOST_TILT**2, left_out / (2.0 * _DECAY))
    sizes = 2.0 / left_out * (2.0 / math.pi * np.sqrt(squares)) ** left_out
    sizes *= np.exp(-_DECAY * (squares - _MOST_TILT**2))
    return np.asarray((_LEFT_OUT / sizes) ** (1.0 / (left_out - 2.0)) / _ROOM)


def needed_order(largest: float) -> int:
    """The highest power that matters where no difference is larger than this, in units; at least 4.

    Examples
    --------
    >>> [needed_order(largest) for largest in (0.003, 0.02, 0.08)]
    [8, 14, 26]
    """
    return max(4, 2 + 2 * int(np.searchsorted(_largest_by_order(), largest)))


@dataclass(frozen=True, slots=True, eq=False)
class LargeSample:
    """Differences, counted from their mean in units of the root of the sum of their squares.

    Parameters
    ----------
    n : float
        The number of differences.
    mean, unit : float
        Their mean, and the unit.
    sums : ndarray of shape (order + 1,)
        The sums of the powers 0 to an even order, at most 26, of all but the largest ones.
    large : ndarray
        The largest ones, one by one.
    histogram : Histogram
        All but the largest ones.
    step : float
        The width of the cells over which sums are spread, in units; 0 if they are not spread.

    Examples
    --------
    >>> sample = LargeSample.of(np.sin(np.arange(4000.0)), None, None)
    >>> sample.n, round(float(sample.sums[2]), 9), sample.large.size
    (4000.0, 1.0, 0)
    """

    n: float
    mean: float
    unit: float
    sums: FloatArray
    large: FloatArray
    histogram: Histogram
    step: float

    @classmethod
    def of(
        cls, values: FloatArray, counts: FloatArray | None, step: float | None
    ) -> LargeSample | None:
        """The sample; None if too many values are large, or are equal.

        Parameters
        ----------
        values : ndarray
            The differences.
        counts : ndarray, optional
            How often each occurs; once by default.
        step : float, optional
            The step of which they are multiples, if sums are to be spread over their cells.
        """
        values, n_zero = _without_zeros(values) if counts is None else (values, 0.0)
        n = n_zero + float(values.size if counts is None else counts.sum())
        total = float(values.sum() if counts is None else (values * counts).sum())
        mean = total / n
        at_zero_too = abs(mean) if n_zero else 0.0
        top = max(float(values.max()) - mean, mean - float(values.min()), at_zero_too)
        exponent = math.frexp(top)[1]
        # Of numbers so small that their inverse overflows, nothing is summed.
        if not top > 0.0 or exponent < _LEAST_EXPONENT:
            return None
        # Without zeros the mean may lie so far from 0 that its powers overflow.
        to_zero = math.ldexp(-mean, -exponent) if n_zero else 0.0
        at_zero = n_zero * to_zero ** np.arange(ORDER_OF_SIGNS + 1)
        squares = sums_of_powers(values, counts, mean, exponent, 2)[2] + at_zero[2]
        unit = math.ldexp(math.sqrt(float(squares)), exponent)
        large, order = np.zeros(0), needed_order(top / unit)
        if top > _LARGEST * unit:
            is_large = np.abs(values - mean) > _LARGEST * unit
            large = values[is_large]
            if counts is not None:
                large = np.repeat(large, counts[is_large].astype(np.int64))
                counts = counts[~is_large]
            values = values[~is_large]
            if large.size > _MOST_LARGE or not values.size:
                return None
        sums = sums_of_powers(values, counts, mean, exponent, order) + at_zero[: order + 1]
        sums *= math.ldexp(1.0 / unit, exponent) ** np.arange(order + 1)
        return cls(
            *(n, mean, unit, sums, (large - mean) / unit),
            Histogram.of(values, counts, unit, step, n_zero),
            0.0 if step is None else step / unit,
        )

    def dies_out(self, farthest: float) -> bool:
        """What `Histogram.dies_out` shows; near zero the sums of powers show it at less cost.

        Examples
        --------
        >>> LargeSample.of(np.sin(np.arange(4000.0)), None, None).dies_out(1000.0)
        True
        """
        if self.histogram.is_lattice:  # which has few bins as a rule
            return self.histogram.dies_out(farthest)
        return self.histogram.dies_out(farthest, self.known_wave)

    @property
    def known_wave(self) -> float:
        """A wave number up to which the vector of `Histogram.dies_out` is long; 0 if none is known.

        The length of the sum of exp(iwv) is the root of the sum of cos(w (u - v)) over all pairs of
        differences, and cos x is at most 1 - x**2 / 2 + x**4 / 24.
        """
        n, first, second, third, fourth = self.sums[:5].tolist()
        squares = n * second - first**2
        fourths = n * fourth - 4.0 * first * third + 3.0 * second**2
        wave = 0.75 * math.sqrt(6.0 * squares / fourths)  # the bound is best at 4 / 3 of it
        # The bound is a concave function of w**2, so it is least at an end.
        missing = min(w**2 * squares - w**4 * fourths / 12.0 for w in (_FIRST, wave))
        return wave if missing >= n * _AWAY**2 else 0.0

    def returns_of(self, shift: float, tails: LargeTails, row: int, farthest: float) -> float:
        """A bound on what the returns of a lattice add to a tail, relative to it.

        Parameters
        ----------
        shift : float
            The shift.
        tails : LargeTails
            The tails after it.
        row : int
            The row of the sample among them.
        farthest : float
            Up to this imaginary part returns count.

        Notes
        -----
        The characteristic function of differences k * step - s returns near t = pi m / step, turned
        by the angle t s, which leaves exp(-n angle**2 / 2) of it. There the factor of a spread sum,
        sinh(step z) / (step z), is close to zero.
        """
        if not self.histogram.is_lattice:
            return 0.0
        tilt = float(tails.tilt[row])
        most = min(math.floor(farthest * self.step / math.pi), _MOST_RETURNS)
        returns = np.arange(1.0, most + 1.0)
        turned = returns * (shift / (self.step * self.unit))
        angles = np.minimum(math.pi * np.abs(turned - np.rint(turned)), 0.1)
        weight = 0.8 / math.cosh(tilt * _LARGEST) ** 2
        sizes = np.exp(-weight * (self.n - tilt * tilt) * np.square(angles) / 2)
        distances = returns * math.pi / self.step - _BODY
        integrals = 1.2 * math.sqrt(2 * math.pi / weight) * (tilt + 1.0) / np.square(distances)
        share = float(tails.scale[row] / tails.at_least[row])
        return share * float((integrals * sizes).sum())

    @classmethod
    def of_sums(cls, sums: PowerSums) -> LargeSample | None:
        """The sample of which sums of powers to the 26th and a histogram are known.

        Examples
        --------
        >>> sums = PowerSums.of(np.sin(np.arange(4000.0)), 26, has_bins=True)
        >>> round(LargeSample.of_sums(sums).unit ** 2 / 4000, 3)
        0.5
        """
        mean, bins = sums.mean, sums.bins
        about = sums.about(mean)
        unit = root_of_squares(about)
        farthest = max(sums.high - mean, mean - sums.low)
        if bins is None or sums.far.size > _MOST_LARGE or not farthest <= _LARGEST * unit:
            return None
        powers = np.ldexp(1.0 / unit, about.exponent) ** np.arange(ORDER_OF_SIGNS + 1)
        counts = bins.counts[bins.counts > 0].astype(np.float64)
        return cls(
            *(float(sums.n), mean, unit, about.sums * powers, (sums.far - mean) / unit),
            Histogram.of(bins.means, counts, unit, None),
            0.0,
        )

    def with_signs_reversed(self) -> LargeSample:
        """The same with the signs of all differences reversed."""
        signs = (-1.0) ** np.arange(self.sums.size)
        return replace(self, mean=-self.mean, sums=self.sums * signs, large=-self.large)


def _without_zeros(values: FloatArray) -> tuple[FloatArray, float]:
    """The values, and the number of zeros that were left out: all or none.

    Where most queries did not change, it takes less time to leave the zeros out.
    """
    n_zero = np.count_nonzero(values == 0.0)
    if not values.size / 2 < n_zero < values.size:
        return values, 0.0
    return values[values != 0.0], float(n_zero)


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """How often differences lie in bins of one width, in the units of a `LargeSample`.

    Parameters
    ----------
    counts : ndarray
        The number of differences in each bin.
    width : float
        The width of a bin.
    zero : int
        The place of the bin with 0 at its centre, which need not be one of these bins.
    n_moved : float
        The number of differences that do not lie at the centre of their bin.
    """

    counts: FloatArray
    width: float
    zero: int
    n_moved: float
    # How far out the characteristic function is known to be negligible, once it was looked at.
    seen: list[float] = field(default_factory=list, repr=False)

    @classmethod
    def of(
        cls,
        values: FloatArray,
        counts: FloatArray | None,
        unit: float,
        step: float | None,
        n_zero: float = 0.0,
    ) -> Histogram:
        """The histogram of differences, at least one, and of so many zeros beside them.

        If they lie on a lattice that is not fine, its steps are the bins.

        Examples
        --------
        >>> histogram = Histogram.of(np.array([0.0, 0.5, 0.25]), None, 1.0, 0.25)
        >>> histogram.counts, histogram.n_moved
        (array([1., 1., 1.]), 0.0)
        """
        is_lattice = step is not None and step > _BIN * unit
        width = step if step is not None and is_lattice else _BIN * unit
        ends = np.array([values.min(), values.max()])
        if n_zero:  # else the bin of 0 may lie far from all others
            ends = np.array([min(ends[0], 0.0), max(ends[1], 0.0)])
        lowest, highest = np.floor(ends * (1.0 / width) + 0.5).astype(np.int64).tolist()
        in_bins = np.zeros(highest - lowest + 1)
        for start in range(0, values.size, _BLOCK):
            # The nearest bin: all places are above 0, so whole numbers are cut off.
            places = values[start : start + _BLOCK] * (1.0 / width)
            places += 0.5
            places -= lowest
            weights = None if counts is None else counts[start : start + _BLOCK]
            in_bins += np.bincount(places.astype(np.intp), weights, in_bins.size)
        if n_zero:
            in_bins[-lowest] += n_zero
        n_moved = 0.0
        if not is_lattice:
            # Equal scores are many as a rule, and their difference of 0 is the centre of a bin.
            n_moved = float(
                np.count_nonzero(values != 0.0) if counts is None else counts[values != 0.0].sum()
            )
        return cls(in_bins, width / unit, -lowest, n_moved)

    @property
    def is_lattice(self) -> bool:
        """Whether each bin contains a single value, a multiple of the width."""
        return self.n_moved == 0.0

    def dies_out(self, farthest: float, known: float = 0.0) -> bool:
        """Whether the characteristic function is negligible from the last near node on.

        Parameters
        ----------
        farthest : float
            Up to this imaginary part, in units; on a lattice the near surroundings of its returns
            do not count.
        known : float
            Up to this wave number it is known to be.

        Notes
        -----
        With weights w = 1 / cosh(c v)**2 of the values v the logarithm of the characteristic
        function tilted by c is at most -N / 4, where N is the sum of w (1 - cos 2tv). This sum is
        least for a shift that turns all waves alike; then it is the number of the values less the
        length of the sum of exp(2itv), whatever the shift. The root of twice that number is the
        length of a vector, which changes little between the points of a grid, and little when the
        values are moved to the centres of bins.
        """
        if farthest <= max(self.seen, default=0.0):
            return True
        last = 2.0 * farthest
        wide = min(_WIDE_SHARE * known, _WIDEST)
        is_dead = (
            wide > _SPACING and known < last and self._is_away(known, last, wide)
        ) or self._is_away(_FIRST, last, _SPACING)
        if is_dead:
            self.seen.append(farthest)
        return is_dead

    def _is_away(self, first_wave: float, last_wave: float, spacing: float) -> bool:
        """Whether the vector of `dies_out` is long at all wave numbers from the first to the last.

        Neighbours on the grid are as far apart as `spacing` at most. A wide grid shows it less
        often.
        """
        counts, width, moved = self.counts, self.width, 0.0
        if not self.is_lattice:
            counts, width, moved = self._folded(last_wave)
        n, points = float(counts.sum()), 2 * math.pi / (width * spacing)
        points = 2 ** math.ceil(math.log2(max(points, 2 * counts.size)))
        spacing = 2 * math.pi / (points * width)
        first, last = round(first_wave / spacing), math.ceil(last_wave / spacing)
        lengths = np.abs(np.fft.rfft(counts, points)[first : last + 1])
        if not lengths.size:  # a lattice so coarse that its returns meet
            return False
        away = np.sqrt(2.0 * np.maximum(n - lengths, 0.0)) - spacing / 2
        away -= moved * spacing * np.arange(first, first + lengths.size)
        return bool(away.min() >= _AWAY)

    def _folded(self, farthest: float) -> tuple[FloatArray, float, float]:
        """Wider bins, as fine as this wave number needs; and how far all values are moved.

        That is the root of the sum of the squares. The bin of 0 is the centre of a wider one.
        """
        n_joined = 2 ** max(0, math.floor(-math.log2(self.width * farthest)))
        middle = n_joined // 2
        before = (middle - self.zero) % n_joined
        table = np.zeros((-(-(before + self.counts.size) // n_joined), n_joined))
        table.reshape(-1)[before : before + self.counts.size] = self.counts
        distances = np.arange(n_joined) - middle
        squares = float((np.square(distances) * table.sum(axis=0)).sum())
        moved = self.width * (math.sqrt(squares) + math.sqrt(self.n_moved) / 2)
        while table.shape[1] > 1:  # by halves, as many short rows are slow to sum
            table = table[:, ::2] + table[:, 1::2]
        return table[:, 0], n_joined * self.width, moved


@dataclass(frozen=True, slots=True, eq=False)
class LargeTails:
    """The tails of some samples after a shift, one per row.

    Parameters
    ----------
    at_least : ndarray
        The probability that the sum with random signs reaches the observed one; NaN if it is not
        known.
    tilt, scale : ndarray
        Where the line of integration cuts the real axis, and what its first term is multiplied by.
    """

    at_least: FloatArray
    tilt: FloatArray
    scale: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class LargeRows:
    """Large samples as arrays, one row per sample.

    Parameters
    ----------
    n, mean, unit, step : ndarray of shape (n_rows,)
        As in `LargeSample`.
    sums : ndarray of shape (n_rows, 27)
        The sums of powers; rows of lower order end in zeros.
    order : ndarray of int, shape (n_rows,)
        The highest power of each row.
    large : ndarray of shape (n_rows, n_large)
        The largest differences; rows of fewer end in zeros.
    """

    n: FloatArray
    mean: FloatArray
    unit: FloatArray
    step: FloatArray
    sums: FloatArray
    order: IntArray
    large: FloatArray

    @classmethod
    def of(cls, samples: Sequence[LargeSample]) -> LargeRows:
        """The samples, at least one."""
        large = np.zeros((len(samples), max(sample.large.size for sample in samples)))
        sums = np.zeros((len(samples), ORDER_OF_SIGNS + 1))
        for place, sample in enumerate(samples):
            large[place, : sample.large.size] = sample.large
            sums[place, : sample.sums.size] = sample.sums
        return cls(
            n=np.array([sample.n for sample in samples]),
            mean=np.array([sample.mean for sample in samples]),
            unit=np.array([sample.unit for sample in samples]),
            step=np.array([sample.step for sample in samples]),
            sums=sums,
            order=np.array([sample.sums.size - 1 for sample in samples]),
            large=large,
        )

    def tails(self, shifts: FloatArray) -> LargeTails:
        """The tail of each sample after a shift that is subtracted from all its differences.

        Examples
        --------
        >>> sample = LargeSample.of(np.sin(np.arange(4000.0)) + 0.02, None, None)
        >>> LargeRows.of([sample]).tails(np.zeros(1)).at_least.round(6)
        array([0.033525])
        """
        # Farther from 0 no tail is known, and powers would overflow.
        distances = np.clip((self.mean - shifts) / self.unit, -_FARTHEST, _FARTHEST)
        signs = _ShiftedSigns.of(self, distances)
        tilt = _tilts(signs)
        value, _, variance = signs.cumulants(tilt)
        deviation = np.sqrt(variance)
        log_scale = value - tilt * signs.threshold
        smallest = np.where(tilt > LEAST_TILT, _rice(tilt, log_scale, deviation), 0.1)
        is_known = (tilt <= _MOST_TILT) & (smallest > _SMALLEST)
        is_known &= (signs.threshold >= 0.0) & (signs.threshold <= _MOST_TILT)
        smallest = np.where(is_known, smallest, 0.1)
        period = shortest_period(np.inf, signs.threshold, tilt, smallest, _ALIAS)
        distance = 2 * math.pi / (period + 2 * signs.step)
        n_nodes = np.where(is_known, np.ceil(_BODY / (deviation * distance)) + 1, 0.0)
        scale = np.exp(log_scale) / math.pi
        total = signs.sum_of_terms(tilt, value, distance, n_nodes)
        shrinks = np.exp(-tilt * 2 * math.pi / distance)
        at_least = scale * distance * total - shrinks / (1.0 - shrinks)
        return LargeTails(np.where(is_known, at_least, np.nan), tilt, scale)


@dataclass(frozen=True, slots=True, eq=False)
class _ShiftedSigns:
    """Sums of random signs of shifted differences, in units in which the squares sum up to 1.

    Parameters
    ----------
    threshold : ndarray of shape (n_rows,)
        The observed sums.
    series : ndarray of shape (n_rows, n_powers)
        The coefficients of K without the large differences, to the highest order of a row.
    large : ndarray of shape (n_rows, n_large)
        The magnitudes of the large differences.
    step : ndarray of shape (n_rows,)
        The width of the cells.
    """

    threshold: FloatArray
    series: FloatArray
    large: FloatArray
    step: FloatArray

    @classmethod
    def of(cls, rows: LargeRows, moved: FloatArray) -> _ShiftedSigns:
        """The differences of the rows, each moved by a number of its units."""
        binomials = _binomials()[: int(rows.order.max()) // 2]
        even = np.zeros((moved.size, len(binomials)))
        # Each power of the shift in turn, so that a row is the same in any company.
        factor = np.ones_like(moved)
        for power in range(2 * len(binomials) + 1):
            first = max((power + 1) // 2, 1) - 1  # of the even powers, the first one as high
            lower = 2 * np.arange(first + 1, len(binomials) + 1) - power
            terms = binomials[first:][np.arange(lower.size), lower] * rows.sums[:, lower]
            even[:, first:] += factor[:, np.newaxis] * terms
            factor = factor * moved
        orders = 2 * np.arange(1, len(binomials) + 1)
        even[orders > rows.order[:, np.newaxis]] = 0.0
        large = np.where(rows.large != 0.0, np.abs(rows.large + moved[:, np.newaxis]), 0.0)
        unit = np.sqrt(even[:, 0] + np.square(large).sum(axis=1))
        coefficients = coefficients_of_log_cosh()[: len(binomials)]
        series = even / unit[:, np.newaxis] ** orders * coefficients
        threshold = rows.n * moved / unit
        # Beyond the lines nothing is known, as no tilt is below its threshold. There the series
        # does not converge, and that of the normal law takes its place.
        series[threshold > _MOST_TILT] = np.arange(len(binomials)) == 0
        return cls(threshold, series, large / unit[:, np.newaxis], rows.step / unit)

    def cumulants(self, tilt: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """K, K' and K'' at a real point of each row."""
        squares = np.square(tilt)
        value, mean, variance = (np.zeros_like(tilt) for _ in range(3))
        for place in range(self.series.shape[1] - 1, -1, -1):
            order, coefficient = 2.0 * (place + 1), self.series[:, place]
            value = (value + coefficient) * squares
            mean = mean * squares + order * coefficient
            variance = variance * squares + order * (order - 1.0) * coefficient
        mean = mean * tilt
        for large in self.large.T:
            x, slope = tilt * large, np.tanh(tilt * large)
            value = value + (x + np.log1p(np.exp(-2.0 * x)) - math.log(2.0))
            mean = mean + large * slope
            variance = variance + np.square(large) * (1.0 - np.square(slope))
        return value, mean, variance

    def sum_of_terms(
        self, tilt: FloatArray, value: FloatArray, distance: FloatArray, n_nodes: FloatArray
    ) -> FloatArray:
        """The sum of the real parts of the terms at the nodes of each row, the first one half."""
        # Whole eights, so that zeros at the end of a row leave the last digit of its sum alone.
        nodes = np.arange(8 * math.ceil(max(float(n_nodes.max()), 1.0) / 8))
        t = distance[:, np.newaxis] * nodes
        z = tilt[:, np.newaxis] + 1j * t
        squares = np.square(z)
        exponent = np.zeros_like(z)
        for place in range(self.series.shape[1] - 1, -1, -1):
            exponent = (exponent + self.series[:, place, np.newaxis]) * squares
        exponent -= value[:, np.newaxis] + 1j * t * self.threshold[:, np.newaxis]
        terms = np.exp(exponent) / z
        for large in self.large.T:
            some = np.flatnonzero(large)
            terms[some] *= np.cosh(large[some, np.newaxis] * z[some])
        spread = np.flatnonzero(self.step)
        if spread.size:
            turned = self.step[spread, np.newaxis] * z[spread]
            terms[spread] *= np.sinh(turned) / turned
        real = terms.real
        real[:, 0] *= 0.5
        real[nodes >= n_nodes[:, np.newaxis]] = 0.0
        return np.asarray(real.sum(axis=1))


def _tilts(signs: _ShiftedSigns) -> FloatArray:
    """The tilts under which the thresholds are the means; none is below the least."""
    tilt = np.clip(signs.threshold, LEAST_TILT, _MOST_TILT)
    for _ in range(_MOST_STEPS):
        _, mean, variance = signs.cumulants(tilt)
        missing = signs.threshold - mean
        is_off = (missing > _CLOSE * np.sqrt(variance)) & (tilt <= _MOST_TILT)
        if not is_off.any():
            break
        # Newton's method from the left, where no step goes too far.
        tilt = np.where(is_off, tilt + missing / variance, tilt)
    return np.asarray(tilt)


def _rice(tilt: FloatArray, log_scale: FloatArray, deviation: FloatArray) -> FloatArray:
    """Roughly the tail, by the formula of `saddlepoint.tilted_tail`."""
    w = np.sqrt(2.0 * np.maximum(-log_scale, 1e-300))
    density = np.exp(-w * w / 2) / math.sqrt(2 * math.pi)
    u = tilt * deviation
    tail = scipy.special.ndtr(-w) + density * (1.0 / u - 1.0 / w)
    return np.asarray(np.where(tail > 0.0, tail, density / u))


def lowest_shifts_of_large(samples: Sequence[LargeSample], level: float) -> FloatArray:
    """The smallest accepted shift of each sample, at a one-sided level; NaN where it is not known.

    Examples
    --------
    >>> sample = LargeSample.of(np.sin(np.arange(4000.0)) + 0.02, None, None)
    >>> lowest_shifts_of_large([sample], 0.025).round(6)
    array([-0.00144])
    """
    z = -float(scipy.special.ndtri(level))
    rows = LargeRows.of(samples)
    # The reach of the normal law: the variance of the flipped sum grows with the shift.
    reach = z * rows.unit / np.sqrt(np.maximum(rows.n * (rows.n - z * z), 1.0))
    search = secants_together(rows.tails, rows.mean, reach, z, _PRECISION)
    limits = search.limits
    # The farthest first: both limits of a sample share a histogram, and are shown by one look.
    for row in np.argsort(-search.tails.tilt, kind="stable").tolist():
        sample, farthest = samples[row], _FAR * float(search.tails.tilt[row])
        if (
            not sample.dies_out(farthest)
            or not sample.returns_of(*(float(limits[row]), search.tails, row, farthest)) <= _RETURNS
        ):
            limits[row] = math.nan
    return limits


def large_tails(samples: Sequence[LargeSample]) -> FloatArray:
    """The probability that random signs make each sum as large as observed; NaN if it is not known.

    Parameters
    ----------
    samples : sequence of LargeSample
        Samples of no lattice.

    Examples
    --------
    >>> sample = LargeSample.of(np.sin(np.arange(4000.0)) + 0.02, None, None)
    >>> large_tails([sample]).round(6)
    array([0.033525])
    """
    rows = LargeRows.of(
        [sample if sample.mean >= 0.0 else sample.with_signs_reversed() for sample in samples]
    )
    tails = rows.tails(np.zeros(len(samples)))
    smooth = [
        sample.dies_out(_FAR_OF_TEST * tilt)
        for sample, tilt in zip(samples, tails.tilt.tolist(), strict=True)
    ]
    return np.where(smooth, tails.at_least, np.nan)

"""The bootstrap distribution of a mean, computed instead of simulated.

A bootstrap resample of n scores has a mean whose distribution is the n-fold convolution of the
scores' own distribution. Put the scores on a grid, raise the Fourier transform of their histogram
to the n-th power, transform back: that is the distribution that infinitely many resamples would
give, without a random number.

Scores on a lattice (binary, thirds, a five-point scale) are put on that lattice and the result is
exact. Any other column is put on a grid of about 5e-4 standard errors, each score shared between
its two neighbours so that the mean stays; the little variance that sharing adds is scaled out.
Unlike a short Fourier series the grid needs no smoothness, so a few dominating scores are no
special case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import ComplexArray, FloatArray, IndexArray

# Points of a grid, and of a lattice: the transforms of these sizes take a few milliseconds.
GRID_POINTS = 2**15
MOST_LATTICE_POINTS = 2**17
# A grid has at least this many points times the root of n: sharing then adds 5 % of variance.
_POINTS_PER_ROOT = 30.0

# The tail left outside the window, by Bernstein's inequality: exp(-28) = 7e-13 on either side.
_TAIL = 28.0
# A Fourier coefficient below this changes no digit of the distribution.
_NEGLIGIBLE = 1e-18
# Rounding in the cumulative distribution: a probability this close to the level reaches it.
_LEVEL_TOLERANCE = 1e-10
# Deviations from a lattice, relative to the range, that are taken for rounding (float32 scores).
_LATTICE_TOLERANCE = 1e-7
_FINEST_LATTICE = 2**16
# Two means on a grid closer than this, in grid steps, count as tied.
_TIE_STEPS = 8.0


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapLaw:
    """The distribution of the mean of a bootstrap resample, on equally spaced points.

    Parameters
    ----------
    mean : float
        The mean of the scores, which is the mean of the distribution.
    centre : float
        Where the mean lies, counted in points from the first, a fraction allowed.
    step : float
        The distance between two points, in units of the mean.
    cumulative : ndarray
        The probability of each point and all below it.
    on_lattice : bool
        Whether the points are the only possible means; if not, each represents its surroundings.
    limits : tuple of float
        The smallest and largest score, between which every mean lies.
    """

    mean: float
    centre: float
    step: float
    cumulative: FloatArray
    on_lattice: bool
    limits: tuple[float, float]

    def quantile(self, level: float) -> float:
        """The smallest mean whose cumulative probability reaches the level.

        Examples
        --------
        >>> law = bootstrap_law(np.array([0.0, 1.0]))  # means 0, 1/2, 1 with 1/4, 1/2, 1/4
        >>> law.quantile(0.1), law.quantile(0.5), law.quantile(0.9)
        (0.0, 0.5, 1.0)
        """
        target = min(max(level - _LEVEL_TOLERANCE, _LEVEL_TOLERANCE), 1.0 - _LEVEL_TOLERANCE)
        index = min(int(np.searchsorted(self.cumulative, target)), self.cumulative.size - 1)
        position = float(index)
        if not self.on_lattice:
            before = float(self.cumulative[index - 1]) if index else 0.0
            # A point of a grid stands for the cell around it, which begins half a step below.
            position += (target - before) / (float(self.cumulative[index]) - before) - 0.5
        value = self.mean + (position - self.centre) * self.step
        return min(max(value, self.limits[0]), self.limits[1])

    def midrank(self) -> float:
        """The probability of a mean below the scores' own, half of the ties included.

        Examples
        --------
        >>> bootstrap_law(np.array([0.0, 0.0, 1.0])).midrank()  # 8/27 + 12/27 / 2
        0.518...
        """
        half_width = 1e-6 if self.on_lattice else _TIE_STEPS
        below = self._at_most(self.centre - half_width)
        return 0.5 * (below + self._at_most(self.centre + half_width))

    def _at_most(self, position: float) -> float:
        if self.on_lattice:
            index = int(np.floor(position))
            return float(self.cumulative[index]) if index >= 0 else 0.0
        edges = np.arange(self.cumulative.size) + 0.5
        return float(np.interp(position, edges, self.cumulative, left=0.0))


def bootstrap_law(values: FloatArray) -> BootstrapLaw:
    """The distribution of the mean of a bootstrap resample of finite scores that are not all equal.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The scores, n at least 2, without NaN.

    Returns
    -------
    BootstrapLaw
        Exact for scores on a lattice of up to 2**17 possible means. Else quantiles are within
        about 1e-4 standard errors, and within 0.005 where a few scores dominate the mean.

    Examples
    --------
    >>> law = bootstrap_law(np.array([0.2, 0.4, 0.9, 0.9]))
    >>> round(law.quantile(0.025), 3), round(law.quantile(0.975), 3)
    (0.3, 0.9)
    """
    column = _summarise_column(values)
    histogram = _put_on_lattice(column) or _put_on_grid(column)
    centre = column.n * sum_of_products(histogram.index, histogram.mass)
    first, size = _points(column, histogram, centre)
    # Indices wrap around modulo the size of the window, as the transform does.
    once = np.bincount(histogram.index % size, weights=histogram.mass, minlength=size)
    transformed = _power(scipy.fft.rfft(once), column.n)
    probability = np.roll(scipy.fft.irfft(transformed, size), -(first % size))
    return BootstrapLaw(
        mean=column.mean,
        centre=centre - first,
        step=histogram.step / (column.n * histogram.stretch),
        # The transform leaves probabilities of about -1e-17, which must not make the sum fall.
        cumulative=np.maximum.accumulate(np.cumsum(probability)),
        on_lattice=histogram.on_lattice,
        limits=(float(column.distinct[0]), float(column.distinct[-1])),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _DistinctScores:
    """The distinct scores, how often each occurs, and how the sum of a resample spreads."""

    n: int
    distinct: FloatArray
    counts: FloatArray
    mean: float
    variance: float  # of the sum of a resample
    reach: float  # the sum is farther from its mean with a probability of at most 2 exp(-_TAIL)


@dataclass(frozen=True, slots=True, eq=False)
class _ScoreHistogram:
    """A column on a grid: the probability at each index, and the distance of two indices."""

    index: IndexArray
    mass: FloatArray
    step: float
    on_lattice: bool
    stretch: float = 1.0  # the standard deviation on the grid, relative to the true one


def _summarise_column(values: FloatArray) -> _DistinctScores:
    ordered = np.sort(values)
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    distinct = ordered[starts]
    counts = np.diff(starts, append=values.size).astype(np.float64)
    mean = sum_of_products(distinct, counts) / values.size
    deviation = distinct - mean
    variance = sum_of_products(counts, deviation * deviation)
    linear = _TAIL * float(np.abs(deviation).max()) / 3.0
    reach = linear + float(np.sqrt(linear * linear + 2.0 * _TAIL * variance))  # Bernstein
    return _DistinctScores(values.size, distinct, counts, mean, variance, reach)


def _points(column: _DistinctScores, histogram: _ScoreHistogram, centre: float) -> tuple[int, int]:
    """The first index of the sums that matter, and how many there are, rounded up for the FFT."""
    lowest, highest = (
        column.n * int(end) for end in (histogram.index.min(), histogram.index.max())
    )
    n_points = 2 * int(np.ceil(column.reach / histogram.step)) + 3
    first = int(np.floor(centre)) - n_points // 2
    if highest - lowest < n_points:
        first, n_points = lowest, highest - lowest + 1
    return first, scipy.fft.next_fast_len(n_points, real=True)


def _power(spectrum: ComplexArray, n: int) -> ComplexArray:
    """The spectrum to the n-th power, without coefficients that would vanish."""
    energy = spectrum.real**2 + spectrum.imag**2
    matters = energy > _NEGLIGIBLE ** (2.0 / n)
    powers = np.zeros_like(spectrum)
    powers[matters] = np.exp(n * np.log(spectrum[matters]))
    return powers


def _put_on_lattice(column: _DistinctScores) -> _ScoreHistogram | None:
    """The column on its own lattice; None if it has none, or one with too many possible means."""
    step = lattice_spacing(column.distinct)
    if step is None:
        return None
    index = np.rint((column.distinct - column.distinct[0]) / step).astype(np.intp)
    if min(column.n * index[-1], 2.0 * column.reach / step) > MOST_LATTICE_POINTS:
        return None
    return _ScoreHistogram(index, column.counts / column.n, step, on_lattice=True)


def lattice_spacing(distinct: FloatArray) -> float | None:
    """The largest step of which all distances between sorted distinct values are multiples.

    Parameters
    ----------
    distinct : ndarray
        At least two different values in increasing order.

    Returns
    -------
    float or None
        None if there is no step, or one that is too small to be useful.

    Examples
    --------
    >>> lattice_spacing(np.array([0.0, 1 / 3, 0.5, 1.0]))  # sixths
    0.1666...
    >>> lattice_spacing(np.array([0.0, 0.3, np.pi])) is None
    True
    """
    span = float(distinct[-1] - distinct[0])
    smallest = span / _FINEST_LATTICE
    gaps = np.diff(distinct)
    gaps = gaps[gaps > TIE_TOLERANCE * max(span, float(np.abs(distinct).max()))]
    step = float(gaps.min(initial=span))
    # Euclid's algorithm on all gaps at once, with rounding left out.
    while step >= smallest:
        rest = np.abs(gaps - step * np.rint(gaps / step))
        rest = rest[rest > _LATTICE_TOLERANCE * span]
        if not rest.size:
            return _refine_step(distinct, step, span)
        step = float(rest.min())
    return None


def _refine_step(distinct: FloatArray, step: float, span: float) -> float | None:
    """The step as an exact fraction of the span, if every value then lies on the lattice."""
    exact = span / np.rint(span / step)
    index = (distinct - distinct[0]) / exact
    strays = np.abs(index - np.rint(index)) * exact
    return float(exact) if strays.max() <= _LATTICE_TOLERANCE * span else None


def _put_on_grid(column: _DistinctScores) -> _ScoreHistogram:
    """The column on a grid that contains its two most frequent scores; others are shared out."""
    points = max(GRID_POINTS, _POINTS_PER_ROOT * np.sqrt(column.n))
    anchor, step = _anchor_grid(column, 2.0 * column.reach / points)
    position = (column.distinct - anchor) / step
    lower = np.floor(position)
    share = position - lower
    added = step * step * sum_of_products(column.counts, share * (1.0 - share))
    index = lower.astype(np.intp)
    counts = np.concatenate((column.counts * (1.0 - share), column.counts * share))
    return _ScoreHistogram(
        index=np.concatenate((index, index + 1)),
        mass=counts / column.n,
        step=step,
        on_lattice=False,
        stretch=float(np.sqrt(1.0 + added / column.variance)),
    )


def _anchor_grid(column: _DistinctScores, step: float) -> tuple[float, float]:
    """A point of the grid and its step, widened so that the second most frequent score fits too."""
    most = int(np.argmax(column.counts))
    others = np.where(np.arange(column.counts.size) == most, 0.0, column.counts)
    distance = abs(float(column.distinct[int(np.argmax(others))] - column.distinct[most]))
    steps = np.floor(distance / step)
    return float(column.distinct[most]), distance / steps if steps >= 1 else step

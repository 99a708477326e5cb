"""Gaffke's limits of the mean of numbers that have a smallest and a largest possible value.

The lower limit supposes the worst for what was not drawn. Add the smallest possible value to the
numbers, and give all of them random weights that are uniform on the simplex (a Dirichlet
distribution with all parameters 1); the limit is a low quantile of the weighted mean. The upper
limit is the mirror image. For numbers that are all at the bounds these are Clopper and Pearson's.

Nothing is drawn. The random weights are exponential variables divided by their sum, so the weighted
mean of distances y from the bound is at most m exactly if the exponential variables, multiplied by
y - m, have a sum of at most 0. That has a probability which is a contour integral::

    F(m) = (1 / 2 pi i) * integral of exp(H(v)) dv
    H(v) = -log(v) - sum of count * log(1 + v (y / m - 1))

The path crosses the real axis between 0 and 1, where H is smallest, and bends in the direction in
which the product falls fastest. There the trapezoid rule, in steps that grow exponentially, needs
some 19 points for nine digits.

References
----------
.. [1] Gaffke (2005). Three test statistics for a nonparametric one-sided hypothesis on the mean of
       a nonnegative variable. Mathematical Methods of Statistics 14.
.. [2] Learned-Miller and Thomas (2019). A new confidence interval for the mean of a bounded random
       variable. arXiv:1905.06208.
.. [3] Trefethen and Weideman (2014). The exponentially convergent trapezoidal rule. SIAM Review 56.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rageval_report.stats.base import Bounds
from rageval_report.stats.columns import Column
from rageval_report.types import ComplexArray, FloatArray

# More values are put into bins that are represented by their means. Errors of a limit are then
# at most about 1e-6 of the half width of the interval.
_MOST_VALUES = 2**12
# The mean of numbers that are not all equal can be this close to a bound, as a share of the range.
_CLOSEST = 1e-12
# The step of the trapezoid rule: 1/6 leaves errors of 1e-9 of the probability, and less as a rule.
_STEP = 1.0 / 6.0
# Numbers of points: up to sinh(3) = 10 standard deviations from the axis, which is enough from some
# 20 numbers on. One number needs six times as many.
_POINTS = (19, 38, 76, 152, 380)
_NEGLIGIBLE = 1e-15
_FAR = 3.0
# A path serves another m, too, if it is at most this far away, in standard deviations, and no term
# becomes larger than by this factor, as a logarithm.
_NEAR = 0.5
_LARGEST_GAIN = 7.0
# Newton's method doubles the digits, so that the step from this close is the last one.
_CLOSE = 1e-6
_MOST_ROUNDS = 60
# Where the start is useless, the next one is higher or lower by this factor, as a logarithm.
_LONGEST_STEP = 2.0


def gaffke_limits(column: Column, bounds: Bounds, confidence_level: float) -> tuple[float, float]:
    """Gaffke's limits of the mean of at least one number within finite bounds."""
    low, high = float(bounds[0]), float(bounds[1])
    tail = (1.0 - confidence_level) / 2.0
    values, counts = _few_values(column, bounds)
    from_low = _lower_limit(values - low, counts, tail)
    from_high = _lower_limit(high - values, counts, tail)
    # Rounding must not put a limit beyond the mean or a bound.
    least = max(low, min(low + from_low, column.mean))
    return least, min(high, max(high - from_high, column.mean))


def gaffke_pvalue(column: Column, threshold: float, bounds: Bounds) -> float:
    """The p-value of a mean above a threshold: one half of 1 - level where the limit reaches it."""
    low = bounds[0]
    if threshold >= column.maximum:
        return 1.0
    if threshold <= low:
        return 0.0
    values, counts = _few_values(column, bounds)
    path = _Path.through(np.append(0.0, values - low), np.append(1.0, counts), threshold - low)
    return path.share_and_slope(0.0)[0]


def _few_values(column: Column, bounds: Bounds) -> tuple[FloatArray, FloatArray]:
    """The values and their counts; the means of bins if there are many values."""
    if column.values.size <= _MOST_VALUES:
        return column.values, column.counts
    low, high = bounds
    least = _CLOSEST * (high - low)
    shares = np.arange(_MOST_VALUES // 2) / (_MOST_VALUES // 2)
    odds = shares / (1.0 - shares)
    above_low = low + max(column.mean - low, least) * odds
    below_high = high - max(high - column.mean, least) * odds
    edges = np.sort(np.append(above_low, below_high))
    starts = np.unique(np.append(0, np.searchsorted(column.values, edges)))
    starts = starts[starts < column.values.size]
    counts = np.add.reduceat(column.counts, starts)
    sums = np.add.reduceat(column.counts * (column.values - low), starts)
    return low + sums / counts, counts


def _lower_limit(distances: FloatArray, counts: FloatArray, tail: float) -> float:
    """The quantile of the randomly weighted mean of distances from the smallest possible value."""
    from scipy.special import betaincinv, ndtri

    largest = float(distances.max())
    if largest <= 0.0:
        return 0.0
    values, counts = np.append(0.0, distances / largest), np.append(1.0, counts)
    # The beta distribution with the same mean and variance: the law itself if all distances above
    # 0 are equal, and otherwise a start that is mostly within 0.2 standard deviations.
    n = float(counts.sum())
    mean = float((counts * values).sum()) / n
    squares = float((counts * (values - mean) ** 2).sum())
    size = mean * (1.0 - mean) * n * (n + 1.0) / squares - 1.0
    start = float(betaincinv(mean * size, (1.0 - mean) * size, tail))
    if (values[values > 0.0] == 1.0).all():
        return largest * start
    target = score = float(ndtri(tail))
    log_m, below, above, path = math.log(start), -math.inf, 0.0, None
    for _ in range(_MOST_ROUNDS):
        if path is None or not path.serves(target - score, log_m):
            path = _Path.through(values, counts, math.exp(log_m))
        score, step = path.newton_step(target, log_m - path.log_m)
        below, above = (log_m, above) if score < target else (below, log_m)
        log_m += step
        if abs(target - score) <= _CLOSE:
            break
        # Where the probability bends sharply, as with one number far above all others, steps of
        # Newton's method can jump to and fro for ever. Between two sides the middle is tried.
        if not below < log_m < above:
            log_m = (max(below, above - 2.0 * _LONGEST_STEP) + above) / 2.0
    return largest * math.exp(log_m)


@dataclass(frozen=True, eq=False)
class _Path:
    """Points on a path, and the terms whose real parts sum to F(m)."""

    log_m: float
    n: float  # numbers besides the added 0
    points: ComplexArray
    terms: ComplexArray

    @classmethod
    def through(cls, values: FloatArray, counts: FloatArray, m: float) -> _Path:
        """The path for the probability of at most m, of numbers from 0 up of which one is 0."""
        excess = values / m - 1.0
        saddle = _find_saddle(excess, counts)
        log_saddle = -math.log(saddle) - float((counts * np.log1p(saddle * excess)).sum())
        # At a distance d from the saddle each factor is its value there times 1 + d * ratio.
        ratios = np.append(1.0 / saddle, excess / (1.0 + saddle * excess))
        powers = np.append(1.0, counts)
        width = float((powers * ratios**2).sum()) ** -0.5
        ratios *= width
        bend = _choose_bend(ratios, powers)
        for size in _POINTS:
            x = _STEP * np.arange(size)
            places = 1j * np.sinh(x) - bend * (np.cosh(x) - 1.0)
            terms = np.exp(_log_product(ratios, powers, places))
            terms *= np.cosh(x) + 1j * bend * np.sinh(x)
            if abs(terms[-1]) <= _NEGLIGIBLE:
                break
        terms[0] /= 2.0  # the other half of the path is the mirror image
        scale = math.exp(log_saddle) * _STEP * width / math.pi
        n = float(counts.sum()) - 1.0
        return cls(math.log(m), n, saddle + width * places, scale * terms)

    def serves(self, away: float, log_m: float) -> bool:
        """Whether the path serves another m, too, if the last one was this far from the target."""
        growth = np.abs(1.0 + math.expm1(log_m - self.log_m) * self.points).max()
        return abs(away) <= _NEAR and self.n * math.log(growth) <= _LARGEST_GAIN

    def share_and_slope(self, log_factor: float) -> tuple[float, float]:
        """F at m times a factor, and its derivative by the logarithm of the factor."""
        factors = 1.0 + math.expm1(log_factor) * self.points
        powers = self.terms * factors**self.n
        slope = self.n * math.exp(log_factor) * float((powers * self.points / factors).real.sum())
        return min(max(float(powers.real.sum()), 0.0), 1.0), slope

    def newton_step(self, target: float, log_factor: float) -> tuple[float, float]:
        """The normal quantile of F, and the step of Newton's method from it to the target."""
        from scipy.special import ndtri

        share, slope = self.share_and_slope(log_factor)
        score = float(ndtri(min(max(share, 1e-300), 1.0 - 1e-16)))
        density = math.exp(-0.5 * score * score) / math.sqrt(2.0 * math.pi)
        # Far out the slope is rounding; one of almost 0 then gives the longest step.
        step = (target - score) * density / max(slope, 1e-9 * density)
        return score, min(max(step, -_LONGEST_STEP), _LONGEST_STEP)


def _log_product(ratios: FloatArray, powers: FloatArray, places: ComplexArray) -> ComplexArray:
    """The logarithm of the product of 1 / (1 + place * ratio) to its power, at each place."""
    # In real arithmetic, because a complex logarithm takes ten times as long.
    real = 1.0 + np.multiply.outer(places.real, ratios)
    imaginary = np.multiply.outer(places.imag, ratios)
    logs = np.log(real * real + imaginary * imaginary) @ powers
    return np.asarray(-0.5 * logs - 1j * (np.arctan2(imaginary, real) @ powers))


def _choose_bend(ratios: FloatArray, powers: FloatArray) -> float:
    """The direction in which the path bends."""
    # Where the term of third order vanishes the product falls without turning around zero. Far
    # from the saddle another direction may be far better, and the first may lead uphill.
    steepest = min(max(2.0 / 3.0 * float((powers * ratios**3).sum()), -1.0), 1.0)
    bends = np.array([steepest, 0.0, 0.5, -0.5])
    far = np.asarray(1j * math.sinh(_FAR) - bends * (math.cosh(_FAR) - 1.0), dtype=np.complex128)
    fallen = _log_product(ratios, powers, far).real
    best = int(np.argmin(fallen))
    return float(bends[best]) if fallen[best] < fallen[0] - 2.0 else steepest


def _find_saddle(excess: FloatArray, counts: FloatArray) -> float:
    """Where H is smallest between 0 and 1, roughly, by Newton's method."""
    linear, squares = float((counts * excess).sum()), float((counts * excess**2).sum())
    saddle = min((linear + math.sqrt(linear**2 + 4.0 * squares)) / (2.0 * squares), 0.9)
    for _ in range(_MOST_ROUNDS):
        ratio = excess / (1.0 + saddle * excess)
        powered = counts * ratio
        first = -1.0 / saddle - float(powered.sum())
        second = saddle**-2 + float((powered * ratio).sum())
        decrement = abs(first) / math.sqrt(second)
        saddle -= first / second / (1.0 if decrement < 0.25 else 1.0 + decrement)
        if decrement < 0.01:
            break
    return saddle

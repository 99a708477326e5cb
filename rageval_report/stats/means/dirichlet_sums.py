"""Quantiles of a sum of numbers with random weights that are uniform on the simplex.

Random weights that are not negative, that sum to 1, and of which every choice is equally likely
(a Dirichlet distribution with all parameters 1) are exponential variables divided by their sum. So
the weighted sum of numbers y is at most m exactly if the exponential variables, multiplied by
y - m, have a sum of at most 0. The probability of that is a contour integral of a product::

    F(m) = (1 / 2 pi i) * integral of exp(H(v)) dv
    H(v) = -log(v) - sum of c log(1 + v (y / m - 1))

where c is how often y occurs. The path crosses the real axis between 0 and 1, where H is smallest,
and bends in the direction in which the product falls fastest. There the trapezoid rule, in steps
that grow exponentially, needs some 24 points for ten digits (Trefethen and Weideman 2014). No
random number is drawn.

For another m, the product only gains the factor ``(1 + (m' / m - 1) v)^n``, so that one product
serves all steps of Newton's method from a good start.

References
----------
.. [1] Trefethen and Weideman (2014). The exponentially convergent trapezoidal rule. SIAM Review 56.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rageval_report.stats.normal import normal_quantile, normal_quantiles
from rageval_report.types import BoolArray, ComplexArray, FloatArray

# The step of the trapezoid rule. 1/5 leaves errors of 2e-7 of the tail, 1/8 leaves 1e-11.
_STEP = 0.125
# Half the logarithm of the largest odds of a start; no tail that a user asks for comes near.
_LARGEST_LOG = 200.0
# Points that are computed at once: up to sinh(3) = 10 standard deviations from the axis, which is
# enough from some 20 scores on. One score needs six times as many.
_POINTS = 24
_MOST_POINTS = 20 * _POINTS
# A point whose term is this small, relative to the first, is the last one.
_NEGLIGIBLE = 1e-15
# A path serves another m too if it is at most this far, in standard deviations, and if no term, the
# last and smallest ones included, becomes larger than by this factor, as a logarithm. With equal
# numbers close to m the terms fall slowly, and then even a small change of m needs a new path.
_NEAR = 0.3
_LARGEST_GAIN = 7.0
# Newton's method doubles the digits, so that the step from this close is the last one.
_CLOSE = 1e-6
_MOST_ROUNDS = 60
# Where the start is useless, the next one is higher or lower by this factor, as a logarithm.
_LONGEST_STEP = 2.0
# Smaller probabilities are all far from any target.
_SMALLEST_SHARE = 1e-200
_MOST_STEPS = 12
# The products of this many numbers and points stay in the cache; larger ones take four times as
# long per number.
_CACHED = 2**14
# The saddle needs no digits: any path between the poles gives the same integral.
_CLOSE_TO_SADDLE = 0.01
# Directions that are tried beside the steepest one, and where on the path they are compared.
_OTHER_BENDS = (0.0, 0.5, -0.5)
_FAR = np.array([3.0])


def dirichlet_quantile(values: FloatArray, counts: FloatArray, tail: float) -> FloatArray:
    """The quantile of a sum with random weights, for many rows of numbers.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_values)
        Numbers from 0 up. A row needs a 0 and a number above it.
    counts : ndarray of shape (n_rows, n_values)
        How often each number occurs: at least 1 in total for the zeros. A number with a count of 0
        only fills up its row.
    tail : float
        The probability of a sum up to the quantile, between 0 and 1/2.

    Returns
    -------
    ndarray of shape (n_rows,)
        With a relative error of about 1e-10 at most.

    Examples
    --------
    >>> halves = dirichlet_quantile(np.array([[0.0, 0.5]]), np.array([[1.0, 1.0]]), 0.025)
    >>> halves.round(6)  # the weight of the 0.5 is uniform on 0 to 1
    array([0.0125])
    """
    largest = values.max(axis=1)
    scaled = values / largest[:, np.newaxis]
    target = normal_quantile(tail)
    quantile = _first_quantile(scaled, counts, target)
    below, above = np.zeros(len(values)), np.full(len(values), np.inf)
    rows = np.arange(len(values))
    for _ in range(_MOST_ROUNDS):
        contour = _Contour.through(scaled[rows], counts[rows], quantile[rows])
        step = contour.step_to(target)
        below[rows] = np.where(step.is_up, quantile[rows], below[rows])
        above[rows] = np.where(step.is_up, above[rows], quantile[rows])
        quantile[rows] *= step.factor
        rows = rows[~step.is_last]
        if not rows.size:
            break
        # Where the probability bends sharply, as with one number far above all others, steps of
        # Newton's method can jump to and fro for ever. Between two sides the middle is tried.
        is_outside = (quantile[rows] <= below[rows]) | (quantile[rows] >= above[rows])
        astray = rows[is_outside]
        quantile[astray] = np.sqrt(below[astray] * above[astray])
    result: FloatArray = quantile * largest
    return result


def dirichlet_share(values: FloatArray, counts: FloatArray, m: float) -> float:
    """The probability that a sum with random weights is at most m.

    Parameters
    ----------
    values, counts : ndarray of shape (n_values,)
        As a row of `dirichlet_quantile`.
    m : float
        Above 0 and below the largest number.

    Examples
    --------
    >>> round(dirichlet_share(np.array([0.0, 0.5]), np.array([1.0, 1.0]), 0.0125), 9)
    0.025
    """
    contour = _Contour.through(values[np.newaxis, :], counts[np.newaxis, :], np.array([m]))
    return float(np.clip(contour.terms.imag.sum(), 0.0, 1.0))


def _first_quantile(values: FloatArray, counts: FloatArray, score: float) -> FloatArray:
    """The start of the search: a quantile of the beta distribution with the same moments.

    The sum has the mean and the variance of that distribution, exactly so for numbers that are 0
    or 1, and for equal numbers above one 0. Its quantile is approximated, mostly within 0.2
    standard deviations at a tail of 0.025, so that the first path serves the quantile too.

    References
    ----------
    .. [1] Abramowitz and Stegun (1964). Handbook of mathematical functions, formula 26.5.22.
    """
    n = counts.sum(axis=1)
    mean = (counts * values).sum(axis=1) / n
    squares = (counts * (values - mean[:, np.newaxis]) ** 2).sum(axis=1)
    size = mean * (1.0 - mean) * n * (n + 1.0) / squares - 1.0
    # Both parameters are at least 1, because a row has a 0 and a 1, except where counts are not
    # whole or rounding is in the way.
    of_ones, of_zeros = np.maximum(mean * size, 1.0), np.maximum((1.0 - mean) * size, 1.0)
    inverse_ones, inverse_zeros = 1.0 / (2.0 * of_ones - 1.0), 1.0 / (2.0 * of_zeros - 1.0)
    harmonic = 2.0 / (inverse_ones + inverse_zeros)
    excess = (score * score - 3.0) / 6.0
    reach = -score * np.sqrt(np.maximum(harmonic + excess, 0.0)) / harmonic
    skew = (inverse_zeros - inverse_ones) * (excess + 5.0 / 6.0 - 2.0 / (3.0 * harmonic))
    half_log_odds = np.clip(reach - skew, -_LARGEST_LOG, _LARGEST_LOG)
    quantile: FloatArray = of_ones / (of_ones + of_zeros * np.exp(2.0 * half_log_odds))
    return quantile


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """How the rows go on: the factor to the next m, its direction, and whether it is the last."""

    factor: FloatArray
    is_up: BoolArray
    is_last: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class _Contour:
    """Points on the paths of some rows, and the terms whose imaginary parts sum to F(m)."""

    n: FloatArray  # numbers of a row, less the one that is always 0
    points: ComplexArray
    terms: ComplexArray

    @classmethod
    def through(cls, values: FloatArray, counts: FloatArray, m: FloatArray) -> _Contour:
        """The paths for the probabilities of at most m."""
        product = _Product(values / m[:, np.newaxis] - 1.0, counts)
        path = _choose_path(product)
        points, terms = [], []
        for start in range(0, _MOST_POINTS, _POINTS):
            x = _STEP * np.arange(start, start + _POINTS, dtype=np.float64)
            v, derivative = path.at(x)
            term = np.exp(product.log_at(v) - path.log_saddle[:, np.newaxis]) * derivative
            points.append(v)
            terms.append(term)
            if np.all(np.abs(term[:, -1]) <= _NEGLIGIBLE * np.abs(terms[0][:, 0])):
                break
        # The other half of the path is the mirror image; the first point belongs to both.
        terms[0][:, 0] /= 2.0
        scale = np.exp(path.log_saddle)[:, np.newaxis] * (_STEP / np.pi)
        return cls(
            counts.sum(axis=1) - 1.0,
            np.concatenate(points, axis=1),
            np.concatenate(terms, axis=1) * scale,
        )

    def step_to(self, target: float) -> _Step:
        """The step from m to the quantile.

        Where this path does not serve the target too, it is one step of Newton's method.
        """
        score, slope = self._probit(np.zeros(len(self.n)))
        away = target - score
        log_factor = np.clip(away / slope, -_LONGEST_STEP, _LONGEST_STEP)
        serves = (np.abs(away) <= _NEAR) & (self._gain(np.expm1(log_factor)) <= _LARGEST_GAIN)
        is_last = serves | (np.abs(away) <= _CLOSE)
        contour = _Contour(self.n[serves], self.points[serves], self.terms[serves])
        log_factor[serves] = contour._solve(target, log_factor[serves])
        return _Step(np.exp(log_factor), away > 0.0, is_last)

    def _gain(self, growth: FloatArray) -> FloatArray:
        """How much larger a term can become for m (1 + growth), as a logarithm."""
        factors = np.abs(1.0 + growth[:, np.newaxis] * self.points)
        gain: FloatArray = self.n * np.log(factors.max(axis=1))
        return gain

    def _solve(self, target: float, log_factor: FloatArray) -> FloatArray:
        """Newton's method from a start, with the terms of this path."""
        for _ in range(_MOST_STEPS):
            score, slope = self._probit(np.expm1(log_factor))
            log_factor = log_factor + (target - score) / slope
            if np.all(np.abs(target - score) <= _CLOSE):
                break
        return log_factor

    def _probit(self, growth: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The normal quantile of F(m (1 + growth)), and its derivative by log(1 + growth)."""
        factor = growth[:, np.newaxis] * self.points
        powers = self.terms * np.exp(self.n[:, np.newaxis] * np.log1p(factor))
        share = np.clip(powers.imag.sum(axis=1), _SMALLEST_SHARE, 1.0 - 1e-16)
        # One more factor of the product gives the density.
        slopes = powers * self.points / (1.0 + factor)
        density = self.n * (1.0 + growth) * slopes.imag.sum(axis=1)
        score = normal_quantiles(share)
        slope = density * np.exp(0.5 * score * score) * np.sqrt(2.0 * np.pi)
        # Far out the density is rounding; a slope of almost 0 then gives the longest step.
        return score, np.maximum(slope, 1e-9)


@dataclass(frozen=True, slots=True, eq=False)
class _Product:
    """The function H of some rows."""

    excess: FloatArray  # the numbers divided by m, minus 1
    counts: FloatArray

    def derivatives_at(self, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The first three derivatives of H at a real point of each row."""
        ratio = self.excess / (1.0 + v[:, np.newaxis] * self.excess)
        power, sums = self.counts * ratio, []
        for _ in range(3):
            sums.append(power.sum(axis=1))
            power = power * ratio
        return -1.0 / v - sums[0], 1.0 / v**2 + sums[1], -2.0 / v**3 - 2.0 * sums[2]

    def log_at(self, v: ComplexArray) -> ComplexArray:
        """H at some points of each row."""
        if v.size * self.excess.shape[1] <= _CACHED or len(v) == 1:
            return -np.log(v) - self._log_sum(v)
        rows = (slice(row, row + 1) for row in range(len(v)))
        return np.concatenate(
            [_Product(self.excess[row], self.counts[row]).log_at(v[row]) for row in rows]
        )

    def _log_sum(self, v: ComplexArray) -> ComplexArray:
        # In real arithmetic, which NumPy computes for many numbers at once: a complex logarithm
        # takes ten times as long, and 1 + x would lose the digits of a small x.
        excess, counts = self.excess[:, np.newaxis, :], self.counts[:, np.newaxis, :]
        real, imaginary = v.real[:, :, np.newaxis] * excess, v.imag[:, :, np.newaxis] * excess
        logs = np.log1p(real * (2.0 + real) + imaginary * imaginary)
        angles = np.arctan2(imaginary, 1.0 + real)
        logs *= counts
        angles *= counts
        sums: ComplexArray = 0.5 * logs.sum(axis=2) + 1j * angles.sum(axis=2)
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """The paths of some rows: from the smallest H on the real axis into the upper half plane."""

    saddle: FloatArray
    width: FloatArray
    bend: FloatArray
    log_saddle: FloatArray  # H at the saddle

    def at(self, x: FloatArray) -> tuple[ComplexArray, ComplexArray]:
        """The points of each row at some places of the path, and the derivatives by the place."""
        up, right = 1j * np.sinh(x), np.cosh(x) - 1.0
        bend, width = self.bend[:, np.newaxis], self.width[:, np.newaxis]
        points = self.saddle[:, np.newaxis] + width * (up - bend * right)
        return points, width * (1j * np.cosh(x) - bend * np.sinh(x))


def _choose_path(product: _Product) -> _Path:
    saddle = _find_saddle(product)
    _, second, third = product.derivatives_at(saddle)
    width = second**-0.5
    log_saddle = product.log_at(saddle[:, np.newaxis].astype(np.complex128))[:, 0].real
    # Where the term of third order vanishes the product falls without turning around zero.
    steepest = np.clip(-third * width**3 / 3.0, -1.0, 1.0)
    bends = np.stack([steepest, *(np.full(len(saddle), bend) for bend in _OTHER_BENDS)])
    reached = [
        product.log_at(_Path(saddle, width, bend, log_saddle).at(_FAR)[0])[:, 0].real
        for bend in bends
    ]
    # Far from the saddle another direction may be far better, and the first may lead uphill.
    best = np.argmin(reached, axis=0)
    rows = np.arange(len(saddle))
    is_better = np.asarray(reached)[best, rows] < reached[0] - 2.0
    return _Path(saddle, width, np.where(is_better, bends[best, rows], steepest), log_saddle)


def _find_saddle(product: _Product) -> FloatArray:
    """Where H is smallest between 0 and 1, roughly, by Newton's method.

    Minus the logarithm of a straight line is self-concordant, and so is H: shortened steps neither
    leave the interval nor fail to converge (Nesterov and Nemirovskii 1994).
    """
    linear = (product.counts * product.excess).sum(axis=1)
    squares = (product.counts * product.excess**2).sum(axis=1)
    start = (linear + np.sqrt(linear**2 + 4.0 * squares)) / (2.0 * squares)
    saddle: FloatArray = np.minimum(start, 0.9)
    for _ in range(_MOST_ROUNDS):
        first, second, _third = product.derivatives_at(saddle)
        decrement = np.abs(first) / np.sqrt(second)
        saddle = saddle - first / second / np.where(decrement < 0.25, 1.0, 1.0 + decrement)
        if np.all(decrement < _CLOSE_TO_SADDLE):
            break
    return saddle

"""Sums of magnitudes with random signs: the random quantity behind the sign-flip test.

``S = sum of e_i v_i`` with independent fair signs ``e_i``. Its law follows from
``K(z) = sum log cosh(z v_i)``, the logarithm of its moment generating function. For a large sample
K is computed from a few power sums, so from one pass over the data, wherever ``|z| v`` is small.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy

from rageval_report.stats.sums import sum_of_products
from rageval_report.types import ComplexArray, FloatArray, IntArray

# The |z| v up to which log cosh(z v) is computed from its power series. It converges below pi / 2;
# 13 terms leave a relative error of at most 4e-8 there.
_REACH = 0.9
_ORDERS = 2 * np.arange(1, 14)
_BLOCK = 8192  # numbers that stay in the first-level cache
_FEW = 256  # numbers for which a call of NumPy costs more than its work
_ROW = 32  # nodes per row of the tables from which waves are composed
# From so many times as many nodes in the rows as are asked for on, these are computed alone.
_SPARSE = 2
# Up to so many factors are computed at once and raised to their powers together.
_MOST_FACTORS = 2**15
# In standard deviations. Most arguments lie within, so the power sums for it serve all of them.
_USUAL_RADIUS = 10.0


@cache
def coefficients_of_log_cosh() -> FloatArray:
    """Those with which log cosh x is the sum of x**2, x**4, ..., x**26; from the zeros of cosh.

    Examples
    --------
    >>> coefficients_of_log_cosh()[:2].round(6)  # 1 / 2 and -1 / 12
    array([ 0.5     , -0.083333])
    """
    halves = _ORDERS // 2
    zeta = scipy.special.zeta(_ORDERS)
    signs = -((-1.0) ** halves)
    return np.asarray(signs * (2 / math.pi) ** _ORDERS * (1 - 2.0**-_ORDERS) * zeta / halves)


@dataclass(frozen=True, slots=True)
class Tail:
    """The probability that a sum of random signs reaches a threshold, and that it hits it."""

    at_least: float
    equal: float


@dataclass(frozen=True, slots=True)
class Cumulant:
    """K and its first two derivatives at a real point: mean and variance of the tilted sum."""

    value: float
    mean: float
    variance: float


class Magnitudes(ABC):
    """Magnitudes that enter a sum with random signs, as far as a line of integration needs them."""

    total: float
    variance: float

    def __init__(self) -> None:
        # The search for a tilt, the distance of the nodes and the series ask for the same points.
        self._cumulants: dict[float, Cumulant] = {}

    def cumulant(self, c: float) -> Cumulant:
        """K, K' and K'' at the real point c, at least zero."""
        if c not in self._cumulants:
            self._cumulants[c] = self._cumulant_at(c)
        return self._cumulants[c]

    @abstractmethod
    def _cumulant_at(self, c: float) -> Cumulant: ...


@dataclass(frozen=True, slots=True)
class CumulantParts:
    """The parts of K up to a radius: even power sums of small values, and the large values."""

    radius: float
    power_sums: FloatArray
    large: FloatArray
    counts: FloatArray | None


class SignSums(Magnitudes):
    """Magnitudes that enter a sum with random signs.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The magnitudes, above zero, in a unit in which their squares sum up to about one.
    counts : ndarray of shape (n,), optional
        How often each value occurs; once by default.

    Examples
    --------
    >>> sums = SignSums(np.array([0.6, 0.8]))
    >>> cumulant = sums.cumulant(0.0)
    >>> cumulant.mean, round(cumulant.variance, 12)
    (0.0, 1.0)
    >>> sums.characteristic(0.0, 1.0, np.array([1])).round(6)  # cos(0.6) cos(0.8)
    array([0.575017+0.j])
    """

    def __init__(self, values: FloatArray, counts: FloatArray | None = None):
        super().__init__()
        self.values = values
        self.counts = counts
        self.size = float(values.size if counts is None else counts.sum())
        self.top = float(values.max())
        self.total = _total(values, counts)
        self.variance = _total(values * values, counts)
        self.reach = within_reach(self.top)  # up to this radius power sums alone are enough
        self._parts = self._split(max(self.reach, _USUAL_RADIUS))

    def _cumulant_at(self, c: float) -> Cumulant:
        if c > self._parts.radius:
            # Some room, because the search for the tilt only moves outwards.
            self._parts = self._split(1.3 * c)
        series = coefficients_of_log_cosh() * self._parts.power_sums
        large, counts = self._parts.large, self._parts.counts
        near = Cumulant(
            value=float(series @ c**_ORDERS),
            mean=float(series * _ORDERS @ c ** (_ORDERS - 1)),
            variance=float(series * _ORDERS * (_ORDERS - 1) @ c ** (_ORDERS - 2)),
        )
        if not large.size:
            return near
        hyperbolic = np.tanh(c * large)
        return Cumulant(
            value=near.value + _total(log_cosh(c * large), counts),
            mean=near.mean + _total(large * hyperbolic, counts),
            variance=near.variance
            + _total((large * (1 - hyperbolic * hyperbolic) * large), counts),
        )

    def characteristic(self, c: float, distance: float, nodes: IntArray) -> ComplexArray:
        """exp(K(c + it) - K(c)), the characteristic function of the sum tilted by c.

        It is computed at t = `distance` times `nodes`, whole numbers in ascending order.
        """
        radius = math.hypot(c, distance * float(nodes[-1]))
        parts = self._parts if radius <= self._parts.radius else self._split(radius)
        if not parts.power_sums.any():  # no value is small, as at far nodes
            result: ComplexArray = np.ones(nodes.size, dtype=np.complex128)
        else:
            result = _exponential_of_series(parts.power_sums, c, distance, nodes)
        if parts.large.size:
            result *= _product(parts.large, parts.counts, c, distance, nodes)
        return result

    def n_large(self, radius: float) -> int:
        """The number of values that the power sums cannot represent, up to this radius."""
        return int(np.count_nonzero(self.values > _REACH / radius))

    def _split(self, radius: float) -> CumulantParts:
        if radius <= self.reach:
            counts = None if self.counts is None else self.counts[:0]
            return CumulantParts(
                radius, _power_sums(self.values, self.counts), self.values[:0], counts
            )
        is_large = self.values > _REACH / radius
        small, large = self.values[~is_large], self.values[is_large]
        if self.counts is None:
            return CumulantParts(radius, _power_sums(small, None), large, None)
        sums = _power_sums(small, self.counts[~is_large])
        return CumulantParts(radius, sums, large, self.counts[is_large])


def within_reach(top: float) -> float:
    """The radius up to which power sums of values up to this one are enough.

    Examples
    --------
    >>> within_reach(0.5)
    1.8
    """
    return _REACH / top


def log_cosh(x: FloatArray) -> FloatArray:
    """Log of the hyperbolic cosine of x >= 0, without overflow."""
    return np.asarray(x + np.log1p(np.exp(-2.0 * x)) - math.log(2.0))


def _total(terms: FloatArray, counts: FloatArray | None) -> float:
    return float(terms.sum()) if counts is None else sum_of_products(terms, counts)


def _power_sums(values: FloatArray, counts: FloatArray | None) -> FloatArray:
    """Sums of the even powers; block by block, as that stays in the cache."""
    sums = np.zeros(_ORDERS.size)
    if values.size <= _FEW:
        table = np.tile(np.square(values), (_ORDERS.size, 1))
        if counts is not None:
            table[0] *= counts
        # Each row times the next one: as below, in one call instead of a dozen.
        np.multiply.accumulate(table, axis=0, out=table)
        return np.asarray(table.sum(axis=1))
    powers = np.empty((_ORDERS.size, min(values.size, _BLOCK)))
    for start in range(0, values.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        squares = np.square(values[block])
        rows = powers[:, : squares.size]
        rows[0] = squares if counts is None else squares * counts[block]
        for k in range(1, _ORDERS.size):
            np.multiply(rows[k - 1], squares, out=rows[k])
        sums += rows.sum(axis=1)
    return sums


def _exponential_of_series(
    power_sums: FloatArray, c: float, distance: float, nodes: IntArray
) -> ComplexArray:
    """exp(K(c + it) - K(c)) from the power series of log cosh, at t = distance * nodes."""
    squares = np.append(np.square(c + 1j * distance * nodes), c * c)
    series = np.zeros_like(squares)
    for coefficient in (coefficients_of_log_cosh() * power_sums)[::-1]:
        series += coefficient
        series *= squares
    return np.asarray(np.exp(series[:-1] - series[-1]))


def _product(
    values: FloatArray, counts: FloatArray | None, c: float, distance: float, nodes: IntArray
) -> ComplexArray:
    """The product of cosh((c + it) v) / cosh(c v) over the values, at t = distance * nodes.

    A factor is cos(t v) + i tanh(c v) sin(t v). The waves are put together from two short tables,
    node = _ROW * row + column, so that a factor costs two multiplications and no sine.
    """
    if counts is not None and values.size * nodes.size <= _MOST_FACTORS:
        return product_of_powers(values, counts, c, distance, nodes)
    row_of = nodes // _ROW
    rows = row_of[np.diff(row_of, prepend=-1) > 0]
    # Where few nodes of each row are asked for, the others are not computed.
    is_sparse = _SPARSE * nodes.size < rows.size * _ROW
    result = np.ones(nodes.size if is_sparse else (rows.size, _ROW), dtype=np.complex128)

    def multiply(product: ComplexArray, some: FloatArray) -> None:
        if is_sparse:
            _multiply_scattered(product, some, c, distance, nodes)
        else:
            _multiply_waves(product, some, c, distance, rows)

    if counts is None:
        multiply(result, values)
    else:  # values that occur equally often share their power
        for count in sorted(set(counts.tolist())):
            factor = np.ones_like(result)
            multiply(factor, values[counts == count])
            _multiply_power(result, factor, int(count))
    if is_sparse:
        return result
    picked: ComplexArray = result[np.searchsorted(rows, row_of), nodes % _ROW]
    return picked


def product_of_powers(
    values: FloatArray, counts: FloatArray, c: float, distance: float, nodes: IntArray
) -> ComplexArray:
    """The product of cosh((c + it) v) / cosh(c v) over few values, each to the power of its count.

    All powers are taken together, bit by bit of the counts.

    Parameters
    ----------
    values, counts : ndarray of shape (n,)
        The values, and how often each occurs.
    c : float
        The tilt.
    distance : float
        The product is computed at t = distance * nodes.
    nodes : ndarray of int
        In ascending order.

    Examples
    --------
    >>> values, counts = np.array([0.6, 0.8]), np.array([1.0, 3.0])
    >>> product_of_powers(values, counts, 0.0, 1.0, np.array([0, 1])).real.round(6)
    array([1.      , 0.279113])
    """
    turns = distance * values[:, np.newaxis]
    coarse, fine = np.divmod(nodes, _ROW)
    is_first = np.diff(coarse, prepend=-1) > 0
    rows, places = coarse[is_first], np.cumsum(is_first) - 1
    factors = _waves(turns * (_ROW * rows)).take(places, axis=1)
    factors *= _waves(turns * np.arange(_ROW)).take(fine, axis=1)
    factors.imag *= np.tanh(c * values)[:, np.newaxis]
    # From the highest bit down, so that the product is squared and not each of its factors.
    exponents, product = counts.astype(np.int64), np.ones(nodes.size, dtype=np.complex128)
    for bit in reversed(range(int(exponents.max()).bit_length())):
        np.square(product, out=product)
        product *= factors[exponents >> bit & 1 == 1].prod(axis=0)
    return product


def _waves(angles: FloatArray) -> ComplexArray:
    """exp(i angles), in half the time of a complex exponential."""
    waves = np.empty(angles.shape, dtype=np.complex128)
    np.cos(angles, out=waves.real)
    np.sin(angles, out=waves.imag)
    return waves


def _multiply_scattered(
    result: ComplexArray, values: FloatArray, c: float, distance: float, nodes: IntArray
) -> None:
    """Multiply in place by the factor of each value at each of some nodes far from each other."""
    slopes = np.tanh(c * values)
    stride = math.isqrt(int(nodes[-1])) + 1
    coarse, fine = np.divmod(nodes, stride)
    steps = np.arange(stride)
    block = max(1, _BLOCK // nodes.size)
    for start in range(0, values.size, block):
        part = slice(start, start + block)
        turns = 1j * distance * values[part, np.newaxis]
        factors = np.exp(turns * (stride * steps)).take(coarse, axis=1)
        factors *= np.exp(turns * steps).take(fine, axis=1)
        factors.imag *= slopes[part, np.newaxis]
        result *= factors.prod(axis=0) if len(factors) > 1 else factors[0]


def _multiply_waves(
    result: ComplexArray, values: FloatArray, c: float, distance: float, rows: IntArray
) -> None:
    """Multiply in place by the factor of each value at each node of the rows."""
    slopes = np.tanh(c * values)
    block = max(1, _BLOCK // result.size)
    for start in range(0, values.size, block):
        part = slice(start, start + block)
        turns = 1j * distance * values[part, np.newaxis]
        factors = (
            np.exp(turns * (_ROW * rows))[:, :, np.newaxis]
            * np.exp(turns * np.arange(_ROW))[:, np.newaxis, :]
        )
        factors.imag *= slopes[part, np.newaxis, np.newaxis]
        result *= factors.prod(axis=0)


def _multiply_power(result: ComplexArray, factor: ComplexArray, exponent: int) -> None:
    """Multiply in place by a power, by repeated squaring."""
    while exponent:
        if exponent % 2:
            result *= factor
        exponent //= 2
        if exponent:
            factor *= factor

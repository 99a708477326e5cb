"""Cumulants and characteristic functions of many sums of random signs, one row per sum.

Each is a sum, or a product, over the values of a row. `ListedRows` goes through all of them for
every number. `SummedRows` does so once: the logarithm K of the moment generating function is a
series in the even powers of the values, so that thirteen sums of powers and the few large values
stand for a row of hundreds, as in `large_samples`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rageval_report.stats.sign_flips.sign_sums import coefficients_of_log_cosh
from rageval_report.types import BoolArray, ComplexArray, FloatArray

# Values up to this enter by their powers. The series is used up to this |z| v, at nodes whose terms
# are 1e-12 of the first. Where terms matter |z| v is half as large: tails differ from those of
# `ListedRows` by 3e-13 at most (150 to 1,400 values of five shapes, down to 1e-9).
_SMALL, _REACH = 0.09, 1.2
# Rows of up to so many values are added in such pieces, as NumPy adds up to 128 numbers in one.
LONGEST_ADDED, _PIECE = 192, 128
# No tilt of these rows is larger; a search for one that would be stops here.
_MOST_TILT = 8.0
# Complex numbers at a time, which stay in the second-level cache.
_BLOCK = 2**15
_ORDERS = 2.0 * np.arange(1, coefficients_of_log_cosh().size + 1)


def sum_rows(rows: FloatArray) -> FloatArray:
    """The sum of each row; up to a width of 192, zeros at its end leave the last digit alone.

    NumPy adds long rows in halves, so the last digit of a sum depends on the width of its row. Of
    up to 128 numbers all widths of whole eights agree; longer rows are added in two such pieces.

    Examples
    --------
    >>> values = np.sqrt(np.arange(1.0, 121.0))[np.newaxis]
    >>> bool(sum_rows(values) == sum_rows(np.pad(values, ((0, 0), (0, 72)))))
    True
    """
    if not _PIECE < rows.shape[1] <= LONGEST_ADDED:
        return np.asarray(rows.sum(axis=1))
    return np.asarray(rows[:, :_PIECE].sum(axis=1) + rows[:, _PIECE:].sum(axis=1))


class TiltedRows(Protocol):
    """Sums of random signs, in units in which the squares of a row sum up to 1."""

    def moments(self, tilt: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of each tilted sum: the first two derivatives of K."""

    def logs(self, tilt: FloatArray) -> FloatArray:
        """K of each row."""

    def characteristic(self, tilt: FloatArray, distance: FloatArray, n_nodes: int) -> ComplexArray:
        """The characteristic function of each tilted sum at 0, 1, ... times its distance."""

    @property
    def most_tilt(self) -> float:
        """No tilt may be larger."""


@dataclass(frozen=True, slots=True, eq=False)
class ListedRows:
    """Rows of values, all of which are gone through each time.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_values)
        The magnitudes; zeros do not matter.

    Examples
    --------
    >>> rows = ListedRows(np.array([[0.6, 0.8]]))
    >>> mean, variance = rows.moments(np.array([1.0]))
    >>> mean.round(6), variance.round(6), rows.logs(np.array([1.0])).round(6)
    (array([0.853459]), array([0.613963]), array([0.460889]))
    >>> rows.characteristic(np.array([0.0]), np.array([1.0]), 2).round(6)  # cos(0.6) cos(0.8)
    array([[1.      +0.j, 0.575017+0.j]])
    """

    values: FloatArray

    def moments(self, tilt: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As in `TiltedRows`."""
        slopes = np.tanh(tilt[:, np.newaxis] * self.values)
        mean = sum_rows(slopes * self.values)
        return mean, sum_rows(np.square(self.values) * (1.0 - np.square(slopes)))

    def logs(self, tilt: FloatArray) -> FloatArray:
        """As in `TiltedRows`."""
        x = tilt[:, np.newaxis] * self.values
        return sum_rows(x + np.log1p(np.exp(-2.0 * x)) - math.log(2.0))

    def characteristic(self, tilt: FloatArray, distance: FloatArray, n_nodes: int) -> ComplexArray:
        """As in `TiltedRows`.

        A factor is cos(t v) + i tanh(c v) sin(t v); from one node to the next a wave takes one
        multiplication.
        """
        products = np.empty((self.values.shape[0], n_nodes), dtype=np.complex128)
        block = max(1, _BLOCK // (self.values.shape[1] * n_nodes))
        for start in range(0, len(products), block):
            part = slice(start, start + block)
            values = self.values[part]
            turns = distance[part, np.newaxis] * values
            waves = np.empty((n_nodes, *turns.shape), dtype=np.complex128)
            waves[0] = 1.0
            waves[1].real, waves[1].imag = np.cos(turns), np.sin(turns)
            for k in range(2, n_nodes):
                np.multiply(waves[k - 1], waves[1], out=waves[k])
            waves.imag *= np.tanh(tilt[part, np.newaxis] * values)
            products[part] = waves.prod(axis=2).T
        return products

    @property
    def most_tilt(self) -> float:
        """Any tilt will do."""
        return math.inf


@dataclass(frozen=True, slots=True, eq=False)
class SummedRows:
    """Rows as sums of the even powers of their small values, and the large ones one by one.

    Parameters
    ----------
    series : ndarray of shape (n_rows, 13)
        The coefficients of K without the large values.
    large : ListedRows
        The large values.

    Examples
    --------
    >>> rows = SummedRows.of(np.full((1, 100), 0.1) * np.append(np.full(99, 0.5), 5.024938))
    >>> rows.large.values[0].round(6).tolist()
    [0.502494, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    >>> [moment.round(6) for moment in rows.moments(np.array([2.0]))]
    [array([0.877101]), array([0.350281])]
    """

    series: FloatArray
    large: ListedRows

    @classmethod
    def of(cls, values: FloatArray) -> SummedRows:
        """The rows of a matrix of magnitudes; zeros do not matter."""
        is_large = values > _SMALL
        small = np.where(is_large, 0.0, values)
        np.square(small, out=small)
        powers, sums = small.copy(), np.empty((len(values), _ORDERS.size))
        np.sum(powers, axis=1, out=sums[:, 0])
        for place in range(1, _ORDERS.size):
            powers *= small
            np.sum(powers, axis=1, out=sums[:, place])
        return cls(sums * coefficients_of_log_cosh(), ListedRows(_packed(values, is_large)))

    def moments(self, tilt: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As in `TiltedRows`."""
        terms = self.series * tilt[:, np.newaxis] ** (_ORDERS - 2.0) * _ORDERS
        mean, variance = self.large.moments(tilt)
        mean += terms.sum(axis=1) * tilt
        variance += (terms * (_ORDERS - 1.0)).sum(axis=1)
        return mean, variance

    def logs(self, tilt: FloatArray) -> FloatArray:
        """As in `TiltedRows`."""
        terms = self.series * tilt[:, np.newaxis] ** _ORDERS
        return np.asarray(terms.sum(axis=1) + self.large.logs(tilt))

    def characteristic(self, tilt: FloatArray, distance: FloatArray, n_nodes: int) -> ComplexArray:
        """As in `TiltedRows`."""
        # A row has fewer nodes than another one as a rule; beyond its own the series may diverge.
        farthest = np.sqrt((_REACH / _SMALL) ** 2 - np.square(tilt))[:, np.newaxis]
        z = np.empty((tilt.size, n_nodes), dtype=np.complex128)
        z.real = tilt[:, np.newaxis]
        z.imag = np.minimum(distance[:, np.newaxis] * np.arange(n_nodes), farthest)
        # All powers of the squares, in two calls of NumPy instead of two per power.
        powers = np.empty((_ORDERS.size, *z.shape), dtype=np.complex128)
        powers[:] = np.square(z, out=z)
        np.multiply.accumulate(powers, axis=0, out=powers)
        powers *= self.series.T[:, :, np.newaxis]
        exponent = powers.sum(axis=0)
        exponent -= exponent[:, :1].real  # the node 0 is the tilt itself
        result: ComplexArray = np.exp(exponent, out=exponent)
        if self.large.values.shape[1]:
            result *= self.large.characteristic(tilt, distance, n_nodes)
        return result

    def covers(self, tilt: FloatArray, farthest: FloatArray) -> BoolArray:
        """Which rows are precise up to an imaginary part: the series converges fast up to there."""
        is_near = np.hypot(tilt, farthest) <= _REACH / _SMALL
        return np.asarray(is_near & (tilt < _MOST_TILT))

    @property
    def most_tilt(self) -> float:
        """Well within the reach of the series."""
        return _MOST_TILT


def _packed(values: FloatArray, is_chosen: BoolArray) -> FloatArray:
    """The chosen values of each row from the left, in their order; zeros behind them."""
    n_chosen = np.count_nonzero(is_chosen, axis=1)
    # Whole eights, of which zeros leave the last digits alone, see `tail_batch.batch_width`: more
    # than 123 values cannot be large.
    packed = np.zeros((len(values), 8 * math.ceil(int(n_chosen.max(initial=0)) / 8)))
    # As many places from the left of each row, so that both are gone through in the same order.
    packed[np.arange(packed.shape[1]) < n_chosen[:, np.newaxis]] = values[is_chosen]
    return packed

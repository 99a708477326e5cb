"""A bound on all far terms of many integrals at once, which as a rule shows that none is needed.

It is the bound of `far_nodes` by tangents, for the rows of a batch: the logarithm of a squared
factor is concave in cos(2tv), so it lies below its tangent, and no factor is above 1. Some of the
values are enough where the characteristic function dies out. The sum of the tangents bends so
little that it is computed at some nodes only; between two of these it lies below a line plus what
it can bend. Where the bound is not small enough, `far_nodes` looks at that row alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rageval_report.types import Float32Array, FloatArray, IntArray

# Columns of the table of computed nodes, and its rows in one product of matrices: for 16 x 224 and
# 224 x 64 numbers BLAS does not start threads.
_COLUMNS, _ROWS = 64, 16
# The nearest far nodes are bounded by the values below this quantile, whose waves are slow there.
_SLOW = 0.97
# Numbers in the tables of a block of rows, which stay in the second-level cache.
_BLOCK = 2**17
# More than the rounding errors of a sum of tangents, and of a sum of bounds.
_SLACK, _ROUNDING = 1e-3, 1e-4
_LARGEST_ARGUMENT = 300.0  # the square of cosh overflows from 355 on; such a weight is nothing


@dataclass(frozen=True, slots=True)
class _Precision:
    """How precise the bound is for rows of up to so many values.

    So many of them count, the tangents touch the logarithm at this cosine, and one node of
    ``stride`` is computed. Of many values the waves are slower, and longer near a cosine of 1.
    """

    width: float
    counted: int
    touches: float
    stride: int


# Chosen on normal and skewed samples: the cheapest with which hardly any row needs a second look.
_PRECISIONS = (
    *(_Precision(128, 56, 0.2, 2), _Precision(384, 72, 0.4, 4)),
    _Precision(math.inf, 112, 0.6, 6),
)


@dataclass(frozen=True, eq=False)
class FarRows:
    """Rows of magnitudes, and for each a range of equally spaced points of its line.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_values)
        The magnitudes; zeros do not matter.
    tilt, distance, spread : ndarray of shape (n_rows,)
        As in `far_nodes.FarRange`.
    first, last : ndarray of int, shape (n_rows,)
        The imaginary parts of the points are these multiples of the distance, and all between.
    """

    values: FloatArray
    tilt: FloatArray
    distance: FloatArray
    spread: FloatArray
    first: IntArray
    last: IntArray

    @property
    def precision(self) -> _Precision:
        """How precise their bounds are."""
        return next(each for each in _PRECISIONS if self.values.shape[1] <= each.width)

    def select(self, rows: IntArray | slice) -> FarRows:
        """Some of the rows."""
        return FarRows(
            *(self.values[rows], self.tilt[rows], self.distance[rows], self.spread[rows]),
            *(self.first[rows], self.last[rows]),
        )


def bound_far_terms(rows: FarRows) -> FloatArray:
    """For each row a bound on the sum of all its terms, each divided by its point.

    Returns
    -------
    ndarray of shape (n_rows,)
        No less than the sum over the nodes of the modulus of the characteristic function, each
        divided by the modulus of its point, as `far_nodes.FarTerms.left_out`.

    Examples
    --------
    >>> values = np.sqrt(np.arange(1.0, 61.0))[np.newaxis] / np.sqrt(1830)
    >>> ends = np.array([20]), np.array([5000])
    >>> rows = FarRows(values, np.array([1.0]), np.array([0.5]), np.zeros(1), *ends)
    >>> bool(bound_far_terms(rows)[0] < 1e-6)
    True
    """
    reach = int((rows.last - rows.first).max()) + 1
    size = _ROWS * math.ceil(reach / (rows.precision.stride * _COLUMNS * _ROWS))
    block = max(1, _BLOCK // (size * _COLUMNS))
    starts = range(0, len(rows.values), block)
    return np.concatenate(
        [_bounds_of_block(rows.select(slice(start, start + block)), size) for start in starts]
    )


@dataclass(frozen=True, eq=False)
class _Tangents:
    """Some values of each row, in turns per node, and the tangents of their factors.

    The logarithm of the modulus is at most ``constants + sum of slopes * cos(2 pi turns k)`` at the
    node k. So large are its second differences, at most: ``bends``. It is computed at one node of
    ``stride``.
    """

    stride: int

    turns: FloatArray
    slopes: FloatArray
    constants: FloatArray
    bends: FloatArray

    @property
    def bent(self) -> FloatArray:
        """How far the bound may lie above a line, from one computed node up to the next."""
        between = np.arange(self.stride)
        return np.multiply.outer(self.bends, between * (self.stride - between) / 2)


def _bounds_of_block(rows: FarRows, size: int) -> FloatArray:
    """`bound_far_terms` from tables of `size` rows of computed nodes."""
    weights = 1.0 / np.square(
        np.cosh(np.minimum(rows.tilt[:, np.newaxis] * rows.values, _LARGEST_ARGUMENT))
    )
    tangents = _choose_tangents(rows, weights)
    stride = tangents.stride
    logs = _sum_tangents(rows, tangents, size)
    starts = rows.first[:, np.newaxis] + stride * _COLUMNS * np.arange(size, dtype=np.float64)
    # The first row of a table, of which all nodes are computed, is bounded in two ways.
    nearest = _fill_between(logs, tangents)
    nodes = rows.first[:, np.newaxis] + np.arange(nearest.shape[1], dtype=np.float64)
    nearest = np.exp(np.minimum(nearest, _slow_logs(rows, weights, nodes)))
    # The exponential lies below its chord, so a node between two counts with shares of both.
    mass = np.exp(tangents.bent).sum(axis=1)
    sums = np.exp(logs, out=logs).sum(axis=2).astype(np.float64) * mass[:, np.newaxis]
    # Of other rows each node is divided by a point before the first one.
    sums[:, 1:] /= starts[:, 1:] - stride
    sums[:, 0] = (nearest / nodes).sum(axis=1)
    sums *= _spread_factors(rows, np.maximum(starts - stride, rows.first[:, np.newaxis]))
    return np.asarray(sums.sum(axis=1) / rows.distance * (1.0 + _ROUNDING))


def _choose_tangents(rows: FarRows, weights: FloatArray) -> _Tangents:
    precision = rows.precision
    touches = precision.touches
    # The values that make the tilted sum vary most make its characteristic function small soonest.
    counted = min(precision.counted, weights.shape[1])
    order = np.argpartition(-weights * np.square(rows.values), counted - 1, axis=1)[:, :counted]
    weights = np.take_along_axis(weights, order, axis=1)
    turns = np.take_along_axis(rows.values, order, axis=1)
    turns *= (rows.distance / math.pi)[:, np.newaxis]
    heights = 1.0 - weights / 2 * (1.0 - touches)
    # A zero has the factor 1, and the logarithm 0.
    slopes = np.where(turns > 0, weights / 4 / heights, 0.0)
    logs = np.where(turns > 0, np.log(heights) / 2, 0.0)
    constants = (logs - slopes * touches).sum(axis=1) + _SLACK
    bends = (slopes * np.square(2 * math.pi * turns)).sum(axis=1)
    return _Tangents(precision.stride, turns, slopes, constants, bends)


def _sum_tangents(rows: FarRows, tangents: _Tangents, size: int) -> Float32Array:
    """The bound on the logarithm at the nodes that are computed: tables of `size` rows."""
    turns = tangents.turns * tangents.stride
    starts = np.add.outer(rows.first / tangents.stride, np.arange(0.0, _COLUMNS * size, _COLUMNS))
    slopes = tangents.slopes.astype(np.float32)[:, np.newaxis]
    angles = _angles(starts[:, :, np.newaxis] * turns[:, np.newaxis])
    left = np.concatenate([slopes * np.cos(angles), -slopes * np.sin(angles)], axis=2)
    angles = _angles(turns[:, :, np.newaxis] * np.arange(_COLUMNS, dtype=np.float64))
    right = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    pieces = left.reshape(len(turns), size // _ROWS, _ROWS, -1)
    logs: Float32Array = np.matmul(pieces, right[:, np.newaxis]).reshape(-1, size, _COLUMNS)
    logs += tangents.constants.astype(np.float32)[:, np.newaxis, np.newaxis]
    return logs


def _fill_between(logs: Float32Array, tangents: _Tangents) -> FloatArray:
    """The bound on the logarithm at all nodes of the first row of each table."""
    computed = np.append(logs[:, 0], logs[:, 1, :1], axis=1).astype(np.float64)[:, :, np.newaxis]
    shares = np.arange(tangents.stride) / tangents.stride
    lines = computed[:, :-1] * (1.0 - shares) + computed[:, 1:] * shares
    return np.asarray((lines + tangents.bent[:, np.newaxis]).reshape(len(logs), -1))


def _angles(turns: FloatArray) -> Float32Array:
    """Whole turns removed in double precision, so that single precision is enough for the rest."""
    turns -= np.rint(turns)
    turns *= 2 * math.pi
    return turns.astype(np.float32)


def _slow_logs(rows: FarRows, weights: FloatArray, nodes: FloatArray) -> FloatArray:
    """A bound on the logarithm at nodes so near that most waves have not turned once.

    It is at most - sum of w (1 - cos 2tv) / 4, and (1 - cos x) / x**2 falls until x is a whole
    turn: it is least for the largest of the values that count.
    """
    place = int(_SLOW * (rows.values.shape[1] - 1))
    top = np.partition(rows.values, place, axis=1)[:, place]
    counted = weights * np.square(rows.values) * (rows.values <= top[:, np.newaxis])
    t = nodes * rows.distance[:, np.newaxis]
    fastest = 2.0 * t * top[:, np.newaxis]
    fastest = np.where((fastest > 0) & (fastest < 2 * math.pi), fastest, 2 * math.pi)
    least = (1.0 - np.cos(fastest)) / np.square(fastest)
    return np.asarray(-np.square(t) * counted.sum(axis=1)[:, np.newaxis] * least)


def _spread_factors(rows: FarRows, starts: FloatArray) -> FloatArray:
    """A bound on |sinh(az) / (az)| from each start on, for a uniform number between -a and a."""
    a = np.where(rows.spread > 0, rows.spread, 1.0)
    real = np.minimum(a * rows.tilt, _LARGEST_ARGUMENT)
    t = starts * rows.distance[:, np.newaxis]
    slow, fast = np.sinh(real) / real, np.cosh(real) / a
    factors = np.minimum(slow[:, np.newaxis], fast[:, np.newaxis] / t)
    return np.asarray(np.where(rows.spread[:, np.newaxis] > 0, factors, 1.0))

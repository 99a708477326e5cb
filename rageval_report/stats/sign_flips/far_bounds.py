"""A bound on all far terms of many integrals at once, which as a rule shows that none is needed.

It is the bound of `far_nodes` by tangents, for the rows of a batch: the logarithm of a squared
factor is concave in cos(2tv), so it lies below its tangent, and no factor is above 1. Some of the
values are enough where the characteristic function dies out. The sum of the tangents bends so
little that it is computed at some nodes only; between two of these it lies below a line plus what
it can bend. A second look takes parabolas, which are closer. Where that is not small enough either,
`far_nodes` looks at that row alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rageval_report.types import Complex64Array, Float32Array, FloatArray, IntArray

# Columns of the table of computed nodes, and its rows in one product of matrices: for 16 x 224 and
# 224 x 64 numbers BLAS does not start threads.
_COLUMNS, _ROWS = 64, 16
_STEPS = 8  # divides both
# The nearest far nodes are bounded by the values below this quantile, whose waves are slow there.
_SLOW = 0.97
# Numbers in the tables of a block of rows, which stay in the second-level cache.
_BLOCK = 2**17
# The cosine at which parabolas touch the logarithm: the least bound for weights from 0.6 to 1.
_TOUCH = -0.3
# More than the rounding errors of a sum of waves, and of a sum of bounds.
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
    *(_Precision(60, 56, 0.2, 2), _Precision(384, 72, 0.4, 4)),
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
    return _bound_by(_choose_tangents, rows)


def bound_closely(rows: FarRows) -> FloatArray:
    """`bound_far_terms` by parabolas instead of tangents: twice the work, and a closer bound.

    Examples
    --------
    >>> values = np.sqrt(np.arange(1.0, 61.0))[np.newaxis] / np.sqrt(1830)
    >>> ends = np.array([20]), np.array([5000])
    >>> rows = FarRows(values, np.array([1.0]), np.array([0.5]), np.zeros(1), *ends)
    >>> bool(bound_closely(rows)[0] < bound_far_terms(rows)[0])
    True
    """
    return _bound_by(_choose_parabolas, rows)


def _bound_by(choose: Callable[[FarRows, FloatArray], _Waves], rows: FarRows) -> FloatArray:
    reach = int((rows.last - rows.first).max()) + 1
    size = _ROWS * math.ceil(reach / (rows.precision.stride * _COLUMNS * _ROWS))
    block = max(1, _BLOCK // (size * _COLUMNS))
    starts = range(0, len(rows.values), block)
    return np.concatenate(
        [
            _bounds_of_block(choose, rows.select(slice(start, start + block)), size)
            for start in starts
        ]
    )


@dataclass(frozen=True, eq=False)
class _Waves:
    """A few waves of each row, of so many turns per node, whose sum is a bound.

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


def _bounds_of_block(
    choose: Callable[[FarRows, FloatArray], _Waves], rows: FarRows, size: int
) -> FloatArray:
    """`bound_far_terms` from tables of `size` rows of computed nodes."""
    weights = 1.0 / np.square(
        np.cosh(np.minimum(rows.tilt[:, np.newaxis] * rows.values, _LARGEST_ARGUMENT))
    )
    waves = choose(rows, weights)
    stride = waves.stride
    logs = _sum_waves(rows, waves, size)
    starts = rows.first[:, np.newaxis] + stride * _COLUMNS * np.arange(size, dtype=np.float64)
    # The first row of a table, of which all nodes are computed, is bounded in two ways.
    nearest = _fill_between(logs, waves)
    nodes = rows.first[:, np.newaxis] + np.arange(nearest.shape[1], dtype=np.float64)
    nearest = np.exp(np.minimum(nearest, _slow_logs(rows, weights, nodes)))
    # The exponential lies below its chord, so a node between two counts with shares of both.
    mass = np.exp(waves.bent).sum(axis=1)
    sums = np.exp(logs, out=logs).sum(axis=2).astype(np.float64) * mass[:, np.newaxis]
    # Of other rows each node is divided by a point before the first one.
    sums[:, 1:] /= starts[:, 1:] - stride
    sums[:, 0] = (nearest / nodes).sum(axis=1)
    sums *= spread_factors(rows, np.maximum(starts - stride, rows.first[:, np.newaxis]))
    return np.asarray(sums.sum(axis=1) / rows.distance * (1.0 + _ROUNDING))


def _choose_tangents(rows: FarRows, weights: FloatArray) -> _Waves:
    turns, weights = _choose_values(rows, weights)
    touches = rows.precision.touches
    heights = 1.0 - weights / 2 * (1.0 - touches)
    # A zero has the factor 1, and the logarithm 0.
    slopes = np.where(turns > 0, weights / 4 / heights, 0.0)
    logs = np.where(turns > 0, np.log(heights) / 2, 0.0)
    return _waves_of(rows, turns, slopes, logs - slopes * touches)


def _choose_parabolas(rows: FarRows, weights: FloatArray) -> _Waves:
    """Parabolas that touch the logarithm at a cosine, and meet it at a cosine of 1.

    The third derivative of the logarithm is above zero, so it lies below such a parabola from a
    cosine of -1 on. The square of a cosine is a wave of twice the turns.
    """
    turns, weights = _choose_values(rows, weights)
    heights = 1.0 - weights / 2 * (1.0 - _TOUCH)
    slopes = np.where(turns > 0, weights / 4 / heights, 0.0)
    logs = np.where(turns > 0, np.log(heights) / 2, 0.0)
    bends = -(logs + slopes * (1.0 - _TOUCH)) / (1.0 - _TOUCH) ** 2
    constants = logs - slopes * _TOUCH + bends * (_TOUCH**2 + 0.5)
    waves = np.concatenate([slopes - 2 * _TOUCH * bends, bends / 2], axis=1)
    return _waves_of(rows, np.concatenate([turns, 2 * turns], axis=1), waves, constants)


def _choose_values(rows: FarRows, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The values that count, in turns per node, and their weights."""
    # The values that make the tilted sum vary most make its characteristic function small soonest.
    counted = min(rows.precision.counted, weights.shape[1])
    order = np.argpartition(-weights * np.square(rows.values), counted - 1, axis=1)[:, :counted]
    turns = np.take_along_axis(rows.values, order, axis=1)
    turns *= (rows.distance / math.pi)[:, np.newaxis]
    return turns, np.take_along_axis(weights, order, axis=1)


def _waves_of(
    rows: FarRows, turns: FloatArray, slopes: FloatArray, constants: FloatArray
) -> _Waves:
    bends = (np.abs(slopes) * np.square(2 * math.pi * turns)).sum(axis=1)
    return _Waves(rows.precision.stride, turns, slopes, constants.sum(axis=1) + _SLACK, bends)


def _sum_waves(rows: FarRows, waves: _Waves, size: int) -> Float32Array:
    """The bound on the logarithm at the nodes that are computed: tables of `size` rows."""
    turns = waves.turns * waves.stride
    starts = (rows.first / waves.stride)[:, np.newaxis, np.newaxis] * turns[:, np.newaxis]
    left = _equal_steps(starts, _COLUMNS * turns, size)
    left *= waves.slopes.astype(np.float32)[:, np.newaxis]
    # The real part of a product of waves is a product of real numbers, so of short matrices.
    np.conjugate(left, out=left)
    right = _equal_steps(np.zeros((1, 1, 1)), turns, _COLUMNS)
    pieces = left.view(np.float32).reshape(len(turns), size // _ROWS, _ROWS, -1)
    columns = right.view(np.float32).transpose(0, 2, 1)[:, np.newaxis]
    logs: Float32Array = np.matmul(pieces, columns).reshape(-1, size, _COLUMNS)
    logs += waves.constants.astype(np.float32)[:, np.newaxis, np.newaxis]
    return logs


def _equal_steps(starts: FloatArray, turns: FloatArray, n_steps: int) -> Complex64Array:
    """The waves of each row after 0, 1, ... steps of so many turns: one step per row of a table.

    A wave after 8 p + q steps is a product of two, so that few have to be computed.
    """
    few = np.arange(_STEPS, dtype=np.float64)[:, np.newaxis]
    many = _STEPS * np.arange(n_steps // _STEPS, dtype=np.float64)[:, np.newaxis]
    coarse = _waves(starts + many * turns[:, np.newaxis])
    fine = _waves(few * turns[:, np.newaxis])
    table = coarse[:, :, np.newaxis] * fine[:, np.newaxis]
    return table.reshape(len(turns), n_steps, -1)


def _fill_between(logs: Float32Array, waves: _Waves) -> FloatArray:
    """The bound on the logarithm at all nodes of the first row of each table."""
    computed = np.append(logs[:, 0], logs[:, 1, :1], axis=1).astype(np.float64)[:, :, np.newaxis]
    shares = np.arange(waves.stride) / waves.stride
    lines = computed[:, :-1] * (1.0 - shares) + computed[:, 1:] * shares
    return np.asarray((lines + waves.bent[:, np.newaxis]).reshape(len(logs), -1))


def _waves(turns: FloatArray) -> Complex64Array:
    """exp(2 pi i turns); the turns are overwritten.

    Whole turns are removed in double precision, so that single precision is enough for the rest.
    """
    turns -= np.rint(turns)
    turns *= 2 * math.pi
    angles = turns.astype(np.float32)
    waves = np.empty(turns.shape, dtype=np.complex64)
    np.cos(angles, out=waves.real)
    np.sin(angles, out=waves.imag)
    return waves


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


def spread_factors(rows: FarRows, starts: FloatArray) -> FloatArray:
    """A bound on |sinh(az) / (az)| from each start on, for a uniform number between -a and a."""
    if not rows.spread.any():
        return np.ones((len(starts), 1))
    a = np.where(rows.spread > 0, rows.spread, 1.0)
    real = np.minimum(a * rows.tilt, _LARGEST_ARGUMENT)
    t = starts * rows.distance[:, np.newaxis]
    slow, fast = np.sinh(real) / real, np.cosh(real) / a
    factors = np.minimum(slow[:, np.newaxis], fast[:, np.newaxis] / t)
    return np.asarray(np.where(rows.spread[:, np.newaxis] > 0, factors, 1.0))

"""A bound on all far terms of rows of many values, by one fast Fourier transform per row.

A squared factor of the characteristic function is 1 - w/2 (1 - cos 2tv), so its logarithm is at
most - w/2 (1 - cos 2tv), and the modulus of a term at most exp(-N**2 / 4), where N**2 is the sum of
w (1 - cos 2tv). A transform of the magnitudes gives N at the points of a grid. N is the length of a
vector, which changes slowly from one of them to the next. The bound is weaker than that of
`far_bounds`, but takes in all values instead of some: of four hundred and more it nearly always
suffices, at a third of the cost.
"""

from __future__ import annotations

import math

import numpy as np

from rageval_report.stats.sign_flips.far_bounds import FarRows, spread_factors
from rageval_report.types import FloatArray, IntArray

# A row of fewer values than this is too short for the bound.
FEWEST_TRANSFORMED = 384
# The width of a bin is this over the largest wave number. Magnitudes are shared between the two
# next points of the grid, which moves a cosine by a sixth at most on average.
_BIN = 1.6
# Between two points of the grid N may lose this share of the root of the sum of the weights, ...
_LOST = 0.28
# ... but a transform has this many points at least and at most. With the least number nearly all
# rows can be transformed together.
_FEWEST_POINTS, _MOST_POINTS = 2**12, 2**15
# Numbers in the table of a block of rows: larger arrays are new pages of memory for each call,
# which take longer than the work on them.
_BLOCK = 2**14
# Near zero the values up to so many root mean squares are bounded without a transform.
_USUAL = 2.5
_ROUNDING = 1e-6  # more than the rounding errors of the sums


def bound_by_transform(rows: FarRows) -> FloatArray:
    """For each row a bound on the sum of all its terms, as `far_bounds.bound_far_terms`.

    Returns
    -------
    ndarray of shape (n_rows,)
        Infinity for a row that cannot be bounded in this way.

    Examples
    --------
    >>> values = np.sqrt(np.arange(1.0, 601.0))[np.newaxis]
    >>> values /= np.sqrt(np.square(values).sum())
    >>> ends = np.array([20]), np.array([5000])
    >>> rows = FarRows(values, np.array([2.0]), np.array([0.5]), np.zeros(1), *ends)
    >>> bool(bound_by_transform(rows)[0] < 1e-6)
    True
    """
    n_points = _choose_points(rows)
    bounds = np.full(n_points.size, math.inf)
    for size in np.unique(n_points[n_points <= _MOST_POINTS]).tolist():
        # By numbers of points, so that a row has the same bound in any company.
        same = np.flatnonzero(n_points == size)
        some = rows if same.size == n_points.size else rows.select(same)
        bounds[same] = _bounds_of_rows(some, size)
    return bounds


def _choose_points(rows: FarRows) -> IntArray:
    """How many points the transform of each row needs, a power of two."""
    n_moved = np.count_nonzero(rows.values, axis=1)
    return points_of_grid(rows.last * rows.distance, n_moved)


def points_of_grid(end: FloatArray, weight: FloatArray | IntArray) -> IntArray:
    """The size of the transform for points so far out, with weights of such a sum."""
    spacing = math.sqrt(2.0) * _LOST * np.sqrt(weight)
    points = 2 * math.pi / _BIN * end / np.maximum(spacing, 1.0)
    exponents = np.rint(np.log2(np.maximum(points, _FEWEST_POINTS)))
    return np.asarray(2.0**exponents).astype(np.int64)


def _bounds_of_rows(rows: FarRows, n_points: int) -> FloatArray:
    # 1 / cosh(x)**2 is at least 1 - x**2, and a smaller weight only makes the bound weaker.
    squares = np.square(rows.values)
    weights = squares * -np.square(rows.tilt)[:, np.newaxis]
    weights += 1.0
    np.maximum(weights, 0.0, out=weights)
    weights *= rows.values != 0.0
    squares *= weights
    near, near_end = _near_bounds(rows, squares)
    # The derivative of N is at most the root of twice the sum of the squares.
    slopes = np.sqrt(2.0 * squares.sum(axis=1))
    bounds = np.empty(len(weights))
    block = max(1, _BLOCK // max(n_points, weights.shape[1]))
    for start in range(0, bounds.size, block):
        part = slice(start, start + block)
        far = _far_bounds(rows.select(part), weights[part], slopes[part], near_end[part], n_points)
        bounds[part] = (near[part] + far) * (1.0 + _ROUNDING)
    return bounds


def _far_bounds(
    rows: FarRows, weights: FloatArray, slopes: FloatArray, near_end: FloatArray, n_points: int
) -> FloatArray:
    """A bound on the terms beyond the near ones; N changes by no more than the slopes."""
    # Distances on the axis of t: of two points of the grid, and the ends of the far nodes.
    end = rows.last * rows.distance
    spacing = grid_spacing(end, n_points)
    lengths = lengths_on_grid(rows.values, weights, end, n_points)
    lengths -= (slopes * spacing / 2)[:, np.newaxis]
    np.maximum(lengths, 0.0, out=lengths)
    np.square(lengths, out=lengths)
    lengths /= -4.0
    terms = np.exp(lengths, out=lengths)
    # A point stands for the nodes that are nearest to it.
    starts = (np.arange(terms.shape[1]) - 0.5) * spacing[:, np.newaxis]
    is_far = starts > (near_end - spacing)[:, np.newaxis]
    is_far &= starts <= end[:, np.newaxis]
    np.maximum(starts, (rows.first * rows.distance)[:, np.newaxis], out=starts)
    terms /= starts
    if rows.spread.any():
        terms *= spread_factors(rows, starts)
    terms *= is_far
    return np.asarray((spacing / rows.distance + 1.0) * terms.sum(axis=1))


def _near_bounds(rows: FarRows, squares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A bound on the terms near zero, and the t up to which it goes.

    (1 - cos x) / x**2 falls until x is a whole turn, so the sum of w (1 - cos 2tv) over the values
    up to v is at least (1 - cos 2tv) / v**2 times that of their w v**2. From the first far node on
    that is least there, until the wave of v has turned as far back.
    """
    n_moved = np.maximum(np.count_nonzero(rows.values, axis=1), 1)
    # The squares of a row sum up to 1.
    top = np.minimum(_USUAL / np.sqrt(n_moved), rows.values.max(axis=1))
    usual = (squares * (rows.values <= top[:, np.newaxis])).sum(axis=1)
    start = rows.first * rows.distance
    end = np.maximum(math.pi / top - start, start)
    logs = usual * (1.0 - np.cos(2.0 * start * top)) / np.square(2.0 * top)
    n_nodes = (end - start) / rows.distance + 1.0
    factors = spread_factors(rows, start[:, np.newaxis])[:, 0]
    return n_nodes * np.exp(-logs) / start * factors, end


def grid_spacing(end: FloatArray, n_points: int) -> FloatArray:
    """How far apart the points of `lengths_on_grid` are."""
    return np.asarray((2 * math.pi / _BIN / n_points) * end)


def lengths_on_grid(
    values: FloatArray, weights: FloatArray, end: FloatArray, n_points: int
) -> FloatArray:
    """A lower bound on N of each row at equally spaced points, from zero to just beyond the end.

    Parameters
    ----------
    values, weights : ndarray of shape (n_rows, n_values)
        The magnitudes, and the weight w of each.
    end : ndarray of shape (n_rows,)
        How far the points go, on the axis of t.
    n_points : int
        The size of the transform; `grid_spacing` says how far apart the points are.

    Examples
    --------
    >>> values = np.array([0.61, 0.79])
    >>> grid = lengths_on_grid(values[np.newaxis], np.ones((1, 2)), np.array([40.0]), 2**7)
    >>> t = 8 * grid_spacing(40.0, 2**7)
    >>> exact = np.sqrt((1.0 - np.cos(2 * t * values)).sum())
    >>> bool(0.8 * exact < grid[0, 8] <= exact)
    True
    """
    n_rows = len(values)
    places = values * (2.0 / _BIN * end)[:, np.newaxis]
    lower = places.astype(np.int64)
    places -= lower
    upper_weights = weights * places
    # Between two points a cosine lies off its chord by half the square of the width of a bin times
    # the shares of both, at most.
    bent = (upper_weights * (1.0 - places)).sum(axis=1) / 2.0
    # The transform does not distinguish places a whole turn apart.
    firsts = n_points * np.arange(n_rows)[:, np.newaxis]
    both = np.concatenate((lower, lower + 1))
    both &= n_points - 1
    both += np.concatenate((firsts, firsts))
    shares = np.concatenate((weights - upper_weights, upper_weights))
    table = np.bincount(both.ravel(), shares.ravel(), n_rows * n_points)
    n_needed = math.ceil(n_points * _BIN / (2 * math.pi)) + 2
    waves = np.fft.rfft(table.reshape(n_rows, n_points), axis=1).real[:, :n_needed]
    turns = (2 * math.pi / n_points) * np.arange(n_needed)
    squares = weights.sum(axis=1)[:, np.newaxis] - waves
    squares -= np.multiply.outer(bent, np.square(turns))
    lengths: FloatArray = np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)
    return lengths

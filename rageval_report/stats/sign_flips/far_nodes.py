"""Which far nodes of the integral may be left out: a bound on each term, in single precision.

A factor of the tilted characteristic function is ``cos(tv) + i tanh(cv) sin(tv)``. Its square is
``1 - w/2 + w/2 cos(2tv)`` with the weight ``w = 1 / cosh(cv)**2``, so a product of real numbers
bounds the term of each node. The nodes are equally spaced: in a table of rows and columns the
factors of one value are a product of two short matrices (the cosine of a sum), and no cosine is
computed per node. No factor is above 1, so a product of some of them is a bound too. It ends as
soon as all terms together are negligible: after some thirty values of any sample whose
characteristic function dies out.

Of fifty values and more a weaker bound is enough as a rule, at a third of the cost: the logarithm
of a squared factor is concave in cos(2tv), so it lies below its tangent, and the sum of the
tangents of all values is one product of matrices.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rageval_report.stats.sign_flips.sign_sums import product_of_powers
from rageval_report.stats.sign_flips.ties import group_ties
from rageval_report.types import Float32Array, FloatArray, IntArray

# Columns of the table of nodes. It has at most 2**15 nodes, and for a product of 256 x 9 and
# 9 x 128 numbers BLAS does not start threads.
_COLUMNS = 128
# So many factors are multiplied before the sum of the bounds is computed, which costs as much as
# two. Two values at a time: the matrices then have nine columns, and cost no more than with three.
_CHUNK = 8
# More than the rounding error of two factors in single precision: the product stays a bound.
_ROUNDING = 2e-6
# From so many values on the tangents are tried, of so many at most, and this touches the logarithm
# at that cosine: of few values where the bound is least on average, of many where it never hurts.
_FEWEST_TANGENTS, _MOST_TANGENTS = 40, 112
_TANGENT_OF_FEW, _TANGENT_OF_MANY = 0.2, 1.0
# A product of matrices with fewer multiplications is computed by one thread.
_ONE_THREAD = 2**18
# Of mostly equal values: the share of what is negligible that nodes may have which are dropped at
# first sight, and up to so many factors are computed at the other nodes.
_SMALL_SHARE, _MOST_BESIDE_ONE = 0.1, 2**17
_SLACK = 1e-3  # more than the rounding error of a sum of tangents
_LARGEST_ARGUMENT = 300.0  # the square of cosh overflows from 355 on; such a weight is nothing


@dataclass(frozen=True, slots=True)
class FarRange:
    """A row of equally spaced points of the line of integration.

    Parameters
    ----------
    tilt : float
        Where the line cuts the real axis.
    distance : float
        The distance of two points.
    first, last : int
        The imaginary parts of the points are these multiples of the distance, and all between.
    spread : float
        If above zero, each term has the factor sinh(spread z) / (spread z) of a uniform number.
    """

    tilt: float
    distance: float
    first: int
    last: int
    spread: float = 0.0


@dataclass(frozen=True, slots=True)
class FarTerms:
    """The nodes whose terms have to be computed, and a bound on the others.

    Parameters
    ----------
    nodes : ndarray of int
        Multiples of the distance, in ascending order.
    left_out : float
        No less than the sum over all other nodes of the modulus of the characteristic function,
        each divided by the modulus of its point.
    """

    nodes: IntArray
    left_out: float


def find_far_terms(values: FloatArray, far: FarRange, negligible: float) -> FarTerms:
    """The nodes to compute, so that all others together are negligible.

    Parameters
    ----------
    values : ndarray
        The magnitudes; equal ones occur more than once.
    far : FarRange
        The nodes.
    negligible : float
        How large `FarTerms.left_out` may be.

    Examples
    --------
    >>> values = np.sqrt(np.arange(1.0, 61.0)) / np.sqrt(1830)
    >>> find_far_terms(values, FarRange(2.0, 0.5, 20, 5000), 1e-6).nodes.size
    0
    """
    size = far.last - far.first + 1
    first_of_rows = far.first + _COLUMNS * np.arange(-(-size // _COLUMNS), dtype=np.float64)
    columns = np.arange(_COLUMNS, dtype=np.float64)
    kernel = _kernel(far, first_of_rows, columns)
    kernel.ravel()[size:] = 0.0
    values, counts = group_ties(values)
    if counts.max() > counts.sum() / 2:
        terms = _terms_beside_one(values, counts, far, kernel.ravel()[:size], negligible)
        if terms is not None:
            return terms
    weights = 1.0 / np.square(np.cosh(np.minimum(far.tilt * values, _LARGEST_ARGUMENT)))
    # The values that make the tilted sum vary most make its characteristic function small soonest.
    order = np.argsort(-counts * weights * np.square(values))
    turns, weights, counts = values[order] * (far.distance / math.pi), weights[order], counts[order]
    # Of few values, many of them tied, the weaker bound hardly ever decides (profile of slices),
    # least where most queries did not change: of 130 to 400 queries with one change in ten it
    # decided none of 30 limits. Where it would, the factors decide alike: their bound is sharper.
    n_values, is_mostly_one = counts.sum(), counts.max() > counts.sum() / 2
    if turns.size >= _FEWEST_TANGENTS or (n_values > _MOST_TANGENTS and not is_mostly_one):
        bounds = _bounds_by_tangents(turns, weights, counts, first_of_rows, columns)
        bounds *= kernel
        left_out = float(bounds.sum(dtype=np.float64))
        if left_out <= negligible:
            return FarTerms(np.zeros(0, dtype=np.int64), left_out)
    squares, bounds = np.ones_like(kernel), np.empty_like(kernel)
    some = _some_factors(turns, weights, counts, first_of_rows, columns)
    while factors := list(itertools.islice(some, _CHUNK)):
        for row, column, count in factors:
            np.matmul(row, column, out=bounds)
            squares *= bounds if count == 1 else np.power(bounds, np.float32(count), out=bounds)
        np.sqrt(squares, out=bounds)
        bounds *= kernel
        left_out = float(bounds.sum(dtype=np.float64))
        if left_out <= negligible:
            return FarTerms(np.zeros(0, dtype=np.int64), left_out)
    return _largest_terms(bounds.ravel()[:size], far.first, negligible)


def _terms_beside_one(
    values: FloatArray, counts: FloatArray, far: FarRange, kernel: Float32Array, negligible: float
) -> FarTerms | None:
    """`find_far_terms` where most values are equal, from the nodes at which their factor is large.

    Where most queries did not change, a shift leaves such values, and their factor to the power of
    their count is far from zero at few nodes. None if these are many.
    """
    most = int(counts.argmax())
    value, count = float(values[most]), float(counts[most])
    nodes = np.arange(far.first, far.last + 1, dtype=np.float64)
    turns: FloatArray = nodes * (far.distance * value / math.pi)
    waves = np.cos(_angles(turns))
    half = np.float32(0.5 / math.cosh(min(far.tilt * value, _LARGEST_ARGUMENT)) ** 2)
    bounds: Float32Array = np.maximum(1.0 - half + half * waves, 0.0) + np.float32(_ROUNDING)
    np.power(bounds, np.float32(count / 2), out=bounds)
    bounds *= kernel
    is_small = bounds <= np.float32(_SMALL_SHARE * negligible / bounds.size)
    places = np.flatnonzero(~is_small)
    others = np.delete(np.arange(values.size), most)
    if places.size * others.size > _MOST_BESIDE_ONE:
        return None
    left_out = float(bounds[is_small].sum(dtype=np.float64))
    bounds = bounds[places]
    product = product_of_powers(
        values[others], counts[others], far.tilt, far.distance, far.first + places
    )
    bounds *= np.abs(product).astype(np.float32) * np.float32(1.0 + _ROUNDING)
    terms = _largest_terms(bounds, 0, negligible - left_out)
    return FarTerms(far.first + places[terms.nodes], terms.left_out + left_out)


def _some_factors(
    turns: FloatArray,
    weights: FloatArray,
    counts: FloatArray,
    first_of_rows: FloatArray,
    columns: FloatArray,
) -> Iterator[tuple[Float32Array, Float32Array, float]]:
    """Short matrices whose products are factors, and how often each of these occurs.

    First the factors of values that occur more than once, then two values at a time.
    """
    is_tied = counts > 1
    tied, repeats = np.flatnonzero(is_tied), counts[is_tied].tolist()
    for start in range(0, tied.size, _CHUNK):
        places = tied[start : start + _CHUNK]
        some = turns[places, np.newaxis]
        rows = _row_parts(some * first_of_rows, weights[places])
        rows[..., 2] += np.float32(_ROUNDING)
        yield from zip(
            rows, _column_parts(some * columns), repeats[start : start + _CHUNK], strict=True
        )
    turns, weights = turns[~is_tied], weights[~is_tied]
    if turns.size % 2:  # a factor of a zero is 1
        turns, weights = np.append(turns, 0.0), np.append(weights, 0.0)
    for start in range(0, turns.size, 2 * _CHUNK):
        some = turns[start : start + 2 * _CHUNK, np.newaxis]
        left = _row_parts(some * first_of_rows, weights[start : start + 2 * _CHUNK])
        rows = (left[0::2, :, :, np.newaxis] * left[1::2, :, np.newaxis, :]).reshape(
            *(-1, first_of_rows.size, 9)
        )
        rows[..., 8] += np.float32(_ROUNDING)
        right = _column_parts(some * columns)
        cols = (right[0::2, :, np.newaxis] * right[1::2, np.newaxis]).reshape(-1, 9, _COLUMNS)
        for row, column in zip(rows, cols, strict=True):
            yield row, column, 1.0


def _kernel(far: FarRange, first_of_rows: FloatArray, columns: FloatArray) -> Float32Array:
    """By what each term is multiplied: 1 over the modulus of z, and the factor of the spread."""
    moduli = np.add.outer(first_of_rows.astype(np.float32), columns.astype(np.float32))
    kernel: Float32Array = np.divide(np.float32(1.0 / far.distance), moduli, out=moduli)
    if not far.spread:
        return kernel
    # |sinh(a z)|**2 is sinh(a c)**2 + (1 - cos(2 a t)) / 2, again a product of short matrices.
    turns = np.array([[far.spread * far.distance / math.pi]])
    rows, cols = _angles(turns * first_of_rows)[0], _angles(turns * columns)[0]
    constant = math.sinh(min(far.spread * far.tilt, _LARGEST_ARGUMENT)) ** 2 + 0.5 + _ROUNDING
    left = np.stack([-np.cos(rows) / 2, np.sin(rows) / 2, np.full_like(rows, constant)], axis=1)
    right = np.stack([np.cos(cols), np.sin(cols), np.ones_like(cols)])
    sines = np.sqrt(np.matmul(left, right))
    return np.asarray(sines * np.square(kernel) * np.float32(1.0 / far.spread))


def _bounds_by_tangents(
    turns: FloatArray,
    weights: FloatArray,
    counts: FloatArray,
    first_of_rows: FloatArray,
    columns: FloatArray,
) -> Float32Array:
    """A bound on the modulus of the characteristic function at each node of the table."""
    touches = _TANGENT_OF_FEW if counts.sum() <= _MOST_TANGENTS else _TANGENT_OF_MANY
    turns, weights, counts = (each[:_MOST_TANGENTS] for each in (turns, weights, counts))
    heights = 1.0 - weights / 2 * (1.0 - touches)
    slopes = weights / 4 / heights  # halved: of the modulus, not of its square
    constant = float((counts * (np.log(heights) / 2 - slopes * touches)).sum()) + _SLACK
    slopes = (counts * slopes)[:, np.newaxis]
    angles = _angles(np.multiply.outer(turns, first_of_rows))
    left = np.concatenate([slopes * np.cos(angles), -slopes * np.sin(angles)], axis=1)
    left = left.reshape(2 * turns.size, -1).astype(np.float32)
    angles = _angles(np.multiply.outer(turns, columns))
    right = np.concatenate([np.cos(angles), np.sin(angles)], axis=1).reshape(2 * turns.size, -1)
    total = np.full((first_of_rows.size, _COLUMNS), constant, dtype=np.float32)
    piece = max(2, _ONE_THREAD // total.size)
    for start in range(0, left.shape[0], piece):
        total += left[start : start + piece].T @ right[start : start + piece]
    bounds: Float32Array = np.exp(np.minimum(total, 0.0, out=total), out=total)
    return bounds


def _row_parts(turns: FloatArray, weights: FloatArray) -> Float32Array:
    """The part of the factor of each value that depends on the row: three numbers each."""
    angles = _angles(turns)
    half = (weights[:, np.newaxis] / 2).astype(np.float32)
    parts = np.empty((*turns.shape, 3), dtype=np.float32)
    np.multiply(half, np.cos(angles), out=parts[..., 0])
    np.multiply(-half, np.sin(angles), out=parts[..., 1])
    parts[..., 2] = 1.0 - half
    return parts


def _column_parts(turns: FloatArray) -> Float32Array:
    """The part of the factor of each value that depends on the column: three numbers each."""
    angles = _angles(turns)
    return np.stack([np.cos(angles), np.sin(angles), np.ones_like(angles)], axis=1)


def _angles(turns: FloatArray) -> Float32Array:
    """Whole turns removed in double precision, so that single precision is enough for the rest."""
    turns -= np.rint(turns)
    turns *= 2 * math.pi
    return turns.astype(np.float32)


def _largest_terms(terms: Float32Array, first: int, negligible: float) -> FarTerms:
    """The nodes with the largest bounds, so that those of the others sum up to little."""
    order = np.argsort(terms)
    sums = np.cumsum(terms[order], dtype=np.float64)
    n_left_out = int(np.searchsorted(sums, negligible, side="right"))
    left_out = float(sums[n_left_out - 1]) if n_left_out else 0.0
    return FarTerms(first + np.sort(order[n_left_out:]), left_out)

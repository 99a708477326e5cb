"""Which far nodes of the integral may be left out: a bound on each term, in single precision.

A factor of the tilted characteristic function is ``cos(tv) + i tanh(cv) sin(tv)``. Its square is
``1 - w/2 + w/2 cos(2tv)`` with the weight ``w = 1 / cosh(cv)**2``, so a product of real numbers
bounds the term of each node. The nodes are equally spaced: in a table of rows and columns the
factors of one value are a product of two short matrices (the cosine of a sum), and no cosine is
computed per node. No factor is above 1, so a product of some of them is a bound too. It ends as
soon as all terms together are negligible: after some thirty values of any sample whose
characteristic function dies out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rageval_report.types import Float32Array, FloatArray, IntArray

# Columns of the table of nodes. It has at most 2**15 nodes, and for a product of 256 x 9 and
# 9 x 128 numbers BLAS does not start threads.
_COLUMNS = 128
# So many values are multiplied before the sum of the bounds is computed, which costs as much as
# four. Two at a time: the matrices then have nine columns, and cost no more than with three.
_CHUNK = 16
# More than the rounding error of two factors in single precision: the product stays a bound.
_ROUNDING = 2e-6
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
    """

    tilt: float
    distance: float
    first: int
    last: int


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
    squares = np.ones((first_of_rows.size, _COLUMNS), dtype=np.float32)
    squares.ravel()[size:] = 0.0
    factors = np.empty_like(squares)
    weights = 1.0 / np.square(np.cosh(np.minimum(far.tilt * values, _LARGEST_ARGUMENT)))
    # The values that make the tilted sum vary most make its characteristic function small soonest.
    order = np.argsort(-weights * np.square(values))
    turns, weights = values[order] * (far.distance / math.pi), weights[order]
    if values.size % 2:  # a factor of a zero is 1
        turns, weights = np.append(turns, 0.0), np.append(weights, 0.0)
    for start in range(0, turns.size, _CHUNK):
        some = turns[start : start + _CHUNK, np.newaxis]
        left = _rows_of_factors(some * first_of_rows, weights[start : start + _CHUNK])
        right = _columns_of_factors(some * columns)
        for row, column in zip(left, right, strict=True):
            squares *= np.matmul(row, column, out=factors)
        # No point of a row is nearer to zero than the first.
        bounds = np.sqrt(squares, out=factors)
        moduli = far.distance * first_of_rows
        left_out = float((bounds.sum(axis=1) / moduli).sum())
        if left_out <= negligible:
            return FarTerms(np.zeros(0, dtype=np.int64), left_out)
    return _largest_terms(bounds / moduli[:, np.newaxis], far, negligible)


def _rows_of_factors(turns: FloatArray, weights: FloatArray) -> Float32Array:
    """For each pair of values the part of its factors that depends on the row."""
    angles = _angles(turns)
    half = (weights[:, np.newaxis] / 2).astype(np.float32)
    parts = np.empty((*turns.shape, 3), dtype=np.float32)
    np.multiply(half, np.cos(angles), out=parts[..., 0])
    np.multiply(-half, np.sin(angles), out=parts[..., 1])
    parts[..., 2] = 1.0 - half
    pairs = parts[0::2, :, :, np.newaxis] * parts[1::2, :, np.newaxis, :]
    pairs[..., 2, 2] += np.float32(_ROUNDING)
    return np.asarray(pairs.reshape(-1, turns.shape[1], 9))


def _columns_of_factors(turns: FloatArray) -> Float32Array:
    """For each pair of values the part of its factors that depends on the column."""
    angles = _angles(turns)
    parts = np.stack([np.cos(angles), np.sin(angles), np.ones_like(angles)], axis=1)
    pairs = parts[0::2, :, np.newaxis, :] * parts[1::2, np.newaxis, :, :]
    return np.asarray(pairs.reshape(-1, 9, turns.shape[1]))


def _angles(turns: FloatArray) -> Float32Array:
    """Whole turns removed in double precision, so that single precision is enough for the rest."""
    turns -= np.rint(turns)
    turns *= 2 * math.pi
    return turns.astype(np.float32)


def _largest_terms(bounds: FloatArray, far: FarRange, negligible: float) -> FarTerms:
    """The nodes with the largest bounds, so that those of the others sum up to little."""
    terms = bounds.ravel()[: far.last - far.first + 1]
    order = np.argsort(terms)
    sums = np.cumsum(terms[order])
    n_left_out = int(np.searchsorted(sums, negligible, side="right"))
    left_out = float(sums[n_left_out - 1]) if n_left_out else 0.0
    return FarTerms(far.first + np.sort(order[n_left_out:]), left_out)

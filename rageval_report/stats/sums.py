"""Sums that are the same on every machine, and however the rows are shuffled."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rageval_report.types import FloatArray, IndexArray

Numbers: TypeAlias = npt.NDArray[np.floating[Any] | np.integer[Any]]

# Scores are added in pieces of so many bits: the sum of 2 ** 23 such integers is an exact double.
_PIECE = 30


def sum_of_products(a: Numbers, b: Numbers) -> float:
    """The sum of a * b, added in an order that does not depend on the number of threads.

    BLAS splits long sums among its threads.

    Parameters
    ----------
    a, b : ndarray of shape (n,)
        As many numbers each.

    Examples
    --------
    >>> sum_of_products(np.array([1.0, 2.0]), np.array([3, 4]))
    11.0
    """
    return float(np.multiply(a, b).sum())


def sums_by_group(values: FloatArray, groups: IndexArray, n_groups: int) -> FloatArray:
    """The sum of each group, the same to the last bit in any order of the rows.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Finite numbers.
    groups : ndarray of int, shape (n_rows,)
        The place of each row's group, from 0.
    n_groups : int
        The number of groups.

    Examples
    --------
    >>> sums_by_group(np.array([1e16, 1.0, 0.5, -1e16]), np.array([0, 0, 1, 0]), 2)
    array([1. , 0.5])
    """
    largest = float(np.abs(values).max(initial=0.0))
    exponent = math.frexp(largest)[1]
    rest = np.ldexp(values, -exponent)  # within -1 and 1; a power of two rounds nothing
    pieces = []
    while rest.any():
        rest = np.ldexp(rest, _PIECE)
        whole = np.rint(rest)
        rest = rest - whole
        pieces.append(np.bincount(groups, weights=whole, minlength=n_groups))
    sums = np.zeros(n_groups)
    for piece in reversed(pieces):  # from the last digits on, which are the least
        sums = np.ldexp(sums + piece, -_PIECE)
    return np.asarray(np.ldexp(sums, exponent))

"""Sums of products that are the same on every machine: BLAS splits long ones among its threads."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.floating[Any] | np.integer[Any]]


def sum_of_products(a: Numbers, b: Numbers) -> float:
    """The sum of a * b, added in an order that does not depend on the number of threads.

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

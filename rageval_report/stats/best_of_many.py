"""The best of several: what noise alone gives to it.

A person who tries k variants and shows the one with the best mean shows a mean that is too
favourable, even if all variants are equal.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy

from rageval_report.errors import DataError

# The density of the largest of k values is nothing beyond: of ten million normal ones it lies
# between 3 and 9.
_FARTHEST = 12.0
_STEP = 0.005


@lru_cache(maxsize=256)
def expected_maximum(k: int) -> float:
    """The expected largest of k independent values of the standard normal distribution.

    Parameters
    ----------
    k : int
        At least 1.

    Returns
    -------
    float
        In standard deviations. Values that are positively correlated have a smaller expected
        maximum: with a common correlation rho it is sqrt(1 - rho) times this.

    Raises
    ------
    DataError
        If k is below 1.

    Notes
    -----
    The integral of 1 - F(x)^k over x > 0, less that of F(x)^k over x < 0, where F is the normal
    distribution function [1]_; tables are in [2]_.

    References
    ----------
    .. [1] Tippett (1925). On the extreme individuals and the range of samples taken from a normal
           population. Biometrika 17:364-387.
    .. [2] Harter (1961). Expected values of normal order statistics. Biometrika 48:151-165.

    Examples
    --------
    >>> [round(expected_maximum(k), 5) for k in (1, 2, 10, 100)]
    [0.0, 0.56419, 1.53875, 2.50759]
    """
    if k < 1:
        raise DataError(f"k must be an integer >= 1; got {k!r}")
    if k == 1:
        return 0.0
    x = np.arange(0.0, _FARTHEST, _STEP)
    # F(x)**k without the loss of digits near 1.
    integrand = -np.expm1(k * scipy.special.log_ndtr(x)) - scipy.special.ndtr(-x) ** k
    # The slopes at both ends are 0, so the trapezoid rule has an error of order _STEP**4.
    return _STEP * float(integrand.sum() - integrand[0] / 2.0)


def gain_of_noise(standard_error: float, k: int) -> float:
    """The gain that the best of k equal variants is expected to show.

    Parameters
    ----------
    standard_error : float
        Of the mean difference between a variant and the baseline; of each variant's own mean, if
        the best of several is compared with all of them.
    k : int
        The number of variants that were tried.

    Returns
    -------
    float
        For independent variants. What all of them share, such as the baseline's own noise, cannot
        be chosen, so alike variants gain less.

    Examples
    --------
    >>> round(gain_of_noise(0.02, 20), 4), gain_of_noise(0.02, 1)
    (0.0373, 0.0)
    """
    return standard_error * expected_maximum(k)

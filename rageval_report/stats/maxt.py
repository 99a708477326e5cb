"""Westfall-Young adjustment: the same sign flips for all metrics of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rageval_report.stats.magnitudes import unit_of
from rageval_report.stats.resampling import sign_flip_means
from rageval_report.types import BoolArray, FloatArray

# Statistics closer than this, relative to the largest possible one, are equal but for rounding.
_TIE = 1e-9


def westfall_young(
    differences: npt.ArrayLike,
    *,
    n_resamples: int = 9999,
    seed: int = 0,
    half_ties: Sequence[bool] | None = None,
) -> FloatArray:
    """Step-down maxT adjusted p-values of the mean differences of several metrics.

    The same random flips are used for every metric of a query, so metrics that move together cost
    less than under Holm: duplicates of one metric count as one test.

    Parameters
    ----------
    differences : array-like of shape (n, k) or (n,)
        One row per query, one column per metric; candidate minus baseline. NaN is a missing pair
        and is left out.
    n_resamples : int
        The number of random sign patterns; no adjusted p-value is below 1 / (n_resamples + 1).
    seed : int
        The seed of the random numbers.
    half_ties : sequence of bool, optional
        For each metric whether patterns that tie with the observed one count half, as in its own
        test: `uses_midp` of the test. In full for all metrics if omitted.

    Returns
    -------
    ndarray of shape (k,)
        Two-sided p-values that control the family-wise error; NaN for a metric without a pair,
        which is not a test and does not count.

    References
    ----------
    .. [1] Westfall and Young (1993). Resampling-based multiple testing. Wiley.
    .. [2] Phipson and Smyth (2010). Permutation p-values should never be zero. SAGMB 9(1).

    Examples
    --------
    >>> better = [0.3, 0.1, 0.4, 0.2, 0.3, 0.1, 0.2, 0.5]
    >>> mixed = [0.1, -0.1, 0.2, -0.2, 0.1, 0.0, 0.0, -0.1]
    >>> westfall_young(np.column_stack([better, mixed]), seed=0).round(2)
    array([0.01, 1.  ])
    """
    matrix = np.asarray(differences, dtype=np.float64)
    matrix = matrix[:, np.newaxis] if matrix.ndim == 1 else matrix
    # The unit of a metric does not matter, and squares of very large differences are no doubles.
    units = np.array([unit_of(column) for column in matrix.T])
    matrix = matrix if (units == 1.0).all() else matrix / units
    flipped = sign_flip_means(matrix, n_resamples=n_resamples, seed=seed)
    tests = ~np.isnan(matrix).all(axis=0)
    pvalues = np.full(matrix.shape[1], np.nan)
    if tests.any():
        scale = _scale(matrix[:, tests])
        observed = np.abs(np.nanmean(matrix[:, tests], axis=0)) / scale
        half = np.zeros(tests.size, dtype=bool) if half_ties is None else np.asarray(half_ties)
        pvalues[tests] = adjust_step_down(observed, np.abs(flipped[:, tests]) / scale, half[tests])
    return pvalues


def uses_midp(test: str) -> bool:
    """Whether a test counts patterns that tie with the observed one half.

    Examples
    --------
    >>> uses_midp("cluster-sign-flip-midp"), uses_midp("t")
    (True, False)
    """
    return test.endswith("-midp")


def count_extreme(successive: FloatArray, observed: FloatArray, half: BoolArray) -> FloatArray:
    """How many rows reach each observed statistic, both sorted from the largest statistic down.

    Parameters
    ----------
    successive : ndarray of shape (n_resamples, k)
        The largest resampled statistic of each rank and all ranks below it.
    observed : ndarray of shape (k,)
        The observed statistics.
    half : ndarray of shape (k,)
        Whether a row that ties with the observed statistic counts half.

    Examples
    --------
    >>> rows = np.array([[3.0, 1.0], [2.0, 1.0], [1.0, 1.0]])
    >>> count_extreme(rows, np.array([2.0, 1.0]), np.array([True, False]))
    array([1.5, 3. ])
    """
    tie = _TIE * observed.max(initial=1.0)
    reached = (successive >= observed - tie).sum(axis=0)
    above = (successive > observed + tie).sum(axis=0)
    return np.asarray(np.where(half, (reached + above) / 2, reached))


def _scale(matrix: FloatArray) -> FloatArray:
    """The root of the sum of squares, per pair, so that metrics of any unit can be compared."""
    pairs = (~np.isnan(matrix)).sum(axis=0)
    scale: FloatArray = np.sqrt(np.nansum(matrix * matrix, axis=0)) / pairs
    scale[scale == 0] = 1.0  # no difference anywhere: the statistic is 0, and p is 1
    return scale


def adjust_step_down(observed: FloatArray, flipped: FloatArray, half: BoolArray) -> FloatArray:
    """Compare each statistic, largest first, with the maximum of itself and all smaller ones.

    Parameters
    ----------
    observed : ndarray of shape (k,)
        The statistics.
    flipped : ndarray of shape (n_resamples, k)
        The same under each pattern of signs.
    half : ndarray of bool, shape (k,)
        Whether a pattern that ties with the observed one counts half.

    Examples
    --------
    >>> flipped = np.array([[3.0, 1.0], [0.5, 1.0], [0.5, 0.0]])
    >>> adjust_step_down(np.array([2.0, 0.5]), flipped, np.array([False, False]))
    array([0.5 , 0.75])
    """
    order = np.argsort(-observed, kind="stable")
    ranked = flipped[:, order]
    # From right to left: the largest statistic of each rank and all ranks below it.
    successive = np.maximum.accumulate(ranked[:, ::-1], axis=1)[:, ::-1]
    extreme = count_extreme(successive, observed[order], half[order])
    # The observed pattern counts as one more, and no later step may be more significant than an
    # earlier one.
    adjusted = np.maximum.accumulate((1.0 + extreme) / (1.0 + len(flipped)))
    result = np.empty_like(adjusted)
    result[order] = adjusted
    return result

"""Means of several groups, each moved towards their common mean as far as chance explains it.

The mean of a group of seven queries lies far out by chance more often than that of seventy. If the
groups have much in common, the best guess of each mean lies between its own scores and the mean of
all groups: nearer to the common mean, the fewer queries the group has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.errors import DataError
from rageval_report.stats.base import check_level
from rageval_report.types import FloatArray

# From four groups on, if the standard errors are equal and the common mean is estimated, the pooled
# means have a smaller expected squared error than the raw ones, whatever the true means are (Efron
# & Morris 1973).
FEWEST_GROUPS = 4

# Newton's steps double the variance until they are near the root, and then double the digits.
_MOST_STEPS = 200
_PRECISION = 1e-14

# A standard error below 1e-15 of the spread of the means counts as one of that size.
_SMALLEST_VARIANCE = 1e-30


@dataclass(frozen=True, slots=True, eq=False)
class PooledMeans:
    """The partially pooled means of groups.

    Parameters
    ----------
    estimates : ndarray of shape (n_groups,)
        The pooled means; NaN for a group without a mean.
    low, high : ndarray of shape (n_groups,)
        Their interval.
    standard_errors : ndarray of shape (n_groups,)
        The standard errors, which count that the spread of the groups is itself estimated.
    shrinkage : ndarray of shape (n_groups,)
        The share of its way to the common mean that each mean was moved: 0 not at all, 1 wholly.
    common_mean : float
        The mean towards which the groups are moved.
    between_deviation : float
        The standard deviation of the true means of the groups, as estimated.
    """

    estimates: FloatArray
    low: FloatArray
    high: FloatArray
    standard_errors: FloatArray
    shrinkage: FloatArray
    common_mean: float
    between_deviation: float


def partial_pooling(
    means: npt.ArrayLike,
    standard_errors: npt.ArrayLike,
    *,
    confidence_level: float = 0.95,
    degrees: float = math.inf,
) -> PooledMeans:
    """Move the means of groups towards their common mean, as far as chance explains their spread.

    The true means are taken to be normal around a common mean (empirical Bayes). Their variance is
    Paule and Mandel's estimate, which is the one of Morris (1983); the share by which he corrects
    the shrinkage makes it James and Stein's estimator if all standard errors are equal. The
    interval is Morris's: it counts that the variance and the common mean are estimated.

    Parameters
    ----------
    means : array-like of shape (n_groups,)
        The mean of each group; NaN is a group without scores, which is left out.
    standard_errors : array-like of shape (n_groups,)
        The standard error of each mean, above 0.
    confidence_level : float
        Between 0 and 1.
    degrees : float
        The degrees of freedom behind the standard errors; infinite if they are known.

    Returns
    -------
    PooledMeans

    Raises
    ------
    DataError
        If fewer than four groups have a mean, or a standard error is not a number above 0.

    References
    ----------
    .. [1] Morris (1983). Parametric empirical Bayes inference: theory and applications. Journal of
           the American Statistical Association 78:47-55.
    .. [2] Paule, Mandel (1982). Consensus values and weighting factors. Journal of Research of the
           National Bureau of Standards 87:377-385.
    .. [3] Efron, Morris (1973). Stein's estimation rule and its competitors: an empirical Bayes
           approach. Journal of the American Statistical Association 68:117-130.

    Examples
    --------
    Five groups of equal size; the outer means are moved most.

    >>> from rageval_report.stats import partial_pooling
    >>> pooled = partial_pooling([0.5, 0.6, 0.7, 0.8, 0.9], [0.1] * 5)
    >>> pooled.estimates.round(2).tolist(), round(pooled.common_mean, 2)
    ([0.54, 0.62, 0.7, 0.78, 0.86], 0.7)
    """
    level = check_level(confidence_level)
    raw, errors = _check_groups(means, standard_errors)
    is_present = ~np.isnan(raw)
    if is_present.sum() < FEWEST_GROUPS:
        raise DataError(
            f"means must hold the means of at least {FEWEST_GROUPS} groups; "
            f"got {int(is_present.sum())}"
        )
    if not degrees > 0.0:
        raise DataError(f"degrees must be a number above 0; got {degrees}")
    present = raw[is_present]
    # A common scale, so that no square overflows or vanishes.
    centre = float(np.median(present))
    scale = max(float(np.abs(present - centre).max()), float(errors[is_present].max()))
    moved = _pool((present - centre) / scale, errors[is_present] / scale)
    reach = float(scipy.special.stdtrit(degrees, 0.5 + level / 2.0)) * scale * moved.standard_errors
    estimates = centre + scale * moved.estimates
    return PooledMeans(
        estimates=_spread_out(estimates, is_present),
        low=_spread_out(estimates - reach, is_present),
        high=_spread_out(estimates + reach, is_present),
        standard_errors=_spread_out(scale * moved.standard_errors, is_present),
        shrinkage=_spread_out(moved.shrinkage, is_present),
        common_mean=centre + scale * moved.common_mean,
        between_deviation=scale * moved.between_deviation,
    )


def errors_of_common_spread(
    standard_errors: FloatArray, sizes: FloatArray, degrees: FloatArray
) -> tuple[FloatArray, float]:
    """The standard errors of means whose groups spread alike, and their degrees of freedom.

    The own spread of a group of seven queries says little, and that of seven equal scores would be
    zero. So the variance within groups is that of all groups together, as in the analysis of
    variance.

    Parameters
    ----------
    standard_errors : ndarray of shape (n_groups,)
        The standard error of each mean by its own scores; not used where there are no degrees.
    sizes : ndarray of shape (n_groups,)
        The number of independent units of each group.
    degrees : ndarray of shape (n_groups,)
        The degrees of freedom of each standard error; 0 for a group of one unit.

    Examples
    --------
    >>> import numpy as np
    >>> own, sizes = np.array([0.1, 0.0, np.nan]), np.array([4.0, 4.0, 1.0])
    >>> errors, degrees = errors_of_common_spread(own, sizes, np.array([3.0, 3.0, 0.0]))
    >>> errors.round(4).tolist(), degrees
    ([0.0707, 0.0707, 0.1414], 6.0)
    """
    has_spread = degrees > 0.0
    total = float(degrees[has_spread].sum())
    if total == 0.0:
        return np.full(sizes.shape, math.nan), 0.0
    deviations = standard_errors[has_spread] * np.sqrt(sizes[has_spread])
    largest = float(deviations.max())
    if largest == 0.0:
        return np.zeros(sizes.shape), total
    # Divided first, because squares of large numbers overflow.
    mean_square = float((degrees[has_spread] * (deviations / largest) ** 2).sum()) / total
    return largest * math.sqrt(mean_square) / np.sqrt(np.maximum(sizes, 1.0)), total


@dataclass(frozen=True, slots=True, eq=False)
class _Moved:
    estimates: FloatArray
    standard_errors: FloatArray
    shrinkage: FloatArray
    common_mean: float
    between_deviation: float


def _check_groups(
    means: npt.ArrayLike, standard_errors: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    raw = np.asarray(means, dtype=np.float64)
    errors = np.asarray(standard_errors, dtype=np.float64)
    if raw.ndim != 1 or raw.shape != errors.shape:
        raise DataError(
            "means and standard_errors must be two lists of equal length; "
            f"got shapes {raw.shape} and {errors.shape}"
        )
    if np.isinf(raw).any():
        raise DataError("means must be finite numbers, or NaN for a group without scores; got inf")
    wrong = errors[~np.isnan(raw) & ~((errors > 0.0) & np.isfinite(errors))]
    if wrong.size:
        raise DataError(
            f"standard_errors must be finite numbers above 0; got {float(wrong[0])}. A group "
            "without spread needs the standard error of one with the spread of all groups"
        )
    return raw, errors


def _pool(means: FloatArray, errors: FloatArray) -> _Moved:
    """Morris (1983), section 5, with a common mean and no other predictor."""
    k = means.size
    variances = np.maximum(errors**2, _SMALLEST_VARIANCE)
    between = _paule_mandel(means, variances)
    weights = 1.0 / (variances + between)
    total = float(weights.sum())
    common = float((weights * means).sum() / total)
    # (k - 3) / (k - 1): the estimated variance would otherwise shrink too much.
    shrinkage = (k - 3) / (k - 1) * variances * weights
    # The typical variance of a mean, weighted like the means.
    typical = float((weights * variances).sum() / total)
    # The price of an estimated common mean, and that of an estimated variance.
    of_mean = variances * (1.0 - (1.0 - weights / total) * shrinkage)
    of_variance = 2.0 / (k - 3) * shrinkage**2 * (typical + between) * weights
    squares = of_mean + of_variance * (means - common) ** 2
    return _Moved(
        means - shrinkage * (means - common),
        np.sqrt(squares),
        shrinkage,
        common,
        math.sqrt(between),
    )


def _paule_mandel(means: FloatArray, variances: FloatArray) -> float:
    """The variance between groups with which the weighted squares are what they should be.

    The weighted sum of squares falls with the variance, and is convex in it, so Newton's steps from
    0 rise to the root and never pass it.
    """
    between, target = 0.0, means.size - 1.0
    for _ in range(_MOST_STEPS):
        weights = 1.0 / (variances + between)
        common = float((weights * means).sum() / weights.sum())
        squares = weights * (means - common) ** 2
        excess = float(squares.sum()) - target
        step = excess / float((weights * squares).sum()) if excess > 0.0 else 0.0
        between += step
        if step <= _PRECISION * between:
            break
    return between


def _spread_out(column: FloatArray, is_present: npt.NDArray[np.bool_]) -> FloatArray:
    """The column with NaN for the groups that were left out."""
    whole = np.full(is_present.shape, math.nan)
    whole[is_present] = column
    return whole

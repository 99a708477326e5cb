"""Several means side by side: whether they differ, what they share, and what chance alone does.

The means of groups of queries are tested for a common value, and pooled partially; and the best of
several variants is told what noise alone gives to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, chdtrc, fdtrc, log_ndtr, ndtr, ndtri, stdtr, stdtrit

from rageval_report.errors import DataError
from rageval_report.stats.base import TIE_TOLERANCE, check_integer, check_level
from rageval_report.stats.columns import Column
from rageval_report.types import FloatArray

NO_SPREAD_ANYWHERE = "no group has any spread: the differences of the groups cannot be tested"
# From four groups on, if the standard errors are equal and the common mean is estimated, the pooled
# means have a smaller expected squared error than the raw ones, whatever the true means are (Efron
# & Morris 1973).
FEWEST_GROUPS = 4
# A standard error below 1e-15 of the spread of the means counts as one of that size.
_SMALLEST_VARIANCE = 1e-30
# The density of the largest of k values is nothing beyond: of ten million normal ones it lies
# between 3 and 9.
_FARTHEST = 12.0


# -- whether groups differ


@dataclass(frozen=True, slots=True)
class HeterogeneityResult:
    """Two tests of the differences of groups."""

    statistic: float
    pvalue: float
    crossing_statistic: float
    crossing_pvalue: float
    n_groups: int
    notes: tuple[str, ...] = ()


def heterogeneity_test(differences: Sequence[npt.ArrayLike | Column]) -> HeterogeneityResult:
    """Test whether the mean difference is the same in all groups, and whether it changes its sign.

    The first p-value is that of Welch's form of Cochran's Q, which allows for variances that are
    estimated from few queries: with the chi-square law that Q has in large groups, eight groups of
    five queries with the same mean would be called different in 27 % of cases at a level of 5 %.
    For the same reason Gail and Simon's test receives, for each group, the normal deviate with the
    tail of the group's t statistic. Both become the published tests as groups grow.

    Parameters
    ----------
    differences : sequence of array-like or Column
        The paired differences of the queries, one array per group; NaN is left out. A group of one
        query, or whose differences are all equal, borrows the pooled variance of the others.

    Returns
    -------
    HeterogeneityResult

    Raises
    ------
    DataError
        If fewer than two groups have a difference.

    References
    ----------
    .. [1] Cochran (1954). The combination of estimates from different experiments. Biometrics 10.
    .. [2] Welch (1951). On the comparison of several mean values: an alternative approach.
           Biometrika 38:330-336.
    .. [3] Gail, Simon (1985). Testing for qualitative interactions between treatment effects and
           patient subsets. Biometrics 41:361-372.

    Examples
    --------
    >>> from rageval_report.stats import heterogeneity_test
    >>> single_hop, multi_hop = [0.2, 0.1, 0.3, 0.2, 0.1], [-0.2, -0.1, -0.1, 0.0, -0.2]
    >>> result = heterogeneity_test([single_hop, multi_hop])
    >>> round(result.pvalue, 4), round(result.crossing_pvalue, 4)
    (0.0005, 0.0163)
    """
    columns = [Column.of(group) for group in differences]
    known = [column for column in columns if column.n]
    if len(known) < 2:
        raise DataError(
            "expected at least two groups with paired differences; "
            f"{len(known)} of {len(columns)} have any"
        )
    empty = len(columns) - len(known)
    notes = [f"{_count_groups(empty)} without a paired difference left out"] if empty else []
    # Large differences are divided by their size, because the squares of some are no doubles.
    unit = max(1.0, *(max(abs(column.minimum), abs(column.maximum)) for column in known))
    figures = [
        (each.mean / unit, each.std / unit, each.maximum / unit - each.minimum / unit)
        for each in known
    ]
    means, deviations, spreads = np.array(figures, dtype=np.float64).T
    sizes = np.array([each.n for each in known], dtype=np.float64)
    means[np.abs(means) <= TIE_TOLERANCE * spreads] = 0.0  # gains and losses that cancel exactly
    # Includes NaN, the deviation of a group of one; what only rounding separates has no spread.
    is_flat = ~(deviations > 0.0) | (spreads <= 2.0 * TIE_TOLERANCE)
    if is_flat.all():
        return _result_without_spread(means, notes)
    if is_flat.any():
        borrowers = _count_groups(int(is_flat.sum()))
        notes.append(f"{borrowers} without spread took the variance of the others")
    spare = sizes[~is_flat] - 1.0
    pooled = np.average(deviations[~is_flat] ** 2, weights=spare)
    variances = np.where(is_flat, pooled, deviations**2) / sizes
    degrees = np.where(is_flat, spare.sum(), sizes - 1.0)
    k, weights = len(known), 1.0 / variances
    weights /= weights.sum()
    q = float(((means - weights @ means) ** 2 / variances).sum())
    # The price of weights that are estimated: it goes to zero as the groups grow.
    uncertainty = float(((1.0 - weights) ** 2 / degrees).sum())
    f = q / (k - 1) / (1.0 + 2.0 * (k - 2) / (k**2 - 1) * uncertainty)
    pvalue = float(fdtrc(k - 1, (k**2 - 1) / (3.0 * uncertainty), f))
    crossing = _gail_simon_test(means, variances, degrees)
    return HeterogeneityResult(q, pvalue, *crossing, k, tuple(notes))


def _gail_simon_test(
    means: FloatArray, variances: FloatArray, degrees: FloatArray
) -> tuple[float, float]:
    """The smaller weighted sum of squares of either sign, and its p-value if no sign is changed."""
    squares = ndtri(stdtr(degrees, -np.abs(means) / np.sqrt(variances))) ** 2
    statistic = float(min(squares[means > 0].sum(), squares[means < 0].sum()))
    if statistic == 0.0:
        return 0.0, 1.0
    # In the least favourable case one group has a large effect and each other one has none: their
    # signs are tosses of a coin, so the sum of squares is a binomial mixture of chi-squares. Of
    # many groups neither the binomial coefficients nor 2**-others are doubles.
    others = means.size - 1
    changed = np.arange(1, others + 1)
    log_ways = -betaln(changed + 1, others - changed + 1) - math.log(others + 1)
    probabilities = np.exp(log_ways - others * math.log(2.0))
    return statistic, float(probabilities @ chdtrc(changed, statistic))


def _result_without_spread(means: FloatArray, notes: list[str]) -> HeterogeneityResult:
    k, nan = means.size, math.nan
    if float(np.ptp(means)) <= 2.0 * TIE_TOLERANCE:
        return HeterogeneityResult(0.0, 1.0, 0.0, 1.0, k, tuple(notes))
    crossing = 1.0 if (means >= 0).all() or (means <= 0).all() else nan
    return HeterogeneityResult(nan, nan, nan, crossing, k, (*notes, NO_SPREAD_ANYWHERE))


def _count_groups(groups: int) -> str:
    return f"{groups} group" if groups == 1 else f"{groups} groups"


# -- partial pooling


@dataclass(frozen=True, slots=True, eq=False)
class PooledMeans:
    """The partially pooled means of groups."""

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

    The mean of a group of seven queries lies far out by chance more often than that of seventy. The
    true means are taken to be normal around a common mean (empirical Bayes). Their variance is
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
    raw, errors = np.asarray(means, np.float64), np.asarray(standard_errors, np.float64)
    _check_groups(raw, errors)
    if not degrees > 0.0:
        raise DataError(f"degrees must be a number above 0; got {degrees}")
    # A common scale, so that no square overflows or vanishes. NaN stays NaN.
    own, is_present = np.where(np.isnan(raw), math.nan, errors), ~np.isnan(raw)
    centre, k = float(np.nanmedian(raw)), int(is_present.sum())
    scale = max(float(np.nanmax(np.abs(raw - centre))), float(np.nanmax(own)))
    scaled, variances = (raw - centre) / scale, np.maximum((own / scale) ** 2, _SMALLEST_VARIANCE)
    between = _paule_mandel(scaled[is_present], variances[is_present])
    weights = 1.0 / (variances + between)
    total = float(np.nansum(weights))
    common = float(np.nansum(weights * scaled) / total)
    # Morris, section 5. (k - 3) / (k - 1): the estimated variance would otherwise shrink too much.
    shrinkage = (k - 3) / (k - 1) * variances * weights
    # The price of an estimated common mean, and that of an estimated variance.
    of_mean = variances * (1.0 - (1.0 - weights / total) * shrinkage)
    typical = float(np.nansum(weights * variances) / total)
    of_variance = 2.0 / (k - 3) * shrinkage**2 * (typical + between) * weights
    deviations = scale * np.sqrt(of_mean + of_variance * (scaled - common) ** 2)
    estimates = centre + scale * (scaled - shrinkage * (scaled - common))
    reach = float(stdtrit(degrees, 0.5 + level / 2.0)) * deviations
    limits = (estimates - reach, estimates + reach)
    shared = (centre + scale * common, scale * math.sqrt(between))
    return PooledMeans(estimates, *limits, deviations, shrinkage, *shared)


def errors_of_common_spread(
    standard_errors: FloatArray, sizes: FloatArray, degrees: FloatArray
) -> tuple[FloatArray, float]:
    """The standard errors of means whose groups spread alike, and their degrees of freedom."""
    has_spread = degrees > 0.0
    total = float(degrees[has_spread].sum())
    if total == 0.0:
        return np.full(sizes.shape, math.nan), 0.0
    shares = sizes[has_spread] * degrees[has_spread] / total
    of_group = standard_errors[has_spread] * np.sqrt(shares)
    # Not by squares, because those of large numbers overflow.
    return math.hypot(*of_group.tolist()) / np.sqrt(np.maximum(sizes, 1.0)), total


def _check_groups(means: FloatArray, errors: FloatArray) -> None:
    if means.ndim != 1 or means.shape != errors.shape:
        raise DataError(
            "means and standard_errors must be two lists of equal length; "
            f"got shapes {means.shape} and {errors.shape}"
        )
    if np.isinf(means).any():
        raise DataError("means must be finite numbers, or NaN for a group without scores; got inf")
    is_present = ~np.isnan(means)
    wrong = errors[is_present & ~((errors > 0.0) & np.isfinite(errors))]
    if wrong.size:
        raise DataError(
            f"standard_errors must be finite numbers above 0; got {float(wrong[0])}. A group "
            "without spread needs the standard error of one with the spread of all groups"
        )
    known = int(is_present.sum())
    if known < FEWEST_GROUPS:
        raise DataError(
            f"means must hold the means of at least {FEWEST_GROUPS} groups; got {known}"
        )


def _paule_mandel(means: FloatArray, variances: FloatArray) -> float:
    """The variance between groups with which the weighted squares are what they should be."""
    from scipy.optimize import brentq

    def excess(between: float) -> float:
        weights = 1.0 / (variances + between)
        common = (weights * means).sum() / weights.sum()
        return float((weights * (means - common) ** 2).sum()) - (means.size - 1.0)

    # The squares fall with the variance, and with that of the means they are too small.
    most = 2.0 * float(means.var(ddof=1))
    return float(brentq(excess, 0.0, most, xtol=1e-300)) if excess(0.0) > 0.0 else 0.0


# -- the best of several


def gain_of_noise(standard_error: float, k: int) -> float:
    """The gain that the best of k equal variants is expected to show."""
    from scipy.integrate import quad

    def integrand(x: float) -> float:  # F(x)**k without the loss of digits near 1
        return float(-np.expm1(k * log_ndtr(x)) - ndtr(-x) ** k)

    if check_integer("k", k, 1) == 1:
        return 0.0
    return standard_error * float(quad(integrand, 0.0, _FARTHEST)[0])

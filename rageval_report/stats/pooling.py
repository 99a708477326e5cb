"""Several means side by side: whether they differ, and what chance alone does.

The means of groups of queries are tested for a common value, and the best of several variants is
told what noise alone gives to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, chdtrc, fdtrc, log_ndtr, ndtr, ndtri, stdtr

from rageval_report.errors import DataError
from rageval_report.stats.base import TIE_TOLERANCE, check_integer
from rageval_report.stats.columns import Column
from rageval_report.types import FloatArray

NO_SPREAD_ANYWHERE = "no group has any spread: the differences of the groups cannot be tested"
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


# -- the best of several


def gain_of_noise(standard_error: float, k: int) -> float:
    """The gain that the best of k equal variants is expected to show."""
    from scipy.integrate import quad

    def integrand(x: float) -> float:  # F(x)**k without the loss of digits near 1
        return float(-np.expm1(k * log_ndtr(x)) - ndtr(-x) ** k)

    if check_integer("k", k, 1) == 1:
        return 0.0
    return standard_error * float(quad(integrand, 0.0, _FARTHEST)[0])

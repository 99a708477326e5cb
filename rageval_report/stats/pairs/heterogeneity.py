"""Whether a difference is the same in all groups of queries, and whether it changes its sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.errors import DataError
from rageval_report.stats.base import finite_values
from rageval_report.stats.magnitudes import unit_of
from rageval_report.stats.means.moments import NO_MOMENTS, Moments
from rageval_report.stats.pairs.spread import rounding_tolerance, standard_deviation
from rageval_report.types import FloatArray

NO_SPREAD_ANYWHERE = "no group has any spread: the differences of the groups cannot be tested"


@dataclass(frozen=True, slots=True)
class HeterogeneityResult:
    """Two tests of the differences of groups.

    Parameters
    ----------
    statistic : float
        Cochran's Q: the weighted squares of the groups' distances from their common mean.
    pvalue : float
        Small if the groups differ; NaN if no group has any spread and the means are not equal.
    crossing_statistic : float
        Gail and Simon's: the smaller of the weighted squares of gains and of losses.
    crossing_pvalue : float
        Small if the difference is positive in some groups and negative in others.
    n_groups : int
        Groups with at least one difference.
    notes : tuple of str
        Groups left out, and groups whose variance was borrowed.
    """

    statistic: float
    pvalue: float
    crossing_statistic: float
    crossing_pvalue: float
    n_groups: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Groups:
    """Each group's mean, the variance of that mean, and the degrees of freedom behind it."""

    means: FloatArray
    variances: FloatArray
    degrees: FloatArray


def heterogeneity_test(differences: Sequence[npt.ArrayLike]) -> HeterogeneityResult:
    """Test whether the mean difference is the same in all groups, and whether it changes its sign.

    The first p-value is that of Welch's form of Cochran's Q, which allows for variances that are
    estimated from few queries: with the chi-square law that Q has in large groups, eight groups of
    five queries with the same mean would be called different in 27 % of cases at a level of 5 %.
    For the same reason Gail and Simon's test receives, for each group, the normal deviate with the
    tail of the group's t statistic. Both become the published tests as groups grow.

    Parameters
    ----------
    differences : sequence of array-like
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
    groups = [finite_values(group) for group in differences]
    return heterogeneity_of_moments([_moments_of(group) for group in groups])


def heterogeneity_of_moments(groups: Sequence[Moments]) -> HeterogeneityResult:
    """`heterogeneity_test` of groups whose differences are described.

    Parameters
    ----------
    groups : sequence of Moments
        The moments of the differences of each group.

    Raises
    ------
    DataError
        If fewer than two groups have a difference.

    Examples
    --------
    >>> groups = [Moments(5, mean, 0.1, mean - 0.1, mean + 0.1, False) for mean in (0.2, -0.1)]
    >>> round(heterogeneity_of_moments(groups).pvalue, 4)
    0.0015
    """
    known = [group for group in groups if group.n]
    if len(known) < 2:
        raise DataError(
            "expected at least two groups with paired differences; "
            f"{len(known)} of {len(groups)} have any"
        )
    # Very large differences are divided by a power of two, because their squares are no doubles.
    ends = [end for group in known for end in (group.minimum, group.maximum)]
    unit = max(1.0, unit_of(*ends))
    known = [group.times(1.0 / unit) for group in known]
    notes = _note_of_empty_groups(len(groups) - len(known))
    sizes = np.array([group.n for group in known], dtype=np.float64)
    means = np.array([group.mean for group in known])
    tolerance = rounding_tolerance(np.array(ends) / unit)
    spreads = np.array([group.maximum - group.minimum for group in known])
    deviations = np.array([group.std for group in known])
    # Includes NaN, the deviation of a group of one; what only rounding separates has no spread.
    borrowing = ~(deviations > 0.0) | (spreads <= 2.0 * tolerance)
    if borrowing.all():
        return _without_spread(means, tolerance, notes)
    own = np.where(borrowing, 0.0, deviations) ** 2
    spare = sizes - 1.0
    pooled = float((spare * own).sum() / spare[~borrowing].sum())
    summary = _Groups(
        means,
        np.where(borrowing, pooled, own) / sizes,
        np.where(borrowing, spare[~borrowing].sum(), spare),
    )
    if borrowing.any():
        borrowers = _count_groups(int(borrowing.sum()))
        notes += (f"{borrowers} without spread took the variance of the others",)
    q, pvalue = _welch_test(summary)
    crossing, crossing_pvalue = _gail_simon_test(summary)
    return HeterogeneityResult(q, pvalue, crossing, crossing_pvalue, len(known), notes)


def _moments_of(group: FloatArray) -> Moments:
    """The moments of differences, whose spread is their own whatever their size."""
    if not group.size:
        return NO_MOMENTS
    unit = max(1.0, unit_of(group))
    scaled = group / unit
    ends = float(scaled.min()), float(scaled.max())
    spread = standard_deviation(scaled, 0.0)
    return Moments(group.size, float(scaled.mean()), spread, *ends, is_binary=False).times(unit)


def _welch_test(groups: _Groups) -> tuple[float, float]:
    """Cochran's Q, and its p-value from Welch's F statistic."""
    weights = 1.0 / groups.variances
    common = float((weights * groups.means).sum() / weights.sum())
    q = float((weights * (groups.means - common) ** 2).sum())
    k = groups.means.size
    # The price of weights that are estimated: it goes to zero as the groups grow.
    uncertainty = float(((1.0 - weights / weights.sum()) ** 2 / groups.degrees).sum())
    f = q / (k - 1) / (1.0 + 2.0 * (k - 2) / (k**2 - 1) * uncertainty)
    return q, float(scipy.special.fdtrc(k - 1, (k**2 - 1) / (3.0 * uncertainty), f))


def _gail_simon_test(groups: _Groups) -> tuple[float, float]:
    """The smaller weighted sum of squares of either sign, and its p-value if no sign is changed."""
    t = np.abs(groups.means) / np.sqrt(groups.variances)
    squares = scipy.special.ndtri(scipy.special.stdtr(groups.degrees, -t)) ** 2
    statistic = float(min(squares[groups.means > 0].sum(), squares[groups.means < 0].sum()))
    if statistic == 0.0:
        return 0.0, 1.0
    # In the least favourable case one group has a large effect and each other one has none: their
    # signs are tosses of a coin, so the sum of squares is a binomial mixture of chi-squares.
    others = groups.means.size - 1
    changed = np.arange(1, others + 1)
    probabilities = scipy.special.binom(others, changed) * 0.5**others
    return statistic, float((probabilities * scipy.special.chdtrc(changed, statistic)).sum())


def _without_spread(
    means: FloatArray, tolerance: float, notes: tuple[str, ...]
) -> HeterogeneityResult:
    if float(means.max() - means.min()) <= 2.0 * tolerance:
        return HeterogeneityResult(0.0, 1.0, 0.0, 1.0, means.size, notes)
    nan = float("nan")
    crossing = 1.0 if (means >= 0).all() or (means <= 0).all() else nan
    return HeterogeneityResult(nan, nan, nan, crossing, means.size, (*notes, NO_SPREAD_ANYWHERE))


def _note_of_empty_groups(empty: int) -> tuple[str, ...]:
    return (f"{_count_groups(empty)} without a paired difference left out",) if empty else ()


def _count_groups(groups: int) -> str:
    return f"{groups} group" if groups == 1 else f"{groups} groups"

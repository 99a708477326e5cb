"""Planning a paired comparison: its power, the units it needs, the difference it can show.

For most scores the paired t test stands in for the sign-flip test, whose power is nearly the same
(simulated on 30 bounded scores: 24.7 and 24.8 %); for scores of 0 and 1 the power of McNemar's
mid-p test is summed exactly. With few units the sign-flip test has few attainable p-values: with 6
of them the smallest is 2 / 2**6. So its power is lower there than that of the t test, and no number
below 6 is ever enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, chdtr, nctdtr, ndtr, ndtri, stdtrit

from rageval_report.errors import DataError
from rageval_report.stats.base import check_integer, check_positive, check_probability
from rageval_report.stats.columns import Column
from rageval_report.stats.units import FEWEST_UNITS, Units
from rageval_report.types import FloatArray, IntArray

# From here on the t and the normal distribution differ by less than the precision of doubles.
MANY_DEGREES = 1e12
# For smaller effects the number of queries, 8 / d_z**2, exceeds the largest double.
NO_EFFECT = 1e-150
# Beyond this many units a plan is not a plan; a search ends here.
MOST_UNITS = 10_000_000
# The probability with which a difference should be shown.
USUAL_POWER = 0.8

# The tests, also with "-midp", whose p-values are shares of patterns of signs.
_SIGN_TESTS = ("mcnemar", "sign", "sign-flip")
# The power of tests of counts goes up and down by a little, as n grows: so many steps of n beyond
# the first with enough power have enough as well.
_STEADY = 30
# From so many expected discordant pairs on, Connor's formula has the power of McNemar's mid-p test
# to 0.03 (against the exact sum, for shares of 0.02 to 1 and levels of 0.05 to 0.00025).
_MANY_DISCORDANT = 100.0
# In standard deviations; no score is farther away.
_LARGEST_EFFECT = 1e6


# -- the power of a test


def power(d_z: float, n: int, *, alpha: float = 0.05) -> float:
    """Probability that the two-sided paired t test finds a difference of this effect size.

    Parameters
    ----------
    d_z : float
        The mean difference over the standard deviation of the differences; the sign is ignored.
    n : int
        Paired queries, at least 2.
    alpha : float
        The level of significance.

    Returns
    -------
    float
        Between `alpha` and 1.

    Examples
    --------
    >>> round(power(0.5, 34), 3)
    0.808
    """
    check_probability("alpha", alpha)
    return _power(_absolute_effect(d_z) * math.sqrt(check_integer("n", n, 2)), n, alpha)


def required_n(d_z: float, power: float = 0.8, *, alpha: float = 0.05) -> int:
    """The smallest number of paired queries that gives the two-sided paired t test this power.

    Parameters
    ----------
    d_z : float
        The mean difference over the standard deviation of the differences; not 0.
    power : float
        The probability with which the difference should be found.
    alpha : float
        The level of significance.

    Returns
    -------
    int
        At least 2.

    Raises
    ------
    DataError
        If `d_z` is 0, which no number of queries shows, or too small for a count.

    Examples
    --------
    >>> required_n(0.5)
    34
    """
    effect = _absolute_effect(d_z)
    check_probability("alpha", alpha)
    check_probability("power", power)
    if effect < NO_EFFECT:
        raise DataError(f"d_z must not be 0: no number of queries shows such an effect; got {d_z}")

    n = smallest_number(lambda n: _power(effect * math.sqrt(n), n, alpha) >= power, 2, math.inf)
    return int(n)


def minimum_detectable_difference(
    sd_difference: float, n: int, *, power: float = 0.8, alpha: float = 0.05
) -> float:
    """The mean difference that the two-sided paired t test finds with this power.

    Parameters
    ----------
    sd_difference : float
        The standard deviation of the paired differences.
    n : int
        Paired queries, at least 2.
    power : float
        The probability with which the difference should be found.
    alpha : float
        The level of significance.

    Returns
    -------
    float
        In the unit of the scores; 0 if `power` is at most `alpha`, because a true difference of
        zero is already found with the probability `alpha`.

    Examples
    --------
    >>> round(minimum_detectable_difference(0.25, 40), 3)
    0.114
    """
    n = check_integer("n", n, 2)
    check_probability("alpha", alpha)
    check_probability("power", power)
    if not 0.0 <= sd_difference < math.inf:
        raise DataError(f"sd_difference must be a finite number >= 0; got {sd_difference}")
    if power <= alpha:
        return 0.0
    # In standard errors: the usual power of 0.8 at 0.05 needs 1.96 + 0.84 = 2.8.
    shift = rising_root(lambda shift: _power(shift, n, alpha) - power, 2.8)
    return shift / math.sqrt(n) * float(sd_difference)


def non_inferiority_power(margin_z: float, n: int, *, alpha: float = 0.05) -> float:
    """Probability that no loss beyond a margin is shown for two pipelines that are equal."""
    check_probability("alpha", alpha)
    if 2.0 ** -check_integer("n", n, 2) > alpha:
        return 0.0
    return _upper_tail(check_positive("margin_z", margin_z) * math.sqrt(n), n, alpha)


def mcnemar_power(p10: float, p01: float, n: int, *, alpha: float = 0.05) -> float:
    """Probability that McNemar's two-sided mid-p test finds a difference between two shares."""
    n = check_integer("n", n, 2)
    check_probability("alpha", alpha)
    # Shares that were computed from counts may sum up to just above 1.
    if not (p10 >= 0.0 and p01 >= 0.0 and p10 + p01 <= 1.0 + 1e-12):
        raise DataError(
            "p10 and p01 must be shares of all queries, each >= 0 and together <= 1; "
            f"got {p10} and {p01}"
        )
    discordant = min(1.0, p10 + p01)
    if discordant == 0.0:
        return 0.0
    # Nine standard deviations leave out 1e-18; 20 more cover small n, where the law is skewed.
    reach = 9.0 * math.sqrt(n * discordant * (1.0 - discordant)) + 20.0
    first = max(0, math.floor(n * discordant - reach))
    last = min(n, math.ceil(n * discordant + reach))
    pairs = np.arange(first, last + 1)
    probabilities = np.diff(_binomial_cdf(np.arange(first - 1, last + 1), n, discordant))
    most, share = _largest_rejected(pairs, alpha), min(1.0, p01 / discordant)
    power_of_each = _binomial_cdf(most, pairs, share) + _binomial_cdf(most, pairs, 1.0 - share)
    return float((probabilities * power_of_each).sum())


def attainable_level(n: int, alpha: float = 0.05, *, midp: bool = False) -> float:
    """The largest probability of a rejection of the two-sided sign-flip test at a level."""
    check_probability("alpha", alpha)
    steps = 2.0 ** min(check_integer("n", n, 2) - 1, 60)
    # The j-th smallest p-value is j steps, with mid-p half a step less.
    return math.floor(alpha * steps * (1 + 1e-12) + (0.5 if midp else 0.0)) / steps


def smallest_number(
    is_enough: Callable[[int], bool],
    fewest: int = FEWEST_UNITS,
    most: float = MOST_UNITS,
    near: float = 0.0,
) -> float:
    """The smallest number that is enough: away from a guess by growing steps, then by halves."""
    enough = int(min(max(near, fewest), most))
    step = max(enough // 32, fewest // 2)
    too_few = max(enough - step, fewest - 1)
    while too_few >= fewest and is_enough(too_few):
        enough, step = too_few, 2 * step
        too_few = max(enough - step, fewest - 1)
    while not is_enough(enough):
        if enough >= most:
            return math.nan
        too_few, step = enough, 2 * step
        enough = int(min(enough + step, most))
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        too_few, enough = (too_few, middle) if is_enough(middle) else (middle, enough)
    return enough


def rising_root(rises: Callable[[float], float], near: float, most: float = math.inf) -> float:
    """The number above 0 at which a function that rises from below 0 reaches it; it may jump."""
    from scipy.optimize import brentq

    low, high = 0.0, min(near, most)
    while rises(high) < 0.0:
        if high >= most:
            return math.inf
        low, high = high, min(2.0 * high, most)
    return float(brentq(rises, low, high, xtol=1e-300, rtol=1e-13))


# -- the test of a comparison


@dataclass(frozen=True)
class PlannedTest:
    """The test that will be made of differences of independent units, and how much these vary."""

    sd: float
    test: str = "sign-flip"
    changed: float = math.nan
    sds: tuple[float, ...] = ()

    @classmethod
    def of(cls, differences: Column, test: str) -> Self:
        """The plan of a test from measured differences of independent units."""
        changed = math.nan
        if test.startswith("mcnemar"):
            changed = float(differences.counts[differences.values != 0.0].sum()) / differences.n
        return cls(differences.std, test, changed)

    @property
    def is_usable(self) -> bool:
        """Whether the differences vary, so that something can be planned."""
        return math.isfinite(self.sd) and self.sd > 0.0

    def power(self, difference: float, n: int, *, alpha: float = 0.05) -> float:
        """The probability that n units show a difference."""
        check_probability("alpha", alpha)
        if not math.isnan(self.changed):
            return _share_power(self.changed, min(abs(difference), 1.0), n, alpha)
        effect = min(abs(difference) / self.sd, _LARGEST_EFFECT)
        level = alpha
        if self.test.removesuffix("-midp") in _SIGN_TESTS:
            level = attainable_level(n, alpha, midp=self.test.endswith("-midp"))
            if 0.0 < level < 2.0 ** (2 - n):
                parts = np.array([abs(difference) / sd for sd in self.sds or (self.sd,)])
                return float(ndtr(parts).mean() ** n + ndtr(-parts).mean() ** n)
        return _power(effect * math.sqrt(check_integer("n", n, 2)), n, level) if level else 0.0

    def needed(
        self, difference: float, power: float = USUAL_POWER, *, alpha: float = 0.05
    ) -> float:
        """The smallest number of units that show a difference with this power."""
        size = check_positive("difference", abs(difference))
        check_probability("power", power)
        if not self.is_usable:
            return math.nan
        near = (min(self.sd / size, 1e6) * float(ndtri(1.0 - alpha / 2.0) + ndtri(power))) ** 2
        # The power of few units goes up and down: there the search begins with the fewest.
        guess = near if near > _STEADY else 0.0
        return smallest_number(lambda n: self.power(size, n, alpha=alpha) >= power, near=guess)

    def detectable(self, n: int, *, alpha: float = 0.05) -> float:
        """The difference that n units show in 80 of 100 cases."""
        if not self.is_usable:
            return math.nan
        scaled = replace(self, sd=1.0, sds=tuple(sd / self.sd for sd in self.sds))
        in_units = _detectable(scaled, n, alpha)
        return in_units * self.sd if math.isnan(self.changed) else in_units

    def needed_for_margin(
        self, margin: float, power: float = USUAL_POWER, *, alpha: float = 0.05
    ) -> float:
        """The smallest number of units with which equal pipelines pass a test of no regression."""
        check_positive("margin", margin)
        check_probability("power", power)
        if not self.is_usable:
            return math.nan
        effect = min(max(margin / self.sd, 1e-9), _LARGEST_EFFECT)
        return smallest_number(lambda n: non_inferiority_power(effect, n, alpha=alpha) >= power)


@dataclass(frozen=True, eq=False)
class ClusterVariance:
    """The variance of scores, or of paired differences, between and within clusters."""

    between: float
    within: float
    sizes: FloatArray

    @classmethod
    def of(cls, values: npt.ArrayLike, clusters: npt.ArrayLike) -> Self:
        """The variances by the mean squares between and within clusters of any sizes.

        Parameters
        ----------
        values : array-like of shape (n_queries,)
            Scores or differences, all of them finite.
        clusters : array-like of shape (n_queries,)
            The cluster of each query.

        Raises
        ------
        DataError
            If there are fewer than two clusters.

        Notes
        -----
        With B the mean square between and W that within clusters, ``within`` is W and ``between``
        is (B - W) / m, where m is the size that unequal clusters count for. If each cluster has one
        query, all variance is ``within``, as it is that of the queries.

        References
        ----------
        .. [1] Searle, Casella, McCulloch (1992). Variance components, section 3.6.
        """
        scores, units = Column.of(values), Units.of(clusters)
        sizes, means = units.sums(np.ones(scores.n)), units.means(np.asarray(values, np.float64))
        if sizes.size < 2:
            raise DataError("clusters must be at least two; all scored queries are in one")
        if scores.n == sizes.size or scores.is_constant:
            return cls(0.0, scores.variance, sizes)
        square = float((sizes * (means - scores.mean) ** 2).sum())
        rest = max(scores.variance * (scores.n - 1) - square, 0.0)
        within = rest / (scores.n - sizes.size)
        size = (scores.n - float((sizes**2).sum()) / scores.n) / (sizes.size - 1)
        between = max(square / (sizes.size - 1) - within, 0.0) / size
        return cls(between, within, sizes)

    @property
    def size(self) -> float:
        """The mean number of queries of a cluster."""
        return float(self.sizes.mean())

    @property
    def share_between(self) -> float:
        """The share of the variance that lies between clusters; 0 if nothing varies."""
        whole = self.between + self.within
        return self.between / whole if whole > 0.0 else 0.0

    def planned_test(self, variance: float, share_between: float) -> PlannedTest:
        """The sign-flip test of clusters of such sizes, of any number of them."""
        between, within = share_between * variance, (1.0 - share_between) * variance
        variation = float(self.sizes.var()) / self.size**2
        sds = np.sqrt(between + within / self.sizes)
        sd = math.sqrt(between * (1.0 + variation) + within / self.size)
        return PlannedTest(sd, sds=tuple(sds.tolist()))


def binary_queries_needed(
    p10: float, p01: float, power: float = USUAL_POWER, *, alpha: float = 0.05
) -> float:
    """The number of queries from which on McNemar's mid-p test has this power."""
    check_probability("power", power)
    if p10 == p01:
        raise DataError(f"p10 and p01 must differ: no number of queries shows none; got {p10}")

    def is_enough(n: int) -> bool:
        return mcnemar_power(p10, p01, n, alpha=alpha) >= power

    first = n = smallest_number(is_enough)
    while n < first + _STEADY:
        if not is_enough(int(n)):
            first = n + 1
        n += 1
    return first


# -- the laws behind them


# Tables of many pairs ask for the same few numbers of units and levels.
@lru_cache(maxsize=1024)
def _detectable(test: PlannedTest, n: int, alpha: float) -> float:
    """The difference that a test shows with the usual power."""
    near = 2.8 / math.sqrt(n)  # as of the normal test at the usual level
    most = _LARGEST_EFFECT if math.isnan(test.changed) else 1.0
    return rising_root(
        lambda difference: test.power(difference, n, alpha=alpha) - USUAL_POWER, near, most
    )


def _share_power(changed: float, difference: float, n: int, alpha: float) -> float:
    """The power of McNemar's mid-p test for a difference of two shares."""
    changed = max(changed, difference)
    if n * changed < _MANY_DISCORDANT:
        p01 = (changed + difference) / 2.0
        return mcnemar_power(max(changed - p01, 0.0), p01, n, alpha=alpha)
    shift = difference * math.sqrt(n) - float(ndtri(1.0 - alpha / 2.0)) * math.sqrt(changed)
    return float(ndtr(shift / math.sqrt(max(changed - difference**2, 1e-12))))


def _absolute_effect(d_z: float) -> float:
    if not math.isfinite(d_z):
        raise DataError(f"d_z must be a finite number; got {d_z}")
    return abs(float(d_z))


def _power(shift: float, n: int, alpha: float) -> float:
    """Both tails of the t statistic, moved by `shift`, beyond the critical value."""
    return _upper_tail(shift, n, alpha / 2.0) + _upper_tail(-shift, n, alpha / 2.0)


def _upper_tail(shift: float, n: int, level: float) -> float:
    """The probability that the t statistic, moved by `shift`, is beyond its quantile."""
    degrees = float(n) - 1.0
    if degrees > MANY_DEGREES:
        return float(ndtr(shift - ndtri(1.0 - level)))
    critical = float(stdtrit(degrees, 1.0 - level))
    if shift < 0.0:  # by symmetry; NaN only where below 1e-12
        far_side = float(nctdtr(degrees, -shift, -critical))
        return 0.0 if math.isnan(far_side) else far_side
    below = float(nctdtr(degrees, shift, critical))
    # SciPy returns NaN for some shifts above 35; there shift / t follows a chi law.
    if math.isnan(below):
        ratio = shift / critical
        return float(chdtr(degrees, degrees * ratio * ratio))
    return 1.0 - below


def _largest_rejected(pairs: IntArray, alpha: float) -> IntArray:
    """For each number of discordant pairs the largest significant count of the rarer side."""
    z = float(ndtri(1.0 - alpha / 2.0))
    # The normal limit is too small by about z * z / 24. From a little above, down to significance.
    near = np.floor((pairs - z * np.sqrt(pairs) + z * z / 6.0) / 2.0 + 1.0)
    most = np.clip(near, -1, pairs // 2).astype(np.int64)
    while True:
        midp = _binomial_cdf(most, pairs, 0.5) + _binomial_cdf(most - 1, pairs, 0.5)
        is_too_large = (most >= 0) & (midp > alpha)
        if not is_too_large.any():
            return most
        most = most - is_too_large


def _binomial_cdf(successes: IntArray, trials: IntArray | int, share: float) -> FloatArray:
    """The probability of at most this number of successes."""
    # `scipy.special.bdtr` loses digits in thousands of trials. The regularised incomplete beta
    # function does not, but is defined only inside the range.
    is_inside = (successes >= 0) & (successes < trials)
    first, second = np.where(is_inside, (trials - successes, successes + 1), 1)
    return np.where(is_inside, betainc(first, second, 1.0 - share), successes >= 0)

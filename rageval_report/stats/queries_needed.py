"""How many paired queries a test needs, for the tests that a comparison really uses.

The sign-flip test has few attainable p-values when there are few queries: with 6 queries the
smallest is 2 / 2**6. So its power is lower there than that of the t test, and no number below 6 is
ever enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import scipy

from rageval_report.errors import DataError
from rageval_report.stats.base import check_positive, check_probability, check_queries
from rageval_report.stats.planning import mcnemar_power, power
from rageval_report.stats.units import FEWEST_UNITS

# Beyond this many queries a plan is not a plan; the search ends here.
MOST_QUERIES = 10_000_000
# The power of tests of counts goes up and down by a little, as n grows: so many steps of n beyond
# the first with enough power have enough as well.
_STEADY = 30
# From so many queries on, the levels of the sign-flip test are so dense that its power only grows.
_DENSE = 40


def attainable_level(n: int, alpha: float = 0.05, *, midp: bool = False) -> float:
    """The largest probability of a rejection of the two-sided sign-flip test at a level.

    Parameters
    ----------
    n : int
        Paired queries with different absolute differences, at least 2.
    alpha : float
        The level of significance.
    midp : bool
        Whether the observed pattern of signs counts half, as it does where ties are possible. The
        probability may then be a little above `alpha`.

    Returns
    -------
    float
        A multiple of 2 ** (1 - n); 0 if no p-value is as small as `alpha`.

    Examples
    --------
    >>> attainable_level(5), attainable_level(6), attainable_level(7)
    (0.0, 0.03125, 0.046875)
    >>> attainable_level(6, 0.02), attainable_level(6, 0.02, midp=True)
    (0.0, 0.03125)
    """
    check_queries(n)
    check_probability("alpha", alpha)
    steps = 2.0 ** min(n - 1, 60)
    # The j-th smallest p-value is j steps, with mid-p half a step less.
    return math.floor(alpha * steps * (1 + 1e-12) + (0.5 if midp else 0.0)) / steps


def sign_flip_power(d_z: float, n: int, *, alpha: float = 0.05, midp: bool = False) -> float:
    """Probability that the two-sided sign-flip test shows a difference of this effect size.

    Parameters
    ----------
    d_z : float
        The mean difference over the standard deviation of the differences; the sign is ignored.
    n : int
        Paired queries, at least 2.
    alpha : float
        The level of significance.
    midp : bool
        As in `attainable_level`.

    Returns
    -------
    float
        0 if the test has no p-value as small as `alpha`.

    Notes
    -----
    For normal differences. Where only the most extreme pattern of signs rejects, which is that of
    equal signs, the power is exact; elsewhere it is that of the t test at the attainable level
    (simulated at n = 7 to 24: at most 3 percentage points too high).

    Examples
    --------
    >>> round(sign_flip_power(1.39, 6), 3), round(sign_flip_power(0.5, 34), 3)
    (0.597, 0.808)
    """
    effect = abs(float(d_z))
    level = attainable_level(n, alpha, midp=midp)
    if level == 0.0:
        return 0.0
    if level < 2.0 ** (2 - n):
        return float(scipy.special.ndtr(effect) ** n + scipy.special.ndtr(-effect) ** n)
    return power(effect, n, alpha=level)


def queries_needed(
    d_z: float, power: float = 0.8, *, alpha: float = 0.05, midp: bool = False
) -> int:
    """The smallest number of paired queries with which the sign-flip test has this power.

    Parameters
    ----------
    d_z : float
        The mean difference over the standard deviation of the differences; not 0.
    power : float
        The probability with which the difference should be shown.
    alpha : float
        The level of significance; after a correction, the level that it leaves to one test.
    midp : bool
        As in `attainable_level`.

    Returns
    -------
    int
        At least 6.

    Raises
    ------
    DataError
        If more than ten million queries are needed.

    Examples
    --------
    >>> queries_needed(0.5), queries_needed(3.0), queries_needed(0.5, alpha=0.005)
    (34, 6, 58)
    """
    effect = abs(check_positive("d_z", abs(d_z)))
    check_probability("power", power)
    near = _guenther_number(effect, power, alpha)
    return smallest_number(
        *(lambda n: sign_flip_power(effect, n, alpha=alpha, midp=midp), power),
        near=near if near >= _DENSE else FEWEST_UNITS,
    )


def binary_queries_needed(
    p10: float, p01: float, power: float = 0.8, *, alpha: float = 0.05
) -> int:
    """The number of queries from which on McNemar's mid-p test has this power.

    Parameters
    ----------
    p10, p01 : float
        The share of queries that only the baseline, only the candidate gets right; they differ.
    power : float
        The probability with which the difference should be shown.
    alpha : float
        The level of significance.

    Returns
    -------
    int
        At least 6.

    Raises
    ------
    DataError
        If the shares are equal, make no sense, or more than ten million queries are needed.

    Examples
    --------
    >>> binary_queries_needed(0.05, 0.15)
    152
    """
    check_probability("power", power)
    if p10 == p01:
        raise DataError(f"p10 and p01 must differ: no number of queries shows none; got {p10}")
    n = smallest_number(lambda n: mcnemar_power(p10, p01, n, alpha=alpha), power)
    while True:
        low = [m for m in range(n, n + _STEADY) if mcnemar_power(p10, p01, m, alpha=alpha) < power]
        if not low:
            return n
        n = low[-1] + 1


def non_inferiority_power(margin_z: float, n: int, *, alpha: float = 0.05) -> float:
    """Probability that no loss beyond a margin is shown for two pipelines that are equal.

    Parameters
    ----------
    margin_z : float
        The margin over the standard deviation of the differences, above 0.
    n : int
        Paired queries, at least 2.
    alpha : float
        The level of the one-sided test.

    Examples
    --------
    >>> round(non_inferiority_power(0.5, 27), 3)
    0.812
    """
    margin = check_positive("margin_z", margin_z)
    check_probability("alpha", alpha)
    if 2.0 ** -check_queries(n) > alpha:
        return 0.0
    degrees = n - 1.0
    critical = float(scipy.special.stdtrit(degrees, 1.0 - alpha))
    below = float(scipy.special.nctdtr(degrees, margin * math.sqrt(n), critical))
    # SciPy returns NaN for large shifts, where the probability below is nothing.
    return 1.0 if math.isnan(below) else 1.0 - below


def non_inferiority_queries_needed(
    margin_z: float, power: float = 0.8, *, alpha: float = 0.05
) -> int:
    """The smallest number of queries with which equal pipelines pass a test of no regression.

    Parameters
    ----------
    margin_z : float
        The margin over the standard deviation of the differences, above 0.
    power : float
        The probability with which the test should pass.
    alpha : float
        The level of the one-sided test.

    Returns
    -------
    int
        At least 6.

    Raises
    ------
    DataError
        If more than ten million queries are needed.

    Examples
    --------
    >>> non_inferiority_queries_needed(0.5)
    27
    """
    check_probability("power", power)
    return smallest_number(lambda n: non_inferiority_power(margin_z, n, alpha=alpha), power)


def _guenther_number(effect: float, power: float, alpha: float) -> int:
    """About how many queries the t test needs: one more or less, as a rule.

    Guenther (1981), Sample size formulas for normal theory t tests, The American Statistician
    35:243-244.
    """
    critical, reached = map(float, scipy.special.ndtri([1.0 - alpha / 2, power]))
    number = ((critical + reached) / max(effect, 1e-9)) ** 2 + critical**2 / 2
    return math.ceil(min(number, MOST_QUERIES))


def smallest_number(
    power_of: Callable[[int], float], power: float, *, near: int = FEWEST_UNITS
) -> int:
    """The smallest number of units with this power: double the steps, then halve the interval.

    Parameters
    ----------
    power_of : callable
        The power with a number of queries or clusters, which does not fall.
    power : float
        The power that is needed.
    near : int
        Where the search begins; the closer to the result, the shorter it is.

    Returns
    -------
    int
        At least 6.

    Raises
    ------
    DataError
        If more than ten million are needed.

    Examples
    --------
    >>> smallest_number(lambda n: n / 100, 0.8), smallest_number(lambda n: n / 100, 0.8, near=85)
    (80, 80)
    """
    first = min(max(near, FEWEST_UNITS), MOST_QUERIES)
    if power_of(first) < power:
        too_few, enough = _above(power_of, power, first)
    elif first == FEWEST_UNITS:
        return first
    else:
        too_few, enough = _below(power_of, power, first)
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if power_of(middle) < power:
            too_few = middle
        else:
            enough = middle
    return enough


def _above(power_of: Callable[[int], float], power: float, too_few: int) -> tuple[int, int]:
    """A number that is too small and one that is large enough, above a number too small."""
    step = 1 if too_few > FEWEST_UNITS else FEWEST_UNITS
    while too_few < MOST_QUERIES:
        enough = min(too_few + step, MOST_QUERIES)
        if power_of(enough) >= power:
            return too_few, enough
        too_few, step = enough, 2 * step
    raise DataError(f"more than {MOST_QUERIES:,} queries are needed for so small an effect")


def _below(power_of: Callable[[int], float], power: float, enough: int) -> tuple[int, int]:
    """The same below a number that is large enough; one less than the least is too small."""
    step = 1
    while enough > FEWEST_UNITS:
        too_few = max(enough - step, FEWEST_UNITS)
        if power_of(too_few) < power:
            return too_few, enough
        enough, step = too_few, 2 * step
    return FEWEST_UNITS - 1, FEWEST_UNITS

"""Planning a paired comparison: its power, the queries it needs, the difference it can show.

For most scores the paired t test stands in for the sign-flip test, whose power is nearly the same
(simulated on 30 bounded scores: 24.7 and 24.8 %); for scores of 0 and 1 the power of McNemar's
mid-p test is summed exactly.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import scipy

from rageval_report.errors import DataError
from rageval_report.stats.base import check_probability, check_queries
from rageval_report.stats.pairs.discordant import binomial_cdf, coin_midp
from rageval_report.stats.root_search import bracketed_root
from rageval_report.types import BoolArray, FloatArray

# From here on the t and the normal distribution differ by less than the precision of doubles.
MANY_DEGREES = 1e12

# For smaller effects the number of queries, 8 / d_z**2, exceeds the largest double.
NO_EFFECT = 1e-150

# So many numbers of discordant pairs are looked up together.
_BLOCK = 256


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
    >>> from rageval_report.stats.planning import power
    >>> round(power(0.5, 34), 3)
    0.808
    """
    check_probability("alpha", alpha)
    return _power(_absolute_effect(d_z) * math.sqrt(check_queries(n)), n, alpha)


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
    >>> from rageval_report.stats.planning import required_n
    >>> required_n(0.5)
    34
    """
    effect = _absolute_effect(d_z)
    check_probability("alpha", alpha)
    check_probability("power", power)
    if effect < NO_EFFECT:
        raise DataError(f"d_z must not be 0: no number of queries shows such an effect; got {d_z}")
    # The normal approximation is a little too small; from there double, then halve the interval.
    quantiles = scipy.special.ndtri(1 - alpha / 2) + scipy.special.ndtri(power)
    too_few, enough = 1, max(2, math.ceil((quantiles / effect) ** 2))
    while _power(effect * math.sqrt(enough), enough, alpha) < power:
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if _power(effect * math.sqrt(middle), middle, alpha) < power:
            too_few = middle
        else:
            enough = middle
    return enough


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
    >>> from rageval_report.stats.planning import minimum_detectable_difference
    >>> round(minimum_detectable_difference(0.25, 40), 3)
    0.114
    """
    n = check_queries(n)
    check_probability("alpha", alpha)
    check_probability("power", power)
    if not 0.0 <= sd_difference < math.inf:
        raise DataError(f"sd_difference must be a finite number >= 0; got {sd_difference}")
    if power <= alpha:
        return 0.0
    # In standard errors. The usual power of 0.8 at 0.05 needs 1.96 + 0.84 = 2.8; doubling finds the
    # rest.
    above = 4.0
    while _power(above, n, alpha) < power:
        above *= 2.0
    shift = bracketed_root(
        lambda shift: _power(shift, n, alpha) - power, 0.0, above, tolerance=2e-12, relative=1e-14
    )
    return shift / math.sqrt(n) * float(sd_difference)


def _absolute_effect(d_z: float) -> float:
    if not math.isfinite(d_z):
        raise DataError(f"d_z must be a finite number; got {d_z}")
    return abs(float(d_z))


def _power(shift: float, n: int, alpha: float) -> float:
    """Both tails of the t statistic, moved by `shift`, beyond the critical value."""
    degrees = float(n) - 1.0
    if degrees > MANY_DEGREES:
        critical = float(scipy.special.ndtri(1 - alpha / 2))
        return float(scipy.special.ndtr(shift - critical) + scipy.special.ndtr(-shift - critical))
    critical = float(scipy.special.stdtrit(degrees, 1 - alpha / 2))
    below = float(scipy.special.nctdtr(degrees, shift, critical))
    # SciPy returns NaN for some shifts above 35; there shift / t follows a chi law.
    if math.isnan(below):
        ratio = shift / critical
        return float(scipy.special.chdtr(degrees, degrees * ratio * ratio))
    far_side = float(scipy.special.nctdtr(degrees, shift, -critical))  # NaN only where below 1e-12
    return 1.0 - below + (0.0 if math.isnan(far_side) else far_side)


def mcnemar_power(p10: float, p01: float, n: int, *, alpha: float = 0.05) -> float:
    """Probability that McNemar's two-sided mid-p test finds a difference between two shares.

    Parameters
    ----------
    p10, p01 : float
        The share of queries that only the baseline, only the candidate gets right.
    n : int
        Paired queries, at least 2.
    alpha : float
        The level of significance.

    Returns
    -------
    float
        Summed over all numbers of discordant pairs. It does not always grow with `n`.

    Raises
    ------
    DataError
        If a share is negative, or both together exceed 1.

    Examples
    --------
    >>> from rageval_report.stats.planning import mcnemar_power
    >>> round(mcnemar_power(0.05, 0.15, 150), 3)
    0.795
    """
    n = check_queries(n)
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
    pairs = _likely_counts(n, discordant)
    probabilities = binomial_cdf(pairs, n, discordant) - binomial_cdf(pairs - 1.0, n, discordant)
    most = _largest_rejected(pairs, alpha)
    share = min(1.0, p01 / discordant)
    power_of_each = binomial_cdf(most, pairs, share) + binomial_cdf(most, pairs, 1.0 - share)
    return float((probabilities * power_of_each).sum())


def _likely_counts(n: int, share: float) -> FloatArray:
    """The numbers of successes, without those whose probability is below rounding."""
    # Nine standard deviations leave out 1e-18; 20 more cover small n, where the law is skewed.
    reach = 9.0 * math.sqrt(n * share * (1.0 - share)) + 20.0
    low, high = max(0, math.floor(n * share - reach)), min(n, math.ceil(n * share + reach))
    return np.arange(low, high + 1, dtype=np.float64)


def _largest_rejected(pairs: FloatArray, alpha: float) -> FloatArray:
    """For each number of discordant pairs the largest count of the rarer side that is significant.

    It is -1 if none is. The numbers are consecutive.
    """
    first, last = int(pairs[0]), int(pairs[-1])
    blocks = range(first // _BLOCK, last // _BLOCK + 1)
    most = np.concatenate([_largest_rejected_in_block(block, alpha) for block in blocks])
    start = first - blocks.start * _BLOCK
    return most[start : start + pairs.size]


@functools.lru_cache(maxsize=1024)
def _largest_rejected_in_block(block: int, alpha: float) -> FloatArray:
    """`_largest_rejected` of a block of numbers; a search for a number of queries asks many times.

    Begun at the normal limit, which is off by one at most as a rule, and moved until each count is
    significant and the next one is not.
    """
    pairs = np.arange(block * _BLOCK, (block + 1) * _BLOCK, dtype=np.float64)
    highest = np.floor(pairs / 2)
    z = float(scipy.special.ndtri(1.0 - alpha / 2))
    most = np.clip(np.floor((pairs - z * np.sqrt(pairs)) / 2), -1.0, highest)
    step = np.where(_is_rejected(most, pairs, alpha), 1.0, -1.0)
    while True:
        # Up to the last count that is significant, or down to the first one.
        tried = np.where(step > 0, most + 1.0, most - 1.0)
        known = (tried >= -1.0) & (tried <= highest)
        is_rejected = _is_rejected(np.where(known, tried, -1.0), pairs, alpha)
        moves = known & (step != 0.0) & ((step < 0) | is_rejected)
        if not moves.any():
            break
        most = np.where(moves, tried, most)
        step = np.where(moves & ((step > 0) | ~is_rejected), step, 0.0)
    most.flags.writeable = False
    return most


def _is_rejected(rarer: FloatArray, pairs: FloatArray, alpha: float) -> BoolArray:
    """Whether these counts of the rarer side are significant; -1 stands for none."""
    return np.asarray((rarer < 0) | (2.0 * coin_midp(pairs - rarer, rarer) <= alpha))

"""Intervals of a mean paired difference that are options, and the default for scores of 0 and 1.

Each is a member of ``PAIRED_INTERVALS``: complete pairs in, an `Interval` out. The inversion of the
sign-flip test has a file of its own.
"""

from __future__ import annotations

import math
from dataclasses import replace

from scipy.optimize import bisect
from scipy.special import ndtri

from rageval_report.stats import INTERVALS
from rageval_report.stats.base import Interval, paired_differences
from rageval_report.stats.pairs.discordant import Discordant, discordant_pairs
from rageval_report.stats.pairs.spread import rounding, standard_deviation
from rageval_report.types import FloatArray

NO_SPREAD = "all differences are equal: the data show no spread to make an interval of"


def student_t(
    baseline: FloatArray,
    candidate: FloatArray,
    *,
    confidence_level: float,
    n_resamples: int,
    seed: int,
) -> Interval:
    """The t interval of the mean difference.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides, pair by pair.
    confidence_level : float
        Between 0 and 1.
    n_resamples, seed : int
        Not used: nothing is drawn.

    Returns
    -------
    Interval
        Of zero width, with a note, if all differences are equal.

    Examples
    --------
    >>> import numpy as np
    >>> before, after = np.zeros(3), np.array([0.1, 0.2, 0.3])
    >>> interval = student_t(before, after, confidence_level=0.95, n_resamples=1, seed=0)
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.048, 0.448)
    """
    return _of_differences("t", baseline, candidate, confidence_level, n_resamples, seed)


def bonett_price(
    baseline: FloatArray, candidate: FloatArray, *, confidence_level: float, **_options: object
) -> Interval:
    """The adjusted interval of a difference of paired shares, the default for 0 and 1.

    One pair is added to each discordant cell, so that the interval has a width even where no pair
    is discordant. It covers at least nominally and agrees with the McNemar mid-p test in nearly
    every table.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        Scores of 0 and 1.
    confidence_level : float
        Between 0 and 1.

    Returns
    -------
    Interval
        Around the adjusted difference, cut to -1 and 1; the estimate is the difference itself.

    Raises
    ------
    DataError
        If a score is neither 0 nor 1.

    References
    ----------
    .. [1] Bonett, Price (2012). Adjusted Wald confidence interval for a difference of binomial
           proportions based on paired data. Journal of Educational and Behavioral Statistics 37.

    Examples
    --------
    >>> import numpy as np
    >>> before, after = np.zeros(20), np.repeat([1.0, 0.0], [6, 14])
    >>> interval = bonett_price(before, after, confidence_level=0.95)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.048, 0.497)
    """
    pairs = discordant_pairs(baseline, candidate, "bonett-price")
    centre, standard_error = bonett_price_centre(pairs)
    reach = float(ndtri(0.5 + confidence_level / 2)) * standard_error
    return Interval(
        pairs.difference,
        max(-1.0, centre - reach),
        min(1.0, centre + reach),
        standard_error,
        "bonett-price",
        confidence_level,
    )


def bonett_price_centre(pairs: Discordant) -> tuple[float, float]:
    """The adjusted difference of the shares and its standard error.

    Examples
    --------
    >>> bonett_price_centre(Discordant(n=2, wins=0, losses=0, both=1))[0]
    0.0
    """
    won, lost = (pairs.wins + 1) / (pairs.n + 2), (pairs.losses + 1) / (pairs.n + 2)
    centre = won - lost
    return centre, math.sqrt((won + lost - centre**2) / (pairs.n + 2))


def newcombe(
    baseline: FloatArray,
    candidate: FloatArray,
    *,
    confidence_level: float,
    n_resamples: int,
    seed: int,
) -> Interval:
    """The square-and-add interval of a difference of paired shares, of two Wilson intervals.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        Scores of 0 and 1.
    confidence_level : float
        Between 0 and 1.
    n_resamples, seed : int
        Not used: nothing is drawn.

    Returns
    -------
    Interval

    Raises
    ------
    DataError
        If a score is neither 0 nor 1.

    References
    ----------
    .. [1] Newcombe (1998). Improved confidence intervals for the difference between binomial
           proportions based on paired data. Statistics in Medicine 17:2635-2650, method 10.

    Examples
    --------
    >>> import numpy as np
    >>> before, after = np.repeat([1.0, 0.0], [38, 12]), np.repeat([1.0, 0.0, 1.0], [36, 2, 12])
    >>> interval = newcombe(before, after, confidence_level=0.95, n_resamples=1, seed=0)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0569, 0.3404)
    """
    pairs = discordant_pairs(baseline, candidate, "newcombe")
    before, after = (
        INTERVALS["wilson"](
            side,
            confidence_level=confidence_level,
            bounds=(0.0, 1.0),
            n_resamples=n_resamples,
            seed=seed,
        )
        for side in (baseline, candidate)
    )
    phi = _shrunken_correlation(pairs)
    down, up = after.estimate - after.low, before.high - before.estimate
    low = pairs.difference - math.sqrt(down**2 - 2 * phi * down * up + up**2)
    up, down = after.high - after.estimate, before.estimate - before.low
    high = pairs.difference + math.sqrt(up**2 - 2 * phi * up * down + down**2)
    return _share_interval(pairs, low, high, "newcombe", confidence_level)


def _shrunken_correlation(pairs: Discordant) -> float:
    """The phi of the paired table, with Newcombe's continuity correction where it is positive."""
    neither = pairs.n - pairs.both - pairs.discordant
    after, before = pairs.both + pairs.wins, pairs.both + pairs.losses
    scale = after * (pairs.n - after) * before * (pairs.n - before)
    if scale == 0:
        return 0.0
    association = pairs.both * neither - pairs.wins * pairs.losses
    corrected = max(association - pairs.n / 2, 0.0) if association > 0 else association
    return corrected / math.sqrt(scale)


def tango(
    baseline: FloatArray, candidate: FloatArray, *, confidence_level: float, **_options: object
) -> Interval:
    """The score interval of a difference of paired shares: all differences a score test allows.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        Scores of 0 and 1.
    confidence_level : float
        Between 0 and 1.

    Returns
    -------
    Interval

    Raises
    ------
    DataError
        If a score is neither 0 nor 1.

    References
    ----------
    .. [1] Tango (1998). Equivalence test and confidence interval for the difference in proportions
           for the paired-sample design. Statistics in Medicine 17:891-908.

    Examples
    --------
    >>> import numpy as np
    >>> before = np.repeat([1.0, 0.0], [8, 13])
    >>> after = np.repeat([1.0, 0.0, 1.0, 0.0], [1, 7, 1, 12])
    >>> interval = tango(before, after, confidence_level=0.95)
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.517, -0.026)
    """
    pairs = discordant_pairs(baseline, candidate, "tango")
    z = float(ndtri(0.5 + confidence_level / 2))
    low = _lowest_allowed(pairs.wins, pairs.losses, pairs.n, z)
    # The upper limit is the lower one of the same table with the sides exchanged, turned round.
    high = -_lowest_allowed(pairs.losses, pairs.wins, pairs.n, z)
    return _share_interval(pairs, low, high, "tango", confidence_level)


def _lowest_allowed(wins: int, losses: int, n: int, z: float) -> float:
    """The smallest difference of shares whose score statistic does not exceed z."""
    if losses == n:
        return -1.0

    def excess(difference: float) -> float:
        distance = wins - losses - n * difference
        if distance <= 0.0:
            return -z
        spread = _score_variance(wins, losses, n, difference)
        return distance / math.sqrt(spread) - z if spread > 0.0 else math.inf

    return float(bisect(excess, -1.0, (wins - losses) / n, xtol=1e-15, rtol=1e-15))


def _score_variance(wins: int, losses: int, n: int, difference: float) -> float:
    """The variance of wins minus losses if the difference of the shares were the one given."""
    linear = (2 * n - wins + losses) * difference - wins - losses
    constant = -losses * difference * (1 - difference)
    lost = (math.sqrt(max(0.0, linear**2 - 8 * n * constant)) - linear) / (4 * n)
    return n * (2 * lost + difference * (1 - difference))


def percentile(
    baseline: FloatArray,
    candidate: FloatArray,
    *,
    confidence_level: float,
    n_resamples: int,
    seed: int,
) -> Interval:
    """The percentile bootstrap interval of the mean difference.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides, pair by pair.
    confidence_level : float
        Between 0 and 1.
    n_resamples, seed : int
        Handed to the interval of a mean, which uses them only where it draws.

    Returns
    -------
    Interval
        Of zero width, with a note, if all differences are equal.

    Examples
    --------
    >>> import numpy as np
    >>> before, after = np.zeros(50), np.tile([0.3, -0.1, 0.0, 0.2, 0.1], 10)
    >>> interval = percentile(before, after, confidence_level=0.95, n_resamples=9999, seed=0)
    >>> bool(interval.low < 0.1 < interval.high)
    True
    """
    return _of_differences("percentile", baseline, candidate, confidence_level, n_resamples, seed)


def bca(
    baseline: FloatArray,
    candidate: FloatArray,
    *,
    confidence_level: float,
    n_resamples: int,
    seed: int,
) -> Interval:
    """The bias-corrected and accelerated bootstrap interval of the mean difference.

    Parameters and result are those of `percentile`.

    Examples
    --------
    >>> import numpy as np
    >>> before, after = np.zeros(50), np.tile([0.3, -0.1, 0.0, 0.2, 0.1], 10)
    >>> interval = bca(before, after, confidence_level=0.95, n_resamples=9999, seed=0)
    >>> bool(interval.low < 0.1 < interval.high)
    True
    """
    return _of_differences("bca", baseline, candidate, confidence_level, n_resamples, seed)


def studentised(
    baseline: FloatArray,
    candidate: FloatArray,
    *,
    confidence_level: float,
    n_resamples: int,
    seed: int,
) -> Interval:
    """The studentised bootstrap interval of the mean difference.

    Parameters and result are those of `percentile`.

    Examples
    --------
    >>> import numpy as np
    >>> before, after = np.zeros(50), np.tile([0.3, -0.1, 0.0, 0.2, 0.1], 10)
    >>> interval = studentised(before, after, confidence_level=0.95, n_resamples=999, seed=0)
    >>> bool(interval.low < 0.1 < interval.high)
    True
    """
    return _of_differences("studentised", baseline, candidate, confidence_level, n_resamples, seed)


def _of_differences(
    method: str,
    baseline: FloatArray,
    candidate: FloatArray,
    confidence_level: float,
    n_resamples: int,
    seed: int,
) -> Interval:
    """The interval of a mean of that name, of the differences."""
    differences = paired_differences(baseline, candidate)
    if equal := _no_spread(baseline, candidate, differences, method, confidence_level):
        return equal
    interval = INTERVALS[method](
        differences,
        confidence_level=confidence_level,
        bounds=None,
        n_resamples=n_resamples,
        seed=seed,
    )
    return replace(interval, method=method)


def _no_spread(
    baseline: FloatArray,
    candidate: FloatArray,
    differences: FloatArray,
    method: str,
    confidence_level: float,
) -> Interval | None:
    """The interval where the differences have no spread: one pair, or all differences equal."""
    mean = float(differences.mean())
    deviation = standard_deviation(differences, rounding(baseline, candidate))
    if differences.size == 1:
        nan = math.nan
        return Interval(mean, nan, nan, nan, method, confidence_level, ("one pair: no interval",))
    if deviation == 0.0:
        return Interval(mean, mean, mean, 0.0, method, confidence_level, (NO_SPREAD,))
    return None


def _share_interval(
    pairs: Discordant, low: float, high: float, method: str, confidence_level: float
) -> Interval:
    variance = pairs.discordant / pairs.n - pairs.difference**2
    standard_error = math.sqrt(max(0.0, variance) / pairs.n)
    return Interval(
        pairs.difference,
        max(-1.0, low),
        min(1.0, high),
        standard_error,
        method,
        confidence_level,
    )

"""Intervals of a mean paired difference that are options, and the default for scores of 0 and 1.

Each is a member of ``PAIRED_INTERVALS``: it takes `PairedScores` and a confidence level, and
returns an `Interval`. Those that resample take ``n_resamples`` and ``seed`` as well. The intervals
of shares raise `DataError` if a score is neither 0 nor 1. The inversion of the sign-flip test is in
`rageval_report.stats.sign_flips.inversion`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import scipy

from rageval_report.stats import INTERVALS
from rageval_report.stats._entries import ClosedFormInterval
from rageval_report.stats.base import Interval
from rageval_report.stats.clusters import mean_error
from rageval_report.stats.means.closed_forms import wilson
from rageval_report.stats.pairs.discordant import DiscordantPairs
from rageval_report.stats.pairs.paired_scores import PairedScores

NO_SPREAD = "all differences are equal: without spread the interval has no width"


def student_t(
    pairs: PairedScores, *, confidence_level: float, n_resamples: int, seed: int
) -> Interval:
    """The t interval of the mean difference; of zero width, with a note, if all are equal.

    Of clusters the standard error is that of CR2, with Bell and McCaffrey's degrees of freedom.

    Examples
    --------
    >>> pairs = PairedScores.of([0, 0, 0], [0.1, 0.2, 0.3])
    >>> interval = student_t(pairs, confidence_level=0.95, n_resamples=1, seed=0)
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.048, 0.448)
    """
    if pairs.weights is None or pairs.n == 1 or pairs.standard_deviation == 0.0:
        return _interval_of_differences("t", pairs, confidence_level, n_resamples, seed)
    mean = pairs.mean
    error, degrees = mean_error(pairs)
    reach = float(scipy.special.stdtrit(degrees, 0.5 + confidence_level / 2)) * error
    return Interval(mean, mean - reach, mean + reach, error, "t", confidence_level)


def percentile(
    pairs: PairedScores, *, confidence_level: float, n_resamples: int, seed: int
) -> Interval:
    """The percentile bootstrap interval of the mean difference; nothing is drawn.

    Examples
    --------
    >>> pairs = PairedScores.of([0] * 50, [0.3, -0.1, 0.0, 0.2, 0.1] * 10)
    >>> interval = percentile(pairs, confidence_level=0.95, n_resamples=9999, seed=0)
    >>> bool(interval.low < 0.1 < interval.high)
    True
    """
    return _interval_of_differences("percentile", pairs, confidence_level, n_resamples, seed)


def bca(pairs: PairedScores, *, confidence_level: float, n_resamples: int, seed: int) -> Interval:
    """The bias-corrected, accelerated bootstrap interval of the mean difference; nothing is drawn.

    Examples
    --------
    >>> pairs = PairedScores.of([0] * 50, [0.3, -0.1, 0.0, 0.2, 0.1] * 10)
    >>> interval = bca(pairs, confidence_level=0.95, n_resamples=9999, seed=0)
    >>> bool(interval.low < 0.1 < interval.high)
    True
    """
    return _interval_of_differences("bca", pairs, confidence_level, n_resamples, seed)


def studentised(
    pairs: PairedScores, *, confidence_level: float, n_resamples: int, seed: int
) -> Interval:
    """The studentised bootstrap interval of the mean difference, drawn at random.

    Examples
    --------
    >>> pairs = PairedScores.of([0] * 50, [0.3, -0.1, 0.0, 0.2, 0.1] * 10)
    >>> interval = studentised(pairs, confidence_level=0.95, n_resamples=999, seed=0)
    >>> bool(interval.low < 0.1 < interval.high)
    True
    """
    return _interval_of_differences("studentised", pairs, confidence_level, n_resamples, seed)


def bonett_price(pairs: PairedScores, *, confidence_level: float, **_options: object) -> Interval:
    """The adjusted interval of a difference of paired shares, the default for 0 and 1.

    One pair is added to each discordant cell, so that the interval has a width even if no pair is
    discordant. It covers at least nominally and agrees with the McNemar mid-p test in nearly every
    table. The limits surround the adjusted difference and are cut to -1 and 1; the estimate is the
    difference itself.

    References
    ----------
    .. [1] Bonett, Price (2012). Adjusted Wald confidence interval for a difference of binomial
           proportions based on paired data. Journal of Educational and Behavioral Statistics 37.

    Examples
    --------
    >>> pairs = PairedScores.of([0] * 20, [1] * 6 + [0] * 14)
    >>> interval = bonett_price(pairs, confidence_level=0.95)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.048, 0.497)
    """
    counts = pairs.count_discordant("bonett-price")
    centre, standard_error = bonett_price_centre(counts)
    reach = float(scipy.special.ndtri(0.5 + confidence_level / 2)) * standard_error
    return Interval(
        counts.difference,
        max(-1.0, centre - reach),
        min(1.0, centre + reach),
        standard_error,
        "bonett-price",
        confidence_level,
    )


def bonett_price_centre(counts: DiscordantPairs) -> tuple[float, float]:
    """The adjusted difference of the shares and its standard error.

    Examples
    --------
    >>> bonett_price_centre(DiscordantPairs(n=2, wins=0, losses=0, both=1))[0]
    0.0
    """
    won, lost = (counts.wins + 1) / (counts.n + 2), (counts.losses + 1) / (counts.n + 2)
    centre = won - lost
    return centre, math.sqrt((won + lost - centre**2) / (counts.n + 2))


def newcombe(pairs: PairedScores, *, confidence_level: float, **_options: object) -> Interval:
    """The square-and-add interval of a difference of paired shares, from two Wilson intervals.

    References
    ----------
    .. [1] Newcombe (1998). Improved confidence intervals for the difference between binomial
           proportions based on paired data. Statistics in Medicine 17:2635-2650, method 10.

    Examples
    --------
    >>> pairs = PairedScores.of([1] * 38 + [0] * 12, [1] * 36 + [0] * 2 + [1] * 12)
    >>> interval = newcombe(pairs, confidence_level=0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0569, 0.3404)
    """
    counts = pairs.count_discordant("newcombe")
    before, after = (wilson(side, confidence_level, (0.0, 1.0)) for side in pairs.side_moments)
    phi = _shrunken_correlation(counts)
    down, up = after.estimate - after.low, before.high - before.estimate
    low = counts.difference - math.sqrt(down**2 - 2 * phi * down * up + up**2)
    up, down = after.high - after.estimate, before.estimate - before.low
    high = counts.difference + math.sqrt(up**2 - 2 * phi * up * down + down**2)
    return _interval_of_shares(counts, low, high, "newcombe", confidence_level)


def _shrunken_correlation(counts: DiscordantPairs) -> float:
    """The phi of the paired table, with Newcombe's continuity correction if it is positive."""
    neither = counts.n - counts.both - counts.discordant
    after, before = counts.both + counts.wins, counts.both + counts.losses
    scale = after * (counts.n - after) * before * (counts.n - before)
    if scale == 0:
        return 0.0
    association = counts.both * neither - counts.wins * counts.losses
    corrected = max(association - counts.n / 2, 0.0) if association > 0 else association
    return corrected / math.sqrt(scale)


def tango(pairs: PairedScores, *, confidence_level: float, **_options: object) -> Interval:
    """The score interval of a difference of paired shares: all differences a score test allows.

    References
    ----------
    .. [1] Tango (1998). Equivalence test and confidence interval for the difference in proportions
           for the paired-sample design. Statistics in Medicine 17:891-908.

    Examples
    --------
    >>> pairs = PairedScores.of([1] * 8 + [0] * 13, [1] + [0] * 7 + [1] + [0] * 12)
    >>> interval = tango(pairs, confidence_level=0.95)
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.517, -0.026)
    """
    counts = pairs.count_discordant("tango")
    z = float(scipy.special.ndtri(0.5 + confidence_level / 2))
    low = _lowest_allowed(counts.wins, counts.losses, counts.n, z)
    # The upper limit is minus the lower limit of the table with the sides exchanged.
    high = -_lowest_allowed(counts.losses, counts.wins, counts.n, z)
    return _interval_of_shares(counts, low, high, "tango", confidence_level)


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

    # Bisection, because the statistic is infinite at one end, which faster searches do not bear.
    return float(scipy.optimize.bisect(excess, -1.0, (wins - losses) / n, xtol=1e-15, rtol=1e-15))


def _score_variance(wins: int, losses: int, n: int, difference: float) -> float:
    """The variance of wins minus losses if this were the true difference of the shares.

    The share of losses is its maximum likelihood estimate under that difference: the larger root of
    Tango's quadratic equation.
    """
    linear = (2 * n - wins + losses) * difference - wins - losses
    constant = -losses * difference * (1 - difference)
    lost = (math.sqrt(max(0.0, linear**2 - 8 * n * constant)) - linear) / (4 * n)
    return n * (2 * lost + difference * (1 - difference))


def _interval_of_differences(
    method: str, pairs: PairedScores, confidence_level: float, n_resamples: int, seed: int
) -> Interval:
    """The interval of a mean of that name, applied to the differences."""
    mean = pairs.mean
    if pairs.n == 1:
        nan = math.nan
        return Interval(mean, nan, nan, nan, method, confidence_level, ("one pair: no interval",))
    if pairs.standard_deviation == 0.0:
        return Interval(mean, mean, mean, 0.0, method, confidence_level, (NO_SPREAD,))
    member = INTERVALS[method]
    if isinstance(member, ClosedFormInterval):
        interval = member.of_moments(pairs.moments, confidence_level, None)
        return replace(interval, method=method)
    interval = member(
        pairs.values,
        confidence_level=confidence_level,
        bounds=None,
        n_resamples=n_resamples,
        seed=seed,
    )
    return replace(interval, method=method)


def _interval_of_shares(
    counts: DiscordantPairs, low: float, high: float, method: str, confidence_level: float
) -> Interval:
    variance = counts.discordant / counts.n - counts.difference**2
    standard_error = math.sqrt(max(0.0, variance) / counts.n)
    return Interval(
        counts.difference,
        max(-1.0, low),
        min(1.0, high),
        standard_error,
        method,
        confidence_level,
    )

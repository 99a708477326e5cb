"""Intervals of a mean that need only the moments of the scores: of shares, bounded, Student's t.

Each is the formula of a member of ``INTERVALS``. Those of a share raise `DataError` if a score is
neither 0 nor 1.
"""

from __future__ import annotations

import math
from typing import TypeGuard

import scipy

from rageval_report.errors import DataError
from rageval_report.stats._entries import Bounds
from rageval_report.stats.base import Interval
from rageval_report.stats.means.moments import Moments
from rageval_report.stats.normal import normal_quantile


def wilson(known: Moments, level: float, _bounds: Bounds | None) -> Interval:
    """Wilson's score interval of a share.

    References
    ----------
    .. [1] Wilson (1927). Probable inference, the law of succession, and statistical inference.
           JASA 22.

    Examples
    --------
    >>> interval = wilson(Moments(4, 1.0, 0.0, 1.0, 1.0, is_binary=True), 0.95, None)
    >>> round(interval.low, 3), interval.high
    (0.51, 1.0)
    """
    _count_successes(known, "wilson")
    quantile = normal_quantile(0.5 + level / 2.0)
    low, high = _score_limits(known.mean, known.n, quantile)
    return Interval(known.mean, low, high, known.standard_error, "wilson", level)


def clopper_pearson(known: Moments, level: float, _bounds: Bounds | None) -> Interval:
    """Clopper and Pearson's exact interval of a share: it covers at least nominally, and is wide.

    References
    ----------
    .. [1] Clopper and Pearson (1934). The use of confidence or fiducial limits illustrated in the
           case of the binomial. Biometrika 26.

    Examples
    --------
    >>> interval = clopper_pearson(Moments(4, 1.0, 0.0, 1.0, 1.0, is_binary=True), 0.95, None)
    >>> round(interval.low, 3), interval.high
    (0.398, 1.0)
    """
    ones = _count_successes(known, "clopper-pearson")
    low, high = _beta_limits(level, (ones, known.n - ones + 1), (ones + 1, known.n - ones))
    return Interval(known.mean, low, high, known.standard_error, "clopper-pearson", level)


def jeffreys(known: Moments, level: float, _bounds: Bounds | None) -> Interval:
    """The credible interval of a share under Jeffreys' prior, Beta(1/2, 1/2).

    If all scores are 0, or all are 1, that is the limit, so that the interval contains the
    estimate.

    References
    ----------
    .. [1] Brown, Cai and DasGupta (2001). Interval estimation for a binomial proportion.
           Statistical Science 16.

    Examples
    --------
    >>> interval = jeffreys(Moments(4, 1.0, 0.0, 1.0, 1.0, is_binary=True), 0.95, None)
    >>> round(interval.low, 3), interval.high
    (0.555, 1.0)
    """
    ones = _count_successes(known, "jeffreys")
    shape = (ones + 0.5, known.n - ones + 0.5)
    low, high = _beta_limits(level, shape, shape)
    low, high = 0.0 if ones == 0 else low, 1.0 if ones == known.n else high
    return Interval(known.mean, low, high, known.standard_error, "jeffreys", level)


def bounded(known: Moments, level: float, bounds: Bounds | None) -> Interval:
    """The interval of the mean of scores that have a smallest and a largest possible value.

    It is Wilson's interval for the number of 0/1 scores that would tell as much as these scores do,
    with a t quantile. A small sample can show too little spread: a few scores of 1.0 say nothing of
    the rare 0.2. So one imagined score of the worst spread is added. The interval is inside the
    bounds and never of zero width: equal scores between the bounds leave room for other scores that
    n draws may have missed.

    Notes
    -----
    On the range from 0 to 1, with mean p and variance s² (denominator n - 1)::

        s~² = ((n - 1) s² + p (1 - p)) / n        n_eff = n p (1 - p) / s~²

    Against rare low scores it protects less than Gaffke's limits, which are the default: if 2.5 %
    of the scores are 0 and the others close to 1, 30 of them give a 95 % interval that contains the
    mean in 71 % of cases (docs/coverage.md).

    References
    ----------
    .. [1] Korn and Graubard (1998). Confidence intervals for proportions with small expected number
           of positive counts estimated from survey data. Survey Methodology 24.
    .. [2] Bhatia and Davis (2000). A better bound on the variance. American Mathematical Monthly
           107.

    Examples
    --------
    >>> interval = bounded(Moments(4, 3.0, 0.8, 2.0, 4.0, is_binary=False), 0.95, (1, 5))
    >>> round(interval.low, 2), round(interval.high, 2)
    (1.61, 4.39)
    """
    low, high = bounds = require_finite_bounds(bounds, "bounded")
    if known.n == 1:
        return interval_of_one_score(known, "bounded", level, bounds)
    lower, upper = _bounded_limits(known, level, bounds)
    return Interval(
        estimate=known.mean,
        low=min(low + (high - low) * lower, known.mean),
        high=max(low + (high - low) * upper, known.mean),
        standard_error=known.standard_error,
        method="bounded",
        confidence_level=level,
        notes=(f"all {known.n} scores are equal",) if known.is_constant else (),
    )


def student_t(known: Moments, level: float, _bounds: Bounds | None) -> Interval:
    """The t interval; of zero width, with a note, if all scores are equal.

    Examples
    --------
    >>> interval = student_t(Moments(4, 3.0, 0.8, 2.0, 4.0, is_binary=False), 0.95, None)
    >>> round(interval.low, 2), round(interval.high, 2)
    (1.73, 4.27)
    """
    if degenerate := interval_without_spread(known, "t", level):
        return degenerate
    reach = _t_quantile(level, known.n - 1) * known.standard_error
    low, high = known.mean - reach, known.mean + reach
    return Interval(known.mean, low, high, known.standard_error, "t", level)


def interval_without_spread(known: Moments, method: str, level: float) -> Interval | None:
    """The interval of one score, or of equal ones, for methods that need a spread; else None.

    Examples
    --------
    >>> interval_without_spread(Moments(2, 0.4, 0.0, 0.4, 0.4, is_binary=False), "t", 0.95).notes
    ('all 2 scores are equal: without spread the interval has no width',)
    """
    if known.n == 1:
        return interval_of_one_score(known, method, level, None)
    if not known.is_constant:
        return None
    note = f"all {known.n} scores are equal: without spread the interval has no width"
    return Interval(known.mean, known.mean, known.mean, 0.0, method, level, (note,))


def interval_of_one_score(
    known: Moments, method: str, level: float, bounds: Bounds | None
) -> Interval:
    """The interval of one score: the bounds, if there are any.

    Examples
    --------
    >>> known = Moments(1, 0.4, math.nan, 0.4, 0.4, is_binary=False)
    >>> interval_of_one_score(known, "t", 0.95, None).notes
    ('one score: no interval',)
    """
    if not are_finite(bounds):
        note = ("one score: no interval",)
        return Interval(known.mean, math.nan, math.nan, math.nan, method, level, note)
    note = ("one score: the limits are the bounds",)
    return Interval(known.mean, bounds[0], bounds[1], math.nan, method, level, note)


def are_finite(bounds: Bounds | None) -> TypeGuard[Bounds]:
    """Whether there are bounds, and both ends are finite.

    Examples
    --------
    >>> are_finite((0, math.inf))
    False
    """
    return bounds is not None and math.isfinite(bounds[0]) and math.isfinite(bounds[1])


def require_finite_bounds(bounds: Bounds | None, method: str) -> Bounds:
    """The bounds, for a method that needs a smallest and a largest possible score.

    Examples
    --------
    >>> require_finite_bounds((0, 1), "gaffke")
    (0, 1)
    """
    if are_finite(bounds):
        return bounds
    raise DataError(
        f"the interval {method!r} needs the smallest and largest possible score; got "
        f"{_describe_bounds(bounds)}: give bounds, e.g. (0, 1), or use 't'"
    )


def _describe_bounds(bounds: Bounds | None) -> str:
    return "none" if bounds is None else f"{bounds[0]:g} and {bounds[1]:g}"


def _count_successes(known: Moments, method: str) -> int:
    """The number of scores that are 1, after a check that all are 0 or 1."""
    if not known.is_binary:
        raise DataError(
            f"the interval {method!r} is for scores of 0 and 1; found scores from "
            f"{known.minimum:g} to {known.maximum:g}: use 'gaffke' with bounds, or 't'"
        )
    return round(known.mean * known.n)


def _t_quantile(level: float, df: int) -> float:
    return float(scipy.special.stdtrit(df, 0.5 + level / 2.0))


def _beta_limits(
    level: float, lower: tuple[float, float], upper: tuple[float, float]
) -> tuple[float, float]:
    """Equal tails of two beta distributions; a parameter of 0 puts all mass at that end."""
    tail = (1.0 - level) / 2.0
    low = float(scipy.special.betaincinv(*lower, tail)) if lower[0] > 0 else 0.0
    high = float(scipy.special.betainccinv(*upper, tail)) if upper[1] > 0 else 1.0
    return low, high


def _score_limits(share: float, n: float, quantile: float) -> tuple[float, float]:
    """Wilson's limits of a share of n."""
    room = quantile * quantile / n
    centre = (share + room / 2.0) / (1.0 + room)
    reach = math.sqrt(room * (share * (1.0 - share) + room / 4.0)) / (1.0 + room)
    # At a share of 0 or 1 centre and reach cancel; rounding would leave a limit just off the bound.
    low = 0.0 if share == 0.0 else max(0.0, centre - reach)
    high = 1.0 if share == 1.0 else min(1.0, centre + reach)
    return low, high


def _bounded_limits(known: Moments, level: float, bounds: Bounds) -> tuple[float, float]:
    """The limits on the range from 0 to 1."""
    low, high = bounds
    share = (known.mean - low) / (high - low)
    if known.is_constant and 0.0 < share < 1.0:
        return _limits_of_equal_scores(share, known.n, level)
    n_effective = _effective_n(known, share, bounds)
    return _score_limits(share, n_effective, _t_quantile(level, known.n - 1))


def _limits_of_equal_scores(share: float, n: int, level: float) -> tuple[float, float]:
    """Limits for n equal scores, if other values are as frequent as n draws may miss.

    The value seen has a probability of at least ``least`` (Clopper and Pearson's limit of n out of
    n); the rest of the probability may lie at either bound.
    """
    least = ((1.0 - level) / 2.0) ** (1.0 / n)
    return least * share, least * share + 1.0 - least


def _effective_n(known: Moments, share: float, bounds: Bounds) -> float:
    """How many 0/1 scores of the same mean would have the same standard error."""
    # No variance on the range from 0 to 1 exceeds p (1 - p) (Bhatia and Davis), so that n_eff is
    # less than n only if the scores are nearly all at the bounds.
    worst = share * (1.0 - share)
    # All scores lie at one bound: that is 0 or n successes out of n.
    if worst == 0.0:
        return float(known.n)
    squares = (known.n - 1) * (known.std / (bounds[1] - bounds[0])) ** 2 + worst
    return known.n * known.n * worst / squares

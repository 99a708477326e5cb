"""How large a paired difference is, in units that do not depend on the metric's scale.

Each member of ``EFFECTS`` takes `PairedScores` and returns a float. It is positive if the
candidate's scores are the larger ones, and 0 if no query differs.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.stats import EFFECTS
from rageval_report.stats.base import Interval, check_level, paired_values
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.pairs.spread import standard_deviation
from rageval_report.stats.states.counted_steps import CountedSteps


def effect_size(baseline: npt.ArrayLike, candidate: npt.ArrayLike, kind: str = "d_z") -> float:
    """Effect size of a paired comparison.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score per query, both sides in the same order. Queries with NaN on a side are left out.
    kind : str
        A member of ``EFFECTS``: "d_z", "hedges_g_z", "d_av", "cliffs_delta", "rank_biserial",
        "paired_dominance", and for scores of 0 and 1 "risk_difference" and "odds_ratio".

    Returns
    -------
    float

    Raises
    ------
    UnknownNameError
        If there is no such kind.
    DataError
        If no query has a score on both sides, or the scores do not suit the kind.

    Examples
    --------
    >>> from rageval_report.stats import effect_size
    >>> round(effect_size([0.1, 0.2, 0.3], [0.2, 0.4, 0.6]), 6)
    2.0
    >>> effect_size([0, 0, 1, 1], [1, 1, 0, 1], "odds_ratio")
    2.0
    """
    member = EFFECTS[kind]
    return member(PairedScores.of(baseline, candidate))


def d_z(pairs: PairedScores) -> float:
    """Cohen's d of the differences: their mean over their standard deviation.

    Infinite if every query is shifted by the same amount, 0 if none is, NaN for one shifted query.

    Examples
    --------
    >>> d_z(PairedScores.of([0, 0, 0], [1, 2, 3])), d_z(PairedScores.of([0, 0], [-0.1, -0.1]))
    (2.0, -inf)
    """
    if pairs.weights is None:
        return _mean_in_units(pairs, pairs.standard_deviation)
    return _mean_in_units(pairs, standard_deviation(pairs.differences, pairs.tolerance))


def hedges_g_z(pairs: PairedScores) -> float:
    """Cohen's d_z without its small-sample bias: times Hedges' exact factor for n - 1.

    For two queries the factor is not defined, so that the size is NaN.

    References
    ----------
    .. [1] Hedges (1981). Distribution theory for Glass's estimator of effect size and related
           estimators. Journal of Educational Statistics 6:107-128.

    Examples
    --------
    >>> round(hedges_g_z(PairedScores.of([0] * 5, [0.1, 0.2, 0.3, 0.2, 0.2])), 4)
    2.2568
    """
    size = d_z(pairs)
    if size == 0.0 or not math.isfinite(size):
        return size
    return _hedges_factor(pairs.n - 1) * size


def _hedges_factor(degrees: int) -> float:
    """Hedges' J: the gamma ratio that removes the bias; not defined on one degree of freedom."""
    if degrees < 2:
        return math.nan
    # By logarithms, because gamma functions overflow from 171 degrees on.
    log_ratio = scipy.special.gammaln(degrees / 2) - scipy.special.gammaln((degrees - 1) / 2)
    return float(np.exp(log_ratio - 0.5 * np.log(degrees / 2)))


def d_av(pairs: PairedScores) -> float:
    """Cohen's d in units of the scores: mean difference over the average standard deviation.

    The variances of the two sides are averaged. Unlike d_z it does not grow when the sides are
    correlated, so that it compares with studies of independent groups. Infinite if both sides are
    constant and differ, NaN for one shifted query.

    References
    ----------
    .. [1] Cumming (2012). Understanding the New Statistics, chapter 11.

    Examples
    --------
    >>> round(d_av(PairedScores.of([0.1, 0.2, 0.3], [0.2, 0.3, 0.4])), 12)
    1.0
    """
    average = math.hypot(*(side.std for side in pairs.side_moments)) / math.sqrt(2)
    return _mean_in_units(pairs, average)


def _mean_in_units(pairs: PairedScores, unit: float) -> float:
    """The mean of the differences in these units; a unit of 0 makes any shift infinite."""
    if not pairs.n_changed:
        return 0.0
    mean = pairs.mean
    if unit == 0.0:
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / unit


def cliffs_delta(pairs: PairedScores) -> float:
    """Cliff's delta: how much more often a candidate's score is larger than smaller.

    Over all pairs of a candidate's and a baseline's score, of the same query or not: the pairing is
    ignored. Between -1 and 1.

    References
    ----------
    .. [1] Cliff (1993). Dominance statistics: ordinal analyses to answer ordinal questions.
           Psychological Bulletin 114:494-509.

    Examples
    --------
    >>> round(cliffs_delta(PairedScores.of([1, 2, 3], [2, 3, 4])), 4)
    0.5556
    """
    steps_before, steps_after = pairs.side_steps
    if steps_before is not None and steps_after is not None:
        return _delta_of_counts(steps_before, steps_after, pairs.tolerance)
    # Two sorts and a binary search cost n log n; comparing all pairs would cost n squared. The
    # candidate is sorted as well, because a search in ascending order stays in the cache.
    before, after = np.sort(pairs.baseline), np.sort(pairs.candidate)
    smaller = int(np.searchsorted(before, after - pairs.tolerance, side="left").sum(dtype=np.int64))
    not_larger = int(
        np.searchsorted(before, after + pairs.tolerance, side="right").sum(dtype=np.int64)
    )
    every = before.size * after.size
    return (smaller - (every - not_larger)) / every


def _delta_of_counts(before: CountedSteps, after: CountedSteps, tolerance: float) -> float:
    """Cliff's delta of scores of which it is known how often each occurs."""
    below = np.concatenate(([0], np.cumsum(before.multiplicities)))
    smaller = below[np.searchsorted(before.distinct, after.distinct - tolerance, side="left")]
    not_larger = below[np.searchsorted(before.distinct, after.distinct + tolerance, side="right")]
    # More than the largest 64-bit integer, if there are more than three thousand million pairs.
    balance = (smaller + not_larger - before.n).astype(object) @ after.multiplicities.astype(object)
    return int(balance) / (before.n * after.n)


def rank_biserial(pairs: PairedScores) -> float:
    """Matched-pairs rank-biserial correlation: the balance of the signed ranks.

    The rank sum of the gains minus that of the losses, over both; between -1 and 1. Queries without
    a difference are left out.

    References
    ----------
    .. [1] Kerby (2014). The simple difference formula: an approach to teaching nonparametric
           correlation. Comprehensive Psychology 3:1.

    Examples
    --------
    >>> rank_biserial(PairedScores.of([0] * 4, [0.3, 0.2, -0.1, 0.4]))
    0.8
    """
    if not pairs.n_changed:
        return 0.0
    moved = pairs.tied_differences()
    moved = moved[moved != 0.0]
    tied = np.abs(moved)
    _, group, counts = np.unique(tied, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[group]
    return float((ranks * np.sign(moved)).sum() / ranks.sum())


def paired_dominance(pairs: PairedScores) -> float:
    """Paired dominance: the share of queries won minus the share lost; between -1 and 1.

    Examples
    --------
    >>> paired_dominance(PairedScores.of([0] * 4, [0.3, 0.2, -0.1, 0.0]))
    0.25
    """
    return (pairs.n_positive - pairs.n_negative) / pairs.n


def risk_difference(pairs: PairedScores) -> float:
    """Risk difference: the candidate's share of right answers minus the baseline's.

    Between -1 and 1. Scores other than 0 and 1 raise `DataError`.

    Examples
    --------
    >>> risk_difference(PairedScores.of([0, 0, 1, 1], [1, 1, 0, 1]))
    0.25
    """
    return pairs.count_discordant("risk_difference").difference


def odds_ratio(pairs: PairedScores) -> float:
    """Conditional odds ratio of paired 0 and 1: queries won over queries lost.

    0 if none is won, infinite if none is lost, NaN if neither. Scores other than 0 and 1 raise
    `DataError`.

    Examples
    --------
    >>> odds_ratio(PairedScores.of([0, 0, 1, 1], [1, 1, 0, 1]))
    2.0
    """
    counts = pairs.count_discordant("odds_ratio")
    return _odds(counts.wins, counts.losses)


def _odds(wins: int, losses: int) -> float:
    if losses:
        return wins / losses
    return math.inf if wins else math.nan


def odds_ratio_interval(
    baseline: npt.ArrayLike, candidate: npt.ArrayLike, *, confidence_level: float = 0.95
) -> Interval:
    """Exact interval of the conditional odds ratio of paired 0 and 1.

    Clopper and Pearson's interval of the share of wins among the discordant pairs, as odds.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        Scores of 0 and 1, both sides in the same order. Queries with NaN on a side are left out.
    confidence_level : float
        Between 0 and 1.

    Returns
    -------
    Interval
        From 0 to infinity, around NaN, if no pair is discordant.

    Raises
    ------
    DataError
        If a score is neither 0 nor 1.

    Examples
    --------
    >>> from rageval_report.stats.pairs.effects import odds_ratio_interval
    >>> interval = odds_ratio_interval([0] * 25 + [1] * 2, [1] * 25 + [0] * 2)
    >>> interval.estimate, round(interval.low, 4), round(interval.high, 4)
    (12.5, 3.1169, 108.8892)
    """
    tail = (1 - check_level(confidence_level)) / 2
    pairs = PairedScores(*paired_values(baseline, candidate))
    counts = pairs.count_discordant("odds_ratio_interval")
    wins, losses = counts.wins, counts.losses
    return Interval(
        _odds(wins, losses),
        _lower_limit(wins, losses + 1, tail) if wins else 0.0,
        # The odds of a loss are the reciprocal: their lower limit gives the upper one of a win.
        1 / _lower_limit(losses, wins + 1, tail) if losses else math.inf,
        math.nan,
        "clopper-pearson",
        confidence_level,
    )


def _lower_limit(won: int, lost: int, tail: float) -> float:
    """The lower limit of the share of wins, as odds."""
    share = float(scipy.special.betaincinv(won, lost, tail))
    return share / (1 - share)

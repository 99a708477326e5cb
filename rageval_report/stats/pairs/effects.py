"""How large a paired difference is, in units that do not depend on the metric's scale.

Each size is positive where the candidate's scores are the larger ones, 0 where no query differs.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, gammaln

from rageval_report.errors import DataError
from rageval_report.stats import EFFECTS
from rageval_report.stats.base import Interval, check_level, paired_differences, paired_values
from rageval_report.stats.pairs.discordant import discordant_pairs
from rageval_report.stats.pairs.spread import rounding, standard_deviation, tie_magnitudes
from rageval_report.types import FloatArray


def effect_size(baseline: npt.ArrayLike, candidate: npt.ArrayLike, kind: str = "d_z") -> float:
    """Effect size of a paired comparison.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score a query, both sides in the same order. Queries with NaN on a side are left out.
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
    before, after = paired_values(baseline, candidate)
    if not before.size:
        raise DataError("no query has a score on both sides: there is no effect to size")
    return member(before, after)


def d_z(baseline: FloatArray, candidate: FloatArray) -> float:
    """Cohen's d of the differences: their mean over their standard deviation.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides, pair by pair.

    Returns
    -------
    float
        Infinite if every query is shifted by the same amount, 0 if none is, NaN for one shifted
        query.

    Examples
    --------
    >>> d_z(np.zeros(3), np.array([1.0, 2.0, 3.0]))
    2.0
    >>> d_z(np.zeros(3), np.full(3, -0.1))
    -inf
    """
    differences = paired_differences(baseline, candidate)
    deviation = standard_deviation(differences, rounding(baseline, candidate))
    return _in_units(differences, deviation)


def hedges_g_z(baseline: FloatArray, candidate: FloatArray) -> float:
    """Cohen's d_z without its small-sample bias: times Hedges' exact factor for n - 1.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides, pair by pair.

    Returns
    -------
    float
        As `d_z`; for two queries the factor is 0, so that the size is NaN.

    References
    ----------
    .. [1] Hedges (1981). Distribution theory for Glass's estimator of effect size and related
           estimators. Journal of Educational Statistics 6:107-128.

    Examples
    --------
    >>> round(hedges_g_z(np.zeros(5), np.array([0.1, 0.2, 0.3, 0.2, 0.2])), 4)
    2.2568
    """
    size = d_z(baseline, candidate)
    if size == 0.0 or not math.isfinite(size):
        return size
    return _hedges_factor(baseline.size - 1) * size


def _hedges_factor(degrees: int) -> float:
    """Hedges' J: the gamma ratio that removes the bias; undefined on one degree of freedom."""
    if degrees < 2:
        return math.nan
    log_ratio = gammaln(degrees / 2) - gammaln((degrees - 1) / 2)
    return float(np.exp(log_ratio - 0.5 * np.log(degrees / 2)))


def d_av(baseline: FloatArray, candidate: FloatArray) -> float:
    """Cohen's d in units of the scores: mean difference over the average standard deviation.

    The variances of the two sides are averaged. Unlike d_z it does not grow when the sides are
    correlated, so that it compares with studies of independent groups.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides, pair by pair.

    Returns
    -------
    float
        Infinite if both sides are constant and differ, NaN for one shifted query.

    References
    ----------
    .. [1] Cumming (2012). Understanding the New Statistics, chapter 11.

    Examples
    --------
    >>> round(d_av(np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.3, 0.4])), 12)
    1.0
    """
    tolerance = rounding(baseline, candidate)
    deviations = [standard_deviation(side, tolerance) for side in (baseline, candidate)]
    average = math.sqrt(sum(deviation**2 for deviation in deviations) / 2)
    return _in_units(paired_differences(baseline, candidate), average)


def _in_units(differences: FloatArray, unit: float) -> float:
    """The mean of the differences in these units; no unit at all makes any shift infinite."""
    if not differences.any():
        return 0.0
    mean = float(differences.mean())
    if unit == 0.0:
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / unit


def cliffs_delta(baseline: FloatArray, candidate: FloatArray) -> float:
    """Cliff's delta: how much more often a candidate's score is larger than smaller.

    Over all pairs of a candidate's and a baseline's score, whichever query they are of; the pairing
    is ignored.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides.

    Returns
    -------
    float
        Between -1 and 1.

    References
    ----------
    .. [1] Cliff (1993). Dominance statistics: ordinal analyses to answer ordinal questions.
           Psychological Bulletin 114:494-509.

    Examples
    --------
    >>> round(cliffs_delta(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])), 4)
    0.5556
    """
    before, after = np.sort(baseline), np.sort(candidate)  # both, so that the search walks upwards
    tolerance = rounding(baseline, candidate)
    smaller = int(np.searchsorted(before, after - tolerance, side="left").sum(dtype=np.int64))
    not_larger = int(np.searchsorted(before, after + tolerance, side="right").sum(dtype=np.int64))
    every = before.size * after.size
    return (smaller - (every - not_larger)) / every


def rank_biserial(baseline: FloatArray, candidate: FloatArray) -> float:
    """Matched-pairs rank-biserial correlation: the balance of the signed ranks.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides, pair by pair.

    Returns
    -------
    float
        The rank sum of the gains minus that of the losses, over both; between -1 and 1. Queries
        without a difference are left out.

    References
    ----------
    .. [1] Kerby (2014). The simple difference formula: an approach to teaching nonparametric
           correlation. Comprehensive Psychology 3:1.

    Examples
    --------
    >>> rank_biserial(np.zeros(4), np.array([0.3, 0.2, -0.1, 0.4]))
    0.8
    """
    differences = paired_differences(baseline, candidate)
    moved = differences[differences != 0.0]
    if not moved.size:
        return 0.0
    tied = np.abs(tie_magnitudes(moved, rounding(baseline, candidate)))
    _, group, counts = np.unique(tied, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[group]
    return float((ranks * np.sign(moved)).sum() / ranks.sum())


def paired_dominance(baseline: FloatArray, candidate: FloatArray) -> float:
    """Paired dominance: the share of queries won minus the share lost.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides, pair by pair.

    Returns
    -------
    float
        Between -1 and 1.

    Examples
    --------
    >>> paired_dominance(np.zeros(4), np.array([0.3, 0.2, -0.1, 0.0]))
    0.25
    """
    return float(np.sign(paired_differences(baseline, candidate)).mean())


def risk_difference(baseline: FloatArray, candidate: FloatArray) -> float:
    """Risk difference: the candidate's share of right answers minus the baseline's.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        Scores of 0 and 1.

    Returns
    -------
    float
        Between -1 and 1.

    Raises
    ------
    DataError
        If a score is neither 0 nor 1.

    Examples
    --------
    >>> risk_difference(np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0, 1.0]))
    0.25
    """
    return discordant_pairs(baseline, candidate, "risk_difference").difference


def odds_ratio(baseline: FloatArray, candidate: FloatArray) -> float:
    """Conditional odds ratio of paired 0 and 1: queries won over queries lost.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        Scores of 0 and 1.

    Returns
    -------
    float
        0 if none is won, infinite if none is lost, NaN if neither.

    Raises
    ------
    DataError
        If a score is neither 0 nor 1.

    Examples
    --------
    >>> odds_ratio(np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0, 1.0]))
    2.0
    """
    pairs = discordant_pairs(baseline, candidate, "odds_ratio")
    return _odds(pairs.wins, pairs.losses)


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
    pairs = discordant_pairs(*paired_values(baseline, candidate), "odds_ratio_interval")
    won, lost = pairs.wins, pairs.losses
    return Interval(
        _odds(won, lost),
        _limit(won, lost + 1, tail) if won else 0.0,
        1 / _limit(lost, won + 1, tail) if lost else math.inf,
        math.nan,
        "clopper-pearson",
        confidence_level,
    )


def _limit(won: int, lost: int, tail: float) -> float:
    """The lower limit of the share of wins, as odds."""
    share = float(betaincinv(won, lost, tail))
    return share / (1 - share)

"""Gaffke's interval: the mean of scores that have a smallest and a largest possible value.

The lower limit supposes the worst for what was not drawn. Add the smallest possible score to the
scores, and give all of them random weights that are uniform on the simplex; the limit is a low
quantile of the weighted mean (`rageval_report.stats.means.dirichlet_sums`). The upper limit is the
mirror image. For scores of 0 and 1 these are Clopper and Pearson's limits.

Many columns are computed together, because for a few hundred scores the time goes into the calls
and not into the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rageval_report.stats._entries import Bounds
from rageval_report.stats.base import Interval
from rageval_report.stats.means.closed_forms import require_finite_bounds
from rageval_report.stats.means.dirichlet_sums import dirichlet_quantile, dirichlet_share
from rageval_report.stats.means.moments import Moments, moments
from rageval_report.stats.means.score_bins import CountedScores, bin_scores
from rageval_report.stats.states.counted_steps import CountedSteps
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import FloatArray

# Above this many scores, bins save more time than they take.
MOST_SINGLE_SCORES = 400


def gaffke(
    columns: Sequence[FloatArray | CountedScores],
    known: Sequence[Moments],
    bounds: Sequence[Bounds | None],
    confidence_level: float,
) -> list[Interval]:
    """Gaffke's interval of the mean of each column.

    The limits follow from the bounds alone; nothing is assumed about the distribution of the
    scores. They never fall if a score rises, they contain the mean, and they have limits for a
    single score.

    Parameters
    ----------
    columns : sequence of ndarray or CountedScores
        Scores without NaN, at least one per column, within the bounds.
    known : sequence of Moments
        Their moments.
    bounds : sequence of tuple of float
        The smallest and the largest possible score of each column.
    confidence_level : float
        The nominal coverage, between 0 and 1.

    Returns
    -------
    list of Interval
        In the order of the columns.

    Raises
    ------
    DataError
        If bounds are missing or infinite.

    Notes
    -----
    That the coverage never is below the nominal one is proven for 0/1 scores and conjectured for
    all others: no distribution is known that contradicts it [2]_. Above 400 different scores they
    are put into bins; the limits then have an error of about 1e-8 of the range of the scores.

    References
    ----------
    .. [1] Gaffke (2005). Three test statistics for a nonparametric one-sided hypothesis on the mean
           of a nonnegative variable. Mathematical Methods of Statistics 14.
    .. [2] Learned-Miller and Thomas (2019). A new confidence interval for the mean of a bounded
           random variable. arXiv:1905.06208.
    .. [3] Phan, Thomas and Learned-Miller (2021). Towards practical mean bounds for small samples.
           arXiv:2106.03163.

    Examples
    --------
    >>> one_score = Moments(1, 0.5, float("nan"), 0.5, 0.5, is_binary=False)
    >>> interval, = gaffke([np.array([0.5])], [one_score], [(0, 1)], 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0125, 0.9875)
    """
    ends = [require_finite_bounds(each, "gaffke") for each in bounds]
    weighted = [
        _weigh(column, each.mean, end)
        for column, each, end in zip(columns, known, ends, strict=True)
    ]
    pairs = list(zip(weighted, ends, strict=True))
    below = [CountedScores(each.scores - low, each.counts) for each, (low, _) in pairs]
    above = [CountedScores(high - each.scores, each.counts) for each, (_, high) in pairs]
    limits = _lower_limits([*below, *above], (1.0 - confidence_level) / 2.0)
    from_low, from_high = limits[: len(pairs)], limits[len(pairs) :]
    return [
        Interval(
            estimate=each.mean,
            # Rounding must not put a limit beyond the mean or a bound.
            low=max(low, min(low + float(to_low), each.mean)),
            high=min(high, max(high - float(to_high), each.mean)),
            standard_error=each.standard_error,
            method="gaffke",
            confidence_level=confidence_level,
        )
        for each, (low, high), to_low, to_high in zip(known, ends, from_low, from_high, strict=True)
    ]


def gaffke_pvalue(scores: FloatArray | CountedScores, threshold: float, bounds: Bounds) -> float:
    """The p-value of a mean above a threshold: one half of 1 - level where the limit reaches it.

    Parameters
    ----------
    scores : ndarray or CountedScores
        Scores without NaN, at least one, within the bounds.
    threshold : float
        The mean under the null hypothesis.
    bounds : tuple of float
        The smallest and the largest possible score.

    Examples
    --------
    >>> pvalue = gaffke_pvalue(np.array([0.5]), 0.0125, (0, 1))  # the lower 95 % limit of 0.5
    >>> round(pvalue, 12)
    0.025
    """
    low, high = bounds
    if threshold >= (scores.scores if isinstance(scores, CountedScores) else scores).max():
        return 1.0
    if threshold <= low:
        return 0.0
    weighted = _weigh(scores, _mean_of(scores), (low, high))
    values = np.append(0.0, weighted.scores - low)
    counts = np.append(1.0, weighted.counts)
    return dirichlet_share(values, counts, threshold - low)


def _mean_of(scores: FloatArray | CountedScores) -> float:
    if isinstance(scores, CountedScores):
        return sum_of_products(scores.scores, scores.counts) / float(scores.counts.sum())
    return moments(scores).mean


def _weigh(scores: FloatArray | CountedScores, mean: float, bounds: Bounds) -> CountedScores:
    """The different scores and their counts, or bins if there are many different scores."""
    if isinstance(scores, CountedScores):
        if scores.scores.size <= MOST_SINGLE_SCORES:
            return scores
        return bin_scores(scores.scores, mean, bounds, scores.counts)
    if scores.size > MOST_SINGLE_SCORES:
        steps = CountedSteps.of(scores)
        if steps is None:
            return bin_scores(scores, mean, bounds)
        # What is computed from counts does not depend on the order of the scores.
        counted = CountedScores(steps.distinct, steps.multiplicities.astype(np.float64))
        return _weigh(counted, mean, bounds)
    different, counts = np.unique(scores, return_counts=True)
    return CountedScores(different, counts.astype(np.float64))


def _lower_limits(weighted: Sequence[CountedScores], tail: float) -> FloatArray:
    """The lower limit of the mean of each row of scores whose smallest possible value is 0."""
    values, counts = np.zeros((2, len(weighted), 1 + max(each.scores.size for each in weighted)))
    counts[:, 0] = 1.0  # the score of 0 that is added
    for row, each in enumerate(weighted):
        values[row, 1 : 1 + each.scores.size] = each.scores
        counts[row, 1 : 1 + each.scores.size] = each.counts
    limits = np.zeros(len(weighted))
    is_above = values.max(axis=1) > 0.0
    if is_above.any():
        limits[is_above] = dirichlet_quantile(values[is_above], counts[is_above], tail)
    return limits

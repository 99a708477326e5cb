"""Limits of a mean difference that also count losses too rare to be among the sampled queries.

Without clusters these are Gaffke's limits of the differences (`rageval_report.stats.means.gaffke`),
which lie between minus and plus the width of the scores' range. The lower limit adds one query with
the largest possible loss.

Of clusters the mean difference is a ratio: the sum of the differences by the number of queries. At
a shift m each cluster has a residual, its sum minus m times its size, whose mean is 0 if m is the
true mean difference. The residuals are independent, and none is below that of a cluster that is as
large as the largest one and loses everything on every query. So Gaffke's test of their mean applies
at each m, and the limits are its inversion. If all clusters are of one size these are Gaffke's
limits of the clusters' means.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy

from rageval_report.stats.means.gaffke import gaffke, gaffke_pvalue
from rageval_report.stats.means.score_bins import CountedScores
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.types import FloatArray

# The error of a limit, as a share of the range; the bins of many scores have one of 1e-8.
_PRECISION = 1e-10


def strict_pvalue(pairs: PairedScores, threshold: float, width: float) -> float:
    """The p-value of a mean difference above a threshold.

    Parameters
    ----------
    pairs : PairedScores
        Independent pairs.
    threshold : float
        The mean difference under the null hypothesis.
    width : float
        The largest possible difference of a query.

    Examples
    --------
    >>> without_losses = PairedScores.of([0.5] * 59, [0.5] * 59)
    >>> round(strict_pvalue(without_losses, -0.05, 1.0), 4)  # 0.95 to the power of 59
    0.0485
    """
    if pairs.weights is None:
        return gaffke_pvalue(_within(pairs.counted, width), threshold, (-width, width))
    differences = _clusters_within(pairs, pairs.weights, width)
    return _pvalue_of_shift(differences, pairs.weights, threshold, width)


def strict_interval(pairs: PairedScores, width: float, alpha: float) -> tuple[float, float]:
    """The limits of the mean difference, each of which is wrong with probability alpha.

    Parameters
    ----------
    pairs : PairedScores
        Independent pairs.
    width : float
        The largest possible difference of a query.
    alpha : float
        The error rate of each limit.

    Examples
    --------
    >>> low, high = strict_interval(PairedScores.of([0.5] * 59, [0.5] * 59), 1.0, 0.05)
    >>> round(low, 4), round(high, 4)
    (-0.0495, 0.0495)
    """
    weights = pairs.weights
    if weights is None:
        columns, limits = [_within(pairs.counted, width)], [(-width, width)]
        interval = gaffke(columns, [pairs.moments], limits, 1 - 2 * alpha)[0]
        return interval.low, interval.high
    differences = _clusters_within(pairs, weights, width)
    low = _lower_limit(differences, weights, width, alpha)
    return low, -_lower_limit(-differences, weights, width, alpha)


def _within(differences: FloatArray | CountedScores, width: float) -> FloatArray | CountedScores:
    """The differences without what rounding adds to the largest possible ones."""
    if isinstance(differences, CountedScores):
        return replace(differences, scores=np.clip(differences.scores, -width, width))
    return np.asarray(np.clip(differences, -width, width))


def _clusters_within(pairs: PairedScores, weights: FloatArray, width: float) -> FloatArray:
    return np.asarray(np.clip(pairs.differences, -width * weights, width * weights))


def _pvalue_of_shift(
    differences: FloatArray, weights: FloatArray, shift: float, width: float
) -> float:
    """Gaffke's test that the clusters' residuals at a shift have a mean above 0."""
    largest = float(weights.max())
    bounds = (-largest * (width + shift), largest * (width - shift))
    return gaffke_pvalue(differences - shift * weights, 0.0, bounds)


def _lower_limit(differences: FloatArray, weights: FloatArray, width: float, alpha: float) -> float:
    """The largest shift that is rejected: the p-value rises with the shift."""
    lowest, highest = -width, float((differences / weights).max())
    if highest <= lowest:
        return lowest
    limit = scipy.optimize.brentq(
        lambda shift: _pvalue_of_shift(differences, weights, shift, width) - alpha,
        *(lowest, highest),
        xtol=_PRECISION * width,
    )
    # Rounding must not put the limit beyond the mean.
    return min(float(limit), float(differences.mean()))

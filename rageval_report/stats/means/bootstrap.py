"""Bootstrap intervals of a mean: percentile, BCa and studentised.

The first two are those of infinitely many resamples, computed from the distribution itself. The
third needs the standard error of every resample and is simulated, from a seed.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy import special

from rageval_report.stats.base import Interval
from rageval_report.stats.means import closed_forms
from rageval_report.stats.means.exact_bootstrap import BootstrapLaw, bootstrap_law
from rageval_report.stats.means.moments import Moments, moments
from rageval_report.stats.resampling import bootstrap_means
from rageval_report.types import FloatArray

# A resample whose variance is this small beside the scores' own has none, but for rounding.
_NO_SPREAD = 1e-12


def percentile(values: FloatArray, *, confidence_level: float, **_options: object) -> Interval:
    """The percentile bootstrap interval of a mean, of infinitely many resamples.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The scores.
    confidence_level : float
        Between 0 and 1.

    Returns
    -------
    Interval
        NaN limits for one score; of zero width, with a note, where all scores are equal.

    References
    ----------
    .. [1] Efron and Tibshirani (1993). An introduction to the bootstrap. Chapman & Hall.

    Examples
    --------
    >>> interval = percentile(np.array([0.1, 0.4, 0.4, 0.8, 0.9]), confidence_level=0.95)
    >>> round(interval.low, 2), interval.estimate, round(interval.high, 2)
    (0.28, 0.52, 0.78)
    """
    known = moments(values)
    if nothing := closed_forms.without_spread(known, "percentile", confidence_level):
        return nothing
    tail = (1.0 - confidence_level) / 2.0
    law = bootstrap_law(values)
    return _between(known, law, "percentile", confidence_level, (tail, 1.0 - tail))


def bca(values: FloatArray, *, confidence_level: float, **_options: object) -> Interval:
    """The bias-corrected, accelerated bootstrap interval of a mean, of infinitely many resamples.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The scores.
    confidence_level : float
        Between 0 and 1.

    Returns
    -------
    Interval
        NaN limits for one score; of zero width, with a note, where all scores are equal.

    Notes
    -----
    The bias correction counts half of the resamples whose mean equals the scores' own. The
    acceleration, which the jackknife would give, is skewness / (6 sqrt(n)) for a mean.

    References
    ----------
    .. [1] Efron (1987). Better bootstrap confidence intervals. JASA 82.

    Examples
    --------
    >>> interval = bca(np.array([0.1, 0.4, 0.4, 0.8, 0.9]), confidence_level=0.95)
    >>> round(interval.low, 2), interval.estimate, round(interval.high, 2)
    (0.28, 0.52, 0.78)
    """
    known = moments(values)
    if nothing := closed_forms.without_spread(known, "bca", confidence_level):
        return nothing
    law = bootstrap_law(values)
    tail = (1.0 - confidence_level) / 2.0
    bias = float(special.ndtri(law.midrank()))
    acceleration = _acceleration(values - known.mean)
    levels = (
        _corrected(tail, bias, acceleration),
        _corrected(1.0 - tail, bias, acceleration),
    )
    return _between(known, law, "bca", confidence_level, levels)


def studentised(
    values: FloatArray, *, confidence_level: float, n_resamples: int, seed: int, **_options: object
) -> Interval:
    """The studentised bootstrap interval of a mean (bootstrap-t), simulated.

    Of the bootstrap intervals it is the one that follows skewed scores best.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The scores.
    confidence_level : float
        Between 0 and 1.
    n_resamples : int
        The number of resamples.
    seed : int
        The seed of the random numbers; the same seed gives the same limits.

    Returns
    -------
    Interval
        NaN limits for one score; of zero width, with a note, where all scores are equal. Where too
        many resamples have no spread to divide by (very few scores, or nearly all of them equal),
        it is the t interval and says so.

    References
    ----------
    .. [1] Hall (1988). Theoretical comparison of bootstrap confidence intervals. Annals of
           Statistics 16.

    Examples
    --------
    >>> seconds = np.array([0.8, 1.1, 0.9, 1.3, 4.0, 1.0, 1.2, 0.7])
    >>> interval = studentised(seconds, confidence_level=0.95, n_resamples=9999, seed=0)
    >>> interval.estimate, interval.low < 1.0, interval.high > 2.5
    (1.375, True, True)
    """
    known = moments(values)
    if nothing := closed_forms.without_spread(known, "studentised", confidence_level):
        return nothing
    tail = (1.0 - confidence_level) / 2.0
    ratios = _studentised_means(values - known.mean, n_resamples, seed)
    lowest, highest = np.quantile(ratios, [tail, 1.0 - tail], method="inverted_cdf")
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        note = f"of {known.n} scores too many resamples have no spread: the t interval"
        return replace(closed_forms.student_t(known, confidence_level, None), notes=(note,))
    return Interval(
        known.mean,
        known.mean - float(highest) * known.standard_error,
        known.mean - float(lowest) * known.standard_error,
        known.standard_error,
        "studentised",
        confidence_level,
    )


def _between(
    known: Moments,
    law: BootstrapLaw,
    method: str,
    confidence_level: float,
    levels: tuple[float, float],
) -> Interval:
    low, high = (law.quantile(level) for level in levels)
    return Interval(known.mean, low, high, known.standard_error, method, confidence_level)


def _acceleration(deviations: FloatArray) -> float:
    """How fast the standard error changes with the mean."""
    squares = deviations * deviations
    return float(np.dot(squares, deviations) / (6.0 * squares.sum() ** 1.5))


def _corrected(level: float, bias: float, acceleration: float) -> float:
    """The level of the bootstrap distribution that stands for a level of the interval."""
    shifted = bias + float(special.ndtri(level))
    shrink = max(1.0 - acceleration * shifted, np.finfo(float).tiny)
    return float(special.ndtr(bias + shifted / shrink))


def _studentised_means(deviations: FloatArray, n_resamples: int, seed: int) -> FloatArray:
    """Means of resamples in units of their own standard errors; infinite where there is none."""
    n = deviations.size
    columns = np.column_stack((deviations, deviations * deviations))
    means, squares = bootstrap_means(columns, n_resamples=n_resamples, seed=seed).T
    variance = squares - means * means
    flat = variance <= _NO_SPREAD * float(np.mean(columns[:, 1]))
    standard_errors = np.sqrt(np.where(flat, 1.0, variance) / (n - 1))
    ratios: FloatArray = np.where(flat, np.copysign(np.inf, means), means / standard_errors)
    return ratios

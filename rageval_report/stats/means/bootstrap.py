"""Bootstrap intervals of a mean: percentile, BCa and studentised.

Each is a member of ``INTERVALS``. The first two are those of infinitely many resamples, computed
from the distribution itself; nothing is drawn. The third needs the standard error of every resample
and is simulated. All have NaN limits for one score, and zero width, with a note, if all scores are
equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import scipy

from rageval_report.stats.base import Interval
from rageval_report.stats.means.closed_forms import interval_without_spread, student_t
from rageval_report.stats.means.exact_bootstrap import BootstrapLaw, bootstrap_law
from rageval_report.stats.means.moments import Moments, moments
from rageval_report.stats.resampling import bootstrap_means_of_tables
from rageval_report.stats.row_order import canonical_order
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import FloatArray

# A resample whose variance is this small, relative to the variance of the scores, has none: what is
# left is rounding.
_NO_SPREAD = 1e-12


def percentile(values: FloatArray, *, confidence_level: float, **_options: object) -> Interval:
    """The percentile bootstrap interval of a mean, of infinitely many resamples.

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
    if degenerate := interval_without_spread(known, "percentile", confidence_level):
        return degenerate
    tail = (1.0 - confidence_level) / 2.0
    law = bootstrap_law(values)
    return _interval_between(known, law, "percentile", confidence_level, (tail, 1.0 - tail))


def bca(values: FloatArray, *, confidence_level: float, **_options: object) -> Interval:
    """The bias-corrected, accelerated bootstrap interval of a mean, of infinitely many resamples.

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
    if degenerate := interval_without_spread(known, "bca", confidence_level):
        return degenerate
    law = bootstrap_law(values)
    tail = (1.0 - confidence_level) / 2.0
    bias = float(scipy.special.ndtri(law.midrank()))
    acceleration = _acceleration(values - known.mean)
    levels = (
        _corrected_level(tail, bias, acceleration),
        _corrected_level(1.0 - tail, bias, acceleration),
    )
    return _interval_between(known, law, "bca", confidence_level, levels)


def studentised(
    columns: Sequence[FloatArray], *, confidence_level: float, n_resamples: int, seed: int
) -> list[Interval]:
    """The studentised bootstrap interval of each mean (bootstrap-t), simulated.

    It follows skewed scores best of the bootstrap intervals. If too many resamples have no spread
    to divide by (very few scores, or nearly all of them equal), the t interval stands in, with a
    note. Columns of the same length share their resamples, which take most of the time.

    References
    ----------
    .. [1] Hall (1988). Theoretical comparison of bootstrap confidence intervals. Annals of
           Statistics 16.

    Examples
    --------
    >>> seconds = np.array([0.8, 1.1, 0.9, 1.3, 4.0, 1.0, 1.2, 0.7])
    >>> [interval] = studentised([seconds], confidence_level=0.95, n_resamples=9999, seed=0)
    >>> interval.estimate, interval.low < 1.0, interval.high > 2.5
    (1.375, True, True)
    """
    intervals: dict[int, Interval] = {}
    # In this order the sums too are the same to the last bit however the scores are shuffled.
    ordered = [values[canonical_order(values)] for values in columns]
    known = [moments(values) for values in ordered]
    places_by_size: dict[int, list[int]] = {}
    for place, each in enumerate(known):
        if degenerate := interval_without_spread(each, "studentised", confidence_level):
            intervals[place] = degenerate
        else:
            places_by_size.setdefault(each.n, []).append(place)
    for places in places_by_size.values():
        deviations = [ordered[place] - known[place].mean for place in places]
        for place, ratios in zip(
            places, _studentised_means(deviations, n_resamples, seed), strict=True
        ):
            intervals[place] = _studentised_interval(known[place], ratios, confidence_level)
    return [intervals[place] for place in range(len(columns))]


def _studentised_interval(known: Moments, ratios: FloatArray, confidence_level: float) -> Interval:
    tail = (1.0 - confidence_level) / 2.0
    # Order statistics, because interpolation next to an infinite ratio gives NaN.
    lowest, highest = np.quantile(ratios, [tail, 1.0 - tail], method="inverted_cdf")
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        note = f"too many resamples of {known.n} scores have no spread: this is the t interval"
        return replace(student_t(known, confidence_level, None), notes=(note,))
    return Interval(
        known.mean,
        known.mean - float(highest) * known.standard_error,
        known.mean - float(lowest) * known.standard_error,
        known.standard_error,
        "studentised",
        confidence_level,
    )


def _interval_between(
    known: Moments,
    law: BootstrapLaw,
    method: str,
    confidence_level: float,
    levels: tuple[float, float],
) -> Interval:
    low, high = (law.quantile(level) for level in levels)
    return Interval(known.mean, low, high, known.standard_error, method, confidence_level)


def _acceleration(deviations: FloatArray) -> float:
    """How fast the standard error changes with the mean: skewness / (6 sqrt(n)) (Efron 1987)."""
    squares = deviations * deviations
    return sum_of_products(squares, deviations) / (6.0 * math.pow(float(squares.sum()), 1.5))


def _corrected_level(level: float, bias: float, acceleration: float) -> float:
    """The level of the bootstrap distribution that corresponds to a level of the interval."""
    shifted = bias + float(scipy.special.ndtri(level))
    # Kept above zero: with strong skewness and a level near 1 the formula would change its sign.
    shrink = max(1.0 - acceleration * shifted, np.finfo(float).tiny)
    return float(scipy.special.ndtr(bias + shifted / shrink))


def _studentised_means(
    deviations: Sequence[FloatArray], n_resamples: int, seed: int
) -> Iterator[FloatArray]:
    """Means of resamples in units of their own standard errors; infinite if a resample has none."""
    tables = [np.column_stack((each, each * each)) for each in deviations]
    resampled = bootstrap_means_of_tables(tables, n_resamples=n_resamples, seed=seed)
    for table, columns in zip(tables, resampled, strict=True):
        means, squares = columns.T
        variance = squares - means * means
        flat = variance <= _NO_SPREAD * float(np.mean(table[:, 1]))
        # A variance with denominator n, divided by n - 1, is the squared standard error.
        standard_errors = np.sqrt(np.where(flat, 1.0, variance) / (len(table) - 1))
        yield np.where(flat, np.copysign(np.inf, means), means / standard_errors)

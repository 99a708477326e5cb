"""Intervals of the mean of one pipeline's scores.

`mean_interval` chooses; the members of ``INTERVALS`` that have a closed form are here, those that
resample are in `rageval_report.stats.means.bootstrap`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats import INTERVALS
from rageval_report.stats.base import (
    Interval,
    check_level,
    check_resamples,
    check_seed,
    finite_values,
)
from rageval_report.stats.means import closed_forms
from rageval_report.stats.means.closed_forms import Bounds, ClosedForm, are_finite
from rageval_report.stats.means.moments import Moments, moments
from rageval_report.types import FloatArray

# From here on the studentised bootstrap and the t interval of a mean differ by less than its noise.
ENOUGH_FOR_T = 500
# Scores may leave their bounds by this much before it is an error: the rounding of whoever scored.
BOUNDS_TOLERANCE = 1e-9


def mean_interval(
    values: npt.ArrayLike,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    bounds: Bounds | None = None,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Interval:
    """The mean of the scores with an interval around it.

    Parameters
    ----------
    values : array-like of shape (n,)
        A score a query; NaN is unscored and is left out.
    method : str
        A name in ``INTERVALS``, or "auto": "wilson" for scores of 0 and 1, "bounded" where finite
        bounds are given, else "studentised" below 500 scores and "t" from there.
    confidence_level : float
        The nominal coverage, between 0 and 1.
    bounds : tuple of float, optional
        The range that the scores can have, as (0, 1); an end may be infinite. The interval is cut
        where it leaves it.
    n_resamples, seed : int
        For methods that draw at random, which is "studentised" alone.

    Returns
    -------
    Interval
        With NaN limits where the scores cannot give any; one score within bounds gets these as its
        limits. Its method may differ from the one asked for, and a note then says why.

    Raises
    ------
    UnknownNameError
        If there is no such method.
    DataError
        If a score is infinite or outside the bounds, or an option makes no sense.

    Examples
    --------
    >>> interval = mean_interval([1, 1, 0, 1, 1, 1, 0, 1])
    >>> interval.method, interval.estimate, round(interval.low, 3), round(interval.high, 3)
    ('wilson', 0.75, 0.409, 0.929)
    >>> interval = mean_interval([0.2, 0.9, 1.0, float("nan"), 0.7], bounds=(0, 1))
    >>> interval.method, round(interval.low, 3), round(interval.high, 3)
    ('bounded', 0.184, 0.96)
    """
    scores = finite_values(values)
    return described_interval(
        scores,
        moments(scores),
        method=method,
        confidence_level=confidence_level,
        bounds=bounds,
        n_resamples=n_resamples,
        seed=seed,
    )


def described_interval(
    values: npt.ArrayLike,
    known: Moments,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    bounds: Bounds | None = None,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Interval:
    """`mean_interval` of a column whose moments are known, so that closed forms need not read it.

    Parameters
    ----------
    values : array-like of shape (n,)
        The column itself, NaN included; read by the methods that resample.
    known : Moments
        Its moments, as `rageval_report.stats.means.describe.describe` gives them.
    method, confidence_level, bounds, n_resamples, seed
        As in `mean_interval`.

    Returns
    -------
    Interval

    Examples
    --------
    >>> column = np.array([0.2, 0.9, 1.0, 0.7])
    >>> described_interval(column, moments(column), bounds=(0, 1)).method
    'bounded'
    """
    level = check_level(confidence_level)
    resamples, start = check_resamples(n_resamples), check_seed(seed)
    limits = _check_bounds(known, bounds)
    name = _choose(known, limits) if method == "auto" else method
    member = INTERVALS[name]
    if not known.n:
        return Interval(math.nan, math.nan, math.nan, math.nan, name, level, ("nothing scored",))
    known = _clipped(known, limits)
    if known.n == 1 and member not in _SHARES:
        return closed_forms.one_score(known, name, level, limits)
    if member in _CLOSED_FORMS:
        return _cut(_CLOSED_FORMS[member](known, level, limits), limits)
    scores = finite_values(values)
    if limits is not None:
        scores = np.clip(scores, *limits)
    found = member(scores, confidence_level=level, bounds=limits, n_resamples=resamples, seed=start)
    return _cut(found, limits)


def _cut(interval: Interval, bounds: Bounds | None) -> Interval:
    """The interval without what no mean can be, as a cost below 0."""
    if bounds is None:
        return interval
    low, high = max(interval.low, bounds[0]), min(interval.high, bounds[1])
    cut = [f"{end:g}" for end, was in ((low, interval.low), (high, interval.high)) if end != was]
    if not cut or math.isnan(interval.low):
        return interval
    notes = (*interval.notes, f"the interval is cut at {' and '.join(cut)}")
    return replace(interval, low=low, high=high, notes=notes)


def wilson(values: FloatArray, *, confidence_level: float, **_options: object) -> Interval:
    """Wilson's score interval of a share.

    Parameters
    ----------
    values : ndarray of shape (n,)
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
    .. [1] Wilson (1927). Probable inference, the law of succession, and statistical inference.
           JASA 22.

    Examples
    --------
    >>> interval = wilson(np.repeat([1.0, 0.0], [81, 182]), confidence_level=0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.2553, 0.3662)
    """
    return closed_forms.wilson(moments(values), confidence_level, None)


def clopper_pearson(values: FloatArray, *, confidence_level: float, **_options: object) -> Interval:
    """The exact interval of a share: it covers at least nominally, and is wide for it.

    Parameters and result are those of `wilson`.

    References
    ----------
    .. [1] Clopper and Pearson (1934). The use of confidence or fiducial limits illustrated in the
           case of the binomial. Biometrika 26.

    Examples
    --------
    >>> interval = clopper_pearson(np.repeat([1.0, 0.0], [81, 182]), confidence_level=0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.2527, 0.3676)
    """
    return closed_forms.clopper_pearson(moments(values), confidence_level, None)


def jeffreys(values: FloatArray, *, confidence_level: float, **_options: object) -> Interval:
    """The credible interval of a share under Jeffreys' prior, Beta(1/2, 1/2).

    Parameters and result are those of `wilson`; where all scores are 0, or all are 1, that is the
    limit, so that the interval holds the estimate.

    References
    ----------
    .. [1] Brown, Cai and DasGupta (2001). Interval estimation for a binomial proportion.
           Statistical Science 16.

    Examples
    --------
    >>> interval = jeffreys(np.repeat([1.0, 0.0], [81, 182]), confidence_level=0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.2545, 0.3656)
    """
    return closed_forms.jeffreys(moments(values), confidence_level, None)


def bounded(
    values: FloatArray, *, confidence_level: float, bounds: Bounds | None, **_options: object
) -> Interval:
    """The interval of the mean of scores that have a smallest and a largest possible value.

    It is Wilson's interval for the number of 0/1 scores that would tell as much as these scores do,
    with a t quantile. Near a bound a small sample shows too little spread; there one imagined score
    of the worst spread is added.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The scores, inside the bounds.
    confidence_level : float
        Between 0 and 1.
    bounds : tuple of float
        The range that the scores can have.

    Returns
    -------
    Interval
        Inside the bounds, and never of zero width. One score has the bounds as its limits. Equal
        scores between the bounds leave room for the scores of other values that n draws may have
        missed.

    Raises
    ------
    DataError
        If a bound is missing or infinite.

    Notes
    -----
    On the range from 0 to 1, with mean p and variance s² (denominator n - 1), and w = 1 if any
    score is within 0.02 of a bound, else 0::

        s~² = ((n - 1) s² + w p (1 - p)) / (n - 1 + w)        n_eff = n p (1 - p) / s~²

    References
    ----------
    .. [1] Korn and Graubard (1998). Confidence intervals for proportions with small expected number
           of positive counts estimated from survey data. Survey Methodology 24.
    .. [2] Bhatia and Davis (2000). A better bound on the variance. American Mathematical Monthly
           107.

    Examples
    --------
    >>> scores = np.array([0.5, 0.75, 1.0, 1.0, 1.0, 0.8])
    >>> interval = bounded(scores, confidence_level=0.95, bounds=(0, 1))
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.502, 0.966)
    """
    return closed_forms.bounded(moments(values), confidence_level, bounds)


def student_t(values: FloatArray, *, confidence_level: float, **_options: object) -> Interval:
    """The t interval of a mean.

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

    Examples
    --------
    >>> interval = student_t(np.array([1.0, 2.0, 3.0]), confidence_level=0.95)
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.484, 4.484)
    """
    return closed_forms.student_t(moments(values), confidence_level, None)


def _choose(known: Moments, bounds: Bounds | None) -> str:
    """The method that "auto" stands for."""
    is_share = known.is_binary and known.n > 1
    if is_share and (bounds is None or bounds == (0.0, 1.0)):
        return "wilson"
    if are_finite(bounds):
        return "bounded"
    return "studentised" if 1 < known.n < ENOUGH_FOR_T else "t"


def _check_bounds(known: Moments, bounds: Bounds | None) -> Bounds | None:
    """The bounds as floats, if they are a range and hold every score."""
    if bounds is None:
        return None
    low, high = float(bounds[0]), float(bounds[1])
    if not low < high:
        raise DataError(f"bounds must be the smallest and largest score, as (0, 1); got {bounds}")
    outside = [
        score
        for score in (known.minimum, known.maximum)
        if score < low - BOUNDS_TOLERANCE or score > high + BOUNDS_TOLERANCE
    ]
    if outside:
        raise DataError(
            f"scores must lie within the bounds {low:g} and {high:g}; found {outside[-1]:g}: "
            "correct the score or give other bounds"
        )
    return low, high


def _clipped(known: Moments, bounds: Bounds | None) -> Moments:
    """The moments with mean and extremes inside the bounds, which rounding may have left."""
    if bounds is None or (known.minimum >= bounds[0] and known.maximum <= bounds[1]):
        return known
    mean, minimum, maximum = (
        min(max(value, bounds[0]), bounds[1])
        for value in (known.mean, known.minimum, known.maximum)
    )
    return Moments(known.n, mean, known.std, minimum, maximum, known.is_binary)


_SHARES: dict[object, ClosedForm] = {
    wilson: closed_forms.wilson,
    clopper_pearson: closed_forms.clopper_pearson,
    jeffreys: closed_forms.jeffreys,
}
_CLOSED_FORMS: dict[object, ClosedForm] = {
    **_SHARES,
    bounded: closed_forms.bounded,
    student_t: closed_forms.student_t,
}

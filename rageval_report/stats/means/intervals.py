"""Intervals of the mean of one pipeline's scores.

`mean_interval` chooses. The members of ``INTERVALS`` that have a closed form are in
`rageval_report.stats.means.closed_forms`, those that resample in
`rageval_report.stats.means.bootstrap`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats import INTERVALS
from rageval_report.stats._entries import Bounds, ClosedFormInterval
from rageval_report.stats.base import (
    Interval,
    check_level,
    check_resamples,
    check_seed,
    finite_values,
)
from rageval_report.stats.means.closed_forms import are_finite, interval_of_one_score
from rageval_report.stats.means.moments import Moments, moments

# From here on the studentised bootstrap and the t interval of a mean differ by less than the noise
# of 9,999 resamples.
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
        One score per query; NaN is unscored and is left out.
    method : str
        A member of ``INTERVALS``, or "auto": "wilson" for scores of 0 and 1, "bounded" for finite
        bounds, else "studentised" below 500 scores and "t" from 500 on.
    confidence_level : float
        The nominal coverage, between 0 and 1.
    bounds : tuple of float, optional
        The range that the scores can have, e.g. (0, 1); an end may be infinite. The interval is cut
        at the bounds.
    n_resamples, seed : int
        For methods that draw at random, which is "studentised" alone.

    Returns
    -------
    Interval
        With NaN limits if the scores cannot give any; one score within bounds gets these as its
        limits. Its method may differ from `method`, and a note then says why.

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
        Its moments, as `rageval_report.stats.means.column_description.describe` gives them.
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
    name = _choose_method(known, limits) if method == "auto" else method
    member = INTERVALS[name]
    if not known.n:
        return Interval(math.nan, math.nan, math.nan, math.nan, name, level, ("nothing scored",))
    known = _clip_moments(known, limits)
    formula = member if isinstance(member, ClosedFormInterval) else None
    # All but the formulas of shares need a spread, which one score does not have.
    if known.n == 1 and not (formula and formula.has_limits_for_one_score):
        return interval_of_one_score(known, name, level, limits)
    if formula:
        return _cut_interval(formula.of_moments(known, level, limits), limits)
    scores = finite_values(values)
    if limits is not None:
        scores = np.clip(scores, *limits)
    interval = member(
        scores, confidence_level=level, bounds=limits, n_resamples=resamples, seed=start
    )
    return _cut_interval(interval, limits)


def _cut_interval(interval: Interval, bounds: Bounds | None) -> Interval:
    """The interval without values that no mean can have, e.g. a cost below 0."""
    if bounds is None:
        return interval
    low, high = max(interval.low, bounds[0]), min(interval.high, bounds[1])
    cut = [f"{end:g}" for end, was in ((low, interval.low), (high, interval.high)) if end != was]
    if not cut or math.isnan(interval.low):
        return interval
    notes = (*interval.notes, f"the interval is cut at {' and '.join(cut)}")
    return replace(interval, low=low, high=high, notes=notes)


def _choose_method(known: Moments, bounds: Bounds | None) -> str:
    """The method that "auto" stands for."""
    # Before the bounds, as "bounded" would use a t quantile for 0 and 1. A single score of 0 or 1
    # does not show that the metric is a share.
    is_share = known.is_binary and known.n > 1
    if is_share and (bounds is None or bounds == (0.0, 1.0)):
        return "wilson"
    if are_finite(bounds):
        return "bounded"
    return "studentised" if 1 < known.n < ENOUGH_FOR_T else "t"


def _check_bounds(known: Moments, bounds: Bounds | None) -> Bounds | None:
    """The bounds as floats, after a check that they are a range and contain every score."""
    if bounds is None:
        return None
    low, high = float(bounds[0]), float(bounds[1])
    if not low < high:
        raise DataError(f"bounds must be the smallest and largest score, e.g. (0, 1); got {bounds}")
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


def _clip_moments(known: Moments, bounds: Bounds | None) -> Moments:
    """The moments with mean and extremes inside the bounds, in case rounding put them outside."""
    if bounds is None or (known.minimum >= bounds[0] and known.maximum <= bounds[1]):
        return known
    mean, minimum, maximum = (
        min(max(value, bounds[0]), bounds[1])
        for value in (known.mean, known.minimum, known.maximum)
    )
    return Moments(known.n, mean, known.std, minimum, maximum, known.is_binary)

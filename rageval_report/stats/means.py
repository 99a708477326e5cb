"""Where the scores of one pipeline lie: the mean and the percentiles, with their intervals.

`mean_interval` chooses a member of ``INTERVALS``. Each takes a `Column` with at least one number,
and by keyword ``confidence_level``, ``bounds``, ``n_resamples`` and ``seed``, of which it uses what
it needs; another one is added by ``INTERVALS.add("name", function)``.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from rageval_report._registry import Registry
from rageval_report.errors import DataError, check_choice
from rageval_report.stats import base
from rageval_report.stats.base import Bounds, Interval
from rageval_report.stats.bootstrap import bootstrap_interval, student_t
from rageval_report.stats.columns import Column, check_bounds
from rageval_report.stats.gaffke import gaffke_limits
from rageval_report.types import FloatArray

ScoreKind: TypeAlias = Literal["binary", "proportion", "ordinal", "real"]
MeanInterval: TypeAlias = Callable[..., Interval]
PercentileMethod: TypeAlias = Literal["linear", "exclusive", "upper"]
QUARTILES = (25.0, 50.0, 75.0)
# From here on the studentised bootstrap and the t interval of a mean differ by less than the noise
# of 9,999 resamples.
ENOUGH_FOR_T = 500
# The position of a share in n sorted scores, counted from 0.
_POSITIONS: dict[PercentileMethod, Callable[[FloatArray, int], FloatArray]] = {
    "exclusive": lambda shares, n: shares * (n + 1) - 1.0,
    "linear": lambda shares, n: shares * (n - 1),
    "upper": lambda shares, n: np.minimum(np.floor(shares * n), n - 1.0),
}
_UNIT: Bounds = (0.0, 1.0)
# A probability that misses the level only by rounding does not miss it.
_ROUNDING = 1.0 + 1e-12


# -- means


def mean_interval(
    values: npt.ArrayLike | Column,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    bounds: Bounds | None = None,
    kind: ScoreKind | None = None,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Interval:
    """The mean of the scores with an interval around it.

    Parameters
    ----------
    values : array-like of shape (n,), or Column
        One score per query; NaN is unscored and is left out.
    method : str
        A member of ``INTERVALS``, or "auto", which chooses by the kind of the scores: "gaffke" for
        bounded ones, which is "clopper-pearson" for binary ones, else "studentised" below 500
        scores and "t" from 500 on.
    confidence_level : float
        The nominal coverage, between 0 and 1.
    bounds : tuple of float, optional
        The range that the scores can have, e.g. (0, 1); an end may be infinite. The interval is cut
        at the bounds.
    kind : {"binary", "proportion", "ordinal", "real"}, optional
        Scores of 0 and 1, between 0 and 1, on the steps of a scale, or any numbers. If omitted,
        scores that are all 0 or 1 are binary, and others within finite bounds are proportions. For
        scores whose bounds are a formality (cosine similarities fill a small part of -1 to 1) the
        kind is "real".
    n_resamples, seed : int
        For methods that draw at random: "percentile", "bca" and "studentised".

    Returns
    -------
    Interval
        With NaN limits if the scores cannot give any; one score that is not bounded has none. Its
        method may differ from `method`, and a note then says why.

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
    ('clopper-pearson', 0.75, 0.349, 0.968)
    >>> interval = mean_interval([0.2, 0.9, 1.0, float("nan"), 0.7], bounds=(0, 1))
    >>> interval.method, round(interval.low, 3), round(interval.high, 3)
    ('gaffke', 0.237, 0.943)
    """
    column, level = Column.of(values), base.check_level(confidence_level)
    drawing = {"n_resamples": base.check_resamples(n_resamples), "seed": base.check_seed(seed)}
    limits = None if bounds is None else check_bounds(column, bounds)
    name = _choose_method(column, limits, kind) if method == "auto" else method
    member = INTERVALS[name]
    if not column.n:
        return Interval.unknown(math.nan, name, level, "nothing scored")
    if limits is None:
        return member(column, confidence_level=level, bounds=None, **drawing)
    if column.minimum < limits[0] or column.maximum > limits[1]:  # by rounding
        mean = min(max(column.mean, limits[0]), limits[1])
        column = replace(column, values=np.clip(column.values, *limits), mean=mean)
    return _cut(member(column, confidence_level=level, bounds=limits, **drawing), limits)


def interval_of_count(
    n_true: int, n: int, confidence_level: float = 0.95, *, method: str = "auto"
) -> Interval:
    """The interval of a share that is known by a count."""
    counts = np.array([n - n_true, n_true], dtype=np.float64)
    column = Column.of_counts(np.flatnonzero(counts).astype(np.float64), counts[counts > 0.0])
    return mean_interval(column, method=method, confidence_level=confidence_level, bounds=_UNIT)


def _wilson(column: Column, *, confidence_level: float, **_options: object) -> Interval:
    """Wilson's score interval of a share (1927, JASA 22)."""
    from scipy.stats import binomtest

    _check_binary(column, "wilson")
    share, n_true = column.mean, round(column.mean * column.n)
    low, high = binomtest(n_true, column.n).proportion_ci(confidence_level, "wilson")
    return Interval(share, low, high, column.standard_error, "wilson", confidence_level)


def _clopper_pearson(column: Column, *, confidence_level: float, **_options: object) -> Interval:
    """Clopper and Pearson's exact interval of a share (1934, Biometrika 26), which is Gaffke's."""
    _check_binary(column, "clopper-pearson")
    interval = _gaffke(column, confidence_level=confidence_level, bounds=_UNIT)
    return replace(interval, method="clopper-pearson")


def _gaffke(
    column: Column, *, confidence_level: float, bounds: Bounds | None, **_options: object
) -> Interval:
    """Gaffke's limits, which suppose the worst that the bounds allow for what was not drawn."""
    if not base.are_finite(bounds):
        ends = "none" if bounds is None else f"{bounds[0]:g} and {bounds[1]:g}"
        raise DataError(
            "the interval 'gaffke' needs the smallest and largest possible score; got "
            f"{ends}: give bounds, e.g. (0, 1), or use 't'"
        )
    low, high = gaffke_limits(column, bounds, confidence_level)
    return Interval(column.mean, low, high, column.standard_error, "gaffke", confidence_level)


INTERVALS: Registry[MeanInterval] = Registry(
    "interval of a mean",
    {
        "bca": partial(bootstrap_interval, method="bca"),
        "clopper-pearson": _clopper_pearson,
        "gaffke": _gaffke,
        "percentile": partial(bootstrap_interval, method="percentile"),
        "studentised": bootstrap_interval,
        "t": student_t,
        "wilson": _wilson,
    },
)


def _choose_method(column: Column, bounds: Bounds | None, kind: ScoreKind | None) -> str:
    """The method that "auto" stands for."""
    is_bounded = base.are_finite(bounds)
    if kind is None:
        is_share = column.is_binary and bounds in (None, _UNIT)
        kind = "binary" if is_share else "proportion" if is_bounded else "real"
    check_choice("kind", kind, get_args(ScoreKind))
    # A single score of 0 or 1 does not show that there are no others.
    if kind == "binary" and column.is_binary and (column.n > 1 or is_bounded):
        return "clopper-pearson"
    # Equal scores have no spread from which a bootstrap could say what other scores may do.
    if is_bounded and (kind != "real" or column.is_constant):
        return "gaffke"
    return "studentised" if 1 < column.n < ENOUGH_FOR_T else "t"


def _check_binary(column: Column, method: str) -> None:
    if not column.is_binary:
        raise DataError(
            f"the interval {method!r} is for scores of 0 and 1; found scores from "
            f"{column.minimum:g} to {column.maximum:g}: use 'gaffke' with bounds, or 't'"
        )


def _cut(interval: Interval, bounds: Bounds) -> Interval:
    """The interval without values that no mean can have, e.g. a cost below 0."""
    if math.isnan(interval.low) and not base.are_finite(bounds):
        return interval
    if math.isnan(interval.low):
        note = "one score: the limits are the bounds"
        return replace(interval, low=bounds[0], high=bounds[1], notes=(note,))
    low, high = max(interval.low, bounds[0]), min(interval.high, bounds[1])
    cut = [f"{end:g}" for end, was in ((low, interval.low), (high, interval.high)) if end != was]
    notes = (f"the interval is cut at {' and '.join(cut)}",) if cut else ()
    return replace(interval, low=low, high=high, notes=interval.notes + notes)


# -- percentiles


def percentiles_of(
    values: npt.ArrayLike | Column,
    percentiles: Sequence[float] = QUARTILES,
    *,
    method: PercentileMethod = "linear",
) -> FloatArray:
    """Percentiles of the scores of one column."""
    wanted = np.asarray(percentiles, dtype=np.float64).ravel()
    outside = wanted[~((wanted >= 0.0) & (wanted <= 100.0))]
    if outside.size:
        raise DataError(f"percentiles must lie between 0 and 100; got {outside[0]:g}")
    check_choice("method", method, _POSITIONS)
    column = Column.of(values)
    n = column.n
    if not n or not wanted.size:
        return np.full(wanted.size, math.nan)
    position = _POSITIONS[method](wanted / 100.0, n) if n > 1 else np.zeros(wanted.size)
    # "exclusive" asks for places beyond the extremes; there the line through the outermost two
    # scores is continued.
    lower = np.clip(np.floor(position), 0, max(n - 2, 0)).astype(np.intp)
    below, above = column.at_ranks(np.stack((lower, np.minimum(lower + 1, n - 1))))
    weight, step = position - lower, above - below
    # From the nearer neighbour, as in NumPy: a weight of 0 or 1 then gives a score to the last bit.
    from_below, from_above = below + step * weight, above - step * (1.0 - weight)
    return np.asarray(np.where(weight < 0.5, from_below, from_above))


def quantile_interval(
    values: npt.ArrayLike | Column, quantile: float, *, confidence_level: float = 0.95
) -> Interval:
    """A quantile of the scores with limits that are scores themselves.

    Nothing is assumed about the distribution: the limits are order statistics, whose ranks follow
    from the binomial distribution (with ties the coverage can only be larger).

    Parameters
    ----------
    values : array-like of shape (n,), or Column
        The scores; NaN is unscored and is left out.
    quantile : float
        Which quantile, between 0 and 1, e.g. 0.95.
    confidence_level : float
        The nominal coverage; the rest is divided equally between both sides.

    Returns
    -------
    Interval
        The estimate interpolates linearly; a limit that no order statistic gives is NaN, and a
        note says how many scores it would take. There is no standard error.

    Raises
    ------
    DataError
        If the quantile or the level does not lie between 0 and 1, or a score is infinite.

    References
    ----------
    .. [1] Conover (1999). Practical nonparametric statistics, 3rd ed., section 3.2. Wiley.

    Examples
    --------
    >>> latency = [120, 80, 95, 400, 101, 99, 130, 88, 92, 110]
    >>> interval = quantile_interval(latency, 0.5)
    >>> interval.estimate, interval.low, interval.high
    (100.0, 88.0, 130.0)
    """
    from scipy.special import bdtr, bdtrc

    level, method = base.check_level(confidence_level), "order-statistics"
    if not 0.0 < quantile < 1.0:
        hint = f"; did you mean {quantile / 100}?" if 1 < quantile < 100 else ""
        raise DataError(f"quantile must lie between 0 and 1, e.g. 0.95; got {quantile}{hint}")
    column = Column.of(values)
    if not column.n:
        return Interval.unknown(math.nan, method, level, "nothing scored")
    limits, notes = [], []
    n, tail = column.n, (1.0 - level) / 2.0 * _ROUNDING
    # The lower rank, from 1, is the largest l with P(Bin(n, quantile) < l) <= tail, the upper one
    # the smallest u with P(Bin(n, quantile) >= u) <= tail: 0 and n + 1 where there is none.
    lower = bisect_right(range(n), tail, key=lambda k: float(bdtr(k, n, quantile)))
    # Negated, because this tail falls with the rank and a bisection needs increasing keys.
    upper = bisect_left(range(n), -tail, key=lambda k: -float(bdtrc(k, n, quantile)))
    sides = zip(("lower", "upper"), (lower, upper + 1), strict=True)
    for (side, rank), beyond in zip(sides, (1.0 - quantile, quantile), strict=True):
        is_score = 1 <= rank <= n
        limits.append(float(column.at_ranks(np.array([rank - 1]))[0]) if is_score else math.nan)
        if not is_score:
            # So many scores lie all on one side with a probability of at most the tail.
            needed = math.ceil(math.log(tail) / math.log(beyond))
            scores = "score gives" if n == 1 else "scores give"
            notes.append(
                f"{n} {scores} no {side} limit of the {quantile:g} quantile; "
                f"at least {needed} are needed"
            )
    estimate = percentiles_of(column, [100.0 * quantile]).item()
    return Interval(estimate, limits[0], limits[1], math.nan, method, level, tuple(notes))

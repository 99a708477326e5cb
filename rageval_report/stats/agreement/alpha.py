"""Krippendorff's alpha: any number of raters, any scale, ratings may be missing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError, check_choice
from rageval_report.stats.agreement.ratings import encode_ratings, is_missing
from rageval_report.stats.base import Interval, check_level, check_resamples, check_seed
from rageval_report.stats.resampling import bootstrap_means
from rageval_report.stats.row_order import canonical_order
from rageval_report.types import BoolArray, FloatArray, IndexArray

MeasurementLevel: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]

# The most levels of a scale of steps, and of names: time and memory grow with the square of their
# number, for steps per query. More levels are a measurement, of level "interval".
_MOST_STEPS = 30
_MOST_LEVELS = 2000
# Disagreement this small, relative to the number of ratings, is the rounding of a sum.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class _RatedUnits:
    """The queries with at least two ratings, one row each."""

    counts: FloatArray  # how many raters gave each level
    levels: npt.NDArray[Any]

    @property
    def raters(self) -> FloatArray:
        raters: FloatArray = self.counts.sum(axis=1)
        return raters


@dataclass(frozen=True, slots=True, eq=False)
class _AlphaSums:
    """Columns whose sums over the queries determine alpha, and the function that computes it.

    Because alpha is a function of sums, a bootstrap over queries needs only resampled sums.
    """

    columns: FloatArray
    alpha: Callable[[FloatArray], FloatArray]


def krippendorff_alpha(
    ratings: npt.ArrayLike,
    level: MeasurementLevel = "nominal",
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Interval:
    """Agreement beyond chance of any number of raters, each of whom may have left queries out.

    Parameters
    ----------
    ratings : array-like of shape (n, raters)
        One row per query, one column per rater; None and NaN are missing. A query with fewer than
        two ratings is left out.
    level : {"nominal", "ordinal", "interval", "ratio"}
        What the ratings are: names, steps of a scale, numbers whose differences have a meaning,
        numbers with a meaningful zero as well. Names are steps in alphabetical order.
    confidence_level : float
        The confidence level of the interval.
    n_resamples, seed : int
        The number of resamples of the queries, and their seed.

    Returns
    -------
    Interval
        1 if all agree, 0 for agreement by chance. The limits are percentiles of a bootstrap over
        queries; NaN if only one rating occurs, or all raters agree on every query.

    Raises
    ------
    DataError
        If no query has two ratings, or the ratings do not fit the level.
    UnknownNameError
        If there is no such level.

    Notes
    -----
    One minus the disagreement seen over that by chance, Do / De, from the coincidences of ratings
    within queries. Ordinal levels lie apart by the difference of their mean ranks.

    References
    ----------
    .. [1] Krippendorff (2011). Computing Krippendorff's alpha-reliability.

    Examples
    --------
    >>> nan = float("nan")
    >>> ratings = [[1, 1, nan], [2, 2, 3], [3, 3, 3], [3, 3, 3], [2, 2, 2], [1, 2, nan]]
    >>> round(krippendorff_alpha(ratings, "ordinal", n_resamples=999).estimate, 3)
    0.8
    """
    confidence = check_level(confidence_level)
    resamples, drawn_from = check_resamples(n_resamples), check_seed(seed)
    check_choice("level", level, _LEVELS)
    sums = _LEVELS[level](_count_ratings(ratings, level))
    n = len(sums.columns)
    estimate = float(sums.alpha(sums.columns.sum(axis=0)))
    if math.isnan(estimate):
        note = "all ratings are the same: agreement beyond chance is not defined"
        return Interval(estimate, math.nan, math.nan, math.nan, "percentile", confidence, (note,))
    if n < 2 or estimate >= 1.0 - _ROUNDING:
        note = "one query" if n < 2 else "all raters agree: a resample cannot differ"
        return Interval(estimate, math.nan, math.nan, math.nan, "percentile", confidence, (note,))
    means = bootstrap_means(sums.columns, n_resamples=resamples, seed=drawn_from)
    return _percentile_interval(estimate, sums.alpha(means * n), confidence)


def _percentile_interval(estimate: float, drawn: FloatArray, level: float) -> Interval:
    known = drawn[~np.isnan(drawn)]
    n_undefined = drawn.size - known.size
    if known.size < 2:
        note = "too few resamples contain ratings that differ"
        return Interval(estimate, math.nan, math.nan, math.nan, "percentile", level, (note,))
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(known, (tail, 1.0 - tail)).tolist()
    note = f"{n_undefined} resamples in which all ratings are the same are left out"
    notes = (note,) if n_undefined else ()
    error = float(known.std(ddof=1))
    return Interval(estimate, low, high, error, "percentile", level, notes)


# -- the ratings


def _count_ratings(ratings: npt.ArrayLike, level: MeasurementLevel) -> _RatedUnits:
    """The ratings as counts of levels."""
    table = np.asarray(ratings)
    # NumPy would turn None next to names into the text "None"; in an array of objects it stays
    # None.
    if table.dtype.kind not in "bifu":
        table = np.asarray(ratings, dtype=object)
    if table.ndim != 2:
        raise DataError(
            "expected one row per query and one column per rater; got an array of shape "
            f"{table.shape}"
        )
    is_used = ~is_missing(table)
    # A single rating can agree with nothing; it does not count for the agreement by chance either
    # (Krippendorff 2011).
    is_used &= (is_used.sum(axis=1) >= 2)[:, np.newaxis]
    if not is_used.any():
        raise DataError("no query has two ratings; check that the raters rated the same queries")
    codes, levels = encode_ratings(table[is_used], None)
    _check_levels(levels, level)
    return _RatedUnits(_level_counts(codes, is_used, len(levels)), levels)


def _level_counts(codes: IndexArray, is_used: BoolArray, q: int) -> FloatArray:
    """How many raters gave each level, one row per query with ratings in use."""
    queries, row = np.unique(np.nonzero(is_used)[0], return_inverse=True)
    flat = np.bincount(row * q + codes, minlength=queries.size * q)
    counts = flat.reshape(queries.size, q).astype(np.float64)
    return counts[canonical_order(counts)]


def _check_levels(levels: npt.NDArray[Any], level: MeasurementLevel) -> None:
    if level in ("interval", "ratio"):
        if levels.dtype.kind != "f":
            raise DataError(f"the level {level!r} needs numbers; got names: use 'nominal'")
        if not np.isfinite(levels).all():
            raise DataError("ratings must be finite numbers or missing")
    if level == "ratio" and (levels < 0).any():
        raise DataError("the level 'ratio' needs numbers >= 0; use 'interval'")
    most = {"ordinal": _MOST_STEPS, "interval": math.inf}.get(level, _MOST_LEVELS)
    if len(levels) > most:
        raise DataError(
            f"{len(levels)} different ratings are too many for the level {level!r} (at most "
            f"{most}); use 'interval', or round them"
        )


# -- the levels of measurement


def _alpha(n: FloatArray, seen: FloatArray, expected: FloatArray) -> FloatArray:
    """1 - Do / De from sums; NaN if nothing differs up to rounding."""
    scale = np.maximum(n * n, 1.0) * _ROUNDING
    # Krippendorff's n - 1 below: by chance, a rating meets one of the n - 1 others.
    differs = expected > scale
    return np.where(differs, 1.0 - (n - 1.0) * seen / np.where(differs, expected, 1.0), math.nan)


def _sums_of_fixed_distances(units: _RatedUnits, apart: FloatArray) -> _AlphaSums:
    """For levels whose distances are the same in every sample."""
    counts, raters = units.counts, units.raters
    # Each pair of ratings weighs 1 / (raters - 1), so that a query counts by its number of ratings.
    seen = ((counts @ apart) * counts).sum(axis=1) / (raters - 1.0)

    def alpha(sums: FloatArray) -> FloatArray:
        totals = sums[..., 1:]
        expected = ((totals @ apart) * totals).sum(axis=-1)
        return _alpha(totals.sum(axis=-1), sums[..., 0], expected)

    return _AlphaSums(np.column_stack([seen, counts]), alpha)


def _nominal(units: _RatedUnits) -> _AlphaSums:
    return _sums_of_fixed_distances(units, 1.0 - np.eye(len(units.levels)))


def _ratio(units: _RatedUnits) -> _AlphaSums:
    levels = units.levels[:, np.newaxis]
    total = levels + units.levels
    apart = (levels - units.levels) / np.where(total > 0, total, 1.0)
    return _sums_of_fixed_distances(units, apart**2)


def _interval(units: _RatedUnits) -> _AlphaSums:
    """From moments, so that the number of levels does not matter."""
    # Centred and scaled, because the difference of two sums of squares loses digits far from zero.
    scale = float(np.ptp(units.levels)) or 1.0
    levels = (units.levels - units.levels.mean()) / scale
    first, second, raters = units.counts @ levels, units.counts @ levels**2, units.raters
    # The squared differences of all ordered pairs of n numbers sum up to 2 (n sum(x**2) -
    # sum(x)**2).
    seen = 2.0 * (raters * second - first**2) / (raters - 1.0)

    def alpha(sums: FloatArray) -> FloatArray:
        seen, n, first, second = (sums[..., place] for place in range(4))
        return _alpha(n, seen, 2.0 * (n * second - first**2))

    return _AlphaSums(np.column_stack([seen, raters, first, second]), alpha)


def _ordinal(units: _RatedUnits) -> _AlphaSums:
    """For levels that lie apart by their mean ranks, which depend on the sample."""
    counts, raters, q = units.counts, units.raters, len(units.levels)
    low, high = np.triu_indices(q, 1)
    pairs = 2.0 * counts[:, low] * counts[:, high] / (raters - 1.0)[:, np.newaxis]

    def alpha(sums: FloatArray) -> FloatArray:
        totals = sums[..., :q]
        # Two mean ranks differ by the ratings between the levels plus half of those at both, which
        # is Krippendorff's ordinal distance.
        ranks = np.cumsum(totals, axis=-1) - totals / 2.0
        apart = (ranks[..., high] - ranks[..., low]) ** 2
        n = totals.sum(axis=-1)
        seen = (sums[..., q:] * apart).sum(axis=-1) / n**2  # ranks as shares, against overflow
        expected = 2.0 * (totals[..., low] * totals[..., high] * apart).sum(axis=-1) / n**2
        return _alpha(n, seen, expected)

    return _AlphaSums(np.hstack([counts, pairs]), alpha)


_LEVELS: dict[MeasurementLevel, Callable[[_RatedUnits], _AlphaSums]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
    "ratio": _ratio,
}

"""Krippendorff's alpha: any number of raters, any scale, ratings may be missing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.agreement.ratings import coded, is_missing
from rageval_report.stats.base import Interval, check_level, check_resamples, check_seed
from rageval_report.stats.resampling import bootstrap_means
from rageval_report.types import BoolArray, FloatArray, IndexArray

# A scale of names or steps has so many levels at most; more are a measurement.
_MOST_STEPS = 30
_MOST_LEVELS = 2000
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """The queries with two ratings or more, a row each."""

    counts: FloatArray  # how many raters gave each level
    levels: npt.NDArray[Any]

    @property
    def raters(self) -> FloatArray:
        raters: FloatArray = self.counts.sum(axis=1)
        return raters


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Columns whose sums over the queries give alpha, for a table of sums or for one row of it."""

    columns: FloatArray
    alpha: Callable[[FloatArray], FloatArray]


def krippendorff_alpha(
    ratings: npt.ArrayLike,
    level: str = "nominal",
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Interval:
    """Agreement beyond chance of any number of raters, of whom each may have left queries out.

    Parameters
    ----------
    ratings : array-like of shape (n, raters)
        A row a query, a column a rater; None and NaN are missing. A query with fewer than two
        ratings is left out.
    level : {"nominal", "ordinal", "interval", "ratio"}
        What the ratings are: names, steps of a scale, numbers whose differences mean something,
        numbers with a zero as well. Names are steps in alphabetical order.
    confidence_level : float
        Of the interval.
    n_resamples, seed : int
        Of the bootstrap over queries.

    Returns
    -------
    Interval
        1 where all agree, 0 as by chance. The limits are percentiles of a bootstrap over queries;
        NaN where one rating occurs only, or all queries are rated alike by all their raters.

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
    if level not in _LEVELS:
        raise UnknownNameError("level of measurement", level, _LEVELS)
    sums = _LEVELS[level](_units(ratings, level))
    n = len(sums.columns)
    estimate = float(sums.alpha(sums.columns.sum(axis=0)))
    if math.isnan(estimate):
        note = "all ratings are alike: nothing can be said of agreement beyond chance"
        return Interval(estimate, math.nan, math.nan, math.nan, "percentile", confidence, (note,))
    if n < 2 or estimate >= 1.0 - _ROUNDING:
        note = "one query" if n < 2 else "all raters agree: a resample cannot differ"
        return Interval(estimate, math.nan, math.nan, math.nan, "percentile", confidence, (note,))
    means = bootstrap_means(sums.columns, n_resamples=resamples, seed=drawn_from)
    return _percentiles(estimate, sums.alpha(means * n), confidence)


def _percentiles(estimate: float, drawn: FloatArray, level: float) -> Interval:
    known = drawn[~np.isnan(drawn)]
    lost = drawn.size - known.size
    if known.size < 2:
        note = "too few resamples hold ratings that differ"
        return Interval(estimate, math.nan, math.nan, math.nan, "percentile", level, (note,))
    tail = (1.0 - level) / 2.0
    low, high = (float(one) for one in np.quantile(known, (tail, 1.0 - tail)))
    notes = (f"{lost} resamples with ratings all alike are left out",) if lost else ()
    error = float(known.std(ddof=1))
    return Interval(estimate, low, high, error, "percentile", level, notes)


# -- the ratings


def _units(ratings: npt.ArrayLike, level: str) -> _Units:
    """The ratings as counts of levels."""
    table = np.asarray(ratings)
    if table.dtype.kind not in "bifu":
        table = np.asarray(ratings, dtype=object)
    if table.ndim != 2:
        raise DataError(
            f"expected a row a query and a column a rater; got an array of shape {table.shape}"
        )
    there = ~is_missing(table)
    there &= (there.sum(axis=1) >= 2)[:, np.newaxis]
    if not there.any():
        raise DataError("no query has two ratings; check that the raters rated the same queries")
    codes, levels = coded(table[there], None)
    _check_levels(levels, level)
    return _Units(_counted(codes, there, len(levels)), levels)


def _counted(codes: IndexArray, there: BoolArray, q: int) -> FloatArray:
    rows = np.nonzero(there)[0]
    kept, row = np.unique(rows, return_inverse=True)
    flat = np.bincount(row * q + codes, minlength=kept.size * q)
    return flat.reshape(kept.size, q).astype(np.float64)


def _check_levels(levels: npt.NDArray[Any], level: str) -> None:
    if level in ("interval", "ratio"):
        if levels.dtype.kind != "f":
            raise DataError(f"the level {level!r} needs numbers; got names: use 'nominal'")
        if not np.isfinite(levels).all():
            raise DataError("ratings must be finite numbers or missing")
    if level == "ratio" and (levels < 0).any():
        raise DataError("the level 'ratio' needs numbers of at least 0; use 'interval'")
    most = {"ordinal": _MOST_STEPS, "interval": math.inf}.get(level, _MOST_LEVELS)
    if len(levels) > most:
        raise DataError(
            f"{len(levels)} different ratings are too many for the level {level!r} (at most "
            f"{most}); use 'interval', or round them"
        )


# -- the levels of measurement


def _alpha(n: FloatArray, seen: FloatArray, expected: FloatArray) -> FloatArray:
    """1 - Do / De of sums; NaN where nothing differs, but for rounding."""
    scale = np.maximum(n * n, 1.0) * _ROUNDING
    some = expected > scale
    return np.where(some, 1.0 - (n - 1.0) * seen / np.where(some, expected, 1.0), math.nan)


def _of_fixed_distances(units: _Units, apart: FloatArray) -> _Sums:
    """Levels that lie as far apart in every sample."""
    counts, raters = units.counts, units.raters
    seen = ((counts @ apart) * counts).sum(axis=1) / (raters - 1.0)

    def alpha(sums: FloatArray) -> FloatArray:
        given = sums[..., 1:]
        return _alpha(given.sum(axis=-1), sums[..., 0], ((given @ apart) * given).sum(axis=-1))

    return _Sums(np.column_stack([seen, counts]), alpha)


def _nominal(units: _Units) -> _Sums:
    return _of_fixed_distances(units, 1.0 - np.eye(len(units.levels)))


def _ratio(units: _Units) -> _Sums:
    levels = units.levels[:, np.newaxis]
    total = levels + units.levels
    apart = (levels - units.levels) / np.where(total > 0, total, 1.0)
    return _of_fixed_distances(units, apart**2)


def _interval(units: _Units) -> _Sums:
    """From moments, so that any number of levels will do."""
    scale = float(np.ptp(units.levels)) or 1.0
    levels = (units.levels - units.levels.mean()) / scale
    first, second, raters = units.counts @ levels, units.counts @ levels**2, units.raters
    seen = 2.0 * (raters * second - first**2) / (raters - 1.0)

    def alpha(sums: FloatArray) -> FloatArray:
        seen, n, first, second = (sums[..., place] for place in range(4))
        return _alpha(n, seen, 2.0 * (n * second - first**2))

    return _Sums(np.column_stack([seen, raters, first, second]), alpha)


def _ordinal(units: _Units) -> _Sums:
    """Levels lie apart by their mean ranks, which move with the sample."""
    counts, raters, q = units.counts, units.raters, len(units.levels)
    low, high = np.triu_indices(q, 1)
    pairs = 2.0 * counts[:, low] * counts[:, high] / (raters - 1.0)[:, np.newaxis]

    def alpha(sums: FloatArray) -> FloatArray:
        given = sums[..., :q]
        ranks = np.cumsum(given, axis=-1) - given / 2.0
        apart = (ranks[..., high] - ranks[..., low]) ** 2
        n = given.sum(axis=-1)
        seen = (sums[..., q:] * apart).sum(axis=-1) / n**2  # ranks as shares, against overflow
        expected = 2.0 * (given[..., low] * given[..., high] * apart).sum(axis=-1) / n**2
        return _alpha(n, seen, expected)

    return _Sums(np.hstack([counts, pairs]), alpha)


_LEVELS: dict[str, Callable[[_Units], _Sums]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
    "ratio": _ratio,
}

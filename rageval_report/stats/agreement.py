"""Agreement beyond chance: the kappas of Cohen and Fleiss, Gwet's AC, Krippendorff's alpha.

All are ``(observed - chance) / (1 - chance)``; they differ in what they take for chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from rageval_report.errors import DataError, check_choice, named
from rageval_report.stats.base import Interval, check_level, check_resamples, check_seed
from rageval_report.stats.bootstrap import bootstrap_counts
from rageval_report.stats.units import are_missing
from rageval_report.types import FloatArray, IndexArray

Weights: TypeAlias = Literal["linear", "quadratic"]
MeasurementLevel: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]

# Relative to the numbers that are added, anything below this is the rounding of a sum.
_ROUNDING = 1e-12
# Time and memory of alpha grow with the number of levels, for steps with its square.
_MOST_LEVELS = {"nominal": 2000, "ordinal": 50, "interval": math.inf, "ratio": 50}

# Sums over queries become alphas; the last axis holds the sums.
_Alpha: TypeAlias = Callable[[FloatArray], FloatArray]


def cohen_kappa(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    weights: Weights | None = None,
    *,
    categories: Iterable[object] | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    """Agreement of two raters beyond chance, where chance follows each rater's own frequencies.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        One rating per query, numbers or names; a query without a rating (None, NaN or a blank text)
        on either side is left out.
    weights : {None, "linear", "quadratic"}
        None counts only equal ratings; the others count near ratings in part. The distance of two
        numbers is their difference, that of two names the difference of their places.
    categories : iterable, optional
        All possible ratings, in order; if omitted, those that occur.
    confidence_level : float
        The confidence level of the interval.

    Returns
    -------
    Interval
        1 if all agree, 0 for agreement by chance; NaN if both raters used only one category.

    Raises
    ------
    DataError
        If nothing was rated by both, or a rating is not among the categories.
    UnknownNameError
        If there are no such weights.

    Notes
    -----
    If one category is rare, kappa is low however well the raters agree; look at `gwet_ac1` too.
    The interval is the large-sample one of Fleiss, Cohen and Everitt with n - 1 for n, and t.

    References
    ----------
    .. [1] Cohen (1960). A coefficient of agreement for nominal scales.
    .. [2] Fleiss, Cohen & Everitt (1969). Large sample standard errors of kappa and weighted kappa.

    Examples
    --------
    >>> judge = [1, 1, 1, 1, 0, 0, 0, 1, 1, 0]
    >>> people = [1, 1, 1, 0, 0, 0, 0, 1, 1, 1]
    >>> kappa = cohen_kappa(judge, people)
    >>> round(kappa.estimate, 3), round(kappa.low, 3), round(kappa.high, 3)
    (0.583, -0.042, 1.0)
    """
    level = check_level(confidence_level)
    first, second, known = _rated_pairs(a, b, categories)
    weight = _agreement_weights(known, weights)
    with_a, with_b = weight @ _shares(first, known), weight @ _shares(second, known)
    return _chance_corrected(weight[first, second], (with_b[first] + with_a[second]) / 2.0, level)


def gwet_ac1(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    categories: Iterable[object] | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    """Agreement of two raters beyond chance, where chance is a guess among the categories.

    Parameters
    ----------
    a, b, confidence_level
        As in `cohen_kappa`.
    categories : iterable, optional
        All possible ratings; if omitted, those that occur. Their number matters here.

    Returns
    -------
    Interval
        1 if all agree, 0 for agreement by chance.

    Raises
    ------
    DataError
        If nothing was rated by both, or a rating is not among the categories.

    Notes
    -----
    If nearly all queries are of one category, Cohen's kappa falls to 0 although the raters agree on
    most; AC1 does not. With the share pi of each of q categories, chance is the sum of
    pi (1 - pi) over q - 1. The interval is Gwet's, with t.

    References
    ----------
    .. [1] Gwet (2008). Computing inter-rater reliability and its variance in the presence of high
       agreement.

    Examples
    --------
    >>> judge = [1] * 18 + [0, 1]
    >>> people = [1] * 18 + [1, 0]
    >>> round(gwet_ac1(judge, people).estimate, 2)  # Cohen's kappa is -0.05
    0.89
    """
    return gwet_ac2(a, b, None, categories=categories, confidence_level=confidence_level)


def gwet_ac2(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    weights: Weights | None = "quadratic",
    *,
    categories: Iterable[object] | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    """`gwet_ac1` with weights, for ratings on a scale: near ratings agree in part.

    Parameters
    ----------
    a, b, categories, confidence_level
        As in `gwet_ac1`.
    weights : {None, "linear", "quadratic"}
        As in `cohen_kappa`.

    Returns
    -------
    Interval

    Raises
    ------
    DataError, UnknownNameError
        As in `cohen_kappa`.

    Examples
    --------
    >>> round(gwet_ac2([1, 2, 3, 4, 4], [1, 2, 4, 4, 3]).estimate, 2)
    0.86
    """
    level = check_level(confidence_level)
    first, second, known = _rated_pairs(a, b, categories)
    weight, q = _agreement_weights(known, weights), known.size
    if q == 1:  # the agreement by chance divides by q - 1
        note = "only one category occurs; list all possible ones with categories="
        return Interval.unknown(math.nan, "delta", level, note)
    others = 1.0 - (_shares(first, known) + _shares(second, known)) / 2.0
    # Without weights this is 1 / (q - 1), the factor of AC1.
    scale = float(weight.sum()) / (q * (q - 1))
    by_chance = scale * (others[first] + others[second]) / 2.0
    return _chance_corrected(weight[first, second], by_chance, level)


def fleiss_kappa(counts: npt.ArrayLike, *, confidence_level: float = 0.95) -> Interval:
    """Agreement of several raters beyond chance; the raters may change from query to query.

    Parameters
    ----------
    counts : array-like of shape (n, q)
        How many raters put each query in each category; the same number of raters, at least two,
        for every query.
    confidence_level : float
        The confidence level of the interval.

    Returns
    -------
    Interval

    Raises
    ------
    DataError
        If the counts are not integers, or the number of raters differs between queries.

    Notes
    -----
    The interval is Gwet's, which is valid at any agreement; Fleiss' own standard error is valid
    only without agreement.

    References
    ----------
    .. [1] Fleiss (1971). Measuring nominal scale agreement among many raters.
    .. [2] Gwet (2021). Large-sample variance of Fleiss generalized kappa.

    Examples
    --------
    >>> round(fleiss_kappa([[3, 0], [2, 1], [0, 3], [3, 0]]).estimate, 3)
    0.625
    """
    level = check_level(confidence_level)
    table = _check_counts(counts)
    raters = float(table[0].sum())
    observed = (table * (table - 1.0)).sum(axis=1) / (raters * (raters - 1.0))
    return _chance_corrected(observed, table @ table.mean(axis=0) / raters**2, level)


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
        One row per query, one column per rater; None, NaN and blank texts are missing. A query with
        fewer than two ratings is left out.
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
    confidence, n_resamples = check_level(confidence_level), check_resamples(n_resamples)
    check_choice("level", level, get_args(MeasurementLevel))
    columns, alpha = _summands(*_used_ratings(ratings, level), level)
    # Distinct rows in ascending order, whatever the last digits are: shuffled queries, and ratings
    # in another unit, give the same resamples.
    rows, counts = np.unique(columns.round(12), axis=0, return_counts=True)
    estimate, n = float(alpha(counts @ rows)), int(counts.sum())
    note = "one query" if n < 2 else ""
    if math.isnan(estimate):
        note = "all ratings are the same: agreement beyond chance is not defined"
    elif estimate >= 1.0 - _ROUNDING:
        note = "all raters agree: a resample cannot differ"
    if note:
        return Interval.unknown(estimate, "percentile", confidence, note)
    resamples = bootstrap_counts(counts, n_resamples, check_seed(seed))
    drawn = np.concatenate([alpha(often @ rows) for often in resamples])
    return _percentiles(estimate, drawn, confidence)


# -- ratings as numbers


def _read(ratings: npt.ArrayLike, dimensions: int, expected: str) -> npt.NDArray[Any]:
    """The ratings as an array of this many dimensions: numbers, or objects."""
    table = np.asarray(ratings)
    # NumPy would turn None next to names into the text "None"; among objects it stays None.
    if table.dtype.kind not in "bifu":
        table = np.asarray(ratings, dtype=object)
    if table.ndim != dimensions:
        raise DataError(f"{expected}; got an array of shape {table.shape}")
    return table


def _encode(
    ratings: npt.NDArray[Any], categories: Iterable[object] | None
) -> tuple[IndexArray, npt.NDArray[Any]]:
    """Ratings as places among the categories; if these are omitted, those that occur."""
    plain = _numbers_or_texts(ratings)
    if categories is None:
        known, codes = np.unique(plain, return_inverse=True)
        return codes, known
    known = _numbers_or_texts(np.asarray(list(categories)))
    places = {category: place for place, category in enumerate(known.tolist())}
    if len(places) < len(known):
        raise DataError(f"categories must differ; one appears twice: {named(known.tolist())}")
    codes = np.array([places.get(rating, -1) for rating in plain.tolist()], dtype=np.intp)
    if (codes < 0).any():
        unknown = np.unique(plain[codes < 0]).tolist()
        raise DataError(
            f"ratings must be among the categories {named(known.tolist())}; got {named(unknown)}"
        )
    return codes, known


def _numbers_or_texts(ratings: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The ratings as floats if all are numbers, else as texts, so that they have an order."""
    try:
        numbers = ratings.astype(np.float64)
    except (TypeError, ValueError):
        return np.asarray([str(rating) for rating in ratings])
    if np.isinf(numbers).any():
        n_infinite = int(np.isinf(numbers).sum())
        raise DataError(f"ratings must be finite numbers or missing; {n_infinite} are infinite")
    return numbers


# -- two raters, and counts of raters


def _rated_pairs(
    a: npt.ArrayLike, b: npt.ArrayLike, categories: Iterable[object] | None
) -> tuple[IndexArray, IndexArray, npt.NDArray[Any]]:
    """Both raters' ratings as places among the categories, of the queries that both rated."""
    first, second = (_read(side, 1, "ratings must hold one rating per query") for side in (a, b))
    if first.size != second.size:
        raise DataError(
            "expected two ratings of each query, both sides in the same order; got "
            f"{first.size} and {second.size} ratings"
        )
    both = ~(are_missing(first) | are_missing(second))
    if not both.any():
        raise DataError("no query was rated by both; check that the ratings belong together")
    codes, known = _encode(np.concatenate([first[both], second[both]]), categories)
    first, second = np.split(codes, 2)
    return first, second, known


def _shares(codes: IndexArray, categories: npt.NDArray[Any]) -> FloatArray:
    return np.bincount(codes, minlength=categories.size) / codes.size


def _agreement_weights(categories: npt.NDArray[Any], weights: Weights | None) -> FloatArray:
    """How far two categories agree: 1 for the same, less the farther they lie apart."""
    if weights is not None:
        check_choice("weights", weights, get_args(Weights))
    if weights is None or categories.size == 1:
        return np.eye(categories.size)
    is_number = categories.dtype.kind == "f"
    places = categories if is_number else np.arange(categories.size, dtype=np.float64)
    apart = np.abs(np.subtract.outer(places, places)) / np.ptp(places)
    return np.asarray(1.0 - (apart if weights == "linear" else apart**2))


def _check_counts(counts: npt.ArrayLike) -> FloatArray:
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or not table.size:
        raise DataError(
            "expected one row per query and one column per category; got an array of shape "
            f"{table.shape}"
        )
    if not (np.isfinite(table) & (table >= 0) & (table == np.floor(table))).all():
        raise DataError("counts of raters must be integers >= 0")
    raters = np.unique(table.sum(axis=1))
    if raters.size > 1 or raters[0] < 2:
        raise DataError(
            "Fleiss' kappa needs the same number of raters, at least 2, for every query; got "
            f"{raters[0]:g} to {raters[-1]:g}: leave some out, or use krippendorff_alpha"
        )
    return table


def _chance_corrected(observed: FloatArray, by_chance: FloatArray, level: float) -> Interval:
    """The coefficient with the interval of the delta method and Student's t."""
    n, agreement, chance = observed.size, float(observed.mean()), float(by_chance.mean())
    room = 1.0 - chance
    if room <= _ROUNDING:
        note = "all ratings are of one category: agreement beyond chance is not defined"
        return Interval.unknown(math.nan, "delta", level, note)
    estimate = (agreement - chance) / room
    if n < 2:
        return Interval.unknown(estimate, "delta", level, "one query")
    # Chance is a product of shares, so a query moves it twice: by its own ratings and as one of
    # those that others meet.
    moved = observed - agreement - (1.0 - estimate) * 2.0 * (by_chance - chance)
    error = math.sqrt(float(((moved / room) ** 2).sum()) / (n * (n - 1)))
    if float(np.abs(moved).max()) <= _ROUNDING * room:
        note = "all queries have the same influence, so the large-sample interval is not defined"
        return replace(Interval.unknown(estimate, "delta", level, note), standard_error=0.0)
    reach = float(stdtrit(n - 1, 0.5 + level / 2.0)) * error
    low, high = max(estimate - reach, -1.0), min(estimate + reach, 1.0)
    return Interval(estimate, low, high, error, "delta", level)


# -- any number of raters


def _used_ratings(
    ratings: npt.ArrayLike, level: MeasurementLevel
) -> tuple[IndexArray, IndexArray, npt.NDArray[Any]]:
    """Ratings as places among the levels, query by query; where each query starts; the levels."""
    table = _read(ratings, 2, "expected one row per query and one column per rater")
    is_used = ~are_missing(table.ravel()).reshape(table.shape)
    # A single rating can agree with nothing; it does not count for the agreement by chance either
    # (Krippendorff 2011).
    is_used &= (is_used.sum(axis=1) >= 2)[:, np.newaxis]
    if not is_used.any():
        raise DataError("no query has two ratings; check that the raters rated the same queries")
    codes, levels = _encode(table[is_used], None)
    if level in ("interval", "ratio") and levels.dtype.kind != "f":
        raise DataError(f"the level {level!r} needs numbers; got names: use 'nominal'")
    if level == "ratio" and (levels < 0).any():
        raise DataError("the level 'ratio' needs numbers >= 0; use 'interval'")
    if levels.size > (most := _MOST_LEVELS[level]):
        raise DataError(
            f"{levels.size} different ratings are too many for the level {level!r} (at most "
            f"{most}); use 'interval', or round them"
        )
    return codes, np.unique(np.nonzero(is_used)[0], return_index=True)[1], levels


def _summands(
    codes: IndexArray, starts: IndexArray, levels: npt.NDArray[Any], level: MeasurementLevel
) -> tuple[FloatArray, _Alpha]:
    """A row of each query, and the alpha of the sums of such rows."""
    if level == "nominal":
        return _by_places(codes, starts, np.eye(levels.size))
    if level == "interval":
        # Centred and scaled, because the difference of two sums of squares loses digits far from
        # zero.
        places = (levels - levels.mean()) / (float(np.ptp(levels)) or 1.0)
        return _by_places(codes, starts, places[:, np.newaxis])
    if level == "ratio":
        return _by_pairs(
            codes, starts, lambda _, i, j: (levels[j] - levels[i]) / (levels[j] + levels[i])
        )
    return _by_pairs(codes, starts, _ranks_between)


def _by_places(
    codes: IndexArray, starts: IndexArray, places: FloatArray
) -> tuple[FloatArray, _Alpha]:
    """For any number of levels that are points, with one row of coordinates each."""
    columns = np.column_stack([np.ones(len(places)), (places**2).sum(axis=1), places])
    moments = np.add.reduceat(columns[codes], starts)

    def scatter(sums: FloatArray) -> FloatArray:
        return np.asarray(sums[..., 0] * sums[..., 1] - (sums[..., 2:] ** 2).sum(axis=-1))

    def alpha(sums: FloatArray) -> FloatArray:
        return _alpha(sums[..., 1], sums[..., 0], scatter(sums[..., 1:]))

    # Each pair of ratings weighs 1 / (raters - 1), so that a query counts by its number of ratings.
    return np.column_stack([scatter(moments) / (moments[:, 0] - 1.0), moments]), alpha


def _ranks_between(totals: FloatArray, low: IndexArray, high: IndexArray) -> FloatArray:
    # Two mean ranks differ by the ratings between the levels plus half of those at both, which is
    # Krippendorff's ordinal distance. As shares, so that their squares stay small.
    ranks = (np.cumsum(totals, axis=-1) - totals / 2.0) / totals.sum(axis=-1, keepdims=True)
    return np.asarray(ranks[..., high] - ranks[..., low])


def _by_pairs(
    codes: IndexArray, starts: IndexArray, apart: Callable[..., FloatArray]
) -> tuple[FloatArray, _Alpha]:
    """For a few levels, whose distances may depend on how often each occurs."""
    q = int(codes.max()) + 1
    low, high = np.triu_indices(q, 1)
    counts = np.add.reduceat(np.eye(q)[codes], starts)
    together = counts[:, low] * counts[:, high] / (counts.sum(axis=1, keepdims=True) - 1.0)

    def alpha(sums: FloatArray) -> FloatArray:
        totals = sums[..., :q]
        squares = apart(totals, low, high) ** 2
        expected = (totals[..., low] * totals[..., high] * squares).sum(axis=-1)
        return _alpha(totals.sum(axis=-1), (sums[..., q:] * squares).sum(axis=-1), expected)

    return np.hstack([counts, together]), alpha


def _alpha(n: FloatArray, seen: FloatArray, expected: FloatArray) -> FloatArray:
    """1 - Do / De from sums; NaN if nothing differs up to rounding."""
    differs = expected > np.maximum(n * n, 1.0) * _ROUNDING
    # Krippendorff's n - 1: by chance, a rating meets one of the n - 1 others.
    return np.where(differs, 1.0 - (n - 1.0) * seen / np.where(differs, expected, 1.0), math.nan)


def _percentiles(estimate: float, drawn: FloatArray, level: float) -> Interval:
    """The interval from the alphas of resamples."""
    known = drawn[~np.isnan(drawn)]
    n_undefined = drawn.size - known.size
    if known.size < 2:
        note = "too few resamples contain ratings that differ"
        return Interval.unknown(estimate, "percentile", level, note)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(known, (tail, 1.0 - tail)).tolist()
    note = f"{n_undefined} resamples in which all ratings are the same are left out"
    notes = (note,) if n_undefined else ()
    return Interval(estimate, low, high, float(known.std(ddof=1)), "percentile", level, notes)

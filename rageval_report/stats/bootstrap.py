"""Intervals of a mean that know no bounds, by Student's t and the bootstrap; and resamples.

A resample of n numbers is a row of counts: how often each distinct number is drawn. The numbers are
in ascending order, so the order of the rows of a table moves no result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats import base
from rageval_report.stats.base import Interval
from rageval_report.stats.columns import Column, condense
from rageval_report.stats.units import mean_error
from rageval_report.types import FloatArray, IntArray

# The most counts in memory at a time: 256 KiB, which stays in the cache of a core.
_BLOCK = 2**15
# Counting single draws takes less time than drawing the counts up to so many draws per count.
_DRAWS_PER_COUNT = 16
# More values are rounded to a grid; a bootstrap of so many numbers resolves much less than that.
_MOST_VALUES = 2**10
# A resample whose variance is this small, relative to the variance of the numbers, has none: what
# is left is rounding.
_NO_SPREAD = 1e-12


# -- intervals


def bootstrap_interval(
    column: Column,
    method: str = "studentised",
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
    **_options: object,
) -> Interval:
    """The interval of a mean by resampling: "percentile", "bca" or "studentised".

    Without limits for one number, and of zero width, with a note, if all numbers are equal.

    References
    ----------
    .. [1] Efron and Tibshirani (1993). An introduction to the bootstrap. Chapman & Hall.
    .. [2] Efron (1987). Better bootstrap confidence intervals. JASA 82.
    .. [3] Hall (1988). Theoretical comparison of bootstrap confidence intervals. Annals of
           Statistics 16.

    Examples
    --------
    >>> seconds = Column.of([0.8, 1.1, 0.9, 1.3, 4.0, 1.0, 1.2, 0.7])
    >>> interval = bootstrap_interval(seconds)
    >>> interval.estimate, interval.low < 1.0, interval.high > 2.5
    (1.375, True, True)
    """
    level = base.check_level(confidence_level)
    if degenerate := interval_without_spread(column, method, level):
        return degenerate
    drawing = base.check_resamples(n_resamples), base.check_seed(seed)
    means, variances = _resampled_moments(column, *drawing)
    tail = (1.0 - level) / 2.0
    if method == "studentised":
        is_flat = variances <= _NO_SPREAD
        errors = np.sqrt(np.where(is_flat, 1.0, variances) / (column.n - 1))
        ratios = np.where(is_flat, np.copysign(np.inf, means), means / errors)
        limits = _between(-ratios, tail, tail)
    else:
        tails = _bca_tails(column, means, tail) if method == "bca" else (tail, tail)
        limits = _between(means * math.sqrt(column.n), *tails)
    if not (math.isfinite(limits[0]) and math.isfinite(limits[1])):
        note = f"too many resamples of {column.n} scores have no spread: this is the t interval"
        return replace(student_t(column, level), notes=(note,))
    low, high = (column.mean + column.standard_error * limit for limit in limits)
    return Interval(column.mean, low, high, column.standard_error, method, level)


def student_t(column: Column, confidence_level: float, **_options: object) -> Interval:
    """The t interval of a mean; of zero width, with a note, if all numbers are equal."""
    from scipy.special import stdtrit

    if degenerate := interval_without_spread(column, "t", confidence_level):
        return degenerate
    error, degrees = mean_error(column)
    mean, reach = column.mean, float(stdtrit(degrees, 0.5 + confidence_level / 2.0)) * error
    return Interval(mean, mean - reach, mean + reach, error, "t", confidence_level)


def interval_without_spread(column: Column, method: str, level: float) -> Interval | None:
    """The interval of one number, or of equal ones, for methods that need a spread; else None."""
    mean = column.mean
    if column.n < 2:
        note = "one score: no interval" if column.n else "nothing scored"
        return Interval.unknown(mean, method, level, note)
    if not column.is_constant:
        return None
    note = f"all {column.n} numbers are equal: without spread the interval has no width"
    return Interval(mean, mean, mean, 0.0, method, level, (note,))


def bootstrap_means(column: Column, *, n_resamples: int = 9999, seed: int = 0) -> FloatArray:
    """The means of bootstrap resamples of a column."""
    if not column.std > 0.0:
        return np.full(n_resamples, column.mean)
    means, _ = _resampled_moments(column, n_resamples, seed)
    return column.mean + column.std * means


def _resampled_moments(
    column: Column, n_resamples: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """The mean and the variance of each resample, of numbers with mean 0 and variance 1."""
    values, counts = column.values, column.counts
    if values.size > _MOST_VALUES and column.weights is None:
        values, counts = condense(values, counts, _MOST_VALUES // 2)
    scaled = (values - column.mean) / column.std
    # The order is that of the mirrored numbers if these are more skewed: exchanging two pipelines
    # then changes the sign of every resampled difference, and nothing else.
    order = slice(None, None, -1 if counts @ scaled**3 < 0.0 else 1)
    scaled, counts = scaled[order], counts[order]
    if column.n <= _DRAWS_PER_COUNT * scaled.size:
        listed = np.repeat(scaled, counts.astype(np.intp))
        drawn = (listed.take(places) for places in _drawn_places(column.n, n_resamples, seed))
        sums = [np.array((r.sum(axis=1), np.einsum("ij,ij->i", r, r))) for r in drawn]
    else:
        table = np.column_stack((scaled, scaled**2))
        sums = [(often @ table).T for often in bootstrap_counts(counts, n_resamples, seed)]
    means, squares = np.concatenate(sums, axis=1) / column.n
    return means, np.maximum(squares - means * means, 0.0)


def _bca_tails(column: Column, means: FloatArray, tail: float) -> tuple[float, float]:
    """The tails that are corrected for bias and for an error that grows with the mean."""
    from scipy.special import ndtr, ndtri

    scaled = (column.values - column.mean) / column.std
    squares = float(column.counts @ scaled**2)
    acceleration = float(column.counts @ scaled**3) / (6.0 * squares**1.5)
    ties = np.abs(means) <= base.TIE_TOLERANCE * max(1.0, float(np.abs(scaled).max()))
    share = float(np.mean((means < 0.0) & ~ties) + np.mean(ties) / 2.0)
    bias = ndtri(np.clip(share, 0.5 / means.size, 1.0 - 0.5 / means.size))
    shifted = bias + ndtri(np.array([tail, 1.0 - tail]))
    # Kept above zero: with strong skewness and a level near 1 the formula would change its sign.
    shrink = np.maximum(1.0 - acceleration * shifted, np.finfo(float).tiny)
    low, high = bias + shifted / shrink
    return float(ndtr(low)), float(ndtr(-high))


def _between(values: FloatArray, lower: float, upper: float) -> tuple[float, float]:
    """The order statistics that leave these shares of the values below and above."""
    ranks = np.clip(np.ceil(values.size * np.array([lower, upper]) - 1e-9), 1, values.size)
    from_low, from_high = ranks.astype(int).tolist()
    ordered = np.sort(values)
    return float(ordered[from_low - 1]), float(ordered[-from_high])


# -- resamples


def bootstrap_counts(counts: npt.ArrayLike, n_resamples: int, seed: int) -> Iterator[FloatArray]:
    """How often each value is drawn: one row per resample, some resamples at a time."""
    often = np.asarray(counts, dtype=np.float64)
    size, n = often.size, round(float(often.sum()))
    if n > _DRAWS_PER_COUNT * size:
        rng, height = np.random.default_rng(seed), max(1, _BLOCK // size)
        for start in range(0, n_resamples, height):
            yield rng.multinomial(n, often / n, min(height, n_resamples - start)).astype(float)
        return
    values = np.repeat(np.arange(size), often.astype(np.intp))
    for places in _drawn_places(n, n_resamples, seed):
        # All rows are counted at once, several times as fast as drawing the counts themselves.
        drawn = values[places] + size * np.arange(len(places))[:, np.newaxis]
        counted = np.bincount(drawn.ravel(), minlength=drawn.size // n * size)
        yield counted.reshape(-1, size).astype(np.float64)


def _drawn_places(n: int, n_resamples: int, seed: int) -> Iterator[IntArray]:
    """Which of n numbers are drawn, one row per resample, some resamples at a time."""
    rng, height = np.random.default_rng(seed), max(1, _BLOCK // n)
    for start in range(0, n_resamples, height):
        yield rng.integers(0, n, size=(min(height, n_resamples - start), n))


def resampled_statistics(
    blocks: Sequence[npt.ArrayLike],
    quantiles: Sequence[float | None],
    *,
    clusters: npt.ArrayLike | None = None,
    n_resamples: int = 9999,
    seed: int = 0,
) -> FloatArray:
    """A mean or percentile of every column of every block, on the same resamples of the queries."""
    matrices = [np.asarray(block, dtype=np.float64) for block in blocks]
    shapes = {matrix.shape for matrix in matrices}
    if len(shapes) != 1 or any(len(shape) != 2 or 0 in shape for shape in shapes):
        raise DataError(
            "expected blocks of one shape, one row per query and one column per pipeline; got "
            f"{sorted(shapes) or 'none'}"
        )
    order, units = _stable_order(np.hstack(matrices), clusters)
    columns = [(m[order], quantile) for m, quantile in zip(matrices, quantiles, strict=True)]
    ones = np.ones(int(units.max()) + 1)
    drawn = bootstrap_counts(ones, base.check_resamples(n_resamples), base.check_seed(seed))
    parts = [[_under_counts(counts[:, units], *each) for each in columns] for counts in drawn]
    return np.concatenate([np.stack(part, axis=1) for part in parts])


def _stable_order(rows: FloatArray, clusters: npt.ArrayLike | None) -> tuple[IntArray, IntArray]:
    """An order of the rows by what they hold, and the unit of each row in that order."""
    order = np.lexsort(rows.T)
    if clusters is None:
        return order, np.arange(len(rows))
    labels = np.asarray(clusters)[order]
    _, first, units = np.unique(labels, return_index=True, return_inverse=True)
    # Clusters are ordered by their first row; if those are equal, by the sums of all their rows.
    ordered = np.nan_to_num(rows[order])
    kinds = np.cumsum(np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1)))
    sums = [np.bincount(units, weights=column) for column in ordered.T]
    ranks = np.argsort(np.lexsort((*sums, np.bincount(units), kinds[first])))
    return order, ranks[units]


def _under_counts(counts: FloatArray, matrix: FloatArray, quantile: float | None) -> FloatArray:
    """The mean, or a quantile, of each column of a block if its rows occur this often."""
    rows = np.flatnonzero(~np.isnan(matrix).any(axis=1))
    if not rows.size:
        return np.full((len(counts), matrix.shape[1]), math.nan)
    scored, used = matrix[rows], counts[:, rows]
    totals = used.sum(axis=1, keepdims=True)
    totals[totals == 0] = math.nan
    if quantile is None:
        offset = scored.mean(axis=0)
        return np.asarray(used @ (scored - offset) / totals + offset)  # these sums lose no digits
    place = quantile * (totals - 1)
    below, above = np.floor(place), np.ceil(place)
    columns = []
    for column in scored.T:
        order = np.argsort(column, kind="stable")
        # In sorted order the score of rank r is the first that r drawn scores do not exceed.
        reached, ordered = np.cumsum(used[:, order], axis=1), column[order]
        ends = [ordered[(reached > rank).argmax(axis=1)] for rank in (below, above)]
        weight = (place - below)[:, 0]
        columns.append((1.0 - weight) * ends[0] + weight * ends[1])
    return np.stack(columns, axis=1)


def expanded_limits(
    drawn: npt.ArrayLike, n: int, confidence_level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """The expanded percentile interval of a statistic, from its values on resamples.

    Plain percentiles are too narrow for few queries: by the factor of the standard deviation with n
    instead of n - 1, and by the normal instead of the t distribution. Percentiles further out make
    up for both.

    Parameters
    ----------
    drawn : array-like of shape (n_resamples, ...)
        The statistic on each resample.
    n : int
        The number of queries.
    confidence_level : float
        Between 0 and 1.

    Returns
    -------
    tuple of ndarray
        The lower and the upper limits; NaN for fewer than two queries, or without resamples.

    References
    ----------
    .. [1] Hesterberg (2015). What teachers should know about the bootstrap: resampling in the
       undergraduate statistics curriculum. The American Statistician 69(4).

    Examples
    --------
    >>> low, high = expanded_limits(np.linspace(-1, 1, 2001), 10)
    >>> round(float(low), 3), round(float(high), 3)
    (-0.983, 0.983)
    """
    from scipy.special import ndtr, stdtrit

    values = np.asarray(drawn, dtype=np.float64)
    if n < 2 or not len(values):
        undefined = np.full(values.shape[1:], np.nan)
        return undefined, undefined
    t = stdtrit(n - 1, (1.0 + confidence_level) / 2)
    tail = float(ndtr(-t * np.sqrt(n / (n - 1))))
    low, high = np.quantile(values, [tail, 1.0 - tail], axis=0)
    return low, high


def bootstrap_pvalue(drawn: npt.ArrayLike, n: int, threshold: float = 0.0) -> float:
    """The one-sided p-value that a statistic exceeds a threshold, from its values on resamples."""
    from scipy.special import ndtri, stdtr

    values = np.asarray(drawn, dtype=np.float64)
    if n < 2 or not len(values):
        return math.nan
    # The observed data are one of the resamples, so that no p-value is zero.
    share = (1 + int((values <= threshold).sum())) / (len(values) + 1)
    return float(stdtr(n - 1, ndtri(share) * math.sqrt((n - 1) / n)))

"""Means and percentiles of many columns on the same bootstrap resamples of the queries.

Each resample is a row of counts, how often each query is drawn, and serves all columns: results of
several columns, e.g. a weighted score or whether one pipeline dominates another, keep their
dependence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.errors import DataError, UnknownValueError
from rageval_report.stats.base import check_resamples, check_seed
from rageval_report.stats.row_order import canonical_order, canonical_units
from rageval_report.stats.units import QUERIES, Units
from rageval_report.types import FloatArray

_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")
_EXAMPLES = ("mean", "median", "p95")  # p95 stands for all percentiles
# The most counts in memory at a time: 16 MiB.
_BLOCK = 2**21


def quantile_of(statistic: str) -> float | None:
    """The quantile that a statistic is, between 0 and 1; None for the mean.

    Parameters
    ----------
    statistic : str
        "mean", "median", or a percentile such as "p95".

    Raises
    ------
    UnknownValueError
        If it is something else.
    DataError
        If a percentile is not between 0 and 100.

    Examples
    --------
    >>> [quantile_of(name) for name in ("mean", "median", "p95", "p99.5")]
    [None, 0.5, 0.95, 0.995]
    """
    if statistic == "mean":
        return None
    match = _PERCENTILE.fullmatch("p50" if statistic == "median" else str(statistic))
    if match is None:
        raise UnknownValueError("statistic", statistic, _EXAMPLES)
    percentile = float(match[1])
    if not 0.0 < percentile < 100.0:
        raise DataError(
            f"statistic: a percentile must be between 0 and 100, such as p95; got {statistic!r}"
        )
    return percentile / 100.0


def resampled_statistics(
    blocks: Sequence[npt.ArrayLike],
    statistics: Sequence[str],
    *,
    units: Units = QUERIES,
    n_resamples: int = 9999,
    seed: int = 0,
) -> FloatArray:
    """A mean or percentile of every column of every block, on the same resamples.

    Parameters
    ----------
    blocks : sequence of array-like of shape (n_queries, k)
        The same queries and the same number of columns in each; a row of a block is complete, or
        NaN throughout and left out of that block.
    statistics : sequence of str
        One per block: "mean", "median", or a percentile such as "p95", which interpolates linearly.
    units : Units
        The independent units of the queries, which are drawn with all their queries.
    n_resamples, seed : int
        The number of resamples, and their seed.

    Returns
    -------
    ndarray of shape (n_resamples, n_blocks, k)
        NaN if a resample contains no scored row of a block.

    Examples
    --------
    >>> blocks = [[[1.0], [1.0]], [[0.0], [8.0]]]
    >>> drawn = resampled_statistics(blocks, ["mean", "median"], n_resamples=200)
    >>> np.unique(drawn[:, 0]), np.unique(drawn[:, 1])
    (array([1.]), array([0., 4., 8.]))
    """
    matrices = [np.asarray(block, dtype=np.float64) for block in blocks]
    _check_blocks(matrices)
    matrices, units = _in_canonical_order(matrices, units)
    n, k = matrices[0].shape
    resamples, start = check_resamples(n_resamples), check_seed(seed)
    computations = [
        _computation(name, matrix) for name, matrix in zip(statistics, matrices, strict=True)
    ]
    result = np.empty((resamples, len(matrices), k))
    done = 0
    for drawn in bootstrap_counts(units.count(n), resamples, start):
        counts = drawn if units.codes is None else drawn[:, units.places]
        rows = slice(done, done + len(counts))
        for place, compute in enumerate(computations):
            result[rows, place] = compute(counts)
        done += len(counts)
    return result


def _in_canonical_order(
    matrices: Sequence[FloatArray], units: Units
) -> tuple[list[FloatArray], Units]:
    """The rows, and the units that are drawn, so that no order in which they are stored counts."""
    rows = np.hstack(matrices)
    if units.codes is None:
        order = canonical_order(rows)
        return [matrix[order] for matrix in matrices], units
    codes = canonical_units(rows, units.codes)
    order = canonical_order(rows, codes)
    return [matrix[order] for matrix in matrices], Units(codes[order])


def bootstrap_counts(n: int, n_resamples: int, seed: int) -> Iterator[FloatArray]:
    """How often each of n queries is drawn: one row per resample, some resamples at a time.

    Examples
    --------
    >>> [len(counts) for counts in bootstrap_counts(2**20, 5, seed=0)]
    [2, 2, 1]
    """
    rng = np.random.default_rng(seed)
    height = max(1, _BLOCK // n)
    for start in range(0, n_resamples, height):
        rows = min(height, n_resamples - start)
        drawn = rng.integers(0, n, size=(rows, n))
        # All rows are counted at once: 1.4 to 7 times as fast as rng.multinomial from 500 queries
        # on.
        drawn += n * np.arange(rows)[:, np.newaxis]
        counts = np.bincount(drawn.ravel(), minlength=rows * n)
        yield counts.reshape(rows, n).astype(np.float64)


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
    values = np.asarray(drawn, dtype=np.float64)
    if n < 2 or not len(values):
        undefined = np.full(values.shape[1:], np.nan)
        return undefined, undefined
    t = scipy.special.stdtrit(n - 1, (1.0 + confidence_level) / 2)
    tail = float(scipy.special.ndtr(-t * np.sqrt(n / (n - 1))))
    low, high = np.quantile(values, [tail, 1.0 - tail], axis=0)
    return low, high


def bootstrap_pvalue(drawn: npt.ArrayLike, n: int, threshold: float = 0.0) -> float:
    """The one-sided p-value that a statistic exceeds a threshold, from its values on resamples.

    It belongs to `expanded_limits`: it is at most 0.025 where the lower limit of the interval of 95
    % lies above the threshold.

    Parameters
    ----------
    drawn : array-like of shape (n_resamples,)
        The statistic on each resample.
    n : int
        The number of queries.
    threshold : float
        What the statistic is tested against.

    Returns
    -------
    float
        NaN for fewer than two queries, or without resamples.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(1.0, 0.5, 9999)
    >>> round(bootstrap_pvalue(draws, 1000), 2), round(bootstrap_pvalue(draws, 1000, 1.0), 1)
    (0.02, 0.5)
    """
    values = np.asarray(drawn, dtype=np.float64)
    if n < 2 or not len(values):
        return float("nan")
    # The observed data are one of the resamples, so that no p-value is zero.
    share = (1 + int((values <= threshold).sum())) / (len(values) + 1)
    return float(scipy.special.stdtr(n - 1, scipy.special.ndtri(share) * np.sqrt((n - 1) / n)))


def _check_blocks(matrices: Sequence[FloatArray]) -> None:
    shapes = {matrix.shape for matrix in matrices}
    if len(shapes) != 1 or any(len(shape) != 2 or 0 in shape for shape in shapes):
        raise DataError(
            "expected blocks of one shape, one row per query and one column per pipeline; got "
            f"{sorted(shapes) or 'none'}"
        )


def _computation(statistic: str, matrix: FloatArray) -> Callable[[FloatArray], FloatArray]:
    quantile = quantile_of(statistic)
    return _ResampledMeans(matrix) if quantile is None else _ResampledQuantiles(matrix, quantile)


class _ResampledMeans:
    """Means of the columns under counts of the rows."""

    def __init__(self, matrix: FloatArray):
        self.rows = np.flatnonzero(~np.isnan(matrix).any(axis=1))
        self.offset = matrix[self.rows].mean(axis=0) if self.rows.size else 0.0
        self.centred = matrix[self.rows] - self.offset  # sums of these lose no digits
        self.is_whole = self.rows.size == len(matrix)

    def __call__(self, counts: FloatArray) -> FloatArray:
        used = counts if self.is_whole else counts[:, self.rows]
        totals = used.sum(axis=1, keepdims=True)
        totals[totals == 0] = np.nan
        means: FloatArray = used @ self.centred / totals + self.offset
        return means


class _ResampledQuantiles:
    """A quantile of the columns under counts of the rows."""

    def __init__(self, matrix: FloatArray, quantile: float):
        self.quantile = quantile
        self.rows = np.flatnonzero(~np.isnan(matrix).any(axis=1))
        scored = matrix[self.rows]
        self.orders = np.argsort(scored, axis=0, kind="stable")
        self.sorted = np.take_along_axis(scored, self.orders, axis=0)

    def __call__(self, counts: FloatArray) -> FloatArray:
        used = counts[:, self.rows]
        totals = used.sum(axis=1)
        result = np.full((len(counts), self.sorted.shape[1]), np.nan)
        has_scores = totals > 0
        place = self.quantile * (totals[has_scores, np.newaxis] - 1)
        weight = (place - np.floor(place))[:, 0]
        for column in range(self.sorted.shape[1]):
            # In sorted order the score of rank r is the first that r drawn scores do not exceed.
            reached = np.cumsum(used[has_scores][:, self.orders[:, column]], axis=1)
            below = self.sorted[(reached > np.floor(place)).argmax(axis=1), column]
            above = self.sorted[(reached > np.ceil(place)).argmax(axis=1), column]
            result[has_scores, column] = (1.0 - weight) * below + weight * above
        return result

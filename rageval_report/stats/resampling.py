"""Monte Carlo resampling of many columns at once.

A resample is drawn once and used for every column, as a row of weights; the means of a whole block
of resamples are one matrix product. Blocks are small: nothing but the means grows with the number
of resamples. Rows are first brought into an order of their own, so that shuffled rows give the same
means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats.base import check_resamples, check_seed
from rageval_report.stats.row_order import canonical_order
from rageval_report.types import BoolArray, FloatArray, IntArray

# Resamples and queries of a tile: 64 x 1024 weights stay in the cache from the draw to the product.
_TILE = (64, 1024)
# How many standard deviations the Poisson counts stay below n draws: at two, 2 % of the resamples
# have too many and are drawn again, and about 2 sqrt(n) single draws are missing.
_RESERVE = 2.0
_BYTES = 256


def bootstrap_means(
    columns: npt.ArrayLike, *, n_resamples: int = 9999, seed: int = 0
) -> FloatArray:
    """Means of bootstrap resamples of the rows, the same resamples for every column.

    Parameters
    ----------
    columns : array-like of shape (n, k) or (n,)
        One row per query, one column per metric. NaN is left out: the mean of a column is taken
        over its scored rows in the resample, and is NaN if there are none.
    n_resamples : int
        The number of resamples.
    seed : int
        The seed of the random numbers.

    Returns
    -------
    ndarray of shape (n_resamples, k)
        One row of means per resample.

    Notes
    -----
    The weights of a resample are multinomial. They are drawn as independent Poisson counts of a
    slightly smaller total, which given their total are multinomial, and topped up to n by single
    draws; a resample whose counts are too many is drawn again.

    Examples
    --------
    >>> bootstrap_means([[0.0, 5.0], [1.0, 5.0]], n_resamples=3, seed=1).shape
    (3, 2)
    """
    scores = _matrix(columns)
    resamples = check_resamples(n_resamples)
    rng = np.random.default_rng(check_seed(seed))
    scores = scores[canonical_order(scores)]
    scored = ~np.isnan(scores)
    if scored.all():
        offset = scores.mean(axis=0)  # sums of centred scores lose no digits
        means: FloatArray = _bootstrap_sums([scores - offset], resamples, rng)[0] / len(scores)
        means += offset
        return means
    offset = _means_of_scored(scores, scored)
    centred = np.where(scored, scores - offset, 0.0)
    beside = np.hstack((centred, scored.astype(np.float64)))
    sums: FloatArray = _bootstrap_sums([beside], resamples, rng)[0]
    width = scores.shape[1]
    counts = np.rint(sums[:, width:])
    counts[counts == 0] = np.nan
    return sums[:, :width] / counts + offset


def bootstrap_means_of_tables(
    tables: Sequence[FloatArray], *, n_resamples: int = 9999, seed: int = 0
) -> list[FloatArray]:
    """`bootstrap_means` of several tables, the same to the last bit, from one set of resamples.

    Parameters
    ----------
    tables : sequence of ndarray of shape (n, k)
        Finite numbers; all tables have the same shape.
    n_resamples, seed
        As in `bootstrap_means`.

    Returns
    -------
    list of ndarray of shape (n_resamples, k)
        The means of each table.

    Examples
    --------
    >>> scores = np.array([[0.0], [1.0], [5.0]])
    >>> both = bootstrap_means_of_tables([scores, 1 - scores], n_resamples=7)
    >>> np.array_equal(both[0], bootstrap_means(scores, n_resamples=7)), both[1].shape
    (True, (7, 1))
    """
    ordered = [table[canonical_order(table)] for table in tables]
    offsets = [table.mean(axis=0) for table in ordered]
    centred = [table - offset for table, offset in zip(ordered, offsets, strict=True)]
    sums = _bootstrap_sums(centred, n_resamples, np.random.default_rng(seed))
    n = len(tables[0])
    return [each / n + offset for each, offset in zip(sums, offsets, strict=True)]


def sign_flip_means(
    differences: npt.ArrayLike, *, n_resamples: int = 9999, seed: int = 0
) -> FloatArray:
    """Mean differences after random flips of sign, the same flips for every column.

    Parameters
    ----------
    differences : array-like of shape (n, k) or (n,)
        One row per query, one column per metric; NaN is a missing pair and is left out.
    n_resamples : int
        The number of random sign patterns.
    seed : int
        The seed of the random numbers.

    Returns
    -------
    ndarray of shape (n_resamples, k)
        One row of mean differences per pattern; NaN in a column without a pair.

    Examples
    --------
    >>> means = sign_flip_means([0.25, -0.75], n_resamples=200, seed=0)
    >>> np.unique(means)
    array([-0.5 , -0.25,  0.25,  0.5 ])
    """
    scores = _matrix(differences)
    resamples = check_resamples(n_resamples)
    rng = np.random.default_rng(check_seed(seed))
    scored = ~np.isnan(scores)
    present = np.where(scored, scores, 0.0)
    present = present[canonical_order(present)]
    pairs = scored.sum(axis=0).astype(np.float64)
    pairs[pairs == 0] = np.nan
    result = np.zeros((resamples, scores.shape[1]))
    for rows in _pieces(resamples, len(scores)):
        for part in _tiles(len(scores)):
            result[rows] += _flipped_sums(rng, rows.stop - rows.start, present[part])
    result /= pairs
    return result


def _matrix(columns: npt.ArrayLike) -> FloatArray:
    """The columns as a matrix with one row per query; infinities raise."""
    array = np.asarray(columns, dtype=np.float64)
    matrix = array[:, np.newaxis] if array.ndim == 1 else array
    if matrix.ndim != 2 or not matrix.size:
        raise DataError(
            "expected one row per query and one column per metric, at least one of each; "
            f"got an array of shape {array.shape}"
        )
    if np.isinf(matrix).any():
        raise DataError(f"scores must be finite or NaN; {int(np.isinf(matrix).sum())} are infinite")
    return matrix


def _means_of_scored(scores: FloatArray, scored: BoolArray) -> FloatArray:
    """The mean of each column over its scored rows, 0 if there are none."""
    counts = np.maximum(scored.sum(axis=0), 1)
    means: FloatArray = np.where(scored, scores, 0.0).sum(axis=0) / counts
    return means


def _tiles(n: int) -> Iterator[slice]:
    """The queries, tile by tile."""
    for start in range(0, n, _TILE[1]):
        yield slice(start, min(start + _TILE[1], n))


def _rows_of_tile(n: int) -> int:
    """How many resamples a tile contains: more than usual if the queries do not fill it."""
    return max(_TILE[0], _TILE[0] * _TILE[1] // n)


def _pieces(resamples: int, n: int) -> Iterator[slice]:
    """The resamples, a tile's height at a time."""
    height = _rows_of_tile(n)
    for start in range(0, resamples, height):
        yield slice(start, min(start + height, resamples))


def _flipped_sums(rng: np.random.Generator, rows: int, columns: FloatArray) -> FloatArray:
    """Sums of rows under random signs."""
    n = len(columns)
    # A sign needs one random bit, so that a byte serves eight queries.
    packed = rng.integers(0, _BYTES, size=(rows, -(-n // 8)), dtype=np.uint8)
    signs = np.unpackbits(packed, axis=1, count=n).astype(np.float64)
    signs *= 2.0
    signs -= 1.0
    return signs @ columns


def _bootstrap_sums(
    tables: Sequence[FloatArray], resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Sums over n draws of rows with replacement: a table of resamples for each of the tables."""
    n, width = tables[0].shape
    columns = np.hstack(tables)
    # Up to four queries the rate is 0, and all draws are single ones.
    counts = _PoissonCounts(max(0.0, 1.0 - _RESERVE / np.sqrt(n)))
    result = np.empty((len(tables), resamples, width))
    done = 0
    while done < resamples:
        rows = min(_rows_of_tile(n), resamples - done)
        sums, drawn = _poisson_sums(columns, width, counts, rows, rng)
        # Given its total a row of Poisson counts is multinomial, so that single draws complete it;
        # a row with n or more is rejected, which does not change the law of the others.
        is_short = drawn < n
        if is_short.any():
            single = _sums_of_draws(columns, n - drawn[is_short], rng)
            single = single.reshape(-1, len(tables), width).transpose(1, 0, 2)
            result[:, done : done + single.shape[1]] = sums[:, is_short] + single
            done += single.shape[1]
    return result


def _poisson_sums(
    columns: FloatArray, width: int, counts: _PoissonCounts, rows: int, rng: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Sums of the columns of each table with Poisson weights, and the sums of the weights."""
    n_tables = columns.shape[1] // width
    sums = np.zeros((n_tables, rows, width))
    drawn = np.zeros(rows, dtype=np.int64)
    for part in _tiles(len(columns)):
        weights = counts.draw(rng, rows, part.stop - part.start)
        drawn += weights.sum(axis=1, dtype=np.uint32)
        # One product per table: of a wider matrix BLAS may add in another order.
        tables = columns[part].reshape(-1, n_tables, width).transpose(1, 0, 2)
        sums += weights.astype(np.float64) @ tables
    return sums, drawn


def _sums_of_draws(columns: FloatArray, draws: IntArray, rng: np.random.Generator) -> FloatArray:
    """Sums over single draws of rows; each resample has its own number of them, at least one."""
    rows = columns[rng.integers(0, len(columns), size=int(draws.sum()))]
    sums: FloatArray = np.add.reduceat(rows, np.cumsum(draws) - draws, axis=0)
    return sums


class _PoissonCounts:
    """Independent Poisson counts from eight random bits each, exact in distribution.

    Each count takes as many of the 256 bytes as its probability has whole 256ths; the few bytes
    that are left over lead to a draw from what was cut off. A random byte takes less than 2 ns, a
    draw by ``rng.poisson`` 22 ns.
    """

    def __init__(self, rate: float):
        # At a rate of at most 1 a count of 24 or more has a probability below 1e-24.
        counts = np.arange(24)
        factorials = np.cumprod(np.maximum(counts, 1), dtype=np.float64)
        bytes_due = _BYTES * np.exp(-rate) * rate**counts / factorials
        whole = np.floor(bytes_due)
        left = bytes_due - whole
        self.rest = np.cumsum(left) / max(float(left.sum()), np.finfo(float).tiny)
        edges = np.unique(np.cumsum(whole))
        self.edges = edges[edges < _BYTES].astype(np.uint8)  # a byte at or above counts one more

    def draw(self, rng: np.random.Generator, rows: int, n: int) -> npt.NDArray[np.uint8]:
        """A matrix of counts."""
        size = rows * n
        # As 64-bit words, which takes half as long as drawing the bytes one by one.
        words = rng.integers(0, 2**64 - 1, size=-(-size // 8), dtype=np.uint64, endpoint=True)
        drawn = words.view(np.uint8)[:size]
        counts = np.zeros(size, dtype=np.uint8)
        for edge in self.edges:
            counts += (drawn >= edge).view(np.uint8)
        if self.edges.size:
            cut_off = np.flatnonzero(drawn >= self.edges[-1])
            draws = rng.random(cut_off.size)
            counts[cut_off] = np.searchsorted(self.rest, draws, side="right")
        return counts.reshape(rows, n)

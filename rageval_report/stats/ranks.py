"""Pipelines ranked query by query: average ranks, and Friedman's test that all are equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.stats.all_pairs import complete_rows
from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.types import BoolArray, FloatArray, IntArray

# The number of queries whose scores are compared at a time, to bound the memory.
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class FriedmanResult:
    """A test of whether any pipeline tends to rank before another.

    Parameters
    ----------
    statistic : float
        Chi-squared, corrected for ties.
    pvalue : float
        1 if all pipelines tie on every query.
    degrees_of_freedom : int
        The number of pipelines less one.
    n : int
        Queries that all pipelines scored.
    concordance : float
        Kendall's W: 1 if all queries rank the pipelines in the same order, 0 without agreement.
    average_ranks : ndarray of shape (n_pipelines,)
        1 is best; ties share the ranks they take.
    """

    statistic: float
    pvalue: float
    degrees_of_freedom: int
    n: int
    concordance: float
    average_ranks: FloatArray


def query_ranks(scores: npt.ArrayLike, *, greater_is_better: bool = True) -> FloatArray:
    """The rank of each pipeline on each query; 1 is best, ties share the ranks they take.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_pipelines)
        Without NaN. Scores that differ only by rounding are tied.
    greater_is_better : bool
        The metric's direction.

    Returns
    -------
    ndarray of shape (n_queries, n_pipelines)

    Examples
    --------
    >>> query_ranks([[0.9, 0.5, 0.5], [0.2, 0.7, 0.4]])
    array([[1. , 2.5, 2.5],
           [3. , 1. , 2. ]])
    """
    matrix = np.asarray(scores, dtype=np.float64)
    tie = rounding_tie(float(np.abs(matrix).max(initial=0.0)))
    turned = matrix if greater_is_better else -matrix
    ranks = np.empty_like(matrix)
    for start in range(0, len(matrix), _BLOCK):
        part = turned[start : start + _BLOCK]
        ahead = part[:, np.newaxis, :] - part[:, :, np.newaxis]
        before = (ahead > tie).sum(axis=2)
        level = (np.abs(ahead) <= tie).sum(axis=2)
        ranks[start : start + _BLOCK] = before + (level + 1) / 2
    return ranks


def friedman_test(scores: npt.ArrayLike, *, greater_is_better: bool = True) -> FriedmanResult:
    """Friedman's test on ranks within queries, with the correction for ties.

    It asks about ranks, not about means: on metrics with many ties or lopsided differences the two
    need not agree. `all_pairs_test` is the one about means.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_pipelines)
        One row per query; a row with a NaN is left out.
    greater_is_better : bool
        The metric's direction; it turns the average ranks, not the test.

    Returns
    -------
    FriedmanResult

    Raises
    ------
    DataError
        If there are fewer than two pipelines, or no query that all of them scored.

    References
    ----------
    .. [1] Friedman (1937). The use of ranks to avoid the assumption of normality implicit in the
       analysis of variance. Journal of the American Statistical Association 32.
    .. [2] Conover (1999). Practical nonparametric statistics, 5.8.

    Examples
    --------
    >>> from rageval_report.stats import friedman_test
    >>> result = friedman_test([[0.9, 0.5, 0.1], [0.8, 0.7, 0.2], [0.6, 0.4, 0.3]])
    >>> result.statistic, round(result.pvalue, 4), result.average_ranks
    (6.0, 0.0498, array([1., 2., 3.]))
    """
    return RankSums.of(complete_rows(scores), greater_is_better=greater_is_better).test()


@dataclass(frozen=True, eq=False)
class RankSums:
    """The ranks of pipelines within queries, from any part of the queries.

    Parameters
    ----------
    n : int
        The number of queries.
    sums : ndarray of shape (n_pipelines,)
        The sum of the ranks of each pipeline, each less the middle rank.
    spread : float
        The sum of the squares of all of these.

    Examples
    --------
    >>> first = RankSums.of(np.array([[0.9, 0.5, 0.1], [0.8, 0.7, 0.2]]))
    >>> (first + RankSums.of(np.array([[0.6, 0.4, 0.3]]))).test().statistic
    6.0
    """

    n: int
    sums: FloatArray
    spread: float

    @classmethod
    def of(cls, scores: FloatArray, *, greater_is_better: bool = True) -> RankSums:
        """The ranks of some queries, without NaN."""
        ranks = query_ranks(scores, greater_is_better=greater_is_better)
        # Multiples of a half: their sums are exact, in any order.
        centred = ranks - (ranks.shape[1] + 1) / 2
        return cls(len(ranks), centred.sum(axis=0), float(np.square(centred).sum()))

    def __add__(self, other: RankSums) -> RankSums:
        """The ranks of both parts."""
        return RankSums(self.n + other.n, self.sums + other.sums, self.spread + other.spread)

    def test(self) -> FriedmanResult:
        """Friedman's test."""
        k = self.sums.size
        # Dividing by the spread of the ranks themselves, not by that of ranks without ties, is the
        # correction for ties (Conover 1999).
        is_tied = not self.spread > 0
        statistic = 0.0 if is_tied else (k - 1) * float(self.sums @ self.sums) / self.spread
        return FriedmanResult(
            statistic=statistic,
            pvalue=float(scipy.special.chdtrc(k - 1, statistic)),
            degrees_of_freedom=k - 1,
            n=self.n,
            concordance=statistic / (self.n * (k - 1)),
            average_ranks=self.sums / self.n + (k + 1) / 2,
        )


def rounding_tie(largest: float) -> float:
    """The largest difference that is only rounding, of scores up to a size.

    Examples
    --------
    >>> rounding_tie(0.5) == rounding_tie(1.0) < rounding_tie(1000.0)
    True
    """
    return TIE_TOLERANCE * max(1.0, largest)


def count_alone_best(scores: FloatArray, *, greater_is_better: bool = True) -> IntArray:
    """On how many queries each pipeline is better than all others, by more than rounding.

    Parameters
    ----------
    scores : ndarray of shape (n_queries, n_pipelines)
        Without NaN.
    greater_is_better : bool
        The metric's direction.

    Examples
    --------
    >>> count_alone_best(np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([1, 0])
    """
    tie = rounding_tie(float(np.abs(scores).max(initial=0.0)))
    turned = scores if greater_is_better else -scores
    near: BoolArray = turned >= turned.max(axis=1, keepdims=True) - tie
    counts: IntArray = near[near.sum(axis=1) == 1].sum(axis=0)
    return counts

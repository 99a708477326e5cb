"""Hybrid log-rank: recall combined with how early the truths rank, on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rageval_report.errors import DataError
from rageval_report.rankings.checks import check_between, check_cutoff, check_list, distinct_items
from rageval_report.rankings.hits import Hits
from rageval_report.types import FloatArray, IntArray


def log_rank_score(rank: int, n: int, gamma: float = 1.0) -> float:
    """The score of a rank: 1 for the first of n, 0 for the last, falling with the logarithm.

    Parameters
    ----------
    rank : int
        The rank, from 1 to `n`.
    n : int
        The number of ranks. The only rank of a list of one scores 1.
    gamma : float, default 1
        How much more is lost at the first ranks than at the last; at 0 the score falls linearly,
        which is the limit of the formula.

    Returns
    -------
    float
        ``1 - ln(1 + gamma (rank - 1)) / ln(1 + gamma (n - 1))``.

    Raises
    ------
    DataError
        If `rank` is not one of the ranks or `gamma` is negative.

    Examples
    --------
    >>> [log_rank_score(rank, 4) for rank in (1, 2, 3, 4)]
    [1.0, 0.5, 0.20751874963942185, 0.0]
    """
    curvature = check_between("gamma", gamma, 0.0, math.inf)
    if n < 1 or not 1 <= rank <= n:
        raise DataError(f"rank must be an integer from 1 to n; got rank={rank!r} and n={n!r}")
    return _on_curve(rank, n, curvature)


def _on_curve(rank: int, n: int, gamma: float) -> float:
    # ln(1) is 0, so the curve is not defined; the only rank is the best one.
    if n == 1:
        return 1.0
    whole = math.log(1 + gamma * (n - 1))
    if whole == 0.0 or math.isinf(whole):  # gamma is 0, too small to add to 1, or infinite
        return _limit(rank, n, gamma)
    return 1 - math.log(1 + gamma * (rank - 1)) / whole


def _limit(rank: int, n: int, gamma: float) -> float:
    """The limit of the curve for gamma 0 (a straight line) or infinite (0 after rank 1)."""
    return float(rank == 1) if gamma > 1 else 1 - (rank - 1) / (n - 1)


def hybrid_log_rank_score_exact(
    retrieved_chunks: Iterable[Hashable],
    ground_truth_chunks: Iterable[Hashable],
    gamma: float = 1.0,
    alpha: float = 0.5,
    *,
    normalized: bool = False,
) -> float:
    """The recall of the whole list, combined with how early its distinct truths rank.

    Parameters
    ----------
    retrieved_chunks : list of str
        All results, best first: there is no cutoff. A duplicate takes up a rank.
    ground_truth_chunks : list of str
        The truths; a repeated one counts once.
    gamma : float, default 1
        As in `log_rank_score`.
    alpha : float, default 0.5
        The weight of the recall, between 0 and 1; the rest is the weight of the ranks.
    normalized : bool, default False
        Whether to divide the sum of the scores of the ranks by its highest possible value. If not,
        as in datapizza-ai, it is divided by the number of truths, and a perfect ranking scores
        below 1 if there is more than one truth, because only the first rank scores 1.

    Returns
    -------
    float
        Between 0 and 1; 0 if nothing was retrieved.

    Raises
    ------
    DataError
        If there is no truth, `gamma` is negative or `alpha` is not between 0 and 1.

    Examples
    --------
    >>> hybrid_log_rank_score_exact(["a", "b"], ["a", "b"])
    0.75
    >>> hybrid_log_rank_score_exact(["a", "b"], ["a", "b"], normalized=True)
    1.0
    """
    retrieved = check_list("retrieved_chunks", retrieved_chunks)
    listed_truths = check_list("ground_truth_chunks", ground_truth_chunks)
    truths = distinct_items("ground_truth_chunks", listed_truths)
    if not truths:
        raise DataError("ground_truth_chunks must have at least one chunk; got none")
    distinct_items("retrieved_chunks", retrieved)
    # Reversed, so that the first rank of a repeated chunk is the one that stays.
    first = {chunk: rank for rank, chunk in reversed([*enumerate(retrieved, start=1)])}
    ranks = sorted(first[truth] for truth in truths & first.keys())
    score = hybrid_of_ranks(
        np.zeros(len(ranks), dtype=np.int64),
        np.array(ranks, dtype=np.int64),
        [len(retrieved)],
        [len(truths)],
        gamma=gamma,
        alpha=alpha,
        normalized=normalized,
    )
    return float(score[0])


def hybrid_log_rank(
    hits: Hits,
    k: int | None = None,
    *,
    gamma: float = 1.0,
    alpha: float = 0.5,
    normalized: bool = False,
) -> FloatArray:
    """The recall of each ranking, combined with how early its relevant documents rank.

    Parameters
    ----------
    hits : Hits
        The hit table of all queries.
    k : int, optional
        Only the first `k` documents count, as if no more had been retrieved.
    gamma, alpha, normalized
        As in `hybrid_log_rank_score_exact`.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN if a query has no relevant document.

    Examples
    --------
    >>> from rageval_report.rankings.hits import hit_table
    >>> hits = hit_table(
    ...     query=[0, 0], rank=[1, 3], grade=[1, 1], judged_query=[0, 0], judged_grade=[1, 1],
    ...     n_retrieved=[5],
    ... )
    >>> hybrid_log_rank(hits)
    array([0.67699258])
    """
    cut = hits.n_retrieved if k is None else np.minimum(hits.n_retrieved, check_cutoff(k))
    inside = hits.relevant_rank < cut[hits.relevant_query]
    return hybrid_of_ranks(
        hits.relevant_query[inside],
        hits.relevant_rank[inside] + 1,
        cut,
        hits.n_relevant,
        gamma=gamma,
        alpha=alpha,
        normalized=normalized,
    )


def hybrid_of_ranks(
    query: ArrayLike,
    rank: ArrayLike,
    n_retrieved: ArrayLike,
    n_relevant: ArrayLike,
    *,
    gamma: float = 1.0,
    alpha: float = 0.5,
    normalized: bool = False,
) -> FloatArray:
    """The hybrid log-rank scores of all queries, from the first ranks of the retrieved truths.

    Parameters
    ----------
    query, rank : array-like of int of shape (n_found,)
        One entry per retrieved truth: its query (a position in `n_retrieved`) and its first rank,
        from 1.
    n_retrieved, n_relevant : array-like of int of shape (n_queries,)
        How many results and how many truths each query has.
    gamma, alpha, normalized
        As in `hybrid_log_rank_score_exact`. If one result matches several truths, a normalized sum
        above the highest value for one result per truth counts as 1.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN if a query has no truth.

    Examples
    --------
    Two queries whose truths were both retrieved, and one without a truth.

    >>> hybrid_of_ranks([0, 0, 1, 1], [1, 2, 2, 4], n_retrieved=[2, 5, 5], n_relevant=[2, 2, 0])
    array([0.75      , 0.67699258,        nan])
    """
    curvature = check_between("gamma", gamma, 0.0, math.inf)
    weight = check_between("alpha", alpha, 0.0, 1.0)
    queries, ranks = np.asarray(query, dtype=np.int64), np.asarray(rank, dtype=np.int64)
    sizes = np.asarray(n_retrieved, dtype=np.int64)
    truths = np.asarray(n_relevant, dtype=np.int64)
    earned = _for_each(ranks, sizes[queries], lambda r, n: _on_curve(r, n, curvature))
    total = np.bincount(queries, weights=earned, minlength=sizes.size)
    n_found = np.bincount(queries, minlength=sizes.size)
    # By default as in datapizza-ai: even a perfect ranking of two truths scores 0.75, because its
    # last rank earns nothing.
    divisor: NDArray[np.int64] | FloatArray = truths
    if normalized:
        reachable = np.minimum(truths, sizes)
        # At least 1, so that a list of nothing does not divide by 0.
        divisor = np.maximum(_for_each(reachable, sizes, lambda m, n: _best(m, n, curvature)), 1.0)
    with np.errstate(invalid="ignore"):  # no truth at all: 0 / 0
        quality = np.minimum(total / divisor, 1.0)
        score: FloatArray = weight * (n_found / truths) + (1 - weight) * quality
    return np.where(truths > 0, score, np.nan)


def _best(m: int, n: int, gamma: float) -> float:
    """The sum of the scores of the first m of n ranks."""
    return math.fsum(_on_curve(rank, n, gamma) for rank in range(1, m + 1))


def _for_each(left: IntArray, right: IntArray, value: Callable[[int, int], float]) -> FloatArray:
    """A function of two integers, called once for each distinct pair.

    It is not vectorised, because ``numpy.log`` and ``math.log`` may differ in the last digit.
    """
    if not left.size:
        return np.empty(0)
    width = int(right.max()) + 1
    pairs, places = np.unique(left * width + right, return_inverse=True)
    values = [value(*divmod(pair, width)) for pair in pairs.tolist()]
    return np.array(values, dtype=np.float64)[places]

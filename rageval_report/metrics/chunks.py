"""The metrics of datapizza-ai for the chunks of one query, exact and by similarity."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from rageval_report.errors import DataError
from rageval_report.metrics.checks import check_cutoff, check_list, distinct_items
from rageval_report.metrics.retrieval import hybrid_of_ranks
from rageval_report.metrics.similarity import (
    Embed,
    Similarities,
    Vectors,
    as_rows,
    hybrid_log_rank_similarity,
    precision_similarity,
    recall_similarity,
    similarities,
)


def precision_at_k_exact(
    retrieved_chunks: Iterable[Hashable], ground_truth_chunks: Iterable[Hashable], k: int
) -> float:
    """The number of distinct truths among the first k results, over k.

    Parameters
    ----------
    retrieved_chunks : list of str
        The results, best first; a repeated chunk counts once.
    ground_truth_chunks : list of str
        The truths.
    k : int
        How many results count. It is also the divisor, even if fewer were retrieved; the
        ``precision`` of ragbench divides by the number of retrieved chunks.

    Returns
    -------
    float
        Between 0 and 1; 0 if nothing was retrieved or `k` is 0, even without truths.

    Raises
    ------
    DataError
        If there is no truth although something was retrieved, or `k` is negative.

    Examples
    --------
    >>> precision_at_k_exact(["a", "b", "c", "d"], ["b", "d", "x"], 10)
    0.2
    """
    cutoff = check_cutoff(k)
    retrieved, truths = _lists(retrieved_chunks, ground_truth_chunks)
    # Over k even if fewer were retrieved, as in datapizza-ai; ragbench divides by what was
    # retrieved.
    return _count_found(retrieved, truths, cutoff) / cutoff if retrieved and cutoff else 0.0


def recall_at_k_exact(
    retrieved_chunks: Iterable[Hashable], ground_truth_chunks: Iterable[Hashable], k: int
) -> float:
    """The share of the distinct truths that are among the first k results.

    Parameters
    ----------
    retrieved_chunks : list of str
        The results, best first.
    ground_truth_chunks : list of str
        The truths; a repeated one counts once, unlike in `recall_at_k_similarity`.
    k : int
        How many results count.

    Returns
    -------
    float
        Between 0 and 1; 0 if nothing was retrieved or `k` is 0, even without truths.

    Raises
    ------
    DataError
        If there is no truth although something was retrieved, or `k` is negative.

    Examples
    --------
    >>> recall_at_k_exact(["a"], ["a", "a", "b"], 1)
    0.5
    """
    cutoff = check_cutoff(k)
    retrieved, truths = _lists(retrieved_chunks, ground_truth_chunks)
    if not retrieved or not cutoff:
        return 0.0
    # Distinct truths here; the twin by similarity counts rows. Both as in datapizza-ai.
    return _count_found(retrieved, truths, cutoff) / len(set(truths))


def f1_at_k_exact(
    retrieved_chunks: Iterable[Hashable], ground_truth_chunks: Iterable[Hashable], k: int
) -> float:
    """The harmonic mean of `precision_at_k_exact` and `recall_at_k_exact`.

    Parameters
    ----------
    retrieved_chunks : list of str
        The results, best first.
    ground_truth_chunks : list of str
        The truths.
    k : int
        How many results count.

    Returns
    -------
    float
        Between 0 and 1; 0 if both are 0, or both lists are empty.

    Raises
    ------
    DataError
        If there is no truth although something was retrieved, or `k` is negative.

    Examples
    --------
    >>> f1_at_k_exact(["a", "b"], ["a", "c"], 2)
    0.5
    """
    retrieved, truths = _lists(retrieved_chunks, ground_truth_chunks)
    precision = precision_at_k_exact(retrieved, truths, k)
    recall = recall_at_k_exact(retrieved, truths, k)
    return harmonic_mean(precision, recall)


def _lists(
    retrieved: Iterable[Hashable], truths: Iterable[Hashable]
) -> tuple[list[Hashable], list[Hashable]]:
    return check_list("retrieved_chunks", retrieved), check_list("ground_truth_chunks", truths)


def harmonic_mean(precision: float, recall: float) -> float:
    """F1 of a precision and a recall; 0 if both are 0."""
    both = precision + recall
    return 2 * (precision * recall) / both if both else 0.0


def _count_found(retrieved: list[Hashable], truths: list[Hashable], k: int) -> int:
    """The number of distinct truths among the first k results."""
    if not truths:
        raise DataError("ground_truth_chunks must have at least one chunk; got none")
    first_chunks = distinct_items("retrieved_chunks", retrieved[:k])
    return len(first_chunks & distinct_items("ground_truth_chunks", truths))


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
    retrieved, listed_truths = _lists(retrieved_chunks, ground_truth_chunks)
    truths = distinct_items("ground_truth_chunks", listed_truths)
    if not truths:
        raise DataError("ground_truth_chunks must have at least one chunk; got none")
    distinct_items("retrieved_chunks", retrieved)
    # Reversed, so that the first rank of a repeated chunk is the one that stays.
    first = {chunk: rank for rank, chunk in reversed([*enumerate(retrieved, start=1)])}
    ranks = sorted(first[truth] for truth in truths & first.keys())
    how: dict[str, Any] = {"gamma": gamma, "alpha": alpha, "normalized": normalized}
    queries = np.zeros(len(ranks), dtype=np.int64)
    return float(hybrid_of_ranks(queries, ranks, [len(retrieved)], [len(truths)], **how)[0])


VectorsOrTexts = ArrayLike | Sequence[str]


def precision_at_k_similarity(
    retrieved_embeddings: VectorsOrTexts,
    ground_truth_embeddings: VectorsOrTexts,
    k: int,
    similarity_threshold: float = 0.8,
    *,
    embed: Embed | None = None,
) -> float:
    """The number of the first k results whose cosine with any truth reaches the threshold, over k.

    Parameters
    ----------
    retrieved_embeddings : array-like of shape (n, d)
        The vectors of the results, best first; one flat vector is one result. Equal results count
        each time, unlike in `precision_at_k_exact`.
    ground_truth_embeddings : array-like of shape (m, d)
        The vectors of the truths.
    k : int
        How many results count. It is also the divisor, even if fewer were retrieved.
    similarity_threshold : float, default 0.8
        The lowest cosine that counts, between -1 and 1. Rounding is allowed for: equal vectors
        reach 1.
    embed : callable, optional
        A function that turns texts into vectors; the first two arguments are then lists of texts.

    Returns
    -------
    float
        Between 0 and 1; 0 if nothing was retrieved or `k` is 0, even without truths.

    Raises
    ------
    DataError
        If there is no truth although something was retrieved, `k` is negative, or the threshold is
        not between -1 and 1.

    Examples
    --------
    >>> precision_at_k_similarity([[1, 0], [1, 0], [0, 1]], [[1, 0]], 3)
    0.6666666666666666
    >>> precision_at_k_similarity(["ab"], ["xy"], 1, embed=lambda texts: [[len(t)] for t in texts])
    1.0
    """
    cutoff = check_cutoff(k)
    pair = _QueryVectors(retrieved_embeddings, ground_truth_embeddings, embed)
    if not len(pair.retrieved) or not cutoff:
        return 0.0
    return float(precision_similarity(pair.view(), cutoff, threshold=similarity_threshold)[0])


def recall_at_k_similarity(
    retrieved_embeddings: VectorsOrTexts,
    ground_truth_embeddings: VectorsOrTexts,
    k: int,
    similarity_threshold: float = 0.8,
    *,
    embed: Embed | None = None,
) -> float:
    """The share of the truths whose cosine with any of the first k results reaches the threshold.

    Parameters
    ----------
    retrieved_embeddings, ground_truth_embeddings, similarity_threshold, embed
        As in `precision_at_k_similarity`. Equal truths count each time, unlike in
        `recall_at_k_exact`.
    k : int
        How many results count.

    Returns
    -------
    float
        Between 0 and 1; 0 if nothing was retrieved or `k` is 0.

    Raises
    ------
    DataError
        If there is no truth, even if nothing was retrieved.

    Examples
    --------
    >>> recall_at_k_similarity([[1, 0]], [[1, 0], [1, 0], [0, 1]], 1)
    0.6666666666666666
    """
    cutoff = check_cutoff(k)
    pair = _QueryVectors(retrieved_embeddings, ground_truth_embeddings, embed)
    return float(recall_similarity(pair.view(), cutoff, threshold=similarity_threshold)[0])


def f1_at_k_similarity(
    retrieved_embeddings: VectorsOrTexts,
    ground_truth_embeddings: VectorsOrTexts,
    k: int,
    similarity_threshold: float = 0.8,
    *,
    embed: Embed | None = None,
) -> float:
    """The harmonic mean of `precision_at_k_similarity` and `recall_at_k_similarity`.

    Parameters
    ----------
    retrieved_embeddings, ground_truth_embeddings, similarity_threshold, embed
        As in `precision_at_k_similarity`.
    k : int
        How many results count.

    Returns
    -------
    float
        Between 0 and 1; 0 if both are 0.

    Raises
    ------
    DataError
        If there is no truth, even if nothing was retrieved.

    Examples
    --------
    >>> f1_at_k_similarity([[1, 0], [0, 1]], [[1, 0]], 2)
    0.6666666666666666
    """
    cutoff = check_cutoff(k)
    view = _QueryVectors(retrieved_embeddings, ground_truth_embeddings, embed).view()
    precision = precision_similarity(view, cutoff, threshold=similarity_threshold)
    recall = recall_similarity(view, cutoff, threshold=similarity_threshold)
    return harmonic_mean(float(precision[0]), float(recall[0]))


def hybrid_log_rank_score_similarity(
    retrieved_embeddings: VectorsOrTexts,
    ground_truth_embeddings: VectorsOrTexts,
    similarity_threshold: float = 0.8,
    gamma: float = 1.0,
    alpha: float = 0.5,
    *,
    normalized: bool = False,
    embed: Embed | None = None,
) -> float:
    """The recall of near truths in the whole list, combined with the first rank near each of them.

    Parameters
    ----------
    retrieved_embeddings, ground_truth_embeddings, similarity_threshold, embed
        As in `precision_at_k_similarity`. Equal truths count each time.
    gamma, alpha, normalized
        As in `hybrid_log_rank_score_exact`. One result may be near several truths, all at its rank;
        a normalized sum above the highest value for one result per truth counts as 1.

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
    >>> hybrid_log_rank_score_similarity([[1, 0], [0, 1]], [[1, 0], [0, 1]])
    0.75
    """
    pair = _QueryVectors(retrieved_embeddings, ground_truth_embeddings, embed)
    how: dict[str, Any] = {"gamma": gamma, "alpha": alpha, "normalized": normalized}
    return float(hybrid_log_rank_similarity(pair.view(), threshold=similarity_threshold, **how)[0])


class _QueryVectors:
    """The vectors of the results and of the truths of one query."""

    def __init__(self, retrieved: VectorsOrTexts, truths: VectorsOrTexts, embed: Embed | None):
        self.retrieved = _vectors(retrieved, embed, "retrieved_embeddings")
        self.truths = _vectors(truths, embed, "ground_truth_embeddings")

    def view(self) -> Similarities:
        """Their cosines; an error if there is no truth."""
        if not len(self.truths):
            raise DataError("ground_truth_embeddings must have at least one vector; got none")
        return similarities([self.retrieved], [self.truths])


def _vectors(items: VectorsOrTexts, embed: Embed | None, name: str) -> Vectors:
    if embed is None:
        return as_rows(items, name)
    texts = check_list(name, cast("Sequence[str]", items))
    return as_rows(embed(texts) if texts else [], name)

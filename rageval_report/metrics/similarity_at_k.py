"""Precision, recall, F1 and hybrid log-rank of the vectors of one query, as in datapizza-ai.

They differ from the functions in `exact` as in datapizza-ai: duplicates count each time, and recall
raises an error without truths even if nothing was retrieved. The table in `exact` shows the results
for empty lists. A negative `k` raises an error; in datapizza-ai it slices from the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from numpy.typing import ArrayLike

from rageval_report.errors import DataError
from rageval_report.metrics.cosines import Embed, Similarities, Vectors, as_rows, similarities
from rageval_report.metrics.exact import harmonic_mean
from rageval_report.metrics.similarity import (
    hybrid_log_rank_similarity,
    precision_similarity,
    recall_similarity,
)
from rageval_report.rankings.checks import check_cutoff, check_list

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
    score = hybrid_log_rank_similarity(
        pair.view(),
        threshold=similarity_threshold,
        gamma=gamma,
        alpha=alpha,
        normalized=normalized,
    )
    return float(score[0])


class _QueryVectors:
    """The vectors of the results and of the truths of one query."""

    def __init__(
        self,
        retrieved: VectorsOrTexts,
        truths: VectorsOrTexts,
        embed: Embed | None,
    ) -> None:
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

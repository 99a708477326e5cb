"""Precision, recall, F1 and hybrid log-rank by similarity: a result near a truth is right.

They use the cosines that `cosines` has computed, so a further cutoff or threshold costs little.
`similarity_at_k` has the same metrics for one query at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rageval_report.metrics.cosines import Similarities
from rageval_report.metrics.log_rank import hybrid_of_ranks
from rageval_report.rankings.checks import check_between, check_cutoff, refuse_cutoff
from rageval_report.types import BoolArray, FloatArray


def precision_similarity(
    view: Similarities, k: int | None = None, *, threshold: float = 0.8
) -> FloatArray:
    """The share of the first k results that are near any truth.

    Parameters
    ----------
    view : Similarities
        The cosines.
    k : int, optional
        The cutoff, and the divisor; if omitted, all results count, divided by their number.
    threshold : float, default 0.8
        The lowest cosine that counts as near.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; 0 if nothing was retrieved, NaN if there is no truth or no vector.

    Examples
    --------
    >>> from rageval_report.metrics.cosines import similarities
    >>> view = similarities([[[1.0, 0.0], [0.0, 1.0]]], [[[1.0, 0.0]]])
    >>> precision_similarity(view, 1), precision_similarity(view)
    (array([1.]), array([0.5]))
    """
    return _of_near(view, k, threshold, lambda near: _precision(near, k))


def recall_similarity(
    view: Similarities, k: int | None = None, *, threshold: float = 0.8
) -> FloatArray:
    """The share of the truths that are near any of the first k results.

    Parameters
    ----------
    view, k, threshold
        As in `precision_similarity`.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; 0 if nothing was retrieved, NaN if there is no truth or no vector.

    Examples
    --------
    >>> from rageval_report.metrics.cosines import similarities
    >>> view = similarities([[[1.0, 0.0], [0.0, 1.0]]], [[[1.0, 0.0], [0.0, 1.0]]])
    >>> recall_similarity(view, 1), recall_similarity(view)
    (array([0.5]), array([1.]))
    """
    return _of_near(view, k, threshold, _recall)


def f1_similarity(
    view: Similarities, k: int | None = None, *, threshold: float = 0.8
) -> FloatArray:
    """The harmonic mean of `precision_similarity` and `recall_similarity`.

    Parameters
    ----------
    view, k, threshold
        As in `precision_similarity`.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN if there is no truth or no vector.

    Examples
    --------
    >>> from rageval_report.metrics.cosines import similarities
    >>> f1_similarity(similarities([[[1.0, 0.0], [0.0, 1.0]]], [[[1.0, 0.0]]]))
    array([0.66666667])
    """
    return _of_near(view, k, threshold, lambda near: _f1(near, k))


def _of_near(
    view: Similarities, k: int | None, threshold: float, score: Callable[[BoolArray], FloatArray]
) -> FloatArray:
    """A score computed from what is near among the first k results; NaN if there is no truth."""
    limit = check_between("similarity_threshold", threshold, -1.0, 1.0)
    cutoff = None if k is None else check_cutoff(k)
    scores = np.full(view.n_queries, np.nan)
    for block in view.blocks:
        if block.values.shape[2]:
            scores[block.queries] = score(block.near(limit)[:, :cutoff])
    return scores


def _precision(near: BoolArray, k: int | None) -> FloatArray:
    # Results are counted one by one, without removing repeats, as in datapizza-ai.
    n_near = near.any(axis=2).sum(axis=1)
    return np.asarray(n_near / max(near.shape[1] if k is None else k, 1))


def _recall(near: BoolArray) -> FloatArray:
    return np.asarray(near.any(axis=1).sum(axis=1) / near.shape[2])


def _f1(near: BoolArray, k: int | None) -> FloatArray:
    precision, recall = _precision(near, k), _recall(near)
    both = precision + recall
    return np.divide(2 * (precision * recall), both, out=np.zeros_like(both), where=both > 0)


def hybrid_log_rank_similarity(
    view: Similarities,
    k: int | None = None,
    *,
    threshold: float = 0.8,
    gamma: float = 1.0,
    alpha: float = 0.5,
    normalized: bool = False,
) -> FloatArray:
    """The recall of near truths, combined with the first rank that is near each of them.

    Parameters
    ----------
    view : Similarities
        The cosines.
    k : int, optional
        Only the first `k` results count, as if no more had been retrieved.
    threshold : float, default 0.8
        The lowest cosine that counts as near.
    gamma, alpha, normalized
        As in `rageval_report.metrics.log_rank.hybrid_of_ranks`.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN if there is no truth or no vector.

    Examples
    --------
    >>> from rageval_report.metrics.cosines import similarities
    >>> view = similarities([[[1.0, 0.0], [0.0, 1.0]]], [[[1.0, 0.0], [0.0, 1.0]]])
    >>> hybrid_log_rank_similarity(view), hybrid_log_rank_similarity(view, normalized=True)
    (array([0.75]), array([1.]))
    """

    def score(near: BoolArray) -> FloatArray:
        n, n_retrieved, n_truths = near.shape
        query, truth = np.nonzero(near.any(axis=1))
        rank = near[query, :, truth].argmax(axis=1) + 1 if query.size else query
        return hybrid_of_ranks(
            query,
            rank,
            np.full(n, n_retrieved),
            np.full(n, n_truths),
            gamma=gamma,
            alpha=alpha,
            normalized=normalized,
        )

    return _of_near(view, k, threshold, score)


def semantic_answer_similarity(view: Similarities, k: int | None = None) -> FloatArray:
    """The cosine of the answer and its nearest reference, as vectors.

    Parameters
    ----------
    view : Similarities
        The cosines of `answer_similarities`.
    k : None
        Not used: there is no ranking to cut.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between -1 and 1; NaN if there is no answer or no reference.

    References
    ----------
    .. [1] Risch et al. (2021). Semantic answer similarity for evaluating question answering models.
       They use a model of pairs (cross-encoder); this is the cosine of two embeddings.

    Examples
    --------
    >>> from rageval_report.metrics.cosines import similarities
    >>> semantic_answer_similarity(similarities([[[1.0, 0.0]]], [[[3.0, 4.0], [0.0, 1.0]]]))
    array([0.6])
    """
    refuse_cutoff("semantic_answer_similarity", k)
    scores = np.full(view.n_queries, np.nan)
    for block in view.blocks:
        if block.values.size:
            scores[block.queries] = block.values.max(axis=(1, 2))
    return scores

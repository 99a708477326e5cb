"""Metrics of rankings: each a function of the hit table and a cutoff, one score a query.

Where trec_eval defines a metric, the values are its own to the last bit: sums are added in the
order of the ranks, and logarithms are those of the C library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_report.rankings.checks import checked_cutoff
from rageval_report.rankings.hits import Codes, Floats, Hits

# From this grade on, two to its power is near the end of what a float holds.
_STEEPEST = 512

# Of the first 0 results nothing can be said.
_cutoff = partial(checked_cutoff, least=1)


def n_relevant_retrieved(hits: Hits, k: int | None = None) -> Codes:
    """The relevant documents among the first `k`, query by query.

    Parameters
    ----------
    hits : Hits
        The hit table.
    k : int, optional
        The cutoff; all that was retrieved where not given.

    Returns
    -------
    ndarray of shape (n_queries,)
        Counts.

    Raises
    ------
    DataError
        If `k` is not a whole number from 1 up.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> n_relevant_retrieved(hits_of([["a", "b", "c"]], [["b", "c"]]), 2)
    array([1])
    """
    if k is None:
        return hits.count(hits.relevant_query)
    return hits.count(hits.relevant_query[hits.relevant_rank < _cutoff(k)])


def n_judged_retrieved(hits: Hits, k: int | None = None) -> Codes:
    """The judged documents, relevant or not, among the first `k`, query by query.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> n_judged_retrieved(hits_of([["a", "b", "c"]], [{"b": 0, "c": 1}]), 2)
    array([1])
    """
    judged = hits.grade >= 0
    if k is not None:
        judged &= hits.rank < _cutoff(k)
    return hits.count(hits.query[judged])


def precision(hits: Hits, k: int | None = None) -> Floats:
    """The share of the first `k` that is relevant; a list that is shorter is filled up.

    Without a cutoff, the share of what was retrieved.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> precision(hits_of([["a", "b", "c"]], [["b", "c"]]), 4)
    array([0.5])
    """
    found = n_relevant_retrieved(hits, k)
    return _ratio(found, hits.n_retrieved if k is None else np.full(hits.n_queries, k))


def recall(hits: Hits, k: int | None = None) -> Floats:
    """The share of the relevant documents that stand among the first `k`; 0 if there are none.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> recall(hits_of([["a", "b", "c"]], [["b", "c"]]), 2)
    array([0.5])
    """
    return _ratio(n_relevant_retrieved(hits, k), hits.n_relevant)


def f1(hits: Hits, k: int | None = None) -> Floats:
    """The harmonic mean of precision and recall at the same cutoff.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> f1(hits_of([["a", "b", "c"]], [["b"]]), 3)
    array([0.5])
    """
    exact, complete = precision(hits, k), recall(hits, k)
    return _ratio(2 * exact * complete, exact + complete)


def hit(hits: Hits, k: int | None = None) -> Floats:
    """Whether anything relevant stands among the first `k`.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> hit(hits_of([["a", "b"], ["a"]], [["b"], ["c"]]), 2)
    array([1., 0.])
    """
    return (n_relevant_retrieved(hits, k) > 0).astype(np.float64)


def single_hit(hits: Hits, k: int | None = None) -> Floats:
    """Whether the first result is relevant: the single hit of Haystack's proposal.

    The same as ``precision@1``. A cutoff never takes the first result away, so it moves nothing.
    What Haystack 2 computes under this name is `document_recall_single_hit`.

    References
    ----------
    .. [1] Haystack's proposal for the presentation of RAG evaluation results (2024), pull request
       7462, first draft.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> single_hit(hits_of([["a", "b"], ["x", "b"]], [["a"], ["b"]]))
    array([1., 0.])
    """
    return hit(hits, 1 if k is None else min(_cutoff(k), 1))


def multi_hit(hits: Hits, k: int | None = None) -> Floats:
    """The share of relevant among the first `k`: the multi hit of Haystack's proposal.

    The same as `precision`: a list that is shorter than `k` is filled up. What Haystack 2 computes
    under this name is `document_recall_multi_hit`.

    References
    ----------
    .. [1] Haystack's proposal for the presentation of RAG evaluation results (2024), pull request
       7462, first draft.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> multi_hit(hits_of([["a", "b", "x", "y"]], [["a", "b", "c"]]), 4)
    array([0.5])
    """
    return precision(hits, k)


def document_recall_single_hit(hits: Hits, k: int | None = None) -> Floats:
    """Whether any result is relevant: the mode "single_hit" of Haystack 2's document recall.

    The same as `hit`. Nothing retrieved, or nothing relevant, is 0.

    References
    ----------
    .. [1] Haystack 2, ``DocumentRecallEvaluator``.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> document_recall_single_hit(hits_of([["a", "b"], ["x", "b"]], [["a"], ["b"]]))
    array([1., 1.])
    """
    return hit(hits, k)


def document_recall_multi_hit(hits: Hits, k: int | None = None) -> Floats:
    """The share of the relevant that was found: the mode "multi_hit" of Haystack 2's recall.

    The same as `recall`. Nothing retrieved, or nothing relevant, is 0.

    References
    ----------
    .. [1] Haystack 2, ``DocumentRecallEvaluator``.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> document_recall_multi_hit(hits_of([["a", "x"]], [["a", "b", "c", "d"]]))
    array([0.25])
    """
    return recall(hits, k)


def reachable_recall(hits: Hits, k: int | None = None) -> Floats:
    """The relevant documents among the first `k` over those that `k` places could have held.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> reachable_recall(hits_of([["a", "b"]], [["a", "b", "c"]]), 2)
    array([1.])
    """
    most = hits.n_relevant if k is None else np.minimum(hits.n_relevant, _cutoff(k))
    return _ratio(n_relevant_retrieved(hits, k), most)


def reciprocal_rank(hits: Hits, k: int | None = None) -> Floats:
    """One over the rank of the first relevant document; 0 if none stands among the first `k`.

    References
    ----------
    .. [1] Voorhees (1999). The TREC-8 question answering track report.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> reciprocal_rank(hits_of([["a", "b"], ["a"]], [["b"], ["c"]]))
    array([0.5, 0. ])
    """
    is_first = (hits.ordinal == 1) & _within(hits.relevant_rank, k)
    scores = np.zeros(hits.n_queries)
    scores[hits.relevant_query[is_first]] = 1.0 / (hits.relevant_rank[is_first] + 1)
    return scores


def average_precision(hits: Hits, k: int | None = None) -> Floats:
    """The sum of the precisions at the relevant documents, over all that are relevant.

    With a cutoff the sum ends there, and the divisor stays: what trec_eval calls map_cut.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> average_precision(hits_of([["a", "b", "c", "d"]], [["b", "d"]]))
    array([0.5])
    """
    inside = _within(hits.relevant_rank, k)
    precisions = hits.ordinal[inside] / (hits.relevant_rank[inside] + 1)
    return _ratio(hits.add_up(hits.relevant_query[inside], precisions), hits.n_relevant)


def r_precision(hits: Hits, k: int | None = None) -> Floats:
    """The precision after as many documents as are relevant; a cutoff shortens the list before.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> r_precision(hits_of([["a", "b", "c"]], [["a", "c"]]))
    array([0.5])
    """
    inside = hits.relevant_rank < hits.n_relevant[hits.relevant_query]
    inside &= _within(hits.relevant_rank, k)
    return _ratio(hits.count(hits.relevant_query[inside]), hits.n_relevant)


def bpref(hits: Hits, k: int | None = None) -> Floats:
    """How often judged relevant documents stand before judged non-relevant ones.

    Documents without a judgment, or with one below 0, are passed over. A relevant document without
    any non-relevant one above counts in full; each one above costs a share of the fewer of the
    judged non-relevant and the relevant.

    References
    ----------
    .. [1] Buckley & Voorhees (2004). Retrieval evaluation with incomplete information. SIGIR.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> bpref(hits_of([["a", "b", "x", "c"]], [{"a": 1, "b": 0, "c": 1, "d": 0}]))
    array([0.75])
    """
    inside = _within(hits.relevant_rank, k)
    query, above = hits.relevant_query[inside], hits.nonrelevant_above[inside]
    relevant = hits.n_relevant[query]
    worst = np.minimum(hits.n_nonrelevant[query], relevant)
    preferred = 1.0 - _ratio(np.minimum(above, relevant), worst)
    return _ratio(hits.add_up(query, preferred), hits.n_relevant)


def ndcg(hits: Hits, k: int | None = None) -> Floats:
    """Discounted cumulative gain over that of the ideal order; the gain is the grade.

    The ideal order is that of all judged documents, cut at `k`. A grade of 0 or less has no gain;
    the relevance level is not asked for.

    References
    ----------
    .. [1] Järvelin & Kekäläinen (2002). Cumulated gain-based evaluation of IR techniques. TOIS.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> ndcg(hits_of([["a", "b"]], [{"a": 1, "b": 1, "c": 0}]), 1)
    array([1.])
    """
    return _ndcg(hits, k, lambda _, grade: grade)


def ndcg_exp(hits: Hits, k: int | None = None) -> Floats:
    """Discounted cumulative gain over that of the ideal order; the gain is 2^grade - 1.

    References
    ----------
    .. [1] Burges et al. (2005). Learning to rank using gradient descent. ICML.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> ndcg_exp(hits_of([["b", "a"]], [{"a": 2, "b": 1}]), 1).round(4)
    array([0.3333])
    """
    query, _, grade = hits.ideal
    top = np.zeros(hits.n_queries)
    np.maximum.at(top, query, grade)
    # A gain too large for a float is divided by a power of two, which the ratio does not see.
    shift = np.where(top > _STEEPEST, np.ceil(top), 0.0)
    return _ndcg(hits, k, lambda q, g: np.exp2(g - shift[q]) - np.exp2(-shift[q]))


def _ndcg(hits: Hits, k: int | None, gain: Callable[[Codes, Floats], Floats]) -> Floats:
    has_gain = np.flatnonzero(hits.grade > 0)
    if k is not None:
        has_gain = has_gain[hits.rank[has_gain] < _cutoff(k)]
    query, rank, grade = hits.query[has_gain], hits.rank[has_gain], hits.grade[has_gain]
    actual = _dcg(hits, query, rank, gain(query, grade))
    query, rank, grade = hits.ideal if k is None else hits.ideal_first(k)
    return _ratio(actual, _dcg(hits, query, rank, gain(query, grade)))


def _dcg(hits: Hits, query: Codes, rank: Codes, gains: Floats) -> Floats:
    return hits.add_up(query, gains / _discounts(rank)[rank])


def _discounts(rank: Codes) -> Floats:
    """The logarithms of the ranks up to the last; of the C library, as NumPy's differ in a bit."""
    return np.array([math.log2(place + 2) for place in range(int(rank.max(initial=-1)) + 1)])


def _within(rank: Codes, k: int | None) -> NDArray[np.bool_]:
    return np.ones(len(rank), dtype=bool) if k is None else rank < _cutoff(k)


def _ratio(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """The quotient, 0 where there is nothing to divide by."""
    quotients: Floats = np.divide(above, below, out=np.zeros(len(above)), where=below != 0)
    return quotients

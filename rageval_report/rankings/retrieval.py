"""Metrics of rankings: functions of the hit table and a cutoff that return one score per query.

If trec_eval defines a metric, the values equal those of trec_eval to the last bit: sums are added
in the order of the ranks, and logarithms are those of the C library.

`k` is the cutoff, an integer >= 1; a metric uses everything that was retrieved if it is omitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from rageval_report.rankings.checks import check_cutoff
from rageval_report.rankings.hits import Hits
from rageval_report.types import BoolArray, FloatArray, IntArray

# The gain 2^grade of a higher grade is scaled down: sums of 2^1024 and above overflow a float.
_STEEPEST = 512

# Nothing can be said about the first 0 results.
_cutoff = partial(check_cutoff, least=1)


def n_relevant_retrieved(hits: Hits, k: int | None = None) -> IntArray:
    """The number of relevant documents among the first `k`, query by query.

    Parameters
    ----------
    hits : Hits
        The hit table.
    k : int, optional
        The cutoff; everything that was retrieved if omitted.

    Returns
    -------
    ndarray of shape (n_queries,)
        Counts.

    Raises
    ------
    DataError
        If `k` is not an integer >= 1.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> n_relevant_retrieved(hits_of([["a", "b", "c"]], [["b", "c"]]), 2)
    array([1])
    """
    if k is None:
        return hits.count(hits.relevant_query)
    return hits.count(hits.relevant_query[hits.relevant_rank < _cutoff(k)])


def n_judged_retrieved(hits: Hits, k: int | None = None) -> IntArray:
    """The number of judged documents, relevant or not, among the first `k`, query by query.

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


def precision(hits: Hits, k: int | None = None) -> FloatArray:
    """The share of the first `k` documents that is relevant.

    A shorter list counts as filled up with documents that are not relevant. Without a cutoff, the
    share of what was retrieved.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> precision(hits_of([["a", "b", "c"]], [["b", "c"]]), 4)
    array([0.5])
    """
    n_relevant = n_relevant_retrieved(hits, k)
    return _ratio(n_relevant, hits.n_retrieved if k is None else np.full(hits.n_queries, k))


def recall(hits: Hits, k: int | None = None) -> FloatArray:
    """The share of the relevant documents that are among the first `k`; 0 if there are none.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> recall(hits_of([["a", "b", "c"]], [["b", "c"]]), 2)
    array([0.5])
    """
    return _ratio(n_relevant_retrieved(hits, k), hits.n_relevant)


def f1(hits: Hits, k: int | None = None) -> FloatArray:
    """The harmonic mean of precision and recall at the same cutoff.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> f1(hits_of([["a", "b", "c"]], [["b"]]), 3)
    array([0.5])
    """
    exact, complete = precision(hits, k), recall(hits, k)
    return _ratio(2 * exact * complete, exact + complete)


def hit(hits: Hits, k: int | None = None) -> FloatArray:
    """Whether a relevant document is among the first `k`.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> hit(hits_of([["a", "b"], ["a"]], [["b"], ["c"]]), 2)
    array([1., 0.])
    """
    return (n_relevant_retrieved(hits, k) > 0).astype(np.float64)


def single_hit(hits: Hits, k: int | None = None) -> FloatArray:
    """Whether the first result is relevant: the single hit of Haystack's proposal.

    The same as ``precision@1``. A cutoff changes nothing: it never removes the first result.
    Haystack 2 uses this name for `document_recall_single_hit`.

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
    # Any cutoff beyond the first place would make it another metric; the check still refuses 0.
    return hit(hits, 1 if k is None else min(_cutoff(k), 1))


def multi_hit(hits: Hits, k: int | None = None) -> FloatArray:
    """The share of relevant among the first `k`: the multi hit of Haystack's proposal.

    The same as `precision`: a list that is shorter than `k` is filled up. Haystack 2 uses this name
    for `document_recall_multi_hit`.

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


def document_recall_single_hit(hits: Hits, k: int | None = None) -> FloatArray:
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


def document_recall_multi_hit(hits: Hits, k: int | None = None) -> FloatArray:
    """The share of the relevant documents that was retrieved: "multi_hit" of Haystack 2's recall.

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


def reachable_recall(hits: Hits, k: int | None = None) -> FloatArray:
    """The relevant documents among the first `k`, over the most that `k` places can hold.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> reachable_recall(hits_of([["a", "b"]], [["a", "b", "c"]]), 2)
    array([1.])
    """
    # The divisor of BEIR's capped recall, which divides by zero if nothing is relevant.
    most = hits.n_relevant if k is None else np.minimum(hits.n_relevant, _cutoff(k))
    return _ratio(n_relevant_retrieved(hits, k), most)


def reciprocal_rank(hits: Hits, k: int | None = None) -> FloatArray:
    """One over the rank of the first relevant document; 0 if none is among the first `k`.

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


def average_precision(hits: Hits, k: int | None = None) -> FloatArray:
    """The sum of the precisions at the relevant documents, over the number of relevant documents.

    With a cutoff the sum ends there, and the divisor stays the same, as in map_cut of trec_eval.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> average_precision(hits_of([["a", "b", "c", "d"]], [["b", "d"]]))
    array([0.5])
    """
    inside = _within(hits.relevant_rank, k)
    precisions = hits.ordinal[inside] / (hits.relevant_rank[inside] + 1)
    # Dividing by those found within k, as torchmetrics does, would reward short lists.
    return _ratio(hits.add_up(hits.relevant_query[inside], precisions), hits.n_relevant)


def r_precision(hits: Hits, k: int | None = None) -> FloatArray:
    """The precision at R, the number of relevant documents; a cutoff shortens the list first.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> r_precision(hits_of([["a", "b", "c"]], [["a", "c"]]))
    array([0.5])
    """
    inside = hits.relevant_rank < hits.n_relevant[hits.relevant_query]
    inside &= _within(hits.relevant_rank, k)
    return _ratio(hits.count(hits.relevant_query[inside]), hits.n_relevant)


def bpref(hits: Hits, k: int | None = None) -> FloatArray:
    """How often judged relevant documents rank above judged non-relevant ones.

    Documents without a judgment, or with a grade below 0, are ignored. A relevant document counts
    1, less 1/m for each judged non-relevant document above it, where m is the number of relevant or
    of judged non-relevant documents, whichever is smaller.

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
    # trec_eval's divisor; ranx gives NaN if no document was judged non-relevant.
    worst = np.minimum(hits.n_nonrelevant[query], relevant)
    preferred = 1.0 - _ratio(np.minimum(above, relevant), worst)
    return _ratio(hits.add_up(query, preferred), hits.n_relevant)


def ndcg(hits: Hits, k: int | None = None) -> FloatArray:
    """Discounted cumulative gain over that of the ideal order; the gain is the grade.

    The ideal order is that of all judged documents, cut at `k`. A grade of 0 or less has no gain;
    the relevance level does not matter.

    References
    ----------
    .. [1] Järvelin & Kekäläinen (2002). Cumulated gain-based evaluation of IR techniques. TOIS.

    Examples
    --------
    >>> from rageval_report.rankings.score_tables import hits_of
    >>> ndcg(hits_of([["a", "b"]], [{"a": 1, "b": 1, "c": 0}]), 1)
    array([1.])
    """
    # The linear gain of trec_eval; the exponential one has another name so that the two are never
    # mixed up.
    return _ndcg(hits, k, lambda _, grade: grade)


def ndcg_exp(hits: Hits, k: int | None = None) -> FloatArray:
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
    # Dividing all gains of a query by a power of two changes nothing in the ratio.
    shift = np.where(top > _STEEPEST, np.ceil(top), 0.0)
    return _ndcg(hits, k, lambda q, g: np.exp2(g - shift[q]) - np.exp2(-shift[q]))


def _ndcg(
    hits: Hits, k: int | None, gain: Callable[[IntArray, FloatArray], FloatArray]
) -> FloatArray:
    # The relevance level is ignored, as in trec_eval: a grade below it is still a gain.
    has_gain = np.flatnonzero(hits.grade > 0)
    if k is not None:
        has_gain = has_gain[hits.rank[has_gain] < _cutoff(k)]
    query, rank, grade = hits.query[has_gain], hits.rank[has_gain], hits.grade[has_gain]
    actual = _dcg(hits, query, rank, gain(query, grade))
    # The ideal is built from all judged documents. Several tools build it from the retrieved ones,
    # so that a run that misses everything better scores 1.
    query, rank, grade = hits.ideal if k is None else hits.ideal_first(k)
    return _ratio(actual, _dcg(hits, query, rank, gain(query, grade)))


def _dcg(hits: Hits, query: IntArray, rank: IntArray, gains: FloatArray) -> FloatArray:
    return hits.add_up(query, gains / _discounts(rank)[rank])


def _discounts(rank: IntArray) -> FloatArray:
    """The logarithms up to the last rank, of the C library: NumPy's may differ in the last bit."""
    return np.array([math.log2(place + 2) for place in range(int(rank.max(initial=-1)) + 1)])


def _within(rank: IntArray, k: int | None) -> BoolArray:
    return np.ones(len(rank), dtype=bool) if k is None else rank < _cutoff(k)


def _ratio(above: FloatArray | IntArray, below: FloatArray | IntArray) -> FloatArray:
    """The quotient; 0 if the divisor is 0."""
    quotients: FloatArray = np.divide(above, below, out=np.zeros(len(above)), where=below != 0)
    return quotients

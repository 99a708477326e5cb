"""The hit table of a ranking, and the metrics of rankings: one score per query, by bincounts.

If trec_eval defines a metric, the values equal those of trec_eval to the last bit: sums are added
in the order of the ranks, and logarithms are those of the C library. Every metric takes the hit
table and a cutoff `k`, an integer >= 1; it uses everything that was retrieved if `k` is omitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rageval_report.errors import DataError
from rageval_report.metrics.checks import check_between, check_cutoff
from rageval_report.types import BoolArray, FloatArray, IntArray

# The gain 2^grade of a higher grade is scaled down: sums of 2^1024 and above overflow a float.
_STEEPEST = 512

# Nothing can be said about the first 0 results.
_cutoff = partial(check_cutoff, least=1)


@dataclass(frozen=True, eq=False)
class Hits:
    """The judged documents of all queries, and the ranks of those that were retrieved."""

    query: IntArray
    rank: IntArray
    grade: FloatArray
    judged_query: IntArray
    judged_grade: FloatArray
    n_retrieved: IntArray
    relevance_level: float = 1.0

    @property
    def n_queries(self) -> int:
        """The number of queries, including those without any hit."""
        return len(self.n_retrieved)

    @cached_property
    def n_relevant(self) -> IntArray:
        """The number of relevant documents of each query, retrieved or not."""
        return self.count(self.judged_query[self.judged_grade >= self.relevance_level])

    @cached_property
    def n_nonrelevant(self) -> IntArray:
        """The number of documents of each query that were judged not relevant."""
        return self.count(self.judged_query[self._is_nonrelevant(self.judged_grade)])

    @cached_property
    def relevant_query(self) -> IntArray:
        """The query of each relevant document that was retrieved."""
        return self.query[self._is_relevant]

    @cached_property
    def relevant_rank(self) -> IntArray:
        """The rank, from 0, of each relevant document that was retrieved."""
        return self.rank[self._is_relevant]

    @cached_property
    def ordinal(self) -> IntArray:
        """The position of each relevant retrieved document among those of its query, from 1."""
        return _places(self.relevant_query, self.n_queries) + 1

    @cached_property
    def nonrelevant_above(self) -> IntArray:
        """How many judged non-relevant documents rank above each relevant retrieved one."""
        is_nonrelevant = self._is_nonrelevant(self.grade)
        so_far = np.cumsum(is_nonrelevant)[self._is_relevant]
        counts = self.count(self.query[is_nonrelevant])
        return so_far - (np.cumsum(counts) - counts)[self.relevant_query]

    @cached_property
    def ideal(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Query, rank and grade of the documents with a gain, in the best possible order."""
        has_gain = self.judged_grade > 0
        query, grade = self.judged_query[has_gain], self.judged_grade[has_gain]
        order = np.lexsort((-grade, query))
        return query[order], _places(query[order], self.n_queries), grade[order]

    @cached_property
    def _is_relevant(self) -> BoolArray:
        return self.grade >= self.relevance_level

    def _is_nonrelevant(self, grade: FloatArray) -> BoolArray:
        # trec_eval counts -1 and -2 as unjudged, so bpref must not charge for them.
        return (grade >= 0) & (grade < self.relevance_level)

    def count(self, query: IntArray) -> IntArray:
        """How often each query appears in an array of codes."""
        return np.bincount(query, minlength=self.n_queries)

    def add_up(self, query: IntArray, values: FloatArray) -> FloatArray:
        """The sum of the values of each query, added in order, as a loop over them would."""
        # bincount adds in the order of the rows, like trec_eval's loop, so that sums are equal to
        # the last bit; np.sum adds pairwise.
        sums = np.bincount(query, weights=values, minlength=self.n_queries)
        return np.asarray(sums, np.float64)


def _places(query: IntArray, n_queries: int) -> IntArray:
    """The position of each row among those of its query, from 0; rows are sorted by query."""
    counts = np.bincount(query, minlength=n_queries)
    return np.arange(len(query)) - (np.cumsum(counts) - counts)[query]


# -- metrics


def n_relevant_retrieved(hits: Hits, k: int | None = None) -> IntArray:
    """The number of relevant documents among the first `k`, query by query."""
    if k is None:
        return hits.count(hits.relevant_query)
    return hits.count(hits.relevant_query[hits.relevant_rank < _cutoff(k)])


def n_judged_retrieved(hits: Hits, k: int | None = None) -> IntArray:
    """The number of judged documents, relevant or not, among the first `k`, query by query."""
    return hits.count(hits.query[(hits.grade >= 0) & _within(hits.rank, k)])


def precision(hits: Hits, k: int | None = None) -> FloatArray:
    """The share of the first `k` that is relevant, or of all; a shorter list is filled up."""
    n_relevant = n_relevant_retrieved(hits, k)
    return _ratio(n_relevant, hits.n_retrieved if k is None else np.full(hits.n_queries, k))


def recall(hits: Hits, k: int | None = None) -> FloatArray:
    """The share of the relevant documents that are among the first `k`; 0 if there are none."""
    return _ratio(n_relevant_retrieved(hits, k), hits.n_relevant)


def f1(hits: Hits, k: int | None = None) -> FloatArray:
    """The harmonic mean of precision and recall at the same cutoff."""
    exact, complete = precision(hits, k), recall(hits, k)
    return _ratio(2 * exact * complete, exact + complete)


def hit(hits: Hits, k: int | None = None) -> FloatArray:
    """Whether a relevant document is among the first `k`."""
    return (n_relevant_retrieved(hits, k) > 0).astype(np.float64)


def single_hit(hits: Hits, k: int | None = None) -> FloatArray:
    """Whether the first result is relevant: the single hit of Haystack's proposal, pull 7462."""
    # Any cutoff beyond the first place would make it another metric; the check still refuses 0.
    return hit(hits, 1 if k is None else min(_cutoff(k), 1))


def multi_hit(hits: Hits, k: int | None = None) -> FloatArray:
    """The share of relevant among the first `k`: multi hit of Haystack's proposal, pull 7462."""
    return precision(hits, k)


def document_recall_single_hit(hits: Hits, k: int | None = None) -> FloatArray:
    """Whether any result is relevant: the mode "single_hit" of Haystack 2's document recall."""
    return hit(hits, k)


def document_recall_multi_hit(hits: Hits, k: int | None = None) -> FloatArray:
    """The share of the relevant that was retrieved: "multi_hit" of Haystack 2's document recall."""
    return recall(hits, k)


def reachable_recall(hits: Hits, k: int | None = None) -> FloatArray:
    """The relevant documents among the first `k`, over the most that `k` places can hold."""
    # The divisor of BEIR's capped recall, which divides by zero if nothing is relevant.
    most = hits.n_relevant if k is None else np.minimum(hits.n_relevant, _cutoff(k))
    return _ratio(n_relevant_retrieved(hits, k), most)


def reciprocal_rank(hits: Hits, k: int | None = None) -> FloatArray:
    """One over the rank of the first relevant document; 0 if none is among the first `k`."""
    is_first = (hits.ordinal == 1) & _within(hits.relevant_rank, k)
    scores = np.zeros(hits.n_queries)
    scores[hits.relevant_query[is_first]] = 1.0 / (hits.relevant_rank[is_first] + 1)
    return scores


def average_precision(hits: Hits, k: int | None = None) -> FloatArray:
    """The sum of the precisions at the relevant documents, over the number of these."""
    inside = _within(hits.relevant_rank, k)
    precisions = hits.ordinal[inside] / (hits.relevant_rank[inside] + 1)
    # Dividing by those found within k, as torchmetrics does, would reward short lists.
    return _ratio(hits.add_up(hits.relevant_query[inside], precisions), hits.n_relevant)


def r_precision(hits: Hits, k: int | None = None) -> FloatArray:
    """The precision at R, the number of relevant documents; a cutoff shortens the list first."""
    inside = hits.relevant_rank < hits.n_relevant[hits.relevant_query]
    inside &= _within(hits.relevant_rank, k)
    return _ratio(hits.count(hits.relevant_query[inside]), hits.n_relevant)


def bpref(hits: Hits, k: int | None = None) -> FloatArray:
    """How often judged relevant documents rank above judged non-relevant ones."""
    inside = _within(hits.relevant_rank, k)
    query, above = hits.relevant_query[inside], hits.nonrelevant_above[inside]
    relevant = hits.n_relevant[query]
    # trec_eval's divisor; ranx gives NaN if no document was judged non-relevant.
    worst = np.minimum(hits.n_nonrelevant[query], relevant)
    preferred = 1.0 - _ratio(np.minimum(above, relevant), worst)
    return _ratio(hits.add_up(query, preferred), hits.n_relevant)


def ndcg(hits: Hits, k: int | None = None) -> FloatArray:
    """Discounted cumulative gain over that of the ideal order; the gain is the grade."""
    # The linear gain of trec_eval; the exponential one has another name so that the two are never
    # mixed up.
    return _ndcg(hits, k, lambda _, grade: grade)


def ndcg_exp(hits: Hits, k: int | None = None) -> FloatArray:
    """Discounted cumulative gain over that of the ideal order; the gain is 2^grade - 1."""
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
    has_gain = hits.grade > 0
    actual = hits.query[has_gain], hits.rank[has_gain], hits.grade[has_gain]
    # The ideal is built from all judged documents. Several tools build it from the retrieved ones,
    # so that a run that misses everything better scores 1.
    sums = []
    for query, rank, grade in (actual, hits.ideal):
        inside = _within(rank, k)
        gains = gain(query[inside], grade[inside])
        sums.append(hits.add_up(query[inside], gains / _discounts(rank[inside])))
    return _ratio(*sums)


def _discounts(rank: IntArray) -> FloatArray:
    """The logarithms of the C library: NumPy's may differ in the last bit."""
    table = np.array([math.log2(place + 2) for place in range(int(rank.max(initial=-1)) + 1)])
    return table[rank]


def _within(rank: IntArray, k: int | None) -> BoolArray:
    return np.ones(len(rank), dtype=bool) if k is None else rank < _cutoff(k)


def _ratio(above: FloatArray | IntArray, below: FloatArray | IntArray) -> FloatArray:
    """The quotient; 0 if the divisor is 0."""
    quotients: FloatArray = np.divide(above, below, out=np.zeros(len(above)), where=below != 0)
    return quotients


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


def hybrid_log_rank(
    hits: Hits,
    k: int | None = None,
    *,
    gamma: float = 1.0,
    alpha: float = 0.5,
    normalized: bool = False,
) -> FloatArray:
    """The recall of each ranking, combined with how early its relevant documents rank."""
    cut = hits.n_retrieved if k is None else np.minimum(hits.n_retrieved, check_cutoff(k))
    inside = hits.relevant_rank < cut[hits.relevant_query]
    query, rank = hits.relevant_query[inside], hits.relevant_rank[inside] + 1
    how: dict[str, Any] = {"gamma": gamma, "alpha": alpha, "normalized": normalized}
    return hybrid_of_ranks(query, rank, cut, hits.n_relevant, **how)


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
    """The hybrid log-rank scores of all queries, from the first ranks of the retrieved truths."""
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
    """A function of two integers, called once for each distinct pair."""
    if not left.size:
        return np.empty(0)
    width = int(right.max()) + 1
    pairs, places = np.unique(left * width + right, return_inverse=True)
    values = [value(*divmod(pair, width)) for pair in pairs.tolist()]
    return np.array(values, dtype=np.float64)[places]

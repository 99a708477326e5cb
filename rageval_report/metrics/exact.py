"""Precision, recall and F1 of the chunks of one query, by equality with a truth (datapizza-ai).

The definitions are those of datapizza-ai: the divisor of precision is `k` even if fewer chunks were
retrieved; duplicates count once. A negative `k` raises an error; in datapizza-ai it slices from the
end. The results of the functions of one query if a list is empty (a cutoff of 0 retrieves nothing):

=================================== ================= ======== ========
function                            nothing retrieved no truth both
=================================== ================= ======== ========
precision, recall and F1, exact     0                 raises   0
precision, by similarity            0                 raises   0
recall and F1, by similarity        0                 raises   raises
hybrid log-rank, both forms         0                 raises   raises
``corpus_bleu_score``               0                 raises   raises
``corpus_rouge_scores``             0                 raises   0
=================================== ================= ======== ========

The metrics of many queries do not raise: a query without a truth is NaN, one without results 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from rageval_report.errors import DataError
from rageval_report.rankings.checks import check_cutoff, check_list, distinct_items


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
    retrieved = check_list("retrieved_chunks", retrieved_chunks)
    truths = check_list("ground_truth_chunks", ground_truth_chunks)
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
    retrieved = check_list("retrieved_chunks", retrieved_chunks)
    truths = check_list("ground_truth_chunks", ground_truth_chunks)
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
    retrieved = check_list("retrieved_chunks", retrieved_chunks)
    truths = check_list("ground_truth_chunks", ground_truth_chunks)
    precision = precision_at_k_exact(retrieved, truths, k)
    recall = recall_at_k_exact(retrieved, truths, k)
    return harmonic_mean(precision, recall)


def harmonic_mean(precision: float, recall: float) -> float:
    """F1 of a precision and a recall; 0 if both are 0.

    Examples
    --------
    >>> harmonic_mean(1.0, 0.5)
    0.6666666666666666
    """
    both = precision + recall
    return 2 * (precision * recall) / both if both else 0.0


def _count_found(retrieved: list[Hashable], truths: list[Hashable], k: int) -> int:
    """The number of distinct truths among the first k results."""
    if not truths:
        raise DataError("ground_truth_chunks must have at least one chunk; got none")
    first_chunks = distinct_items("retrieved_chunks", retrieved[:k])
    return len(first_chunks & distinct_items("ground_truth_chunks", truths))

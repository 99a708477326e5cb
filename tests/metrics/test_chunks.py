"""The metrics of datapizza-ai for one query: figures by hand, and loops over the definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.metrics.chunks import (
    f1_at_k_exact,
    f1_at_k_similarity,
    hybrid_log_rank_score_exact,
    hybrid_log_rank_score_similarity,
    precision_at_k_exact,
    precision_at_k_similarity,
    recall_at_k_exact,
    recall_at_k_similarity,
)
from rageval_report.metrics.ranking_scores import join_inputs
from rageval_report.metrics.retrieval import hybrid_log_rank, hybrid_of_ranks, log_rank_score

FUNCTIONS = (precision_at_k_exact, recall_at_k_exact, f1_at_k_exact)


@pytest.mark.parametrize("k", [2.0, "2", None])
def test_a_cutoff_that_is_no_whole_number_raises(k):
    with pytest.raises(DataError, match="k must be an integer >= 0"):
        precision_at_k_exact(["a"], ["a"], k)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_chunks_that_cannot_be_told_apart_by_equality_raise(function):
    with pytest.raises(DataError, match="retrieved_chunks must contain texts or ids"):
        function([{"text": "a"}], ["a"], 1)


AT_K = (precision_at_k_similarity, recall_at_k_similarity, f1_at_k_similarity)
A, B, C, D, E = np.eye(5).tolist()


@pytest.mark.parametrize("function", AT_K)
def test_arrays_lists_of_arrays_and_flat_vectors_are_taken(function):
    rows = np.array([A, B])
    told = function([A, B], [A], 2)
    assert function(rows, rows[:1], 2) == told
    assert function([rows[0], rows[1]], rows[0], 2) == told
    assert function(A, rows[0], 1) == 1.0


def test_texts_are_embedded_by_what_is_handed_in():
    def embed(texts):
        return [[text.count("a"), text.count("b")] for text in texts]

    assert recall_at_k_similarity(["aa", "b"], ["a", "ab"], 2, embed=embed) == 0.5
    assert hybrid_log_rank_score_similarity(["a"], ["aaa"], embed=embed) == 1.0
    assert precision_at_k_similarity([], ["a"], 2, embed=embed) == 0.0


LISTS = st.lists(st.sampled_from("abcdefgh"), max_size=8)


def test_the_score_falls_from_one_to_zero_with_the_logarithm_of_the_rank():
    scores = [log_rank_score(rank, 4) for rank in (1, 2, 3, 4)]
    assert scores == [1.0, 1 - math.log(2) / math.log(4), 1 - math.log(3) / math.log(4), 0.0]
    assert scores == [1.0, 0.5, 0.20751874963942185, 0.0]


@pytest.mark.parametrize(("rank", "n"), [(0, 3), (4, 3), (-1, 3), (1, 0)])
def test_a_rank_out_of_the_list_raises(rank, n):
    with pytest.raises(ValueError, match="rank must be an integer from 1 to n"):
        log_rank_score(rank, n)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(LISTS, LISTS.filter(bool)), min_size=1, max_size=5),
    st.sampled_from([0.0, 0.3, 1.0, 5.0]),
    st.booleans(),
)
def test_all_queries_at_once_score_as_one_by_one(queries, gamma, normalized):
    found = [
        (place, retrieved.index(truth) + 1)
        for place, (retrieved, truths) in enumerate(queries)
        for truth in sorted(set(truths) & set(retrieved), key=retrieved.index)
    ]
    at_once = hybrid_of_ranks(
        [query for query, _ in found],
        [rank for _, rank in found],
        [len(retrieved) for retrieved, _ in queries],
        [len(set(truths)) for _, truths in queries],
        gamma=gamma,
        normalized=normalized,
    )
    one_by_one = [
        hybrid_log_rank_score_exact(*query, gamma, normalized=normalized) for query in queries
    ]
    assert at_once.tolist() == one_by_one
    assert all(0 <= score <= 1 for score in one_by_one)


def table():
    """Truths at ranks 2 and 4 of five; a document of grade 0 first."""
    run, qrels = {"q": list("abcde")}, {"q": {"a": 0, "b": 1, "d": 2}}
    return join_inputs(run, qrels, ties="input", relevance_level=1).hits


def test_the_metric_of_rankings_is_the_function_of_one_query():
    assert hybrid_log_rank(table()).tolist() == [0.6769925814449552]

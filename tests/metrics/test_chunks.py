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
from rageval_report.metrics.retrieval import (
    hit_table,
    hybrid_log_rank,
    hybrid_of_ranks,
    log_rank_score,
)

FUNCTIONS = (precision_at_k_exact, recall_at_k_exact, f1_at_k_exact)
CHUNKS = st.lists(st.sampled_from("abcdef"), max_size=8)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_negative_cutoff_raises_instead_of_slicing_from_the_end(function):
    with pytest.raises(ValueError, match=r"k must be an integer >= 0; got -1"):
        function(["a", "b"], ["a"], -1)


@pytest.mark.parametrize("k", [2.0, "2", None])
def test_a_cutoff_that_is_no_whole_number_raises(k):
    with pytest.raises(DataError, match="k must be an integer >= 0"):
        precision_at_k_exact(["a"], ["a"], k)


def test_one_text_is_not_taken_for_its_letters():
    with pytest.raises(DataError, match="ground_truth_chunks must be a list of texts"):
        recall_at_k_exact(["a"], "abc", 1)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_chunks_that_cannot_be_told_apart_by_equality_raise(function):
    with pytest.raises(DataError, match="retrieved_chunks must contain texts or ids"):
        function([{"text": "a"}], ["a"], 1)


def test_a_number_is_no_list():
    with pytest.raises(DataError, match="retrieved_chunks must be a list"):
        recall_at_k_exact(5, ["a"], 1)


@given(CHUNKS.filter(bool), CHUNKS.filter(bool), st.integers(1, 10))
def test_values_are_those_of_the_definition(retrieved, truths, k):
    found = sum(truth in retrieved[:k] for truth in dict.fromkeys(truths))
    assert precision_at_k_exact(retrieved, truths, k) == found / k
    assert recall_at_k_exact(retrieved, truths, k) == found / len(dict.fromkeys(truths))


AT_K = (precision_at_k_similarity, recall_at_k_similarity, f1_at_k_similarity)
A, B, C, D, E = np.eye(5).tolist()


@pytest.mark.parametrize("function", AT_K)
def test_a_negative_cutoff_raises(function):
    with pytest.raises(ValueError, match="k must be an integer >= 0"):
        function([A], [A], -1)


@pytest.mark.parametrize("function", AT_K)
@pytest.mark.parametrize("threshold", [1.01, -1.01])
def test_a_threshold_that_is_no_cosine_raises(function, threshold):
    with pytest.raises(ValueError, match="similarity_threshold"):
        function([A], [A], 1, threshold)


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


@pytest.mark.parametrize("gamma", [0, 1e-12, 1e-300])
def test_gamma_of_zero_is_the_straight_line(gamma):
    assert log_rank_score(2, 5, gamma) == pytest.approx(0.75, abs=1e-3)


def test_an_endless_gamma_leaves_the_first_rank_alone():
    assert [log_rank_score(rank, 3, math.inf) for rank in (1, 2, 3)] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(("rank", "n"), [(0, 3), (4, 3), (-1, 3), (1, 0)])
def test_a_rank_out_of_the_list_raises(rank, n):
    with pytest.raises(ValueError, match="rank must be an integer from 1 to n"):
        log_rank_score(rank, n)


@pytest.mark.parametrize("gamma", [-0.1, math.nan, "steep"])
def test_a_gamma_below_zero_raises(gamma):
    with pytest.raises(ValueError, match="gamma must be a number >= 0"):
        log_rank_score(1, 3, gamma)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, math.nan])
def test_an_alpha_outside_the_unit_raises(alpha):
    with pytest.raises(DataError, match="alpha must be a number between 0 and 1"):
        hybrid_log_rank_score_exact(["a"], ["a"], alpha=alpha)


def test_queries_without_a_truth_are_unscored():
    scores = hybrid_of_ranks([0], [1], n_retrieved=[3, 3, 0], n_relevant=[1, 0, 2])
    np.testing.assert_array_equal(scores, [1.0, np.nan, 0.0])


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


@given(st.integers(1, 8), st.integers(0, 5), st.floats(0, 20))
def test_a_perfect_ranking_scores_one_when_normalized(n_truths, n_others, gamma):
    truths = [f"truth {place}" for place in range(n_truths)]
    retrieved = truths + [f"other {place}" for place in range(n_others)]
    score = hybrid_log_rank_score_exact(retrieved, truths, gamma, normalized=True)
    assert score == pytest.approx(1.0)


def table(**options):
    """Truths at ranks 2 and 4 of five; a document of grade 0 first."""
    return hit_table(
        query=[0, 0, 0],
        rank=[0, 1, 3],
        grade=[0, 1, 2],
        judged_query=[0, 0, 0],
        judged_grade=[0, 1, 2],
        n_retrieved=[5],
        **options,
    )


def test_the_metric_of_rankings_is_the_function_of_one_query():
    assert hybrid_log_rank(table()).tolist() == [0.6769925814449552]

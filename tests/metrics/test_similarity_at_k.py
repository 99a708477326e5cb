"""Figures by hand, and what sets the functions of vectors apart from those of equal chunks."""

import numpy as np
import pytest

from rageval_report.metrics.log_rank import hybrid_log_rank_score_exact
from rageval_report.metrics.similarity_at_k import (
    f1_at_k_similarity,
    hybrid_log_rank_score_similarity,
    precision_at_k_similarity,
    recall_at_k_similarity,
)

AT_K = (precision_at_k_similarity, recall_at_k_similarity, f1_at_k_similarity)
A, B, C, D, E = np.eye(5).tolist()


def test_results_that_stand_twice_count_twice():
    assert precision_at_k_similarity([A, A, B], [A], 3) == 2 / 3


def test_truths_that_stand_twice_count_twice():
    assert recall_at_k_similarity([A], [A, A, B], 1) == 2 / 3


def test_the_divisor_of_precision_is_k_even_where_fewer_were_retrieved():
    assert precision_at_k_similarity([A, B], [A], 10) == 0.1


def test_f1_is_the_harmonic_mean():
    assert f1_at_k_similarity([A, B], [A], 2) == pytest.approx(2 / (1 / 0.5 + 1 / 1))
    assert f1_at_k_similarity([B], [A], 1) == 0.0


def test_the_threshold_need_only_be_reached():
    assert precision_at_k_similarity([[0.6, 0.8]], [[1.0, 0.0]], 1, 0.6) == 1.0
    assert precision_at_k_similarity([[0.6, 0.8]], [[1.0, 0.0]], 1, 0.601) == 0.0


def test_without_duplicates_the_hybrid_score_is_that_of_equal_chunks():
    score = hybrid_log_rank_score_similarity([C, A, D, B, E], [A, B])
    assert score == hybrid_log_rank_score_exact(list("cadbe"), list("ab")) == 0.6769925814449552


def test_a_perfect_ranking_scores_one_only_when_normalized():
    assert hybrid_log_rank_score_similarity([A, B], [A, B]) == 0.75
    assert hybrid_log_rank_score_similarity([A, B], [A, B], normalized=True) == 1.0


def test_gamma_and_alpha_mean_what_they_mean_there():
    score = hybrid_log_rank_score_similarity([C, A, D], [A, B], 0.8, 10, 0.25)
    assert score == hybrid_log_rank_score_exact(list("cad"), list("ab"), 10, 0.25)


@pytest.mark.parametrize("function", AT_K)
def test_nothing_retrieved_or_a_cutoff_of_zero_is_zero(function):
    assert function([], [A], 3) == function([A], [A], 0) == 0.0
    assert hybrid_log_rank_score_similarity([], [A]) == 0.0


def test_precision_without_truths_is_zero_where_nothing_was_retrieved():
    assert precision_at_k_similarity([], [], 3) == precision_at_k_similarity([A], [], 0) == 0.0


@pytest.mark.parametrize(
    ("function", "retrieved"),
    [
        (precision_at_k_similarity, [A]),
        *((function, some) for function in AT_K[1:] for some in ([A], [])),
    ],
)
def test_no_truth_raises(function, retrieved):
    with pytest.raises(ValueError, match="ground_truth_embeddings must have at least one"):
        function(retrieved, [], 1)


@pytest.mark.parametrize("retrieved", [[A], []])
def test_the_hybrid_score_without_truths_raises(retrieved):
    with pytest.raises(ValueError, match="ground_truth_embeddings must have at least one"):
        hybrid_log_rank_score_similarity(retrieved, [])


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

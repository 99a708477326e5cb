"""Figures by hand, and what sets the functions of vectors apart from those of equal chunks."""

import numpy as np
import pytest

from rageval_report.metrics.chunks import (
    f1_at_k_similarity,
    hybrid_log_rank_score_similarity,
    precision_at_k_similarity,
    recall_at_k_similarity,
)

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

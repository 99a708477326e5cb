"""Cosines and the metrics of similarity. Witnesses: scikit-learn, loops over pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.metrics.chunks import harmonic_mean
from rageval_report.metrics.retrieval import log_rank_score
from rageval_report.metrics.similarity import (
    answer_similarities,
    as_rows,
    embed_lists,
    f1_similarity,
    hybrid_log_rank_similarity,
    precision_similarity,
    recall_similarity,
    semantic_answer_similarity,
    similarities,
)
from rageval_report.metrics.text import Answers


def letters(texts):
    """An embedding that counts letters."""
    return [[text.count(letter) for letter in "abcd"] for text in texts]


@pytest.mark.parametrize("given", [[[1.0], [1.0, 2.0]], [["a"]], 3.0, [[[1.0]]], [[], []]])
def test_what_is_no_table_of_numbers_raises(given):
    with pytest.raises(DataError, match="the truths must be"):
        as_rows(given, "the truths")


@pytest.mark.parametrize("bad", [[1.0, np.nan], [1.0, np.inf], [np.inf, -np.inf], [1e200, 1.0]])
def test_a_vector_that_is_not_finite_raises(bad):
    with pytest.raises(DataError, match="must be finite and small enough to multiply"):
        similarities([[bad]], [[[1.0, 1.0]]])


def test_each_different_text_is_embedded_once_in_batches():
    asked = []

    def embed(texts):
        asked.append(texts)
        return letters(texts)

    rows = embed_lists([["a", "b"], None, ["b", "c"], []], embed, batch_size=2)
    assert asked == [["a", "b"], ["c"]]
    assert rows[1] is None
    assert rows[2].tolist() == letters(["b", "c"])
    assert len(rows[3]) == 0


METRICS = (precision_similarity, recall_similarity, f1_similarity, hybrid_log_rank_similarity)


def cosine(a, b):
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def by_loops(retrieved, truths, k, threshold):
    """Precision, recall, F1 and the hybrid score of one query, pair by pair."""
    kept = retrieved[:k]
    right = sum(any(cosine(a, b) >= threshold for b in truths) for a in kept)
    ranks = [
        next((r for r, a in enumerate(kept, start=1) if cosine(a, b) >= threshold), None)
        for b in truths
    ]
    found = [rank for rank in ranks if rank]
    precision = right / (len(retrieved) if k is None else k) if len(retrieved) else 0.0
    recall = len(found) / len(truths)
    quality = sum(log_rank_score(rank, len(kept)) for rank in found) / len(truths)
    return precision, recall, harmonic_mean(precision, recall), 0.5 * recall + 0.5 * quality


@settings(max_examples=40)
@given(
    st.integers(0, 10**6), st.one_of(st.none(), st.integers(1, 6)), st.sampled_from([0.0, 0.4, 0.8])
)
def test_all_queries_at_once_score_as_pair_by_pair(seed, k, threshold):
    rng = np.random.default_rng(seed)
    shapes = np.stack([rng.integers(0, 5, 6), rng.integers(1, 4, 6)], axis=1)
    retrieved = [rng.standard_normal((n, 3)) for n, _ in shapes]
    truths = [rng.standard_normal((n, 3)) for _, n in shapes]
    view = similarities(retrieved, truths)
    expected = [by_loops(*pair, k, threshold) for pair in zip(retrieved, truths, strict=True)]
    for metric, column in zip(METRICS, zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(metric(view, k, threshold=threshold), column, atol=1e-15)


@pytest.mark.parametrize("metric", METRICS)
def test_queries_without_truths_or_vectors_are_unscored_and_without_results_zero(metric):
    view = similarities([[[1.0, 0.0]], None, [], [[1.0, 0.0]]], [[], [[1.0]], [[1.0]], None])
    np.testing.assert_array_equal(metric(view, 2), [np.nan, np.nan, 0.0, np.nan])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_vectors_reach_a_threshold_of_one(dtype):
    rows = np.random.default_rng(2).standard_normal((200, 1, 384)).astype(dtype)
    assert precision_similarity(similarities(rows, rows), threshold=1.0).tolist() == [1.0] * 200


@pytest.mark.parametrize("threshold", [1.5, -1.5, np.nan, "near"])
def test_a_threshold_that_is_no_cosine_raises(threshold):
    with pytest.raises(DataError, match="similarity_threshold must be a number between -1 and 1"):
        recall_similarity(similarities([[[1.0]]], [[[1.0]]]), threshold=threshold)


def test_an_answer_is_as_similar_as_its_nearest_reference():
    def embed(texts):
        return [[text.count(letter) for letter in "ab"] for text in texts]

    answers = Answers(["ab", None, "a", "a"], [["a", "b", "aab"], ["a"], [], ["b"]])
    scores = semantic_answer_similarity(answer_similarities(answers, embed))
    np.testing.assert_allclose(scores, [3 / np.sqrt(2 * 5), np.nan, np.nan, 0.0])

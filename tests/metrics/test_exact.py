"""Figures by hand, and datapizza-ai's definitions with Python's sets as a second way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.metrics.exact import f1_at_k_exact, precision_at_k_exact, recall_at_k_exact

FUNCTIONS = (precision_at_k_exact, recall_at_k_exact, f1_at_k_exact)
CHUNKS = st.lists(st.sampled_from("abcdef"), max_size=8)


def test_precision_of_one_truth_among_three_is_a_third():
    assert precision_at_k_exact(["a", "b", "c", "d"], ["b", "d", "x"], 3) == 1 / 3


def test_the_divisor_of_precision_is_k_even_where_fewer_were_retrieved():
    assert precision_at_k_exact(["a", "b", "c", "d"], ["b", "d", "x"], 10) == 0.2


def test_a_result_that_stands_twice_counts_once():
    assert precision_at_k_exact(["a", "a", "b"], ["a"], 3) == 1 / 3


def test_a_truth_that_stands_twice_counts_once():
    assert recall_at_k_exact(["a"], ["a", "a", "b"], 1) == 0.5


def test_f1_is_the_harmonic_mean():
    precision, recall = 1 / 4, 1 / 2
    f1 = f1_at_k_exact(["a", "x", "y", "z"], ["a", "b"], 4)
    assert f1 == pytest.approx(2 / (1 / precision + 1 / recall))


def test_f1_of_nothing_right_is_zero():
    assert f1_at_k_exact(["x"], ["a"], 1) == 0.0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_retrieved_is_zero_even_without_truths(function):
    assert function([], ["a"], 3) == function([], [], 3) == function(["a"], [], 0) == 0.0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_without_truths_raise(function):
    with pytest.raises(ValueError, match="ground_truth_chunks must have at least one"):
        function(["a"], [], 1)


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


def test_arrays_serve_as_lists():
    assert recall_at_k_exact(np.array(["a", "b"]), np.array(["b"]), np.int64(2)) == 1.0


@given(CHUNKS.filter(bool), CHUNKS.filter(bool), st.integers(1, 10))
def test_values_are_those_of_the_definition(retrieved, truths, k):
    found = sum(truth in retrieved[:k] for truth in dict.fromkeys(truths))
    assert precision_at_k_exact(retrieved, truths, k) == found / k
    assert recall_at_k_exact(retrieved, truths, k) == found / len(dict.fromkeys(truths))

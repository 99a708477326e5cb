"""Figures by hand, and datapizza-ai's definitions with Python's sets as a second way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.metrics.chunks import f1_at_k_exact, precision_at_k_exact, recall_at_k_exact

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

"""Near-duplicates are found, all of them and no others."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.golden.wording import jaccard, near_pairs, share_within, shingles

_words = st.sampled_from(["who", "wrote", "the", "book", "books", "of", "rain", "1998", "1999"])
_questions = st.lists(st.lists(_words, max_size=6).map(" ".join), max_size=12)


@settings(deadline=None)
@given(_questions, st.sampled_from([0.3, 0.5, 0.7, 0.8, 0.9, 1.0]))
def test_no_pair_is_missed(texts, threshold):
    """The second witness compares every pair with every other."""
    sets = [shingles(text) for text in texts]
    years = [set(text.split()) & {"1998", "1999"} for text in texts]
    every = [
        (one, two, jaccard(sets[one], sets[two]))
        for one, two in combinations(range(len(texts)), 2)
        if years[one] == years[two] and jaccard(sets[one], sets[two]) >= threshold
    ]
    assert near_pairs(texts, threshold) == every


def test_similarity_is_arithmetic():
    # "abcd": abc, bcd; "abce": abc, bce: one of three
    assert jaccard(shingles("abcd"), shingles("abce")) == pytest.approx(1 / 3)


def test_case_punctuation_and_accents_of_another_form_make_no_difference():
    assert near_pairs(["Où est l'Élysée?", "où est l élysée"], 1.0) == [(0, 1, 1.0)]


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.1])
def test_a_threshold_that_means_nothing_is_refused(threshold):
    with pytest.raises(DataError, match="above 0 and at most 1"):
        near_pairs(["a", "b"], threshold)


def test_support_counts_the_words_that_say_something():
    assert share_within("The king of France", ["A king."]) == 0.5

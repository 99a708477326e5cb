"""Near-duplicates are found, all of them and no others, however many there are."""

from __future__ import annotations

import random
import string
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rageval_report.golden.near_duplicates import SeenQuestions, near_pairs, similarity
from rageval_report.golden.word_overlap import jaccard, shingles

from rageval_report.errors import DataError
from rageval_report.golden import near_duplicates

_words = st.sampled_from(["who", "wrote", "the", "book", "books", "of", "rain", "1998", "1999"])
_questions = st.lists(st.lists(_words, max_size=6).map(" ".join), max_size=12)


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
    with pytest.raises(DataError, match="the threshold must be > 0 and <= 1"):
        near_pairs(["a", "b"], threshold)


@given(_questions, st.sampled_from([0.5, 0.8]))
def test_the_nearest_of_those_that_were_seen_is_found(texts, threshold):
    """The second witness asks `similarity` of each one."""
    seen = SeenQuestions(threshold)
    for place, text in enumerate(texts):
        values = [similarity(text, other) for other in texts[:place]]
        best = max(values, default=0.0)
        assert seen.nearest(text) == (texts[values.index(best)] if best >= threshold else None)
        seen.add(text)


def test_without_numpy_s_own_count_of_bits_the_pairs_are_the_same(monkeypatch):
    texts = [f"Which animal lives on the {word} island?" for word in ("red", "reds", "far")] * 30
    expected = near_pairs(texts, 0.8)
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert near_pairs(texts, 0.8) == expected
    assert len(expected) > 1000


def test_questions_of_one_pattern_are_not_compared_shingle_by_shingle(monkeypatch):
    """Of 500 questions that differ in a name, hardly any pair gets past its sketches.

    The names have no shingle in common, so no pair of the 124,750 is near: what is compared
    nevertheless is lost time.
    """
    compared = []

    def counting(first, second):
        compared.append(1)
        return jaccard(first, second)

    monkeypatch.setattr(near_duplicates, "jaccard", counting)
    drawn = random.Random(0)
    names = ["".join(drawn.choices(string.ascii_lowercase, k=16)) for _ in range(500)]
    assert near_pairs([f"Who lives in the old town of {name}?" for name in names], 0.8) == []
    assert len(compared) < 0.02 * 124_750

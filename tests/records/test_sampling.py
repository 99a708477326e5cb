"""Samples keep the strata, and splits keep apart what must not leak."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.golden import GoldenItem, sample_golden, split_golden
from rageval_report.records.cells import Span
from rageval_report.records.draws import proportional_shares
from rageval_report.records.golden_checks import near_pairs, share_within
from rageval_report.records.golden_samples import shared_documents


def items_of(types, **fields):
    return [
        GoldenItem(
            f"q{n}", f"What is {n * 7919} to {n**3}?", metadata={"query_type": one}, **fields
        )
        for n, one in enumerate(types)
    ]


def counts(items, key="query_type"):
    return Counter(item.metadata[key] for item in items)


def test_a_sample_can_have_of_each_type_the_same():
    items = items_of(["a"] * 70 + ["b"] * 20 + ["c"] * 2)
    assert counts(sample_golden(items, 20, how="equal")) == {"a": 9, "b": 9, "c": 2}


def test_the_order_of_the_file_does_not_matter_and_the_seed_does():
    items = items_of(["a", "b"] * 40)
    shuffled = random.Random(0).sample(items, len(items))
    ids = {one.query_id for one in sample_golden(items, 10)}
    assert ids == {one.query_id for one in sample_golden(shuffled, 10)}
    assert ids != {one.query_id for one in sample_golden(items, 10, seed=1)}


def test_every_item_is_drawn_about_as_often():
    items = items_of(["a"] * 20)
    drawn = Counter(
        one.query_id for seed in range(400) for one in sample_golden(items, 5, seed=seed)
    )
    # binomial(400, 1/4): mean 100, standard deviation 8.7; five of them is one in a million
    assert len(drawn) == 20
    assert all(abs(n - 100) < 5 * 8.7 for n in drawn.values())


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.data())
def test_shares_add_up_and_stay_within_one_of_the_exact_ones(sizes, data):
    n = data.draw(st.integers(0, sum(sizes)))
    shares = proportional_shares(sizes, n)
    assert sum(shares) == n
    for share, size in zip(shares, sizes, strict=True):
        assert 0 <= share <= size
        assert abs(share - size * n / sum(sizes)) < 1


def test_a_split_is_a_partition_with_each_type_in_each_part():
    items = items_of(["a"] * 60 + ["b"] * 40)
    parts = split_golden(items, {"dev": 0.3, "test": 0.7})
    assert sorted(one.query_id for part in parts.values() for one in part) == sorted(
        one.query_id for one in items
    )
    assert counts(parts["dev"]) == {"a": 18, "b": 12}


def test_near_duplicates_stay_in_one_part():
    twins = [
        GoldenItem(f"{n}{twin}", f"Who found the island number {n * 7919} first{twin}")
        for n in range(20)
        for twin in ("?", "!")
    ]
    parts = split_golden(twins, {"dev": 0.5, "test": 0.5}, by=())
    for part in parts.values():
        numbers = Counter(one.query_id[:-1] for one in part)
        assert set(numbers.values()) == {2}
    assert len(parts["dev"]) == 20


# -- documents


def test_questions_of_one_document_stay_in_one_part_though_only_their_gold_names_it():
    items = [
        GoldenItem(
            f"q{n}", f"What is {n * 7919}?", relevant_spans=(Span(f"{n // 4}.md", n, n + 9),)
        )
        for n in range(40)
    ]
    shares = {"dev": 0.5, "test": 0.5}
    apart = split_golden(items, shares, by=(), together=["document"])
    assert shared_documents(apart) == []
    assert {name: len(part) for name, part in apart.items()} == {"dev": 20, "test": 20}
    assert shared_documents(split_golden(items, shares, by=())) != []


def with_and_without_answer(n_lack, n_have):
    lacking = items_of(["unanswerable"] * n_lack, answerable=False)
    having = items_of(["a", "b"] * (n_have // 2), answerable=True)
    return lacking + [replace(one, query_id=f"h{one.query_id}") for one in having]


def test_a_sample_has_the_share_without_an_answer_that_is_asked_for():
    items = with_and_without_answer(60, 40)
    drawn = sample_golden(items, 20, unanswerable_ratio=0.3)
    assert counts(drawn) == {"unanswerable": 6, "a": 7, "b": 7}
    assert drawn == sample_golden(items[::-1], 20, unanswerable_ratio=0.3)[::-1]


def test_a_share_that_cannot_be_had_or_is_none_is_refused():
    items = with_and_without_answer(2, 20)
    with pytest.raises(DataError, match="5 without and 5 with an answer; there are 2 and 20"):
        sample_golden(items, 10, unanswerable_ratio=0.5)
    for ratio in (-0.1, 1.5, float("nan"), True):
        with pytest.raises(DataError, match="must be a number from 0 to 1"):
            sample_golden(items, 10, unanswerable_ratio=ratio)


# -- near-duplicates are found, all of them and no others, however many there are


_words = st.sampled_from(["who", "wrote", "the", "book", "books", "of", "rain", "1998", "1999"])
_questions = st.lists(st.lists(_words, max_size=6).map(" ".join), max_size=12)


def similarity(first, second):
    """The second witness: sets of runs of three characters, one pair at a time."""
    if {"1998", "1999"} & set(first.split()) != {"1998", "1999"} & set(second.split()):
        return 0.0
    one, two = (
        {text[i : i + 3] for i in range(max(1, len(text) - 2)) if text} for text in (first, second)
    )
    return len(one & two) / len(one | two) if one | two else 0.0


@given(_questions, st.sampled_from([0.3, 0.5, 0.7, 0.8, 0.9, 1.0]))
def test_no_pair_is_missed(texts, threshold):
    values = {
        (one, two): similarity(texts[one], texts[two])
        for one, two in combinations(range(len(texts)), 2)
    }
    every = [(*pair, value) for pair, value in values.items() if value >= threshold]
    assert near_pairs(texts, threshold) == every


def test_support_counts_the_words_that_say_something():
    assert share_within("The king of France", ["A king."]) == 0.5

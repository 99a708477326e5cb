"""Samples keep the strata, and splits keep apart what must not leak."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.golden import GoldenItem, sample_golden, split_golden
from rageval_report.records.cells import Span
from rageval_report.records.draws import proportional_shares
from rageval_report.records.golden_samples import documents_of, shared_documents


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


@pytest.mark.parametrize(
    "fields",
    [
        {"metadata": {"document": "d"}, "relevant": {"other": 1.0}},
        {"relevant": {"d": 1.0, "judged and not relevant": 0.0}},
        {"relevant_spans": (Span("d", 3, 9),), "relevant_texts": ("a text",)},
        {"relevant_texts": ("d",)},
        {"answerable": False, "provenance": {"passages": [["d", 0, 90]]}},
    ],
)
def test_what_an_item_is_about_is_said_by_its_metadata_else_by_its_gold(fields):
    assert documents_of(GoldenItem("a", "Why?", **fields)) == ["d"]


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


@pytest.mark.parametrize(
    "draw",
    [
        lambda items, by: sample_golden(items, 2, by=by),
        lambda items, by: split_golden(items, {"dev": 0.5, "test": 0.5}, by=by),
    ],
)
def test_a_key_that_no_item_has_makes_no_strata_and_is_refused(draw):
    items = items_of(["a", "b"] * 4)
    with pytest.raises(UnknownNameError, match=r"named 'nope'\. Known: query_type\."):
        draw(items, ["nope"])
    with pytest.raises(UnknownNameError, match="named 'answerable'"):
        draw(items, ["answerable"])


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

"""The hit table: order, counts, the ideal order. Witnesses: arithmetic by hand, plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.rankings.hits import concatenate_hits, hit_table
from rageval_report.rankings.score_tables import hits_of

GRADES = st.sampled_from([-1, 0, 1, 2, 3, 0.5, 200_000_000])
JUDGED = st.lists(st.tuples(st.integers(0, 4), GRADES), max_size=30)


@pytest.fixture
def hits():
    """Query 0: b(1) n(0) x a(3) of a, b, n, and c(2) not found; query 1: nothing; query 2: -1."""
    return hits_of(
        [["b", "n", "x", "a"], [], ["z"]],
        [{"a": 3, "b": 1, "n": 0, "c": 2}, {"a": 1}, {"z": -1}],
    )


def test_rows_are_sorted_by_query_then_rank(hits):
    assert hits.query.tolist() == [0, 0, 0, 2]
    assert hits.rank.tolist() == [0, 1, 3, 0]
    assert hits.grade.tolist() == [1, 0, 3, -1]


def test_counts_are_of_every_query(hits):
    assert hits.n_queries == 3
    assert hits.n_retrieved.tolist() == [4, 0, 1]
    assert hits.n_relevant.tolist() == [3, 1, 0]


def test_a_negative_grade_is_not_counted_as_judged_nonrelevant(hits):
    assert hits.n_nonrelevant.tolist() == [1, 0, 0]


def test_the_ideal_order_holds_what_was_not_retrieved_too(hits):
    query, rank, grade = hits.ideal
    assert query.tolist() == [0, 0, 0, 1]
    assert rank.tolist() == [0, 1, 2, 0]
    assert grade.tolist() == [3, 2, 1, 1]


def test_nonrelevant_documents_above_are_those_of_the_same_query():
    hits = hits_of([["n", "m", "a"], ["n", "a", "m", "b"]], [{"a": 1, "n": 0, "m": 0, "b": 1}] * 2)
    assert hits.nonrelevant_above.tolist() == [2, 1, 2]


def test_the_relevance_level_parts_relevant_from_not():
    hits = hits_of([["a", "b"]], [{"a": 1, "b": 2}], relevance_level=2)
    assert hits.n_relevant.tolist() == [1]
    assert hits.n_nonrelevant.tolist() == [1]
    assert hits.relevant_rank.tolist() == [1]
    assert hits.ideal[2].tolist() == [2, 1]  # gains do not ask for the level


@settings(max_examples=60)
@given(judged=JUDGED)
def test_the_ideal_order_is_that_of_a_plain_sort(judged):
    judged = sorted(judged, key=lambda row: row[0])
    hits = hit_table(
        query=[], rank=[], grade=[], n_retrieved=[0] * 5,
        judged_query=[query for query, _ in judged], judged_grade=[grade for _, grade in judged],
    )  # fmt: skip
    query, rank, grade = hits.ideal
    expected = sorted((q, -g) for q, g in judged if g > 0)
    assert list(zip(query.tolist(), (-grade).tolist(), strict=True)) == expected
    assert rank.tolist() == [sum(q == p for q, _ in expected[:i]) for i, (p, _) in
                             enumerate(expected)]  # fmt: skip
    first = [tuple(row) for row in zip(*map(np.ndarray.tolist, hits.ideal_first(2)), strict=True)]
    rows = zip(query.tolist(), rank.tolist(), grade.tolist(), strict=True)
    assert first == [row for row in rows if row[1] < 2]


@settings(max_examples=60)
@given(judged=JUDGED, level=st.sampled_from([-2, 0, 0.5, 1, 2]))
def test_judged_documents_are_counted_as_a_loop_counts_them(judged, level):
    judged = sorted(judged, key=lambda row: row[0])
    hits = hit_table(
        query=[], rank=[], grade=[], n_retrieved=[0] * 5, relevance_level=level,
        judged_query=[query for query, _ in judged], judged_grade=[grade for _, grade in judged],
    )  # fmt: skip
    relevant = [sum(q == query and g >= level for q, g in judged) for query in range(5)]
    others = [sum(q == query and 0 <= g < level for q, g in judged) for query in range(5)]
    assert (hits.n_relevant.tolist(), hits.n_nonrelevant.tolist()) == (relevant, others)


def test_tables_in_turn_are_one_table(hits):
    both = concatenate_hits([hits, hits])
    assert both.query.tolist() == [0, 0, 0, 2, 3, 3, 3, 5]
    assert both.n_relevant.tolist() == [3, 1, 0] * 2
    assert both.relevant_rank.tolist() == [0, 3] * 2


@settings(max_examples=60)
@given(seed=st.integers(0, 1000))
def test_the_order_of_the_rows_given_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    places = rng.permutation(40)[: int(rng.integers(0, 40))]
    columns = {"judged_query": [0], "judged_grade": [1], "n_retrieved": [10] * 4}
    query, rank = places // 10, places % 10
    hits = hit_table(query=query, rank=rank, grade=places, **columns)
    assert hits.grade.tolist() == sorted(places.tolist())
    assert hits.rank.tolist() == (np.sort(places) % 10).tolist()

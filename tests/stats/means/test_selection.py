"""Second witness: numpy 2.4.6 sort."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.stats.means import selection
from rageval_report.stats.means.selection import order_statistics

LONG = 4 * selection.SHORT
RANKS = np.array([0, 1, LONG // 20, LONG // 2, LONG // 2 + 1, LONG - 1])


def scored(values):
    return int(np.count_nonzero(~np.isnan(values)))


@pytest.mark.parametrize("n", [1, 5, selection.SHORT - 1, selection.SHORT, LONG])
def test_the_scores_of_the_ranks_are_those_of_the_sorted_column(n):
    scores = np.random.default_rng(n).lognormal(size=n)
    ranks = np.unique(np.array([0, n // 3, n // 2, n - 1]))
    assert np.array_equal(order_statistics(scores, n, ranks), np.sort(scores)[ranks])


def test_ranks_may_come_in_any_order_and_shape():
    scores = np.random.default_rng(0).random(LONG)
    ranks = np.array([[70_000, 3], [3, 150_000]])
    assert np.array_equal(order_statistics(scores, LONG, ranks), np.sort(scores)[ranks])


def test_many_ranks_are_read_off_the_sorted_column():
    scores = np.random.default_rng(0).random(LONG)
    ranks = np.arange(0, LONG, LONG // (selection.MANY_RANKS + 8))
    assert np.array_equal(order_statistics(scores, LONG, ranks), np.sort(scores)[ranks])


def test_a_sample_that_misleads_does_not_change_the_answer():
    scores = np.random.default_rng(0).random(LONG)
    scores[:: LONG // selection._SAMPLE] = 0.9  # all that the sample sees
    assert np.array_equal(order_statistics(scores, LONG, RANKS), np.sort(scores)[RANKS])


def test_a_sample_without_a_score_does_not_change_the_answer():
    scores = np.random.default_rng(0).random(LONG)
    scores[:: LONG // selection._SAMPLE] = np.nan
    n = scored(scores)
    ranks = RANKS * (n - 1) // (LONG - 1)
    assert np.array_equal(order_statistics(scores, n, ranks), np.sort(scores)[ranks])


@pytest.mark.parametrize("arrange", [np.sort, lambda values: np.sort(values)[::-1]])
def test_a_sorted_column_is_no_special_case(arrange):
    scores = arrange(np.random.default_rng(0).random(LONG))
    assert np.array_equal(order_statistics(scores, LONG, RANKS), np.sort(scores)[RANKS])


@settings(max_examples=30)
@given(st.data())
def test_columns_of_few_values_are_selected_as_if_sorted(data):
    values = data.draw(st.lists(st.sampled_from([0, 1, 2, 3, np.nan]), min_size=1, max_size=5))
    weights = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=5, max_size=5)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    chances = weights[: len(values)] / weights[: len(values)].sum()
    scores = rng.choice(np.array(values, dtype=float), size=70_000, p=chances)
    n = scored(scores)
    ranks = np.array([], dtype=int) if n == 0 else np.array([0, n // 20, n // 2, n - 1])
    assert np.array_equal(order_statistics(scores, n, ranks), np.sort(scores)[ranks])

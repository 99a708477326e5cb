"""Correlations as SciPy 1.17.1 has them; intervals by formula and by how often they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rageval_report.analysis.agreement.correlations import correlation

SCIPY = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall": stats.kendalltau,
}


def drawn(n, seed, levels=None):
    rng = np.random.default_rng(seed)
    people = rng.normal(size=n)
    judge = people + rng.normal(size=n)
    return (judge, people) if levels is None else (np.round(judge * levels), np.round(people))


@pytest.mark.parametrize("kind", SCIPY)
@pytest.mark.parametrize(("n", "levels"), [(7, None), (250, None), (250, 1), (2000, 2)])
def test_the_estimate_is_that_of_scipy(kind, n, levels):
    judge, people = drawn(n, n, levels)
    found = correlation(judge, people, kind)
    assert found.estimate == pytest.approx(SCIPY[kind](judge, people).statistic, abs=1e-12)


def test_pearsons_interval_is_that_of_scipy():
    judge, people = drawn(60, 1)
    found = correlation(judge, people, confidence_level=0.9)
    told = stats.pearsonr(judge, people).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((told.low, told.high))


@pytest.mark.parametrize(("kind", "variance"), [("spearman", None), ("kendall", 0.437 / 56)])
def test_the_other_intervals_by_hand(kind, variance):
    judge, people = drawn(60, 2)
    found = correlation(judge, people, kind)
    variance = variance or (1 + found.estimate**2 / 2) / 57
    reach = 1.959963984540054 * math.sqrt(variance)
    assert found.low == pytest.approx(math.tanh(math.atanh(found.estimate) - reach))
    assert found.high == pytest.approx(math.tanh(math.atanh(found.estimate) + reach))


@pytest.mark.parametrize(("kind", "truth"), [("pearson", 1 / math.sqrt(2)), ("kendall", 0.5)])
def test_the_interval_holds_the_truth_as_often_as_it_says(kind, truth):
    # Of normal numbers with correlation 1/sqrt(2); tau is then 2/pi arcsin(r) = 0.5.
    inside = 0
    for seed in range(400):
        found = correlation(*drawn(50, seed), kind)
        inside += found.low <= truth <= found.high
    assert inside / 400 == pytest.approx(0.95, abs=0.033)  # three standard errors


@pytest.mark.parametrize("kind", SCIPY)
def test_a_constant_side_goes_together_with_nothing(kind):
    found = correlation(np.ones(9), np.arange(9.0), kind)
    assert math.isnan(found.estimate)
    assert "constant" in found.notes[0]


@pytest.mark.parametrize("kind", SCIPY)
def test_a_line_has_no_interval(kind):
    found = correlation(np.arange(9.0), 2 * np.arange(9.0), kind)
    assert found.estimate == pytest.approx(1.0)
    assert math.isnan(found.low)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=40))
def test_swapping_the_sides_changes_nothing_and_turning_one_the_sign(rows):
    judge, people = np.array(rows, dtype=float).T
    for kind in SCIPY:
        found = correlation(judge, people, kind)
        swapped, turned = correlation(people, judge, kind), correlation(-judge, people, kind)
        assert swapped.estimate == pytest.approx(found.estimate, abs=1e-9, nan_ok=True)
        assert turned.estimate == pytest.approx(-found.estimate, abs=1e-9, nan_ok=True)

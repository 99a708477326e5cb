"""Limits and p-values from counts of subsets, against sums over all subsets in whole numbers."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.stats.sign_flips.inversion import Shifts, search_limits
from rageval_report.stats.sign_flips.lattice import lattice_step
from rageval_report.stats.sign_flips.meet_in_the_middle import listed_spread_tail, listed_tail
from rageval_report.stats.sign_flips.subset_law import SubsetLaw
from rageval_report.stats.sign_flips.ties import group_ties

Z = 1.959963984540054


def exact_subsets(values, counts):
    """The mean of each subset but the empty one as a fraction, with its number of patterns."""
    taken = [range(count + 1) for count in counts]
    means = {}
    for picks in product(*taken):
        size = sum(picks)
        if size:
            total = sum(pick * Fraction(value) for pick, value in zip(picks, values, strict=True))
            patterns = math.prod(map(math.comb, counts, picks))
            means[total / size] = means.get(total / size, 0) + patterns
    return sorted(means.items())


def exact_quantile(values, counts, level):
    """The smallest shift whose subsets, the empty one among them, are more than the level."""
    reached, needed = 1, Fraction(level) * 2 ** sum(counts)
    for mean, patterns in exact_subsets(values, counts):
        reached += patterns
        if reached > needed:
            return float(mean)
    raise AssertionError("no shift is accepted")


def sparse(seed, n, k, kind="continuous"):
    """Differences of which all but a few are equal."""
    rng = np.random.default_rng(seed)
    few = {
        "continuous": rng.normal(0.4, 1.0, k),
        "ratings": rng.choice([-2.0, -1.0, 1.0, 2.0], k),
        "losses": -rng.exponential(1.0, k),
        "off zero": rng.normal(0.4, 1.0, k),
    }[kind]
    values = np.zeros(n)
    values[:k] = few
    return values + (0.375 if kind == "off zero" else 0.0)


def limits_of(differences, level=0.025, *, half=False):
    step = lattice_step(differences)
    return Shifts.of(differences, step).counted_limits(level, half)


@pytest.mark.parametrize("kind", ["continuous", "ratings", "losses", "off zero"])
@pytest.mark.parametrize(("n", "k"), [(6, 1), (12, 4), (30, 1), (40, 6), (90, 4)])
@pytest.mark.parametrize("level", [0.025, 0.05, 0.005])
def test_limits_are_quantiles_of_the_means_of_subsets(kind, n, k, level):
    level = max(level, 1.01 / 2**n)  # so that a shift can be rejected
    differences = sparse(n + k, n, k, kind)
    values, counts = np.unique(differences, return_counts=True)
    low, high = limits_of(differences, level)
    scale = np.ptp(differences)
    expected = exact_quantile(values.tolist(), counts.tolist(), level)
    assert low == pytest.approx(expected, abs=1e-13 * scale)
    expected = exact_quantile((-values).tolist(), counts.tolist(), level)
    assert high == pytest.approx(expected, abs=1e-13 * scale)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(6, 90), st.integers(1, 9), st.sampled_from([0.1, 0.025]))
def test_the_p_value_passes_the_level_at_the_limit(seed, n, k, level):
    differences = sparse(seed, n, min(k, n - 2))
    law = SubsetLaw.of(differences, None, None)
    low = limits_of(differences, level)[0] - law.common
    beside = 1e-9 * np.ptp(differences)
    below, above = law.pvalues(np.array([low - beside, low + beside]))
    assert below <= level * (1 + 1e-9)
    assert above >= level * (1 - 1e-9)


@pytest.mark.parametrize("kind", ["continuous", "ratings", "off zero"])
@pytest.mark.parametrize("shift", [-0.31, -0.02, 0.0, 0.013, 0.4, 0.9])
def test_p_values_are_those_of_two_lists(kind, shift):
    differences = sparse(7, 40, 8, kind)
    left = differences - shift
    total, magnitudes = left.sum(), np.abs(left[left != 0])
    law = SubsetLaw.of(differences, None, None)
    expected = listed_tail(*group_ties(magnitudes), abs(total))
    found = law.pvalues(np.array([shift - law.common]))[0]
    # Beyond the mean the flipped sum is the other tail.
    assert found == pytest.approx(
        expected.at_least if total >= 0 else 1 - expected.at_least + expected.equal, rel=1e-9
    )


@pytest.mark.parametrize("shift", [-0.31, -0.02, 0.0, 0.013, 0.05])
def test_spread_p_values_are_those_of_two_lists(shift):
    differences = sparse(7, 40, 12, "ratings") + np.repeat([0.0, 1.0], [36, 4])
    left = differences - shift
    law = SubsetLaw.of(differences, None, 1.0)
    expected = listed_spread_tail(*group_ties(np.abs(left)), left.sum(), 1.0).at_least
    found = law.pvalues(np.array([shift - law.common]))[0]
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [20, 60, 300])
@pytest.mark.parametrize("seed", range(4))
def test_limits_of_a_spread_law_have_the_level(n, seed):
    differences = sparse(seed, n, n // 5, "ratings")
    step = lattice_step(differences)
    low, high = limits_of(differences, half=True)
    for limit, values in ((low, differences), (high, -differences)):
        left = values - limit
        pvalue = listed_spread_tail(*group_ties(np.abs(left)), left.sum(), step).at_least
        # Below the least difference all signs are alike, so there the p-value may jump.
        jumps = limit == values.min() and pvalue > 0.025
        assert jumps or pvalue == pytest.approx(0.025, rel=1e-9)


def test_the_least_difference_is_the_limit_where_its_p_value_jumps():
    # One of six differs: the shift that leaves five zeros is accepted, none below it is.
    differences = np.array([0.0, 0, 0, 0, 0, 1.0, 1.0])
    assert limits_of(differences, half=True)[0] == 0.0


@pytest.mark.parametrize("scale", [1e-12, 1e9, 1e100])
def test_limits_grow_with_the_differences(scale):
    differences = sparse(3, 60, 6)
    expected = np.array(limits_of(differences)) * scale
    assert np.array(limits_of(differences * scale)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", ["continuous", "ratings"])
def test_reversed_signs_exchange_the_limits(kind):
    differences = sparse(5, 80, 9, kind)
    half = kind == "ratings"
    low, high = limits_of(differences, half=half)
    assert limits_of(-differences, half=half) == pytest.approx((high, low), rel=1e-12)


def test_many_distinct_differences_are_left_to_other_methods():
    assert SubsetLaw.of(np.sin(np.arange(60.0)), None, None) is None
    ratings = np.random.default_rng(0).integers(-40, 41, 400).astype(float)
    assert SubsetLaw.of(ratings, None, 1.0) is None


def test_scores_whose_quotients_overflow_are_left_to_other_methods():
    assert SubsetLaw.of(np.array([0.0, 0.0, 1e200]), None, None) is None


def test_limits_that_are_counted_are_those_of_the_interval():
    differences = sparse(11, 50, 5)
    low, high = limits_of(differences)
    assert search_limits([Shifts.of(differences, None)], 0.025, half=[False]) == [(low, -high)]


def test_many_equal_means_are_one_limit():
    """Thousands of subsets have the same mean, so no bracket around it holds few of them."""
    differences = np.repeat([-1.0, 0.0, 1.0], [150, 300, 180])
    values, counts = np.unique(differences, return_counts=True)
    law = SubsetLaw.of(values, counts.astype(float), None)
    low = law.lowest(0.025, Z * math.sqrt(330) / 630, 30 / 630)
    beside = 1e-9
    below, above = law.pvalues(np.array([low - beside, low + beside]))
    assert below <= 0.025 < above

"""Witnesses: the theorems in plain loops, exact expectations over all streams, published boundaries
with the normal distribution of SciPy 1.17."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.sequential import (
    SizeBets,
    adjust_evalues,
    asymptotic_evalues,
    asymptotic_sequence,
    log_capital,
    look_levels,
    mean_evalues,
    mean_sequence,
)

BETS = [SizeBets(), SizeBets.up_to(30), SizeBets((8,)), SizeBets.for_effect(0.05)]
UNIT = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=25)
EDGE = st.lists(st.sampled_from([0.0, 0.05, 0.5, 0.95, 1.0]), min_size=1, max_size=30)


# -- stakes and capital


def test_stakes_for_a_size_are_those_of_the_paper_in_a_plain_loop():
    # Voracek and Orabona 2025: sqrt(2 log(goal) / (variance * what is left)), with a capital of 1.
    scores = np.random.default_rng(3).random(50)
    stakes = SizeBets((20,)).stakes(scores, 0.05)[0]
    seen, plan = [], 20
    for place, score in enumerate(scores):
        plan = 2 * plan if place == plan else plan
        # The first five scores are assumed: their mean is 1/2 and their variance 1/16.
        means = [(2.5 + sum(seen[: k + 1])) / (6 + k) for k in range(len(seen))]
        squares = sum((s - m) ** 2 for s, m in zip(seen, means, strict=True))
        variance = (5 / 16 + squares) / (5 + len(seen))
        left = max(plan - place, plan / 10)
        expected = math.sqrt(2 * math.log(2 / 0.05) / (variance * left))
        assert stakes[place] == pytest.approx(expected, rel=1e-9)
        seen.append(score)


# -- e-values


def looped_evalue(scores, mean, bets, sign=1):
    """The largest and the last capital by the theorem, each stake from the scores before it."""
    goal, path = bets.goal(0.05), []
    wealth = np.ones(len(bets.stakes(np.zeros(1), 0.05)))
    for i, score in enumerate(scores):
        stakes = bets.stakes(np.array([*scores[:i], 0.123]), 0.05)[:, i]  # its own score is hidden
        stakes = stakes * np.sqrt(np.maximum(np.log(goal / wealth), 0.5) / math.log(goal))
        room = mean if sign > 0 else 1 - mean
        largest = bets.largest_loss / room if room > 0 else math.inf
        wealth = wealth * (1 + sign * np.minimum(stakes, largest) * (score - mean))
        path.append(wealth.mean())
    return max(path), path[-1]


@pytest.mark.parametrize("bets", BETS)
@settings(max_examples=25)
@given(scores=UNIT, mean=st.floats(0.0, 1.0))
def test_evalues_are_those_of_a_plain_loop(bets, scores, mean):
    above, below = (looped_evalue(scores, mean, bets, sign)[1] for sign in (1, -1))
    sides = {"greater": above, "less": below, "two-sided": max(above, below) / 2}
    for alternative, expected in sides.items():
        found = mean_evalues(scores, mean, bounds=(0, 1), bets=bets, alternative=alternative)
        assert found[-1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("bets", BETS)
@pytest.mark.parametrize("mean", [0.2, 0.5])
def test_the_expected_evalue_is_1_if_the_mean_is_true(bets, mean):
    # every stream of ten scores of 0 and 1, with its probability: the sum is exact
    streams = np.array(list(itertools.product((0.0, 1.0), repeat=10)))
    probability = np.prod(np.where(streams == 1.0, mean, 1 - mean), axis=1)
    evalues = np.exp(log_capital(streams, mean, bets, 0.05)[:, -1])
    assert probability @ evalues == pytest.approx(1.0, rel=1e-10)


def smallest_mean_of_subsets(evalues, place):
    """E-Holm by its definition: over all subsets of the family that hold the test."""
    others = [evalue for i, evalue in enumerate(evalues) if i != place]
    subsets = (
        chosen for size in range(len(evalues)) for chosen in itertools.combinations(others, size)
    )
    return min((evalues[place] + sum(chosen)) / (1 + len(chosen)) for chosen in subsets)


@settings(max_examples=60)
@given(evalues=st.lists(st.floats(0.0, 1e6), min_size=1, max_size=7))
def test_an_adjusted_evalue_is_the_smallest_mean_of_a_subset_that_holds_it(evalues):
    expected = [smallest_mean_of_subsets(evalues, place) for place in range(len(evalues))]
    np.testing.assert_allclose(adjust_evalues(evalues), expected, rtol=1e-12, atol=1e-12)


def test_looks_are_adjusted_one_by_one_and_nan_is_no_test():
    looks = np.array([[60.0, 1.0, 5.0], [30.0, 80.0, 5.0]])
    expected = [adjust_evalues(looks[:, look]) for look in range(3)]
    np.testing.assert_allclose(adjust_evalues(looks), np.transpose(expected))
    assert adjust_evalues([40.0, math.nan]).tolist() == pytest.approx([40.0, math.nan], nan_ok=True)
    assert adjust_evalues([]).tolist() == []


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([0.5, 1.2], {}, r"scores must lie within the bounds 0 to 1; got 1\.2"),
        ([0.5], {"bounds": (0, np.inf)}, "use asymptotic_sequence"),
        ([0.5], {"bounds": (1, 0)}, "the lower one first"),
        ([0.5], {"mean": 1.5}, "mean must lie within the bounds 0 to 1; got 1.5"),
        ([0.5], {"alpha": 5}, r"alpha must lie between 0 and 1; got 5"),
        ([0.5], {"alternative": "larger"}, "greater"),
    ],
)
def test_bad_input_is_refused(values, options, message):
    with pytest.raises((DataError, UnknownNameError), match=message):
        mean_evalues(values, **{"mean": 0.5, "bounds": (0, 1), **options})


def test_negative_evalues_and_impossible_stakes_are_refused():
    with pytest.raises(DataError, match="e-values must be numbers >= 0"):
        adjust_evalues([1.0, -0.1])
    for make in (lambda: SizeBets(()), lambda: SizeBets((0,)), lambda: SizeBets.for_effect(0.0)):
        with pytest.raises(DataError, match=r"(sizes|effect) must"):
            make()


# -- confidence sequences


@pytest.mark.parametrize("bets", BETS)
@settings(max_examples=20)
@given(scores=UNIT)
def test_the_limits_are_where_the_evalues_reach_20(bets, scores):
    interval = mean_sequence(scores, bounds=(0, 1), bets=bets)
    for mean in np.linspace(0.01, 0.99, 23):
        largest = mean_evalues(scores, mean, bounds=(0, 1), bets=bets).max()
        if abs(largest - 20) > 1e-6:
            assert (interval.low <= mean <= interval.high) == (largest < 20)


def test_a_stream_whose_mean_changes_contradicts_itself():
    interval = mean_sequence([0.0] * 200 + [1.0] * 800, bounds=(0, 1))
    assert interval.notes == ("the looks contradict each other: do the scores change with time?",)


# -- scores without bounds


def test_the_latest_limits_are_those_of_the_papers_formula():
    scores = np.random.default_rng(1).normal(3.0, 2.0, 400)
    interval = asymptotic_sequence(scores, planned_n=400, first_look=400)
    # Waudby-Smith et al. (2024), theorem 2.2, written out by hand
    alpha, t = 0.05, 400
    rho = math.sqrt((-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / t)
    boundary = math.sqrt(
        2 * (t * rho**2 + 1) / (t**2 * rho**2) * math.log(math.sqrt(t * rho**2 + 1) / alpha)
    )
    reach = scores.std() * boundary
    assert interval.low == pytest.approx(scores.mean() - reach)
    assert interval.high == pytest.approx(scores.mean() + reach)


def test_there_are_no_limits_before_the_first_look():
    interval = asymptotic_sequence([1.0] * 99)
    assert (interval.low, interval.high) == (-math.inf, math.inf)
    assert interval.notes == ("no limits before 100 scores",)
    assert math.isnan(asymptotic_sequence([]).estimate)


def test_the_asymptotic_limits_are_where_the_evalues_reach_20():
    scores = np.random.default_rng(3).lognormal(size=500)
    interval = asymptotic_sequence(scores, planned_n=400)
    for mean, outward in ((interval.low, -1e-6), (interval.high, 1e-6)):
        assert (asymptotic_evalues(scores, mean + outward) >= 20).any()
        assert not (asymptotic_evalues(scores, mean - outward) >= 20).any()


def test_a_one_sided_evalue_is_0_on_the_other_side_and_before_the_first_look():
    scores = np.random.default_rng(3).normal(1.0, 1.0, 200)
    greater = asymptotic_evalues(scores, 0.0, alternative="greater")
    assert not asymptotic_evalues(scores, 0.0, alternative="less").any()
    assert not greater[:99].any()
    assert (greater[99:] > 20).all()
    assert asymptotic_evalues([], 0.0).size == 0


# -- alpha spending

# Two-sided 5 %, equally spaced looks: Reboussin, DeMets, Kim, Lan (2000), Programs for computing
# group sequential boundaries using the Lan-DeMets method, and the same of the R package gsDesign.
PUBLISHED = {
    3: [3.7103, 2.5114, 1.9930],
    5: [4.8769, 3.3569, 2.6803, 2.2898, 2.0310],
}


@pytest.mark.parametrize("looks", PUBLISHED)
def test_the_boundaries_are_the_published_ones(looks):
    computed = norm.isf(look_levels(np.arange(1, looks + 1) / looks) / 2)
    np.testing.assert_allclose(computed, PUBLISHED[looks], atol=2e-4)


def test_the_only_look_has_the_whole_level_and_looks_that_stop_early_spend_less():
    assert look_levels([1.0], alpha=0.1) == pytest.approx([0.1])
    assert look_levels([0.2, 0.4]) == pytest.approx(look_levels([0.2, 0.4, 0.7, 1.0])[:2])


@pytest.mark.parametrize("shares", [[], [0.5, 0.5], [0.0, 1.0], [0.5, 1.1], [0.8, 0.4]])
def test_shares_ascend_to_at_most_1(shares):
    with pytest.raises(DataError, match="shares must ascend from above 0 to at most 1"):
        look_levels(shares)

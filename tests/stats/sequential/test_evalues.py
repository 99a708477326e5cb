import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.sequential import (
    EffectBets,
    PlugInBets,
    SizeBets,
    adjust_evalues,
    mean_evalues,
    paired_evalues,
)
from rageval_report.stats.sequential.capital import Bettor

BETS = [SizeBets.hedged(), SizeBets.up_to(100), SizeBets((50,)), EffectBets(0.05), PlugInBets()]
UNIT = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=25)


def still_to_win(bets, alpha, wealth):
    """By how much stakes are recalculated: the root of the part that is still to be won."""
    goal = bets.goal(alpha)
    if goal is None:
        return 1.0
    return np.sqrt(np.maximum(np.log(goal / wealth), 0.5) / math.log(goal))


def looped_evalue(scores, mean, bets, alpha, sign):
    """The capital by the theorem: one score at a time, its stake from the scores before it."""
    wealth = None
    for i, score in enumerate(scores):
        stakes = bets.stakes(np.array([*scores[:i], 0.123]), alpha)[:, i]  # its own score is hidden
        wealth = np.ones(len(stakes)) if wealth is None else wealth
        stakes = stakes * still_to_win(bets, alpha, wealth)
        room = mean if sign > 0 else 1 - mean
        largest = bets.largest_loss / room if room else math.inf
        wealth = wealth * (1 + sign * np.minimum(stakes, largest) * (score - mean))
    return wealth.mean()


@pytest.mark.parametrize("bets", BETS)
@settings(max_examples=25)
@given(scores=UNIT, mean=st.floats(0.0, 1.0))
def test_evalues_are_those_of_a_plain_loop(bets, scores, mean):
    above = looped_evalue(scores, mean, bets, 0.05, 1)
    below = looped_evalue(scores, mean, bets, 0.05, -1)
    options = {"bounds": (0, 1), "bets": bets}
    greater = mean_evalues(scores, mean, alternative="greater", **options)
    less = mean_evalues(scores, mean, alternative="less", **options)
    two_sided = mean_evalues(scores, mean, **options)
    assert greater[-1] == pytest.approx(above, rel=1e-9)
    assert less[-1] == pytest.approx(below, rel=1e-9)
    assert two_sided[-1] == pytest.approx(max(above, below) / 2, rel=1e-9)


@pytest.mark.parametrize("bets", BETS)
@pytest.mark.parametrize("mean", [0.2, 0.5])
def test_the_expected_evalue_is_1_if_the_mean_is_true(bets, mean):
    # every stream of ten scores of 0 and 1, with its probability: the sum is exact
    expected = 0.0
    for scores in itertools.product((0.0, 1.0), repeat=10):
        probability = mean ** sum(scores) * (1 - mean) ** (10 - sum(scores))
        evalues = mean_evalues(scores, mean, bounds=(0, 1), alternative="greater", bets=bets)
        expected += probability * evalues[-1]
    assert expected == pytest.approx(1.0, rel=1e-10)


def test_plug_in_evalues_are_those_of_ville():
    ville = pytest.importorskip("ville")  # 0.1.0
    rng = np.random.default_rng(5)
    scores = 1 + 4 * rng.beta(6, 2, 300)
    for alternative in ("greater", "less"):
        test = ville.BettingTest(3.6, bounds=(1, 5), alternative=alternative).fit(scores)
        ours = mean_evalues(scores, 3.6, bounds=(1, 5), alternative=alternative, bets=PlugInBets())
        np.testing.assert_allclose(np.log(ours), np.log(test.e_values_), atol=1e-9)


def test_a_pair_is_tested_by_its_difference():
    before, after = np.array([0.2, 0.5, 0.9]), np.array([0.7, 0.5, 0.6])
    ours = paired_evalues(before, after, bounds=(0, 1))
    np.testing.assert_allclose(ours, mean_evalues(after - before, 0.0, bounds=(-1, 1)))


def test_pipelines_that_swap_swap_their_sides():
    rng = np.random.default_rng(1)
    before, after = rng.random((2, 50))
    there = paired_evalues(before, after, bounds=(0, 1), alternative="greater")
    back = paired_evalues(after, before, bounds=(0, 1), alternative="less")
    np.testing.assert_allclose(there, back, rtol=1e-9)


def test_missing_scores_are_left_out():
    full = paired_evalues([0.1, 0.4], [0.5, 0.9], bounds=(0, 1))
    gaps = paired_evalues([0.1, np.nan, 0.3, 0.4], [0.5, 0.2, np.nan, 0.9], bounds=(0, 1))
    assert full.tolist() == gaps.tolist()


def test_evidence_too_large_for_a_double_stays_finite():
    evalues = mean_evalues(np.ones(5000), 0.1, bounds=(0, 1))
    assert evalues[-1] == pytest.approx(1e300)
    assert adjust_evalues([1e300, math.inf, 2.0]).tolist() == pytest.approx([5e299, 5e299, 2.0])


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


def test_looks_are_adjusted_one_by_one():
    looks = np.array([[60.0, 1.0, 5.0], [30.0, 80.0, 5.0]])
    expected = [adjust_evalues(looks[:, look]) for look in range(3)]
    np.testing.assert_allclose(adjust_evalues(looks), np.transpose(expected))


def test_no_evalue_is_no_test():
    assert adjust_evalues([40.0, math.nan]).tolist() == pytest.approx([40.0, math.nan], nan_ok=True)
    assert adjust_evalues([]).tolist() == []


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([0.5, 1.2], {"bounds": (0, 1)}, r"within the bounds 0 to 1; 1 do not, the first is 1\.2"),
        ([0.5], {"bounds": (0, np.inf)}, "use asymptotic_sequence"),
        ([0.5], {"bounds": (1, 0)}, "the lower one first"),
        ([0.5], {"bounds": (0, 1), "mean": 1.5}, "the mean to test must lie within the bounds"),
        ([0.5], {"bounds": (0, 1), "alpha": 5}, r"alpha must lie between 0 and 1; got 5"),
    ],
)
def test_what_makes_no_sense_is_refused(values, options, message):
    mean = options.pop("mean", 0.5)
    with pytest.raises(DataError, match=message):
        mean_evalues(values, mean, **options)


def test_a_side_outside_the_bounds_is_refused_though_its_difference_is_possible():
    with pytest.raises(DataError, match="within the bounds 0 to 1"):
        paired_evalues([1.5], [1.2], bounds=(0, 1))


def test_a_negative_evalue_and_an_unknown_alternative_are_refused():
    with pytest.raises(DataError, match="e-values must be numbers >= 0"):
        adjust_evalues([1.0, -0.1])
    with pytest.raises(UnknownNameError, match="greater"):
        mean_evalues([0.5], 0.5, bounds=(0, 1), alternative="larger")


@pytest.mark.parametrize("make", [lambda: SizeBets(()), lambda: SizeBets((0,))])
def test_sizes_are_checked(make):
    with pytest.raises(DataError, match="sizes must"):
        make()


def test_looking_at_every_query_rarely_rejects_a_true_mean():
    rng = np.random.default_rng(3)
    draw = rng.random((300, 300))
    for differences in (
        # gains of 0.05 balanced by losses of 0.95 on a twentieth of the queries
        np.where(draw < 0.05, -0.95, 0.05),
        draw - rng.random((300, 300)),
    ):
        for bets in (SizeBets.hedged(), SizeBets.up_to(100), SizeBets((300,))):
            bettor = Bettor.of((1 + differences) / 2, bets, 0.05)
            above, below = bettor.log_capital_above(0.5), bettor.mirrored().log_capital_above(0.5)
            rejected = (np.maximum(above, below) >= math.log(40)).any(axis=1)
            # 5 % of 300 is 15; more than 27 has a probability below 0.2 % at an error rate of 5 %
            assert rejected.sum() <= 27

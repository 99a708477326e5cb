import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.stats.sequential import (
    EffectBets,
    PlugInBets,
    SizeBets,
    mean_evalues,
    mean_sequence,
    paired_evalues,
    paired_sequence,
)
from rageval_report.stats.sequential.capital import Bettor
from rageval_report.stats.sequential.without_replacement import FixedSet

BETS = [SizeBets.hedged(), SizeBets((50,)), EffectBets(0.05), PlugInBets()]
UNIT = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30)


def test_limits_are_those_of_ville_up_to_its_grid():
    ville = pytest.importorskip("ville")  # 0.1.0
    rng = np.random.default_rng(2)
    for scores in (rng.beta(8, 2, 200), (rng.random(150) < 0.9).astype(float)):
        expected = ville.BettingCS(grid=10_000).fit(scores).interval()
        interval = mean_sequence(scores, bounds=(0, 1), bets=PlugInBets())
        assert (interval.low, interval.high) == pytest.approx(expected, abs=2.1e-4)


@pytest.mark.parametrize("bets", BETS)
@settings(max_examples=25)
@given(scores=UNIT)
def test_the_limits_are_where_the_evalues_reach_40(bets, scores):
    interval = mean_sequence(scores, bounds=(0, 1), bets=bets)
    for mean in np.linspace(0.01, 0.99, 23):
        largest = mean_evalues(scores, mean, bounds=(0, 1), bets=bets).max()
        if abs(largest - 20) > 1e-6:
            assert (interval.low <= mean <= interval.high) == (largest < 20)


@settings(max_examples=40)
@given(scores=UNIT)
def test_the_interval_is_mirrored_and_moves_with_the_scale(scores):
    interval = mean_sequence(scores, bounds=(0, 1))
    mirrored = mean_sequence(1 - np.array(scores), bounds=(0, 1))
    rated = mean_sequence(1 + 4 * np.array(scores), bounds=(1, 5))
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - interval.high, 1 - interval.low))
    assert (rated.low, rated.high) == pytest.approx((1 + 4 * interval.low, 1 + 4 * interval.high))


def test_limits_never_move_apart_and_a_higher_level_is_wider():
    scores = np.random.default_rng(4).beta(4, 2, 80)
    intervals = [mean_sequence(scores[:n], bounds=(0, 1)) for n in range(1, 81)]
    assert (np.diff([interval.low for interval in intervals]) >= -1e-12).all()
    assert (np.diff([interval.high for interval in intervals]) <= 1e-12).all()
    wide = mean_sequence(scores, bounds=(0, 1), confidence_level=0.99, bets=SizeBets((80,)))
    narrow = mean_sequence(scores, bounds=(0, 1), bets=SizeBets((80,)))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_the_interval_of_a_difference_excludes_0_exactly_if_the_test_rejects():
    rng = np.random.default_rng(8)
    for shift in np.linspace(0.0, 0.4, 30):
        before, after = rng.uniform(0, 0.6, 60), rng.uniform(0, 0.6, 60) + shift
        rejects = bool((paired_evalues(before, after, bounds=(0, 1)) >= 20).any())
        interval = paired_sequence(before, after, bounds=(0, 1))
        assert (interval.low > 0) == rejects


def test_the_interval_is_narrow_at_the_size_it_is_planned_for():
    scores = np.random.default_rng(6).beta(8, 2, 400)
    planned = mean_sequence(scores, bounds=(0, 1), bets=SizeBets((400,)))
    fixed = 2 * 1.96 * scores.std(ddof=1) / math.sqrt(400)
    assert 1.0 < (planned.high - planned.low) / fixed < 1.2


def test_a_stream_whose_mean_changes_is_said_to_contradict_itself():
    interval = mean_sequence([0.0] * 300 + [1.0] * 3000, bounds=(0, 1))
    assert interval.notes == ("the looks contradict each other: do the scores change with time?",)


def test_without_a_score_the_bounds_are_the_limits():
    interval = mean_sequence([math.nan], bounds=(1, 5))
    assert (interval.n, interval.low, interval.high) == (0, 1.0, 5.0)
    assert math.isnan(interval.estimate)


# -- without replacement


def looped_capital(scores, mean, size, bets):
    """The capital by the paper's section 5: against the mean of what is left of the set."""
    stakes, goal = bets.stakes(np.array(scores), 0.05), bets.goal(0.05)
    wealth, total = np.ones(len(stakes)), 0.0
    for i, score in enumerate(scores):
        rest = (size * mean - total) / (size - i)
        largest = bets.largest_loss / rest if rest > 0 else math.inf
        still_to_win = np.sqrt(np.maximum(np.log(goal / wealth), 0.5) / math.log(goal))
        stake = np.minimum(stakes[:, i] * still_to_win, largest)
        wealth = wealth * (1 + stake * (score - rest))
        total += score
        yield wealth.mean()


def test_the_limit_of_a_fixed_set_is_where_a_plain_loop_reaches_40():
    rng = np.random.default_rng(11)
    population = rng.choice([0.0, 0.25, 0.5, 1.0], 120)
    scores = population[:60]
    bets = SizeBets.hedged()
    interval = mean_sequence(scores, bounds=(0, 1), set_size=120)
    assert scores.sum() / 120 < interval.low  # decided by betting, not by what is possible
    before = max(looped_capital(scores, interval.low - 1e-6, 120, bets))
    after = max(looped_capital(scores, interval.low + 1e-6, 120, bets))
    assert before >= 40 > after


def test_a_whole_set_has_no_uncertainty():
    population = np.random.default_rng(12).random(30)
    interval = mean_sequence(population, bounds=(0, 1), set_size=30)
    assert interval.low == pytest.approx(population.mean())
    assert interval.high == pytest.approx(population.mean())
    assert interval.notes == ("of the mean of these 30 queries only",)


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7])
def test_a_rest_that_equals_the_bound_is_no_rejection(value):
    # What is left is exactly 0, and its computed mean is often about -1e-17. The stakes are next to
    # nothing, so that only an impossible rest can exclude a mean.
    for n in range(1, 60):
        scores = np.full(n, value)
        bettor = Bettor.of(scores, SizeBets((1e12,)), 0.05)
        whole = FixedSet(n + 13)
        true_mean = scores.sum() / whole.size
        assert whole.log_capital_above(bettor, true_mean).max() < 1e-3
        assert whole.log_capital_above(bettor, true_mean - 1e-6)[-1] == np.inf


def test_the_mean_of_a_set_is_rarely_excluded():
    rng = np.random.default_rng(13)
    misses = 0
    for _ in range(300):
        population = rng.permutation(np.where(rng.random(60) < 0.1, 0.0, 1.0))
        bettor = Bettor.of(population[:45], SizeBets.hedged(), 0.05)
        above = FixedSet(60).log_capital_above(bettor, population.mean())
        below = FixedSet(60).log_capital_above(bettor.mirrored(), 1 - population.mean())
        misses += bool((np.maximum(above, below) >= math.log(40)).any())
    assert misses <= 27  # 5 % of 300 is 15, and 27 is exceeded with a probability below 0.2 %


def test_a_set_is_not_smaller_than_its_scores():
    with pytest.raises(DataError, match="set_size must be at least the number of scores, 3; got 2"):
        mean_sequence([0.1, 0.2, 0.3], bounds=(0, 1), set_size=2)

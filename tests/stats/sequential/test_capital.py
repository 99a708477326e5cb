import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.stats.sequential import SizeBets, mean_evalues
from rageval_report.stats.sequential.capital import Bettor

UNIT = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30)
EDGE = st.sampled_from([0.0, 0.05, 0.5, 0.95, 1.0])
SIZES = [SizeBets((3,)), SizeBets((12,)), SizeBets.up_to(30), SizeBets.hedged()]


@pytest.mark.parametrize("bets", SIZES)
@settings(max_examples=60)
@given(scores=UNIT | st.lists(EDGE, min_size=1, max_size=30))
def test_the_capital_never_falls_with_a_smaller_mean(bets, scores):
    bettor = Bettor.of(np.array(scores), bets, 0.05)
    means = np.linspace(0.0, 1.0, 201)[:, np.newaxis]
    capital = bettor.log_capital_above(means)
    assert (np.diff(capital, axis=0) <= 1e-9).all()


def test_without_the_least_to_win_a_higher_mean_could_win_more():
    # Why the logarithm of what is to be won is never taken to be below 1/2. Both bettors are near
    # a goal of 40, the one with the smaller mean is nearer and stakes less; then a 1 comes.
    def wins(capital, mean, least):
        left = max(math.log(40 / capital), least)
        return capital * (1 + min(8 * math.sqrt(left), 0.99 / mean) * (1 - mean))

    assert wins(39.99, 0.2, least=0.0) < wins(36.0, 0.21, least=0.0)
    assert wins(39.99, 0.2, least=0.5) > wins(36.0, 0.21, least=0.5)


def test_many_streams_and_means_at_once_are_each_as_if_alone():
    rng = np.random.default_rng(4)
    streams = rng.beta(3, 2, (5, 40))
    bets = SizeBets.up_to(40)
    together = Bettor.of(streams, bets, 0.05).log_capital_above(0.5)
    for stream, capital in zip(streams, together, strict=True):
        alone = mean_evalues(stream, 0.5, bounds=(0, 1), alternative="greater", bets=bets)
        np.testing.assert_allclose(np.exp(capital), alone, rtol=1e-9)
    bettor = Bettor.of(streams[0], bets, 0.05)
    means = np.array([0.3, 0.5, 0.7])
    by_mean = bettor.log_capital_above(means[:, np.newaxis])
    for mean, capital in zip(means, by_mean, strict=True):
        np.testing.assert_allclose(capital, bettor.log_capital_above(mean), rtol=1e-12)


def test_a_bettor_who_has_lost_stakes_more_and_one_near_the_goal_less():
    stakes = np.full((1, 3), 0.5)
    lost = Bettor(np.array([0.0, 0.0, 1.0]), stakes, 0.99, goal=10.0)
    won = Bettor(np.array([1.0, 1.0, 1.0]), stakes, 0.99, goal=2.0)
    gains = [np.exp(np.diff(bettor.log_capital_above(0.5))[-1]) - 1 for bettor in (lost, won)]
    assert gains[0] > 0.5 * 0.5 > gains[1]


def test_the_goal_is_reached_by_the_planned_number_more_often_than_with_fixed_stakes():
    # 400 queries find the effect with a probability of 80 % in a single look at the end; a valid
    # look at every query must cost something, and recalculated stakes less than fixed ones.
    rng = np.random.default_rng(5)
    streams = np.clip(rng.normal(0.5 + 0.1 * 2.8016 / 20, 0.1, (500, 400)), 0.0, 1.0)
    bettor = Bettor.of(streams, SizeBets((400,)), 0.05)
    fixed = Bettor(
        streams, np.full((1, 1, 1), math.sqrt(2 * math.log(40) / (400 * 0.01))) + 0 * streams, 0.99
    )
    reached = [
        float((each.log_capital_above(0.5) >= math.log(40)).any(axis=1).mean())
        for each in (bettor, fixed)
    ]
    assert reached[1] + 0.05 < reached[0] < 0.8

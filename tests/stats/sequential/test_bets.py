import math

import numpy as np
import pytest

from rageval_report.stats.sequential import EffectBets, PlugInBets, SizeBets

BETS = [SizeBets.hedged(), SizeBets.up_to(30), SizeBets((8,)), EffectBets(0.05), PlugInBets()]


@pytest.mark.parametrize("bets", BETS)
def test_a_stake_depends_on_the_scores_before_its_own_alone(bets):
    scores = np.random.default_rng(1).random(60)
    stakes = bets.stakes(scores, 0.05)
    for place in (0, 7, 8, 59):
        changed = scores.copy()
        changed[place:] = 1 - changed[place:]
        np.testing.assert_array_equal(
            bets.stakes(changed, 0.05)[:, : place + 1], stakes[:, : place + 1]
        )


@pytest.mark.parametrize("bets", BETS)
def test_streams_that_are_stacked_have_the_stakes_of_each(bets):
    streams = np.random.default_rng(2).random((2, 3, 40))
    stacked = bets.stakes(streams, 0.05)
    assert stacked.shape == (len(bets.stakes(streams[0, 0], 0.05)), 2, 3, 40)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_allclose(stacked[:, i, j], bets.stakes(streams[i, j], 0.05), rtol=1e-12)


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


def test_a_mixture_has_a_goal_that_one_row_can_reach_alone():
    # 1 / 4 of the capital has to be 2 / alpha in the end
    assert SizeBets.hedged().goal(0.05) == pytest.approx(4 * 40)
    assert SizeBets((100,)).goal(0.01) == pytest.approx(200)

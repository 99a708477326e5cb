"""Effect sizes. Witnesses: SciPy 1.17.1, definitions over all pairs, published formulas."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.effects import effect_size

ANY_SCORES = ["d_z", "hedges_g_z", "d_av", "cliffs_delta", "rank_biserial", "paired_dominance"]
BINARY = ["risk_difference", "odds_ratio"]
RNG = np.random.default_rng(1)
BEFORE, AFTER = RNG.random((2, 20)).round(1)


def test_d_z_is_t_over_the_root_of_n():
    t = scipy_stats.ttest_rel(AFTER, BEFORE).statistic
    assert effect_size(BEFORE, AFTER) == pytest.approx(t / math.sqrt(20), rel=1e-12)


@pytest.mark.parametrize("degrees", [2, 3, 10, 100])
def test_hedges_factor_is_his_ratio_of_gamma_functions(degrees):
    before, after = np.zeros(degrees + 1), np.arange(degrees + 1.0)
    ratio = effect_size(before, after, "hedges_g_z") / effect_size(before, after, "d_z")
    half = degrees / 2
    expected = math.gamma(half) / (math.sqrt(half) * math.gamma(half - 0.5))  # Hedges (1981)
    assert ratio == pytest.approx(expected, rel=1e-12)


def test_d_av_is_in_units_of_the_scores():
    unit = math.sqrt((np.var(BEFORE, ddof=1) + np.var(AFTER, ddof=1)) / 2)
    expected = (AFTER - BEFORE).mean() / unit
    assert effect_size(BEFORE, AFTER, "d_av") == pytest.approx(expected, rel=1e-12)


def test_cliffs_delta_counts_all_pairs_of_scores():
    expected = np.sign((AFTER[:, None] - BEFORE).round(12)).mean()
    assert effect_size(BEFORE, AFTER, "cliffs_delta") == pytest.approx(expected, rel=1e-12)
    u = scipy_stats.mannwhitneyu(AFTER, BEFORE).statistic
    assert expected == pytest.approx(2 * u / 400 - 1)


def test_rank_biserial_is_the_balance_of_scipys_signed_ranks():
    moved = (AFTER - BEFORE).round(12)
    ranks = scipy_stats.rankdata(np.abs(moved[moved != 0]))
    expected = (ranks * np.sign(moved[moved != 0])).sum() / ranks.sum()
    assert effect_size(BEFORE, AFTER, "rank_biserial") == pytest.approx(expected, rel=1e-12)


def test_paired_dominance_is_wins_minus_losses():
    assert effect_size([0, 0, 0, 0], [0.3, 0.2, -0.1, 0.0], "paired_dominance") == 0.25


@pytest.mark.parametrize(
    ("wins", "losses", "odds"), [(4, 2, 2.0), (3, 0, math.inf), (0, 3, 0.0), (0, 0, math.nan)]
)
def test_effects_of_0_and_1_follow_from_wins_and_losses(wins, losses, odds):
    before = np.repeat([0, 1, 1], [wins, losses, 4])
    after = np.repeat([1, 0, 1], [wins, losses, 4])
    assert effect_size(before, after, "odds_ratio") == pytest.approx(odds, nan_ok=True)
    expected = (wins - losses) / (wins + losses + 4)
    assert effect_size(before, after, "risk_difference") == pytest.approx(expected)


@pytest.mark.parametrize("kind", ANY_SCORES)
def test_float_noise_is_no_effect_and_exchanging_the_sides_changes_the_sign(kind):
    assert effect_size(np.full(5, 0.1) + 0.2, np.full(5, 0.3), kind) == 0.0
    there, back = effect_size(BEFORE, AFTER, kind), effect_size(AFTER, BEFORE, kind)
    assert there == pytest.approx(-back, rel=1e-12)


@pytest.mark.parametrize("kind", ["d_z", "hedges_g_z"])
def test_a_constant_shift_is_infinite_in_units_of_no_spread(kind):
    before = np.array([0.1, 0.7, 1.3, 0.37])  # the shifts differ in their last digits
    assert effect_size(before, before + 0.1, kind) == math.inf
    assert effect_size(before, before - 0.1, kind) == -math.inf


def test_too_few_queries_have_no_standardised_effect():
    assert math.isnan(effect_size([0.1], [0.3]))
    assert math.isnan(effect_size([0.1, 0.2], [0.3, 0.5], "hedges_g_z"))


def test_bad_input_is_refused():
    with pytest.raises(DataError, match="needs scores of 0 and 1"):
        effect_size([0, 1], [0.5, 1], "odds_ratio")
    with pytest.raises(UnknownNameError, match="cliffs_delta"):
        effect_size([0, 1], [0.5, 1], "cliff_delta")

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import EFFECTS, effect_size
from rageval_report.stats.pairs.effects import odds_ratio_interval

ANY_SCORES = ["d_z", "hedges_g_z", "d_av", "cliffs_delta", "rank_biserial", "paired_dominance"]
BINARY = ["risk_difference", "odds_ratio"]


def table(both, wins, losses, neither):
    """Scores of 0 and 1 with the given paired table."""
    cells = [both, wins, losses, neither]
    return np.repeat([1.0, 0.0, 1.0, 0.0], cells), np.repeat([1.0, 1.0, 0.0, 0.0], cells)


def test_every_effect_size_of_the_table_is_tested_here():
    assert sorted(EFFECTS) == sorted(ANY_SCORES + BINARY)


# Standardised mean differences


def test_d_z_is_t_over_the_root_of_n():
    rng = np.random.default_rng(1)
    before, after = rng.random(20), rng.random(20)
    t = scipy_stats.ttest_rel(after, before).statistic  # scipy 1.17.1
    assert effect_size(before, after) == pytest.approx(t / math.sqrt(20), rel=1e-12)


@pytest.mark.parametrize("degrees", [2, 3, 4, 5, 10, 100])
def test_hedges_factor_is_his_ratio_of_gamma_functions(degrees):
    before, after = np.zeros(degrees + 1), np.arange(degrees + 1.0)
    ratio = effect_size(before, after, "hedges_g_z") / effect_size(before, after, "d_z")
    half = degrees / 2
    expected = math.gamma(half) / (math.sqrt(half) * math.gamma(half - 0.5))  # Hedges (1981)
    assert ratio == pytest.approx(expected, rel=1e-12)


def test_hedges_factor_is_near_its_approximation_for_many_queries():
    before, after = np.zeros(10_000), np.tile([0.1, 0.2], 5_000)
    ratio = effect_size(before, after, "hedges_g_z") / effect_size(before, after, "d_z")
    assert ratio == pytest.approx(1 - 3 / (4 * 9_999 - 1), rel=1e-9)


def test_d_av_is_in_units_of_the_scores():
    before, after = np.array([0.1, 0.5, 0.9, 0.7]), np.array([0.3, 0.6, 0.8, 0.9])
    unit = math.sqrt((np.var(before, ddof=1) + np.var(after, ddof=1)) / 2)
    assert effect_size(before, after, "d_av") == pytest.approx(0.1 / unit, rel=1e-12)


@pytest.mark.parametrize("kind", ANY_SCORES)
def test_identical_pipelines_have_an_effect_of_zero(kind):
    before, after = np.full(5, 0.1) + 0.2, np.full(5, 0.3)
    assert (before != after).all()  # float noise
    assert effect_size(before, after, kind) == 0.0


@pytest.mark.parametrize("kind", ["d_z", "hedges_g_z"])
def test_a_constant_shift_is_infinite_in_units_of_no_spread(kind):
    before = np.array([0.1, 0.7, 1.3, 0.37])  # the shifts differ in their last digits
    assert effect_size(before, before + 0.1, kind) == math.inf
    assert effect_size(before, before - 0.1, kind) == -math.inf


def test_a_constant_shift_is_finite_in_units_of_the_scores():
    before = np.array([0.1, 0.7, 1.3, 0.4])
    assert effect_size(before, before + 0.1, "d_av") == pytest.approx(0.1 / np.std(before, ddof=1))


def test_two_constant_sides_that_differ_are_infinitely_far_apart():
    assert effect_size([0.5, 0.5], [0.7, 0.7], "d_av") == math.inf


@pytest.mark.parametrize("kind", ["d_z", "hedges_g_z", "d_av"])
def test_one_query_has_no_spread_to_measure_with(kind):
    assert math.isnan(effect_size([0.2], [0.5], kind))


def test_two_queries_have_no_unbiased_effect_size():
    assert math.isnan(effect_size([0.0, 0.0], [0.1, 0.2], "hedges_g_z"))


# Ranks and wins

SCORES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20)


@settings(max_examples=40)
@given(pairs=SCORES)
def test_cliffs_delta_is_the_count_over_all_pairs(pairs):
    before, after = np.array(pairs, float).T / 10
    counted = np.sign(np.round(after[:, None] - before[None, :], 6)).mean()
    assert effect_size(before, after, "cliffs_delta") == pytest.approx(counted, abs=1e-12)


def test_cliffs_delta_takes_float_noise_for_a_tie():
    assert effect_size([0.3, 0.1], [0.1 + 0.2, 0.1], "cliffs_delta") == 0.0


def test_cliffs_delta_is_two_times_the_area_under_the_curve_less_one():
    rng = np.random.default_rng(4)
    before, after = rng.random(3_000), rng.random(3_000) + 0.1
    u = scipy_stats.mannwhitneyu(after, before).statistic  # scipy 1.17.1
    expected = 2 * u / 3_000**2 - 1
    assert effect_size(before, after, "cliffs_delta") == pytest.approx(expected, rel=1e-12)


@settings(max_examples=40)
@given(pairs=SCORES)
def test_the_rank_biserial_correlation_balances_wilcoxons_rank_sums(pairs):
    before, after = np.array(pairs, float).T
    moved = (after - before)[after != before]
    expected = 0.0
    if moved.size:
        ranks = scipy_stats.rankdata(np.abs(moved))  # scipy 1.17.1
        expected = (ranks[moved > 0].sum() - ranks[moved < 0].sum()) / ranks.sum()
    found = effect_size(before / 10, after / 10, "rank_biserial")  # tenths: ties with float noise
    assert found == pytest.approx(expected, abs=1e-12)


def test_paired_dominance_counts_wins_less_losses():
    before, after = [0.0, 0.0, 0.0, 0.0, 0.3], [0.1, 0.2, -0.9, 0.5, 0.1 + 0.2]
    assert effect_size(before, after, "paired_dominance") == 2 / 5


@pytest.mark.parametrize("kind", ANY_SCORES)
def test_exchanging_the_sides_turns_the_effect_round(kind):
    rng = np.random.default_rng(5)
    before, after = rng.random(15), rng.random(15)
    there, back = effect_size(before, after, kind), effect_size(after, before, kind)
    assert there == pytest.approx(-back, rel=1e-12)


@pytest.mark.parametrize("kind", ANY_SCORES)
def test_unscored_queries_are_left_out_by_pairs(kind):
    before, after = [0.1, 0.5, math.nan, 0.4, 0.2], [0.3, 0.2, 0.9, math.nan, 0.8]
    assert effect_size(before, after, kind) == effect_size([0.1, 0.5, 0.2], [0.3, 0.2, 0.8], kind)


# Scores of 0 and 1


def test_the_risk_difference_is_the_difference_of_the_shares():
    before, after = table(5, 7, 2, 6)
    assert effect_size(before, after, "risk_difference") == pytest.approx(
        after.mean() - before.mean()
    )


@pytest.mark.parametrize(
    ("wins", "losses", "odds"), [(25, 2, 12.5), (0, 3, 0.0), (3, 0, math.inf), (0, 0, math.nan)]
)
def test_the_odds_ratio_is_wins_over_losses(wins, losses, odds):
    assert effect_size(*table(1, wins, losses, 1), "odds_ratio") == pytest.approx(odds, nan_ok=True)


@pytest.mark.parametrize("kind", BINARY)
def test_effect_sizes_of_shares_refuse_other_scores(kind):
    with pytest.raises(DataError, match=f"{kind!r} needs scores of 0 and 1"):
        effect_size([0.0, 1.0], [0.5, 1.0], kind)


def test_the_exact_interval_of_the_odds_ratio_reproduces_a_published_one():
    # R package contingencytables 3.1.0, Ezra et al. (2010), transformed Clopper-Pearson
    found = odds_ratio_interval(*table(227, 25, 2, 541))
    assert found.estimate == 12.5
    assert (found.low, found.high) == pytest.approx((3.1169, 108.8892), abs=5e-5)


def test_the_exact_interval_of_the_odds_ratio_is_that_of_the_share_of_wins():
    share = scipy_stats.binomtest(7, 10).proportion_ci(0.9, "exact")  # scipy 1.17.1
    found = odds_ratio_interval(*table(2, 7, 3, 2), confidence_level=0.9)
    expected = (share.low / (1 - share.low), share.high / (1 - share.high))
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-10)


def test_the_interval_of_the_odds_ratio_is_open_where_a_side_never_wins():
    won = odds_ratio_interval(*table(1, 4, 0, 1))
    lost = odds_ratio_interval(*table(1, 0, 4, 1))
    assert (won.estimate, won.high, lost.estimate, lost.low) == (math.inf, math.inf, 0.0, 0.0)
    assert won.low == pytest.approx(1 / lost.high, rel=1e-12)


def test_the_interval_of_the_odds_ratio_of_no_discordant_pairs_is_everything():
    found = odds_ratio_interval(*table(3, 0, 0, 2))
    assert math.isnan(found.estimate)
    assert (found.low, found.high) == (0.0, math.inf)


# Bad input


def test_an_unknown_effect_size_answers_with_the_nearest_one():
    with pytest.raises(UnknownNameError, match="Did you mean 'cliffs_delta'"):
        effect_size([0.1], [0.2], "cliff_delta")


def test_no_scored_pair_has_no_effect():
    with pytest.raises(DataError, match="no query has a score on both sides"):
        effect_size([0.1, math.nan], [math.nan, 0.2])


def test_two_queries_have_no_corrected_size_unless_it_is_zero_or_infinite():
    assert effect_size([0.5, 0.5], [0.5, 0.5], "hedges_g_z") == 0.0
    assert effect_size([0.5, 0.5], [0.75, 0.75], "hedges_g_z") == math.inf
    assert math.isnan(effect_size([0.5, 0.5], [0.75, 1.0], "hedges_g_z"))

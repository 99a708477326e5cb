import numpy as np
import pytest
from scipy import stats as scipy_stats

from rageval_report.errors import DataError
from rageval_report.stats.pairs.discordant import (
    DiscordantPairs,
    binomial_cdf,
    coin_midp,
    coin_pvalue,
    count_discordant,
    is_binary,
    table_midp,
)


@pytest.mark.parametrize("share", [0.5, 0.3, 1.0])
def test_the_binomial_distribution_is_scipys(share):
    heads = np.arange(-1, 42)
    expected = scipy_stats.binom.cdf(heads, 40, share)  # scipy 1.17.1
    np.testing.assert_allclose(binomial_cdf(heads, 40, share), expected, rtol=1e-12)


def test_the_binomial_distribution_keeps_its_digits_in_the_far_tail():
    exact = sum(scipy_stats.binom.pmf(k, 2000, 0.5) for k in range(751))  # scipy 1.17.1
    assert float(binomial_cdf(750, 2000)) == pytest.approx(exact, rel=1e-10, abs=0.0)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (5, 0), (3, 3), (2, 9), (40, 61)])
def test_the_pvalue_of_a_coin_is_scipys_binomial_test(wins, losses, alternative):
    expected = 1.0
    if wins + losses:
        expected = scipy_stats.binomtest(  # scipy 1.17.1
            wins, wins + losses, alternative=alternative
        ).pvalue
    assert coin_pvalue(wins, losses, alternative) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("wins", "losses"), [(5, 0), (3, 3), (2, 9), (40, 61)])
def test_the_midp_counts_the_outcome_half(wins, losses):
    law = scipy_stats.binom(wins + losses, 0.5)  # scipy 1.17.1
    expected = law.sf(wins) + 0.5 * law.pmf(wins)
    assert float(coin_midp(wins, losses)) == pytest.approx(expected, rel=1e-12)


def test_the_paired_table_is_counted():
    before = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    after = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    pairs = count_discordant(before, after, "mcnemar")
    assert pairs == DiscordantPairs(n=6, wins=2, losses=1, both=2)
    assert (pairs.discordant, pairs.difference) == (3, 1 / 6)


def test_only_zeros_and_ones_are_binary():
    half = np.array([0.0, 0.5])
    whole = np.array([0.0, 1.0])
    assert is_binary(whole, whole)
    assert not is_binary(half, whole)
    assert not is_binary(whole, half)


def test_a_score_between_right_and_wrong_is_named_with_the_method_that_cannot_take_it():
    with pytest.raises(
        DataError, match=r"'tango' needs scores of 0 and 1.*candidate also has 0\.5"
    ):
        count_discordant(np.array([0.0, 1.0]), np.array([0.0, 0.5]), "tango")


@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_the_score_that_is_no_bit_is_named(side):
    bits, others = np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.25])
    sides = (others, bits) if side == "baseline" else (bits, others)
    with pytest.raises(DataError, match=rf"the {side} also has 0\.25\."):
        count_discordant(*sides, "mcnemar")


@pytest.mark.parametrize(("wins", "losses"), [(0, 3), (5, 1), (4_100, 3_900)])
def test_the_midp_of_a_table_is_kept_and_is_that_of_scipys_binomial_law(wins, losses):
    coin = scipy_stats.binom(wins + losses, 0.5)
    expected = coin.sf(wins) + coin.pmf(wins) / 2
    assert table_midp(wins, losses) == pytest.approx(expected, rel=1e-11)
    assert table_midp(wins, losses) == float(coin_midp(wins, losses))

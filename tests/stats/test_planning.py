import importlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.integrate import quad
from statsmodels.stats.power import TTestPower

from rageval_report.errors import DataError
from rageval_report.stats.pairs.discordant import coin_midp
from rageval_report.stats.planning import (
    _largest_rejected,
    mcnemar_power,
    minimum_detectable_difference,
    power,
    required_n,
)


@pytest.mark.parametrize("alpha", [0.05, 0.005])
@pytest.mark.parametrize(("d_z", "n"), [(0.5, 34), (0.2, 200), (1.5, 2), (-0.3, 12), (0.0, 20)])
def test_the_power_is_that_of_statsmodels(d_z, n, alpha):
    expected = TTestPower().power(abs(d_z), n, alpha)  # statsmodels 0.15
    assert power(d_z, n, alpha=alpha) == pytest.approx(expected, rel=1e-9)


def test_the_power_of_cohens_medium_effect_is_gpowers():
    assert power(0.5, 34) == pytest.approx(0.8077775, abs=5e-8)  # G*Power 3.1


def test_an_effect_of_nothing_is_found_as_often_as_the_level_says():
    assert power(0.0, 50, alpha=0.01) == pytest.approx(0.01, rel=1e-9)


@pytest.mark.parametrize(("d_z", "n"), [(1e6, 2), (50 / math.sqrt(10), 10), (1e200, 1000)])
def test_an_effect_beyond_all_doubt_is_found(d_z, n):
    assert power(d_z, n, alpha=0.01) == pytest.approx(1.0, abs=1e-4)


def test_the_power_of_very_many_queries_is_that_of_the_normal_test():
    z = scipy_stats.norm.ppf(0.975)
    expected = scipy_stats.norm.sf(z - 2.8) + scipy_stats.norm.cdf(-z - 2.8)  # scipy 1.17.1
    for n in (10**11, 10**13, 10**20):
        assert power(2.8 / math.sqrt(n), n) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=40)
@given(d_z=st.floats(0.01, 5.0), target=st.floats(0.06, 0.999), alpha=st.sampled_from([0.05, 0.01]))
def test_the_required_number_reaches_the_power_and_one_less_does_not(d_z, target, alpha):
    n = required_n(d_z, target, alpha=alpha)
    assert power(d_z, n, alpha=alpha) >= target
    assert n == 2 or power(d_z, n - 1, alpha=alpha) < target


@pytest.mark.parametrize(("d_z", "target"), [(0.5, 0.8), (0.2, 0.9), (0.05, 0.8)])
def test_the_required_number_is_that_of_statsmodels_rounded_up(d_z, target):
    exact = TTestPower().solve_power(d_z, None, 0.05, target)  # statsmodels 0.15
    assert required_n(d_z, target) == math.ceil(exact)


@pytest.mark.parametrize("d_z", [1e-5, 1e-8, 1e-100])
def test_the_required_number_for_a_tiny_effect_is_that_of_the_normal_test(d_z):
    expected = ((scipy_stats.norm.ppf(0.975) + scipy_stats.norm.ppf(0.8)) / d_z) ** 2
    n = required_n(d_z)
    assert isinstance(n, int)
    assert n == pytest.approx(expected, rel=1e-5)  # but for the other tail


def test_an_effect_without_end_needs_two_queries():
    assert required_n(1e10) == 2


def test_the_sign_of_the_effect_does_not_matter():
    assert required_n(-0.3) == required_n(0.3)


@pytest.mark.parametrize("d_z", [0.0, 1e-200])
def test_no_number_of_queries_shows_nothing(d_z):
    with pytest.raises(
        DataError, match="d_z must not be 0: no number of queries shows such an effect"
    ):
        required_n(d_z)


@pytest.mark.parametrize("d_z", [math.nan, math.inf])
def test_an_effect_must_be_a_number(d_z):
    with pytest.raises(DataError, match="d_z must be a finite number"):
        required_n(d_z)
    with pytest.raises(DataError, match="d_z must be a finite number"):
        power(d_z, 10)


@settings(max_examples=30)
@given(n=st.integers(2, 10**9), target=st.floats(0.1, 0.999), sd=st.floats(0.001, 1000.0))
def test_the_detectable_difference_is_found_with_the_power_asked_for(n, target, sd):
    difference = minimum_detectable_difference(sd, n, power=target)
    assert power(difference / sd, n) == pytest.approx(target, rel=1e-9)


def test_the_detectable_difference_is_near_the_rule_of_thumb_for_many_queries():
    difference = minimum_detectable_difference(0.25, 4000)
    assert difference == pytest.approx(2.8016 * 0.25 / math.sqrt(4000), rel=1e-3)


def test_scores_that_never_differ_hide_nothing():
    assert minimum_detectable_difference(0.0, 10) == 0.0


def test_no_difference_is_needed_for_a_power_that_the_level_gives_anyway():
    assert minimum_detectable_difference(0.3, 10, power=0.5, alpha=0.6) == 0.0


@pytest.mark.parametrize("sd", [-0.1, math.nan, math.inf])
def test_a_standard_deviation_must_be_one(sd):
    with pytest.raises(DataError, match="sd_difference must be a finite number >= 0"):
        minimum_detectable_difference(sd, 10)


@pytest.mark.parametrize(("argument", "value"), [("alpha", 5), ("power", 80)])
def test_percent_is_recognised(argument, value):
    with pytest.raises(DataError, match=f"did you mean {value / 100}"):
        minimum_detectable_difference(0.2, 10, **{argument: value})


def test_one_query_has_no_power():
    with pytest.raises(DataError, match="n must be an integer >= 2; got 1"):
        power(0.5, 1)


# McNemar's mid-p test


def counted_power(p10, p01, n, alpha):
    """The probability of all tables whose mid-p is significant."""
    found = 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            law, fewer = scipy_stats.binom(wins + losses, 0.5), min(wins, losses)
            if wins != losses and 2 * law.cdf(fewer) - law.pmf(fewer) <= alpha:
                cells = [wins, losses, n - wins - losses]
                found += scipy_stats.multinomial.pmf(cells, n, [p01, p10, 1 - p01 - p10])
    return found


@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize(("p10", "p01", "n"), [(0.05, 0.25, 24), (0.4, 0.6, 12), (0.0, 0.3, 20)])
def test_the_power_of_mcnemars_test_is_the_sum_over_all_tables(p10, p01, n, alpha):
    expected = counted_power(p10, p01, n, alpha)
    assert mcnemar_power(p10, p01, n, alpha=alpha) == pytest.approx(expected, rel=1e-10)


def test_the_power_of_mcnemars_test_for_many_queries_is_near_connors_formula():
    p10, p01, n = 0.09, 0.11, 9_000
    spread = math.sqrt(p10 + p01 - (p01 - p10) ** 2)
    shift = (p01 - p10) * math.sqrt(n) - scipy_stats.norm.ppf(0.975) * math.sqrt(p10 + p01)
    expected = scipy_stats.norm.cdf(shift / spread)  # Connor (1987), Biometrics 43:207
    assert mcnemar_power(p10, p01, n) == pytest.approx(expected, abs=0.003)


def test_the_power_of_mcnemars_test_does_not_depend_on_the_side():
    assert mcnemar_power(0.1, 0.2, 80) == pytest.approx(mcnemar_power(0.2, 0.1, 80), rel=1e-12)


def test_equal_shares_are_found_different_at_most_as_often_as_the_level_says():
    sizes = [mcnemar_power(0.1, 0.1, int(n)) for n in np.geomspace(5, 3000, 12)]
    assert max(sizes) < 0.0525
    assert mcnemar_power(0.1, 0.1, 100_000) == pytest.approx(0.05, abs=0.001)


def test_without_discordant_pairs_nothing_is_found():
    assert mcnemar_power(0.0, 0.0, 50) == 0.0


@pytest.mark.parametrize(("p10", "p01"), [(-0.1, 0.2), (0.7, 0.4), (math.nan, 0.1)])
def test_shares_must_be_shares_of_one_whole(p10, p01):
    with pytest.raises(DataError, match="p10 and p01 must be shares of all queries"):
        mcnemar_power(p10, p01, 50)


def test_the_function_power_is_not_hidden_by_a_module_of_that_name():
    assert callable(importlib.import_module("rageval_report.stats").power)
    assert callable(importlib.import_module("rageval_report.stats").power)  # loaded by now


def power_by_integration(d_z, n, alpha=0.05):
    """The t statistic beyond its critical value, over the law of the standard deviation."""
    df = n - 1
    critical, shift = scipy_stats.t.ppf(1 - alpha / 2, df), abs(d_z) * math.sqrt(n)

    def both_tails(s):
        upper = scipy_stats.norm.cdf(shift - critical * s)
        return (upper + scipy_stats.norm.cdf(-shift - critical * s)) * law(s)

    def law(s):  # of sqrt(chi-square / df)
        return scipy_stats.chi2.pdf(df * s * s, df) * 2 * df * s

    return quad(both_tails, 0, 12, limit=500)[0]


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("d_z", [0.3, 2.0, 5.5, 6.5])
def test_the_power_of_few_queries_is_that_of_integration(n, d_z):
    # Of large shifts SciPy's far side is NaN; it must count as nothing.
    assert power(d_z, n) == pytest.approx(power_by_integration(d_z, n), abs=1e-6)


@pytest.mark.parametrize("wrong", [0.0, 1.0, 80, math.nan])
def test_levels_and_powers_must_be_probabilities(wrong):
    calls = [
        (lambda: power(0.5, 10, alpha=wrong), "alpha"),
        (lambda: required_n(0.5, alpha=wrong), "alpha"),
        (lambda: required_n(0.5, wrong), "power"),
        (lambda: minimum_detectable_difference(0.2, 10, alpha=wrong), "alpha"),
        (lambda: minimum_detectable_difference(0.2, 10, power=wrong), "power"),
        (lambda: mcnemar_power(0.1, 0.2, 10, alpha=wrong), "alpha"),
    ]
    for call, name in calls:
        with pytest.raises(DataError, match=f"{name} must lie between 0 and 1"):
            call()


def test_a_number_of_queries_must_be_one():
    for call in (power, minimum_detectable_difference):
        with pytest.raises(DataError, match="n must be an integer >= 2"):
            call(0.5, 1)
    with pytest.raises(DataError, match="n must be an integer >= 2"):
        mcnemar_power(0.1, 0.2, 2.5)


@pytest.mark.parametrize("sd", [-0.1, math.inf, math.nan])
def test_a_standard_deviation_must_be_finite_and_not_negative(sd):
    with pytest.raises(DataError, match="sd_difference must be a finite number >= 0"):
        minimum_detectable_difference(sd, 10)


def test_the_default_power_and_level_are_those_of_the_docs():
    assert required_n(0.5) == required_n(0.5, 0.8, alpha=0.05)
    assert minimum_detectable_difference(0.2, 30) == minimum_detectable_difference(
        0.2, 30, power=0.8, alpha=0.05
    )
    assert mcnemar_power(0.1, 0.2, 60) == mcnemar_power(0.1, 0.2, 60, alpha=0.05)
    assert power(0.5, 30) == power(0.5, 30, alpha=0.05)


def test_a_difference_that_is_hard_to_detect_is_found_too():
    # Two queries and a high power: t has one degree of freedom, the shift is far beyond 2.8.
    difference = minimum_detectable_difference(1.0, 2, power=0.9)
    assert power_by_integration(difference, 2) == pytest.approx(0.9, abs=1e-6)
    strict = minimum_detectable_difference(0.5, 3, power=0.99, alpha=0.001)
    assert power(strict / 0.5, 3, alpha=0.001) == pytest.approx(0.99, rel=1e-9)


@pytest.mark.parametrize(
    ("p10", "p01", "n"), [(0.02, 0.06, 3000), (0.3, 0.36, 2500), (0.0, 0.3, 12), (0.4, 0.6, 40)]
)
def test_the_power_of_mcnemars_test_is_a_sum_over_all_tables(p10, p01, n):
    discordant, share = p10 + p01, p01 / (p10 + p01)
    pairs = np.arange(n + 1)
    expected = 0.0
    for m, weight in zip(pairs, scipy_stats.binom.pmf(pairs, n, discordant), strict=True):
        if weight < 1e-14:
            continue
        wins = np.arange(m + 1)
        fewer = np.minimum(wins, m - wins)
        midp = 2 * scipy_stats.binom.cdf(fewer, m, 0.5) - scipy_stats.binom.pmf(fewer, m, 0.5)
        expected += weight * scipy_stats.binom.pmf(wins, m, share)[midp <= 0.05].sum()
    assert mcnemar_power(p10, p01, n) == pytest.approx(expected, rel=1e-9)


def test_shares_may_sum_up_to_one_with_rounding():
    a, b = 0.7, 0.1 + 0.2  # 0.30000000000000004
    assert mcnemar_power(a, b, 30) == pytest.approx(mcnemar_power(0.7, 0.3, 30), rel=1e-9)
    with pytest.raises(DataError, match="together <= 1"):
        mcnemar_power(0.7, 0.3001, 30)


def largest_rejected_one_by_one(pairs, alpha):
    """By its definition: twice the sum of all rarer outcomes, this one counted half."""
    counts = [-1]
    for rarer in range(pairs // 2 + 1):
        below = math.fsum(math.comb(pairs, k) / 2**pairs for k in range(rarer))
        if 2 * (below + math.comb(pairs, rarer) / 2 ** (pairs + 1)) <= alpha:
            counts.append(rarer)
    return max(counts)


@pytest.mark.parametrize("alpha", [0.05, 0.0123, 1e-4, 0.6, 0.999])
def test_the_largest_significant_count_is_that_of_the_definition(alpha):
    pairs = np.arange(0.0, 301.0)
    expected = [largest_rejected_one_by_one(n, alpha) for n in range(301)]
    assert _largest_rejected(pairs, alpha).tolist() == expected


@pytest.mark.parametrize(("first", "last"), [(250, 260), (511, 513), (100_000, 100_700)])
def test_the_next_count_is_not_significant_across_blocks(first, last):
    pairs = np.arange(float(first), last + 1.0)
    most = _largest_rejected(pairs, 0.02)
    assert most.size == pairs.size
    assert (2 * coin_midp(pairs - most, most) <= 0.02).all()
    assert (2 * coin_midp(pairs - most - 1, most + 1) > 0.02).all()

"""Power, and the units that a difference needs. Witnesses: statsmodels 0.15, G*Power 3.1, SciPy
1.17.1, enumeration of all tables and of all sign patterns, one-way components by hand, the tests
themselves on simulated scores."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.power import TTestPower

from rageval_report.errors import DataError
from rageval_report.stats import planning
from rageval_report.stats.columns import Column
from rageval_report.stats.planning import (
    ClusterVariance,
    PlannedTest,
    attainable_level,
    binary_queries_needed,
    mcnemar_power,
    minimum_detectable_difference,
    non_inferiority_power,
    power,
    required_n,
)
from rageval_report.stats.sign_flips import sign_flip_pvalue
from rageval_report.stats.units import column_of_sums

LEVELS = [0.2, 0.05, 0.05 / 24]


@pytest.mark.parametrize("alpha", [0.05, 0.005])
@pytest.mark.parametrize(("d_z", "n"), [(0.5, 34), (0.2, 200), (1.5, 2), (-0.3, 12), (0.0, 20)])
def test_the_power_is_that_of_statsmodels(d_z, n, alpha):
    expected = TTestPower().power(abs(d_z), n, alpha)
    assert power(d_z, n, alpha=alpha) == pytest.approx(expected, rel=1e-9)
    assert power(0.5, 34) == pytest.approx(0.8077775, abs=5e-8)  # G*Power
    for beyond_doubt, few in ((1e6, 2), (50 / math.sqrt(10), 10), (1e200, 1000)):
        assert power(beyond_doubt, few, alpha=0.01) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(("d_z", "target"), [(0.5, 0.8), (0.2, 0.9), (0.05, 0.8)])
def test_the_required_number_is_that_of_statsmodels_rounded_up(d_z, target):
    exact = TTestPower().solve_power(d_z, None, 0.05, target)
    assert required_n(d_z, target) == required_n(-d_z, target) == math.ceil(exact)
    assert PlannedTest(2.0, "t").needed(2.0 * d_z, target) == math.ceil(exact)
    for sd in (1e300, 5e-324, 1.0):
        assert PlannedTest(sd).needed(50.0 * sd) == 6
        # 2 ** (1 - n) <= 0.0005 from n = 12 on.
        assert PlannedTest(sd).needed(50.0 * sd, alpha=0.0005) == 12


@settings(max_examples=30)
@given(n=st.integers(2, 10**9), target=st.floats(0.1, 0.999), sd=st.floats(0.001, 1000.0))
def test_the_detectable_difference_is_found_with_the_power_asked_for(n, target, sd):
    difference = minimum_detectable_difference(sd, n, power=target)
    assert power(difference / sd, n) == pytest.approx(target, rel=1e-9)
    assert minimum_detectable_difference(0.0, n, power=target) == 0.0
    assert minimum_detectable_difference(sd, n, power=target, alpha=0.9995) == 0.0


@pytest.mark.parametrize(("margin_z", "n"), [(0.2, 150), (0.5, 27), (0.8, 12)])
def test_the_power_of_no_regression_is_that_of_statsmodels(margin_z, n):
    expected = TTestPower().power(margin_z, n, 0.05, alternative="larger")
    assert non_inferiority_power(margin_z, n) == pytest.approx(expected, rel=1e-9)
    assert non_inferiority_power(margin_z, 4) == 0.0  # 2 ** -4 is above the level
    assert non_inferiority_power(1e5, 8) == pytest.approx(1.0)


# McNemar's mid-p test


@pytest.mark.parametrize("alpha", [0.9, 0.05, 1e-4, 1e-8])
@pytest.mark.parametrize(
    ("p10", "p01", "n"), [(0.02, 0.06, 3000), (0.3, 0.36, 1100), (0.0, 0.3, 20), (0.4, 0.6, 12)]
)
def test_the_power_of_mcnemars_test_is_the_sum_over_all_tables(p10, p01, n, alpha):
    discordant, share = p10 + p01, p01 / (p10 + p01)
    pairs, expected = np.arange(n + 1), 0.0
    for m, weight in zip(pairs, scipy_stats.binom.pmf(pairs, n, discordant), strict=True):
        if weight < 1e-14:  # the tables with m discordant pairs
            continue
        wins = np.arange(m + 1)
        fewer = np.minimum(wins, m - wins)
        midp = 2 * scipy_stats.binom.cdf(fewer, m, 0.5) - scipy_stats.binom.pmf(fewer, m, 0.5)
        expected += weight * scipy_stats.binom.pmf(wins, m, share)[midp <= alpha].sum()
    assert mcnemar_power(p10, p01, n, alpha=alpha) == pytest.approx(expected, rel=1e-9)
    assert mcnemar_power(p01, p10, n, alpha=alpha) == pytest.approx(expected, rel=1e-9)


# The levels of the sign-flip test


@pytest.mark.parametrize("n", [2, 5, 6, 7, 9, 12])
@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.015, 0.001])
@pytest.mark.parametrize("midp", [False, True])
def test_the_attainable_level_is_the_share_of_patterns_that_are_rejected(n, alpha, midp):
    signs = np.array(list(itertools.product([1.0, -1.0], repeat=n)))
    sums = np.sort(np.abs(signs @ 2.0 ** np.arange(n)))  # every sum of signs is another one
    reached = sums.size - np.searchsorted(sums, sums)
    beyond = sums.size - np.searchsorted(sums, sums, side="right")
    pvalues = (reached + beyond) / 2 / sums.size if midp else reached / sums.size
    assert attainable_level(n, alpha, midp=midp) == (pvalues <= alpha).mean()


# The law of the test


def test_with_six_units_the_power_is_that_of_equal_signs():
    positive = scipy_stats.norm.cdf(1.2)
    expected = positive**6 + (1 - positive) ** 6
    assert PlannedTest(0.5).power(0.6, 6) == pytest.approx(expected)
    assert PlannedTest(0.5).power(-0.6, 6) == pytest.approx(expected)
    assert PlannedTest(0.5).power(0.6, 5) == 0.0


@pytest.mark.parametrize(("d_z", "n"), [(0.2, 199), (0.5, 34), (0.1, 787)])
@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign-flip", "sign-flip-midp"])
def test_with_many_units_the_power_is_that_of_statsmodels_for_t(d_z, n, test):
    expected = TTestPower().power(d_z, n, 0.05)
    assert PlannedTest(2.0, test).power(2.0 * d_z, n) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("n", "alpha"), [(12, 0.05), (40, 0.05), (40, 0.005), (300, 0.001)])
@pytest.mark.parametrize("test", ["t", "sign-flip", "sign-flip-midp"])
def test_the_detectable_difference_is_that_of_statsmodels_at_the_attainable_level(n, alpha, test):
    level = alpha if test == "t" else attainable_level(n, alpha, midp=test == "sign-flip-midp")
    expected = 0.25 * TTestPower().solve_power(None, n, level, 0.8)
    assert PlannedTest(0.25, test).detectable(n, alpha=alpha) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("changed", [math.nan, 0.05, 0.4])
@pytest.mark.parametrize("alpha", LEVELS)
def test_the_needed_units_show_the_difference_and_one_less_does_not(changed, alpha):
    test = "sign-flip" if math.isnan(changed) else "mcnemar-midp"
    plan = PlannedTest(0.3, test, changed)
    for difference in np.geomspace(0.02, 0.9, 7).tolist():
        n = int(plan.needed(difference, alpha=alpha))
        assert plan.power(difference, n, alpha=alpha) >= 0.8
        assert n == 6 or plan.power(difference, n - 1, alpha=alpha) < 0.8
        if test == "sign-flip":
            assert plan.detectable(n, alpha=alpha) <= difference * (1 + 1e-9)


# Shares


@pytest.mark.parametrize("changed", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("difference", [0.02, 0.05, 0.2])
def test_shares_need_nearly_as_many_queries_as_the_exact_sum_says(changed, difference):
    alone = max(changed, difference)
    shares = ((alone - difference) / 2, (alone + difference) / 2)
    n = PlannedTest(0.5, "mcnemar-midp", changed).needed(difference)
    assert n == pytest.approx(binary_queries_needed(*shares), rel=0.02, abs=1)
    assert 0.79 < mcnemar_power(*shares, int(n)) < 0.84
    assert PlannedTest(0.5, "mcnemar-midp", 0.2).needed(1000.0) == 6  # they differ by 1 at most


@pytest.mark.parametrize(("p10", "p01"), [(0.05, 0.15), (0.0, 0.1), (0.2, 0.25), (0.3, 0.05)])
def test_from_the_returned_number_on_mcnemars_power_stays_above(p10, p01):
    n = binary_queries_needed(p10, p01)
    assert all(mcnemar_power(p10, p01, m) >= 0.8 for m in range(n, n + 25))
    assert mcnemar_power(p10, p01, n - 1) < 0.8
    assert binary_queries_needed(p01, p10) == n


# What cannot be planned


@pytest.mark.parametrize("sd", [0.0, math.nan])
def test_differences_that_do_not_vary_plan_nothing(sd):
    plan = PlannedTest(sd)
    assert not plan.is_usable
    assert PlannedTest.of(Column.of([0.1, 0.1]), "t").sd == 0.0
    assert math.isnan(plan.detectable(20) + plan.needed(0.1) + plan.needed_for_margin(0.1))


# Clusters


def test_the_variances_of_unequal_clusters_by_hand():
    # Means 1 and 4 of 2 and 4 queries, mean of all 3: B = 2 * 4 + 4 * 1 = 12 with one degree,
    # W = (2 * 1 + 4 * 1) / 4 = 1.5, and the size that counts is 6 - 20 / 6 = 8 / 3.
    known = ClusterVariance.of([0, 2, 3, 5, 3, 5], list("aabbbb"))
    assert (known.within, known.between) == pytest.approx((1.5, (12 - 1.5) / (8 / 3)))
    assert (known.size, known.sizes.tolist()) == (3.0, [2.0, 4.0])
    equal = ClusterVariance.of(np.full(6, 0.1), list("aabbcc"))
    assert (equal.between, equal.within, equal.share_between) == (0.0, 0.0, 0.0)


def test_where_only_equal_signs_reject_the_power_is_that_of_clusters_of_all_sizes():
    plan = ClusterVariance(0.5, 0.5, np.array([1.0, 9.0])).planned_test(1.0, 0.5)
    effects = 1.0 / np.sqrt(0.5 + 0.5 / np.array([1.0, 9.0]))
    above, below = scipy_stats.norm.cdf(effects).mean(), scipy_stats.norm.cdf(-effects).mean()
    assert plan.power(1.0, 6) == pytest.approx(above**6 + below**6)
    assert plan.power(1.0, 5) == 0.0
    # In units of the differences, whatever they are.
    assert plan.power(plan.detectable(6), 6) == pytest.approx(0.8)


@pytest.mark.parametrize(("share", "difference"), [(0.1, 0.3), (0.4, 0.6), (0.8, 0.6)])
def test_at_the_clusters_needed_the_test_shows_the_difference_as_planned(share, difference):
    sizes, rng = np.arange(1.0, 16.0), np.random.default_rng([7, int(100 * share)])
    plan = ClusterVariance(share, 1.0 - share, sizes).planned_test(1.0, share)
    needed, shown = int(plan.needed(difference)), 0
    for _ in range(300):
        n = rng.choice(sizes, needed)
        sums = n * difference + n * rng.normal(0, math.sqrt(share), needed)
        sums += np.sqrt(n * (1.0 - share)) * rng.normal(size=needed)
        shown += sign_flip_pvalue(column_of_sums(sums, n)) <= 0.05
    # Planned for 80 %; the error of the simulation is 2.3 points.
    assert 0.74 <= shown / 300 <= 0.88


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("power", (math.nan, 10), "d_z must be a finite number"),
        ("required_n", (0.5, 80), r"power must lie .*; got 80; did you mean 0\.8"),
        ("required_n", (0.0,), "d_z must not be 0: no number of queries shows such an effect"),
        ("minimum_detectable_difference", (-0.1, 9), "sd_difference must be a finite number"),
        ("non_inferiority_power", (0.0, 10), "margin_z must be a finite number > 0"),
        ("mcnemar_power", (0.7, 0.3001, 50), "together <= 1"),
        ("binary_queries_needed", (0.1, 0.1), "p10 and p01 must differ"),
        ("needed_for_margin", (-0.1,), "margin must be a finite number > 0"),
    ],
)
def test_what_makes_no_sense_is_refused(name, arguments, message):
    call = getattr(planning, name, None) or getattr(PlannedTest(1.0), name)
    with pytest.raises(DataError, match=message):
        call(*arguments)

"""Plans from measured differences: statsmodels 0.15, the exact binomial sum, simulation."""

import math

import numpy as np
import pytest

from rageval_report.stats import PairedScores, paired_test
from rageval_report.stats._entries import smallest_of_signs, smallest_of_signs_midp
from rageval_report.stats.pilot import PilotDifferences
from rageval_report.stats.planning import mcnemar_power
from rageval_report.stats.queries_needed import (
    attainable_level,
    binary_queries_needed,
    queries_needed,
    smallest_number,
)


@pytest.mark.parametrize(("n", "alpha"), [(12, 0.05), (40, 0.05), (40, 0.005), (300, 0.001)])
def test_the_detectable_difference_is_that_of_statsmodels_at_the_attainable_level(n, alpha):
    power = pytest.importorskip("statsmodels.stats.power").TTestPower()
    by_t = 0.25 * power.solve_power(None, n, alpha, 0.8)
    assert PilotDifferences(0.25).detectable(n, alpha=alpha) == pytest.approx(by_t, rel=1e-5)
    signs = PilotDifferences(0.25, smallest=smallest_of_signs)
    level = attainable_level(n, alpha)
    by_t = 0.25 * power.solve_power(None, n, level, 0.8)
    assert signs.detectable(n, alpha=alpha) == pytest.approx(by_t, rel=1e-5)


@pytest.mark.parametrize("smallest", [None, smallest_of_signs, smallest_of_signs_midp])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 24])
def test_the_needed_queries_show_the_difference_and_one_less_does_not(smallest, alpha):
    pilot = PilotDifferences(0.3, smallest=smallest)
    for difference in (0.02, 0.05, 0.2):
        n = int(pilot.queries(difference, alpha=alpha))
        assert pilot.detectable(n, alpha=alpha) <= difference * (1 + 1e-9)
        assert pilot.detectable(n - 1, alpha=alpha) > difference
        assert pilot.power(difference, n, alpha=alpha) >= 0.8


def test_scores_need_as_many_queries_as_a_plan_says():
    pilot = PilotDifferences(0.3, smallest=smallest_of_signs)
    assert pilot.queries(0.1, alpha=0.01) == queries_needed(0.1 / 0.3, alpha=0.01)


@pytest.mark.parametrize("changed", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("difference", [0.02, 0.05, 0.2])
def test_shares_need_nearly_as_many_queries_as_the_exact_sum_says(changed, difference):
    pilot = PilotDifferences(0.5, changed, smallest_of_signs_midp)
    alone = max(changed, difference)
    shares = ((alone - difference) / 2, (alone + difference) / 2)
    n = pilot.queries(difference)
    assert n == pytest.approx(binary_queries_needed(*shares), rel=0.02, abs=1)
    assert 0.79 < mcnemar_power(*shares, int(n)) < 0.84


@pytest.mark.parametrize("n", [20, 100, 2000])
def test_the_detectable_share_has_the_power_of_the_exact_sum(n):
    pilot = PilotDifferences(0.5, 0.2, smallest_of_signs_midp)
    difference = pilot.detectable(n)
    alone = max(0.2, difference)
    power = mcnemar_power((alone - difference) / 2, (alone + difference) / 2, n)
    assert power == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(
    ("changed", "smallest", "fewest"),
    [
        (math.nan, smallest_of_signs, 8),  # 2**-7 is at most 0.01
        (math.nan, smallest_of_signs_midp, 7),
        (1.0, smallest_of_signs_midp, 7),
    ],
)
def test_without_an_attainable_pvalue_no_difference_is_detectable(changed, smallest, fewest):
    pilot = PilotDifferences(0.5, changed, smallest)
    assert pilot.detectable(fewest - 1, alpha=0.01) == math.inf
    assert pilot.detectable(fewest, alpha=0.01) < math.inf


def test_differences_that_do_not_vary_plan_nothing():
    pilot = PilotDifferences.of(PairedScores.of([0.1, 0.2], [0.2, 0.3]), "sign-flip")
    assert not pilot.is_usable
    assert math.isnan(pilot.detectable(2))


def test_the_law_goes_by_the_test_that_is_made():
    right = PairedScores.of([0, 0, 1, 1, 1], [1, 0, 0, 1, 1])
    assert PilotDifferences.of(right, "mcnemar-midp").changed == 0.4
    assert math.isnan(PilotDifferences.of(right, "t").changed)
    assert PilotDifferences.of(right, "t").smallest is None
    assert PilotDifferences.of(right, "sign-flip").smallest is smallest_of_signs


def test_more_than_ten_million_queries_are_not_counted():
    assert math.isnan(PilotDifferences(1.0, smallest=smallest_of_signs).queries(1e-5))


@pytest.mark.parametrize("changed", [0.01, 0.1, 0.35, 0.8, 1.0])
@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.05 / 24])
def test_shares_need_the_number_of_a_search_from_the_fewest_queries_on(changed, alpha):
    pilot = PilotDifferences(1.0, changed, smallest_of_signs_midp)
    for difference in np.geomspace(0.005, 0.9, 25).tolist():
        from_below = smallest_number(lambda n, d=difference: pilot.power(d, n, alpha=alpha), 0.8)
        assert pilot.queries(difference, alpha=alpha) == from_below


@pytest.mark.parametrize("difference", [1e-12, 1e-200])
def test_shares_that_hardly_differ_have_no_number(difference):
    assert math.isnan(PilotDifferences(1.0, 0.3, smallest_of_signs).queries(difference))


def test_shares_differ_by_one_at_most():
    pilot = PilotDifferences(0.5, 0.2, smallest_of_signs_midp)
    assert pilot.queries(1000.0) == pilot.queries(1.0) == 6


def zero_inflated(rng, size):
    return np.where(rng.random(size) < 0.5, 0.0, rng.normal(0, 0.4, size))


def reciprocal_ranks(rng, size):
    return 1 / rng.integers(1, 5, size) - 1 / rng.integers(1, 5, size)


@pytest.mark.parametrize("draw", [zero_inflated, reciprocal_ranks])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 4])
def test_at_the_needed_number_the_test_shows_the_difference_in_four_of_five_cases(draw, alpha):
    rng = np.random.default_rng(5)
    pool = draw(rng, 100_000)
    pilot = PilotDifferences(float(pool.std(ddof=1)), smallest=smallest_of_signs)
    n = int(pilot.queries(0.15, alpha=alpha))
    assert 25 < n < 100
    samples = rng.choice(pool - pool.mean() + 0.15, (400, n))
    rejected = [paired_test(np.zeros(n), sample).pvalue <= alpha for sample in samples]
    # 78 to 84 %, and 1.5 standard errors of 400 data sets; the benchmark draws more.
    assert 0.75 < np.mean(rejected) < 0.87

"""Witnesses: statsmodels 0.14, enumeration of all sign patterns, simulation, arithmetic by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from rageval_report.errors import DataError
from rageval_report.stats import paired_test
from rageval_report.stats.planning import mcnemar_power
from rageval_report.stats.queries_needed import (
    attainable_level,
    binary_queries_needed,
    non_inferiority_power,
    non_inferiority_queries_needed,
    queries_needed,
    sign_flip_power,
    smallest_number,
)


@pytest.mark.parametrize("n", range(2, 13))
@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.01, 0.001])
def test_the_attainable_level_is_the_largest_p_of_all_patterns_that_is_not_above(n, alpha):
    differences = 2.0 ** np.arange(n)  # every sum of signs is another one
    signs = np.array(list(itertools.product([1, -1], repeat=n)))
    sums = np.abs(signs @ differences)
    pvalues = [(sums >= value).mean() for value in sums]
    expected = max((p for p in pvalues if p <= alpha), default=0.0)
    assert attainable_level(n, alpha) == pytest.approx(expected, abs=0)


@pytest.mark.parametrize(("n", "alpha"), [(6, 0.05), (6, 0.02), (6, 0.015), (7, 0.05), (8, 0.01)])
def test_with_midp_the_attainable_level_is_the_share_of_patterns_that_are_rejected(n, alpha):
    differences = 2.0 ** np.arange(n)  # all sums of signs differ
    signs = np.array(list(itertools.product([1.0, -1.0], repeat=n)))
    sums = signs @ differences
    reached = np.abs(sums) >= np.abs(sums)[:, np.newaxis]
    equal = np.abs(sums) == np.abs(sums)[:, np.newaxis]
    pvalues = reached.mean(axis=1) - equal.mean(axis=1) / 2
    assert attainable_level(n, alpha, midp=True) == (pvalues <= alpha).mean()


def test_with_six_queries_the_power_is_that_of_equal_signs():
    d_z = 1.2
    positive = stats.norm.cdf(d_z)
    assert sign_flip_power(d_z, 6) == pytest.approx(positive**6 + (1 - positive) ** 6)


def test_with_many_queries_the_power_is_that_of_statsmodels_for_t():
    power = pytest.importorskip("statsmodels.stats.power").TTestPower()
    for d_z, n in ((0.2, 199), (0.5, 34), (0.1, 787)):
        assert sign_flip_power(d_z, n) == pytest.approx(power.power(d_z, n, 0.05), rel=1e-3)


@pytest.mark.parametrize("d_z", [1.2, 0.9, 0.6, 0.4])
def test_at_the_returned_number_the_simulated_power_is_that_asked_for(d_z):
    n = queries_needed(d_z)
    rng = np.random.default_rng(int(10 * d_z))
    # The test of one draw takes as long as the draw; the bounds are the same for all.
    draws = rng.normal(d_z, 1.0, (min(1500, 36_000 // n), n))
    shown = [paired_test(np.zeros(n), draw).pvalue <= 0.05 for draw in draws]
    # 78 to 84 %, with two standard errors of the simulation.
    assert 0.76 <= np.mean(shown) <= 0.86


def test_never_fewer_than_six():
    assert queries_needed(50.0) == 6
    assert binary_queries_needed(0.0, 1.0) >= 6
    assert non_inferiority_queries_needed(50.0) == 6


def test_a_level_that_few_queries_cannot_attain_needs_more():
    # 2 ** (1 - n) <= 0.0005 from n = 12 on.
    assert queries_needed(50.0, alpha=0.0005) == 12


@pytest.mark.parametrize(("p10", "p01"), [(0.05, 0.15), (0.0, 0.1), (0.2, 0.25), (0.3, 0.05)])
def test_from_the_returned_number_on_mcnemars_power_stays_above(p10, p01):
    n = binary_queries_needed(p10, p01)
    assert all(mcnemar_power(p10, p01, m) >= 0.8 for m in range(n, n + 25))
    assert n == 6 or mcnemar_power(p10, p01, n - 1) < 0.8


@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.005, 0.0005])
@pytest.mark.parametrize("midp", [False, True])
def test_the_guess_where_the_search_begins_does_not_change_the_number(alpha, midp):
    """Witness: the search by doubling and halving from the fewest queries on."""
    for d_z in np.geomspace(0.004, 4.0, 60).tolist():
        from_below = smallest_number(
            lambda n, d_z=d_z: sign_flip_power(d_z, n, alpha=alpha, midp=midp), 0.8
        )
        assert queries_needed(d_z, alpha=alpha, midp=midp) == from_below


@pytest.mark.parametrize("near", [-3, 6, 7, 79, 80, 81, 5_000, 10**12])
@pytest.mark.parametrize("needed", [6, 7, 80, 2_000, 10_000_000])
def test_the_search_ends_at_the_same_number_from_everywhere(near, needed):
    assert smallest_number(lambda n: float(n >= needed), 0.5, near=near) == needed


@pytest.mark.parametrize("near", [6, 1_000, 10**12])
def test_a_search_ends_at_ten_million(near):
    with pytest.raises(DataError, match="more than 10,000,000 queries are needed"):
        smallest_number(lambda n: 0.1, 0.5, near=near)


def test_no_regression_as_statsmodels_counts():
    power = pytest.importorskip("statsmodels.stats.power").TTestPower()
    for margin_z in (0.2, 0.5, 0.8):
        exact = power.solve_power(margin_z, power=0.8, alpha=0.05, alternative="larger")
        assert non_inferiority_queries_needed(margin_z) == math.ceil(exact)
        n = math.ceil(exact)
        expected = power.power(margin_z, n, 0.05, alternative="larger")
        assert non_inferiority_power(margin_z, n) == pytest.approx(expected, rel=1e-6)


def test_more_power_a_stricter_level_and_smaller_effects_need_more():
    assert queries_needed(0.5, 0.9) > queries_needed(0.5) < queries_needed(0.4)
    assert queries_needed(0.5, alpha=0.01) > queries_needed(0.5)
    assert queries_needed(-0.5) == queries_needed(0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: queries_needed(0.0), "d_z"),
        (lambda: queries_needed(1e-9), "more than 10,000,000 queries"),
        (lambda: queries_needed(0.5, 1.5), "power"),
        (lambda: queries_needed(0.5, alpha=0.0), "alpha"),
        (lambda: binary_queries_needed(0.1, 0.1), "p10 and p01 must differ"),
        (lambda: binary_queries_needed(0.8, 0.7), "shares of all queries"),
        (lambda: non_inferiority_queries_needed(0.0), "margin_z"),
        (lambda: attainable_level(1), "n must be"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(DataError, match=message):
        call()

"""Witnesses: statsmodels 0.15, SciPy 1.17, Gail & Simon's and Harter's tables, hand formulas."""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from rageval_report.errors import DataError
from rageval_report.stats.columns import Column
from rageval_report.stats.pooling import (
    gain_of_noise,
    heterogeneity_test,
)

# -- whether groups differ


def group(mean, error, n):
    """Numbers of which half lie above and half below a mean whose standard error is given."""
    half = error * math.sqrt(n - 1)
    return Column.of_counts(np.array([mean - half, mean + half]), [n / 2, n / 2])


@pytest.fixture
def groups():
    rng = np.random.default_rng(1)
    return [rng.normal(*law, n) for *law, n in ((0, 1, 8), (0.9, 2, 12), (1, 1, 30))]


def test_the_statistic_is_cochrans_q_and_its_pvalue_that_of_welch(groups):
    oneway = pytest.importorskip("statsmodels.stats.oneway")
    means = np.array([values.mean() for values in groups])
    weights = np.array([values.size / values.var(ddof=1) for values in groups])
    common = np.average(means, weights=weights)
    found = heterogeneity_test(groups)
    assert found.statistic == pytest.approx((weights * (means - common) ** 2).sum(), rel=1e-12)
    expected = oneway.anova_oneway(groups, use_var="unequal")  # Welch's correction
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize(
    ("n_groups", "critical"), [(2, 2.71), (3, 4.23), (4, 5.43), (5, 6.50), (8, 9.29), (10, 10.99)]
)
def test_the_sign_change_test_has_the_critical_values_of_gail_and_simon(n_groups, critical):
    losses = [group(-math.sqrt(critical / (n_groups - 1)), 1.0, 200_000)] * (n_groups - 1)
    found = heterogeneity_test([group(50.0, 1.0, 200_000), *losses])
    assert found.crossing_statistic == pytest.approx(critical, rel=1e-4)
    assert found.crossing_pvalue == pytest.approx(0.05, abs=3e-4)  # Gail, Simon (1985), table 1


@pytest.mark.parametrize("n_groups", [1_031, 1_076, 5_000])
def test_many_groups_change_their_sign_with_the_pvalue_of_their_binomial_mixture(n_groups):
    losses = [group(-1.0, 1.0, 200_000)] * (n_groups - 1)
    found = heterogeneity_test([group(50.0, 1.0, 200_000), *losses])
    changed = np.arange(1, n_groups)
    weights = scipy.stats.binom.pmf(changed, n_groups - 1, 0.5)
    expected = weights @ scipy.stats.chi2.sf(found.crossing_statistic, changed)
    assert found.crossing_pvalue == pytest.approx(expected, rel=1e-9)
    assert 0.0 < found.crossing_pvalue < 1.0


def test_unscored_queries_and_empty_groups_are_left_out(groups):
    padded = [np.append(values, math.nan) for values in groups]
    found = heterogeneity_test([*padded, [], [math.nan]])
    assert (found.pvalue, found.n_groups) == (heterogeneity_test(groups).pvalue, 3)
    assert found.notes == ("2 groups without a paired difference left out",)


def test_a_group_without_spread_borrows_the_pooled_variance():
    spread = [0.1, 0.5, 0.2, 0.4, 0.3]
    found = heterogeneity_test([spread, [0.0] * 20])
    expected = 0.3**2 / (np.var(spread, ddof=1) * (1 / 5 + 1 / 20))  # by hand
    assert found.statistic == pytest.approx(expected, rel=1e-12)
    assert found.notes == ("1 group without spread took the variance of the others",)
    assert 0.0 < heterogeneity_test([spread, [0.2, 0.4], [0.9]]).pvalue < 1.0


@pytest.mark.parametrize(
    ("means", "pvalue", "crossing"),
    [
        ([0.3, 0.1 + 0.2], 1.0, 1.0),
        ([0.0, 0.5], math.nan, 1.0),
        ([-0.5, 0.0], math.nan, 1.0),
        ([-0.5, 0.5], math.nan, math.nan),
    ],
)
def test_groups_without_any_spread_cross_only_if_their_means_lie_on_both_sides(
    means, pvalue, crossing
):
    found = heterogeneity_test([np.full(3, mean) for mean in means])
    assert [found.pvalue, found.crossing_pvalue] == pytest.approx([pvalue, crossing], nan_ok=True)


def test_gains_and_losses_that_cancel_are_no_loss():
    balanced = np.array([0.1, 0.2, -0.3, 0.7, -0.7]) * 1e-3
    found = heterogeneity_test([balanced, [0.1, 0.3, 0.2], [0.5, 0.4]])
    assert (found.crossing_statistic, found.crossing_pvalue) == (0.0, 1.0)


@pytest.mark.parametrize("given", [[], [[0.1, 0.2]], [[0.1, 0.2], [math.nan]]])
def test_fewer_than_two_groups_are_an_error(given):
    with pytest.raises(DataError, match="expected at least two groups with paired differences"):
        heterogeneity_test(given)


# -- the best of several

# Harter (1961), Biometrika 48:151-165, table 1: the largest of k normal values.
HARTER = {2: 0.56419, 3: 0.84628, 4: 1.02938, 5: 1.16296, 10: 1.53875, 20: 1.86748, 100: 2.50759}


@pytest.mark.parametrize("k", HARTER)
def test_the_expected_maximum_is_that_of_the_published_table(k):
    assert round(gain_of_noise(1.0, k), 5) == HARTER[k]
    assert gain_of_noise(0.02, k) == pytest.approx(0.02 * HARTER[k], abs=1e-7)


def test_one_variant_gains_nothing_and_none_is_no_choice():
    assert gain_of_noise(0.02, 1) == 0.0
    with pytest.raises(DataError, match="k must be an integer >= 1; got 0"):
        gain_of_noise(1.0, 0)

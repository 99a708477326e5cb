import math

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.oneway import anova_oneway

from rageval_report.errors import DataError
from rageval_report.stats import heterogeneity_test


def group(mean, error, n):
    """An array with exactly this mean and standard error of the mean."""
    half = error * math.sqrt(n - 1)
    return mean + np.tile([-half, half], n // 2)


@pytest.fixture
def groups():
    rng = np.random.default_rng(1)
    return [
        rng.normal(shift, spread, n) for shift, spread, n in ((0, 1, 8), (0.9, 2, 12), (1, 1, 30))
    ]


# Do the groups differ?


def test_the_statistic_is_cochrans_q(groups):
    means = np.array([values.mean() for values in groups])
    weights = np.array([values.size / values.var(ddof=1) for values in groups])
    common = np.average(means, weights=weights)
    expected = (weights * (means - common) ** 2).sum()
    assert heterogeneity_test(groups).statistic == pytest.approx(expected, rel=1e-12)


def test_the_pvalue_is_that_of_welch(groups):
    expected = anova_oneway(groups, use_var="unequal")  # statsmodels 0.15, Welch's correction
    assert heterogeneity_test(groups).pvalue == pytest.approx(expected.pvalue, rel=1e-9)


def test_in_large_groups_the_pvalue_is_that_of_cochrans_chi_square():
    found = heterogeneity_test(
        [group(0.1, 0.05, 20_000), group(0.25, 0.07, 20_000), group(0, 0.1, 20_000)]
    )
    expected = scipy_stats.chi2.sf(found.statistic, 2)  # scipy 1.17.1
    assert found.pvalue == pytest.approx(expected, rel=1e-3)


def test_small_groups_of_one_population_are_seldom_called_different():
    rng = np.random.default_rng(2)
    called = [heterogeneity_test(list(rng.normal(size=(4, 5)))).pvalue <= 0.05 for _ in range(1500)]
    assert np.mean(called) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 1500)


# Does the sign change?


@pytest.mark.parametrize(
    ("n_groups", "critical"), [(2, 2.71), (3, 4.23), (4, 5.43), (5, 6.50), (8, 9.29), (10, 10.99)]
)
def test_the_sign_change_test_has_the_critical_values_of_gail_and_simon(n_groups, critical):
    clear_gain = group(50.0, 1.0, 200_000)
    losses = [group(-math.sqrt(critical / (n_groups - 1)), 1.0, 200_000)] * (n_groups - 1)
    found = heterogeneity_test([clear_gain, *losses])
    assert found.crossing_statistic == pytest.approx(critical, rel=1e-4)
    assert found.crossing_pvalue == pytest.approx(0.05, abs=3e-4)  # Gail, Simon (1985), table 1


def test_the_example_of_gail_and_simon_is_reproduced():
    # Differences of disease-free survival in four groups of age and receptor, their section 4
    effects = ((0.163, 0.0788), (-0.114, 0.0689), (-0.047, 0.0614), (-0.151, 0.0547))
    found = heterogeneity_test([group(effect, error, 100_000) for effect, error in effects])
    assert found.crossing_statistic == pytest.approx(4.28, abs=0.005)
    assert found.crossing_pvalue == pytest.approx(0.088, abs=5e-4)


def test_the_sign_change_of_small_groups_allows_for_their_estimated_spread():
    rng = np.random.default_rng(3)
    data = rng.normal(size=(1500, 4, 5))
    data[:, 0] += 50.0  # the worst case of "no change": a clear gain, and nothing elsewhere
    called = [heterogeneity_test(list(sample)).crossing_pvalue <= 0.05 for sample in data]
    assert np.mean(called) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 1500)


def test_groups_that_all_gain_do_not_change_sign():
    found = heterogeneity_test([[0.1, 0.2, 0.3], [0.4, 0.2, 0.9]])
    assert (found.crossing_statistic, found.crossing_pvalue) == (0.0, 1.0)


# What cannot change the answer


def test_the_order_of_groups_and_queries_does_not_matter(groups):
    turned = [values[::-1] for values in reversed(groups)]
    there, back = heterogeneity_test(groups), heterogeneity_test(turned)
    assert there.pvalue == pytest.approx(back.pvalue, rel=1e-9)
    assert there.crossing_pvalue == pytest.approx(back.crossing_pvalue, rel=1e-9)


def test_turning_all_differences_round_changes_nothing(groups):
    there, back = heterogeneity_test(groups), heterogeneity_test([-values for values in groups])
    assert (there.pvalue, there.crossing_pvalue) == pytest.approx(
        (back.pvalue, back.crossing_pvalue)
    )


def test_unscored_queries_and_empty_groups_are_left_out(groups):
    padded = [np.append(values, math.nan) for values in groups]
    found = heterogeneity_test([*padded, [], [math.nan]])
    assert found.pvalue == heterogeneity_test(groups).pvalue
    assert found.n_groups == 3
    assert found.notes == ("2 groups without a paired difference left out",)


# Groups without spread


def test_a_group_of_equal_differences_borrows_the_pooled_variance():
    spread = [0.1, 0.5, 0.2, 0.4, 0.3]
    found = heterogeneity_test([spread, [0.0] * 20])
    expected_q = 0.3**2 / (np.var(spread, ddof=1) * (1 / 5 + 1 / 20))  # by hand
    assert found.statistic == pytest.approx(expected_q, rel=1e-12)
    assert found.notes == ("1 group without spread took the variance of the others",)


def test_a_group_of_one_query_borrows_the_pooled_variance():
    found = heterogeneity_test([[0.1, 0.5, 0.2, 0.4, 0.3], [0.2, 0.4], [0.9]])
    assert 0.0 < found.pvalue < 1.0
    assert found.n_groups == 3


def test_groups_that_are_all_identical_do_not_differ():
    found = heterogeneity_test([[0.0, 0.0], [0.0], [0.1 + 0.2 - 0.3]])
    assert (found.statistic, found.pvalue, found.crossing_pvalue) == (0.0, 1.0, 1.0)


def test_groups_shifted_by_different_constants_cannot_be_weighed():
    found = heterogeneity_test([[0.1, 0.1], [-0.2, -0.2]])
    assert math.isnan(found.pvalue)
    assert math.isnan(found.crossing_pvalue)
    assert "no group has any spread" in found.notes[0]


def test_groups_shifted_the_same_way_by_different_constants_do_not_change_sign():
    assert heterogeneity_test([[0.1, 0.1], [0.2, 0.2]]).crossing_pvalue == 1.0


# Bad input


@pytest.mark.parametrize("given", [[], [[0.1, 0.2]], [[0.1, 0.2], [math.nan]]])
def test_fewer_than_two_groups_are_an_error(given):
    with pytest.raises(DataError, match="expected at least two groups with paired differences"):
        heterogeneity_test(given)


def test_infinite_differences_are_an_error():
    with pytest.raises(DataError, match="finite"):
        heterogeneity_test([[0.1, math.inf], [0.2, 0.3]])


@pytest.mark.parametrize(
    ("means", "crossing"),
    [([0.0, 0.5], 1.0), ([0.0, -0.5], 1.0), ([0.5, 1.0], 1.0), ([-0.5, 0.5], math.nan)],
)
def test_groups_without_any_spread_cross_only_if_their_means_lie_on_both_sides(means, crossing):
    found = heterogeneity_test([np.full(3, mean) for mean in means])
    assert found.crossing_pvalue == pytest.approx(crossing, nan_ok=True)
    assert math.isnan(found.pvalue)

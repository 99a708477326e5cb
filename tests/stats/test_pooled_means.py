"""Witnesses: Efron & Morris (1977), the eight schools, statsmodels 0.15, formulas by hand."""

import math

import numpy as np
import pytest

from rageval_report.errors import DataError
from rageval_report.stats import partial_pooling
from rageval_report.stats.pooled_means import errors_of_common_spread

# Hits in the first 45 at bats of eighteen players in 1970, and their averages in the rest of it.
HITS = np.array([18, 17, 16, 15, 14, 14, 13, 12, 11, 11, 10, 10, 10, 10, 10, 9, 8, 7])
SEASON = np.array(
    [
        *(0.346, 0.298, 0.276, 0.222, 0.273, 0.270, 0.263, 0.210, 0.269),
        *(0.230, 0.264, 0.256, 0.303, 0.264, 0.226, 0.286, 0.316, 0.200),
    ]
)
# Rubin (1981): the gain by coaching in eight schools, and its standard error.
SCHOOLS = np.array([28, 8, -3, 7, -1, 1, 18, 12]), np.array([15, 10, 16, 11, 9, 11, 10, 18])


def averages():
    """The players' averages, and the standard error that all have in common."""
    means = HITS / 45
    overall = means.mean()
    return means, np.full(18, math.sqrt(overall * (1 - overall) / 45))


def drawn(seed, k):
    rng = np.random.default_rng(seed)
    errors = rng.uniform(0.05, 1.0, k)
    return rng.normal(0.0, [0.0, 0.3, 2.0][seed % 3], k) + errors * rng.normal(size=k), errors


def test_baseball_players_are_those_of_efron_and_morris():
    pooled = partial_pooling(*averages())
    # Stein's Paradox in Statistics, Scientific American 236(5): the factor is .212.
    np.testing.assert_allclose(1 - pooled.shrinkage, 0.212, atol=0.0005)
    published = [
        *(0.294, 0.289, 0.285, 0.280, 0.275, 0.275, 0.270, 0.266, 0.261),
        *(0.261, 0.256, 0.256, 0.256, 0.256, 0.256, 0.252, 0.247, 0.242),
    ]
    # The table was rounded from averages of three digits.
    np.testing.assert_allclose(pooled.estimates, published, atol=0.001)
    assert pooled.common_mean == pytest.approx(0.265, abs=0.0005)


def test_pooled_averages_are_nearer_to_those_of_the_season():
    means, errors = averages()
    pooled = partial_pooling(means, errors)
    # Efron & Morris (1975): .077 against .022.
    assert ((means - SEASON) ** 2).sum() == pytest.approx(0.077, abs=0.002)
    assert ((pooled.estimates - SEASON) ** 2).sum() == pytest.approx(0.022, abs=0.001)
    assert ((pooled.low <= SEASON) & (pooled.high >= SEASON)).sum() >= 17


def test_equal_standard_errors_give_james_and_steins_estimator():
    means = np.array([0.2, 0.5, 0.55, 0.7, 0.9])
    squares = ((means - means.mean()) ** 2).sum()
    factor = (5 - 3) * 0.1**2 / squares
    pooled = partial_pooling(means, [0.1] * 5)
    np.testing.assert_allclose(pooled.shrinkage, factor)
    np.testing.assert_allclose(pooled.estimates, means + factor * (means.mean() - means))


def test_the_interval_of_equal_standard_errors_by_hand():
    means = np.array([0.2, 0.5, 0.55, 0.7, 0.9])
    pooled = partial_pooling(means, [0.1] * 5)
    factor, k = pooled.shrinkage[0], 5
    # Morris (1983), formula 1.17.
    squares = 0.01 * (1 - (k - 1) / k * factor)
    squares = squares + 2 / (k - 3) * factor**2 * (means - means.mean()) ** 2
    np.testing.assert_allclose(pooled.standard_errors, np.sqrt(squares))
    np.testing.assert_allclose(pooled.high - pooled.estimates, 1.959964 * np.sqrt(squares), 1e-6)
    np.testing.assert_allclose(pooled.estimates - pooled.low, 1.959964 * np.sqrt(squares), 1e-6)


def test_eight_schools_share_one_mean():
    pooled = partial_pooling(*SCHOOLS)
    # Their spread is less than chance would make it, so the variance between them is estimated as
    # 0, and the common mean is 7.7 (Gelman et al., Bayesian Data Analysis, section 5.5).
    assert pooled.between_deviation == 0.0
    assert pooled.common_mean == pytest.approx(7.7, abs=0.05)
    np.testing.assert_allclose(pooled.shrinkage, 5 / 7)


@pytest.mark.parametrize("seed", range(12))
def test_the_variance_between_groups_is_that_of_statsmodels(seed):
    meta = pytest.importorskip("statsmodels.stats.meta_analysis")
    means, errors = drawn(seed, 5 + seed)
    expected = meta.combine_effects(means, errors**2, method_re="iterated")  # Paule & Mandel
    pooled = partial_pooling(means, errors)
    assert pooled.between_deviation**2 == pytest.approx(expected.tau2, rel=1e-4, abs=1e-9)
    assert pooled.common_mean == pytest.approx(expected.mean_effect_re, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_unequal_standard_errors_by_a_loop_over_morris_formulas(seed):
    means, errors = drawn(seed, 7)
    pooled = partial_pooling(means, errors)
    k, between = 7, pooled.between_deviation**2
    weights = [1 / (error**2 + between) for error in errors]
    common = sum(w * m for w, m in zip(weights, means, strict=True)) / sum(weights)
    typical = sum(w * e**2 for w, e in zip(weights, errors, strict=True)) / sum(weights)
    for i, (mean, error) in enumerate(zip(means, errors, strict=True)):
        factor = (k - 3) / (k - 1) * error**2 / (error**2 + between)
        leverage = k * weights[i] / sum(weights)
        extra = 2 / (k - 3) * factor**2 * (typical + between) / (error**2 + between)
        square = error**2 * (1 - (k - leverage) / k * factor) + extra * (mean - common) ** 2
        assert pooled.estimates[i] == pytest.approx((1 - factor) * mean + factor * common)
        assert pooled.standard_errors[i] == pytest.approx(math.sqrt(square))


@pytest.mark.parametrize("seed", range(9))
def test_a_pooled_mean_lies_between_the_raw_and_the_common_one(seed):
    means, errors = drawn(seed, 4 + seed)
    pooled = partial_pooling(means, errors)
    ends = np.sort([means, np.full_like(means, pooled.common_mean)], axis=0)
    assert (ends[0] - 1e-12 <= pooled.estimates).all()
    assert (pooled.estimates <= ends[1] + 1e-12).all()
    assert ((pooled.shrinkage > 0) & (pooled.shrinkage < 1)).all()


@pytest.mark.parametrize(
    ("scale", "shift"), [(10.0, 3.0), (-1.0, 0.0), (1e-300, 0.0), (1e300, 0.0)]
)
def test_pooling_moves_and_scales_with_the_means(scale, shift):
    means, errors = drawn(1, 6)
    pooled = partial_pooling(means, errors)
    moved = partial_pooling(scale * means + shift, abs(scale) * errors)
    np.testing.assert_allclose(moved.estimates, scale * pooled.estimates + shift, rtol=1e-9)
    np.testing.assert_allclose(moved.standard_errors, abs(scale) * pooled.standard_errors)
    np.testing.assert_allclose(moved.shrinkage, pooled.shrinkage)


def test_the_order_of_the_groups_moves_nothing():
    means, errors = drawn(2, 9)
    order = np.random.default_rng(0).permutation(9)
    whole, shuffled = partial_pooling(means, errors), partial_pooling(means[order], errors[order])
    np.testing.assert_allclose(shuffled.estimates, whole.estimates[order])
    np.testing.assert_allclose(shuffled.low, whole.low[order])


def test_the_smaller_the_group_the_farther_it_moves():
    pooled = partial_pooling([0.6, 0.6, 0.8, 0.8], [0.05, 0.2, 0.05, 0.2])
    assert pooled.shrinkage[1] > pooled.shrinkage[0]
    assert pooled.estimates[1] > pooled.estimates[0]
    assert pooled.estimates[3] < pooled.estimates[2]


def test_standard_errors_that_are_tiny_leave_the_means_alone():
    means = np.array([0.1, 0.2, 0.3, 0.5])
    pooled = partial_pooling(means, [1e-12, 1e-200, 1e-12, 1e-9])
    np.testing.assert_allclose(pooled.estimates, means)
    assert np.isfinite(pooled.standard_errors).all()


def test_a_group_without_a_mean_is_left_out():
    means, errors = drawn(4, 6)
    with_gap = partial_pooling(
        np.insert(means, 2, np.nan), np.insert(errors, 2, np.nan), confidence_level=0.9
    )
    whole = partial_pooling(means, errors, confidence_level=0.9)
    assert np.isnan([with_gap.estimates[2], with_gap.low[2], with_gap.shrinkage[2]]).all()
    np.testing.assert_array_equal(np.delete(with_gap.estimates, 2), whole.estimates)
    np.testing.assert_array_equal(np.delete(with_gap.high, 2), whole.high)


def test_few_degrees_of_freedom_make_the_interval_wider():
    means, errors = drawn(3, 6)
    known, estimated = partial_pooling(means, errors), partial_pooling(means, errors, degrees=5)
    # Student's t with 5 degrees of freedom at 97.5 %, from a table.
    ratio = (estimated.high - estimated.estimates) / (known.high - known.estimates)
    np.testing.assert_allclose(ratio, 2.5706 / 1.95996, rtol=1e-4)


def test_pooling_lowers_the_squared_error_wherever_the_true_means_are():
    rng = np.random.default_rng(11)
    for spread in (0.0, 0.5, 1.0, 3.0):
        truth = spread * np.linspace(-1, 1, 8)
        raw = truth + rng.normal(size=(400, 8))
        pooled = np.array([partial_pooling(row, np.ones(8)).estimates for row in raw])
        gain = ((raw - truth) ** 2).mean() - ((pooled - truth) ** 2).mean()
        assert gain > 0.0
        if spread == 0.0:
            # James & Stein (1961): with true means alike, 3 / 8 of the risk is left by the plain
            # estimator; the positive part, and the cut of the estimated variance at 0, change it.
            assert ((pooled - truth) ** 2).mean() == pytest.approx(3 / 8, abs=0.08)


def test_standard_errors_under_one_spread_are_those_of_the_analysis_of_variance():
    rng = np.random.default_rng(3)
    groups = [rng.normal(size=n) for n in (2, 9, 4, 1)]
    own = np.array([g.std(ddof=1) / math.sqrt(g.size) if g.size > 1 else math.nan for g in groups])
    sizes = np.array([g.size for g in groups], dtype=float)
    errors, degrees = errors_of_common_spread(own, sizes, sizes - 1)
    within = sum(((g - g.mean()) ** 2).sum() for g in groups) / (16 - 4)
    assert degrees == 12
    np.testing.assert_allclose(errors, np.sqrt(within / sizes))


def test_without_any_spread_there_is_no_standard_error():
    errors, degrees = errors_of_common_spread(
        np.array([np.nan, np.nan]), np.array([1.0, 1.0]), np.zeros(2)
    )
    assert np.isnan(errors).all()
    assert degrees == 0.0
    errors, _ = errors_of_common_spread(np.zeros(2), np.full(2, 5.0), np.full(2, 4.0))
    np.testing.assert_array_equal(errors, [0.0, 0.0])


@pytest.mark.parametrize(
    ("means", "errors", "options", "message"),
    [
        ([1, 2, 3], [1, 1, 1], {}, "at least 4 groups; got 3"),
        ([1, 2, 3, math.nan], [1, 1, 1, 1], {}, "at least 4 groups; got 3"),
        ([1, 2, 3, 4], [1, 1, 1], {}, "two lists of equal length"),
        ([[1, 2, 3, 4]], [[1, 1, 1, 1]], {}, "two lists of equal length"),
        ([1, 2, 3, math.inf], [1, 1, 1, 1], {}, "means must be finite"),
        ([1, 2, 3, 4], [1, 1, 1, 0], {}, "standard_errors must be finite numbers above 0; got 0"),
        ([1, 2, 3, 4], [1, 1, 1, math.nan], {}, "standard_errors must be"),
        ([1, 2, 3, 4], [1, 1, 1, 1], {"confidence_level": 95}, "did you mean 0.95"),
        ([1, 2, 3, 4], [1, 1, 1, 1], {"degrees": 0}, "degrees must be a number above 0; got 0"),
    ],
)
def test_bad_input_is_refused(means, errors, options, message):
    with pytest.raises(DataError, match=message):
        partial_pooling(means, errors, **options)

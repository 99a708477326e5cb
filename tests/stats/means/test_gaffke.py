"""Second witnesses: Clopper-Pearson by scipy 1.17.1, exact fractions, closed forms, simulation."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rageval_report.errors import DataError
from rageval_report.stats import INTERVALS, mean_interval
from rageval_report.stats.means.gaffke import MOST_SINGLE_SCORES, gaffke
from rageval_report.stats.means.moments import moments


def limits(scores, *, bounds=(0, 1), level=0.95):
    interval = mean_interval(scores, method="gaffke", bounds=bounds, confidence_level=level)
    return interval.low, interval.high


def clopper_pearson(ones, n, level):
    """The lower limit, and the distance of the upper one from 1: quantiles of beta distributions.

    `scipy.stats.binomtest` searches for the same limits, but only to an absolute 1e-12.
    """
    tail = (1 - level) / 2
    zeros = n - ones
    low = scipy.stats.beta.ppf(tail, ones, zeros + 1) if ones else 0.0
    from_high = scipy.stats.beta.ppf(tail, zeros, ones + 1) if zeros else 0.0
    return low, from_high


def share_below(scores, m):
    """P(sum of D y <= m), y the scores and a 0, D uniform on the simplex: an exact fraction.

    The density of a sum with such weights is a B-spline with the knots y, whose integral is a sum
    of truncated powers (Curry and Schoenberg 1966). The scores must differ.
    """
    knots = [Fraction(0), *(Fraction(float(score)) for score in scores)]
    m = Fraction(float(m))
    beyond = Fraction(0)
    for knot in knots:
        if knot > m:
            others = math.prod(knot - other for other in knots if other != knot)
            beyond += (knot - m) ** (len(knots) - 1) / others
    return 1 - beyond


def scores_between_bounds(*, least=1, most=30):
    sizes = st.integers(least, most)
    elements = st.floats(0, 1, width=16)
    return sizes.flatmap(lambda n: arrays(np.float64, n, elements=elements))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99, 0.999999])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 57, 1000])
def test_zeros_and_ones_have_the_limits_of_clopper_and_pearson(n, level):
    for ones in {0, 1, n // 3, n // 2, n - 1, n}:
        scores = np.repeat([1.0, 0.0], [ones, n - ones])
        low, high = limits(scores, level=level)
        expected = clopper_pearson(ones, n, level)
        assert (low, 1 - high) == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("ones", [1, 2, 500, 999_999, 1_000_000])
def test_a_million_zeros_and_ones_have_the_limits_of_clopper_and_pearson(ones):
    scores = np.repeat([1.0, 0.0], [ones, 1_000_000 - ones])
    low, high = limits(scores)
    expected = clopper_pearson(ones, 1_000_000, 0.95)
    assert (low, 1 - high) == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("n", [1, 2, 7, 400, 401, 5000])
@pytest.mark.parametrize("score", [0.003, 0.7, 1.0])
def test_equal_scores_have_limits_in_closed_form(n, score):
    # The weight of the added bound is the smallest of n uniform numbers: 1 - (tail)^(1/n).
    low, high = limits(np.full(n, score))
    root = 0.025 ** (1 / n)
    assert low == pytest.approx(score * root, rel=1e-9)
    assert high == pytest.approx(1 - (1 - score) * root, rel=1e-9)


def test_one_score_has_limits():
    low, high = limits([0.5])
    assert (low, high) == pytest.approx((0.0125, 0.9875), rel=1e-12)
    assert math.isnan(mean_interval([0.5], bounds=(0, 1)).standard_error)


@pytest.mark.parametrize("level", [0.2, 0.95, 0.999999])
@pytest.mark.parametrize("n", [2, 3, 8, 20, 50])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.random(n),
        lambda rng, n: rng.beta(8, 2, n),
        lambda rng, n: rng.beta(0.05, 1, n),
        lambda rng, n: 10 ** rng.uniform(-12, 0, n),
        lambda rng, n: np.append(1e-6 * rng.random(n - 1), 1.0),
        lambda rng, n: 0.5 + 1e-9 * rng.random(n),
    ],
    ids=["uniform", "beta", "near zero", "all magnitudes", "one outlier", "nearly equal"],
)
def test_the_lower_limit_is_the_exact_quantile(draw, n, level):
    scores = np.unique(draw(np.random.default_rng(n), n))
    tail = (1 - level) / 2
    low, _ = limits(scores, level=level)
    assert float(share_below(scores, low)) == pytest.approx(tail, rel=1e-9)


@pytest.mark.parametrize("level", [0.2, 0.95, 0.9999])
@pytest.mark.parametrize("n", [3, 8, 18, 40])
def test_the_lower_limit_of_tied_scores_is_the_exact_quantile(n, level):
    # The exact formula needs different scores; to move them by 1e-10 moves a quantile as little.
    rng = np.random.default_rng(n)
    for steps in (2, 5, 10):
        scores = rng.integers(1, steps + 1, n) / steps
        low, _ = limits(scores, level=level)
        apart = scores + 1e-10 * np.arange(n)
        below, above = (float(share_below(apart, low * factor)) for factor in (1 - 1e-7, 1 + 1e-7))
        assert below <= (1 - level) / 2 <= above


def test_the_limits_are_those_of_random_weights():
    scores = np.array([0.2, 0.9, 1.0, 0.7, 0.7, 0.95])
    rng = np.random.default_rng(0)
    draws = 2_000_000
    weights = rng.standard_exponential((draws, 7))
    weights /= weights.sum(axis=1, keepdims=True)
    low, high = limits(scores)
    below = np.mean(weights @ np.append(scores, 0.0) <= low)
    above = np.mean(weights @ np.append(scores, 1.0) >= high)
    noise = math.sqrt(0.025 * 0.975 / draws)
    assert below == pytest.approx(0.025, abs=4 * noise)
    assert above == pytest.approx(0.025, abs=4 * noise)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.random(n),
        lambda rng, n: rng.beta(8, 2, n),
        lambda rng, n: rng.beta(0.05, 1, n),
        lambda rng, n: np.where(rng.random(n) < 0.99, 0.0, rng.random(n)),
        lambda rng, n: np.where(rng.random(n) < 0.025, 0.0, 1 - 0.01 * rng.random(n)),
        lambda rng, n: rng.integers(1, 6, n) / 5,
    ],
    ids=["uniform", "beta", "near zero", "rare", "rare zeros", "ratings"],
)
def test_bins_change_no_limit(draw, monkeypatch):
    scores = draw(np.random.default_rng(0), 3 * MOST_SINGLE_SCORES)
    binned = limits(scores)
    monkeypatch.setattr("rageval_report.stats.means.gaffke.MOST_SINGLE_SCORES", scores.size)
    assert binned == pytest.approx(limits(scores), abs=1e-8)


@settings(max_examples=100)
@given(scores_between_bounds(), st.data())
def test_no_limit_falls_where_a_score_rises(scores, data):
    place = data.draw(st.integers(0, scores.size - 1))
    higher = scores.copy()
    higher[place] = data.draw(st.floats(float(scores[place]), 1.0))
    low, high = limits(scores)
    higher_low, higher_high = limits(higher)
    assert higher_low >= low - 1e-10
    assert higher_high >= high - 1e-10


@settings(max_examples=60)
@given(scores_between_bounds(), st.floats(0.01, 0.98), st.floats(0.001, 0.0199))
def test_a_higher_level_contains_the_interval_of_a_lower_one(scores, level, more):
    low, high = limits(scores, level=level)
    wide_low, wide_high = limits(scores, level=level + more)
    assert wide_low <= low + 1e-10
    assert wide_high >= high - 1e-10


@settings(max_examples=60)
@given(scores_between_bounds(), st.floats(0.01, 0.9999))
def test_the_limits_lie_within_the_bounds_and_contain_the_mean(scores, level):
    interval = mean_interval(scores, method="gaffke", bounds=(0, 1), confidence_level=level)
    assert 0.0 <= interval.low <= interval.estimate <= interval.high <= 1.0
    assert interval.low < interval.high


@settings(max_examples=40)
@given(scores_between_bounds(), st.randoms(use_true_random=False))
def test_the_order_of_the_scores_does_not_matter(scores, random):
    shuffled = np.array(random.sample(scores.tolist(), scores.size))
    assert limits(shuffled) == pytest.approx(limits(scores), rel=1e-12)


@settings(max_examples=40)
@given(scores_between_bounds(), st.floats(-100, 100), st.floats(1e-3, 1e3))
def test_the_limits_move_and_stretch_with_the_bounds(scores, shift, scale):
    low, high = limits(scores)
    bounds = (shift, shift + scale)
    moved = limits(np.clip(shift + scale * scores, *bounds), bounds=bounds)
    expected = (shift + scale * low, shift + scale * high)
    assert moved == pytest.approx(expected, abs=1e-9 * scale + 1e-12 * abs(shift))


def test_one_more_zero_lowers_both_limits():
    scores = np.full(20, 0.9)
    low, high = limits(scores)
    lower, less_high = limits(np.append(scores[:-1], 0.0))
    assert lower < low
    assert less_high < high


@pytest.mark.parametrize("scale", [1e-300, 1e150])
def test_the_limits_of_tiny_and_huge_scores_are_finite(scale):
    low, high = limits(scale * np.array([0.2, 0.7, 0.9]), bounds=(0, scale))
    assert (low / scale, high / scale) == pytest.approx(limits([0.2, 0.7, 0.9]), rel=1e-9)


def test_equal_scores_at_a_bound_have_a_width():
    interval = mean_interval(np.full(10, 5.0), method="gaffke", bounds=(1, 5))
    assert (interval.low, interval.high) == pytest.approx((1 + 4 * 0.025**0.1, 5.0))


def test_several_columns_at_once_have_their_own_limits():
    columns = [np.array([0.2, 0.9]), np.zeros(5), np.array([1.0, 4.0, 5.0])]
    bounds = [(0, 1), (0, 1), (1, 5)]
    together = gaffke(columns, [moments(column) for column in columns], bounds, 0.9)
    for interval, column, ends in zip(together, columns, bounds, strict=True):
        expected = limits(column, bounds=ends, level=0.9)
        assert (interval.low, interval.high) == pytest.approx(expected, rel=1e-12)
        assert interval.confidence_level == 0.9


def test_no_bounds_are_refused():
    with pytest.raises(DataError, match="'gaffke' needs the smallest and largest possible score"):
        gaffke([np.array([0.5])], [moments(np.array([0.5]))], [None], 0.95)


def test_the_member_of_the_table_can_be_called():
    interval = INTERVALS["gaffke"](
        np.array([0.5]), confidence_level=0.95, bounds=(0, 1), n_resamples=1, seed=0
    )
    assert (interval.low, interval.method) == (pytest.approx(0.0125), "gaffke")


def test_the_coverage_of_judge_scores_with_a_few_zeros_is_kept():
    # 2.5 % of the scores are 0, the others close to 1: the t interval covers some 70 %.
    rng = np.random.default_rng(0)
    truth, hits, n_sets = 0.975 * 0.95, 0, 400
    for _ in range(n_sets):
        scores = np.where(rng.random(50) < 0.025, 0.0, rng.uniform(0.9, 1.0, 50))
        low, high = limits(scores)
        hits += low <= truth <= high
    assert hits / n_sets >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / n_sets)

"""Witnesses: Shrout & Fleiss (1979), pingouin 0.7, statsmodels 0.15, SciPy 1.17, arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rageval_report.errors import DataError
from rageval_report.stats.variance_components import variance_components

# Table 2 of Shrout & Fleiss: six targets, four judges; table 3 has the mean squares.
RATINGS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)


def test_the_published_intraclass_correlation_is_found():
    assert variance_components(RATINGS).icc.estimate == pytest.approx(0.17, abs=0.005)


def test_the_published_mean_squares_are_found():
    found = variance_components(RATINGS)
    assert found.within == pytest.approx(6.26, abs=0.005)
    assert found.between * 4 + found.within == pytest.approx(11.24, abs=0.005)


def test_correlation_and_interval_are_those_of_pingouin():
    icc = variance_components(RATINGS).icc  # pingouin 0.7.0, intraclass_corr, type ICC(1,1)
    assert icc.estimate == pytest.approx(0.1657417684054755, rel=1e-12)
    assert (icc.low, icc.high) == pytest.approx((-0.13, 0.72), abs=0.005)


def test_the_interval_follows_from_quantiles_of_scipys_f_distribution():
    icc = variance_components(RATINGS, confidence_level=0.9).icc
    ratio = 11.241666666666667 / 6.263888888888889
    low = ratio / scipy_stats.f(5, 18).ppf(0.95)
    high = ratio * scipy_stats.f(18, 5).ppf(0.95)
    expected = ((low - 1) / (low + 3), (high - 1) / (high + 3))
    assert (icc.low, icc.high) == pytest.approx(expected, rel=1e-9)


def test_the_interval_of_the_noise_follows_from_quantiles_of_scipys_chi_square():
    one = variance_components(RATINGS).sd_within
    square = 18 * one.estimate**2
    expected = [math.sqrt(square / scipy_stats.chi2(18).ppf(q)) for q in (0.975, 0.025)]
    assert [one.low, one.high] == pytest.approx(expected, rel=1e-9)


def test_runs_that_are_shifted_have_the_p_value_of_statsmodels_two_way_analysis():
    api = pytest.importorskip("statsmodels.formula.api")
    anova = pytest.importorskip("statsmodels.stats.anova")
    rows = pd.DataFrame(
        [(i, j, RATINGS[i, j]) for i in range(6) for j in range(4)], columns=["q", "run", "y"]
    )
    table = anova.anova_lm(api.ols("y ~ C(q) + C(run)", rows).fit())
    found = variance_components(RATINGS).run_effect_pvalue
    assert found == pytest.approx(table.loc["C(run)", "PR(>F)"], rel=1e-9)


def test_two_queries_of_two_runs_by_hand():
    found = variance_components([[1.0, 3.0], [5.0, 7.0]])
    assert found.within == 2.0  # each row has variance 2
    assert found.between == 8.0 - 1.0  # means 2 and 6 have variance 8; less 2 / 2
    assert found.icc.estimate == pytest.approx((16 - 2) / (16 + 2))
    assert found.share_between == pytest.approx(7 / 9)


def test_the_standard_error_is_that_of_the_mean_of_the_queries_means():
    found = variance_components(RATINGS)
    assert found.standard_error(4) == pytest.approx(scipy_stats.sem(RATINGS.mean(axis=1)))


def test_more_repeats_cut_only_the_part_within():
    found = variance_components([[1.0, 3.0], [5.0, 7.0]])
    assert found.standard_error(10**9) == pytest.approx(math.sqrt(7 / 2))
    assert found.standard_error(1, n=8) == pytest.approx(math.sqrt(9 / 8))


def test_equal_runs_have_no_noise_and_a_correlation_of_one():
    found = variance_components([[0.1, 0.1], [0.7, 0.7]])
    assert found.within == 0.0
    assert (found.icc.estimate, found.icc.low, found.icc.high) == (1.0, 1.0, 1.0)
    assert math.isnan(found.run_effect_pvalue)


def test_rounding_is_no_noise():
    assert variance_components([[0.3, 0.1 + 0.2], [0.7, 0.7]]).within == 0.0


def test_a_constant_shift_of_a_run_is_certain():
    assert variance_components([[0.0, 1.0], [2.0, 3.0]]).run_effect_pvalue == 0.0


def test_scores_that_never_vary_have_no_correlation():
    found = variance_components(np.ones((4, 3)))
    assert math.isnan(found.icc.estimate)
    assert math.isnan(found.share_between)


def test_queries_that_differ_less_than_their_noise_have_no_variance_between():
    found = variance_components([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert found.between == 0.0
    assert found.icc.estimate == pytest.approx(-1.0)  # (0 - 1/2) / (0 + 1/2)


def test_one_query_tells_its_noise_and_nothing_of_queries():
    found = variance_components([[1.0, 3.0, 5.0]])
    assert found.within == 4.0
    assert math.isnan(found.between)
    assert math.isnan(found.icc.estimate)


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ([[1.0], [2.0]], r"at least two runs; got shape \(2, 1\)"),
        ([1.0, 2.0], "one row per query and one column per run"),
        (np.empty((0, 3)), "at least two runs"),
        ([[1.0, float("nan")]], "scored in every run"),
        ([[1.0, float("inf")]], "scored in every run"),
    ],
)
def test_other_shapes_are_refused(scores, told):
    with pytest.raises(DataError, match=told):
        variance_components(scores)


def test_a_level_in_percent_is_refused():
    with pytest.raises(DataError, match=r"did you mean 0\.95"):
        variance_components(RATINGS, confidence_level=95)


TABLES = st.integers(2, 6).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(-20, 20).map(float), min_size=k, max_size=k), min_size=2, max_size=8
    )
)


@given(TABLES, st.floats(0.5, 4), st.integers(-5, 5))
@settings(max_examples=60)
def test_the_correlation_does_not_change_with_the_unit(table, factor, shift):
    scores = np.array(table)
    one, other = variance_components(scores), variance_components(factor * scores + shift)
    assert other.icc.estimate == pytest.approx(one.icc.estimate, abs=1e-8, nan_ok=True)
    assert other.within == pytest.approx(factor**2 * one.within, rel=1e-8, abs=1e-12)


@given(TABLES, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_order_of_queries_and_runs_plays_no_part(table, random):
    scores = np.array(table)
    rows, columns = list(range(scores.shape[0])), list(range(scores.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    one, other = variance_components(scores), variance_components(scores[rows][:, columns])
    assert other.icc.estimate == pytest.approx(one.icc.estimate, abs=1e-9, nan_ok=True)
    assert other.run_effect_pvalue == pytest.approx(one.run_effect_pvalue, abs=1e-9, nan_ok=True)


@given(TABLES)
@settings(max_examples=40)
def test_an_interval_surrounds_its_estimate(table):
    found = variance_components(table)
    assert found.sd_within.low <= found.sd_within.estimate <= found.sd_within.high
    if not math.isnan(found.icc.estimate):
        assert found.icc.low <= found.icc.estimate <= found.icc.high


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e8])
def test_rounding_is_no_noise_on_any_scale(scale):
    table = scale * np.array([[0.3, 0.1 + 0.2], [0.7, 0.7]])
    assert variance_components(table).within == 0.0
    # A millionth of the scale is noise: (1e-6)**2 / 2 in one of two queries.
    table[1, 1] += 1e-6 * scale
    assert variance_components(table).within == pytest.approx(scale**2 * 1e-12 / 4, rel=1e-6, abs=0)


def test_one_run_is_the_default_of_the_standard_error():
    found = variance_components([[0.1, 0.4, 0.2], [0.9, 0.6, 0.7], [0.3, 0.5, 0.9]])
    # By hand: a mean of 3 queries that were asked once has the variance (between + within) / 3.
    by_hand = math.sqrt((found.between + found.within) / 3)
    assert found.standard_error() == pytest.approx(by_hand, rel=1e-12)

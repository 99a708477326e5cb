"""Pairs, their tests and intervals. Witnesses: all sign patterns, SciPy 1.17.1, arithmetic."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.columns import Column
from rageval_report.stats.pairs import (
    PAIRED_INTERVALS,
    TESTS,
    Pairs,
    paired_interval,
    paired_test,
)

RIGHT_OR_WRONG = ([0, 0, 0, 1, 0, 0, 1], [1, 1, 1, 0, 1, 1, 1])
ANY_SCORES = (
    [0.3141, 0.2718, 0.5772, 0.1618, 0.1414, 0.7321, 0.2236, 0.6931],
    [0.4142, 0.3819, 0.5661, 0.3345, 0.2091, 0.9003, 0.4671, 0.8127],
)
RATINGS = ([1, 3, 2, 5, 4, 2, 3, 3], [2, 3, 4, 5, 4, 3, 5, 2])
SAMPLES = [RIGHT_OR_WRONG, ANY_SCORES, RATINGS]
OF_SHARES = {"mcnemar", "mcnemar-midp", "bonett-price", "newcombe", "tango"}
SIDES = {"two-sided": np.abs, "greater": lambda x: x, "less": lambda x: -x}


def flip_pvalues(differences, alternative):
    """The exact and the mid p-value of the mean difference, by all sign patterns."""
    signs = np.array(list(itertools.product([-1, 1], repeat=len(differences))))
    sums, observed = (SIDES[alternative](x) for x in (signs @ differences, np.sum(differences)))
    ties = np.abs(sums - observed) < 1e-9
    beyond = (sums > observed) & ~ties
    return (beyond | ties).mean(), beyond.mean() + ties.mean() / 2


# -- the pairs


def test_pairs_are_three_columns_of_the_queries_that_both_scored():
    pairs = Pairs.of([0.25, math.nan, 1.0, 0.5], [0.5, 1.0, 0.5, 0.5])
    assert pairs.baseline.listed().tolist() == [0.25, 0.5, 1.0]
    assert pairs.differences.listed().tolist() == [-0.5, 0.0, 0.25]
    assert (pairs.n, pairs.wins, pairs.ties, pairs.losses, pairs.n_changed) == (3, 1, 1, 1, 2)
    assert pairs.side_means == pytest.approx((1.75 / 3, 0.5))
    assert pairs.mean == pytest.approx(-0.25 / 3)


def test_clusters_are_summed_and_queries_stay_countable():
    pairs = Pairs.of([0, 0, 0, 0], [1, 1, 0, 1], ["a", "a", "a", "b"])
    assert (pairs.n, pairs.differences.n, pairs.by_query.wins) == (2, 4, 3)
    assert (pairs.units.values.tolist(), pairs.sizes.tolist()) == ([0.5, 1.0], [0.5, 1.5])
    assert pairs.mean == pairs.by_query.mean == 0.75
    assert not pairs.is_binary
    assert pairs.by_query.is_binary


@pytest.mark.parametrize("clusters", [None, ["a", "a", "b", "b", "b", "c", "d", "e"]])
def test_exchanging_the_sides_exchanges_everything(clusters):
    pairs = Pairs.of(*ANY_SCORES, clusters)
    swapped, back = pairs.swapped(), Pairs.of(*ANY_SCORES[::-1], clusters)
    assert (swapped.wins, swapped.losses, swapped.mean) == (back.wins, back.losses, back.mean)
    assert np.allclose(swapped.units.values, back.units.values, rtol=1e-12)
    assert np.allclose(swapped.sizes, back.sizes)


def test_counts_may_stand_beside_differences_on_a_grid():
    side = Column.of_counts(np.array([0.1, 0.6]), [70, 30])
    grid = Column(np.array([-0.3, 0.001, 0.2]), np.array([20.0, 60, 20]), 0.0, 0.2, is_exact=False)
    pairs = Pairs(side, side, grid, outcomes=(20, 60, 20))
    assert (pairs.wins, pairs.ties, pairs.swapped().losses) == (20, 60, 20)
    assert (paired_test(pairs).test, paired_test(pairs).ties) == ("sign-flip", 60)
    with pytest.raises(DataError, match="needs every score in memory"):
        paired_test(pairs, test="wilcoxon")


# -- tests


@pytest.mark.parametrize(
    ("scores", "name", "half"),
    [
        (RIGHT_OR_WRONG, "mcnemar-midp", 1),
        (ANY_SCORES, "sign-flip", 0),
        (RATINGS, "sign-flip-midp", 1),
    ],
)
@pytest.mark.parametrize("alternative", SIDES)
def test_the_default_test_counts_all_patterns_of_signs(scores, name, half, alternative):
    result = paired_test(*scores, alternative=alternative)
    expected = flip_pvalues(np.subtract(scores[1], scores[0]), alternative)[half]
    assert (result.test, result.pvalue) == (name, pytest.approx(expected, rel=1e-9))


@pytest.mark.parametrize("alternative", SIDES)
def test_t_and_wilcoxon_are_those_of_scipy(alternative):
    for scores in (ANY_SCORES, RATINGS):
        options = {"alternative": alternative}
        t = scipy_stats.ttest_rel(scores[1], scores[0], **options)
        found = paired_test(*scores, test="t", **options)
        assert (found.statistic, found.pvalue) == pytest.approx((t.statistic, t.pvalue), rel=1e-12)
        moved = np.round(np.subtract(scores[1], scores[0]), 10)
        for test, zeros in (("wilcoxon", "wilcox"), ("wilcoxon-pratt", "pratt")):
            expected = scipy_stats.wilcoxon(moved, zero_method=zeros, **options)
            found = paired_test(*scores, test=test, **options)
            assert (found.statistic, found.pvalue) == pytest.approx(tuple(expected))


@pytest.mark.parametrize("alternative", SIDES)
def test_the_sign_test_is_binomial(alternative):
    expected = scipy_stats.binomtest(4, 5, alternative=alternative).pvalue
    found = paired_test(*RATINGS, test="sign", alternative=alternative)
    assert (found.statistic, found.pvalue) == (4.0, pytest.approx(expected))


@pytest.mark.parametrize("alternative", SIDES)
@pytest.mark.parametrize("scores", [ANY_SCORES, RATINGS])
def test_the_monte_carlo_test_comes_close_to_all_patterns(scores, alternative):
    found = paired_test(*scores, test="sign-flip-mc", alternative=alternative, n_resamples=20_000)
    expected = flip_pvalues(np.subtract(scores[1], scores[0]), alternative)[0]
    assert found.pvalue == pytest.approx(expected, abs=4 * math.sqrt(expected / 20_000))


def test_the_bootstrap_test_comes_close_to_t_for_many_queries():
    rng = np.random.default_rng(3)
    before, after = rng.random((2, 400))
    for alternative in SIDES:
        t = paired_test(before, after, test="t", alternative=alternative).pvalue
        drawn = paired_test(before, after, test="bootstrap", alternative=alternative).pvalue
        assert drawn == pytest.approx(t, abs=0.02)


@pytest.mark.parametrize(
    ("name", "scores"),
    [
        (name, scores)
        for name in TESTS
        for scores in ([RIGHT_OR_WRONG] if "mcnemar" in name else SAMPLES)
    ],
)
def test_exchanging_the_sides_turns_the_difference_and_the_alternative(name, scores):
    options = {"test": name, "n_resamples": 499}
    there = paired_test(*scores, alternative="greater", **options)
    back = paired_test(*reversed(scores), alternative="less", **options)
    assert there.pvalue == pytest.approx(back.pvalue, rel=1e-9)
    assert there.difference == pytest.approx(-back.difference)
    assert (there.wins, there.losses) == (back.losses, back.wins)


@pytest.mark.parametrize("test", ["auto", *TESTS])
def test_identical_pipelines_have_p_one_by_every_test(test):
    result = paired_test([0, 1, 1, 0, 1], [0, 1, 1, 0, 1], test=test)
    assert (result.difference, result.statistic, result.pvalue, result.ties) == (0.0, 0.0, 1.0, 5)


@pytest.mark.parametrize("test", ["sign-flip", "t"])
@pytest.mark.parametrize("n", [2, 6, 11])
def test_a_constant_shift_has_the_pvalue_of_n_equal_signs(test, n):
    before = np.linspace(0.1, 0.73, n)
    result = paired_test(before, before + 0.1, test=test)
    assert result.pvalue == pytest.approx(2.0 ** (1 - n), rel=1e-9)


def test_one_query_gives_a_difference_and_no_test():
    result = paired_test([0.25], [0.75])
    assert (result.difference, result.pvalue, result.n, result.wins) == (0.5, 1.0, 1, 1)
    assert math.isnan(result.statistic)
    interval = paired_interval([0.25], [0.75])
    assert math.isnan(interval.low)
    assert interval.notes == ("one query in common: no interval",)


# -- intervals


@pytest.mark.parametrize("scores", SAMPLES)
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_default_interval_excludes_zero_exactly_where_the_default_test_rejects(scores, level):
    for shift in (0, 0.2, 0.6):
        before = scores[0] if scores is RIGHT_OR_WRONG else np.subtract(scores[0], shift)
        found = paired_interval(before, scores[1], confidence_level=level)
        rejected = paired_test(before, scores[1]).pvalue <= 1 - level
        assert (found.low > 0 or found.high < 0) == rejected


def test_the_t_interval_is_that_of_scipy():
    for scores in (ANY_SCORES, RATINGS):
        expected = scipy_stats.ttest_rel(scores[1], scores[0]).confidence_interval(0.9)
        found = paired_interval(*scores, method="t", confidence_level=0.9)
        assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-12)


@pytest.mark.parametrize("method", PAIRED_INTERVALS)
def test_intervals_mirror_when_the_sides_are_exchanged(method):
    scores = RIGHT_OR_WRONG if method in OF_SHARES else ANY_SCORES
    there, back = (paired_interval(*sides, method=method) for sides in (scores, scores[::-1]))
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), rel=1e-6)
    assert (there.method, there.low <= there.estimate <= there.high) == (method, True)


@pytest.mark.parametrize("method", ["t", "sign-flip", "percentile", "bca", "studentised"])
def test_equal_differences_have_an_interval_without_width_and_a_note(method):
    found = paired_interval([0.2] * 8, [0.5] * 8, method=method)
    assert (found.low, found.high) == pytest.approx((0.3, 0.3))
    assert "equal" in found.notes[0]
    same = paired_interval([0.2] * 8, [0.2] * 8, method=method)
    assert same.notes == ("identical on all 8 pairs: without spread the interval has no width",)


# -- clusters


def test_clusters_of_one_size_are_tested_by_their_means():
    rng = np.random.default_rng(2)
    before, after = rng.random((2, 24))
    means = [side.reshape(8, 3).mean(axis=1) for side in (before, after)]
    labels = np.repeat(list("abcdefgh"), 3)
    for test in ("auto", "t", "wilcoxon", "sign"):
        clustered = paired_test(before, after, clusters=labels, test=test)
        assert clustered.pvalue == pytest.approx(paired_test(*means, test=test).pvalue, rel=1e-9)
    for method in ("auto", "t", "percentile"):
        clustered = paired_interval(before, after, clusters=labels, method=method)
        alone = paired_interval(*means, method=method)
        assert (clustered.low, clustered.high) == pytest.approx((alone.low, alone.high), rel=1e-6)


# -- bad and extreme input


@pytest.mark.parametrize("call", [paired_test, paired_interval])
def test_bad_input_names_what_is_wrong(call):
    with pytest.raises(DataError, match="no query has a score on both sides"):
        call([0.1, math.nan], [math.nan, 0.2])
    with pytest.raises(DataError, match=r"equal length.*got shapes \(2,\) and \(3,\)"):
        call([0.1, 0.2], [0.1, 0.2, 0.3])
    with pytest.raises(DataError, match="1 of the candidate are infinite"):
        call([0.1, 0.2], [0.1, math.inf])
    with pytest.raises(DataError, match="n_resamples"):
        call([0.1, 0.2], [0.1, 0.3], n_resamples=0)


def test_misspelt_names_are_answered_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="wilcoxon"):
        paired_test(*RATINGS, test="wilcoxn")
    with pytest.raises(UnknownNameError, match="tango"):
        paired_interval(*RATINGS, method="tangoo")
    with pytest.raises(ValueError, match="alternative must be"):
        paired_test(*RATINGS, alternative="bigger")


@pytest.mark.parametrize("scale", [1e300, 1e-9])
@pytest.mark.parametrize("test", ["auto", "t", "bootstrap"])
def test_scores_of_any_size_have_the_same_pvalue(scale, test):
    scores = [np.array(side) for side in ANY_SCORES]
    plain = paired_test(*scores, test=test)
    found = paired_test(*(side * scale for side in scores), test=test)
    assert found.pvalue == pytest.approx(plain.pvalue, rel=1e-6)
    assert found.difference == pytest.approx(plain.difference * scale, rel=1e-9)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12))
@settings(max_examples=25)
def test_counted_rows_are_rows(scores):
    before, after = np.array(scores, dtype=float).T / 4
    twice = Pairs.of(np.repeat(before, 2), np.repeat(after, 2))
    columns = [
        Column.of_counts(column.values, column.counts * 2)
        for column in map(Column.of, (before, after, after - before))
    ]
    counted = Pairs(*columns)
    for test in ("auto", "t", "sign"):
        there, here = paired_test(counted, test=test), paired_test(twice, test=test)
        assert (there.pvalue, there.wins) == (pytest.approx(here.pvalue, rel=1e-9), here.wins)

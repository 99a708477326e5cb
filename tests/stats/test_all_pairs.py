"""Witnesses: paired tests one by one, SciPy 1.17's enumeration, statsmodels 0.15's Holm."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.multitest import multipletests

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import all_pairs_test, paired_test
from rageval_report.stats.all_pairs import shared_flips
from rageval_report.stats.maxt import westfall_young

# Four standard errors of the difference of two shares of 20,000 resamples each.
MONTE_CARLO = 4 * np.sqrt(2 * 0.25 / 20_000)
RNG = np.random.default_rng(5)
EASE = RNG.normal(size=40)
SHARES = 1 / (1 + np.exp(-EASE[:, np.newaxis] - 0.3 * np.arange(4) - RNG.normal(size=(40, 4))))
KINDS = {
    "continuous": SHARES,
    "binary": (SHARES > 0.5).astype(float),
    "ratings": np.round(1 + 4 * SHARES),
    "fifths": np.round(SHARES * 5) / 5,
    "one of each": np.column_stack([SHARES[:, 0], SHARES[:, 1] > 0.5, np.round(SHARES[:, 2] * 5)]),
    "rounded": np.round(SHARES, 3),
    "two and a constant": np.column_stack([SHARES[:, :2], np.full(40, 0.5)]),
}


@pytest.mark.parametrize("scores", KINDS.values(), ids=KINDS)
def test_each_pair_has_the_result_of_its_own_paired_test(scores):
    pairs = all_pairs_test(scores, correction="none")
    for place, (i, j) in enumerate(combinations(range(scores.shape[1]), 2)):
        alone = paired_test(scores[:, i], scores[:, j])
        assert (pairs.first[place], pairs.second[place]) == (i, j)
        assert pairs.pvalue[place] == pytest.approx(alone.pvalue, rel=1e-9)
        assert pairs.difference[place] == pytest.approx(alone.difference, abs=1e-15)
        told = (pairs.tests[place], pairs.wins[place], pairs.ties[place], pairs.losses[place])
        assert told == (alone.test, alone.wins, alone.ties, alone.losses)


def test_a_pair_is_tested_as_scipy_enumerates_all_signs():
    scores = SHARES[:9, :3]
    pairs = all_pairs_test(scores)
    for place, (i, j) in enumerate(combinations(range(3), 2)):
        told = scipy.stats.permutation_test(
            (scores[:, j] - scores[:, i],), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        assert pairs.pvalue[place] == pytest.approx(told.pvalue, rel=1e-9)


def test_holm_is_that_of_statsmodels():
    pairs = all_pairs_test(SHARES)
    told = multipletests(pairs.pvalue, method="holm")[1]
    np.testing.assert_allclose(pairs.pvalue_adjusted, told, rtol=1e-12)


def test_shared_flips_are_those_of_the_differences_themselves():
    pairs = all_pairs_test(SHARES, correction="westfall-young", n_resamples=20_000, seed=3)
    differences = np.column_stack(
        [SHARES[:, j] - SHARES[:, i] for i, j in combinations(range(4), 2)]
    )
    half = [test.endswith("-midp") for test in pairs.tests]
    told = westfall_young(differences, n_resamples=20_000, seed=4, half_ties=half)
    np.testing.assert_allclose(pairs.pvalue_adjusted, told, atol=MONTE_CARLO)


def test_the_shared_flips_of_two_pipelines_are_those_of_their_difference():
    pairs = all_pairs_test(SHARES[:, :2], correction="westfall-young", n_resamples=999, seed=3)
    difference = SHARES[:, 1] - SHARES[:, 0]
    [told] = westfall_young(difference, n_resamples=999, seed=3)
    assert pairs.pvalue_adjusted[0] == pytest.approx(told, abs=1e-12)


def test_shared_flips_take_all_metrics_for_one_family():
    other = np.round(SHARES[:, :3] * 5)
    other[::7] = np.nan
    both = shared_flips([SHARES, other], n_resamples=20_000, seed=1)
    columns = [
        block[:, j] - block[:, i]
        for block in (SHARES, other)
        for i, j in combinations(range(block.shape[1]), 2)
    ]
    told = westfall_young(np.column_stack(columns), n_resamples=20_000, seed=2)
    np.testing.assert_allclose(np.concatenate(both), told, atol=MONTE_CARLO)


def test_a_query_that_one_pipeline_lacks_is_left_out_for_all_pairs():
    scores = SHARES.copy()
    scores[3, 2] = np.nan
    pairs, without = all_pairs_test(scores), all_pairs_test(np.delete(SHARES, 3, axis=0))
    assert pairs.n == 39
    np.testing.assert_array_equal(pairs.pvalue, without.pvalue)


def test_pipelines_that_are_the_same_have_p_one():
    pairs = all_pairs_test(np.column_stack([EASE, EASE, EASE + 1]))
    assert pairs.pvalue[0] == 1.0
    assert pairs.difference[0] == 0.0


def test_another_test_can_be_asked_for():
    pairs = all_pairs_test(SHARES, test="t")
    told = scipy.stats.ttest_rel(SHARES[:, 1], SHARES[:, 0]).pvalue
    assert pairs.tests[0] == "t"
    assert pairs.pvalue[0] == pytest.approx(told)


def test_one_query_decides_nothing():
    pairs = all_pairs_test([[0.2, 0.5, 0.9]])
    assert pairs.pvalue.tolist() == [1.0, 1.0, 1.0]


def test_values_of_pairs_make_a_symmetric_matrix():
    pairs = all_pairs_test(SHARES)
    square = pairs.matrix(pairs.pvalue, diagonal=1.0)
    np.testing.assert_array_equal(square, square.T)
    assert square[1, 3] == pairs.pvalue[4]


@settings(max_examples=40)
@given(
    scores=arrays(float, (12, 4), elements=st.integers(0, 5).map(float)),
    order=st.permutations(range(4)),
)
def test_the_order_of_the_pipelines_changes_no_pvalue(scores, order):
    pairs, moved = all_pairs_test(scores), all_pairs_test(scores[:, order])
    before = pairs.matrix(pairs.pvalue_adjusted, diagonal=1.0)
    after = moved.matrix(moved.pvalue_adjusted, diagonal=1.0)
    np.testing.assert_allclose(after, before[np.ix_(order, order)], rtol=1e-9)


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ([[1.0], [2.0]], "at least two pipelines"),
        ([1.0, 2.0], "at least two pipelines"),
        ([[1.0, np.nan], [np.nan, 2.0]], "none of the 2 queries has a score of every pipeline"),
        ([[1.0, np.inf]], "1 are infinite"),
    ],
)
def test_scores_that_cannot_be_tested_are_refused(scores, told):
    with pytest.raises(DataError, match=told):
        all_pairs_test(scores)


@pytest.mark.parametrize("option", [{"correction": "hom"}, {"test": "sign-flop"}])
def test_an_unknown_name_is_refused(option):
    with pytest.raises(UnknownNameError, match="Did you mean"):
        all_pairs_test(SHARES, **option)


@pytest.mark.parametrize("offset", [0.0, np.pi, -1000.3])
def test_a_part_that_all_scores_share_hides_no_ties(offset):
    scores = offset + RNG.integers(1, 6, (30, 3)) / 2
    found = all_pairs_test(scores, correction="holm")
    assert set(found.tests) == {"sign-flip-midp"}
    pairs = combinations(range(3), 2)
    expected = [paired_test(scores[:, i], scores[:, j], test="sign-flip-midp") for i, j in pairs]
    assert found.pvalue == pytest.approx([one.pvalue for one in expected], rel=1e-6)


def test_the_spread_of_each_pair_is_that_of_numpy():
    scores = np.column_stack([SHARES, SHARES[:, 0] + 0.5])  # a constant difference too
    found = all_pairs_test(scores)
    pairs = list(combinations(range(5), 2))
    differences = [scores[:, j] - scores[:, i] for i, j in pairs]
    expected = [np.std(values, ddof=1) for values in differences]  # NumPy 2
    assert found.standard_deviation == pytest.approx(expected, rel=1e-9, abs=1e-8)
    assert found.difference == pytest.approx([values.mean() for values in differences])
    assert all_pairs_test(scores[:1]).standard_deviation == pytest.approx(
        [np.nan] * 10, nan_ok=True
    )


def test_differences_whose_sum_is_zero_have_no_direction_and_p_one():
    half = RNG.random(12)
    scores = np.column_stack([np.zeros(24), np.append(half, -half)])
    found = all_pairs_test(scores)
    assert (found.tests, found.pvalue.tolist()) == (("sign-flip",), [1.0])
    assert paired_test(scores[:, 0], scores[:, 1], test="sign-flip").pvalue == 1.0

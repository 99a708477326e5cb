"""Witnesses: paired tests one by one, SciPy 1.17 (friedmanchisquare, rankdata), statsmodels 0.15's
Holm, enumeration of all sign patterns, Demsar's table."""

import itertools
import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.multitest import multipletests

from rageval_report.errors import DataError
from rageval_report.stats.corrections import shared_flips, uses_midp, westfall_young
from rageval_report.stats.many_pairs import (
    all_pairs_test,
    friedman_test,
    pairs_of_columns,
    query_ranks,
    run_all_tests,
)
from rageval_report.stats.pairs import Pairs, paired_test
from rageval_report.stats.sign_flips import sign_flip_pvalue
from rageval_report.stats.units import Units

# Four standard errors of the difference of two shares of 20,000 resamples each.
MONTE_CARLO = 4 * np.sqrt(2 * 0.25 / 20_000)
RNG = np.random.default_rng(5)
EASE = RNG.normal(size=40)
SHARES = 1 / (1 + np.exp(-EASE[:, np.newaxis] - 0.3 * np.arange(4) - RNG.normal(size=(40, 4))))
KINDS = {
    "continuous": SHARES,
    "binary": (SHARES > 0.5).astype(float),
    "ratings": np.round(1 + 4 * SHARES),
    "one of each": np.column_stack([SHARES[:, 0], SHARES[:, 1] > 0.5, np.round(SHARES[:, 2] * 5)]),
    "denormal": 5e-324 * np.round(40 * SHARES),
}
TABLES = arrays(float, st.tuples(st.integers(2, 9), st.integers(3, 6)), elements=st.integers(0, 4))


def pairs_of(scores):
    return [scores[:, j] - scores[:, i] for i, j in combinations(range(scores.shape[1]), 2)]


# -- all pairs


@pytest.mark.parametrize("clusters", [None, np.arange(40) // 3])
@pytest.mark.parametrize("scores", KINDS.values(), ids=KINDS)
def test_each_pair_has_the_result_of_its_own_paired_test(scores, clusters):
    units = {} if clusters is None else {"units": Units.of(clusters)}
    pairs = run_all_tests(pairs_of_columns(scores, **units))
    for place, (i, j) in enumerate(combinations(range(scores.shape[1]), 2)):
        alone = paired_test(scores[:, i], scores[:, j], clusters=clusters)
        by_query = Pairs.of(scores[:, i], scores[:, j])
        assert (pairs.first[place], pairs.second[place]) == (i, j)
        assert (pairs.pvalue[place], pairs.tests[place]) == (alone.pvalue, alone.test)
        assert pairs.difference[place] == pytest.approx(alone.difference, rel=1e-12)
        counts = (pairs.wins[place], pairs.ties[place], pairs.losses[place])
        assert counts == (by_query.wins, by_query.ties, by_query.losses)
    assert (pairs.n, pairs.n_units) == (40, 40 if clusters is None else 14)


def test_pairs_are_corrected_as_statsmodels_does_and_have_the_spread_of_their_differences():
    pairs = all_pairs_test(SHARES)
    assert pairs.pvalue_adjusted == pytest.approx(multipletests(pairs.pvalue, method="holm")[1])
    assert pairs.standard_deviation == pytest.approx(np.std(pairs_of(SHARES), axis=1, ddof=1))


@pytest.mark.parametrize("test", ["auto", "t"])
def test_a_margin_asks_for_a_difference_beyond_it(test):
    margin = 0.05
    pairs = pairs_of_columns(SHARES)
    plain, beyond = run_all_tests(pairs, test=test), run_all_tests(pairs, test=test, margin=margin)
    for place, difference in enumerate(pairs_of(SHARES)):
        gains = difference * np.sign(difference.mean())
        expected = 2 * sign_flip_pvalue(gains - margin, alternative="greater")
        if gains.mean() <= margin:
            assert beyond.pvalue[place] == 1.0
        else:
            assert beyond.pvalue[place] == pytest.approx(max(expected, plain.pvalue[place]))
            assert beyond.tests[place] == "sign-flip"


def test_pipelines_that_are_the_same_and_single_queries_have_p_one():
    same = all_pairs_test(np.column_stack([EASE, EASE, EASE + 1]))
    assert (same.pvalue[0], same.difference[0]) == (1.0, 0.0)
    assert all_pairs_test([[0.2, 0.5, 0.9]]).pvalue.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[1.0], [2.0]], "at least two pipelines"),
        ([1.0, 2.0], "at least two pipelines"),
        ([[1.0, np.nan], [np.nan, 2.0]], "none of the 2 queries has a score of every pipeline"),
        ([[1.0, np.inf]], "1 are infinite"),
    ],
)
def test_scores_that_cannot_be_tested_are_refused(scores, message):
    for function in (all_pairs_test, friedman_test):
        with pytest.raises(DataError, match=message):
            function(scores)


# -- shared flips of signs


def enumerated(differences, half):
    """Step-down maxT over all 2**n patterns, metric by metric."""
    n, k = differences.shape
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    scale = np.sqrt((differences**2).sum(axis=0))
    flipped = np.abs(signs @ differences) / scale
    observed = np.abs(differences.sum(axis=0)) / scale
    pvalues, largest, left = np.empty(k), 0.0, list(range(k))
    for metric in sorted(left, key=lambda j: -observed[j]):
        highest = flipped[:, left].max(axis=1)
        reached = np.mean(highest >= observed[metric] - 1e-9)
        above = np.mean(highest > observed[metric] + 1e-9)
        largest = max(largest, (reached + above) / 2 if half[metric] else reached)
        pvalues[metric] = largest
        left.remove(metric)
    return pvalues


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_adjusted_pvalues_are_those_of_all_patterns(seed):
    rng = np.random.default_rng(seed)
    differences = rng.normal([0.9, 0.5, 0.2, 0.0], 1.0, size=(10, 4))
    differences[:, 2] = np.round(differences[:, 2])  # sums that tie
    for half in ([False] * 4, [False, False, True, False]):
        adjusted = westfall_young(differences, n_resamples=20_000, seed=seed, half_ties=half)
        assert adjusted == pytest.approx(enumerated(differences, half), abs=MONTE_CARLO)


def test_the_flips_of_pipelines_are_those_of_their_differences_in_one_family():
    other = np.round(SHARES[:, :3] * 5)
    other[::7] = np.nan
    columns = [*pairs_of(SHARES), *pairs_of(other)]
    adjusted = shared_flips([SHARES, other], n_resamples=20_000, seed=1)
    expected = westfall_young(np.column_stack(columns), n_resamples=20_000, seed=2)
    np.testing.assert_allclose(np.concatenate(adjusted), expected, atol=MONTE_CARLO)
    pairs = all_pairs_test(SHARES, correction="westfall-young", n_resamples=999)
    half = [uses_midp(test) for test in pairs.tests]
    [alone] = shared_flips([SHARES], half_ties=half, n_resamples=999)
    assert pairs.pvalue_adjusted.tolist() == alone.tolist()


def test_the_flips_of_clusters_are_those_of_their_sums():
    units = Units.of(np.arange(40) // 2)
    [adjusted] = shared_flips([SHARES[:, :2]], units=units, n_resamples=20_000)
    sums = pairs_of(SHARES[:, :2])[0].reshape(20, 2).sum(axis=1)
    assert adjusted == pytest.approx([sign_flip_pvalue(sums)], abs=MONTE_CARLO)


def test_a_repeated_metric_costs_nothing_and_neither_unit_nor_order_nor_side_matters():
    differences = np.random.default_rng(0).normal(0.6, 1, size=(30, 1))
    once = westfall_young(differences)
    for scale in ([1.0, 5.0, -2.0], [1e300, 1e-300, 5e-310]):
        assert westfall_young(differences * scale) == pytest.approx(np.repeat(once, 3))
    assert westfall_young(-differences[::-1]).tolist() == once.tolist()
    shuffled, swapped = SHARES[RNG.permutation(40)], SHARES[:, [1, 0, 2, 3]]
    expected = shared_flips([SHARES], n_resamples=500)[0]
    turned = shared_flips([swapped], n_resamples=500)[0]
    np.testing.assert_array_equal(shared_flips([shuffled], n_resamples=500)[0], expected)
    np.testing.assert_array_equal(turned, expected[[0, 3, 4, 1, 2, 5]])


def test_metrics_without_a_difference_have_p_one_and_those_without_a_pair_are_no_tests():
    better = np.random.default_rng(1).normal(0.7, 1, 20)
    columns = np.column_stack([np.full(20, math.nan), better, np.zeros(20)])
    adjusted = westfall_young(columns)
    assert math.isnan(adjusted[0])
    assert adjusted[1:] == pytest.approx([westfall_young(better)[0], 1.0])
    assert np.isnan(westfall_young([[math.nan, math.nan]])).all()
    with pytest.raises(DataError, match="1 infinite"):
        westfall_young([math.inf, 1.0])


# -- Tukey


def test_tukeys_pvalues_are_those_of_all_exchanges():
    scores = SHARES[:5, :3] + np.array([0.0, 0.0, 0.3])
    pairs = all_pairs_test(scores, correction="tukey", n_resamples=20_000)
    orders = np.array(list(itertools.permutations(range(3))))
    exchanged = np.array([row[orders] for row in scores])  # query, order, pipeline
    sums = [
        sum(exchanged[query, order] for query, order in enumerate(chosen))
        for chosen in itertools.product(range(6), repeat=5)
    ]
    ranges = np.ptp(sums, axis=1)
    expected = [np.mean(ranges >= abs(each.sum()) - 1e-9) for each in pairs_of(scores)]
    assert pairs.pvalue_adjusted == pytest.approx(expected, abs=MONTE_CARLO)


# -- ranks


@settings(max_examples=60)
@given(TABLES)
def test_the_statistic_is_that_of_scipy_with_its_correction_for_ties(scores):
    assume((scores != scores[:, :1]).any())
    result, expected = friedman_test(scores), scipy.stats.friedmanchisquare(*scores.T)
    assert result.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert result.pvalue == pytest.approx(expected.pvalue, abs=1e-9)
    ranks = scipy.stats.rankdata(-scores, axis=1)
    np.testing.assert_array_equal(query_ranks(scores), ranks)
    assert result.average_ranks == pytest.approx(ranks.mean(axis=0))


def test_queries_that_all_agree_have_full_concordance_and_ties_everywhere_none():
    result = friedman_test(np.tile([0.9, 0.5, 0.1], (7, 1)))
    assert (result.concordance, result.statistic) == pytest.approx((1.0, 14.0))  # n (k - 1)
    turned = friedman_test(np.tile([0.9, 0.5, 0.1], (7, 1)), greater_is_better=False)
    assert turned.average_ranks.tolist() == [3.0, 2.0, 1.0]
    tied = friedman_test(np.ones((5, 3)))
    assert (tied.statistic, tied.pvalue, tied.concordance) == (0.0, 1.0, 0.0)
    assert "ties take 100%" in tied.notes[0]
    assert not result.notes


def test_nemenyis_pvalues_are_below_5_percent_beyond_the_critical_difference_of_demsars_table():
    # Demsar (2006), table 5a: q at 0.05 for 2 to 10 classifiers, over the root of 2
    table = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 8: 3.031, 10: 3.164}
    for k, quantile in table.items():
        critical = quantile * math.sqrt(k * (k + 1) / (6 * 14))
        result = replace(friedman_test(RNG.random((14, k))), average_ranks=np.zeros(k))
        result.average_ranks[-1] = critical
        assert result.nemenyi_pvalues()[-1] == pytest.approx(0.05, rel=3e-3)

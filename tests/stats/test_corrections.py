import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.multitest import multipletests

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import CORRECTIONS, adjust_pvalues
from rageval_report.stats.corrections import level_left

STATSMODELS = {
    "bonferroni": "bonferroni",
    "holm": "holm",
    "hochberg": "simes-hochberg",
    "bh": "fdr_bh",
    "by": "fdr_by",
}
PVALUES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


@pytest.mark.parametrize("method", STATSMODELS)
@settings(max_examples=40)
@given(pvalues=PVALUES)
def test_adjusted_pvalues_are_those_of_statsmodels(method, pvalues):
    with patch("gc.collect"):  # its Holm collects garbage, which takes a second among our tests
        expected = multipletests(pvalues, method=STATSMODELS[method])[1]  # statsmodels 0.15
    np.testing.assert_allclose(adjust_pvalues(pvalues, method), expected, rtol=1e-12, atol=1e-300)


# Benjamini, Hochberg (1995), section 3.2: fifteen p-values of a trial of thrombolysis
MYOCARDIAL = [
    *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
    *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
]


@pytest.mark.parametrize(("method", "found"), [("bonferroni", 3), ("holm", 3), ("bh", 4)])
def test_the_example_of_benjamini_and_hochberg_has_their_number_of_findings(method, found):
    assert (adjust_pvalues(MYOCARDIAL, method) <= 0.05).sum() == found


@pytest.mark.parametrize("method", CORRECTIONS)
@settings(max_examples=30)
@given(pvalues=PVALUES)
def test_adjusting_keeps_the_order_and_never_lowers_a_pvalue(method, pvalues):
    raw, adjusted = np.array(pvalues), adjust_pvalues(pvalues, method)
    assert (adjusted >= raw * (1 - 1e-15) - 1e-300).all()
    assert (adjusted <= 1.0).all()
    assert (np.diff(adjusted[np.argsort(raw)]) >= 0).all()


@pytest.mark.parametrize("method", CORRECTIONS)
def test_a_single_test_needs_no_correction(method):
    assert adjust_pvalues([0.03], method).tolist() == [0.03]


@pytest.mark.parametrize("method", CORRECTIONS)
def test_a_test_that_was_not_made_stays_missing_and_does_not_count(method):
    adjusted = adjust_pvalues([0.01, math.nan, 0.04, 0.03], method)
    assert math.isnan(adjusted[1])
    assert adjusted[[0, 2, 3]].tolist() == adjust_pvalues([0.01, 0.04, 0.03], method).tolist()


def test_no_correction_leaves_everything_as_it_is():
    assert adjust_pvalues([0.01, 0.04], "none").tolist() == [0.01, 0.04]


def test_the_pvalues_given_are_not_changed():
    raw = np.array([0.04, 0.01])
    adjust_pvalues(raw)
    adjust_pvalues(raw, "none")[0] = 1.0
    assert raw.tolist() == [0.04, 0.01]


def test_a_table_of_pvalues_is_one_family_and_keeps_its_shape():
    raw = np.array([[0.01, 0.2], [0.03, 0.04]])
    adjusted = adjust_pvalues(raw)
    assert adjusted.ravel().tolist() == adjust_pvalues(raw.ravel()).tolist()
    assert adjusted.shape == (2, 2)


@pytest.mark.parametrize("method", CORRECTIONS)
def test_a_family_of_nothing_is_nothing(method):
    assert adjust_pvalues([], method).size == 0
    assert np.isnan(adjust_pvalues([math.nan], method)).all()


@pytest.mark.parametrize("wrong", [-0.01, 1.01, math.inf])
def test_a_pvalue_that_is_no_probability_is_refused(wrong):
    with pytest.raises(
        DataError, match=f"p-values must lie between 0 and 1, or be NaN; got {wrong}"
    ):
        adjust_pvalues([0.5, wrong])


def test_an_unknown_correction_answers_with_the_nearest_one():
    with pytest.raises(UnknownNameError, match="Did you mean 'bonferroni'"):
        adjust_pvalues([0.5], "bonferoni")


# Tarone's form of Holm


def tarone_by_closed_testing(pvalues, smallest):
    """The largest p-value over all sets of tests that hold a test, as closed testing defines it.

    A set's p-value is its smallest one times the number of its tests that can be as small.
    """
    n = len(pvalues)
    adjusted = np.zeros(n)
    for chosen in range(1, 2**n):
        members = [i for i in range(n) if chosen >> i & 1]
        least = min(pvalues[i] for i in members)
        able = max(1, sum(smallest[i] <= least for i in members))
        for i in members:
            adjusted[i] = max(adjusted[i], min(1.0, able * least))
    return adjusted


ATTAINABLE = st.lists(
    st.tuples(st.integers(0, 8), st.floats(0.0, 1.0)), min_size=1, max_size=7
).map(lambda rows: [(2.0**-m, 2.0**-m + (1 - 2.0**-m) * share) for m, share in rows])


@settings(max_examples=80)
@given(rows=ATTAINABLE)
def test_tarones_correction_is_that_of_closed_testing(rows):
    smallest, pvalues = np.array(rows).T
    found = adjust_pvalues(pvalues, "tarone", smallest=smallest)
    np.testing.assert_allclose(found, tarone_by_closed_testing(pvalues, smallest), rtol=1e-12)
    assert (found <= adjust_pvalues(pvalues, "holm") * (1 + 1e-12)).all()


def test_a_test_that_cannot_be_significant_costs_the_others_nothing():
    # Two discordant pairs: McNemar's mid-p cannot fall below 0.25.
    assert adjust_pvalues([0.03, 1.0, 0.25], "tarone", smallest=[1e-9, 1.0, 0.25])[0] == 0.03
    assert adjust_pvalues([0.03, 1.0, 0.25], "holm")[0] == pytest.approx(0.09)


def test_without_the_attainable_pvalues_it_is_holms():
    pvalues = [0.03, 0.2, 0.01, math.nan]
    assert adjust_pvalues(pvalues, "tarone") == pytest.approx(
        adjust_pvalues(pvalues, "holm"), nan_ok=True
    )


def test_false_findings_stay_at_the_level():
    # Eight tests of few coins each, with the exact two-sided p-value; false finding in any of them.
    rng = np.random.default_rng(5)
    coins = np.array([2, 3, 4, 5, 6, 7, 9, 12])
    heads = rng.binomial(coins, 0.5, size=(4000, 8))
    fewer = np.minimum(heads, coins - heads)
    tail = binom.cdf(fewer, coins, 0.5)  # scipy.stats
    pvalues = np.minimum(1.0, 2 * tail)
    smallest = 2.0 ** (1.0 - coins)
    found = [(adjust_pvalues(row, "tarone", smallest=smallest) <= 0.05).any() for row in pvalues]
    assert np.mean(found) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 4000)


# -- the level that a correction leaves


@pytest.mark.parametrize("method", STATSMODELS)
@pytest.mark.parametrize(("n_tests", "n_shown"), [(1, 0), (6, 0), (6, 4), (24, 5)])
def test_a_pvalue_at_the_level_left_is_shown_and_one_above_is_not(method, n_tests, n_shown):
    level = level_left(n_tests, n_shown, method, alpha=0.05)
    for pvalue, is_shown in ((level * (1 - 1e-6), True), (level * (1 + 1e-6), False)):
        family = [1e-9] * n_shown + [pvalue] + [1.0] * (n_tests - n_shown - 1)
        with patch("gc.collect"):
            rejected = multipletests(family, 0.05, STATSMODELS[method])[0]
        assert rejected[n_shown] == is_shown


def test_holm_leaves_the_error_rate_over_the_tests_that_are_not_shown():
    assert level_left(10, 6, "holm", alpha=0.05) == pytest.approx(0.05 / 4)
    # If all are shown, the last of them had the whole error rate.
    assert level_left(10, 10, "holm", alpha=0.05) == pytest.approx(0.05)
    assert level_left(0, 0, "holm", alpha=0.05) == 0.05

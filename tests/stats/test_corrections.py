"""Witnesses: statsmodels 0.15's multipletests, enumeration."""

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.corrections import CORRECTIONS, adjust_pvalues, level_left

STATSMODELS = {
    "bonferroni": "bonferroni",
    "holm": "holm",
    "hochberg": "simes-hochberg",
    "bh": "fdr_bh",
    "by": "fdr_by",
}
PVALUES = st.lists(st.floats(0.0, 1.0) | st.sampled_from([0.01, 0.04]), min_size=1, max_size=12)


@pytest.mark.parametrize("method", STATSMODELS)
@settings(max_examples=40)
@given(pvalues=PVALUES)
def test_adjusted_pvalues_are_those_of_statsmodels(method, pvalues):
    with patch("gc.collect"):  # its Holm collects garbage, which takes a second among our tests
        expected = multipletests(pvalues, method=STATSMODELS[method])[1]
    np.testing.assert_allclose(adjust_pvalues(pvalues, method), expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("method", CORRECTIONS)
def test_a_test_that_was_not_made_stays_missing_and_does_not_count(method):
    adjusted = adjust_pvalues([0.01, math.nan, 0.04, 0.03], method)
    assert math.isnan(adjusted[1])
    assert adjusted[[0, 2, 3]].tolist() == adjust_pvalues([0.01, 0.04, 0.03], method).tolist()
    assert adjust_pvalues([], method).size == 0
    assert np.isnan(adjust_pvalues([math.nan], method)).all()


@pytest.mark.parametrize("wrong", [-0.01, 1.01, math.inf])
def test_a_pvalue_outside_0_to_1_is_refused(wrong):
    with pytest.raises(DataError, match=f"p-values must lie between 0 and 1.*got {wrong}"):
        adjust_pvalues([0.5, wrong])


def test_an_unknown_correction_answers_with_the_nearest_one():
    with pytest.raises(UnknownNameError, match="Did you mean 'bonferroni'"):
        adjust_pvalues([0.5], "bonferoni")


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

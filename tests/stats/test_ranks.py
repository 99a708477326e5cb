"""Witnesses: SciPy 1.17's friedmanchisquare and rankdata, arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rageval_report.errors import DataError
from rageval_report.stats import friedman_test
from rageval_report.stats.ranks import query_ranks

TABLES = arrays(float, st.tuples(st.integers(2, 9), st.integers(3, 6)), elements=st.integers(0, 4))


@settings(max_examples=60)
@given(TABLES)
def test_the_statistic_is_that_of_scipy_with_its_correction_for_ties(scores):
    assume((scores != scores[:, :1]).any())
    found, told = friedman_test(scores), scipy.stats.friedmanchisquare(*scores.T)
    assert found.statistic == pytest.approx(told.statistic, abs=1e-9)
    assert found.pvalue == pytest.approx(told.pvalue, abs=1e-9)


@settings(max_examples=40)
@given(TABLES)
def test_ranks_within_a_query_are_those_of_scipy(scores):
    np.testing.assert_array_equal(query_ranks(scores), scipy.stats.rankdata(-scores, axis=1))
    np.testing.assert_array_equal(
        query_ranks(scores, greater_is_better=False), scipy.stats.rankdata(scores, axis=1)
    )


def test_queries_that_all_agree_have_full_concordance():
    found = friedman_test(np.tile([0.9, 0.5, 0.1], (7, 1)))
    assert found.concordance == pytest.approx(1.0)
    assert found.statistic == pytest.approx(14.0)  # n (k - 1)
    assert found.average_ranks.tolist() == [1.0, 2.0, 3.0]


def test_pipelines_that_tie_everywhere_have_p_one():
    found = friedman_test(np.ones((5, 3)))
    assert (found.statistic, found.pvalue, found.concordance) == (0.0, 1.0, 0.0)


def test_rounding_makes_no_rank():
    assert query_ranks([[0.1 + 0.2, 0.3]]).tolist() == [[1.5, 1.5]]


def test_queries_without_all_scores_are_left_out():
    assert friedman_test([[1.0, 2.0], [np.nan, 2.0], [1.0, 3.0]]).n == 2


def test_one_pipeline_is_refused():
    with pytest.raises(DataError, match="at least two"):
        friedman_test([[1.0], [2.0]])


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e12])
def test_scores_that_only_rounding_separates_are_tied_on_any_scale(scale):
    ranks = query_ranks(scale * np.array([[0.1 + 0.2, 0.3, 0.5], [0.0, 0.2, 0.1]]))
    assert ranks.tolist() == [[2.5, 2.5, 1.0], [3.0, 1.0, 2.0]]

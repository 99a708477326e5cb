import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.weightstats import ttost_paired

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import equivalence_test, paired_interval


@pytest.fixture
def scores():
    rng = np.random.default_rng(1)
    before = rng.random(40)
    return before, before + rng.normal(0.01, 0.05, 40)


def table(both, wins, losses, neither):
    """Scores of 0 and 1 with the given paired table."""
    cells = [both, wins, losses, neither]
    return np.repeat([1.0, 0.0, 1.0, 0.0], cells), np.repeat([1.0, 1.0, 0.0, 0.0], cells)


# Any scores


@pytest.mark.parametrize("margin", [0.005, 0.02, 0.05])
def test_equivalence_is_that_of_statsmodels(scores, margin):
    expected, not_below, _ = ttost_paired(scores[1], scores[0], -margin, margin)  # statsmodels 0.15
    found = equivalence_test(*scores, margin)
    assert found.pvalue == pytest.approx(expected, rel=1e-9, abs=0.0)
    assert found.equivalent == (expected <= 0.05)
    one_sided = equivalence_test(*scores, margin, alternative="non-inferior")
    assert one_sided.pvalue == pytest.approx(not_below[1], rel=1e-9, abs=0.0)


def test_the_interval_is_the_t_interval_at_one_less_two_alpha(scores):
    expected = scipy_stats.ttest_rel(scores[1], scores[0]).confidence_interval(0.98)  # scipy 1.17.1
    found = equivalence_test(*scores, 0.05, alpha=0.01)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12)


@settings(max_examples=60)
@given(
    gains=st.lists(st.integers(-5, 6), min_size=2, max_size=15),
    margin=st.floats(0.01, 0.99),  # the limits of a share end at 1, where nothing is larger
    binary=st.booleans(),
)
def test_equivalence_is_shown_exactly_when_the_interval_lies_within_the_margin(
    gains, margin, binary
):
    before = np.zeros(len(gains))
    after = np.array(gains) / 10 if not binary else (np.array(gains) > 2).astype(float)
    found = equivalence_test(before, after, margin)
    if found.low < found.high:
        assert found.equivalent == (-margin <= found.low and found.high <= margin)


def test_a_worse_candidate_can_be_shown_not_inferior_but_not_equivalent():
    before = np.full(30, 0.2)
    after = before + np.tile([0.5, 0.6], 15)
    assert equivalence_test(before, after, 0.1, alternative="non-inferior").equivalent
    assert not equivalence_test(before, after, 0.1).equivalent
    assert not equivalence_test(after, before, 0.1, alternative="non-inferior").equivalent


def test_exchanging_the_sides_changes_the_sign_and_nothing_else(scores):
    there, back = equivalence_test(*scores, 0.03), equivalence_test(*scores[::-1], 0.03)
    assert there.pvalue == pytest.approx(back.pvalue, rel=1e-12)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), rel=1e-12)
    assert there.difference == pytest.approx(-back.difference)


# Scores of 0 and 1


@pytest.mark.parametrize("margin", [0.02, 0.08, 0.3])
def test_shares_use_the_interval_of_bonett_and_price(margin):
    pairs = table(40, 9, 5, 30)
    interval = paired_interval(*pairs, method="bonett-price", confidence_level=0.90)
    found = equivalence_test(*pairs, margin)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-12)
    assert found.equivalent == (-margin < interval.low and interval.high < margin)


def test_the_pvalue_of_shares_is_the_level_at_which_the_interval_touches_the_margin():
    pairs = table(40, 9, 5, 30)
    found = equivalence_test(*pairs, 0.12)
    touching = paired_interval(*pairs, method="bonett-price", confidence_level=1 - 2 * found.pvalue)
    assert max(-touching.low, touching.high) == pytest.approx(0.12, rel=1e-9)


def test_identical_shares_are_not_equivalent_until_there_are_enough_of_them():
    few, many = table(5, 0, 0, 5), table(100, 0, 0, 100)
    assert not equivalence_test(*few, 0.05).equivalent
    assert equivalence_test(*many, 0.05).equivalent


# Degenerate data


@pytest.mark.parametrize("n", [2, 4, 5, 9])
def test_equal_differences_within_the_margin_have_the_sign_flip_pvalue_not_zero(n):
    before = np.linspace(0.1, 0.7, n)
    found = equivalence_test(before, before + 0.02, 0.05)
    assert found.pvalue == 0.5**n
    assert found.equivalent == (n >= 5)
    assert found.low == found.high == pytest.approx(0.02)


def test_equal_differences_beyond_the_margin_are_neither_equivalent_nor_inferior():
    before = np.linspace(0.1, 0.7, 8)
    assert equivalence_test(before, before + 0.2, 0.05).pvalue == 1.0
    assert equivalence_test(before, before + 0.2, 0.05, alternative="non-inferior").pvalue == 0.5**8
    assert equivalence_test(before, before - 0.2, 0.05, alternative="non-inferior").pvalue == 1.0


@pytest.mark.parametrize("score", [0.3, 1.0])
def test_one_query_shows_nothing(score):
    found = equivalence_test([score], [score], 0.5)
    assert (found.pvalue, found.equivalent, found.n) == (1.0, False, 1)
    assert math.isnan(found.low)


def test_unscored_queries_are_left_out_by_pairs():
    found = equivalence_test([0.1, 0.2, math.nan, 0.5], [0.2, 0.2, 0.3, math.nan], 0.2)
    assert found.n == 2
    assert found.difference == pytest.approx(0.05)


# Bad input


def test_no_scored_pair_is_an_error():
    with pytest.raises(DataError, match="no query has a score on both sides"):
        equivalence_test([math.nan], [0.2], 0.1)


@pytest.mark.parametrize("margin", [0.0, -0.1, math.nan])
def test_a_margin_must_be_above_zero(margin):
    with pytest.raises(DataError, match="margin must be a finite number > 0"):
        equivalence_test([0.1], [0.2], margin)


def test_a_level_in_percent_is_recognised():
    with pytest.raises(DataError, match=r"did you mean 0\.05"):
        equivalence_test([0.1], [0.2], 0.1, alpha=5)


def test_an_unknown_claim_answers_with_the_nearest_one():
    with pytest.raises(UnknownNameError, match="Did you mean 'non-inferior'"):
        equivalence_test([0.1], [0.2], 0.1, alternative="noninferior")

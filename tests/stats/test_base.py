import math

import numpy as np
import pytest

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.base import (
    check_alternative,
    check_positive,
    check_probability,
    check_queries,
    paired_differences,
)


def test_an_unknown_alternative_answers_with_the_nearest_one():
    expected = 'alternative must be "two-sided", "less" or "greater"; got "two_sided"'
    with pytest.raises(UnknownNameError, match=f"{expected}. Did you mean 'two-sided'"):
        check_alternative("two_sided")


def test_an_alpha_in_percent_is_recognised():
    with pytest.raises(
        DataError, match=r"alpha must lie between 0 and 1; got 5; did you mean 0\.05"
    ):
        check_probability("alpha", 5)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, math.nan])
def test_an_impossible_probability_is_refused(value):
    with pytest.raises(DataError, match="power must lie between 0 and 1"):
        check_probability("power", value)


@pytest.mark.parametrize("value", [0.0, -0.02, math.inf, math.nan])
def test_a_margin_must_be_finite_and_above_zero(value):
    with pytest.raises(DataError, match="margin must be a finite number > 0"):
        check_positive("margin", value)


@pytest.mark.parametrize("n", [1, 0, 2.5, math.nan, math.inf])
def test_a_number_of_queries_must_be_whole_and_at_least_two(n):
    with pytest.raises(DataError, match="n must be an integer >= 2; got"):
        check_queries(n)


@pytest.mark.parametrize("value", [1, 100, 101, 0])
def test_what_is_no_percentage_gets_no_hint(value):
    with pytest.raises(DataError, match=rf"alpha must lie between 0 and 1; got {value}$"):
        check_probability("alpha", value)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e12])
def test_differences_that_are_rounding_are_zero_on_any_scale(scale):
    before, after = scale * np.array([0.3, 0.5]), scale * np.array([0.1 + 0.2, 0.7])
    first, second = paired_differences(before, after)
    assert first == 0.0
    assert second == pytest.approx(0.2 * scale, rel=1e-12)
    # A millionth of the scale is a difference.
    assert (paired_differences(before, before + 1e-6 * scale) > 0).all()

"""Second witnesses: scipy 1.17.1 quantile_test, binomial sums by hand."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.stats import quantile_interval

NAN = math.nan


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9, 0.95])
@pytest.mark.parametrize("n", [80, 200, 1001])
def test_the_limits_are_those_of_scipy(n, quantile):
    scores = np.random.default_rng(n).lognormal(size=n)
    interval = quantile_interval(scores, quantile)
    expected = scipy.stats.quantile_test(scores, q=0, p=quantile).confidence_interval(0.95)
    assert (interval.low, interval.high) == (expected.low, expected.high)
    assert interval.estimate == np.quantile(scores, quantile)


def test_the_median_of_ten_lies_between_the_second_and_the_ninth():
    interval = quantile_interval(np.arange(1.0, 11.0), 0.5)
    # P(Bin(10, 1/2) < 2) = 11/1024 <= .025, and P(Bin < 3) = 56/1024 is not
    assert (interval.low, interval.estimate, interval.high) == (2.0, 5.5, 9.0)


def test_a_tail_that_is_exactly_spent_is_enough():
    interval = quantile_interval([1.0, 2.0], 0.5, confidence_level=0.5)  # both tails are 1/4
    assert (interval.low, interval.high) == (1.0, 2.0)


@pytest.mark.parametrize(("n", "quantile"), [(12, 0.5), (40, 0.8), (90, 0.95)])
def test_coverage_is_at_least_the_level_and_no_narrower_ranks_reach_it(n, quantile):
    interval = quantile_interval(np.arange(1.0, n + 1), quantile)
    below = scipy.stats.binom(n, quantile)
    lower, upper = int(interval.low), int(interval.high)
    assert below.cdf(lower - 1) <= 0.025 < below.cdf(lower)
    assert below.sf(upper - 1) <= 0.025 < below.sf(upper - 2)


def test_the_upper_limit_of_p95_takes_72_scores():
    short, enough = (quantile_interval(np.arange(n), 0.95) for n in (71, 72))
    assert math.isnan(short.high)
    assert short.notes == (
        "71 scores give no upper limit of the 0.95 quantile; at least 72 are needed",
    )
    assert enough.high == 71
    assert enough.notes == ()
    assert not math.isnan(short.low)


def test_one_score_gives_an_estimate_only():
    interval = quantile_interval([7.0], 0.25)
    assert interval.estimate == 7.0
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.notes == (
        "1 score gives no lower limit of the 0.25 quantile; at least 13 are needed",
        "1 score gives no upper limit of the 0.25 quantile; at least 3 are needed",
    )


def test_nothing_scored_is_said():
    interval = quantile_interval([NAN], 0.5)
    assert math.isnan(interval.estimate)
    assert interval.notes == ("nothing scored",)


def test_unscored_queries_are_left_out():
    scores = np.arange(30.0)
    gappy = np.insert(scores, [3, 9], NAN)
    # By text: the standard error is NaN, which equals itself in no dataclass from Python 3.13 on.
    assert repr(quantile_interval(gappy, 0.5)) == repr(quantile_interval(scores, 0.5))


@pytest.mark.parametrize(
    ("quantile", "message"), [(95, "did you mean 0.95"), (0.0, "between 0 and 1"), (1, "between")]
)
def test_a_quantile_that_is_none_is_refused(quantile, message):
    with pytest.raises(DataError, match=message):
        quantile_interval([1.0, 2.0], quantile)


def test_a_level_that_is_none_is_refused():
    with pytest.raises(DataError, match=r"did you mean 0\.9\?"):
        quantile_interval([1.0, 2.0], 0.5, confidence_level=90)


@settings(max_examples=40)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=60), st.floats(0.05, 0.95))
def test_the_limits_are_scores_around_the_estimate(scores, quantile):
    interval = quantile_interval(scores, quantile)
    for limit in (interval.low, interval.high):
        assert math.isnan(limit) or limit in scores
    assert not interval.low > interval.estimate
    assert not interval.high < interval.estimate


@settings(max_examples=40)
@given(st.lists(st.integers(-50, 50), min_size=20, max_size=60))
def test_a_rising_transformation_carries_the_limits_along(scores):
    plain = quantile_interval(scores, 0.5)
    cubed = quantile_interval(np.array(scores, dtype=float) ** 3, 0.5)
    assert (cubed.low, cubed.high) == (plain.low**3, plain.high**3)

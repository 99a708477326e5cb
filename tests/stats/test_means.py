"""Second witnesses: statsmodels 0.15, SciPy 1.17, NumPy 2, the module statistics, binomial sums."""

import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.columns import Column
from rageval_report.stats.means import (
    INTERVALS,
    interval_of_count,
    mean_interval,
    percentiles_of,
    quantile_interval,
)

NAN = math.nan
CUTS = [0, 5, 25, 50, 62.5, 95, 100]
SPREAD = [0.5, 0.6, 0.9, 0.2, 0.8, 0.7]
BY_SPREAD = ["t", "percentile", "bca", "studentised"]


def bits(ones, n):
    return np.repeat([1.0, 0.0], [ones, n - ones])


def limits(interval):
    return interval.low, interval.high


@pytest.mark.parametrize(("ours", "theirs"), [("wilson", "wilson"), ("clopper-pearson", "beta")])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
@pytest.mark.parametrize(("ones", "n"), [(0, 5), (5, 5), (1, 1), (3, 7), (499, 500)])
def test_share_intervals_are_those_of_statsmodels(ours, theirs, level, ones, n):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    interval = interval_of_count(ones, n, level, method=ours)
    assert interval == mean_interval(bits(ones, n), method=ours, confidence_level=level)
    expected = proportion.proportion_confint(ones, n, alpha=1 - level, method=theirs)
    assert limits(interval) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_t_is_the_interval_of_scipy(level):
    scores = np.array([0.3, 1.8, 2.2, 0.4, 9.1])
    interval = mean_interval(scores, method="t", confidence_level=level)
    expected = scipy.stats.ttest_1samp(scores, 0.0).confidence_interval(level)
    assert limits(interval) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert interval.standard_error == pytest.approx(scipy.stats.sem(scores), rel=1e-14)


@pytest.mark.parametrize(
    ("scores", "bounds", "kind", "method"),
    [
        ([0, 1, 1], None, None, "clopper-pearson"),
        ([0, 1, 1], (0, 5), None, "gaffke"),
        ([0, 1, 1], (0, 1), "proportion", "gaffke"),
        ([0, 0.5, 1], (0, 1), "binary", "gaffke"),
        ([1.0], (0, 1), None, "clopper-pearson"),
        ([1.0], None, None, "t"),
        ([1, 3, 5], (1, 5), "ordinal", "gaffke"),
        (SPREAD, (0, 1), None, "gaffke"),
        (SPREAD, (-1, 1), "real", "studentised"),
        (SPREAD, (0, math.inf), None, "studentised"),
        ([0.5, 0.5, 0.5], (-1, 1), "real", "gaffke"),
        (np.linspace(0, 2, 499), None, None, "studentised"),
        (np.linspace(0, 2, 500), None, None, "t"),
        ([], None, None, "t"),
    ],
)
def test_auto_chooses_by_what_the_scores_can_be(scores, bounds, kind, method):
    assert mean_interval(scores, bounds=bounds, kind=kind, n_resamples=99).method == method


def test_unscored_queries_are_left_out_and_the_order_does_not_matter():
    whole = mean_interval(SPREAD, bounds=(0, 1))
    assert mean_interval([NAN, *SPREAD[::-1], NAN], bounds=(0, 1)) == whole
    assert mean_interval(Column.of(SPREAD), bounds=(0, 1)) == whole


@pytest.mark.parametrize("method", ["auto", *INTERVALS])
def test_nothing_scored_is_said_whatever_the_method(method):
    interval = mean_interval([NAN], method=method, bounds=(0, 1))
    assert np.isnan([interval.estimate, interval.low, interval.high]).all()
    assert interval.notes == ("nothing scored",)


@pytest.mark.parametrize("method", BY_SPREAD)
def test_one_score_within_bounds_has_them_as_limits(method):
    interval = mean_interval([2.5], method=method, bounds=(1, 5))
    assert limits(interval) == (1.0, 5.0)
    assert interval.notes == ("one score: the limits are the bounds",)
    alone = mean_interval([2.5], method=method)
    assert np.isnan(limits(alone)).all()
    assert alone.notes == ("one score: no interval",)


@pytest.mark.parametrize("method", BY_SPREAD)
def test_equal_scores_have_no_width_where_spread_is_all_there_is(method):
    interval = mean_interval([0.1 + 0.2, 0.3, 0.3], method=method)
    assert interval.low == interval.high == pytest.approx(0.3)
    assert interval.notes == ("all 3 numbers are equal: without spread the interval has no width",)


def test_an_interval_is_cut_where_no_mean_can_be():
    interval = mean_interval([0.0, 0.0, 0.9], method="t", bounds=(0, math.inf))
    assert interval.low == 0.0
    assert interval.notes == ("the interval is cut at 0",)
    both = mean_interval([0.0, 1.0], method="t", bounds=(0, 1))
    assert limits(both) == (0.0, 1.0)
    assert both.notes == ("the interval is cut at 0 and 1",)


def test_scores_that_rounding_put_outside_the_bounds_count_as_the_bounds():
    beyond, within = (
        mean_interval([0.2, 0.7, score], method="gaffke", bounds=(0, 1)) for score in (1 + 1e-10, 1)
    )
    assert limits(beyond) == pytest.approx(limits(within), abs=1e-9)
    assert beyond.high <= 1.0


def test_a_grid_for_many_values_changes_no_printed_digit():
    numbers = np.random.default_rng(2).beta(8, 2, 100_000)
    column, rounded = Column.of(numbers), Column.of(numbers.round(4))
    counted = replace(rounded, mean=column.mean, std=column.std, is_exact=False)
    exact, grid = (mean_interval(each, bounds=(0, 1)) for each in (column, counted))
    assert grid.estimate == exact.estimate
    assert limits(grid) == pytest.approx(limits(exact), abs=1e-4 * (exact.high - exact.low) / 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence_level": 95}, "did you mean 0.95"),
        ({"n_resamples": 0}, "n_resamples must be an integer >= 1"),
        ({"seed": -1}, "seed must be an integer >= 0"),
        ({"bounds": (1, 0)}, "bounds must be the smallest and largest score"),
        ({"bounds": (0, 0.5)}, "scores must lie within the bounds 0 and 0.5; found 0.9"),
        ({"bounds": (0.3, 1)}, "within the bounds 0.3 and 1; found 0.2"),
        ({"method": "gaffke"}, "needs the smallest and largest possible score; got none"),
        ({"method": "gaffke", "bounds": (0, math.inf)}, "got 0 and inf: give bounds"),
        ({"method": "wilson"}, "'wilson' is for scores of 0 and 1; found scores from 0.2 to 0.9"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        mean_interval(SPREAD, **options)


def test_unknown_names_and_infinite_scores_are_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'wilson'"):
        mean_interval(SPREAD, method="wilsen")
    with pytest.raises(UnknownNameError, match='"linear" or "upper"; got "lower"'):
        percentiles_of(SPREAD, method="lower")
    with pytest.raises(ValueError, match="kind"):
        mean_interval(SPREAD, kind="ratio")
    with pytest.raises(DataError, match="1 are infinite"):
        mean_interval([0.1, math.inf])


@settings(max_examples=25)
@given(
    st.integers(2, 40).flatmap(
        lambda n: arrays(np.float64, n, elements=st.floats(-8, 8, width=16))
    ),
    st.sampled_from(BY_SPREAD),
)
def test_intervals_turn_and_stretch_with_the_scores(scores, method):
    options = {"method": method, "n_resamples": 199}
    interval = mean_interval(scores, **options)
    turned, twice = (mean_interval(scores * factor, **options) for factor in (-1, 2))
    assert (-turned.high, -turned.low) == pytest.approx(limits(interval), abs=1e-9)
    assert (twice.low / 2, twice.high / 2) == pytest.approx(limits(interval), abs=1e-9)


# -- percentiles


@pytest.mark.parametrize("n", [1, 2, 7, 100, 10_001])
def test_linear_percentiles_are_those_of_numpy_to_the_last_bit(n):
    scores = np.random.default_rng(n).lognormal(size=n)
    expected = np.percentile(scores, CUTS)
    assert percentiles_of(np.append(scores, NAN), CUTS).tolist() == expected.tolist()
    assert percentiles_of(Column.of(scores), CUTS).tolist() == expected.tolist()


@pytest.mark.parametrize("n", [2, 3, 8, 101])
def test_exclusive_percentiles_are_those_of_the_statistics_module(n):
    scores = np.random.default_rng(n).random(n)
    expected = statistics.quantiles(scores, n=20, method="exclusive")
    found = percentiles_of(scores, np.arange(5.0, 100.0, 5.0), method="exclusive")
    assert found == pytest.approx(expected, abs=1e-12)


def test_upper_percentiles_are_scores_at_the_place_of_the_share():
    found = percentiles_of([4, 1, 3, 2], [0, 25, 50, 74, 100], method="upper")
    assert found.tolist() == [1, 2, 3, 3, 4]


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9, 0.95])
@pytest.mark.parametrize("n", [80, 200, 1001])
def test_the_limits_are_those_of_scipy(n, quantile):
    scores = np.random.default_rng(n).lognormal(size=n)
    interval = quantile_interval(scores, quantile)
    expected = scipy.stats.quantile_test(scores, q=0, p=quantile).confidence_interval(0.95)
    assert (interval.low, interval.high) == (expected.low, expected.high)
    assert interval.estimate == pytest.approx(np.quantile(scores, quantile), rel=1e-14)


def test_few_scores_give_an_estimate_only():
    assert quantile_interval(np.arange(72), 0.95).high == 71  # 0.95**72 < 0.025 < 0.95**71
    assert "at least 72 are needed" in quantile_interval(np.arange(71), 0.95).notes[0]
    interval = quantile_interval([7.0], 0.25)
    assert interval.estimate == 7.0
    assert np.isnan([interval.low, interval.high]).all()
    assert interval.notes == (
        "1 score gives no lower limit of the 0.25 quantile; at least 13 are needed",
        "1 score gives no upper limit of the 0.25 quantile; at least 3 are needed",
    )
    assert quantile_interval([NAN], 0.5).notes == ("nothing scored",)


@pytest.mark.parametrize(
    ("function", "values", "asked", "message"),
    [
        (percentiles_of, [1.0], [50, 101], "percentiles must lie between 0 and 100; got 101"),
        (quantile_interval, [1.0, 2.0], 95, "did you mean 0.95"),
        (quantile_interval, [1.0, 2.0], 1, "between 0 and 1"),
    ],
)
def test_what_is_no_percentile_or_quantile_is_refused(function, values, asked, message):
    with pytest.raises(DataError, match=message):
        function(values, asked)

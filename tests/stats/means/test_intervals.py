"""Second witnesses: statsmodels 0.15.0, scipy 1.17.1, published tables, enumeration."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import INTERVALS, mean_interval
from rageval_report.stats.means.closed_forms import bounded, student_t
from rageval_report.stats.means.intervals import (
    DescribedColumn,
    described_interval,
    described_intervals,
)
from rageval_report.stats.means.moments import moments

NAN = math.nan
SPREAD = [0.5, 0.6, 0.9, 0.2, 0.8, 0.7]


def bits(ones, n):
    return np.repeat([1.0, 0.0], [ones, n - ones])


def limits(interval):
    return interval.low, interval.high


def scores_between(low, high, *, least=1, most=40):
    sizes = st.integers(least, most)
    elements = st.floats(low, high, width=32)
    return sizes.flatmap(lambda n: arrays(np.float64, n, elements=elements))


# Newcombe (1998), Two-sided confidence intervals for the single proportion, Statistics in Medicine
# 17, table I: methods 3 (Wilson) and 5 (Clopper-Pearson).
NEWCOMBE = [
    (81, 263, "wilson", 0.2553, 0.3662),
    (15, 148, "wilson", 0.0624, 0.1605),
    (0, 20, "wilson", 0.0, 0.1611),
    (1, 29, "wilson", 0.0061, 0.1718),
    (81, 263, "clopper-pearson", 0.2527, 0.3676),
    (15, 148, "clopper-pearson", 0.0578, 0.1617),
    (0, 20, "clopper-pearson", 0.0, 0.1684),
    (1, 29, "clopper-pearson", 0.0009, 0.1776),
]


@pytest.mark.parametrize(("ones", "n", "method", "low", "high"), NEWCOMBE)
def test_share_intervals_are_those_of_newcombes_table(ones, n, method, low, high):
    interval = mean_interval(bits(ones, n), method=method)
    assert limits(interval) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("ours", "theirs"), [("wilson", "wilson"), ("clopper-pearson", "beta")])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
@pytest.mark.parametrize(("ones", "n"), [(0, 5), (5, 5), (1, 1), (3, 7), (499, 500)])
def test_share_intervals_are_those_of_statsmodels(ours, theirs, level, ones, n):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    interval = mean_interval(bits(ones, n), method=ours, confidence_level=level)
    expected = proportion.proportion_confint(ones, n, alpha=1 - level, method=theirs)
    assert limits(interval) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("ones", "n"), [(1, 5), (4, 5), (3, 7), (499, 500)])
def test_jeffreys_is_that_of_statsmodels_between_the_ends(ones, n):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    interval = mean_interval(bits(ones, n), method="jeffreys")
    expected = proportion.proportion_confint(ones, n, method="jeffreys")
    assert limits(interval) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_jeffreys_holds_the_estimate_where_all_scores_are_alike(value):
    interval = mean_interval(np.full(6, value), method="jeffreys")
    assert value in limits(interval)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_t_is_the_interval_of_scipy(level):
    scores = np.array([0.3, 1.8, 2.2, 0.4, 9.1])
    interval = mean_interval(scores, method="t", confidence_level=level)
    expected = scipy.stats.ttest_1samp(scores, 0.0).confidence_interval(level)
    assert limits(interval) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert interval.standard_error == pytest.approx(scipy.stats.sem(scores), rel=1e-14)


def test_bounded_is_its_formula_by_hand_for_a_mean_in_the_middle():
    scores = np.array([0.2, 0.5, 0.6, 0.7])  # p = .5, squares .14, and .25 of the imagined score
    effective = 4 * 0.25 / ((0.14 + 0.25) / 4)
    room = scipy.stats.t.ppf(0.975, 3) ** 2 / effective
    reach = math.sqrt(room * 0.25 + room**2 / 4) / (1 + room)
    interval = mean_interval(scores, method="bounded", bounds=(0, 1))
    assert limits(interval) == pytest.approx((0.5 - reach, 0.5 + reach), rel=1e-12)


def test_bounded_is_its_formula_by_hand_on_another_range():
    scores = np.array([1.0, 3.0, 4.0, 4.0, 5.0])  # one to five: p = .6, squares 9.2 / 16
    effective = 5 * 0.24 / ((9.2 / 16 + 0.24) / 5)
    t = scipy.stats.t.ppf(0.975, 4)
    centre = (0.6 + t**2 / (2 * effective)) / (1 + t**2 / effective)
    reach = t / (1 + t**2 / effective) * math.sqrt(0.24 / effective + (t / effective) ** 2 / 4)
    interval = mean_interval(scores, method="bounded", bounds=(1, 5))
    expected = (1 + 4 * (centre - reach), 1 + 4 * (centre + reach))
    assert limits(interval) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("ones", "n"), [(3, 7), (1, 10), (40, 41)])
def test_bounded_on_zeros_and_ones_is_wilson_with_a_t_quantile(ones, n):
    interval = mean_interval(bits(ones, n), method="bounded", bounds=(0, 1))
    # the imagined score makes n²/(n + 1) of n; a level whose z is the t quantile gives Wilson
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    effective = n**2 / (n + 1)
    alpha = 2 * scipy.stats.norm.sf(scipy.stats.t.ppf(0.975, n - 1))
    wilson = proportion.proportion_confint(
        ones / n * effective, effective, alpha=alpha, method="wilson"
    )
    assert limits(interval) == pytest.approx(wilson, rel=1e-9)


def test_equal_scores_between_the_bounds_leave_room_for_what_was_not_seen():
    interval = mean_interval(np.full(10, 0.7), method="bounded", bounds=(0, 1))
    least = 0.025**0.1  # ten equal scores happen with 2.5 % even where others are that frequent
    assert limits(interval) == pytest.approx((least * 0.7, least * 0.7 + 1 - least))
    assert interval.notes == ("all 10 scores are equal",)


def test_equal_scores_at_a_bound_have_that_bound_as_a_limit():
    interval = mean_interval(np.full(10, 5.0), method="bounded", bounds=(1, 5))
    t = scipy.stats.t.ppf(0.975, 9)
    assert limits(interval) == pytest.approx((1 + 4 / (1 + t * t / 10), 5.0))


@pytest.mark.parametrize("method", ["wilson", "clopper-pearson"])
@pytest.mark.parametrize("n", [6, 12])
def test_coverage_of_shares_by_enumeration(method, n):
    intervals = [mean_interval(bits(k, n), method=method) for k in range(n + 1)]
    shares = np.linspace(0.1, 0.9, 33)
    covered = np.zeros(shares.size)
    for k, interval in enumerate(intervals):
        inside = (interval.low <= shares) & (shares <= interval.high)
        covered += scipy.stats.binom.pmf(k, n, shares) * inside
    assert covered.min() >= (0.95 if method == "clopper-pearson" else 0.88)
    assert covered.mean() >= 0.95


@pytest.mark.parametrize(
    ("scores", "bounds", "method"),
    [
        ([0, 1, 1], None, "wilson"),
        ([0, 1, 1], (0, 1), "wilson"),
        ([0, 1, 1], (0, 5), "gaffke"),
        ([0.5, 1, 1], (0, 1), "gaffke"),
        ([0.5, 1, 2, 4, 8, 9], (0, math.inf), "studentised"),
        ([0, 1, 1, 0, 1, 0, 1, 0], (0, math.inf), "studentised"),
        ([0.5, 1, 2, 4, 8, 9], None, "studentised"),
        (np.linspace(0, 2, 499), None, "studentised"),
        (np.linspace(0, 2, 500), None, "t"),
        ([1.0], (0, 1), "gaffke"),
        ([1.0], None, "t"),
        ([], None, "t"),
        ([], (0, 1), "gaffke"),
    ],
)
def test_auto_chooses_by_what_the_scores_can_be(scores, bounds, method):
    assert mean_interval(scores, bounds=bounds).method == method


@pytest.mark.parametrize(
    ("kind", "scores", "bounds", "method"),
    [
        ("binary", [0, 1, 1], (0, 1), "wilson"),
        ("binary", [0, 1, 1], None, "wilson"),
        ("binary", [0, 0.5, 1], (0, 1), "gaffke"),  # the mean of two runs
        ("binary", [0, 100, 100], (0, 100), "gaffke"),
        ("proportion", [0, 1, 1], (0, 1), "gaffke"),
        ("proportion", SPREAD, None, "studentised"),
        ("ordinal", [1, 4, 5], (1, 5), "gaffke"),
        ("ordinal", [0, 1, 1], (0, 5), "gaffke"),
        ("ordinal", [1, 4, 5, 2, 2, 3], None, "studentised"),
        ("real", SPREAD, (-1, 1), "studentised"),
        ("real", [0, 1, 1, 0, 1, 0, 1, 0], (0, 1), "studentised"),
        ("real", np.linspace(0, 1, 500), (-1, 1), "t"),
        ("real", [0.9, 0.9, 0.9], (-1, 1), "gaffke"),  # no spread to resample
        ("real", [0.9, 0.9, 0.9], None, "studentised"),
    ],
)
def test_auto_chooses_by_the_kind_where_it_is_known(kind, scores, bounds, method):
    assert mean_interval(scores, kind=kind, bounds=bounds).method == method


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match='kind must be "binary", "proportion", "ordinal" or'):
        mean_interval([0.5, 0.6], kind="share")


def test_columns_together_have_the_intervals_that_each_has_alone():
    rng = np.random.default_rng(0)
    draws = [rng.beta(8, 2, 30), rng.integers(1, 6, 40) / 5, rng.normal(size=20), np.array([NAN])]
    kinds = ["proportion", "ordinal", "real", "proportion"]
    bounds = [(0, 1), (0, 1), None, (0, 1)]
    columns = [
        DescribedColumn(scores, moments(scores), *limits_and_kind)
        for scores, *limits_and_kind in zip(draws, bounds, kinds, strict=True)
    ]
    together = described_intervals(columns, n_resamples=99)
    assert [interval.method for interval in together] == [
        *("gaffke", "gaffke", "studentised", "gaffke")
    ]
    for interval, scores, ends, kind in zip(together, draws, bounds, kinds, strict=True):
        alone = mean_interval(scores, bounds=ends, kind=kind, n_resamples=99)
        assert limits(interval) == pytest.approx(limits(alone), rel=1e-12, nan_ok=True)
        assert (interval.method, interval.notes) == (alone.method, alone.notes)


def test_unscored_queries_are_left_out():
    some = mean_interval([0.2, NAN, 0.9, 0.4, NAN], bounds=(0, 1))
    assert some == mean_interval([0.2, 0.9, 0.4], bounds=(0, 1))


@pytest.mark.parametrize("method", ["auto", *INTERVALS])
@pytest.mark.parametrize("scores", [[], [NAN, NAN]])
def test_nothing_scored_is_said_whatever_the_method(method, scores):
    interval = mean_interval(scores, method=method, bounds=(0, 1))
    assert all(map(math.isnan, (interval.estimate, *limits(interval), interval.standard_error)))
    assert interval.notes == ("nothing scored",)


@pytest.mark.parametrize("method", ["bounded", "t", "percentile", "bca", "studentised"])
def test_one_score_within_bounds_has_them_as_limits(method):
    interval = mean_interval([3.0], method=method, bounds=(1, 5))
    assert (interval.estimate, *limits(interval)) == (3.0, 1.0, 5.0)
    assert interval.notes == ("one score: the limits are the bounds",)


@pytest.mark.parametrize("method", ["auto", "t", "percentile", "bca", "studentised"])
def test_one_score_without_bounds_has_no_limits(method):
    interval = mean_interval([3.0], method=method)
    assert interval.estimate == 3.0
    assert all(map(math.isnan, limits(interval)))
    assert interval.notes == ("one score: no interval",)


@pytest.mark.parametrize("method", ["t", "percentile", "bca", "studentised"])
def test_equal_scores_have_no_width_where_spread_is_all_there_is(method):
    interval = mean_interval([0.1 + 0.2, 0.3, 0.3], method=method)  # equal but for rounding
    assert interval.low == interval.high == interval.estimate
    assert interval.standard_error == 0.0
    assert interval.notes == ("all 3 scores are equal: without spread the interval has no width",)


def test_scores_may_leave_the_bounds_by_rounding():
    interval = mean_interval([0.2, 0.4, 1.0 + 1e-12], bounds=(0, 1))
    assert limits(interval) == pytest.approx(
        limits(mean_interval([0.2, 0.4, 1.0], bounds=(0, 1))), rel=1e-9
    )


def test_moments_that_are_known_give_the_same_interval():
    scores = np.random.default_rng(0).beta(8, 2, 50)
    for method in ("gaffke", "bounded", "t", "percentile", "bca", "studentised"):
        asked = {"method": method, "bounds": (0, 1), "n_resamples": 99}
        known = described_interval(scores, moments(scores), **asked)
        assert known == mean_interval(scores, **asked)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence_level": 95}, "did you mean 0.95"),
        ({"confidence_level": 1.0}, "between 0 and 1"),
        ({"n_resamples": 0}, "n_resamples must be an integer >= 1"),
        ({"seed": -1}, "seed must be an integer >= 0"),
        ({"bounds": (0, 1)}, "found 2"),
        ({"bounds": (1, 5)}, "found 0.5"),
        ({"bounds": (1, 0)}, "smallest and largest"),
        ({"bounds": (NAN, 1)}, "smallest and largest"),
        ({"method": "bounded"}, "give bounds"),
        ({"method": "bounded", "bounds": (0, math.inf)}, "give bounds"),
        ({"method": "gaffke"}, "give bounds"),
        ({"method": "gaffke", "bounds": (0, math.inf)}, "give bounds"),
        ({"method": "wilson"}, "scores of 0 and 1"),
        ({"method": "clopper-pearson"}, "scores of 0 and 1"),
        ({"method": "jeffreys"}, "scores of 0 and 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        mean_interval([0.5, 1.0, 2.0], **options)


def test_infinite_scores_are_refused():
    with pytest.raises(DataError, match="infinite"):
        mean_interval([0.5, math.inf])


def test_an_unknown_method_is_met_with_the_nearest():
    with pytest.raises(UnknownNameError, match="'wilson'"):
        mean_interval([], method="wilsn")


@settings(max_examples=60)
@given(scores_between(0, 1))
def test_bounded_stays_within_the_bounds_and_holds_the_mean(scores):
    interval = mean_interval(scores, method="bounded", bounds=(0, 1))
    assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
    assert interval.low < interval.high


@settings(max_examples=40)
@given(scores_between(-5, 5, least=2), st.floats(-3, 3), st.floats(0.1, 10))
def test_intervals_move_and_stretch_with_the_scores(scores, shift, scale):
    # A smaller spread is lost when a number is added.
    assume(np.ptp(scores) == 0 or np.ptp(scores) > 1e-6)
    low, high = -5 * scale + shift, 5 * scale + shift
    for method in ("t", "bounded", "gaffke"):
        before = mean_interval(scores, method=method, bounds=(-5, 5))
        after = mean_interval(scores * scale + shift, method=method, bounds=(low, high))
        moved = [before.low * scale + shift, before.high * scale + shift]
        assert limits(after) == pytest.approx(moved, abs=1e-7 * (1 + abs(shift) + scale))


@settings(max_examples=30)
@given(scores_between(0, 1, least=2), st.randoms(use_true_random=False))
def test_the_order_of_the_queries_does_not_matter(scores, random):
    shuffled = np.array(random.sample(scores.tolist(), scores.size))
    for method in ("t", "bounded", "gaffke", "percentile", "bca"):
        one, other = (
            mean_interval(order, method=method, bounds=(0, 1)) for order in (scores, shuffled)
        )
        assert limits(one) == pytest.approx(limits(other), abs=1e-9)


@settings(max_examples=30)
@given(scores_between(0, 1, least=2), st.floats(0.5, 0.99), st.floats(0.001, 0.009))
def test_a_higher_level_never_gives_a_narrower_interval(scores, level, more):
    for method in ("t", "bounded", "gaffke", "percentile", "bca"):
        narrow, wide = (
            mean_interval(scores, method=method, bounds=(0, 1), confidence_level=at)
            for at in (level, level + more)
        )
        slack = 0.01 * narrow.standard_error
        assert wide.low <= narrow.low + slack
        assert wide.high >= narrow.high - slack


@pytest.mark.parametrize("method", ["auto", "t", "studentised"])
def test_an_interval_is_cut_where_no_mean_can_be(method):
    milliseconds = [528.0, 546.0, 1659.0]  # SciPy 1.16: t from -698 to 2520
    found = mean_interval(milliseconds, method=method, bounds=(0, math.inf))
    spread = scipy.stats.t.interval(0.95, 2, 911.0, np.std(milliseconds, ddof=1) / math.sqrt(3))
    assert (found.low, found.high) == pytest.approx((0.0, spread[1]))
    assert found.notes[-1] == "the interval is cut at 0"


def test_an_interval_within_the_bounds_is_as_without_them():
    scores = [1.0, 2.0, 3.0, 5.0]
    assert limits(mean_interval(scores, method="t", bounds=(-50, 50))) == limits(
        mean_interval(scores, method="t")
    )


def bounded_by_hand(scores, level):
    """The formula of `bounded` on the range from 0 to 1."""
    n, mean = len(scores), np.mean(scores)
    worst = mean * (1 - mean)
    variance = ((n - 1) * np.var(scores, ddof=1) + worst) / n
    room = scipy.stats.t.ppf(0.5 + level / 2, n - 1) ** 2 * variance / (n * worst)
    reach = math.sqrt(room * worst + room**2 / 4) / (1 + room)
    centre = (mean + room / 2) / (1 + room)
    return centre - reach, centre + reach


@pytest.mark.parametrize("edge", [0.0, 0.02, 0.021, 0.1])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bounded_adds_the_worst_score_wherever_the_scores_are(edge, level):
    scores = np.array([edge, 0.3, 0.35, 0.4, 0.45, 0.5])
    for side in (scores, 1 - scores):
        interval = mean_interval(side, method="bounded", bounds=(0, 1), confidence_level=level)
        assert limits(interval) == pytest.approx(bounded_by_hand(side, level), rel=1e-12)


@pytest.mark.parametrize("score", [0.97, 0.9799, 0.98, 0.99])
def test_bounded_does_not_jump_where_a_score_comes_close_to_a_bound(score):
    others = [0.5, 0.6, 0.7, 0.8]
    before = mean_interval([*others, score], method="bounded", bounds=(0, 1))
    after = mean_interval([*others, score + 1e-6], method="bounded", bounds=(0, 1))
    assert limits(after) == pytest.approx(limits(before), abs=1e-6)


@settings(max_examples=60)
@given(scores_between(0, 1, least=2), st.sampled_from(["bounded", "gaffke"]))
def test_the_mirrored_scores_have_the_mirrored_interval(scores, method):
    scores = np.round(scores, 3)
    interval = mean_interval(scores, method=method, bounds=(0, 1))
    mirrored = mean_interval(1 - scores, method=method, bounds=(0, 1))
    assert limits(mirrored) == pytest.approx((1 - interval.high, 1 - interval.low), abs=1e-12)


def test_the_bounds_that_are_no_bounds_are_said():
    with pytest.raises(DataError, match="got none: give bounds"):
        mean_interval([0.5, 0.6], method="bounded")
    with pytest.raises(DataError, match="got 0 and inf: give bounds"):
        mean_interval([0.5, 0.6], method="bounded", bounds=(0, math.inf))
    with pytest.raises(DataError, match="got -inf and 1: give bounds"):
        mean_interval([0.5, 0.6], method="bounded", bounds=(-math.inf, 1))


@pytest.mark.parametrize("bounds", [(-math.inf, 1), (0, math.inf), (-math.inf, math.inf)])
def test_bounds_without_an_end_are_no_range(bounds):
    assert mean_interval([0.2, 0.4, 0.9, 0.5, 0.6, 0.7], bounds=bounds).method == "studentised"


def test_the_formula_of_one_bounded_score_is_its_bounds():
    interval = bounded(moments(np.array([0.4])), 0.95, (0.0, 1.0))
    assert (interval.estimate, *limits(interval)) == (0.4, 0.0, 1.0)
    assert math.isnan(interval.standard_error)
    two = bounded(moments(np.array([0.4, 0.5])), 0.95, (0.0, 1.0))
    assert 0.0 < two.low < 0.45 < two.high < 1.0


@pytest.mark.parametrize(
    ("scores", "bounds", "found"),
    [([0.5, 1.1], (0, 1), "1.1"), ([-0.5, 0.5], (0, 1), "-0.5"), ([-1.0, 2.0], (0, 1), "2")],
)
def test_a_score_outside_the_bounds_is_named(scores, bounds, found):
    with pytest.raises(DataError, match=f"found {found}: correct the score"):
        mean_interval(scores, bounds=bounds)


def test_shares_of_no_binary_score_are_refused_with_what_was_found():
    with pytest.raises(DataError, match=r"found scores from 0.25 to 0.5: use 'gaffke'"):
        mean_interval([0.25, 0.5], method="wilson")


def test_an_interval_cut_at_both_ends_says_both():
    interval = mean_interval([0.0, 1.0, 0.5], method="t", bounds=(0, 1))
    assert limits(interval) == (0.0, 1.0)
    assert interval.notes[-1] == "the interval is cut at 0 and 1"


def test_the_t_interval_of_one_score_is_none():
    interval = student_t(moments(np.array([0.4])), 0.95, None)
    assert interval.estimate == 0.4
    assert all(map(math.isnan, limits(interval)))
    assert interval.notes == ("one score: no interval",)


def test_equal_scores_at_the_lower_bound_mirror_those_at_the_upper_one():
    low = mean_interval(np.full(10, 1.0), method="bounded", bounds=(1, 5))
    t = scipy.stats.t.ppf(0.975, 9)
    assert limits(low) == pytest.approx((1.0, 5 - 4 / (1 + t * t / 10)))


@pytest.mark.parametrize("beyond", [1e-12, 1e-10])
@pytest.mark.parametrize("method", ["gaffke", "bounded", "t", "bca", "studentised"])
def test_scores_that_rounding_put_outside_the_bounds_count_as_the_bounds(beyond, method):
    scores = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    inside = mean_interval(scores, method=method, bounds=(0.0, 1.0))
    outside = mean_interval(scores + beyond, method=method, bounds=(0.0, 1.0))
    assert (outside.estimate, outside.high) == (1.0, 1.0)
    assert outside.low == pytest.approx(inside.low, rel=1e-9)
    below = mean_interval(scores - 1 - beyond, method=method, bounds=(0.0, 1.0))
    assert (below.estimate, below.low) == (0.0, 0.0)

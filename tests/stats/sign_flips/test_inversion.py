import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rageval_report.errors import DataError
from rageval_report.stats import PAIRED_INTERVALS, PairedScores
from rageval_report.stats.sign_flips import inversion
from rageval_report.stats.sign_flips.inversion import (
    SecantPoint,
    Shifts,
    follow_secants,
    sign_flip,
    sign_flip_interval,
)
from rageval_report.stats.sign_flips.lattice import lattice_step
from rageval_report.stats.sign_flips.signflip import sign_flip_pvalue


def subset_means(differences):
    """The means of all subsets but the empty one, in order."""
    picks = np.array(list(itertools.product([0.0, 1.0], repeat=len(differences))))[1:]
    return np.sort(picks @ differences / picks.sum(axis=1))


def contains_zero(interval):
    return interval.low <= 0.0 <= interval.high


@pytest.mark.parametrize("n", [6, 9, 12])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_limits_are_means_of_subsets(n, level):
    differences = np.random.default_rng(n).normal(0.3, 1.0, n)
    means, rank = subset_means(differences), math.floor((1 - level) / 2 * 2**n)
    interval = sign_flip_interval(differences, confidence_level=level, midp=False)
    assert interval.low == pytest.approx(means[rank - 1])
    assert interval.high == pytest.approx(means[-rank])


@pytest.mark.parametrize("kind", ["continuous", "ratings"])
def test_the_search_finds_what_the_list_holds(kind):
    rng = np.random.default_rng(17)
    d = rng.normal(0.3, 1.0, 17) if kind == "continuous" else rng.integers(-2, 4, 17).astype(float)
    means, rank = subset_means(d), math.floor(0.025 * 2**17)
    interval = sign_flip_interval(d, midp=False)
    width = interval.high - interval.low
    assert interval.low == pytest.approx(means[rank - 1], abs=1e-5 * width)
    assert interval.high == pytest.approx(means[-rank], abs=1e-5 * width)


@pytest.mark.parametrize("shift", np.linspace(-0.6, 1.2, 19))
def test_a_shift_is_inside_exactly_if_the_test_does_not_reject_it(shift):
    differences = np.random.default_rng(3).normal(0.3, 0.8, 11)
    interval = sign_flip_interval(differences, midp=False)
    accepted = sign_flip_pvalue(differences - shift, midp=False) > 0.05
    assert (interval.low <= shift <= interval.high) == accepted


@settings(max_examples=150)
@given(
    st.integers(6, 24),
    st.integers(0, 10**6),
    st.sampled_from(["continuous", "ratings", "thirds", "binary", "sparse", "hundredths"]),
    st.sampled_from([None, True, False]),
    st.sampled_from([0.9, 0.95]),
)
def test_zero_is_outside_exactly_if_p_is_at_most_alpha(n, seed, kind, midp, level):
    rng = np.random.default_rng(seed)
    differences = {
        "continuous": rng.normal(0.5, 1.0, n),
        "ratings": rng.integers(-1, 4, n).astype(float),
        "thirds": rng.integers(-2, 4, n) / 3,
        "binary": rng.choice([-1.0, 0.0, 1.0], n, p=[0.1, 0.4, 0.5]),
        "sparse": rng.normal(1.0, 1.0, n) * (rng.random(n) < 0.5),
        "hundredths": rng.normal(0.5, 1.0, n).round(2),
    }[kind]
    interval = sign_flip_interval(differences, confidence_level=level, midp=midp)
    rejected = sign_flip_pvalue(differences, midp=midp) <= 1 - level
    assert contains_zero(interval) != rejected


@pytest.mark.parametrize("n", [60, 900])
@pytest.mark.parametrize("effect", [0.0, 1.9, 2.1, 4.0])
@pytest.mark.parametrize("whole", [True, False])
def test_zero_and_p_agree_in_large_samples_too(n, effect, whole):
    d = np.random.default_rng(n).normal(0.0, 1.0, n)
    d = d - d.mean() + effect / math.sqrt(n)
    d = np.rint(2 * d) if whole else d
    assert contains_zero(sign_flip_interval(d)) != (sign_flip_pvalue(d) <= 0.05)


@pytest.mark.parametrize("n", [10, 40, 500])
def test_a_shift_of_all_differences_shifts_the_limits(n):
    d = np.random.default_rng(n).normal(0.2, 1.0, n)
    here, there = sign_flip_interval(d, midp=False), sign_flip_interval(d + 0.7, midp=False)
    slack = 1e-4 * (here.high - here.low)
    assert there.low == pytest.approx(here.low + 0.7, abs=slack)
    assert there.high == pytest.approx(here.high + 0.7, abs=slack)


@pytest.mark.parametrize("n", [10, 40, 500])
def test_swapping_the_sides_mirrors_the_interval(n):
    before, after = np.random.default_rng(n).random((2, n))
    one = sign_flip(PairedScores(before, after), confidence_level=0.95)
    other = sign_flip(PairedScores(after, before), confidence_level=0.95)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-6)


def test_a_higher_level_is_wider():
    d = np.random.default_rng(0).normal(0.2, 1.0, 80)
    limits = [sign_flip_interval(d, confidence_level=level) for level in (0.8, 0.9, 0.95, 0.99)]
    assert [i.low for i in limits] == sorted((i.low for i in limits), reverse=True)
    assert [i.high for i in limits] == sorted(i.high for i in limits)


@pytest.mark.parametrize("kind", ["normal", "ratings", "sparse"])
def test_a_large_sample_is_close_to_the_t_interval(kind):
    rng = np.random.default_rng(1)
    d = {
        "normal": rng.normal(0.02, 1.0, 6000),
        "ratings": rng.integers(-3, 5, 6000).astype(float),
        "sparse": rng.normal(0.0, 1.0, 6000) * (rng.random(6000) < 0.1),
    }[kind]
    error = scipy_stats.sem(d)  # scipy 1.17.1
    low, high = scipy_stats.t.interval(0.95, d.size - 1, d.mean(), error)
    interval = sign_flip_interval(d)
    assert interval.low == pytest.approx(low, abs=0.02 * error)
    assert interval.high == pytest.approx(high, abs=0.02 * error)
    assert interval.standard_error == pytest.approx(error)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_up_to_five_pairs_get_the_t_interval_and_a_note(n):
    d = np.array([0.1, 0.25, -0.07, 0.31, 0.2])[:n]
    expected = scipy_stats.t.interval(0.95, n - 1, d.mean(), scipy_stats.sem(d))  # scipy 1.17.1
    # It contains the smallest and the largest difference, the limits at a lower level.
    expected = min(expected[0], d.min()), max(expected[1], d.max())
    interval = sign_flip_interval(d)
    assert (interval.low, interval.high) == pytest.approx(expected)
    note = f"with {n} pairs the sign-flip interval is unbounded; t interval given"
    note += ", widened to all differences" * (n == 5)
    assert (interval.method, interval.notes) == ("t", (note,))


def test_at_a_higher_level_more_pairs_are_too_few():
    d = np.array([0.1, 0.25, -0.07, 0.31, 0.2, 0.4, 0.15])
    assert sign_flip_interval(d, confidence_level=0.98).method == "sign-flip"
    assert sign_flip_interval(d, confidence_level=0.99).method == "t"


def test_one_pair_has_no_interval():
    interval = sign_flip_interval([0.3])
    assert interval.estimate == 0.3
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.notes == ("with 1 pair there is no interval",)


def test_identical_pipelines_have_a_point_at_zero():
    interval = sign_flip(PairedScores(np.ones(9), np.ones(9)), confidence_level=0.95)
    assert (interval.low, interval.high, interval.notes) == (0.0, 0.0, ("identical",))
    assert (interval.estimate, interval.standard_error) == (0.0, 0.0)


@pytest.mark.parametrize("n", [6, 30, 2000])
def test_a_constant_shift_is_a_point(n):
    interval = sign_flip_interval(np.full(n, 0.3))
    assert interval.low == interval.high == pytest.approx(0.3)
    assert interval.notes == ("all differences are equal",)


def test_where_half_ties_alone_reject_zero_the_interval_ends_clearly_above_it():
    differences = [1, 1, 2, -1, 0, 1, 2, 1, 0, 1]
    assert (
        sign_flip_pvalue(differences, midp=True) <= 0.05 < sign_flip_pvalue(differences, midp=False)
    )
    half, full = (sign_flip_interval(differences, midp=midp) for midp in (True, False))
    assert 0.01 < half.low < half.estimate
    assert full.low == 0.0
    assert half.notes == full.notes == ()


def test_a_level_that_is_the_pvalue_itself_ends_beside_zero():
    # Of 64 patterns one has all signs alike, five turn the -1 and a 1, and one the -1 alone.
    differences = [1, 1, 1, 1, 1, -1]
    assert sign_flip_pvalue(differences) == 2 * (1 + 6 / 2) / 64
    interval = sign_flip_interval(differences, confidence_level=1 - 0.125)
    assert 0 < interval.low < 1e-6
    assert f"{interval.low:.3f}" == "0.000"


def spread_pvalue(differences, step, shift):
    """The one-sided p-value of a shift below the mean from all patterns, written out."""
    moved = np.asarray(differences, float) - shift
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=moved.size)))
    if (moved > 0).all():
        return 0.5 ** (moved.size + 1)
    beyond = signs @ moved - moved.sum()
    return float(np.clip((beyond + step) / (2 * step), 0.0, 1.0).mean())


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["ratings", "fifths", "reciprocal ranks"])
def test_the_limits_on_a_lattice_are_where_its_spread_sums_reach_the_level(kind, seed):
    rng = np.random.default_rng(seed)
    n, step, values = {
        "ratings": (11, 1.0, np.arange(1.0, 6.0)),
        "fifths": (9, 0.2, np.arange(6) / 5),
        "reciprocal ranks": (10, 1 / 12, 1 / np.array([1, 1, 2, 3, 4])),
    }[kind]
    d = rng.choice(values, n) - rng.choice(values, n) + 0.0
    assert lattice_step(d) == pytest.approx(step)
    interval = sign_flip_interval(d, confidence_level=0.9)
    for side, limit in ((1, interval.low), (-1, -interval.high)):
        if limit > (side * d).min() + 1e-9:
            assert spread_pvalue(side * d, step, limit) == pytest.approx(0.05, abs=1e-5)
        else:
            assert spread_pvalue(side * d, step, limit + 1e-9) >= 0.05


def test_on_a_lattice_the_interval_is_nested_and_never_contradicts_the_test():
    rng = np.random.default_rng(14)
    levels = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
    excluded = 0
    for _ in range(150):
        n = int(rng.integers(6, 45))
        values = (np.arange(1.0, 6.0), 1 / np.arange(1, 9), np.arange(4) / 3, np.arange(21) / 100)
        chosen = values[rng.integers(4)]
        d = rng.choice(chosen, n) - rng.choice(chosen, n) + rng.choice([0.0, chosen[1]])
        d[np.abs(d) < 1e-12] = 0.0
        if not d.any():
            continue
        found = [sign_flip_interval(d, confidence_level=level) for level in levels]
        pvalue = sign_flip_pvalue(d)
        for interval, level in zip(found, levels, strict=True):
            excludes_zero = interval.low > 0 or interval.high < 0
            assert excludes_zero == (pvalue <= 1 - level), (d.tolist(), level)
            assert not 0 < abs(interval.low) < 1e-13, d.tolist()
            excluded += excludes_zero
        lows, highs = [each.low for each in found], [each.high for each in found]
        precision = 2e-6 * (found[3].high - found[3].low)
        assert (np.diff(lows) <= precision).all(), d.tolist()
        assert (np.diff(highs) >= -precision).all(), d.tolist()
    assert excluded > 50


def test_the_limits_are_the_same_every_time():
    d = np.random.default_rng(0).normal(0.1, 1.0, 300)
    assert sign_flip_interval(d) == sign_flip_interval(d.copy())


def test_the_pvalue_of_a_shift_is_that_of_the_shifted_differences():
    d = np.random.default_rng(2).normal(1.0, 1.0, 18)
    expected = sign_flip_pvalue(d - 0.4, midp=False, alternative="greater")
    assert Shifts.of(d, None).pvalue(0.4, half=False) == pytest.approx(expected)


def test_the_interval_is_in_the_table():
    before, after = np.random.default_rng(0).random((2, 12))
    member = PAIRED_INTERVALS["sign-flip"]
    found = member(PairedScores(before, after), confidence_level=0.9, n_resamples=99, seed=0)
    assert found == sign_flip_interval(after - before, confidence_level=0.9)


def test_no_difference_at_all_is_refused():
    with pytest.raises(DataError, match="at least one"):
        sign_flip_interval([math.nan])


def test_a_level_of_95_is_refused():
    with pytest.raises(DataError, match=r"0\.95"):
        sign_flip_interval([0.1, 0.2], confidence_level=95)


def test_a_difference_that_equals_the_shift_carries_no_sign():
    shifts = Shifts.of(np.array([0.11, 0.54, 0.73, 0.98]), None)
    assert shifts.pvalue(0.11, half=False) == 2.0**-3  # three differences are left, all above


@pytest.mark.parametrize("kind", ["normal", "tenths", "heavy", "one large"])
@pytest.mark.parametrize("n", [30, 60, 200])
def test_secants_end_where_a_bracketed_search_does(kind, n, monkeypatch):
    rng = np.random.default_rng(n)
    d = {
        "normal": lambda: rng.normal(0.2, 1.0, n),
        "tenths": lambda: rng.integers(-4, 7, n) / 10,
        "heavy": lambda: rng.standard_t(1.5, n),
        "one large": lambda: np.append(rng.normal(0.0, 0.01, n - 1), 3.0),
    }[kind]()
    quick = sign_flip_interval(d)
    monkeypatch.setattr(inversion, "follow_secants", lambda *_: None)
    bracketed = sign_flip_interval(d)  # scipy.optimize.brentq, SciPy 1.17
    half = (bracketed.high - bracketed.low) / 2
    assert quick.low == pytest.approx(bracketed.low, abs=2e-6 * half)
    assert quick.high == pytest.approx(bracketed.high, abs=2e-6 * half)


def test_secants_give_up_where_the_excess_is_a_staircase():
    assert (
        follow_secants(lambda shift: -1.0 if shift < 0.3 else 1.0, SecantPoint(0.0, 1.0), 1e-6, 1.0)
        is None
    )


@pytest.mark.parametrize("n", [7, 8, 11])
def test_the_limits_of_the_mid_p_test_are_where_half_the_ties_are_rejected(n):
    rng = np.random.default_rng(n)
    d = rng.normal(0.3, 1.0, n)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))

    def midp(shift, side):
        sums, seen = side * signs @ (d - shift), side * (d - shift).sum()
        ties = np.abs(sums - seen) < 1e-9
        return np.mean((sums > seen) & ~ties) + np.mean(ties) / 2

    interval = sign_flip_interval(d, confidence_level=0.9, midp=True)
    assert midp(interval.low - 1e-6, 1) <= 0.05 < midp(interval.low + 1e-6, 1)
    assert midp(interval.high + 1e-6, -1) <= 0.05 < midp(interval.high - 1e-6, -1)

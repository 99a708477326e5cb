"""Witnesses: the series over the differences one by one, the law on a lattice by convolution."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.sign_flips.inversion import Shifts, sign_flip
from rageval_report.stats.sign_flips.large_samples import (
    Histogram,
    LargeRows,
    LargeSample,
    large_tails,
    lowest_shifts_of_large,
    needed_order,
)
from rageval_report.stats.sign_flips.meet_in_the_middle import lattice_law
from rageval_report.stats.sign_flips.sign_tail import scattered_tail
from rageval_report.stats.sign_flips.signflip import sign_flip_pvalue
from rageval_report.stats.sign_flips.together import keep_limits, keep_pvalues
from rageval_report.stats.states.power_sums import PowerSums

SCATTERED = {
    "normal": lambda rng, n: rng.normal(0.02, 1.0, n),
    "skewed": lambda rng, n: rng.exponential(1.0, n) - 0.97,
    "shares": lambda rng, n: rng.beta(8, 2, n) - rng.beta(7, 2, n) - 0.02,
    "seconds": lambda rng, n: rng.lognormal(size=n) - rng.lognormal(size=n),
    "half are equal": lambda rng, n: rng.normal(0.05, 1.0, n) * (rng.random(n) < 0.5),
    "most are equal": lambda rng, n: rng.uniform(-0.9, 1.0, n) * (rng.random(n) < 0.2),
    "three are huge": lambda rng, n: np.append(rng.normal(0.02, 1.0, n - 3), [9.0, -8.0, 9.5]),
}
LATTICES = {
    "ratings": lambda rng, n: rng.integers(-3, 4, n).astype(float),
    "fifths": lambda rng, n: rng.integers(-5, 6, n) / 5,
    "hundredths": lambda rng, n: rng.integers(-60, 64, n) / 100,
}


def sample_of(kinds, kind, n, seed=0):
    return kinds[kind](np.random.default_rng([n, seed]), n)


@pytest.mark.parametrize("kind", SCATTERED)
@pytest.mark.parametrize("n", [2_000, 20_000])
def test_a_tail_is_that_of_the_differences_one_by_one(kind, n):
    differences = sample_of(SCATTERED, kind, n)
    moved = np.abs(differences[differences != 0])
    expected = scattered_tail(moved, None, abs(differences.sum())).at_least
    sample = LargeSample.of(differences, None, None)
    if sample is not None:  # else too many differences are large, and the ladder has them
        assert large_tails([sample]) == pytest.approx([expected], rel=1e-10)
    assert sign_flip_pvalue(differences) == pytest.approx(2 * expected, rel=1e-10)


@pytest.mark.parametrize(("kind", "n"), [("normal", 2_000), ("most are equal", 20_000)])
def test_most_samples_need_no_other_method(kind, n):
    sample = LargeSample.of(sample_of(SCATTERED, kind, n), None, None)
    assert np.isfinite(large_tails([sample])).all()
    assert np.isfinite(lowest_shifts_of_large([sample, sample.with_signs_reversed()], 0.025)).all()


@pytest.mark.parametrize("kind", SCATTERED)
@pytest.mark.parametrize("level", [0.05, 0.0005])
def test_a_limit_is_the_shift_whose_tail_is_the_level(kind, level):
    differences = sample_of(SCATTERED, kind, 5_000)
    interval = sign_flip(PairedScores(np.zeros(5_000), differences), confidence_level=1 - 2 * level)
    for limit, side in ((interval.low, 1.0), (interval.high, -1.0)):
        left = side * (differences - limit)
        assert scattered_tail(np.abs(left), None, left.sum()).at_least == pytest.approx(
            level, rel=1e-5
        )


@pytest.mark.parametrize("kind", LATTICES)
def test_spread_sums_are_half_ties_but_for_the_bound_on_returns(kind):
    differences = sample_of(LATTICES, kind, 1_600)
    step = float(np.min(np.abs(differences[differences != 0])))
    whole = np.rint(differences / step).astype(np.int64)
    steps, counts = np.unique(np.abs(whole[whole != 0]), return_counts=True)
    law = lattice_law(steps, counts.astype(float))
    place = round((law.values[-1] + abs(whole.sum())) / 2)
    expected = law.weights[place + 1 :].sum() + law.weights[place] / 2
    sample = LargeSample.of(differences, None, step)
    turned = sample if sample.mean > 0 else sample.with_signs_reversed()
    tails = LargeRows.of([turned]).tails(np.zeros(1))
    bound = turned.returns_of(0.0, tails, 0, 8_000.0)
    assert tails.at_least[0] == pytest.approx(expected, rel=bound + 1e-10)


@pytest.mark.parametrize("kind", LATTICES)
@pytest.mark.parametrize("n", [2_000, 30_000])
def test_the_limits_on_a_lattice_are_those_of_the_search_one_by_one(kind, n):
    differences = sample_of(LATTICES, kind, n)
    pairs = PairedScores(np.zeros(n), differences)
    interval = sign_flip(pairs, confidence_level=0.95)
    shifts = Shifts.of(differences, pairs.step)
    low = shifts.lowest(0.025, half=True)
    high = -shifts.with_signs_reversed().lowest(0.025, half=True)
    half_width = (high - low) / 2
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-5 * half_width)


def test_sums_of_powers_give_what_the_differences_give():
    differences = sample_of(SCATTERED, "shares", 40_000)
    sums = PowerSums.of(differences, 26, has_bins=True)
    one, other = LargeSample.of(differences, None, None), LargeSample.of_sums(sums)
    assert large_tails([other]) == pytest.approx(large_tails([one]), rel=1e-11)
    limits = [lowest_shifts_of_large([sample], 0.025) for sample in (one, other)]
    assert limits[1] == pytest.approx(limits[0], abs=1e-11)


@settings(max_examples=10, deadline=None)
@given(st.integers(1_501, 4_000), st.integers(1_501, 4_000), st.integers(0, 10**6))
def test_a_sample_is_the_same_in_any_company(n, other, seed):
    rng = np.random.default_rng(seed)
    alone = PairedScores(np.zeros(n), rng.normal(0.03, 1.0, n))
    again = PairedScores(alone.baseline, alone.candidate)
    beside = [
        PairedScores(np.zeros(other), rng.standard_t(4, other)),
        PairedScores(np.zeros(other), rng.integers(-2, 4, other) / 3),
    ]
    for samples in ([alone], [*beside, again]):
        keep_pvalues(samples)
        keep_limits(samples, 0.95)
    assert again.sign_flip_pvalues == alone.sign_flip_pvalues
    assert again.sign_flip_limits == alone.sign_flip_limits
    fresh = PairedScores(alone.baseline, alone.candidate)
    interval = sign_flip(fresh, confidence_level=0.95)
    assert (interval.low, interval.high) == alone.sign_flip_limits[0.95]


def test_swapped_sides_have_mirrored_limits_and_one_pvalue():
    differences = sample_of(SCATTERED, "skewed", 3_000)
    pairs = PairedScores(np.zeros(3_000), differences)
    one, other = (sign_flip(each, confidence_level=0.9) for each in (pairs, pairs.swapped()))
    assert (one.low, one.high) == (-other.high, -other.low)
    assert sign_flip_pvalue(differences) == sign_flip_pvalue(-differences)


@pytest.mark.parametrize("unit", [1e-310, 1e-150, 1e200])
def test_the_unit_of_the_scores_does_not_matter(unit):
    differences = sample_of(SCATTERED, "normal", 2_000)
    expected = sign_flip_pvalue(differences)
    assert sign_flip_pvalue(differences * unit) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "differences",
    [
        np.full(2_000, 0.25),
        np.append(np.zeros(1_990), np.arange(1.0, 11.0)),  # ten of them are all
        np.random.default_rng(1).standard_cauchy(5_000),
    ],
    ids=["equal", "few differ", "a few are all"],
)
def test_what_does_not_suit_is_left_to_the_ladder(differences):
    sample = LargeSample.of(differences, None, None)
    assert sample is None or np.isnan(large_tails([sample])).all()


def test_a_lattice_that_was_not_recognised_is_no_smooth_law():
    rng = np.random.default_rng(2)
    nearly = rng.integers(-2, 4, 3_000) + 1e-7 * rng.random(3_000)
    sample = LargeSample.of(nearly, None, None)
    assert not sample.histogram.dies_out(8_000.0)
    assert np.isnan(large_tails([sample])).all()


def test_a_coarse_lattice_whose_waves_return_is_left_to_the_search():
    rng = np.random.default_rng(3)
    coarse = rng.integers(-1, 2, 3_000) * (rng.random(3_000) < 0.3) * 1.0
    sample = LargeSample.of(coarse, None, 1.0)
    tails = LargeRows.of([sample]).tails(np.array([-0.02]))
    assert sample.returns_of(0.0, tails, 0, 2_000.0) > 1e-4  # at zero nothing damps them
    damped = sample.returns_of(math.pi / 10, tails, 0, 2_000.0)
    assert damped < 0.05 * sample.returns_of(0.0, tails, 0, 2_000.0)


def test_a_histogram_of_half_of_a_lattice_sees_the_coarser_one():
    values = 2.0 * np.random.default_rng(4).integers(-3, 4, 2_000)
    unit = math.sqrt(float(np.square(values).sum()))
    assert not Histogram.of(values, None, unit, 1.0).dies_out(2_000.0)
    assert Histogram.of(values, None, unit, 2.0).dies_out(2_000.0)


@pytest.mark.parametrize("kind", ["normal", "shares", "half are equal", "three are huge"])
@pytest.mark.parametrize("n", [2_000, 20_000, 400_000])
def test_powers_that_are_left_out_move_no_digit_that_counts(kind, n):
    sample = LargeSample.of(sample_of(SCATTERED, kind, n), None, None)
    kept = sample.sums.size - 1
    values = (sample_of(SCATTERED, kind, n) - sample.mean) / sample.unit
    values = values[~np.isin(values, sample.large)]
    every = replace(sample, sums=np.array([np.sum(values**power) for power in range(27)]))
    assert kept == 26 or every.sums[kept + 2] > 0.0
    # Far out a tail depends most on high powers.
    shifts = sample.mean - sample.unit / math.sqrt(n) * np.array([0.5, 2.0, 4.0, 5.5]) / math.sqrt(
        n
    )
    for shift in shifts:
        one, other = (LargeRows.of([each]).tails(np.array([shift])) for each in (sample, every))
        assert one.at_least == pytest.approx(other.at_least, rel=1e-11)


def test_more_differences_need_fewer_powers():
    orders = [
        LargeSample.of(sample_of(SCATTERED, "shares", n), None, None).sums.size - 1
        for n in (2_000, 20_000, 400_000)
    ]
    assert orders == sorted(orders, reverse=True)
    assert orders[0] > orders[-1]
    assert needed_order(1.0) == 26
    assert needed_order(0.0) == 4


@pytest.mark.parametrize("kind", SCATTERED)
@pytest.mark.parametrize("n", [2_000, 20_000])
def test_what_sums_of_powers_show_near_zero_is_so(kind, n):
    differences = sample_of(SCATTERED, kind, n)
    sample = LargeSample.of(differences, None, None)
    if sample is None:
        return
    values = differences[np.abs(differences - sample.mean) <= 0.085 * sample.unit] / sample.unit
    waves = np.linspace(18.525, max(sample.known_wave, 18.525), 9)
    lengths = np.abs(np.exp(1j * np.multiply.outer(waves, values)).sum(axis=1))
    # The characteristic function is at most exp(-(n - length) / 4): below 1e-9 of the first term.
    if sample.known_wave:
        assert ((values.size - lengths) / 4.0 >= math.log(1e9)).all()
    histogram = sample.histogram
    assert sample.dies_out(8_000.0) == replace(histogram, seen=[]).dies_out(8_000.0)


def test_nothing_is_known_where_the_mean_is_far_beyond_the_spread():
    sample = LargeSample.of(100.0 + sample_of(SCATTERED, "normal", 5_000), None, None)
    assert np.isnan(LargeRows.of([sample]).tails(np.zeros(1)).at_least).all()

"""Many samples at once give what each of them gives alone, and what other methods give."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.sign_flips.fourier import IntegrationLine, tail_series
from rageval_report.stats.sign_flips.inversion import Shifts, search_limits, shift_rows, sign_flip
from rageval_report.stats.sign_flips.limit_batch import lowest_shifts
from rageval_report.stats.sign_flips.meet_in_the_middle import lattice_law, listed_tail
from rageval_report.stats.sign_flips.saddlepoint import LEAST_TILT, tilt
from rageval_report.stats.sign_flips.sign_sums import SignSums
from rageval_report.stats.sign_flips.sign_tail import scattered_tail, scattered_tails
from rageval_report.stats.sign_flips.signflip import pvalue_of_pairs, sign_flip_pvalue
from rageval_report.stats.sign_flips.tail_batch import TailRows, smooth_tails
from rageval_report.stats.sign_flips.together import keep_limits, keep_pvalues
from rageval_report.stats.sign_flips.trapezoid import shortest_period

KINDS = {
    "normal": lambda rng, n: rng.normal(0.2, 1.0, n),
    "skewed": lambda rng, n: rng.exponential(1.0, n) - 0.8,
    "heavy tails": lambda rng, n: rng.standard_t(2, n) + 0.2,
    "one dominates": lambda rng, n: np.append(rng.normal(0.2, 1.0, n - 1), 40.0),
    "geometric sizes": lambda rng, n: 1.1 ** np.arange(n) * rng.choice([-1, 1], n),
    "nine tenths zeros": lambda rng, n: rng.normal(0.5, 1.0, n) * (rng.random(n) < 0.1),
    "ratings": lambda rng, n: rng.integers(-2, 4, n).astype(float),
    "thirds": lambda rng, n: rng.integers(-2, 4, n) / 3,
    "nearly a lattice": lambda rng, n: rng.integers(-2, 4, n) + 1e-4 * rng.random(n),
    "binary": lambda rng, n: rng.integers(-1, 2, n).astype(float),
    "identical": lambda rng, n: np.zeros(n),
    "a constant shift": lambda rng, n: np.full(n, 0.3),
}


def samples_of(n, seed=0):
    rng = np.random.default_rng([n, seed])
    return [PairedScores(np.zeros(n), np.asarray(kind(rng, n))) for kind in KINDS.values()]


@pytest.mark.parametrize("n", [2, 7, 24, 40, 60, 300])
def test_what_is_kept_is_what_each_sample_gives_alone(n):
    together = samples_of(n)
    keep_pvalues(together)
    keep_limits(together, 0.95)
    for kept, alone in zip(together, samples_of(n), strict=True):
        half = alone.step is not None
        assert pvalue_of_pairs(kept, "two-sided", midp=half) == pytest.approx(
            pvalue_of_pairs(alone, "two-sided", midp=half), rel=1e-9
        )
        one, other = (sign_flip(pairs, confidence_level=0.95) for pairs in (kept, alone))
        width = max(other.high - other.low, 1e-9)
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-9 * width)
        assert one.notes == other.notes


def test_most_samples_are_kept():
    together = samples_of(200)
    keep_pvalues(together)
    keep_limits(together, 0.9)
    has_pvalue = [bool(pairs.sign_flip_pvalues) for pairs in together]
    has_limits = [bool(pairs.sign_flip_limits) for pairs in together]
    assert has_pvalue[:5] == [True] * 5
    assert has_limits[:5] == [True] * 5
    assert has_limits[6:8] == [True, True]  # ratings and thirds
    assert has_limits[-2:] == [False, False]  # nothing to search


@settings(max_examples=25)
@given(st.integers(33, 90), st.integers(33, 90), st.integers(0, 10**6))
def test_a_sample_is_the_same_in_any_company(n, other, seed):
    rng = np.random.default_rng(seed)
    one = PairedScores(np.zeros(n), rng.normal(0.3, 1.0, n))
    again = PairedScores(one.baseline, one.candidate)
    beside = [PairedScores(np.zeros(other), rng.standard_t(3, other)) for _ in range(3)]
    for samples in ([one], [*beside, again]):
        keep_pvalues(samples)
        keep_limits(samples, 0.95)
    # A batch leaves what it cannot settle to the search of one sample, in any company.
    assert one.sign_flip_pvalues == pytest.approx(again.sign_flip_pvalues, rel=1e-11)
    assert list(one.sign_flip_limits) == list(again.sign_flip_limits)
    for level, ends in one.sign_flip_limits.items():
        assert ends == pytest.approx(again.sign_flip_limits[level], rel=1e-9)


@settings(max_examples=25)
@given(st.integers(34, 200), st.integers(0, 10**6))
def test_swapped_and_shuffled_samples_agree(n, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(0.2, 1.0, n)
    samples = [PairedScores(np.zeros(n), d) for d in (values, -values, rng.permutation(values))]
    keep_pvalues(samples)
    keep_limits(samples, 0.95)
    # A batch leaves what it cannot settle to the search of one sample.
    assume(all(pairs.sign_flip_pvalues and pairs.sign_flip_limits for pairs in samples))
    pvalues = [pairs.sign_flip_pvalues["two-sided", False] for pairs in samples]
    limits = [pairs.sign_flip_limits[0.95] for pairs in samples]
    assert pvalues[1:] == pytest.approx([pvalues[0]] * 2, rel=1e-9)
    slack = 1e-6 * (limits[0][1] - limits[0][0])
    assert (-limits[1][1], -limits[1][0]) == pytest.approx(limits[0], abs=slack)
    assert limits[2] == pytest.approx(limits[0], abs=slack)


@pytest.mark.parametrize("kind", ["normal", "skewed", "heavy tails", "geometric sizes"])
@pytest.mark.parametrize("n", [34, 37])
def test_tails_at_once_are_those_of_two_lists(kind, n):
    values = np.abs(KINDS[kind](np.random.default_rng(n), n))
    signs = np.where(np.arange(n) % 3 == 0, -1, 1)
    threshold = abs(float(signs @ values))
    [found] = scattered_tails(values[np.newaxis], np.array([threshold]))
    expected = listed_tail(values, np.ones(n), threshold).at_least
    assert math.isnan(found) or found == pytest.approx(expected, rel=3e-4)
    assert scattered_tail(values, None, threshold).at_least == pytest.approx(expected, rel=3e-4)


@pytest.mark.parametrize("deviations", [0.0, 0.5, 1.5, 2.5, 3.5, 5.0])
@pytest.mark.parametrize("n", [60, 500, 1500])
def test_tails_at_once_are_those_of_the_whole_series(deviations, n):
    """Another line, another period, and every term out to 4,000 tilts."""
    values = np.random.default_rng(n).gamma(2.0, 1.0, n)
    unit = float(np.linalg.norm(values))
    sums, reached = SignSums(values / unit), deviations
    c = 1.3 * max(tilt(sums, reached), LEAST_TILT)
    line = IntegrationLine(c, 1e-9, has_few_terms=False)
    expected = tail_series(sums, np.array([reached]), line).at_least[0]
    [found] = scattered_tails(values[np.newaxis], np.array([reached * unit]))
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
def test_a_spread_sum_is_a_mean_of_tails(spread):
    """Of a lattice law by convolution, spread evenly over some of its cells."""
    steps = np.random.default_rng(4).integers(1, 9, 80)
    distinct, counts = np.unique(steps, return_counts=True)
    law = lattice_law(distinct, counts.astype(float))
    threshold = 40.25
    share = np.clip((law.values + spread - threshold) / (2 * spread or 1e-9), 0.0, 1.0)
    expected = float(law.weights @ share)
    rows = TailRows(steps[np.newaxis] * 1.0, np.array([threshold]), np.array([spread]))
    tails = smooth_tails(rows)
    settled = tails.settled(0, 4000.0)
    if spread:
        assert settled == pytest.approx(expected, rel=1e-4)
    else:  # a staircase: no series without its far terms knows on which stair it is
        assert math.isnan(settled) or settled == pytest.approx(expected, rel=1e-3)


def test_what_needs_more_is_not_settled():
    values = np.stack([np.tile([1.0, 2.0], 30), np.tile([1.0, np.pi], 30), np.arange(1.0, 61.0)])
    found = scattered_tails(values, np.array([20.0, 30 - 10 * np.pi + 20 * np.pi, 1829.0]))
    assert np.isnan(found).all()


@pytest.mark.parametrize("kind", ["normal", "skewed", "ratings", "thirds", "one dominates"])
@pytest.mark.parametrize("n", [40, 150])
@pytest.mark.parametrize("confidence_level", [0.8, 0.95, 0.999])
def test_limits_at_once_are_those_of_the_search(kind, n, confidence_level):
    level = (1 - confidence_level) / 2
    [pairs] = [samples_of(n, 1)[list(KINDS).index(kind)]]
    half = pairs.step is not None
    shifts = Shifts.of(pairs.differences, pairs.step)
    [(low, high)] = search_limits([shifts], level, half=[half])
    found = shifts.lowest(level, half), -shifts.with_signs_reversed().lowest(level, half)
    assert (low, high) == pytest.approx(found, abs=2e-4 * (high - low))


def test_the_limit_is_the_shift_whose_pvalue_is_the_level():
    values = np.random.default_rng(0).normal(0.4, 1.0, 70)
    for level in (0.1, 0.025, 0.001):
        [low] = lowest_shifts(shift_rows([Shifts(values)]), level)
        pvalue = sign_flip_pvalue(values - low, alternative="greater")
        assert pvalue == pytest.approx(level, rel=1e-4)


def test_weights_move_each_difference_by_its_own_share():
    rng = np.random.default_rng(8)
    values, weights = rng.normal(0.4, 1.0, 60), rng.integers(1, 5, 60).astype(float)
    weights /= weights.mean()
    [low] = lowest_shifts(shift_rows([Shifts(values, weights=weights)]), 0.025)
    pvalue = sign_flip_pvalue(values - low * weights, alternative="greater")
    assert pvalue == pytest.approx(0.025, rel=1e-4)


@pytest.mark.parametrize("threshold", [0.0, 1.0, 3.0])
def test_a_longer_period_changes_nothing(threshold):
    """The tails of 50 equal values are binomial; one period away they are next to nothing."""
    rng = np.random.default_rng(1)
    values = rng.random(50)
    values /= np.linalg.norm(values)
    sums = SignSums(values)
    c = max(tilt(sums, threshold), LEAST_TILT)
    short = shortest_period(sums.total, threshold, c, 1e-3, 1e-11)
    line = IntegrationLine(c, 1e-3, threshold=threshold)
    expected = tail_series(sums, np.array([threshold]), IntegrationLine(c, 1e-12)).at_least[0]
    found = tail_series(sums, np.array([threshold]), line).at_least[0]
    assert threshold <= short < 12
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("sizes", [(40, 150), (120, 129), (100, 192), (128, 136), (33, 700)])
def test_rows_of_one_batch_have_the_digits_of_each_alone(sizes):
    """Samples with few changes have up to 192 of them as often as not more than 128."""
    rng = np.random.default_rng(sizes)
    differences = [rng.normal(0.1, 1.0, n) for n in sizes for _ in range(3)]
    together, alone = (
        [PairedScores(np.zeros_like(each), each) for each in differences] for _ in range(2)
    )
    keep_pvalues(together)
    for kept, one in zip(together, alone, strict=True):
        keep_pvalues([one])
        assert kept.sign_flip_pvalues == one.sign_flip_pvalues
        assert kept.sign_flip_pvalues


# -- differences that lie far from zero and close to each other


@pytest.mark.parametrize("n", [60, 2000])
@pytest.mark.parametrize("far", [1e3, 1e5, 1e6, -1e6])
def test_limits_of_differences_far_from_zero_are_those_of_the_t_test(n, far):
    # Such as tokens after a prompt that is longer by about the same number for each query. A table
    # from 0 to them would have a million places for each standard deviation.
    rng = np.random.default_rng(n)
    pairs = PairedScores(np.zeros(n), far + rng.normal(size=n))
    keep_pvalues([pairs])
    keep_limits([pairs], 0.95)
    found = sign_flip(pairs, confidence_level=0.95)
    known = stats.ttest_1samp(pairs.differences, 0.0).confidence_interval(0.95)
    half = (known.high - known.low) / 2
    assert found.low == pytest.approx(known.low, abs=0.03 * half)
    assert found.high == pytest.approx(known.high, abs=0.03 * half)
    assert pvalue_of_pairs(pairs, "two-sided", midp=False) <= 2.0 ** (1 - min(n, 1000))
    sample = pairs.large_sample
    assert sample is None or sample.histogram.counts.size < 2**20


@pytest.mark.parametrize("n", [60, 2000])
@pytest.mark.parametrize(("far", "noise"), [(1e6, 1e-3), (1e9, 1e-3), (1e13, 1.0), (2.0**45, 0.01)])
def test_differences_that_only_rounding_separates_have_their_mean_as_limits(n, far, noise):
    rng = np.random.default_rng(n)
    pairs = PairedScores(np.zeros(n), far + noise * rng.normal(size=n))
    keep_pvalues([pairs])
    keep_limits([pairs], 0.95)
    found = sign_flip(pairs, confidence_level=0.95)
    assert found.low == found.high == found.estimate
    assert found.estimate == pytest.approx(pairs.mean, rel=1e-15)
    assert found.notes == ("all differences are equal",)

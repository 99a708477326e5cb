"""Work that is done once for several numbers gives the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.stats.base import paired_differences
from rageval_report.stats.pairs.discordant import is_binary
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.sign_flips.inversion import sign_flip, sign_flip_interval
from rageval_report.stats.sign_flips.lattice import count_multiples, lattice_step
from rageval_report.stats.sign_flips.sign_sums import SignSums
from rageval_report.stats.sign_flips.signflip import pvalue_of_pairs, pvalue_on_step

_SCORES = st.lists(
    st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.1 + 0.2, 0.7, 1.0, -1.0, 1e6, 1 / 3]),
    min_size=14,
    max_size=28,
)


@given(_SCORES)
def test_differences_below_the_rounding_of_the_scores_are_zero_and_all_others_stay(scores):
    before, after = np.split(np.array(scores[: len(scores) // 2 * 2]), 2)
    plain = after - before
    scale = max(1.0, np.abs(before).max(), np.abs(after).max())
    expected = np.where(np.abs(plain) <= 1e-12 * scale, 0.0, plain)
    differences = paired_differences(before, after)
    np.testing.assert_array_equal(differences, expected)
    assert not np.signbit(differences[differences == 0]).any()


@given(_SCORES, st.booleans())
def test_the_kept_pvalue_is_that_of_the_differences(scores, midp):
    pairs = PairedScores.of(*np.split(np.array(scores[: len(scores) // 2 * 2]), 2))
    for alternative in ("less", "two-sided", "greater", "two-sided"):
        expected = pvalue_on_step(pairs.differences, pairs.step, midp=midp, alternative=alternative)
        assert pvalue_of_pairs(pairs, alternative, midp=midp) == expected


def test_the_interval_of_pairs_is_that_of_their_differences_after_any_test():
    rng = np.random.default_rng(5)
    for candidate in (rng.beta(2, 1, 300), rng.integers(0, 6, 300) / 5):
        pairs = PairedScores.of(np.zeros(300), candidate - 0.5)
        pvalue_of_pairs(pairs, "less", midp=pairs.step is None)
        expected = sign_flip_interval(candidate - 0.5, confidence_level=0.9)
        assert sign_flip(pairs, confidence_level=0.9) == expected


@pytest.mark.parametrize("place", [0, 63, 64, 199])
def test_a_score_that_is_not_binary_is_found_wherever_it_is(place):
    scores = np.arange(200) % 2.0
    assert is_binary(scores, scores)
    scores[place] = 0.5
    assert not is_binary(np.zeros(200), scores)


def test_the_power_sums_of_many_values_are_those_of_one_block_after_another():
    values = np.random.default_rng(1).random(20_000) / 1000
    # K(c) is the sum of log cosh(c v), added here by NumPy's longer floats.
    expected = float(np.log(np.cosh(np.longdouble(3.0) * values.astype(np.longdouble))).sum())
    assert SignSums(values).cumulant(3.0).value == pytest.approx(expected, rel=1e-12)
    counted = SignSums(values, np.full(20_000, 2.0)).cumulant(3.0).value
    assert counted == pytest.approx(2 * expected, rel=1e-12)


@pytest.mark.parametrize("n", [2, 1000, 2**17, 2**17 + 1, 300_000])
def test_multiples_counted_in_blocks_are_those_counted_at_once(n):
    rng = np.random.default_rng(n)
    differences = rng.integers(-7, 12, n) * 0.1
    lowest, counts = count_multiples(differences, 0.1)
    distinct, expected = np.unique(np.rint(differences / 0.1).astype(int), return_counts=True)
    np.testing.assert_array_equal(lowest + np.flatnonzero(counts), distinct)
    np.testing.assert_array_equal(counts[counts > 0], expected)
    assert counts[0] > 0
    assert counts[-1] > 0


@given(_SCORES, st.integers(0, 60))
def test_pairs_without_a_difference_do_not_change_the_step(scores, n_zeros):
    differences = np.array(scores)
    with_zeros = np.insert(differences, len(differences) // 2, np.zeros(n_zeros))
    assert lattice_step(with_zeros) == lattice_step(differences[differences != 0])

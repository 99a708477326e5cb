import numpy as np
import pytest

from rageval_report.stats.sign_flips.meet_in_the_middle import (
    SumLaw,
    combine_laws,
    lattice_law,
    listed_law,
    listed_tail,
)
from rageval_report.stats.sign_flips.piled_sums import TailQuestion, piled_tail


def law_of(values, denominator=1):
    """The exact law of multiples of 1 / denominator."""
    steps, counts = np.unique(np.rint(values * denominator).astype(int), return_counts=True)
    law = lattice_law(steps, counts.astype(float))
    return SumLaw(law.values / denominator, law.weights)


def question(values, threshold, smallest):
    return TailQuestion(values, threshold, threshold / float(values @ values), smallest)


@pytest.mark.parametrize("n_odd", [1, 4, 12])
def test_ratings_with_a_few_odd_values_are_exact(n_odd):
    rng = np.random.default_rng(n_odd)
    ratings, odd = rng.integers(1, 5, 90).astype(float), 4 * rng.random(n_odd)
    threshold = float(ratings[:55].sum() - ratings[55:].sum() + odd.sum())
    expected = combine_laws(
        law_of(ratings), listed_law(odd, np.ones(n_odd)), threshold, 1e-9
    ).at_least
    found = piled_tail(question(np.append(ratings, odd), threshold, expected))
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("size", [1e5, 1e7])
def test_a_few_giants_are_listed_and_the_rest_is_smooth(size):
    rng = np.random.default_rng(1)
    rest, giants = rng.integers(1, 20_001, 60) / 10_000, size * (1 + rng.random(5))
    signs = np.where(rng.random(60) < 0.6, 1, -1)
    threshold = float(giants[0] + giants[1] + giants[2:4].sum() - giants[4] + signs @ rest)
    law = law_of(rest, 10_000)
    expected = combine_laws(law, listed_law(giants, np.ones(5)), threshold, 1e-6).at_least
    found = piled_tail(question(np.append(rest, giants), threshold, expected))
    assert found == pytest.approx(expected, rel=1e-3)


def test_values_that_each_dwarf_all_smaller_ones_are_decided_one_by_one():
    values = 3.5 ** np.arange(60.0)
    signs = np.where(np.arange(60) % 3 == 0, -1, 1)
    # The largest sign that differs decides: read from the top, the pattern is a binary number.
    # Sums that differ by less than 1e-9 of all magnitudes are tied, so the last 43 digits are cut.
    reached = sum(2.0 ** (i - 60) for i in range(60) if signs[i] < 0)
    found = piled_tail(question(values, float(signs @ values), reached))
    assert found == pytest.approx(reached, abs=2.0**-17)


def test_a_smooth_sample_does_not_pile_up():
    values = np.random.default_rng(0).random(100)
    assert piled_tail(question(values, 5.0, 0.2)) is None


@pytest.mark.parametrize("reached", [1, 2, 3])
def test_patterns_of_giants_that_pass_the_threshold_count_whatever_the_rest_is(reached):
    rng = np.random.default_rng(7)
    rest, giants = 1 + 0.3 * rng.random(24), 1e4 * np.array([1.0, 1.7, 2.9])
    signs = np.where(np.arange(3) < reached, 1, -1)
    threshold = abs(float(signs @ giants)) + float(rest[:14].sum() - rest[14:].sum())
    values = np.append(rest, giants)
    expected = listed_tail(values, np.ones(27), threshold).at_least  # all 2**27 sums
    assert piled_tail(question(values, threshold, expected)) == pytest.approx(expected, rel=1e-3)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.sign_flips.lattice import (
    LatticeCounts,
    count_lattice,
    count_lattices,
    everyday_denominators,
    is_lattice,
    lattice_step,
    multiples,
)


@pytest.mark.parametrize("denominator", [1, 2, 3, 7, 12, 60, 100, 840, 1000, 2520, 10_000])
def test_multiples_of_an_everyday_step_are_recognised(denominator):
    steps = np.random.default_rng(denominator).integers(-denominator, denominator + 1, 60)
    steps[0] = 1
    assert lattice_step(steps / denominator) == pytest.approx(1 / denominator, rel=1e-9)


@pytest.mark.parametrize("step", [0.37, 1 / 17, np.pi, 1e-6, 250.0])
def test_any_other_step_is_found_too(step):
    steps = np.random.default_rng(1).integers(-40, 41, 50)
    steps[:2] = 1, 40
    assert lattice_step(steps * step) == pytest.approx(step, rel=1e-9)


def test_the_step_is_the_largest_one():
    assert lattice_step(np.array([4.0, -6.0, 8.0, 2.0])) == 2.0


@settings(max_examples=60)
@given(st.lists(st.integers(1, 30), min_size=12, max_size=40), st.integers(1, 12))
def test_noise_of_single_precision_hides_no_lattice(steps, denominator):
    exact = np.array([30, 29, *steps]) / denominator
    noisy = exact.astype(np.float32).astype(float)
    assert lattice_step(noisy) == pytest.approx(1 / denominator, rel=1e-5)
    assert (multiples(noisy, 1 / denominator) == [30, 29, *steps]).all()


def test_reciprocal_ranks_lie_on_a_lattice():
    ranks = np.random.default_rng(0).integers(1, 11, (2, 200))
    differences = 1 / ranks[0] - 1 / ranks[1]
    assert lattice_step(differences) == pytest.approx(1 / 2520, rel=1e-9)


@pytest.mark.parametrize("n", [5, 30, 3000])
def test_continuous_differences_do_not(n):
    assert lattice_step(np.random.default_rng(n).normal(size=n)) is None


def test_one_stray_value_among_many_is_not_overlooked():
    differences = np.ones(5000)
    differences[4321] = 0.1237431
    assert lattice_step(differences) is None


def test_a_stray_value_that_the_sample_misses_refines_the_step():
    differences = np.full(5000, 17.0) * np.pi
    differences[4321] = 5.0 * np.pi
    assert lattice_step(differences) == pytest.approx(np.pi, rel=1e-9)


@pytest.mark.parametrize(
    ("steps", "must_tie"),
    [
        ([1, 1], True),  # 4 patterns, sums -2, 0, 2
        ([1, 2, 4], False),  # 8 patterns, 8 sums
        ([1, 2, 3], True),  # 8 patterns, 7 sums
        ([1, 20, 300, 20], True),  # two of the same size
        ([1, -20, 300, 4000, 20], True),
        ([1, 20, 300, 4000], False),
        ([100, 200, 300, 1001], False),  # a coincidence of different sizes does not count
        ([1], False),
        ([0, 0, 3, 0], False),
        ([], False),
        ([0, 0], False),
    ],
)
def test_sums_tie_where_sizes_repeat_or_patterns_outnumber_the_sums(steps, must_tie):
    assert is_lattice(np.array(steps, float)) is must_tie


def test_zeros_and_signs_do_not_matter():
    differences = np.array([0.5, -1.5, 1.0, 0.5])
    assert lattice_step(np.append(-differences, [0.0, 0.0])) == lattice_step(differences)


@pytest.mark.parametrize("step", [1 / 2520, 1 / 100, 1 / 60])
def test_steps_in_single_precision_are_found_among_the_usual_ones(step):
    """Euclid's algorithm would add up the noise of 200 values in single precision."""
    steps = np.random.default_rng(3).integers(1, round(1 / step), 200)
    steps[:2] = 1, round(1 / step)
    noisy = (steps * step).astype(np.float32).astype(float)
    assert lattice_step(noisy) == pytest.approx(step, rel=1e-12)


def test_lattices_of_many_columns_are_those_of_each():
    """Of any lengths: what is added to the shorter ones in a table must not show."""
    rng = np.random.default_rng(8)
    columns = [
        *(rng.integers(-3, 4, 7) / 3, rng.normal(size=300), rng.integers(-5, 6, 200) * 0.37),
        *(np.zeros(9), np.array([0.5]), np.array([1e300, -1e300, 3e299]), rng.normal(size=40)),
        *(rng.integers(-90, 91, 500) / 100, np.array([1e-300, 2e-300, 2e-300])),
    ]
    for column, lattice in zip(columns, count_lattices(columns), strict=True):
        alone = count_lattice(column)
        if alone is None:
            assert lattice is None
        else:
            assert (lattice.step, lattice.lowest) == (alone.step, alone.lowest)
            assert np.array_equal(lattice.counts, alone.counts)
            assert np.abs(
                column - lattice.step * np.rint(column / lattice.step)
            ).max() < 1e-6 * max(np.abs(column))
    assert count_lattices([]) == []
    denominators = everyday_denominators(columns, [abs(each).max() for each in columns])
    assert denominators[0] == 3.0
    assert [denominators[place] for place in (1, 6)] == [None, None]


def test_multiples_far_from_zero_take_no_memory():
    distinct, counts = LatticeCounts(1.0, -(2**45), np.array([2, 0, 3])).magnitudes()
    assert distinct.tolist() == [2**45 - 2, 2**45]
    assert counts.tolist() == [3, 2]
    pairs = PairedScores(np.zeros(40), 2.0**45 + np.arange(40) % 3)
    assert pairs.step is None  # finer than what matters for ties

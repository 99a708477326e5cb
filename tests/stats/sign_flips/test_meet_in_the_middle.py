import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rageval_report.stats.sign_flips.meet_in_the_middle import (
    SumLaw,
    binomial_weights,
    combine_laws,
    lattice_law,
    listed_law,
    listed_tail,
    log2_sums,
)


def enumerated_sums(values, counts):
    every = np.repeat(values, np.asarray(counts, int))
    return np.array(
        [np.dot(signs, every) for signs in itertools.product([-1, 1], repeat=every.size)]
    )


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0.01, 5.0), st.integers(1, 4)), min_size=1, max_size=4),
    st.floats(0.0, 1.0),
)
def test_the_listed_tail_is_the_enumerated_one(pairs, height):
    values, counts = np.array(pairs).T
    sums = enumerated_sums(values, counts)
    threshold = float(np.quantile(sums, 0.5 + height / 2, method="nearest"))
    same = 1e-9 * float(values @ counts)
    tail = listed_tail(values, counts, threshold)
    assert tail.at_least == pytest.approx(np.mean(sums >= threshold - same), rel=1e-12)
    assert tail.equal == pytest.approx(np.mean(np.abs(sums - threshold) <= same), abs=1e-12)


def test_the_lattice_law_is_the_listed_law():
    steps, counts = np.array([1, 2, 5]), np.array([3.0, 2.0, 1.0])
    sums = enumerated_sums(steps, counts)
    law = lattice_law(steps, counts)
    shares = [np.mean(sums == value) for value in law.values]
    np.testing.assert_allclose(law.weights, shares, rtol=1e-15)


@pytest.mark.parametrize(
    ("steps", "counts"),
    [([1, 2, 3, 4, 5], [61, 50, 39, 30, 20]), ([1, 5, 60, 77], [9, 30, 2, 51]), ([700, 3], [1, 2])],
)
def test_the_lattice_law_counts_patterns_of_signs(steps, counts):
    """Patterns counted in whole numbers of Python, one sign at a time."""
    patterns = {0: 1}
    for step in np.repeat(steps, counts).tolist():
        moved = {}
        for total, ways in patterns.items():
            for to in (total - step, total + step):
                moved[to] = moved.get(to, 0) + ways
        patterns = moved
    law = lattice_law(np.array(steps), np.array(counts, dtype=float))
    expected = [patterns.get(round(value), 0) / 2 ** sum(counts) for value in law.values]
    np.testing.assert_allclose(law.weights, expected, rtol=3e-14, atol=0.0)


def test_the_far_tail_of_the_lattice_law_is_exact():
    law = lattice_law(np.array([1]), np.array([200.0]))
    expected = scipy_stats.binom.sf(190, 200, 0.5)  # scipy 1.17.1
    assert law.weights[191:].sum() == pytest.approx(expected, rel=1e-9, abs=0.0)
    assert expected < 1e-40


@pytest.mark.parametrize("tosses", [0, 1, 7, 999, 1000, 20_000])
def test_binomial_weights_are_scipys(tosses):
    expected = scipy_stats.binom.pmf(np.arange(tosses + 1), tosses, 0.5)  # scipy 1.17.1
    np.testing.assert_allclose(binomial_weights(tosses), expected, rtol=1e-9, atol=1e-300)


def test_two_laws_meet_in_either_order():
    a = listed_law(np.array([1.0, 0.3]), np.array([2.0, 1.0]))
    b = SumLaw(np.array([-0.5, 0.5, 4.0]), np.array([0.25, 0.5, 0.25]))
    assert combine_laws(a, b, 0.8, 1e-9) == combine_laws(b, a, 0.8, 1e-9)


def test_repeated_values_make_fewer_sums():
    assert log2_sums(np.ones(10)) == 10
    assert log2_sums(np.array([15.0])) == 4


@pytest.mark.parametrize("tosses", [1, 10, 999, 1000, 1200, 5000])
def test_binomial_weights_are_those_of_scipy(tosses):
    expected = scipy_stats.binom.pmf(np.arange(tosses + 1), tosses, 0.5)  # SciPy 1.17
    assert binomial_weights(tosses) == pytest.approx(expected, rel=1e-9, abs=1e-300)

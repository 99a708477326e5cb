"""The bound on the far terms, and the tails that rest on it, against laws by convolution."""

import numpy as np
import pytest

from rageval_report.stats.sign_flips.far_nodes import FarRange, find_far_terms
from rageval_report.stats.sign_flips.meet_in_the_middle import lattice_law
from rageval_report.stats.sign_flips.sign_tail import rough_tail, scattered_tail

# Whole numbers up to some ten thousand, so that the exact law follows by convolution.
SHAPES = {
    "normal": lambda rng, n: rng.normal(0, 4000, n),
    "uniform": lambda rng, n: rng.uniform(0, 9000, n),
    "heavy tails": lambda rng, n: np.clip(rng.standard_t(2, n) * 900, -40_000, 40_000),
    "one dominates": lambda rng, n: np.append(rng.normal(0, 300, n - 1), 60_000),
    "three dominate": lambda rng, n: np.append(rng.normal(0, 100, n - 3), [30_000, 29_000, 18_000]),
    "nine tenths zeros": lambda rng, n: rng.normal(0, 4000, n) * (rng.random(n) < 0.1),
    "geometric sizes": lambda rng, n: np.append(2.0 ** np.arange(15), rng.uniform(1, 99, n - 15)),
    "nearly a lattice": lambda rng, n: 2000 * rng.integers(1, 5, n) + rng.integers(-2, 3, n),
    "two sizes and noise": lambda rng, n: rng.choice([1000, 3142], n) + rng.integers(0, 30, n),
    "few sizes": lambda rng, n: rng.choice([1000, 2718, 3142, 4999], n),
    "nine tenths equal": lambda rng, n: np.where(rng.random(n) < 0.1, rng.uniform(1, 9000, n), 500),
    "nearly alike": lambda rng, n: 5000 + rng.integers(0, 40, n),
}


def whole_numbers(kind, n, seed):
    steps = np.rint(np.abs(SHAPES[kind](np.random.default_rng([n, seed]), n))).astype(int)
    return steps[steps > 0]


def law_of(steps):
    distinct, counts = np.unique(steps, return_counts=True)
    return lattice_law(distinct, counts.astype(float))


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("n", [48, 100, 250])
def test_tails_are_those_of_the_exact_law(kind, n):
    """The same numbers times pi lie on no lattice; the law of the whole numbers is exact.

    Of the sums that tie with the observed one, a list counts all, and the series half, as it cannot
    see a step this fine.
    """
    steps = whole_numbers(kind, n, 0)
    law = law_of(steps)
    rng = np.random.default_rng(n)
    for bias in (0.0, 0.1, 0.2):
        total = abs(int(np.where(rng.random(steps.size) < 0.5 + bias, 1, -1) @ steps))
        above, tied = law.weights[law.values > total].sum(), law.weights[law.values == total].sum()
        found = scattered_tail(steps * np.pi, None, total * np.pi).at_least
        if above > 1e-6:
            assert (above + tied / 2) * (1 - 3e-4) <= found <= (above + tied) * (1 + 3e-4)


@pytest.mark.parametrize("n", [60, 150, 400])
@pytest.mark.parametrize("deviations", [0.0, 1.0, 1.9, 2.1, 4.5])
def test_a_smooth_law_has_nine_digits(n, deviations):
    """Up to the ties of the whole numbers, of which the series counts one half."""
    steps = whole_numbers("normal", n, 1)
    law = law_of(steps)
    most = int(steps.sum())
    total = most - 2 * round((most - deviations * np.linalg.norm(steps)) / 2)
    law_at = (total + most) // 2
    ties = law.weights[law_at]
    expected = law.weights[law_at:].sum() - ties / 2
    found = scattered_tail(steps * np.pi, None, total * np.pi)
    assert found.at_least == pytest.approx(expected, rel=2e-7)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("tilt", [2.0, 4.0])
@pytest.mark.parametrize("n", [33, 61])
def test_what_is_left_out_is_below_its_bound(kind, tilt, n):
    steps = whole_numbers(kind, n, 2)
    values = steps / np.linalg.norm(steps)
    far = FarRange(tilt, 0.7, 12, 6000)
    terms = find_far_terms(values, far, 1e-5)
    k = np.arange(far.first, far.last + 1)
    t = far.distance * k
    squares = np.ones(k.size)
    for value in values:
        squares *= 1 - np.square(np.sin(t * value) / np.cosh(tilt * value))
    sizes = np.sqrt(np.maximum(squares, 0.0)) / np.hypot(tilt, t)
    left_out = sizes[~np.isin(k, terms.nodes)].sum()
    assert left_out <= terms.left_out <= 1e-5
    if terms.nodes.size:  # and no more nodes are computed than it takes
        needed = np.sort(sizes)[::-1].cumsum().searchsorted(sizes.sum() - 1e-5)
        assert terms.nodes.size <= 1.2 * needed + 60


def test_a_characteristic_function_that_returns_is_followed():
    """All values are multiples of 0.1, but for a little: all phases meet again at t = 10 pi."""
    values = np.tile([0.1, 0.2, 0.3], 12) + 1e-5 * np.random.default_rng(0).random(36)
    distance = 10 * np.pi / 200
    terms = find_far_terms(values, FarRange(0.5, distance, 30, 1000), 1e-4)
    assert {200, 400, 600, 800, 1000} <= set(terms.nodes.tolist())
    assert terms.nodes.size < 500


@pytest.mark.parametrize("kind", ["normal", "heavy tails", "one dominates"])
def test_the_rough_tail_is_good_to_a_thousandth(kind):
    steps = whole_numbers(kind, 80, 3)
    law = law_of(steps)
    total = int(steps.sum()) - 2 * int(steps[:31].sum())
    expected = law.weights[law.values >= abs(total)].sum()
    found = rough_tail(steps * np.pi, None, abs(total) * np.pi)
    assert found.at_least == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("n", [130, 180])
@pytest.mark.parametrize("spread", [0.0, 0.02])
def test_terms_where_most_values_are_equal_are_the_largest_ones(n, spread):
    """As after a shift where nine of ten queries did not change."""
    rng = np.random.default_rng(n)
    values = np.where(rng.random(n) < 0.1, np.abs(rng.normal(0, 1, n)), 0.1)
    values /= np.linalg.norm(values)
    far, negligible = FarRange(2.0, 0.6, 14, 8000, spread), 1e-6
    terms = find_far_terms(values, far, negligible)
    k = np.arange(far.first, far.last + 1)
    z = far.tilt + 1j * far.distance * k
    factors = np.cosh(np.multiply.outer(values, z)) / np.cosh(far.tilt * values)[:, np.newaxis]
    sizes = np.abs(factors.prod(axis=0) / z)
    if spread:
        sizes *= np.abs(np.sinh(spread * z) / (spread * z))
    left_out = sizes[~np.isin(k, terms.nodes)].sum()
    assert terms.nodes.size
    assert left_out <= terms.left_out <= negligible
    needed = np.sort(sizes)[::-1].cumsum().searchsorted(sizes.sum() - negligible)
    assert terms.nodes.size <= 1.3 * needed + 20

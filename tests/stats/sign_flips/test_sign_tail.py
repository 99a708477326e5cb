import numpy as np
import pytest

from rageval_report.stats import paired_test
from rageval_report.stats.sign_flips.meet_in_the_middle import (
    SumLaw,
    combine_laws,
    lattice_law,
    listed_law,
    listed_tail,
)
from rageval_report.stats.sign_flips.sign_tail import (
    lattice_tail,
    rough_tail,
    scattered_tail,
)
from rageval_report.stats.sign_flips.ties import group_ties

# Single-hit nDCG: ten values of 1 / log2(1 + rank), tied but on no common lattice.
GAINS = np.array([0.0, *(1 / np.log2(1 + np.arange(1, 11)))])
KINDS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.random(n),
    "bimodal": lambda rng, n: rng.beta(0.3, 0.3, n) - rng.beta(0.3, 0.3, n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "latency": lambda rng, n: np.exp(2 * rng.normal(size=n)),
    "many scales": lambda rng, n: 10 ** (-6 * rng.random(n)),
    "outliers": lambda rng, n: rng.random(n) * np.where(rng.random(n) < 0.1, 1e3, 1.0),
    "two values and noise": lambda rng, n: rng.choice([1.0, np.pi], n) + 1e-3 * rng.random(n),
    "nearly alike": lambda rng, n: 1 + 1e-5 * rng.random(n),
    "ranks to a hundred": lambda rng, n: 1 / rng.integers(1, 100, n) - 1.001,
    "gains": lambda rng, n: rng.choice(GAINS, n) - rng.choice(GAINS[1:], n) + 1e-9,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", [0.0, 0.2, 0.3])
def test_any_kind_of_data_is_good_to_a_thousandth(kind, bias):
    """Beyond the lists of the ladder, against longer lists."""
    rng = np.random.default_rng([ord(kind[0]), int(10 * bias)])
    values = np.abs(KINDS[kind](rng, 35))
    threshold = abs(float(np.where(rng.random(35) < 0.5 + bias, 1, -1) @ values))
    expected = listed_tail(values, np.ones(35), threshold)
    found = scattered_tail(values, None, threshold)
    assert found.at_least == pytest.approx(expected.at_least, rel=1e-3)


@pytest.mark.parametrize("n", [45, 90, 300])
@pytest.mark.parametrize("bias", [0.0, 0.1, 0.2])
def test_tied_gains_are_good_to_a_thousandth(n, bias):
    """On no lattice as given, but rounded so that the exact law is a lattice law."""
    rng = np.random.default_rng(n)
    steps = np.rint(5000 * np.abs(rng.choice(GAINS, 2 * n) - rng.choice(GAINS, 2 * n)))
    steps = steps[steps > 0][:n].astype(int)
    total = abs(int(np.where(rng.random(steps.size) < 0.5 + bias, 1, -1) @ steps))
    distinct, counts = np.unique(steps, return_counts=True)
    law = lattice_law(distinct, counts.astype(float))
    expected = law.weights[law.values >= total].sum()
    found = scattered_tail(steps * np.pi, None, total * np.pi)
    assert found.at_least == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("n", [30, 200, 2000])
def test_a_lattice_tail_is_the_same_on_every_rung(n):
    rng = np.random.default_rng(n)
    steps = rng.integers(1, 5, n)
    distinct, counts = np.unique(steps, return_counts=True)
    total = abs(int(np.where(rng.random(n) < 0.55, 1, -1) @ steps))
    law = lattice_law(distinct, counts.astype(float))
    found = lattice_tail(distinct, counts.astype(float), total)
    assert found.at_least == pytest.approx(
        law.weights[law.values >= total].sum(), rel=1e-8, abs=0.0
    )
    assert found.equal == pytest.approx(law.weights[law.values == total].sum(), rel=1e-8, abs=0.0)


def test_counted_values_are_repeated_values():
    values, counts = np.array([0.3, 1.1, 2.7]), np.array([9.0, 4.0, 6.0])
    every = np.repeat(values, counts.astype(int))
    counted, repeated = scattered_tail(values, counts, 6.0), scattered_tail(every, None, 6.0)
    assert counted.at_least == pytest.approx(repeated.at_least, rel=1e-12)


def test_the_rough_tail_is_close():
    values = np.random.default_rng(6).random(400)
    thorough, rough = scattered_tail(values, None, 20.0), rough_tail(values, None, 20.0)
    assert rough.at_least == pytest.approx(thorough.at_least, rel=1e-3)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_the_scale_may_be_extreme(scale):
    values = np.random.default_rng(6).random(50)
    expected = scattered_tail(values, None, 5.0).at_least
    assert scattered_tail(scale * values, None, scale * 5.0).at_least == pytest.approx(expected)


def test_a_tail_far_beyond_any_need_is_still_positive():
    values = np.random.default_rng(0).random(500)
    tail = scattered_tail(values, None, 0.9 * float(values.sum())).at_least
    assert 0 < tail < 1e-80


@pytest.mark.parametrize("n_odd", [1, 3])
def test_a_few_odd_values_among_ratings_are_exact(n_odd):
    rng = np.random.default_rng(n_odd)
    ratings, odd = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 120), 6 * rng.random(n_odd)
    law = lattice_law(np.arange(1, 7), np.full(6, 120.0))
    threshold = 150.0 + float(odd.sum())
    expected = combine_laws(law, listed_law(odd, np.ones(n_odd)), threshold, 1e-9).at_least
    found = scattered_tail(np.append(ratings, odd), None, threshold)
    assert found.at_least == pytest.approx(expected, rel=1e-5)
    assert found.equal == 0.0  # but for the observed pattern, no sum is tied


@pytest.mark.parametrize("wins", [2, 5])
def test_ties_of_two_lattices_that_share_no_step_count_in_full(wins):
    law = lattice_law(np.arange(1, 5), np.full(4, 40.0))
    other = SumLaw(np.pi * law.values, law.weights)
    values = np.repeat(np.arange(1.0, 5.0), 40)
    threshold = 10 * wins + 4 * wins * np.pi  # both parts are even, as all possible sums
    expected = combine_laws(law, other, threshold, 1e-9)
    found = scattered_tail(np.append(values, np.pi * values), None, threshold)
    assert expected.equal > 5e-4 * expected.at_least
    assert found.at_least == pytest.approx(expected.at_least, rel=1e-4)
    assert found.equal == pytest.approx(expected.equal, rel=0.5)  # no more than an estimate


def test_a_fine_lattice_with_coarse_piles_is_followed_farther_out():
    rng = np.random.default_rng(2)
    steps = 1000 * rng.integers(1, 5, 120) + rng.integers(-3, 4, 120)
    distinct, counts = np.unique(steps, return_counts=True)
    total = int(np.where(rng.random(120) < 0.6, 1, -1) @ steps)
    law = lattice_law(distinct, counts.astype(float))
    found = lattice_tail(distinct, counts.astype(float), total)
    assert found.at_least == pytest.approx(law.weights[law.values >= total].sum(), rel=1e-4)


def test_the_far_tail_of_a_long_lattice_is_about_right():
    steps, counts = np.array([1, 2]), np.array([500.0, 400.0])
    law = lattice_law(steps, counts)
    expected = law.weights[law.values >= 500].sum()
    found = lattice_tail(steps, counts, 500)
    assert expected < 1e-20
    assert found.at_least == pytest.approx(expected, rel=1e-2, abs=0.0)
    assert found.equal == pytest.approx(law.weights[law.values == 500].sum(), rel=2e-2, abs=0.0)


def test_the_farthest_sum_of_a_long_lattice_is_one_pattern():
    found = lattice_tail(np.array([1, 2]), np.array([500.0, 400.0]), 1300)
    assert found.at_least == found.equal == 0.5**900


@pytest.mark.parametrize("n", [35, 60, 200])
def test_the_two_outermost_sums_are_counted_exactly(n):
    """All signs equal, and all but that of the smallest value, which only one pattern has."""
    values = np.random.default_rng(n).random(n) + 0.05
    one = scattered_tail(values, None, values.sum())
    assert (one.at_least, one.equal) == (0.5**n, 0.5**n)
    two = scattered_tail(values, None, values.sum() - 2 * values.min())
    assert (two.at_least, two.equal) == (2 * 0.5**n, 0.5**n)


def test_the_next_sum_counts_every_smallest_value():
    values = np.append(np.random.default_rng(1).random(60) + 1.0, [0.5, 0.5, 0.5])
    found = scattered_tail(values, None, values.sum() - 1.0)
    assert (found.at_least, found.equal) == (4 * 0.5**63, 3 * 0.5**63)


def test_a_sum_between_the_two_outermost_is_reached_by_one_pattern():
    values = np.random.default_rng(1).random(60) + 1.0
    found = scattered_tail(values, None, values.sum() - values.min())
    assert found.at_least == 0.5**60


def test_the_pvalue_of_all_gains_but_the_smallest_counts_two_patterns_a_side():
    gains = np.random.default_rng(2).random(40) + 0.1
    gains[gains.argmin()] *= -1
    pvalue = paired_test(np.zeros(40), gains, test="sign-flip").pvalue
    assert pvalue == pytest.approx(4 * 0.5**40, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("bias", [0.65, 0.7])
def test_a_far_lattice_tail_is_that_of_the_whole_law(bias):
    rng = np.random.default_rng(3)
    steps = rng.integers(1, 5, 2000)
    distinct, counts = np.unique(steps, return_counts=True)
    total = abs(int(np.where(rng.random(2000) < bias, 1, -1) @ steps))
    law = lattice_law(distinct, counts.astype(float))
    found = lattice_tail(distinct, counts.astype(float), total)
    assert found.at_least < 1e-10
    assert found.at_least == pytest.approx(
        law.weights[law.values >= total].sum(), rel=1e-3, abs=0.0
    )
    assert found.equal == pytest.approx(law.weights[law.values == total].sum(), rel=1e-2, abs=0.0)


@pytest.mark.parametrize("n_odd", [1, 3])
@pytest.mark.parametrize("threshold", [51, 151, 251])
def test_one_odd_value_among_even_ones_decides_where_the_sums_lie(n_odd, threshold):
    """The characteristic function does not die out: at the end of its period it is near 1."""
    steps, counts = np.array([1, 2]), np.array([n_odd, 800.0])
    law = lattice_law(steps, counts)
    found = lattice_tail(steps, counts, threshold)
    assert found.at_least == pytest.approx(
        law.weights[law.values >= threshold].sum(), rel=1e-9, abs=0.0
    )
    assert found.equal == pytest.approx(
        law.weights[law.values == threshold].sum(), rel=1e-9, abs=0.0
    )


def test_the_third_sum_from_the_end_of_a_long_lattice_is_not_the_last():
    """400 of the patterns of 900 signs reach it, by turning one value of 7: about that many."""
    found = lattice_tail(np.array([5, 7]), np.array([500.0, 400.0]), 500 * 5 + 400 * 7 - 14)
    assert 0.1 < found.equal / (400 * 0.5**900) < 10
    assert 0.1 < found.at_least / (901 * 0.5**900) < 10


def test_values_far_below_the_largest_are_not_lost():
    found = scattered_tail(np.array([1.0, 3e13, 5e13]), None, 2e13 + 1.0)
    # Of 8 sums only 8e13 +- 1, 2e13 +- 1 are near it or beyond; 1 is nothing beside 5e13.
    assert (found.at_least, found.equal) == (0.5, 0.25)
    values, counts = group_ties(np.array([1.0, 3e13, 5e13]))
    assert (values.tolist(), counts.tolist()) == ([1.0, 3e13, 5e13], [1.0, 1.0, 1.0])

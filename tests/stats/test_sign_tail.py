import numpy as np
import pytest

from rageval_report.stats.meet_in_the_middle import lattice_law, listed_tail
from rageval_report.stats.sign_tail import lattice_tail, rough_tail, scattered_tail

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
    assert found.at_least == pytest.approx(law.weights[law.values >= total].sum(), rel=1e-8)
    assert found.equal == pytest.approx(law.weights[law.values == total].sum(), rel=1e-8)


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

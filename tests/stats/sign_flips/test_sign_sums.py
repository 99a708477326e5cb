import numpy as np
import pytest

from rageval_report.stats.sign_flips import sign_sums
from rageval_report.stats.sign_flips.sign_sums import SignSums, log_cosh

KINDS = {
    "alike": lambda rng: np.ones(400),
    "uniform": lambda rng: rng.random(300) + 0.01,
    "heavy": lambda rng: np.exp(2 * rng.normal(size=300)),
    "one dominates": lambda rng: np.append(rng.random(100), 50.0),
}


def unit_values(kind):
    values = KINDS[kind](np.random.default_rng(7))
    return values / np.linalg.norm(values)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("c", [0.0, 0.3, 4.0, 60.0])
def test_the_cumulant_is_the_sum_of_its_parts(kind, c):
    values = unit_values(kind)
    found = SignSums(values).cumulant(c)
    slopes = np.tanh(c * values)
    assert found.value == pytest.approx(np.log(np.cosh(c * values)).sum(), rel=1e-8, abs=1e-12)
    assert found.mean == pytest.approx(values @ slopes, rel=1e-8, abs=1e-12)
    assert found.variance == pytest.approx(values**2 @ (1 - slopes**2), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("counted", [False, True])
def test_the_characteristic_function_is_the_product_of_its_factors(kind, counted):
    values = unit_values(kind) / (np.sqrt(3) if counted else 1)
    counts = np.full(values.size, 3.0) if counted else None
    c, nodes = 2.5, np.arange(40)
    z = c + 0.2j * nodes
    factors = np.cosh(np.multiply.outer(values, z)) / np.cosh(c * values)[:, np.newaxis]
    expected = np.prod(factors ** (3 if counted else 1), axis=0)
    sums = SignSums(values, counts)
    np.testing.assert_allclose(sums.characteristic(c, 0.2, nodes), expected, atol=1e-8)


def test_nodes_may_be_any_and_far_out():
    values, nodes = unit_values("one dominates"), np.array([3, 64, 65, 1000, 30_000])
    expected = np.prod(np.cos(np.multiply.outer(values, 0.01 * nodes)), axis=0)
    found = SignSums(values).characteristic(0.0, 0.01, nodes)
    np.testing.assert_allclose(found.real, expected, atol=1e-9)


def test_few_values_are_large_where_few_dominate():
    sums = SignSums(unit_values("one dominates"))
    assert sums.n_large(sums.reach) == 0
    assert sums.n_large(2 * sums.reach) == 1


def test_counts_are_repeated_values():
    values, counts = np.array([0.1, 0.3]), np.array([40.0, 5.0])
    counted = SignSums(values, counts)
    written_out = SignSums(np.repeat(values, counts.astype(int)))
    assert counted.size == written_out.size
    assert counted.total == pytest.approx(written_out.total)
    assert counted.cumulant(3.0).value == pytest.approx(written_out.cumulant(3.0).value)


def test_log_cosh_does_not_overflow():
    assert log_cosh(np.array([0.0, 1e4])).tolist() == [0.0, pytest.approx(1e4 - np.log(2))]


@pytest.mark.parametrize("counted", [False, True])
def test_few_values_have_the_sums_of_powers_of_many_to_the_last_bit(counted, monkeypatch):
    values = unit_values("uniform")[:200]
    counts = np.arange(1.0, 201.0) if counted else None
    few = SignSums(values, counts).cumulant(1.5)
    monkeypatch.setattr(sign_sums, "_FEW", 0)
    many = SignSums(values, counts).cumulant(1.5)
    assert few == many


def test_a_cumulant_is_computed_once(monkeypatch):
    sums = SignSums(unit_values("alike"))
    kept = sums.cumulant(2.0)
    monkeypatch.setattr(sign_sums, "coefficients_of_log_cosh", None)
    assert sums.cumulant(2.0) is kept


@pytest.mark.parametrize("nodes", [np.arange(30), np.array([0, 5, 31, 32, 33, 900, 901, 17_000])])
def test_powers_of_few_factors_are_repeated_factors(nodes):
    """Reciprocal ranks: some forty sizes, each of which occurs up to a hundred times."""
    rng = np.random.default_rng(5)
    values, counts = np.sort(rng.random(40)), rng.integers(1, 131, 40).astype(float)
    values /= np.sqrt(np.square(values) @ counts)
    c, distance = 2.5, 0.13
    z = c + 1j * distance * nodes
    factors = np.cosh(np.multiply.outer(values, z)) / np.cosh(c * values)[:, np.newaxis]
    expected = np.prod(np.repeat(factors, counts.astype(int), axis=0), axis=0)
    waves = SignSums(values, counts).characteristic(c, distance, nodes)
    np.testing.assert_allclose(waves, expected, rtol=1e-9, atol=1e-13)

"""The best of several. Witnesses: Harter's table, SciPy's normal distribution, simulation."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from rageval_report.errors import DataError
from rageval_report.stats.best_of_many import expected_maximum, gain_of_noise

# Harter (1961), Biometrika 48:151-165, table 1: the largest of k normal values.
HARTER = {2: 0.56419, 3: 0.84628, 4: 1.02938, 5: 1.16296, 10: 1.53875, 20: 1.86748, 100: 2.50759}


@pytest.mark.parametrize("k", HARTER)
def test_the_expected_maximum_is_that_of_the_published_table(k):
    assert round(expected_maximum(k), 5) == HARTER[k]


@pytest.mark.parametrize("k", [2, 7, 60, 1000, 100_000])
def test_the_expected_maximum_is_the_integral_over_its_density(k):
    def weighted(x):
        return x * k * stats.norm.pdf(x) * math.exp((k - 1) * stats.norm.logcdf(x))

    by_scipy = integrate.quad(weighted, -12, 12, points=[0, 2, 4, 6], epsabs=1e-12)[0]
    assert expected_maximum(k) == pytest.approx(by_scipy, abs=1e-9)


def test_small_numbers_have_closed_forms():
    assert expected_maximum(1) == 0.0
    assert expected_maximum(2) == pytest.approx(1 / math.sqrt(math.pi), abs=1e-11)
    assert expected_maximum(3) == pytest.approx(1.5 / math.sqrt(math.pi), abs=1e-11)


def test_the_expected_maximum_stays_below_its_bound_and_grows():
    values = [expected_maximum(k) for k in (1, 2, 5, 10, 1000, 10**6)]
    assert values == sorted(values)
    assert expected_maximum(10**6) < math.sqrt(2 * math.log(10**6))


def test_the_gain_is_that_of_simulated_variants():
    means = np.random.default_rng(3).normal(0, 0.02, (20_000, 20))
    assert gain_of_noise(0.02, 20) == pytest.approx(means.max(axis=1).mean(), rel=0.01)


def test_no_variant_is_refused():
    with pytest.raises(DataError, match="k must be an integer >= 1; got 0"):
        expected_maximum(0)

import numpy as np
import pytest

from rageval_report.stats.sign_flips.meet_in_the_middle import listed_tail
from rageval_report.stats.sign_flips.noisy_lattice import noisy_lattice_tail


@pytest.mark.parametrize("noise", [1e-3, 1e-4, 1e-5, 1e-7])
@pytest.mark.parametrize("bias", [0.5, 0.7])
def test_noise_on_ratings_agrees_with_two_lists_that_meet(noise, bias):
    rng = np.random.default_rng(9)
    values = rng.integers(1, 5, 34) + noise * rng.normal(size=34)
    threshold = abs(float(np.where(rng.random(34) < bias, 1, -1) @ values))
    expected = listed_tail(values, np.ones(34), threshold, 1e-14).at_least
    assert noisy_lattice_tail(values, threshold, expected) == pytest.approx(expected, rel=1e-3)


def test_values_off_any_lattice_are_left_to_others():
    assert noisy_lattice_tail(np.random.default_rng(0).random(50), 3.0, 0.1) is None


def test_noise_alone_is_no_lattice():
    assert noisy_lattice_tail(np.full(50, 1e-3) + 1e-4 * np.arange(50), 0.01, 0.1) is None


def test_a_sum_of_one_sign_only_is_left_to_others():
    values = np.repeat([1.0, 2.0], 20) + 1e-5 * np.arange(1, 41)
    assert noisy_lattice_tail(values, float(values.sum()), 1e-9) is None

"""Second witnesses: beta distributions by scipy 1.17.1, closed forms."""

import numpy as np
import pytest
import scipy.stats

from rageval_report.stats.means.dirichlet_sums import dirichlet_quantile


def quantile(values, counts, tail):
    return dirichlet_quantile(np.array([values], float), np.array([counts], float), tail)[0]


@pytest.mark.parametrize("tail", [0.49, 0.1, 0.025, 1e-6])
@pytest.mark.parametrize(("ones", "zeros"), [(1, 1), (1, 2), (3, 1), (40, 60), (1, 100_000)])
def test_the_weight_of_equal_numbers_is_a_beta_variable(ones, zeros, tail):
    expected = scipy.stats.beta.ppf(tail, ones, zeros)
    assert quantile([0, 1], [zeros, ones], tail) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("tail", [0.3, 0.025])
def test_three_numbers_have_a_triangular_sum(tail):
    # Weights of (0, c, 1) that are uniform on the simplex: a triangle with the peak at c.
    for middle in (0.1, 0.5, 0.8):
        expected = scipy.stats.triang.ppf(tail, middle)
        assert quantile([0, middle, 1], [1, 1, 1], tail) == pytest.approx(expected, rel=1e-9)


def test_rows_are_independent_and_a_count_of_zero_fills_up():
    values = np.array([[0.0, 0.5, 0.9], [0.0, 1.0, 0.0]])
    counts = np.array([[1.0, 4.0, 2.0], [3.0, 2.0, 0.0]])
    together = dirichlet_quantile(values, counts, 0.025)
    alone = [quantile(values[0], counts[0], 0.025), quantile([0, 1], [3, 2], 0.025)]
    assert together == pytest.approx(alone, rel=1e-12)


def test_many_rows_of_many_numbers_are_those_of_each_row():
    rng = np.random.default_rng(0)
    values = np.column_stack((np.zeros(12), rng.random((12, 300))))
    together = dirichlet_quantile(values, np.ones_like(values), 0.025)
    alone = [quantile(row, np.ones_like(row), 0.025) for row in values]
    assert together == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_the_quantile_has_the_scale_of_the_numbers(scale):
    values = np.array([0.0, 0.2, 0.3, 1.0])
    counts = np.array([1, 5, 4, 1])
    expected = scale * quantile(values, counts, 0.025)
    assert quantile(scale * values, counts, 0.025) == pytest.approx(expected, rel=1e-12)


def test_a_start_far_from_the_quantile_does_not_matter():
    # One large number among many small ones: the beta variable of the same variance is far off.
    values = np.append(0.0, np.append(np.full(60, 1e-6), 1.0))
    low = quantile(values, np.ones_like(values), 1e-6)
    draws = np.random.default_rng(0).standard_exponential((200_000, values.size))
    assert 0.0 < low < np.min(draws @ values / draws.sum(axis=1)) * 1.05


@pytest.mark.parametrize("tail", [0.025, 0.0005, 1e-6])
@pytest.mark.parametrize(("small", "times"), [(1e-4, 400), (1e-9, 10**7), (0.01, 30)])
def test_one_number_far_above_many_equal_ones_has_a_closed_form(small, times, tail):
    # At 0.0005 and beyond steps of Newton's method alone jump to and fro here. The probability of
    # at most m is m (m / c)^k up to c, and from there on 1 - (1 - m)^(k + 1) / (1 - c)^k.
    # In logarithms, because the powers are below the smallest float.
    if tail <= small:
        log_quantile = (np.log(tail) + times * np.log(small)) / (times + 1)
        expected = np.exp(log_quantile)
    else:
        expected = -np.expm1((np.log1p(-tail) + times * np.log1p(-small)) / (times + 1))
    assert quantile([0, small, 1], [1, times, 1], tail) == pytest.approx(expected, rel=1e-9)

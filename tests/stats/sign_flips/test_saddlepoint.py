import numpy as np
import pytest
from scipy import stats as scipy_stats

from rageval_report.stats.sign_flips.saddlepoint import saddlepoint_tail, tilt
from rageval_report.stats.sign_flips.sign_sums import SignSums


@pytest.mark.parametrize("threshold", [0.0, 0.5, 3.0, 8.0])
def test_the_tilted_mean_is_the_threshold(threshold):
    values = np.random.default_rng(0).random(200)
    sums = SignSums(values / np.linalg.norm(values))
    assert sums.cumulant(tilt(sums, threshold)).mean == pytest.approx(threshold, abs=1e-8)


@pytest.mark.parametrize("heads", [560, 600, 700, 900])
def test_the_tail_of_a_thousand_tosses_is_the_binomial_one(heads):
    expected = scipy_stats.binom.sf(heads - 1, 1000, 0.5)  # scipy 1.17.1
    step = 1 / np.sqrt(1000)
    sums = SignSums(np.array([step]), np.array([1000.0]))
    found = saddlepoint_tail(sums, (2 * heads - 1000) * step, 2 * step)
    assert found == pytest.approx(expected, rel=1e-3, abs=0.0)


def test_the_tail_stays_above_zero_where_one_value_dominates():
    sums = SignSums(np.array([0.99, *[0.01] * 50]))
    assert saddlepoint_tail(sums, 1.45) > 0


@pytest.mark.parametrize("threshold", [1.41, 1.45, 1.47])
def test_where_one_value_dominates_the_order_of_magnitude_is_right(threshold):
    sums = SignSums(np.array([0.99, *[0.01] * 50]))
    # The large value must be positive, and of the others as many as reach the rest.
    heads = round((threshold - 0.99) / 0.01 + 50) / 2
    expected = 0.5 * scipy_stats.binom.sf(heads - 1, 50, 0.5)
    assert expected / 5 < saddlepoint_tail(sums, threshold) < 5 * expected

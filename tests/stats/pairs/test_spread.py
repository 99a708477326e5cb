import math

import numpy as np
import pytest

from rageval_report.stats.pairs.spread import rounding_tolerance, standard_deviation, tie_magnitudes


def test_the_tolerance_grows_with_the_scores_but_never_falls_below_that_of_one():
    assert rounding_tolerance(np.array([0.001])) == 1e-12
    assert rounding_tolerance(np.array([5.0, -3000.0]), np.array([2.0])) == 3e-9
    assert rounding_tolerance(np.array([])) == 1e-12


def test_the_standard_deviation_is_numpys():
    values = np.array([0.2, 0.9, 0.4, 0.4])
    assert standard_deviation(values, 1e-12) == pytest.approx(np.std(values, ddof=1), rel=1e-15)


def test_differences_that_are_equal_but_for_rounding_have_no_spread():
    scores = np.array([0.1, 0.7, 1.3, 0.37])
    assert np.ptp((scores + 0.1) - scores) > 0
    assert standard_deviation((scores + 0.1) - scores, 1e-12) == 0.0


def test_one_value_has_no_standard_deviation():
    assert math.isnan(standard_deviation(np.array([0.3]), 1e-12))


def test_magnitudes_that_are_equal_but_for_rounding_become_equal_and_keep_their_sign():
    tied = tie_magnitudes(np.array([0.1 + 0.2, -0.3, 0.5, -0.2]), 1e-12)
    assert tied[0] == -tied[1]
    assert np.sign(tied).tolist() == [1, -1, 1, -1]
    assert np.abs(tied) == pytest.approx([0.3, 0.3, 0.5, 0.2])


def test_magnitudes_that_differ_are_left_as_they_are():
    values = np.array([0.5, -0.1, 0.0, 0.25])
    assert tie_magnitudes(values, 1e-12).tolist() == values.tolist()


def test_magnitudes_one_tolerance_apart_are_tied_and_farther_ones_are_not():
    assert tie_magnitudes(np.array([1.0, -1.5, 2.25]), 0.5).tolist() == [1.0, -1.0, 2.25]

"""Quantiles of the normal distribution, against those of SciPy."""

import math

import numpy as np
import pytest
import scipy.special

from rageval_report.stats.normal import normal_quantile, normal_quantiles

TAILS = np.concatenate((np.logspace(-300, -2, 299), np.linspace(0.01, 0.5, 99)))


def test_quantiles_are_those_of_scipy_far_into_both_tails():
    shares = np.concatenate((TAILS, 1.0 - TAILS[TAILS > 1e-16]))
    ours = np.array([normal_quantile(share) for share in shares.tolist()])
    theirs = scipy.special.ndtri(shares)  # SciPy 1.17.1
    np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_ends_are_infinite_as_in_scipy(share):
    assert normal_quantile(share) == scipy.special.ndtri(share)


def test_the_largest_levels_have_a_quantile():
    share = 0.5 + math.nextafter(1.0, 0.0) / 2.0  # 1.0 after rounding
    assert normal_quantile(share) == math.inf


def test_both_sides_are_mirror_images():
    for share in (0.5, 0.25, 2.0**-20):  # their complements are exact
        assert normal_quantile(1.0 - share) == -normal_quantile(share)


def test_an_array_has_the_quantile_of_each_number():
    np.testing.assert_array_equal(
        normal_quantiles(TAILS), [normal_quantile(share) for share in TAILS.tolist()]
    )
    assert normal_quantiles(np.zeros(0)).shape == (0,)

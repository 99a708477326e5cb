import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.sequential import look_levels


def boundaries(shares, **options):
    return norm.isf(look_levels(shares, **options) / 2)


# Two-sided 5 %, equally spaced looks: Reboussin, DeMets, Kim, Lan (2000), Programs for computing
# group sequential boundaries using the Lan-DeMets method, and the same of the R package gsDesign.
PUBLISHED = {
    ("obrien-fleming", 3): [3.7103, 2.5114, 1.9930],
    ("obrien-fleming", 5): [4.8769, 3.3569, 2.6803, 2.2898, 2.0310],
    ("pocock", 5): [2.4380, 2.4268, 2.4101, 2.3966, 2.3859],
}


@pytest.mark.parametrize(("spending", "looks"), PUBLISHED)
def test_the_boundaries_are_the_published_ones(spending, looks):
    shares = np.arange(1, looks + 1) / looks
    computed = boundaries(shares, spending=spending)
    np.testing.assert_allclose(computed, PUBLISHED[spending, looks], atol=2e-4)


@pytest.mark.parametrize("spending", ["obrien-fleming", "pocock"])
def test_the_looks_spend_what_the_function_says(spending):
    # SciPy integrates the three looks at once, without the recursion
    shares = np.array([0.3, 0.55, 1.0])
    limits = boundaries(shares, spending=spending)
    correlation = np.sqrt(np.minimum.outer(shares, shares) / np.maximum.outer(shares, shares))
    # Not frozen: older versions of SciPy take the precision only here.
    precision = {"abseps": 1e-9, "releps": 1e-9, "maxpts": 10**6}
    never = multivariate_normal.cdf(limits, cov=correlation, lower_limit=-limits, **precision)
    assert 1 - never == pytest.approx(0.05, abs=2e-6)


def test_the_only_look_has_the_whole_level():
    assert look_levels([1.0], alpha=0.1) == pytest.approx([0.1])


def test_looks_that_stop_early_spend_less():
    assert look_levels([0.2, 0.4]) == pytest.approx(look_levels([0.2, 0.4, 0.7, 1.0])[:2])


def test_a_very_early_look_never_rejects():
    assert look_levels([0.001, 1.0])[0] < 1e-50
    assert look_levels([0.001, 1.0])[1] == pytest.approx(0.05)


@pytest.mark.parametrize("shares", [[], [0.5, 0.5], [0.0, 1.0], [0.5, 1.1], [0.8, 0.4]])
def test_shares_ascend_to_at_most_1(shares):
    with pytest.raises(DataError, match="shares must ascend from above 0 to at most 1"):
        look_levels(shares)


def test_an_unknown_function_is_refused():
    with pytest.raises(UnknownNameError, match="obrien-fleming"):
        look_levels([1.0], spending="obrien")

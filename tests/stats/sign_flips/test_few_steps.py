"""All terms of a period against the whole law of the sum, which is whole numbers of patterns."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom

from rageval_report.stats.sign_flips import sign_tail
from rageval_report.stats.sign_flips.few_steps import FewMagnitudes, whole_period_tail
from rageval_report.stats.sign_flips.fourier import IntegrationLine
from rageval_report.stats.sign_flips.meet_in_the_middle import lattice_law
from rageval_report.stats.sign_flips.sign_sums import SignSums
from rageval_report.stats.sign_flips.sign_tail import lattice_tail


@pytest.fixture(scope="module", autouse=True)
def no_convolutions():
    """Short lattices take the same way as long ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sign_tail, "_is_short", lambda *_lattice: False)
        yield


@st.composite
def lattices(draw):
    """Distinct magnitudes without a common divisor, their counts, and a possible sum."""
    largest = draw(st.sampled_from([3, 8, 60]))
    steps = draw(st.sets(st.integers(1, largest), min_size=2, max_size=8))
    divisor = math.gcd(*steps)
    distinct = np.array(sorted(step // divisor for step in steps))
    counts = np.array(
        draw(st.lists(st.integers(1, 150), min_size=distinct.size, max_size=distinct.size))
    )
    assume(counts.sum() > 40)
    unit = math.sqrt(float(np.square(distinct) @ counts))
    total = int(distinct @ counts)
    turned = round((total - draw(st.floats(0.0, 6.0)) * unit) / 2)
    assume(0 < turned < total)
    return distinct, counts.astype(np.float64), abs(total - 2 * turned)


@given(lattices())
def test_a_tail_is_that_of_the_whole_law(lattice):
    steps, counts, threshold = lattice
    law = lattice_law(steps, counts)
    at_least = float(law.weights[law.values >= threshold].sum())
    equal = float(law.weights[law.values == threshold].sum())
    assume(at_least > 1e-9)
    found = lattice_tail(steps, counts, threshold)
    assert found.at_least == pytest.approx(at_least, rel=1e-9, abs=0.0)
    assert found.equal == pytest.approx(equal, abs=1e-9 * at_least)


@given(lattices(), st.floats(0.0, 5.0))
def test_the_cumulant_is_that_of_many_magnitudes(lattice, c):
    steps, counts, _ = lattice
    values = steps / math.sqrt(float(np.square(steps) @ counts))
    few, many = FewMagnitudes(values, counts).cumulant(c), SignSums(values, counts).cumulant(c)
    assert few.value == pytest.approx(many.value, rel=1e-7, abs=1e-12)
    assert few.mean == pytest.approx(many.mean, rel=1e-7, abs=1e-12)
    assert few.variance == pytest.approx(many.variance, rel=1e-7)


@pytest.mark.parametrize("heads", [50, 60, 75])
def test_tosses_of_a_coin_are_binomial(heads):
    """`scipy.stats.binom` 1.15 and later."""
    few = FewMagnitudes(np.array([0.1]), np.array([100.0]))
    threshold = (2 * heads - 100) / 10
    line = IntegrationLine(max(2.0, threshold), max(binom.sf(heads - 1, 100, 0.5), 1e-9), 0.1)
    found = whole_period_tail(few, threshold, line)
    assert found.at_least == pytest.approx(binom.sf(heads - 1, 100, 0.5), rel=1e-9)
    assert found.equal == pytest.approx(binom.pmf(heads, 100, 0.5), rel=1e-9)


def test_a_long_period_or_no_lattice_is_left_to_the_series():
    few = FewMagnitudes(np.array([0.6, 0.8]), np.ones(2))
    assert whole_period_tail(few, 0.5, IntegrationLine(2.0, 0.1, 1e-6)) is None
    assert whole_period_tail(few, 0.5, IntegrationLine(2.0, 0.1)) is None

"""Sums that are rounded once: those of Python's math.fsum and of fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.stats import exact_sums
from rageval_report.stats.exact_sums import ExactSum

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(st.lists(NUMBERS, max_size=60))
def test_a_sum_is_that_of_fsum_and_of_fractions(numbers):
    total = ExactSum.of(np.array(numbers))
    assert total.n == len(numbers)
    assert total.sum == math.fsum(numbers)  # Python 3.11
    exact = sum(map(Fraction, numbers), Fraction())
    if numbers:
        assert total.mean == float(exact / len(numbers))


@given(st.lists(NUMBERS, max_size=40), st.integers(0, 40), st.randoms())
def test_no_division_and_no_order_moves_a_sum(numbers, cut, random):
    whole = ExactSum.of(np.array(numbers))
    random.shuffle(numbers)
    assert ExactSum.of(np.array(numbers[:cut])) + ExactSum.of(np.array(numbers[cut:])) == whole


def test_blocks_are_added(monkeypatch):
    numbers = np.random.default_rng(0).normal(size=1000)
    monkeypatch.setattr(exact_sums, "_BLOCK", 7)
    assert ExactSum.of(numbers).sum == math.fsum(numbers)


@pytest.mark.parametrize("numbers", [[5e-324, 5e-324], [0.0, -0.0], [1.7e308, 5e-324, -1.7e308]])
def test_the_smallest_and_the_largest_numbers_are_added(numbers):
    assert ExactSum.of(np.array(numbers)).sum == math.fsum(numbers)


def test_nothing_has_no_mean():
    assert ExactSum.of(np.empty(0)) == ExactSum()
    assert math.isnan(ExactSum().mean)
    assert ExactSum().sum == 0.0

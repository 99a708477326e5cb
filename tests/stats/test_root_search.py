"""Roots between two numbers, against those of SciPy and against exact ones."""

import math

import pytest
import scipy.optimize
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.stats.root_search import bracketed_root

FUNCTIONS = {
    "a power curve": (lambda x: scipy.special.ndtr(5.0 * x - 2.0) - 0.8, 0.0, 10.0),
    "steep": (lambda x: math.exp(x) - 1e5, 0.0, 100.0),
    "flat on both sides": (lambda x: math.atan(x - 40.0), 0.0, 1e4),
    "a line": (lambda x: 3.0 * x - 1.0, -2.0, 2.0),
    "falling": (lambda x: math.cos(x) - x, 0.0, 1.0),
}


def counted(function):
    calls = []

    def call(x):
        calls.append(x)
        return function(x)

    return call, calls


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_root_is_that_of_scipy_in_as_many_calls(name):
    function, low, high = FUNCTIONS[name]
    ours, our_calls = counted(function)
    theirs, their_calls = counted(function)
    root = bracketed_root(ours, low, high, tolerance=1e-12)
    # SciPy 1.17.1
    assert root == pytest.approx(scipy.optimize.brentq(theirs, low, high, xtol=1e-12), abs=3e-12)
    assert len(our_calls) <= len(their_calls) + 5


@given(st.floats(-100, 100), st.sampled_from([1, 3, 5]))
def test_the_root_of_a_power_is_found_from_either_side(root, exponent):
    def function(x):
        return (x - root) ** exponent

    for ends in ((-101.0, 102.0), (102.0, -101.0)):
        assert bracketed_root(function, *ends, tolerance=1e-9) == pytest.approx(root, abs=1e-9)


def test_a_jump_is_found_as_a_change_of_sign():
    root = bracketed_root(lambda x: 1.0 if x > 0.3 else -2.0, 0.0, 1.0, tolerance=1e-9)
    assert root == pytest.approx(0.3, abs=1e-9)


def test_an_end_may_be_the_root():
    assert bracketed_root(lambda x: x, 0.0, 5.0, tolerance=1e-9) == 0.0
    assert bracketed_root(lambda x: x - 5.0, 0.0, 5.0, tolerance=1e-9) == 5.0


def test_the_tolerance_may_be_a_share_of_the_root():
    function, calls = counted(lambda x: x**3 - 1e18)
    rough = bracketed_root(function, 0.0, 1e9, tolerance=0.0, relative=1e-3)
    assert rough == pytest.approx(1e6, rel=1e-3)
    n_rough = len(calls)
    assert bracketed_root(function, 0.0, 1e9, tolerance=0.0, relative=1e-13) == pytest.approx(
        1e6, rel=1e-13
    )
    assert len(calls) - n_rough > n_rough


def test_two_numbers_of_one_sign_are_refused():
    with pytest.raises(DataError, match="the function has the same sign at 0 and 1"):
        bracketed_root(lambda x: x + 1.0, 0.0, 1.0, tolerance=1e-9)

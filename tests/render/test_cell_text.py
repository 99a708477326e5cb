"""Every expected text is rounded by hand."""

import math
from datetime import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.render.cell_text import (
    cell,
    confidence,
    count,
    integer,
    interval,
    number,
    pvalue,
    signed_number,
)

NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0, "0.000"),
        (1.0, "1.000"),
        (0.41249, "0.412"),
        (-0.5, "-0.500"),
        (9.9994, "9.999"),
        (9.9996, "10.00"),  # three decimals would make it 10.000
        (12.345678, "12.35"),
        (99.996, "100.0"),
        (812.34, "812.3"),
        (999.96, "1000"),
        (123456.7, "123457"),
        (1e15, "1.000e+15"),
        (0.00021, "0.00021"),
        (-0.0000402, "-0.000040"),
        (2.13e-7, "2.1e-07"),
        (1e-13, "0.000"),  # float noise
        (-1e-13, "0.000"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (NAN, "–"),
    ],
)
def test_a_number_has_as_many_decimals_as_its_size_deserves(value, told):
    assert number(value) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.043, "+0.043"), (-0.012, "-0.012"), (0, "0.000"), (1e-14, "0.000"), (NAN, "–")],
)
def test_a_difference_has_its_sign(value, told):
    assert signed_number(value) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0, "< 0.001"),
        (0.00099, "< 0.001"),
        (0.001, "0.001"),
        (0.0084, "0.008"),
        (0.5, "0.500"),
        (0.9994, "0.999"),
        (0.9996, "1"),
        (1.0, "1"),
        (NAN, "–"),
    ],
)
def test_a_pvalue_is_never_zero(value, told):
    assert pvalue(value) == told


@pytest.mark.parametrize(
    ("value", "told"), [(412, "412"), (412.0, "412"), (3.5, "3.500"), (NAN, "–"), (math.inf, "inf")]
)
def test_a_count_has_no_decimals(value, told):
    assert count(value) == told


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.4121, 0.5309, "0.412 to 0.531"),
        (-0.012, 0.0754, "-0.012 to 0.075"),
        (9.5, 10.25, "9.50 to 10.25"),  # both ends as the larger one
        (0.0001, 0.5, "0.000 to 0.500"),
        (0.00012, 0.00034, "0.00012 to 0.00034"),
        (0.0006, 0.0015, "0.00060 to 0.00150"),  # narrow: two digits of its width
        (0.4123, 0.4164, "0.4123 to 0.4164"),
        (0.5, 0.5 + 1e-9, "0.5000000 to 0.5000000"),
        (812.34, 812.41, "812.3 to 812.4"),
        (0.0, 0.0, "0.000 to 0.000"),
        (-math.inf, 0.5, "-inf to 0.500"),
        (NAN, 0.5, "– to 0.500"),
        (NAN, NAN, "–"),
    ],
)
def test_both_ends_of_an_interval_are_rounded_alike(low, high, told):
    assert interval(low, high) == told


@pytest.mark.parametrize(
    ("level", "told"), [(0.95, "95 % CI"), (0.9, "90 % CI"), (0.999, "99.9 % CI"), (None, "CI")]
)
def test_an_interval_is_called_by_its_level(level, told):
    assert confidence(level) == told


@pytest.mark.parametrize("value", [None, NAN, np.nan, pd.NA, pd.NaT, np.float32("nan")])
def test_whatever_is_missing_is_a_dash(value):
    assert cell(value) == "–"


@pytest.mark.parametrize(
    ("value", "name", "told"),
    [
        (True, "is_best", "yes"),
        (np.False_, "is_best", "no"),
        (7, "anything", "7"),
        (np.int64(7), "mean", "7"),
        (7.0, "n_unscored", "7"),
        (7.0, "mean", "7.000"),
        (0.0, "pvalue_adjusted", "< 0.001"),
        (0.0, "heterogeneity_pvalue", "< 0.001"),
        (0.1, "improvement", "+0.100"),
        (0.1, "min_detectable_difference", "0.100"),  # a size, not a direction
        (Decimal("0.10"), "price", "0.10"),
        (datetime(2026, 1, 2, 3, 4), "when", "2026-01-02 03:04:00"),
        ("line one\nline two", "answer", "line one line two"),
        ("", "answer", ""),
    ],
)
def test_the_column_says_how_a_value_is_shown(value, name, told):
    assert cell(value, name) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (["d1", "d2"], "d1, d2"),
        (("d1", 0.25, None), "d1, 0.250, –"),
        ({"b", "a"}, "a, b"),
        ({"k": 5, "ids": ["d1", "d2"]}, "k: 5, ids: [d1, d2]"),
        (np.array([0.5, 0.25]), "0.500, 0.250"),
        ([], "[]"),
        ({}, "{}"),
        ([[[[["deep"]]]]], "[[[…]]]"),
        (list(range(25)), ", ".join(map(str, range(20))) + ", …"),
    ],
)
def test_lists_and_dicts_are_told_without_quotes(value, told):
    assert cell(value, longest=200) == told


def test_a_ragged_list_is_told_like_any_other():
    assert cell([[1, 2], [3]]) == "[1, 2], [3]"


def test_a_long_text_is_cut_where_it_is_asked():
    assert cell("a" * 100, longest=10) == "a" * 9 + "…"


def test_an_integer_of_any_size_is_shown():
    assert integer(123456789012345678) == "123456789012345678"
    assert cell(10**5000, "n") == "1.000e+5000"


@given(st.floats(-1e300, 1e300))
@settings(max_examples=300)
def test_a_shown_number_is_short_and_near(value):
    told = number(value)
    assert len(told) <= 17
    # three decimals, or two digits of what is too small or too large for them
    allowed = 0.00051 if 0.001 <= abs(value) < 10 else 0.051 * abs(value) + 1e-12
    assert abs(float(told) - value) <= allowed


@given(st.floats(0, 1))
@settings(max_examples=100)
def test_a_pvalue_is_never_told_smaller_than_it_could_be(value):
    told = pvalue(value)
    assert told != "0.000"
    assert (told == "< 0.001") == (value < 0.001)

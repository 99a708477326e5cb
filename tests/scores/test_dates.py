"""Dates are told from numbers; the witness for dates in numbers is the standard library."""

from datetime import UTC, date, datetime, time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.scores.numerals import date_in_numbers, is_date


@pytest.mark.parametrize(
    "cell",
    [
        *("2025-11-03", "2025-11", "2025/11/03", "3.11.2025", "12/03/2025", "3/5/25", "3-5-2025"),
        *("2025-11-03T10:00:00Z", "2025-11-03 10:00:00.123+01:00", "11/3/2025 9:05 PM"),
        *("5 March 2025", "Mar 5, 2025", "05-Mar-25", "5-Mar", "Mar-25", "Wed, 5 Mar 2025 10:00"),
        *("14:00", "14:00:03"),
        *(date(2025, 3, 5), datetime(2025, 3, 5), time(14), pd.Timestamp("2025-03-05")),
        *(np.datetime64("2025-03-05"), pd.Period("2025-03")),
    ],
)
def test_dates_are_recognised(cell):
    assert is_date(cell)


@pytest.mark.parametrize(
    "cell",
    [
        *("3/5", "0.5", "1e-3", "4 (1-5)", "-0.5", "12,345.6", "1.2.3", "marginal", "may", "", "5"),
        *(0.5, None, pd.NaT, np.datetime64("NaT", "ns"), 20250305, [1]),
    ],
)
def test_other_cells_are_no_dates(cell):
    assert not is_date(cell)


@given(
    st.datetimes(datetime(2000, 1, 2), datetime(2099, 12, 30)),
    st.sampled_from([1, 1_000, 1_000_000]),
)
def test_counted_seconds_are_dates(moment, ticks):
    seconds = moment.replace(tzinfo=UTC, microsecond=0).timestamp()
    assert date_in_numbers("x", np.array([np.nan, seconds * ticks])) == moment.date().isoformat()


def test_whole_numbers_may_spell_dates():
    assert date_in_numbers("x", np.array([20251103.0, 20240229.0])) == "2025-11-03"
    assert date_in_numbers("x", np.array([20251103.0, 20251399.0])) is None


def test_the_days_of_a_spreadsheet_are_dates_if_the_name_says_so():
    assert date_in_numbers("created_at", np.array([45964.0])) == "2025-11-03"
    assert date_in_numbers("n_characters", np.array([45964.0])) is None


@pytest.mark.parametrize("name", ["latency_us", "total_tokens", "cost", "elapsed time"])
def test_large_numbers_under_the_name_of_a_count_are_no_dates(name):
    assert date_in_numbers(name, np.array([1_762_190_000.0])) is None


@pytest.mark.parametrize("numbers", [[], [np.nan], [np.inf], [-1e9], [0.5, 1.0], [1e300]])
def test_other_numbers_are_no_dates(numbers):
    assert date_in_numbers("created", np.array(numbers, dtype=float)) is None


@pytest.mark.parametrize("tick", [1, 1_000, 1_000_000, 1_000_000_000])
def test_counted_seconds_are_dates_from_2000_until_2100(tick):
    first, last = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (2000, 2100))
    assert date_in_numbers("x", np.array([first]) * tick) == "2000-01-01"
    assert date_in_numbers("x", np.array([first + 86_400, last - 1]) * tick) == "2000-01-02"
    assert date_in_numbers("x", np.array([first, last]) * tick) is None
    assert date_in_numbers("x", np.array([first - 1, last - 1]) * tick) is None


def test_days_are_dates_from_2000_until_2100():
    # A spreadsheet counts 36526 for the first day of 2000, and 73050 for the last of 2099.
    assert date_in_numbers("date", np.array([36_526.0, 73_049.0])) == "2000-01-01"
    assert date_in_numbers("date", np.array([73_049.5])) == "2099-12-30"
    assert date_in_numbers("date", np.array([36_525.0, 40_000.0])) is None
    assert date_in_numbers("date", np.array([40_000.0, 73_050.0])) is None


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (19_000_101, "1900-01-01"),
        (20_991_231, "2099-12-31"),
        (20_250_131, "2025-01-31"),
        (20_251_201, "2025-12-01"),
        *((18_991_231, None), (21_000_101, None), (20_251_301, None), (20_250_001, None)),
        *((20_250_100, None), (20_250_132, None), (20_250_101.5, None)),
    ],
)
def test_numbers_that_spell_dates_have_a_month_and_a_day(number, expected):
    assert date_in_numbers("x", np.array([number, np.nan], dtype=float)) == expected
    if expected is None:  # one number that spells no date is enough
        assert date_in_numbers("x", np.array([20_250_101, number], dtype=float)) is None


def test_a_date_has_four_to_forty_characters():
    assert is_date("5:00")
    assert not is_date("5:0")
    assert is_date("2025-11-03 10:00:00." + "1" * 20)
    assert not is_date("2025-11-03 10:00:00." + "1" * 21)
    assert is_date("  2025-11-03 10:00:00." + "1" * 20 + "  ")


@pytest.mark.parametrize("numbers", [[np.nan], [1.7e9, np.inf], [-np.inf, 1.7e9], [np.inf]])
def test_columns_without_a_finite_range_of_numbers_are_no_dates(numbers):
    assert date_in_numbers("created", np.array(numbers)) is None


def test_blank_cells_before_a_date_do_not_hide_it():
    assert date_in_numbers("created", np.array([np.nan, 1.7e9])) == "2023-11-14"

"""What a number that people and spreadsheets write may mean, by arithmetic."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.scores.numerals import (
    names_a_time,
    numeral_of_timedelta,
    parse_numeral,
    plain_text,
    unit_in_name,
)


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("1,234", "1234", "1.234"),
        ("1.234", "1.234", "1234"),
        ("1,234.5", "1234.5", None),
        ("1.234,5", None, "1234.5"),
        ("1.234.567", None, "1234567"),
        ("12,34,567", "1234567", None),
        ("0,830", None, "0.830"),
        ("0.830", "0.830", None),
        ("-0,5e-3", None, "-0.5e-3"),
        ("1 234 567", "1234567", "1234567"),
        ("1 234,5", None, "1234.5"),
        ("1'234.5", "1234.5", None),
        ("1_000", "1000", "1000"),
        ("+.5", "+.5", None),
    ],
)
def test_a_number_keeps_both_readings(text, point, comma):
    numeral = parse_numeral(text)
    assert (numeral.kind, numeral.point, numeral.comma) == ("number", point, comma)


@pytest.mark.parametrize(
    ("text", "kind", "number", "unit"),
    [
        ("85 %", "percent", "85", ""),
        ("85 percent", "percent", "85", ""),
        ("4/5", "fraction", "4", ""),
        ("4 out of 5", "fraction", "4", ""),
        ("4 of 5", "fraction", "4", ""),
        ("4/5 stars", "fraction", "4", ""),
        ("12 ms", "time", "12", "ms"),
        ("3.5 seconds", "time", "3.5", "s"),
        ("2min", "time", "2", "min"),
        ("15 µs", "time", "15", "µs"),
        ("$3", "money", "3", "$"),
        ("-$3", "money", "-3", "$"),
        ("3 EUR", "money", "3", "€"),
        ("4 stars", "stars", "4", ""),
        ("★★★☆☆", "stars", "3", ""),
        ("0 days 00:01:01.5", "time", "61.5", "s"),
    ],
)
def test_what_stands_beside_a_number_is_its_kind(text, kind, number, unit):
    numeral = parse_numeral(text)
    assert (numeral.kind, numeral.point, numeral.unit) == (kind, number, unit)


@pytest.mark.parametrize(
    "text",
    [
        *("1,2,3", "1 2", "1 23", "1_00", "v1", "0x10", "½", "1.2.3", "12/03/2025", "2025-11"),
        *("", " ", "-", "%", "$", "$ms", "4/5 ms", "--1", "1..2", "1,,2", "9" * 100),
    ],
)
def test_other_texts_are_no_numbers(text):
    assert parse_numeral(text) is None


def test_signs_of_other_keyboards_are_those_of_ascii():
    assert plain_text("\u2212\uff11\u202f234\uff0c5 \uff05") == "-1 234,5 %"
    assert parse_numeral("\u2212\uff10\uff0e\uff15").point == "-0.5"
    assert parse_numeral("1\u2019234.5").point == "1234.5"


@pytest.mark.parametrize("text", ["~0.5", "\u22480.5", "about 0.5", "0.5*", "0.5†"])
def test_rounded_numbers_and_footnotes_are_marked(text):
    numeral = parse_numeral(text)
    assert numeral.is_rounded
    assert numeral.point == "0.5"


@pytest.mark.parametrize("text", ["<0.01", "> 60 s", "≤5", ">= 3"])
def test_limits_are_marked(text):
    assert parse_numeral(text).is_limit


@given(st.text(max_size=90))
def test_every_text_has_a_number_in_pythons_notation_or_none(text):
    numeral = parse_numeral(text)
    if numeral is not None:
        readings = [reading for reading in (numeral.point, numeral.comma) if reading is not None]
        assert readings
        assert all(isinstance(float(reading), float) for reading in readings)


def test_a_length_of_time_is_in_seconds():
    numeral = numeral_of_timedelta(timedelta(minutes=1, milliseconds=250))
    assert (numeral.point, numeral.unit) == ("60.25", "s")


def test_the_name_of_a_column_may_give_the_unit():
    assert unit_in_name("latency_ms") == "ms"
    assert unit_in_name("Response Time (s)") == "s"
    assert unit_in_name("costs") is None
    assert names_a_time("time_to_first_token")
    assert not names_a_time("created")


@pytest.mark.parametrize(("text", "seconds"), [("1:02:03", 3723), ("0:00:00.5", 0.5)])
def test_a_clock_is_a_time_only_where_the_column_says_so(text, seconds):
    numeral = parse_numeral(text)
    assert (numeral.kind, numeral.is_clock, numeral.unit) == ("time", True, "s")
    assert float(numeral.point) == float(numeral.comma) == seconds
    assert not parse_numeral("90 s").is_clock


@pytest.mark.parametrize("text", ["0.5", "83 %", "4/5", "90 s", "$3", "1:02:03"])
def test_a_number_without_a_sign_for_rounding_is_not_rounded(text):
    numeral = parse_numeral(text)
    assert not numeral.is_rounded
    assert not numeral.is_limit
    assert parse_numeral("~0.5").is_rounded

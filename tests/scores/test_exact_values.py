"""Values as JSON: what any program can read, and what reads back as it was."""

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from rageval_report.errors import DataError
from rageval_report.scores.saved_columns import (
    are_same,
    decode_value,
    encode_value,
    is_missing,
    plain_value,
    python_value,
)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (math.inf, None),
        (np.float64("nan"), None),
        (np.int8(3), 3),
        (np.bool_(True), True),
        (pd.NA, None),
        (pd.NaT, None),
        (None, None),
        (date(2026, 8, 1), "2026-08-01"),
        (Decimal("0.10"), "0.10"),
        (np.array([1.5, np.inf]), [1.5, None]),
        (({"a": {1}},), [{"a": [1]}]),
        (frozenset(("x",)), ["x"]),
        ("", ""),
        (False, False),
    ],
)
def test_json_holds_a_value_or_null_where_it_cannot(value, plain):
    found = plain_value(value)
    assert found == plain
    assert type(found) is type(plain)


@pytest.mark.parametrize("value", [None, math.nan, np.float64("nan"), pd.NA, pd.NaT])
def test_missing_values_of_every_library_are_missing(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", [0.0, math.inf, "", "nan", [], {}, False, np.float64(0)])
def test_zero_and_what_is_empty_are_not_missing(value):
    assert not is_missing(value)


def test_numbers_of_numpy_become_those_of_python_at_any_depth():
    value = {np.int64(1): [np.float32(0.5), (np.bool_(True), {np.str_("x")})]}
    found = python_value(value)
    assert found == {1: [0.5, [True, ["x"]]]}
    assert [type(key) for key in found] == [int]
    assert [type(part) for part in (found[1][0], found[1][1][0])] == [float, bool]


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        (1.0, 2.0),
        (1.0, math.nan),
        (math.nan, 1.0),
        (math.nan, None),
        (pd.NaT, pd.NA),
        ([1, 2], [1, 3]),
        ([1, 2], [1]),
        ([0.0], [-0.0]),
        ([1], {"a": 1}),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": True}),
        ("x", "y"),
    ],
)
def test_values_that_differ_in_anything_are_not_the_same(value, other):
    assert are_same(value, other) is False
    assert are_same(other, value) is False


@pytest.mark.parametrize(
    "make",
    [
        lambda: math.nan,
        lambda: -0.0,
        lambda: 2.5,
        lambda: [math.nan, [None, "x"]],
        lambda: {"a": [math.nan], "b": -0.0},
        lambda: pd.NA,
        lambda: pd.NaT,
        lambda: None,
        lambda: "x" * 50,
        lambda: Decimal("1.50"),
    ],
)
def test_equal_values_made_twice_are_the_same(make):
    assert are_same(make(), make()) is True


# What stands in the file, by the formats of ISO 8601, RFC 4648 and IEEE 754 texts of Python.
WRITTEN = [
    (math.inf, {"$float": "inf"}),
    (-math.inf, {"$float": "-inf"}),
    (pd.NA, {"$missing": "NA"}),
    (pd.NaT, {"$missing": "NaT"}),
    (pd.Timestamp("2026-08-01 09:30", tz="UTC"), {"$timestamp": "2026-08-01T09:30:00+00:00"}),
    (datetime(2026, 8, 1, 9, 30, tzinfo=UTC), {"$datetime": "2026-08-01T09:30:00+00:00"}),
    (date(2026, 8, 1), {"$date": "2026-08-01"}),
    (time(9, 30), {"$time": "09:30:00"}),
    (timedelta(seconds=90), {"$timedelta": "P0DT0H1M30S"}),
    (pd.Timedelta(seconds=90), {"$pandas_timedelta": "P0DT0H1M30S"}),
    (Decimal("1.50"), {"$decimal": "1.50"}),
    (b"\x00abc", {"$bytes": "AGFiYw=="}),
    ({1: "a"}, {"$dict": [[1, "a"]]}),
    ({"$date": "x"}, {"$dict": [["$date", "x"]]}),
    ({"a": 1, "$b": math.inf}, {"$dict": [["a", 1], ["$b", {"$float": "inf"}]]}),
    ({"a": [pd.NA]}, {"a": [{"$missing": "NA"}]}),
    ([True, 1, "x", None, 0.5], [True, 1, "x", None, 0.5]),
]


@pytest.mark.parametrize(("value", "document"), WRITTEN)
def test_a_value_is_written_with_its_type_and_reads_back_as_it_was(value, document):
    assert encode_value(value) == document
    again = decode_value(document)
    assert type(again) is type(value)
    assert are_same(again, value)


def test_nan_is_a_word_because_json_has_no_number_for_it():
    assert encode_value(np.float64("nan")) == {"$float": "nan"}
    assert math.isnan(decode_value({"$float": "nan"}))


def test_what_no_file_can_hold_is_written_as_its_text():
    assert encode_value(3 + 4j) == "(3+4j)"


@pytest.mark.parametrize(
    "document",
    [
        {"$new": 1},
        {"$float": "x"},
        {"$float": "1", "other": 1},
        {"$missing": "NAN"},
        {"$bytes": "?"},
        {"$decimal": "x"},
        {"$date": 5},
        {"$dict": [[1]]},
        [{"a": {"$time": "25:00"}}],
    ],
)
def test_an_object_of_an_unknown_kind_is_refused(document):
    with pytest.raises(DataError, match="is not a value that this version can read"):
        decode_value(document)


def test_an_error_about_a_long_object_shows_sixty_characters_of_it():
    with pytest.raises(DataError) as caught:
        decode_value({"$new": "x" * 100})
    assert str(caught.value) == f"{{'$new': '{'x' * 50} is not a value that this version can read"

"""What cells say, by the table of words in the module and by arithmetic."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.scores.cells import (
    count_numbers,
    read_cell,
    read_cells,
)
from rageval_report.scores.states import FAILED, MISSING, NOT_APPLICABLE, SCORED


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (0.83, 0.83),
        ("0.83", 0.83),
        (" 1e-3 ", 0.001),
        (np.float32(0.5), 0.5),
        (Decimal("0.1"), 0.1),
        (True, 1.0),
        (np.bool_(False), 0.0),
        ("83 %", 0.83),
        ("83%", 0.83),
        ("7%", 0.07),
        ("4/5", 0.8),
        ("8/10", 0.8),
        ("3 / 4", 0.75),
        ("PASS", 1.0),
        ("fail", 0.0),
        ("Correct", 1.0),
        ("0.9999999999", 0.9999999999),
        ({"score": 0.5, "reason": "half"}, 0.5),
        ({"value": "4/5"}, 0.8),
        ('{"score": 0.25, "reason": "a quarter"}', 0.25),
        ("{'score': 1, 'explanation': None}", 1.0),
        ("4 (1-5)", 4.0),
        ("4 [1 to 5]", 4.0),
    ],
)
def test_what_people_write_for_a_score_is_read(cell, number):
    read = read_cell(cell)
    assert read.number == number
    assert read.state == SCORED
    assert read.is_read


@pytest.mark.parametrize(
    ("cell", "state"),
    [
        (None, MISSING),
        (math.nan, MISSING),
        (pd.NA, MISSING),
        (pd.NaT, MISSING),
        ("", MISSING),
        ("None", MISSING),
        ("(Failed)", FAILED),
        ("ERROR", FAILED),
        ("n/a", NOT_APPLICABLE),
        ({"score": None, "error": "timeout"}, FAILED),
        ({"score": None}, MISSING),
    ],
)
def test_what_frameworks_write_for_no_score_has_its_state(cell, state):
    read = read_cell(cell)
    assert math.isnan(read.number)
    assert read.state == state
    assert read.is_read


@pytest.mark.parametrize(
    "cell",
    [
        *(
            "good",
            "1 000 0",
            "1,5,5",
            "6/5",
            "1/0",
            "9 (1-5)",
            "4 (5-1)",
            "{'score': __import__('os')}",
        ),
        *([0.5, 1.0], {"other": 1}, {"score": {"score": 1}}, "{" * 50_000, object()),
        *(10**400, Decimal("sNaN")),
    ],
)
def test_anything_else_failed_with_its_text_as_the_reason(cell):
    read = read_cell(cell)
    assert math.isnan(read.number)
    assert read.state == FAILED
    assert not read.is_read
    assert read.reason is not None
    assert read.reason[:20] == str(cell)[:20]
    assert len(read.reason) <= 500


def test_failed_is_a_score_beside_passed_and_none_beside_numbers():
    assert read_cells(["passed", "failed"]).numbers.tolist() == [1.0, 0.0]
    beside_numbers = read_cells(["0.5", "failed"])
    assert math.isnan(beside_numbers.numbers[1])
    assert beside_numbers.states[1] == FAILED


def test_letters_are_scores_where_all_cells_are_letters():
    read = read_cells(["C", "I", "P", "N", ""])
    np.testing.assert_equal(read.numbers, [1.0, 0.0, 0.5, 0.0, math.nan])
    assert read.words == {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
    assert read_cells(["C", "0.5"]).unread == [0]


def test_the_range_of_a_scale_is_kept_where_all_agree():
    assert read_cells(["4 (1-5)", "1 (1-5)"]).scale == (1.0, 5.0)
    assert read_cells([{"score": 2, "min": 0, "max": 3}]).scale == (0.0, 3.0)
    assert read_cells([{"score": 2, "range": [0, 3]}]).scale == (0.0, 3.0)
    assert read_cells(["4 (1-5)", "4 (1-7)"]).scale is None


@given(st.recursive(st.none() | st.floats() | st.text() | st.booleans(), st.lists))
def test_every_cell_is_a_number_or_has_a_state(cell):
    read = read_cell(cell)
    assert (read.state == SCORED) == (not math.isnan(read.number))


@given(st.floats(allow_nan=False))
def test_numbers_are_read_to_the_last_bit(number):
    assert read_cell(number).number == read_cell(repr(number)).number == number


# -- one cell


@pytest.mark.parametrize("cell", ["< 0.5", "1:30", "3 (3-3)", "0 (1-5)", [[0.5]], {"error": " "}])
def test_limits_clocks_and_scales_of_one_step_are_no_scores(cell):
    assert not read_cell(cell).is_read


# -- the words of a column


def test_y_and_n_are_scores_only_together_with_a_y():
    assert read_cells(["y", "N", "Y"]).numbers.tolist() == [1.0, 0.0, 1.0]
    assert read_cells(["n", "n"]).unread == [0, 1]
    assert read_cells(["y", "n", "maybe"]).unread == [0, 1, 2]


# -- a column


# -- guesses: columns of which nobody said that they are metrics


@pytest.mark.parametrize(
    ("cells", "counts"),
    [
        (["1,05", "2,5"], (2, 0)),  # decimals that begin with 0: no list of documents
        (["0,5", "2,5"], (2, 0)),
        (["-,5", "2,5"], (2, 0)),
        (["1.234,5", "2,5"], (2, 0)),
        (["1,5 %", "2,5"], (2, 0)),
        (["1,2", "3,4"], (0, 2)),
        (["1,050", "1,2"], (1, 1)),  # 1050, which does not say how to read 1,2
        (["4/5", "3/5"], (2, 0)),
        (["4/5", "3/4"], (0, 2)),
        (["4/11", "3/11"], (0, 2)),
        (["40/100"], (1, 0)),
        (["1:30"], (0, 1)),
        (["< 5"], (0, 1)),
        (["yes", "no"], (0, 2)),
        (["pass", "fail", "true"], (3, 0)),
        (["", None, "n/a", math.nan], (0, 0)),
        (["(Failed)", "0.5"], (1, 0)),
        ([[0.5], (1,), np.array([1])], (0, 3)),
        ([{"score": 1}, {"passed": True}], (2, 0)),
        ([{"value": 1}, {"other": 1}], (0, 2)),
        ([{"value": 1, "reason": "x"}], (1, 0)),
        ([pd.Timedelta(seconds=3)], (0, 1)),
        ([True, 1, 0.5], (3, 0)),
    ],
)
def test_cells_are_counted_as_scores_or_as_texts(cells, counts):
    assert count_numbers(cells) == counts

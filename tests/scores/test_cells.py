"""What cells say, by the table of words in the module and by arithmetic."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.scores.cells import (
    check_parsed,
    count_numbers,
    fraction_whole,
    is_single_number,
    number_key,
    read_cell,
    read_cells,
    split_object,
)
from rageval_report.scores.column_scale import CellColumn
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


def test_a_number_too_long_to_write_out_failed_as_well():
    assert read_cell(10**5000).reason == "an integer of 16610 bits"


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


def test_reasons_stand_beside_their_scores():
    read = read_cells([{"score": 1, "reason": "ok"}, {"score": None, "error": "timeout"}])
    assert read.reasons == ["ok", "timeout"]


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


@pytest.mark.parametrize(
    ("cell", "number"),
    [("0,5", 0.5), ("1,234", 1234.0), ("1.234,5", 1234.5), ("12,5 %", 0.125), ("1/3", 1 / 3)],
)
def test_a_comma_is_read_as_the_cell_allows(cell, number):
    assert read_cell(cell).number == number


@pytest.mark.parametrize(("n", "shown"), [(500, "x" * 500), (501, "x" * 497 + "...")])
def test_the_text_of_a_cell_is_cut_at_500_characters(n, shown):
    assert read_cell("x" * n).reason == shown


def test_the_reason_of_a_failed_object_is_the_whole_object():
    assert read_cell({"score": "so-so", "reason": "hm"}).reason == (
        "{'score': 'so-so', 'reason': 'hm'}"
    )
    assert read_cell(" timeout ").reason == "timeout"
    assert read_cell("n/a").reason is None


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"success": 1, "pass": 1, "passed": 1, "value": 1, "score": 1}, "score"),
        ({"success": 1, "pass": 1, "passed": 1, "value": 1}, "value"),
        ({"success": 1, "pass": 1}, "pass"),
        ({"success": None}, "success"),
        ({"Score": 1}, None),
    ],
)
def test_the_surest_key_of_an_object_holds_its_score(fields, key):
    assert number_key(fields) == key


def test_an_object_is_divided_into_score_reason_scale_error_and_the_rest():
    fields = {"score": 1, "reason": " ", "explanation": "why", "max": 3, "min": 0, "error": ""}
    split = split_object({**fields, "zero": 0, "none": None, "nan": math.nan, "empty": "", 5: "x"})
    assert (split.inner, split.reason, split.scale) == (1, "why", (0.0, 3.0))
    assert split.has_error is False
    assert split.other_fields == {"reason": " ", "zero": 0, "empty": "", "5": "x"}
    assert split_object({"error": " "}) is None
    assert split_object({"error": "timeout", "text": "?"}).inner is None
    assert split_object({"score": {"score": 1}}) is None


@pytest.mark.parametrize(
    ("fields", "scale"),
    [
        ({"range": (1, 5)}, (1.0, 5.0)),
        ({"scale": [0, 10], "min": 1, "max": 2}, (0.0, 10.0)),
        ({"bounds": [0, 1.5]}, (0.0, 1.5)),
        ({"scale": "1-5", "min": 1, "max": 2}, (1.0, 2.0)),
        ({"range": [1, 3, 5]}, None),
        ({"range": [5, 1]}, None),
        ({"range": [2, 2]}, None),
        ({"range": [1, "5"]}, None),
        ({"min": 1}, None),
        ({"max": 5}, None),
    ],
)
def test_the_range_of_a_scale_stands_under_several_keys(fields, scale):
    assert read_cell({"score": 1, **fields}).scale == scale


# -- the words of a column


def test_failed_is_a_verdict_beside_cells_without_a_score():
    read = read_cells(["passed", "failed", "n/a", ""])
    np.testing.assert_equal(read.numbers, [1.0, 0.0, math.nan, math.nan])
    assert read_cells(["failed", "failed"]).states.tolist() == [FAILED, FAILED]
    assert read_cells(["fail", "failed"]).numbers.tolist() == [0.0, 0.0]


def test_y_and_n_are_scores_only_together_with_a_y():
    assert read_cells(["y", "N", "Y"]).numbers.tolist() == [1.0, 0.0, 1.0]
    assert read_cells(["n", "n"]).unread == [0, 1]
    assert read_cells(["y", "n", "maybe"]).unread == [0, 1, 2]


@pytest.mark.parametrize("letters", [["C", "X"], ["C", "i"], ["C", 0.5, "0.5"]])
def test_letters_beside_anything_else_are_no_scores(letters):
    assert 0 in read_cells(letters).unread


def test_words_beside_numbers_on_another_scale_are_refused_with_both():
    with pytest.raises(DataError) as caught:
        read_cells(["0.5", "yes", "4"], CellColumn("mark", labels=["a", "b", "c"]))
    assert str(caught.value) == (
        "metric 'mark' holds words beside numbers: 'yes' at 'b' and '4' at 'c'. Write all cells "
        "as numbers, or name the columns that are metrics: metrics=[...]"
    )
    with pytest.raises(DataError, match="'True' at row 1 and '-1' at row 2"):
        read_cells([True, -1])
    assert read_cells([True, 0, "yes", 1.0]).numbers.tolist() == [1.0, 0.0, 1.0, 1.0]


# -- a column


def test_integers_beyond_any_float_are_unread_beside_others():
    read = read_cells([10**400, 2**53 + 2, 3])
    assert read.unread == [0]
    assert read.refused == []
    assert read.numbers[1:].tolist() == [2.0**53 + 2, 3.0]


def test_a_scale_counts_only_if_every_score_is_written_with_it():
    assert read_cells(["4 (1-5)", 3]).scale is None
    assert read_cells(["4 (1-5)", "3"]).scale is None
    assert read_cells(["4 (1-5)", None, "n/a"]).scale == (1.0, 5.0)


def test_other_fields_are_listed_in_the_order_of_the_rows():
    read = read_cells([0.5, {"score": 1, "model": "judge"}, {"score": 0}])
    assert read.other_fields == [None, {"model": "judge"}, None]
    assert read_cells([0.5, {"score": 1, "reason": "x"}]).other_fields == []


def test_lists_of_one_number_are_numbers_and_others_are_refused():
    read = read_cells([[0.5], (1,), np.array([0.25]), [0.5, 1.0], [], ["a", 1]])
    assert read.numbers[:3].tolist() == [0.5, 1.0, 0.25]
    assert (read.unread, read.refused) == ([3, 4, 5], [3])
    assert [is_single_number(cell) for cell in ([[0.5]], [], np.array([1.0]), "0.5", {})] == [
        *(False, False, True, False, False)
    ]


@pytest.mark.parametrize(("n", "more"), [(5, ""), (6, " and 1 more")])
def test_lists_are_refused_with_five_rows_and_what_to_do(n, more):
    cells = ["0.5", *([n, 0.5] for n in range(n))]
    with pytest.raises(DataError) as caught:
        check_parsed(read_cells(cells), cells, CellColumn("recall"))
    assert str(caught.value) == (
        "metric 'recall' must hold numbers; '[0, 0.5]' at row 2, '[1, 0.5]' at row 3, '[2, 0.5]' "
        f"at row 4, '[3, 0.5]' at row 5, '[4, 0.5]' at row 6{more} is a list. A score is one "
        "number: take the mean of each list, or name the columns that are metrics: metrics=[...]"
    )


def test_dates_are_refused_with_what_spreadsheets_do():
    cells = ["0.5", "2026-03-05", {"score": "x" * 50}]
    with pytest.raises(DataError, match=r"'2026-03-05' at row 2 is a date\. Spreadsheets turn 3/5"):
        check_parsed(read_cells(cells), cells, CellColumn("recall"))
    assert check_parsed(read_cells(["0.5", "hm"]), ["0.5", "hm"], CellColumn("recall")) is None


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


@pytest.mark.parametrize(
    ("text", "whole"),
    [("4/5", 5.0), ("4 of 5", 5.0), ("\u22120.5", None), ("of 5", None), ("n/a", None)],
)
def test_a_fraction_has_a_whole_and_nothing_else_has(text, whole):
    assert fraction_whole(text) == whole


def test_all_words_of_a_verdict_may_stand_in_one_column():
    assert read_cells(["pass", "passed", "fail", "failed"]).numbers.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(("cell", "number"), [("1 (1-5)", 1.0), ("5 [1..5]", 5.0)])
def test_the_ends_of_a_scale_are_steps_of_it(cell, number):
    assert read_cell(cell).number == number
    assert not read_cell(cell.replace("5", "6", 1).replace("1 ", "0 ", 1)).is_read

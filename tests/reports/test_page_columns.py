"""Columns of a page come back as what went in; the witness reads letters and places by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rageval_report.reports.query_table import (
    LETTERS,
    TextPool,
    cell_text,
    coded_column,
    parse_list_cell,
    round_significant,
    score_column,
    text_column,
)


def read(column):
    if "n" in column:
        return column["n"]
    return [column["v"][LETTERS.index(letter)] for letter in column["c"]]


@given(st.lists(st.one_of(st.none(), st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))))
def test_scores_come_back_with_six_digits_and_null_where_unscored(values):
    back = read(score_column(np.array([math.nan if v is None else v for v in values], dtype=float)))
    for value, found in zip(values, back, strict=True):
        assert (found is None) if value is None else found == pytest.approx(value, rel=1e-5)


@given(hnp.arrays(np.float64, 8, elements=st.floats(-1e12, 1e12, allow_subnormal=False)))
def test_six_digits_are_those_of_the_format_of_python(values):
    for value, found in zip(values, round_significant(values), strict=True):
        assert found == pytest.approx(float(f"{value:.6g}"), rel=2e-6, abs=1e-20)


def test_numbers_are_written_short():
    assert repr(round_significant(np.array([2 / 3]))[0].item()) == "0.666667"
    assert repr(round_significant(np.array([0.1 + 0.2]))[0].item()) == "0.3"


def test_few_values_take_a_letter_a_row_and_many_are_numbers():
    assert len(score_column(np.arange(64) / 64)["c"]) == 64
    assert len(score_column(np.arange(65) / 65)["n"]) == 65


def test_more_labels_than_letters_are_places():
    levels = [str(n) for n in range(70)]
    assert coded_column([69, 0], levels) == {"v": levels, "c": [69, 0]}


def test_a_text_stands_in_the_pool_once_however_often_it_comes():
    pool = TextPool()
    assert text_column(["a", ["a", "b"], None, float("nan"), np.array(["b"])], pool) == [
        *(0, [0, 1], -1, -1, [1])
    ]
    assert pool.texts == ["a", "b"]


def test_a_limit_cuts_and_says_how_much_and_how_often():
    pool = TextPool(longest=5)
    text_column(["short", "longer than five"], pool)
    assert pool.texts == ["short", "longe… [11 more characters are left out]"]
    assert pool.n_cut == 1


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("[not json]", "[not json]"),
        ("[1, 2]", "[1, 2]"),
        ("[]", "[]"),
        ("[" * 100_000 + "]", "[" * 100_000 + "]"),
        (["a"], ["a"]),
    ],
)
def test_a_list_written_as_json_is_a_list_and_all_else_stays(cell, found):
    assert parse_list_cell(cell) == found


def test_values_that_are_no_texts_are_told():
    assert [cell_text(v) for v in (np.float64(3.0), 0.25, {"a": 1}, [1, 2], np.bool_(False))] == [
        *("3", "0.25", '{"a": 1}', "[1, 2]", "no")
    ]
    circle: list = []
    circle.append(circle)
    assert cell_text(circle) == "[[...]]"

"""Columns of a page come back as what went in; the witness reads letters and places by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.reports.query_table import (
    LETTERS,
    parse_list_cell,
    score_column,
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

"""Columns whose cells have the same texts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.scores.align import same_texts

_CELLS = {
    "str": st.one_of(st.text(max_size=3), st.none(), st.just("nan")),
    "object": st.one_of(
        st.sampled_from([1, True, 1.0, "1", None, math.nan, "nan", "None", (1,)]),
        st.lists(st.integers(0, 1), max_size=1),
    ),
    "float64": st.sampled_from([0.0, -0.0, 1.0, math.nan, math.inf, 0.1, 0.1 + 1e-17]),
    "Int64": st.one_of(st.integers(0, 2), st.just(pd.NA)),
    "int8": st.integers(-2, 2),
    "bool": st.booleans(),
    "datetime64[ns]": st.sampled_from([pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02")]),
    "category": st.sampled_from(["a", "b"]),
}


@st.composite
def two_columns(draw):
    kinds = draw(st.sampled_from(sorted(_CELLS))), draw(st.sampled_from(sorted(_CELLS)))
    n = draw(st.integers(0, 4))
    same_kind = draw(st.booleans())
    first = kinds[0]
    second = first if same_kind else kinds[1]
    left = draw(st.lists(_CELLS[first], min_size=n, max_size=n))
    right = left if same_kind and draw(st.booleans()) else None
    if right is None:
        right = draw(st.lists(_CELLS[second], min_size=n, max_size=n))
    return pd.Series(left, dtype=first), pd.Series(right, dtype=second, index=range(5, 5 + n))


@given(two_columns())
def test_columns_are_the_same_exactly_if_the_texts_of_their_cells_are(columns):
    left, right = columns
    assert same_texts(left, right) is (list(map(str, left)) == list(map(str, right)))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (pd.Series([math.nan], dtype="str"), pd.Series(["nan"], dtype=object), True),
        (pd.Series([1]), pd.Series([True]), False),
        (pd.Series([0.0]), pd.Series([-0.0]), False),
        (pd.Series([np.array([1, 2])]), pd.Series([np.array([1, 2])]), True),
        (pd.Series(["a"]), pd.Series(["a", "a"]), False),
    ],
)
def test_cells_are_compared_by_their_texts(left, right, expected):
    assert same_texts(left, right) is expected

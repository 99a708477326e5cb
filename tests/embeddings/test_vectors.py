"""Vectors from outside are checked once."""

import numpy as np
import pytest

from rageval_report.embeddings.vectors import check_texts, check_vectors
from rageval_report.errors import DataError


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int8", "uint8"])
def test_numbers_of_any_width_become_single_precision(kind):
    rows = check_vectors(np.array([[1, 0], [0, 1]], dtype=kind), 2)
    assert rows.dtype == np.float32
    assert rows.tolist() == [[1, 0], [0, 1]]


def test_single_precision_is_not_copied():
    rows = np.ones((2, 3), dtype=np.float32)
    assert check_vectors(rows, 2) is rows


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([[1.0, 2.0]], "a vector for each of 2 texts; got 1"),
        ([1.0, 2.0], r"array of shape \(2,\)"),
        ([[1.0], [2.0, 3.0]], "must have one length"),
        ([[True], [False]], "type bool"),
        ([["a"], ["b"]], "type <U1"),
        ([[1.0], [np.inf]], "the vector of text 1 has NaN, infinity"),
        ([], "expected 2 vectors of numbers"),
    ],
)
def test_anything_else_is_told(rows, told):
    with pytest.raises(DataError, match=told):
        check_vectors(rows, 2)


def test_vectors_of_another_length_than_promised_are_told():
    with pytest.raises(DataError, match="expected vectors of 3 numbers; got 2"):
        check_vectors([[1.0, 2.0]], 1, width=3)


def test_texts_may_come_in_anything_that_lists_them():
    assert check_texts(np.array(["a", "b"])) == ["a", "b"]

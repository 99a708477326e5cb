"""Vectors from outside are checked once."""

import numpy as np
import pytest

from rageval_report.embeddings import check_vectors
from rageval_report.errors import DataError


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

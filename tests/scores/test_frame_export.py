"""Frames of other libraries hold the same cells; polars and pyarrow read them back."""

import math

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, UnknownNameError

RUN = RAGPipelineEvaluation(
    "hybrid",
    {
        "query_id": ["007", "b"],
        "contexts": [["x", "y"], None],
        "answer": ["é", None],
        "recall": [0.1 + 0.2, math.nan],
    },
)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_frame_goes_out_and_comes_back_equal(library):
    pytest.importorskip(library)
    frame = RUN.to_frame(library)
    assert type(frame).__module__.startswith(library)
    again = RAGPipelineEvaluation("hybrid", frame)
    assert again.scores.equals(RUN.scores)
    assert again.details["contexts"].tolist()[0] == ["x", "y"]
    assert again.details["answer"].tolist()[0] == "é"


def test_the_pandas_frame_has_the_ids_as_a_column():
    assert list(RUN.to_frame()) == ["query_id", "contexts", "answer", "recall"]


def test_cells_without_a_type_and_unknown_libraries_are_told():
    mixed = RAGPipelineEvaluation(
        "x", {"query_id": ["a", "b"], "answer": ["x", ["y"]], "f1": [1, 0]}
    )
    with pytest.raises(DataError, match="pyarrow has no type for these cells"):
        mixed.to_frame("pyarrow")
    with pytest.raises(
        UnknownNameError, match='library must be "pandas", "polars" or "pyarrow"; got "spark"'
    ):
        RUN.to_frame("spark")

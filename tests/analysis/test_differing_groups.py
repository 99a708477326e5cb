"""Slices of a comparison say that the two runs disagree about the groups."""

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare

pytest.importorskip("pyarrow")


def frame(topics, ids=range(12)):
    return pd.DataFrame(
        {"query_id": [f"q{i:02d}" for i in ids], "recall@5": np.arange(12) / 12, "topic": topics}
    )


def notes_of(before, after, tmp_path):
    """The notes of the slices in memory, which are those of a scan too."""
    in_memory, scans = [], []
    for name, side in (("a", before), ("b", after)):
        in_memory.append(RAGPipelineEvaluation(name, side, metrics=["recall@5"]))
        path = tmp_path / f"{name}.parquet"
        side.to_parquet(path, index=False, row_group_size=5)
        scans.append(RAGPipelineEvaluation.scan(path, name=name, metrics=["recall@5"]))
    ours, theirs = (compare(*pair).slices("topic").notes for pair in (in_memory, scans))
    assert ours == theirs
    return [note for note in ours if "differs" in note]


def test_the_queries_of_other_groups_are_counted(tmp_path):
    before = frame(["law", "tax"] * 6)
    after = frame(["law", "tax"] * 4 + ["tax", "law"] * 2)
    assert notes_of(before, after, tmp_path) == [
        "topic of 4 of 12 common queries differs between 'a' and 'b'; groups are those of 'a'"
    ]


def test_equal_groups_need_no_note_in_any_order_of_the_rows(tmp_path):
    before = frame(["law", "tax"] * 6)
    assert notes_of(before, before.iloc[::-1], tmp_path) == []


def test_a_query_without_a_group_on_one_side_differs_from_nothing(tmp_path):
    before, after = frame(["law", "tax"] * 6), frame(["law", None] * 6)
    assert notes_of(before, after, tmp_path) == []
    assert notes_of(before, after.drop(columns="topic"), tmp_path) == []


def test_a_number_is_one_group_with_and_without_a_decimal_point(tmp_path):
    after = frame([1.0, 2.0] * 5 + [np.nan, 2.0])  # a missing cell makes floats of the column
    assert notes_of(frame([1, 2] * 6), after, tmp_path) == []

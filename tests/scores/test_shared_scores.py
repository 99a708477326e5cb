"""Scores share the memory of the caller's frame, and nobody can tell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report.scores import table as tables
from rageval_report.scores.table import score_table


def frame_of(n: int = 50, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    scores = {f"metric_{k}": rng.random(n) for k in range(4)}
    scores["metric_1"][::7] = np.nan
    ids = [f"q{row}" for row in range(n)]
    return pd.DataFrame({"query_id": ids, **scores, "topic": ["law"] * n})


def is_shared(scores: pd.DataFrame, frame: pd.DataFrame) -> bool:
    return np.shares_memory(scores.to_numpy(), frame["metric_0"].to_numpy())


@pytest.fixture
def copying(monkeypatch):
    """Scores are always copied, as before pandas 3."""

    def copied(frame: pd.DataFrame) -> pd.DataFrame:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tables, "_IS_COPY_ON_WRITE", False)
            return score_table(frame).scores

    return copied


@pytest.mark.skipif(not tables._IS_COPY_ON_WRITE, reason="pandas copies on write from 3 on")
def test_columns_of_one_block_are_not_copied():
    frame = frame_of()
    scores = score_table(frame).scores
    assert is_shared(scores, frame)
    assert scores.to_numpy().flags.f_contiguous


def test_a_later_change_of_the_frame_changes_no_score():
    frame = frame_of()
    table = score_table(frame)
    before = table.scores.copy()
    frame.loc[3, "metric_0"] = 9.0
    frame["metric_2"] = 0.0
    frame.iloc[:, 1:5] = -1.0
    pd.testing.assert_frame_equal(table.scores, before)


def test_a_change_of_the_scores_changes_no_frame():
    frame = frame_of()
    before = frame.copy()
    scores = score_table(frame).scores
    scores.iloc[0, 0] = 9.0
    scores.loc["q1"] = 8.0
    pd.testing.assert_frame_equal(frame, before)


def test_scores_are_a_plain_frame_without_attributes_of_the_caller(copying):
    class Table(pd.DataFrame):
        @property
        def _constructor(self) -> type[Table]:
            return Table

    frame = Table(frame_of())
    frame.attrs["source"] = "a dashboard"
    scores = score_table(frame).scores
    assert type(scores) is pd.DataFrame
    assert scores.attrs == {}
    pd.testing.assert_frame_equal(scores, copying(frame))
    before = scores.copy()
    frame.loc[0, "metric_0"] = 5.0
    pd.testing.assert_frame_equal(scores, before)

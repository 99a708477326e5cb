"""Scores share the memory of the caller's frame, and nobody can tell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report.errors import DataError
from rageval_report.scores import table as tables
from rageval_report.scores.metric import extremes_of
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


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame,
        lambda frame: frame[["metric_3", "query_id", "metric_0", "metric_2", "metric_1"]],
        lambda frame: frame.assign(metric_0=frame["metric_0"].round().astype("int64")),
        lambda frame: frame.assign(metric_2=frame["metric_2"].astype("float32")),
        lambda frame: frame.assign(metric_3=frame["metric_3"].astype("Float64")),
        lambda frame: frame.assign(metric_2=[f"{100 * x:.1f} %" for x in frame["metric_2"]]),
        lambda frame: frame.iloc[::-1],
        lambda frame: frame.iloc[::3],
        lambda frame: frame.rename(columns={"metric_1": "Recall at 5"}),
        lambda frame: frame.assign(recall=frame["metric_0"] * 1.0004),
        lambda frame: frame[["query_id", "metric_2"]],
        lambda frame: frame.assign(metric_1=np.nan),
        lambda frame: frame.set_index("query_id"),
    ],
)
def test_scores_are_those_of_a_copy(change, copying):
    frame = change(frame_of())
    found, expected = score_table(frame).scores, copying(frame)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


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


def test_scores_moved_to_their_bounds_are_not_moved_in_the_frame():
    frame = frame_of().rename(columns={"metric_0": "recall"})
    frame.loc[2, "recall"] = 1.0005
    before = frame.copy()
    table = score_table(frame)
    assert table.scores["recall"].max() == 1.0
    assert any("moved to the bounds" in note for note in table.notes)
    pd.testing.assert_frame_equal(frame, before)


def test_an_infinite_score_in_a_shared_block_is_named():
    frame = frame_of()
    frame.loc[4, "metric_3"] = np.inf
    with pytest.raises(DataError, match="'metric_3' has inf at 'q4'"):
        score_table(frame)


@pytest.mark.parametrize("n_missing", [0, 1, 20, 50])
def test_extremes_are_those_of_the_numbers_that_are_there(n_missing):
    values = frame_of()["metric_0"].to_numpy(copy=True)
    values[:n_missing] = np.nan
    series = pd.Series(values)  # pandas leaves NaN out as well
    np.testing.assert_array_equal(extremes_of(values), (series.min(), series.max()))


@pytest.mark.parametrize("id_", ["", " ", "\t ", "\u00a0", "\u3000 ", "\u0085", "\x1c"])
@pytest.mark.parametrize("kind", ["object", "str"])
@pytest.mark.parametrize("row", [0, 3, 9])
def test_a_blank_id_is_an_error_whatever_the_blank(id_, kind, row):
    ids = [f"q{number}" for number in range(10)]
    ids[row] = id_
    frame = pd.DataFrame({"query_id": pd.Series(ids, dtype=kind), "recall": [0.5] * 10})
    with pytest.raises(DataError, match=f"rows {row}, counted from 0, have a blank one"):
        score_table(frame)


def test_ids_that_end_in_a_blank_are_ids():
    frame = pd.DataFrame({"query_id": ["a ", "b\u00a0", "é"], "recall": [0.5] * 3})
    assert score_table(frame).scores.index.tolist() == ["a ", "b\u00a0", "é"]


@pytest.mark.parametrize("place", [0, 63, 64, 32_831, 32_832, 99_999])
@pytest.mark.parametrize(
    ("score", "kind"), [(0.5, "proportion"), (1.0, "binary"), (np.nan, "binary"), (7.0, "ordinal")]
)
def test_one_score_decides_the_kind_wherever_it_stands(place, score, kind):
    scores = np.tile([0.0, 1.0], 50_000)
    scores[place] = score
    frame = pd.DataFrame({"query_id": [f"q{row}" for row in range(100_000)], "own": scores})
    assert score_table(frame).metrics["own"].kind == kind

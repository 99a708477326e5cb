"""Rows of queries: DataFrames in every respect, which notebooks show with cut texts."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.reports.html import MOST_BYTES, table_of_queries
from rageval_report.results import QueryFrame

LONG = "Why is the sky blue? " * 200
IDS = [f"q{i}" for i in range(8)]


def evaluation(name: str, recall: list[float]) -> RAGPipelineEvaluation:
    table = {"query_id": IDS, "recall": recall, "question": [LONG] * 8}
    return RAGPipelineEvaluation(name, table)


@pytest.fixture
def regressions() -> pd.DataFrame:
    before = evaluation("bm25", [1.0, 0.5, 1.0, 0.5, 1.0, 1.0, 0.5, 0.25])
    after = evaluation("hybrid", [0.5, 1.0, 0.25, 0.5, 1.0, 0.0, 0.5, 0.25])
    return compare(before, after).regressions("recall")


@pytest.fixture
def below() -> pd.DataFrame:
    return evaluation("bm25", [0.0, 0.25, 1, 1, 1, 1, 1, 1]).get_scores_below_threshold(
        "recall", 0.5
    )


def test_a_notebook_shows_texts_cut_to_a_line(below):
    shown = below._repr_html_()
    assert "Why is the sky blue?" in shown
    assert len(shown) < 3_000 < len(LONG)
    assert "2 queries, 2 columns" in shown


def test_nothing_in_the_frame_is_cut(below, regressions):
    assert below["question"].tolist() == [LONG] * 2
    assert regressions["question"].tolist() == [LONG] * 3


def test_it_is_a_dataframe_and_equal_to_a_plain_one(below):
    plain = pd.DataFrame(
        {"recall": [0.0, 0.25], "question": [LONG] * 2}, pd.Index(IDS[:2], name="query_id")
    )
    assert isinstance(below, pd.DataFrame)
    pd.testing.assert_frame_equal(
        below, plain, check_index_type=False, check_column_type=False, check_dtype=False
    )
    assert type(pd.DataFrame(below)) is pd.DataFrame


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.head(1),
        lambda frame: frame[frame["recall"] > 0.1],
        lambda frame: frame[["question"]],
        lambda frame: frame.sort_values("recall", ascending=False),
        lambda frame: frame.loc[["q1"]],
        lambda frame: frame.assign(checked=True),
        lambda frame: frame.copy(),
        lambda frame: pickle.loads(pickle.dumps(frame)),
    ],
)
def test_a_slice_is_shown_in_the_same_way(below, change):
    changed = change(below)
    assert isinstance(changed, QueryFrame)
    assert 'scope="row"' in changed._repr_html_()


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.reset_index(),
        lambda frame: frame.describe(),
        lambda frame: frame.groupby("recall").count(),
        lambda frame: frame.T,
        lambda frame: pd.concat({"one": frame}, axis=1),
    ],
)
def test_anything_with_another_index_is_shown_as_pandas_does(below, change):
    changed = change(below)
    assert changed._repr_html_() == pd.DataFrame(changed)._repr_html_()


def test_a_column_is_a_plain_series(below):
    assert type(below["recall"]) is pd.Series
    assert below["recall"].mean() == 0.125


def test_the_option_of_pandas_is_honoured(below):
    with pd.option_context("display.notebook_repr_html", False):
        assert below._repr_html_() is None


def test_printed_text_is_that_of_pandas(below):
    assert repr(below) == repr(pd.DataFrame(below))


def test_markup_in_texts_is_escaped():
    frame = pd.DataFrame(
        {"answer": ["<script>alert(1)</script>"]}, pd.Index(["<b>"], name="query_id")
    )
    shown = QueryFrame(frame)._repr_html_()
    assert "<script>" not in shown
    assert "<b>" not in shown


def test_columns_of_long_names_of_pipelines_stay_apart():
    names = [f"detailed_all-mpnet-base-v2__top_k={k}__chunk_size=64_faithfulness" for k in (1, 2)]
    frame = pd.DataFrame(dict.fromkeys(names, 0.5), pd.Index(["q1"], name="query_id"))
    shown = QueryFrame(frame)._repr_html_()
    heads = [part.split(">")[1].split("<")[0] for part in shown.split('<th scope="col"')[1:]]
    assert len(set(heads)) == 3
    for name in names:
        assert name in shown  # in the legend


@pytest.mark.parametrize("rows", [0, 1, 5_000])
def test_any_number_of_queries_stays_below_the_limit(rows):
    rng = np.random.default_rng(0)
    columns = {f"metric_{i}": rng.random(rows) for i in range(30)} | {"question": [LONG] * rows}
    frame = QueryFrame(columns, index=pd.Index([f"q{i}" for i in range(rows)], name="query_id"))
    shown = table_of_queries(frame)
    assert len(shown.encode()) < MOST_BYTES
    assert f"{rows:,} {'query' if rows == 1 else 'queries'}, 31 columns" in shown

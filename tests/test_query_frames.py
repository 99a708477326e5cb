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
    assert below["question"].tolist() == [LONG] * 2  # nothing in the frame is cut
    assert len(shown) < 3_000 < len(LONG)
    assert "2 queries, 2 columns" in shown


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.head(1),
        lambda frame: frame[frame["recall"] > 0.1],
        lambda frame: frame.assign(checked=True),
        lambda frame: frame.copy(),
        lambda frame: pickle.loads(pickle.dumps(frame)),
    ],
)
def test_a_slice_is_shown_in_the_same_way(below, change):
    changed = change(below)
    assert isinstance(changed, QueryFrame)
    assert 'scope="row"' in changed._repr_html_()


def test_the_option_of_pandas_is_honoured(below):
    with pd.option_context("display.notebook_repr_html", False):
        assert below._repr_html_() is None


@pytest.mark.parametrize("rows", [0, 5_000])
def test_any_number_of_queries_stays_below_the_limit(rows):
    rng = np.random.default_rng(0)
    columns = {f"metric_{i}": rng.random(rows) for i in range(30)} | {"question": [LONG] * rows}
    frame = QueryFrame(columns, index=pd.Index([f"q{i}" for i in range(rows)], name="query_id"))
    shown = table_of_queries(frame)
    assert len(shown.encode()) < MOST_BYTES
    assert f"{rows:,} {'query' if rows == 1 else 'queries'}, 31 columns" in shown


def test_markup_in_texts_is_escaped():
    frame = pd.DataFrame(
        {"answer": ["<script>alert(1)</script>"]}, pd.Index(["<b>"], name="query_id")
    )
    shown = QueryFrame(frame)._repr_html_()
    assert "<script>" not in shown
    assert "<b>" not in shown

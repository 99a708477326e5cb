"""Dots and intervals by group."""

from __future__ import annotations

import numpy as np
import pytest

from rageval_report import compare
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots import plot

NAN = float("nan")
TOPICS = ["billing"] * 4 + ["shipping"] * 3 + [None]


def dots(ax) -> list[float]:
    return [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]


def labels(ax) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def test_each_group_is_a_dot_at_its_mean(bm25):
    ax = plot(bm25.slices("topic"), "slices", "recall@5")
    assert labels(ax) == ["billing", "shipping", "(none)"]
    # of recall@5: billing 0, .5, .5, 1; shipping 0, .5, 1; none 1
    assert dots(ax) == pytest.approx([0.5, 0.5, 1.0])


def test_the_intervals_are_those_of_the_slices(bm25):
    result = bm25.slices("topic", "recall@5")
    ax = plot(result, "slices")
    spans = [p.vertices for c in ax.collections for p in c.get_paths()]
    level = [span[:, 0] for span in spans if span[0, 1] == span[1, 1]]
    np.testing.assert_allclose(level[:2], result.frame[["ci_low", "ci_high"]].to_numpy()[:2])


def test_an_evaluation_is_sliced_on_the_way(bm25):
    assert dots(plot(bm25, "slices", "recall@5", by="topic")) == dots(
        plot(bm25.slices("topic"), "slices", "recall@5")
    )


def test_the_dashed_line_is_the_mean_of_all_queries(bm25):
    ax = plot(bm25, "slices", "faithfulness", by="topic")
    whole = bm25.scores["faithfulness"].mean()
    upright = [
        float(p.vertices[0, 0])
        for c in ax.collections
        for p in c.get_paths()
        if p.vertices[0, 0] == p.vertices[1, 0]
    ]
    assert upright == pytest.approx([whole])


def test_several_metrics_stand_under_headings(bm25, texts):
    ax = plot(bm25, "slices", by="topic")
    assert [t for t in labels(ax) if t[0].isupper()] == ["Recall@5", "Faithfulness", "Exact Match"]
    assert "Not drawn, on other scales: Latency (ms)" in texts(ax).replace("\n", " ")


def test_the_groups_say_how_many_queries_they_have(bm25):
    told = [text.get_text() for text in plot(bm25, "slices", "recall@5", by="topic").texts]
    assert told[told.index("n") + 1 :][:3] == ["4", "3", "1"]


def test_the_differences_of_a_comparison_are_drawn_by_group(comparison, texts):
    ax = plot(comparison, "slices", "recall@5", by="topic")
    # billing +.5, +.5, 0, 0; shipping +.5, -.5, 0; none 0
    assert dots(ax) == pytest.approx([0.25, 0.0, 0.0])
    assert "difference" in ax.get_xlabel()
    assert "adj. p" in texts(ax)


def test_groups_without_a_difference_shown_are_hollow(comparison):
    ax = plot(comparison, "slices", "recall@5", by="topic")
    paper = ax.get_facecolor()
    assert all(line.get_markerfacecolor() == paper for line in ax.lines if line.get_marker() == "o")


def test_candidates_stand_under_headings_of_their_own(bm25, hyde):
    third = type(hyde)("third", hyde.scores.reset_index().assign(topic=TOPICS))
    result = compare(bm25, hyde, third, metrics="recall@5").slices("topic")
    assert "Recall@5 — third" in labels(plot(result, "slices"))
    assert len(dots(plot(result, "slices", candidate="third"))) == 3
    with pytest.raises(UnknownNameError, match="Did you mean 'third'"):
        plot(result, "slices", candidate="thrid")


def test_the_smallest_of_many_groups_are_left_out_and_said(pipeline, texts):
    topics = [f"t{i // 2}" for i in range(80)]
    wide = pipeline("bm25", {"m": np.linspace(0, 1, 80), "topic": topics})
    ax = plot(wide, "slices", by="topic")
    assert len(labels(ax)) == 30
    assert "10 smaller groups are not drawn." in texts(ax)


def test_an_evaluation_needs_a_column(bm25):
    with pytest.raises(DataError, match="by="):
        plot(bm25, "slices")


def test_an_unknown_metric_is_told(bm25):
    with pytest.raises(UnknownNameError, match="Did you mean 'faithfulness'"):
        plot(bm25.slices("topic"), "slices", "faithfulnes")


def test_nothing_scored_is_an_error(pipeline):
    data = {"m": [NAN] * 4, "o": [1.0, 2, 3, 4.5], "topic": list("aabb")}
    empty = pipeline("bm25", data, metrics=["m", "o"])
    with pytest.raises(DataError, match="no query of these groups is scored"):
        plot(empty, "slices", "m", by="topic")

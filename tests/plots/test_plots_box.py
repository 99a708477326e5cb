"""Boxes and rows of small histograms: all metrics in one picture."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rageval_report.errors import DataError
from rageval_report.plots import plot

NAN = float("nan")


def labels(ax) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


@pytest.mark.parametrize("kind", ["box", "distribution"])
def test_metrics_of_one_scale_are_a_row_each(bm25, kind):
    assert labels(plot(bm25, kind)) == ["Recall@5", "Faithfulness", "Exact Match"]


@pytest.mark.parametrize("kind", ["box", "distribution"])
def test_what_is_left_out_is_said(bm25, kind, texts):
    told = texts(plot(bm25, kind)).replace("\n", " ")
    assert "Not drawn, on other scales: Latency (ms)" in told


@pytest.mark.parametrize("kind", ["box", "distribution"])
def test_the_rows_say_mean_interval_and_denominator(bm25, kind, texts):
    told = texts(plot(bm25, kind))
    assert "0.475 [" in told
    assert "6 of 8" in told
    assert "mean [95 % CI]" in told


@pytest.mark.parametrize("kind", ["box", "distribution"])
def test_a_metric_without_scores_is_left_out_and_said(kind, pipeline, texts):
    data = {"m": [NAN, NAN], "o": [0.25, 0.5], "q": [0.5, 0.75]}
    some = pipeline("bm25", data, metrics=list(data))
    ax = plot(some, kind)
    assert labels(ax) == ["O", "Q"]
    assert "Nothing scored: M." in texts(ax)


@pytest.mark.parametrize("kind", ["box", "distribution"])
def test_a_metric_without_scores_that_is_named_is_an_error(kind, pipeline):
    some = pipeline("bm25", {"m": [NAN, NAN], "o": [0.25, 0.5]}, metrics=["m", "o"])
    with pytest.raises(DataError, match="is scored on 'm'"):
        plot(some, kind, ["m", "o"])


@pytest.mark.parametrize("kind", ["box", "distribution"])
def test_metrics_of_different_scales_share_no_axis(bm25, kind):
    with pytest.raises(DataError, match=r"share no axis \(0 to 1: recall@5; latency_ms"):
        plot(bm25, kind, ["recall@5", "latency_ms"])


def test_one_metric_of_any_scale_has_its_axis(bm25):
    ax = plot(bm25, "box", "latency_ms")
    assert labels(ax) == ["Latency (ms) ↓"]
    assert ax.get_xlim()[1] > 800


def test_the_box_spans_the_quartiles(bm25):
    (box,) = plot(bm25, "box", "latency_ms").patches
    low, high = np.percentile(np.arange(100, 900, 100), [25, 75])
    assert box.get_x() == low
    assert box.get_x() + box.get_width() == high


def test_the_whiskers_leave_out_what_is_far(pipeline):
    far = pipeline("bm25", {"m": [1.0, 2.0, 3.0, 4.0, 100.5]})
    ax = plot(far, "box")
    spans = [p.vertices[:, 0].tolist() for c in ax.collections for p in c.get_paths()]
    assert [1.0, 4.0] in spans


def test_zeros_and_ones_have_no_box(bm25):
    assert not plot(bm25, "box", "exact_match").patches


def test_every_query_is_a_dot(bm25):
    ax = plot(bm25, "box", "faithfulness")
    (dots,) = [c for c in ax.collections if len(c.get_offsets()) == 6]
    assert sorted(dots.get_offsets()[:, 0]) == [0.10, 0.25, 0.40, 0.55, 0.70, 0.85]


def test_a_level_that_queries_share_is_one_dot_of_their_area(bm25):
    ax = plot(bm25, "box", "recall@5")
    (dots,) = [c for c in ax.collections if len(c.get_offsets()) == 3]
    areas = dots.get_sizes()
    np.testing.assert_allclose(areas / areas[0], [1, 3 / 2, 3 / 2])


def test_twelve_metrics_keep_their_rows_apart(many):
    ax = plot(many("one", 100, 12, 1), "box")
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert len(boxes) == 9
    assert not any(one.overlaps(other) for one, other in itertools.pairwise(boxes))


def test_the_tallest_bar_of_each_row_is_as_tall(many):
    ax = plot(many("one", 100, 2, 1), "distribution")
    by_row: dict[float, float] = {}
    for bar in ax.patches:
        row = round(bar.get_y() + max(bar.get_height(), 0), 6)
        by_row[row] = max(by_row.get(row, 0), abs(bar.get_height()))
    assert len(set(np.round(list(by_row.values()), 9))) == 1


def test_a_similarity_stands_beside_shares(pipeline):
    both = pipeline("bm25", {"semantic_answer_similarity": [-0.1, 0.9], "recall": [0.25, 0.75]})
    ax = plot(both, "box")
    assert len(labels(ax)) == 2
    assert ax.get_xlim()[0] < -0.1


def test_ratings_share_the_axis_of_their_bounds(pipeline):
    bounds = {"bounds": (1, 5)}
    rated = pipeline(
        "bm25", {"tone": [1.0, 4.0], "depth": [2.0, 3.0]}, metrics={"tone": bounds, "depth": bounds}
    )
    ax = plot(rated, "box")
    assert len(labels(ax)) == 2
    assert ax.get_xlim()[1] > 5

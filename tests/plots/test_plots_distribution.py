"""Distributions: bars, mean and interval, thresholds."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from rageval_report.errors import DataError
from rageval_report.plots import plot
from rageval_report.plots.distribution import bars_of
from rageval_report.plots.subjects import ScoreCounts
from rageval_report.scores import Metric

NAN = float("nan")


def heights(ax) -> list[float]:
    return [bar.get_height() for bar in ax.patches]


def vertical_lines(ax) -> set[float]:
    """Where the vertical lines stand."""
    found = set()
    for collection in ax.collections:
        for path in collection.get_paths():
            (x0, _), (x1, _) = path.vertices
            if x0 == x1:
                found.add(round(float(x0), 9))
    return found


def test_zeros_and_ones_are_two_bars_of_shares(bm25):
    ax = plot(bm25, "distribution", "exact_match")
    assert heights(ax) == [5 / 8, 3 / 8]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1"]


def test_the_bars_of_zeros_and_ones_say_counts_and_shares(bm25, texts):
    told = texts(plot(bm25, "distribution", "exact_match"))
    assert "5  (62 %)" in told
    assert "3  (38 %)" in told


def test_the_interval_of_a_share_stands_on_its_bar(bm25):
    ax = plot(bm25, "distribution", "exact_match")
    row = bm25.evaluation_report(metrics=["exact_match"]).frame.iloc[0]
    (interval,) = [path.vertices for c in ax.collections for path in c.get_paths()]
    np.testing.assert_allclose(interval[:, 1], [row["ci_low"], row["ci_high"]])
    np.testing.assert_allclose(interval[:, 0], [1, 1])


def test_levels_that_queries_share_are_a_bar_each(bm25):
    ax = plot(bm25, "distribution", "recall@5")
    centres = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
    np.testing.assert_allclose(centres, [0, 0.5, 1])
    assert heights(ax) == [2, 3, 3]


def test_levels_of_a_rating_that_nobody_gave_keep_their_place(pipeline):
    ratings = pipeline("bm25", {"rating": [1.0, 2.0, 2.0, 5.0]})
    ax = plot(ratings, "distribution")
    assert heights(ax) == [1, 2, 0, 0, 1]


def test_a_histogram_counts_every_scored_query(many):
    for n in (8, 100, 1500):
        one = many("one", n, 1, 1)
        ax = plot(one, "distribution", "faithfulness")
        assert sum(heights(ax)) == one.scores["faithfulness"].notna().sum()


def test_bins_run_from_bound_to_bound(bm25):
    ax = plot(bm25, "distribution", "faithfulness")
    assert ax.patches[0].get_x() == pytest.approx(0)
    assert ax.patches[-1].get_x() + ax.patches[-1].get_width() == pytest.approx(1)


@pytest.mark.parametrize(("n", "bins"), [(8, 10), (100, 20), (1500, 40)])
def test_more_queries_have_finer_bins(n, bins):
    counted = ScoreCounts.of(np.linspace(0, 1, n))
    assert len(bars_of(counted, Metric("m", bounds=(0, 1))).counts) == bins


def test_a_constant_metric_is_one_bar(pipeline):
    same = pipeline("bm25", {"m": [3.25] * 5})
    assert heights(plot(same, "distribution")) == [5]


def test_the_rug_has_a_tick_a_query(bm25):
    ax = plot(bm25, "distribution", "faithfulness")
    places = [sorted(line.get_xdata()) for line in ax.lines if line.get_marker() == "|"]
    assert places[0] == [0.10, 0.25, 0.40, 0.55, 0.70, 0.85]


def test_the_mean_and_its_interval_are_those_of_the_report(bm25, texts):
    ax = plot(bm25, "distribution", "faithfulness")
    row = bm25.evaluation_report(metrics=["faithfulness"]).frame.iloc[0]
    (diamond,) = [line for line in ax.lines if line.get_marker() == "D"]
    assert diamond.get_xdata() == pytest.approx(statistics.mean([0.1, 0.25, 0.4, 0.55, 0.7, 0.85]))
    spans = [p.vertices[:, 0] for c in ax.collections for p in c.get_paths()]
    assert any(np.allclose(span, [row["ci_low"], row["ci_high"]]) for span in spans)
    assert "mean 0.475 [" in texts(ax)


def test_the_quartiles_are_marked(bm25, texts):
    ax = plot(bm25, "distribution", "latency_ms")
    quartiles = statistics.quantiles(range(100, 900, 100), n=4, method="inclusive")
    assert set(quartiles) <= vertical_lines(ax)
    assert "p25 = 275" in texts(ax)


def test_other_percentiles_are_marked_on_request(bm25, texts):
    told = texts(plot(bm25, "distribution", "latency_ms", percentiles=(90,)))
    assert "p90 = 730" in told
    assert "p25" not in told


def test_thresholds_that_coincide_are_one_line(pipeline, texts):
    same = pipeline("bm25", {"m": [0.5, 0.5, 0.5, 0.5, 0.9, 0.91, 0.92]})
    assert "p25 = p50 = 0.500" in texts(plot(same, "distribution"))


def test_a_threshold_counts_the_queries_on_its_wrong_side(bm25, texts):
    assert "threshold 0.500: 3 below" in texts(
        plot(bm25, "distribution", "faithfulness", threshold=0.5)
    )


def test_the_wrong_side_of_a_latency_is_above(bm25, texts):
    assert "threshold 550: 3 above" in texts(
        plot(bm25, "distribution", "latency_ms", threshold=550)
    )


@pytest.mark.parametrize(
    ("threshold", "value"), [("p25", 275), ("median", 450), ("mean", 450), (450.0, 450)]
)
def test_a_threshold_may_be_told_in_words(bm25, threshold, value):
    ax = plot(bm25, "distribution", "latency_ms", percentiles=(), threshold=threshold)
    assert value in vertical_lines(ax)


@pytest.mark.parametrize("threshold", ["p250x", "half", float("inf")])
def test_a_threshold_that_makes_no_sense_is_refused(bm25, threshold):
    with pytest.raises(DataError, match="threshold"):
        plot(bm25, "distribution", "faithfulness", threshold=threshold)


def test_a_threshold_outside_the_scores_is_inside_the_picture(bm25):
    ax = plot(bm25, "distribution", "latency_ms", threshold=2000)
    assert ax.get_xlim()[1] > 2000


@pytest.mark.parametrize("metric", ["exact_match", None, ["recall@5", "faithfulness"]])
def test_a_threshold_needs_one_metric_that_has_one(bm25, metric):
    with pytest.raises(DataError, match="threshold"):
        plot(bm25, "distribution", metric, threshold=0.5)


def test_the_denominator_stands_in_the_label(bm25):
    ax = plot(bm25, "distribution", "faithfulness")
    assert ax.get_xlabel() == "Faithfulness (higher is better), n = 6 of 8 scored"
    assert ax.get_title() == "Faithfulness — bm25"


def test_lower_is_better_is_said(bm25):
    assert "lower is better" in plot(bm25, "distribution", "latency_ms").get_xlabel()


def test_nothing_scored_is_an_error(pipeline):
    empty = pipeline("bm25", {"m": [NAN, NAN], "o": [1.0, 2.0]}, metrics=["m", "o"])
    with pytest.raises(DataError, match="none of the 2 queries of 'bm25' is scored on 'm'"):
        plot(empty, "distribution", "m")


def test_labels_do_not_run_into_each_other(pipeline):
    close = pipeline("bm25", {"m": [0.1, 0.50, 0.51, 0.52, 0.53, 0.54, 0.9]})
    ax = plot(close, "distribution")
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts if " = " in text.get_text()]
    assert len(boxes) == 3
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[i + 1 :])

"""Leaderboard and groups: what stands where, worked out from the ranking itself."""

from __future__ import annotations

import numpy as np
import pytest

from rageval_report.analysis.rank import rank
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots import plot
from rageval_report.plots.canvas import BLUE, GREY


@pytest.fixture(scope="module")
def graded(many):
    """Five pipelines, each a little better than the one before, on up to 12 metrics."""
    return rank(*(many(f"p{seed}", 150, 6, seed) for seed in range(1, 6)), n_resamples=99)


def dots(ax, marker):
    return [float(line.get_xdata()[0]) for line in ax.lines if line.get_marker() == marker]


def test_the_leaderboard_shows_each_mean_in_order(graded):
    ax = plot(graded, "leaderboard", "faithfulness")
    rows = graded.of("faithfulness")
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == rows["pipeline"].tolist()
    assert sorted(dots(ax, "D") + dots(ax, "o") + dots(ax, "s")) == sorted(rows["mean"])


def test_marks_tell_the_best_from_those_shown_to_be_worse(graded):
    ax = plot(graded, "leaderboard", "faithfulness")
    rows = graded.of("faithfulness").set_index("standing")["mean"]
    assert dots(ax, "D") == [rows["best"]]
    assert set(dots(ax, "s")) == set(np.atleast_1d(rows["worse"]))
    hues = {line.get_marker(): line.get_color() for line in ax.lines}
    assert (hues["D"], hues["s"]) == (BLUE, GREY)


def test_letters_and_intervals_are_printed(graded, texts):
    told = texts(plot(graded, "leaderboard", "faithfulness"))
    row = graded.of("faithfulness").iloc[0]
    assert f"[{row['ci_low']:.3f}, {row['ci_high']:.3f}]" in told
    assert f"\n{row['letters']}\n" in told
    # Ten pairs on each of four quality metrics; latency and cost are a family of their own.
    assert "p ≤ 0.05, holm, 40 pairs" in told.replace("\n", " ")


def test_a_picture_of_latency_does_not_name_the_pairs_of_quality_metrics(graded, texts):
    told = texts(plot(graded, "leaderboard", "latency_ms")).replace("\n", " ")
    assert "p ≤ 0.05, holm)" in told
    assert "40 pairs" not in told


def test_metrics_of_one_scale_share_the_leaderboard_and_the_others_are_told(graded, texts):
    told = texts(plot(graded, "leaderboard"))
    assert "Faithfulness" in told
    assert "Not drawn, on other scales" in told.replace("\n", " ")


def test_a_leaderboard_of_very_many_rows_keeps_to_the_first_metrics(many):
    runs = [many(f"p{seed}", 12, 5, seed) for seed in range(25)]
    ax = plot(rank(*runs, test="t", n_resamples=9), "leaderboard")
    assert len(ax.get_yticks()) <= 62


def test_an_unknown_metric_of_a_ranking_names_the_nearest(ranking):
    with pytest.raises(UnknownNameError, match="Did you mean 'faithfulness'"):
        plot(ranking, "leaderboard", "faithfulnes")


@pytest.mark.parametrize("kind", ["leaderboard", "pareto"])
def test_a_comparison_is_no_ranking(comparison, kind):
    with pytest.raises(DataError, match="rank"):
        plot(comparison, kind)


def test_a_ranking_of_nothing_cannot_be_drawn(pipeline):
    nan = float("nan")
    runs = [pipeline("a", {"f1": [1.0, nan]}), pipeline("b", {"f1": [nan, 1.0]})]
    with pytest.raises(DataError, match="nothing to draw"):
        plot(rank(*runs), "leaderboard")


@pytest.mark.parametrize("k", [2, 20])
def test_any_number_of_pipelines_is_drawn(many, k):
    runs = [many(f"a pipeline with a long name {seed}", 40, 2, seed) for seed in range(k)]
    ranking = rank(*runs, n_resamples=9)
    for kind in ("leaderboard", "pareto"):
        ax = plot(ranking, kind)
        ax.figure.draw_without_rendering()
        assert ax.has_data()

"""Sorted paired differences."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from rageval_report import compare
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots import plot
from rageval_report.plots.canvas import BETTER, GREY, WORSE

NAN = float("nan")


def dots(ax, hue: str) -> np.ndarray:
    """The heights of the dots of a hue, from left to right."""
    (found,) = [
        c
        for c in ax.collections
        if type(c).__name__ == "PathCollection" and to_hex(c.get_facecolor()[0]) == hue.lower()
    ]
    return found.get_offsets()[:, 1].data


def test_each_pair_is_a_dot_by_its_outcome(comparison):
    ax = plot(comparison, "differences", "faithfulness")
    np.testing.assert_allclose(dots(ax, WORSE), [-0.1])
    np.testing.assert_allclose(dots(ax, GREY), [0.0], atol=1e-12)
    np.testing.assert_allclose(dots(ax, BETTER), [0.1, 0.2, 0.2])


def test_where_lower_is_better_falling_is_better(comparison):
    ax = plot(comparison, "differences", "latency_ms")
    np.testing.assert_allclose(dots(ax, WORSE), [30])
    assert (dots(ax, BETTER) < 0).all()
    assert "lower is better" in ax.get_ylabel()


def test_outcomes_are_counted_in_words(comparison, texts):
    told = texts(plot(comparison, "differences", "recall@5"))
    assert all(words in told for words in ("better: 3", "worse: 1", "equal: 4"))


def test_the_mean_and_its_band_are_those_of_the_comparison(comparison):
    ax = plot(comparison, "differences", "recall@5")
    row = comparison.frame.set_index("metric").loc["recall@5"]
    heights = [line.get_ydata()[0] for line in ax.lines]
    assert pytest.approx(row["difference"]) in heights
    (band,) = ax.patches
    low, high = band.get_extents().transformed(ax.transData.inverted()).intervaly
    assert (low, high) == (pytest.approx(row["ci_low"]), pytest.approx(row["ci_high"]))


def test_pairs_and_what_is_missing_are_counted(comparison):
    ax = plot(comparison, "differences", "faithfulness")
    assert "n = 5 pairs; 3 more unscored" in ax.get_xlabel()


def test_many_pairs_are_a_filled_curve(many):
    compared = compare(many("one", 1500, 1, 1), many("two", 1500, 1, 2), test="t")
    ax = plot(compared, "differences", "faithfulness")
    areas = [c for c in ax.collections if type(c).__name__ != "LineCollection"]
    assert [to_hex(c.get_facecolor()[0]) for c in areas] == [WORSE.lower(), BETTER.lower()]
    assert areas[0].get_hatch()
    assert not areas[1].get_hatch()


def test_the_words_do_not_cover_the_dots(pipeline):
    shift = pipeline("old", {"m": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]})
    up = pipeline("new", {"m": [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]})
    ax = plot(shift, "differences", other=up)
    ax.figure.draw_without_rendering()
    lowest = min(text.get_window_extent().y0 for text in ax.texts)
    assert ax.transData.transform((0, 0.3))[1] < lowest


def test_equal_pipelines_are_a_flat_line(bm25, texts):
    twin = type(bm25)("twin", bm25.scores.reset_index())
    ax = plot(bm25, "differences", "recall@5", other=twin)
    assert "equal: 8" in texts(ax)
    assert ax.get_ylim()[0] < 0 < ax.get_ylim()[1]


def test_several_metrics_need_a_name(comparison):
    with pytest.raises(DataError, match="metric must name one of several: recall@5, faithfulness"):
        plot(comparison, "differences")


def test_several_candidates_need_a_name(bm25, hyde):
    third = type(hyde)("third", hyde.scores.reset_index())
    compared = compare(bm25, hyde, third, metrics="recall@5")
    with pytest.raises(DataError, match="candidate must name one of several"):
        plot(compared, "differences", "recall@5")
    with pytest.raises(UnknownNameError, match="Did you mean 'third'"):
        plot(compared, "differences", "recall@5", candidate="thirt")
    ax = plot(compared, "differences", "recall@5", candidate="third")
    assert "third against bm25" in ax.get_title()


def test_no_pair_is_an_error(pipeline):
    left = pipeline("old", {"m": [0.5, NAN], "o": [0.1, 0.2]})
    right = pipeline("new", {"m": [NAN, 0.5], "o": [0.1, 0.2]})
    with pytest.raises(DataError, match="no query is scored on 'm' in both 'old' and 'new'"):
        plot(left, "differences", "m", other=right)


def test_a_mean_over_other_pairs_is_said(bm25, hyde, texts):
    compared = compare(bm25, hyde, missing="worst", metrics="faithfulness")
    assert "over 8 pairs" in texts(plot(compared, "differences"))

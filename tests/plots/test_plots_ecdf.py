"""Empirical distribution functions."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy import stats

from rageval_report.errors import DataError
from rageval_report.plots import plot


def test_the_steps_are_those_of_scipy(bm25):
    # second witness: scipy.stats.ecdf, SciPy 1.17
    (line,) = plot(bm25, "ecdf", "recall@5").lines
    theirs = stats.ecdf(bm25.scores["recall@5"]).cdf
    np.testing.assert_allclose(line.get_xdata()[1:-1], theirs.quantiles)
    np.testing.assert_allclose(line.get_ydata()[1:-1], theirs.probabilities)


def test_the_line_runs_from_none_to_all(bm25):
    ax = plot(bm25, "ecdf", "recall@5")
    (line,) = ax.lines
    assert (line.get_ydata()[0], line.get_ydata()[-1]) == (0, 1)
    assert (line.get_xdata()[0], line.get_xdata()[-1]) == ax.get_xlim()


def test_unscored_queries_do_not_count(bm25):
    ax = plot(bm25, "ecdf", "faithfulness")
    assert len(ax.lines[0].get_xdata()) == 6 + 2
    assert "n = 6 of 8 scored" in ax.get_xlabel()


def test_two_pipelines_are_two_lines_that_differ_in_more_than_hue(bm25, hyde):
    ax = plot(bm25, "ecdf", "recall@5", other=hyde)
    one, two = ax.lines
    assert to_hex(one.get_color()) != to_hex(two.get_color())
    assert one.get_linestyle() != two.get_linestyle()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["bm25 (mean 0.562)", "hyde (mean 0.688)"]


def test_several_pipelines_come_as_a_list(bm25, hyde, many):
    third = many("third", 8, 2, 3)
    assert len(plot(bm25, "ecdf", "recall@5", other=[hyde, third]).lines) == 3


def test_all_metrics_of_one_scale_are_drawn_where_none_is_named(bm25):
    ax = plot(bm25, "ecdf")
    assert len(ax.lines) == 3
    assert "Not drawn, on other scales: Latency (ms)" in "".join(t.get_text() for t in ax.texts)


def test_more_lines_than_can_be_told_apart_are_refused(many):
    with pytest.raises(DataError, match="choose up to 6 of: Faithfulness"):
        plot(many("one", 20, 12, 1), "ecdf")


def test_metrics_of_different_scales_share_no_axis(bm25):
    with pytest.raises(DataError, match="share no axis"):
        plot(bm25, "ecdf", ["recall@5", "latency_ms"])


def test_several_pipelines_need_one_metric(bm25, hyde):
    with pytest.raises(DataError, match="one metric"):
        plot(bm25, "ecdf", ["recall@5", "faithfulness"], other=hyde)
    with pytest.raises(DataError, match="metric must name one"):
        plot(bm25, "ecdf", other=hyde)

"""Forest plots."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from rageval_report import compare
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots import plot
from rageval_report.plots.canvas import BETTER, WORSE

NAN = float("nan")


def marks(ax) -> list:
    """The marks of the rows, from top to bottom; the zero line is none."""
    return [line for line in ax.lines if line.get_linestyle() == "None"]


def labels(ax) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


@pytest.fixture(scope="module")
def clear(pipeline):
    """A comparison with one sure gain, one sure loss, one of neither."""
    n = 40
    wave = np.tile([0.30, 0.34, 0.38, 0.42], n // 4)
    old = pipeline("old", {"a": wave, "b": wave, "hallucination": wave})
    new = pipeline(
        "new",
        {"a": wave + 0.2, "b": wave[::-1], "hallucination": wave + 0.1 + wave[::-1] / 10},
    )
    return compare(old, new)


def test_the_marks_are_improvements(comparison):
    ax = plot(comparison, "forest")
    expected = comparison.frame.set_index("metric")["improvement"]
    names = ["recall@5", "faithfulness", "exact_match"]
    assert [line.get_xdata()[0] for line in marks(ax)] == pytest.approx(list(expected[names]))


def test_the_intervals_are_those_of_the_comparison(comparison):
    ax = plot(comparison, "forest", "recall@5")
    row = comparison.frame.set_index("metric").loc["recall@5"]
    (span,) = [p.vertices[:, 0] for c in ax.collections for p in c.get_paths()]
    np.testing.assert_allclose(span, [row["ci_low"], row["ci_high"]])


def test_of_a_metric_where_lower_is_better_both_ends_are_turned(comparison):
    ax = plot(comparison, "forest", "latency_ms")
    row = comparison.frame.set_index("metric").loc["latency_ms"]
    (span,) = [p.vertices[:, 0] for c in ax.collections for p in c.get_paths()]
    np.testing.assert_allclose(span, [-row["ci_high"], -row["ci_low"]])
    assert labels(ax) == ["Latency (ms) ↓"]


def test_a_difference_that_is_shown_is_a_triangle_that_points_its_way(clear):
    a, b, hallucination = marks(plot(clear, "forest"))
    assert (a.get_marker(), to_hex(a.get_color())) == (">", BETTER.lower())
    assert (hallucination.get_marker(), to_hex(hallucination.get_color())) == ("<", WORSE.lower())
    assert b.get_marker() == "o"


def test_a_difference_that_is_not_shown_is_hollow(clear):
    ax = plot(clear, "forest")
    assert to_hex(marks(ax)[1].get_markerfacecolor()) == to_hex(ax.get_facecolor())


def test_the_zero_line_is_in_the_picture(clear):
    ax = plot(clear, "forest", "a")
    assert ax.get_xlim()[0] < 0 < ax.get_xlim()[1]
    assert [0, 0] in [list(line.get_xdata()) for line in ax.lines]


def test_metrics_of_other_scales_are_left_out_and_said(comparison, texts):
    ax = plot(comparison, "forest")
    assert labels(ax) == ["Recall@5", "Faithfulness", "Exact Match"]
    assert "Not drawn, on other scales: Latency (ms)" in texts(ax).replace("\n", " ")


def test_metrics_of_other_scales_that_are_named_are_refused_with_a_way_out(comparison):
    with pytest.raises(DataError, match='scale="baseline"'):
        plot(comparison, "forest", ["recall@5", "latency_ms"])


def test_percent_of_the_baseline_holds_all_metrics(comparison):
    ax = plot(comparison, "forest", scale="baseline")
    assert len(labels(ax)) == 4
    row = comparison.frame.set_index("metric").loc["latency_ms"]
    expected = -row["difference"] / row["baseline_mean"]
    assert marks(ax)[3].get_xdata()[0] == pytest.approx(expected)
    assert "in % of its mean" in ax.get_xlabel()


def test_a_baseline_of_zero_has_no_percentage(pipeline):
    old = pipeline("old", {"a": [0.0, 0.0, 0.0], "b": [0.5, 0.25, 0.3]})
    new = pipeline("new", {"a": [0.5, 0.25, 0.3], "b": [0.5, 0.75, 0.3]})
    ax = plot(old, "forest", other=new, scale="baseline")
    assert labels(ax) == ["B"]
    with pytest.raises(DataError, match="percentage"):
        plot(old, "forest", "a", other=new, scale="baseline")


def test_where_no_scale_is_shared_percentages_are_drawn(pipeline):
    old = pipeline("old", {"latency_ms": [100.0, 200.0], "cost_usd": [2.0, 4.0]})
    new = pipeline("new", {"latency_ms": [90.0, 180.0], "cost_usd": [1.0, 2.5]})
    ax = plot(old, "forest", other=new)
    assert len(labels(ax)) == 2
    assert "%" in ax.get_xlabel()


def test_an_unknown_scale_names_the_known(comparison):
    with pytest.raises(UnknownNameError, match=r'scale must be "own" or "baseline"; got'):
        plot(comparison, "forest", scale="bsl")


def test_several_candidates_stand_under_the_metrics(bm25, hyde):
    third = type(hyde)("third", hyde.scores.reset_index())
    ax = plot(compare(bm25, hyde, third, metrics=["recall@5", "exact_match"]), "forest")
    assert labels(ax) == ["hyde", "third", "hyde", "third", "Recall@5", "Exact Match"]
    headings = [label.get_text() for label in ax.get_yticklabels() if label.get_weight() == "bold"]
    assert headings == ["Recall@5", "Exact Match"]


def test_the_rows_say_p_and_n(comparison, texts):
    told = texts(plot(comparison, "forest"))
    assert "adj. p" in told
    assert "p (holm) ≤ 0.05" in told


def test_one_row_has_nothing_to_adjust(bm25, hyde, texts):
    told = texts(plot(compare(bm25, hyde, metrics="recall@5"), "forest"))
    assert "adj. p" not in told
    assert "p ≤ 0.05" in told


def test_the_margin_of_equivalence_is_a_band(bm25, hyde):
    compared = compare(bm25, hyde, metrics="recall@5", margin=0.05)
    ax = plot(compared, "forest")
    (band,) = ax.patches
    ends = band.get_extents().transformed(ax.transData.inverted()).intervalx
    np.testing.assert_allclose(ends, [-0.05, 0.05])


def test_a_metric_that_no_query_has_in_both_is_said_to_be_not_compared(pipeline, texts):
    old = pipeline("old", {"m": [0.5, NAN], "o": [0.1, 0.2]})
    new = pipeline("new", {"m": [NAN, 0.5], "o": [0.1, 0.25]})
    assert "not compared" in texts(plot(old, "forest", other=new))


def test_margins_by_metric_are_bands_of_their_rows(bm25, hyde):
    compared = compare(bm25, hyde, metrics=["recall@5", "faithfulness"], margin={"recall@5": 0.05})
    ax = plot(compared, "forest")
    (band,) = ax.patches
    ends = band.get_extents().transformed(ax.transData.inverted()).intervalx
    np.testing.assert_allclose(ends, [-0.05, 0.05])


def test_the_words_under_the_axis_stay_apart_where_blanks_are_put_together(comparison):
    told = " ".join(plot(comparison, "forest").get_xlabel().split(" "))
    assert told == "← worse\u2003\u2003improvement over bm25\u2003\u2003better →"

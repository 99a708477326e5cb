"""What holds for every plot."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import get_args

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from rageval_report import compare, rank
from rageval_report.errors import DataError, UnknownNameError, UnknownOptionError
from rageval_report.plots import PLOTS, plot
from rageval_report.plots.canvas import BLUE, HUES, VERMILLION
from rageval_report.plots.options import BuiltInPlot, PlotOptions

CALLS = {
    "agreement": ("calibration", (), {}),
    "box": ("bm25", (), {}),
    "differences": ("comparison", ("recall@5",), {}),
    "distribution": ("bm25", ("faithfulness",), {}),
    "forest": ("comparison", (), {}),
    "heat": ("ranking", (), {}),
    "leaderboard": ("ranking", (), {}),
    "monitor": ("monitored", (), {}),
    "pareto": ("ranking", (), {}),
    "slices": ("bm25", ("recall@5",), {"by": "topic"}),
    "strip": ("comparison", (), {}),
    "trends": ("past", (), {}),
}


@pytest.fixture(params=sorted(CALLS))
def call(request):
    """Draw one kind on the small pipelines."""
    kind = request.param
    name, args, options = CALLS[kind]
    subject = request.getfixturevalue(name)
    return lambda **more: plot(subject, kind, *args, **options, **more)


def test_every_plot_is_called_here():
    assert set(CALLS) == set(PLOTS)


def test_the_axes_given_are_drawn_on_and_nothing_else_is_touched(call):
    before = dict(mpl.rcParams)
    _, mine = plt.subplots()
    figure = Figure(figsize=(5, 3))
    ax = figure.add_subplot()
    assert call(ax=ax) is ax
    assert ax.has_data()
    assert figure.get_size_inches().tolist() == [5, 3]
    assert plt.gca() is mine
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("kind", ["box", "distribution"])
def test_the_same_picture_twice_is_the_same_to_the_last_pixel(bm25, kind):
    def pixels():
        ax = plot(bm25, kind, *CALLS[kind][1])
        ax.figure.canvas.draw()
        return np.asarray(ax.figure.canvas.buffer_rgba())

    np.testing.assert_array_equal(pixels(), pixels())


def test_without_axes_one_figure_is_made_with_its_words_inside(call, texts):
    ax = call()
    assert plt.get_fignums() == [ax.figure.number]
    assert ax.figure.axes == [ax]
    assert "bm25" in ax.get_title()
    assert "metrics=" not in texts(ax)  # no picture speaks of arguments of Python
    ax.figure.canvas.draw()
    inside = ax.figure.bbox
    for text in (*ax.texts, ax.title, ax.xaxis.label, ax.yaxis.label, *_labels_in_view(ax)):
        box = text.get_window_extent()
        if text.get_text() and box.width:
            assert box.x0 >= inside.x0 - 1, text.get_text()
            assert box.x1 <= inside.x1 + 1, text.get_text()
            assert box.y0 >= inside.y0 - 1, text.get_text()
            assert box.y1 <= inside.y1 + 1, text.get_text()


def _labels_in_view(ax):
    low, high = sorted(ax.get_ylim())
    return [
        label
        for place, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
        if low <= place <= high
    ]


def test_names_with_dollars_are_no_formulas(bm25, many):
    odd = many("run $x^2$ and $y_", 8, 2, 1)
    ax = plot(odd, "distribution", "faithfulness")
    ax.figure.canvas.draw()
    assert r"\$x^2\$" in ax.get_title()


def test_an_unknown_kind_names_the_nearest(bm25):
    with pytest.raises(UnknownNameError, match="Did you mean 'forest'"):
        plot(bm25, "forrest")


def test_an_unknown_option_names_the_plot_and_the_nearest(bm25):
    with pytest.raises(UnknownOptionError, match="'box' has no option 'colr'"):
        plot(bm25, "box", colr="black")


def test_an_option_of_another_plot_is_an_error(bm25):
    with pytest.raises(TypeError, match=r"plot 'box' has no option 'percentiles'\. Its options:"):
        plot(bm25, "box", percentiles=[10])


def test_every_entry_has_its_name_and_fits_its_function():
    for name, entry in PLOTS.items():
        assert entry.name == name
        own = list(entry.parameters)[1 : 1 + len(entry.metric_parameters)]
        assert own == list(entry.metric_parameters) or entry.subject == "front"


def test_the_types_name_every_plot_and_every_option():
    names = {name for kinds in get_args(BuiltInPlot) for name in get_args(kinds) or [kinds]}
    assert names == set(PLOTS)
    own = {name for entry in PLOTS.values() for name in list(entry.parameters)[1:]}
    assert own - {"ax"} == set(PlotOptions.__annotations__)


def test_wrong_subjects_and_metrics_are_refused(bm25, comparison):
    for kind, subject in {"box": bm25, "distribution": bm25, "forest": comparison}.items():
        with pytest.raises(UnknownNameError, match="Did you mean 'faithfulness'"):
            plot(subject, kind, ["faithfulnes", "recall@5"])
    for kind in ("box", "distribution"):
        with pytest.raises(DataError, match="RAGPipelineEvaluation"):
            plot(comparison, kind)
    for kind in ("differences", "forest", "strip"):
        with pytest.raises(DataError, match="other="):
            plot(bm25, kind)
        with pytest.raises(DataError, match="got EvaluationReport"):
            plot(bm25.evaluation_report(), kind)


@pytest.mark.parametrize("kind", ["differences", "forest", "strip"])
def test_two_pipelines_are_compared_on_the_way(bm25, hyde, kind):
    ax = plot(bm25, kind, "recall@5", other=hyde)
    assert "hyde against bm25" in ax.get_title()


@pytest.mark.parametrize(("n", "n_metrics"), [(1, 1), (8, 12), (1500, 2)])
def test_any_number_of_queries_and_metrics_is_drawn(n, n_metrics, many):
    one, other = many("one", n, n_metrics, 1), many("other", n, n_metrics, 2)
    compared = compare(one, other, test="t")
    drawn = [
        plot(one, "distribution"),
        plot(one, "box"),
        plot(compared, "differences", "faithfulness"),
        plot(compared, "forest"),
    ]
    if n >= 8:
        drawn.append(plot(one, "slices", by="topic"))
    for ax in drawn:
        ax.figure.draw_without_rendering()
        assert ax.has_data()


def test_there_are_at_most_six_hues():
    assert len(set(HUES)) <= 6


def test_better_and_worse_differ_in_more_than_hue(comparison):
    ax = plot(comparison, "differences", "recall@5")
    dots = [c for c in ax.collections if type(c).__name__ == "PathCollection"]
    shapes = {to_hex(c.get_facecolor()[0]): c.get_paths()[0].vertices.tolist() for c in dots}
    assert shapes[BLUE.lower()] != shapes[VERMILLION.lower()]


def test_the_table_of_plots_is_light_to_import():
    code = (
        "import sys, rageval_report.plots; "
        "print('matplotlib' in sys.modules, 'scipy' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False", "False"]


def test_the_gallery_draws_every_kind_and_holds_its_picture():
    docs = Path(__file__).parents[2] / "docs"
    calls = runpy.run_path(str(docs / "make_gallery.py"))["calls"]()
    assert set(calls) == set(PLOTS)
    for kind, (subject, args, options) in calls.items():
        assert plot(subject, kind, *args, **options, ax=Figure().add_subplot()).has_data()
        assert (docs / "gallery" / f"{kind}.png").stat().st_size > 0


def test_more_rows_than_can_be_read_are_left_out_and_said(many, texts):
    """Twenty candidates on eight metrics would be 160 rows."""
    runs = [many(f"run {number}", 20, 8, number) for number in range(21)]
    comparison = compare(*runs)
    ax = plot(comparison, "forest")
    rows = [label for label in ax.get_yticklabels() if label.get_text().startswith("run ")]
    assert 40 <= len(rows) <= 60
    assert "Not drawn, for lack of room: " in texts(ax)
    # What the caller names is drawn whatever its size.
    named = plot(comparison, "forest", ["faithfulness", "recall@5", "exact_match", "hallucination"])
    assert "for lack of room" not in texts(named)
    assert sum(label.get_text().startswith("run ") for label in named.get_yticklabels()) == 80


@pytest.mark.parametrize("kind", ["differences", "forest", "leaderboard"])
def test_long_names_do_not_squeeze_the_picture(kind, bm25, hyde):
    """The figure grows by the lines of the title and of the note that have no room in it."""

    def height(*names: str) -> float:
        first, second = (run.with_name(name) for run, name in zip((bm25, hyde), names, strict=True))
        subject = compare(first, second) if kind != "leaderboard" else None
        subject = subject or rank(first, second, n_resamples=99)
        ax = plot(subject, kind, *(["recall@5"] if kind == "differences" else []))
        ax.figure.canvas.draw()
        return ax.get_window_extent().height / ax.figure.dpi

    long = ("an-experiment-of-the-whole-series-" * 4 + "with-synonyms", "x" * 90)
    assert height(*long) >= 0.8 * height("bm25", "hyde")

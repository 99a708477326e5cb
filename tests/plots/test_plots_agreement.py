"""Judge and people in a picture: each cell, dot and interval stands where it belongs."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from rageval_report import RAGPipelineEvaluation, calibrate
from rageval_report.errors import DataError
from rageval_report.plots import plot


def made(n=8, q=2, labelled=8, raters=1, seed=0, continuous=False, **options):
    rng = np.random.default_rng(seed)
    ids = [f"q{i}" for i in range(n)]
    if continuous:
        truth = rng.beta(3, 2, n)
        rate = lambda: np.clip(truth + 0.1 * rng.normal(size=n), 0, 1)  # noqa: E731
    else:
        truth = rng.integers(0, q, n).astype(float)
        rate = lambda: np.where(rng.random(n) < 0.7, truth, rng.integers(0, q, n))  # noqa: E731
    name = "grade" if q > 2 else "faithfulness"
    run = RAGPipelineEvaluation("run $1", {"query_id": ids, name: rate()})
    people = pd.DataFrame({f"r{i}": rate() for i in range(raters)}, index=ids)[:labelled]
    return calibrate(run, name, people, n_resamples=99, **options)


def written(ax):
    return [text.get_text() for text in ax.texts]


def test_each_cell_holds_its_count(calibration):
    ax = plot(calibration, "agreement")
    counts = calibration.confusion().frame.drop(columns="total").to_numpy()
    told = {(t.get_position(), t.get_text().split("\n")[0]) for t in ax.texts[:4]}
    for row in range(2):
        for column in range(2):
            assert ((column + 0.5, row + 0.5), str(counts[row, column])) in told


def test_people_go_down_and_the_judge_across(calibration):
    ax = plot(calibration, "agreement")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("judge", "people")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0", "1"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_agreement_and_disagreement_differ_in_more_than_hue(calibration):
    same, other = plot(calibration, "agreement").collections
    assert same.get_cmap() != other.get_cmap()
    shown = ~np.ma.getmaskarray(same.get_array()).reshape(2, 2)
    np.testing.assert_array_equal(shown, np.eye(2, dtype=bool))  # and in their place


def test_every_interval_of_the_table_is_printed_and_drawn():
    found = made(60, 3, 40, raters=2)
    ax = plot(found, "agreement")
    agreement, means = ax.child_axes
    part = found.frame["part"]
    n = int(part.isin(["judge and people", "people with each other"]).sum())
    assert len(written(agreement)) == n + 1  # and the head
    assert len(written(means)) == int((part == "mean of all queries").sum()) + 1
    for inner in (agreement, means):
        low, high = inner.get_xlim()
        for line in inner.get_lines():
            assert low <= min(line.get_xdata()) <= max(line.get_xdata()) <= high


def test_judge_people_and_corrected_mean_have_markers_of_their_own():
    means = plot(made(60, 2, 30), "agreement").child_axes[1]
    markers = [line.get_marker() for line in means.get_lines() if len(line.get_xdata()) == 1]
    assert len(set(markers[:3])) == 3


def test_numbers_are_dots_with_the_line_of_agreement_and_the_bias():
    found = made(50, labelled=40, continuous=True)
    ax = plot(found, "agreement")
    dots = ax.collections[-1].get_offsets()
    np.testing.assert_allclose(dots, found.pairs[["people", "judge"]].to_numpy())
    line, shifted = ax.get_lines()
    assert (line.get_xdata() == line.get_ydata()).all()
    gap = shifted.get_ydata() - shifted.get_xdata()
    np.testing.assert_allclose(gap, found.means.bias.estimate)


def test_narrow_axes_hold_the_picture_alone():
    ax = Figure(figsize=(4, 3)).add_subplot()
    assert plot(made(), "agreement", ax=ax).child_axes == []
    low, high = ax.get_xlim()
    assert (low, high) == (0, 2)


SIZES = {
    "one query": {"n": 3, "labelled": 1},
    "eight": {"n": 8, "labelled": 6},
    "five steps": {"n": 1000, "q": 5, "labelled": 300, "raters": 2},
    "names": {"n": 100, "q": 4, "labelled": 60, "scale": "nominal"},
    "numbers": {"n": 300, "labelled": 100, "continuous": True},
}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_any_size_is_drawn_with_its_words_inside(size):
    ax = plot(made(**size), "agreement")
    ax.figure.canvas.draw()
    inside = ax.figure.bbox
    labels = [*ax.texts, ax.title, *(text for one in ax.child_axes for text in one.texts)]
    labels += [label for one in ax.child_axes for label in one.get_yticklabels()]
    for text in labels:
        box = text.get_window_extent()
        assert box.x0 >= inside.x0 - 1, text.get_text()
        assert box.x1 <= inside.x1 + 1, text.get_text()


@pytest.mark.parametrize("size", ["five steps", "eight"])
def test_labels_at_the_right_stay_clear_of_the_matrix(size):
    ax = plot(made(**SIZES[size]), "agreement")
    ax.figure.canvas.draw()
    edge = ax.transData.transform((len(ax.get_xticks()), 0))[0]
    for inner in ax.child_axes:
        for label in inner.get_yticklabels():
            assert label.get_window_extent().x0 > edge


def test_dark_styles_write_in_light_letters():
    with plt.style.context("dark_background"):
        ax = plot(made(30, labelled=20), "agreement")
    assert ax.child_axes[0].texts[0].get_color() == "white"


def test_only_a_calibration_is_drawn(bm25, comparison):
    for subject in (bm25, comparison):
        with pytest.raises(DataError, match="calibrate"):
            plot(subject, "agreement")

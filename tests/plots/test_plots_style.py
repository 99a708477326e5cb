"""How numbers and labels are told."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from rageval_report.plots import plot
from rageval_report.plots.canvas import (
    BETTER,
    EQUAL,
    WORSE,
    axes_for,
    interval_text,
    jitter,
    levels_without_overlap,
    number_text,
)


def lightness(hue: str) -> float:
    """The luma of a colour as a grey printer makes it (ITU-R BT.601), 0 to 1."""
    return float(np.dot(to_rgb(hue), [0.299, 0.587, 0.114]))


def test_better_worse_and_equal_differ_when_printed_in_grey():
    for one, other in itertools.combinations((BETTER, WORSE, EQUAL), 2):
        assert abs(lightness(one) - lightness(other)) > 0.1


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.62, "0.620"),
        (-0.5, "−0.500"),
        (2.5, "2.50"),
        (45.25, "45.2"),
        (1234.6, "1235"),
        (0.00012, "0.00012"),
        (1e-17, "0.000"),
        (-0.0, "0.000"),
        (float("nan"), "–"),
    ],
)
def test_numbers_are_told_with_three_digits_that_count(value, told):
    assert number_text(value) == told


def test_a_sign_stands_before_what_is_not_zero():
    assert number_text(0.5, signed=True) == "+0.500"
    assert number_text(0.0, signed=True) == "0.000"


def test_an_interval_that_there_is_not_is_not_told():
    assert interval_text(0.5, float("nan"), 0.7) == "0.500"


@given(st.integers(0, 300))
def test_jitter_keeps_within_the_row(n):
    offsets = jitter(n)
    assert offsets.size == n
    assert (np.abs(offsets) <= 0.5).all()


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 0.3)), min_size=1, max_size=3).map(sorted)
)
def test_up_to_three_labels_never_overlap(labels):
    centres, widths = zip(*labels, strict=True)
    levels = levels_without_overlap(centres, widths)
    for (one, other), (c1, c2), (w1, w2) in zip(
        itertools.combinations(levels, 2),
        itertools.combinations(centres, 2),
        itertools.combinations(widths, 2),
        strict=True,
    ):
        assert one != other or c2 - c1 >= (w1 + w2) / 2 - 1e-12


def test_words_take_the_colour_of_the_callers_style(bm25):
    with plt.style.context("dark_background"):
        ax = plot(bm25, "distribution", "faithfulness")
        assert ax.title.get_color() == mpl.rcParams["text.color"] == "white"
        (diamond,) = [line for line in ax.lines if line.get_marker() == "D"]
        assert diamond.get_color() == "white"


def test_new_figures_are_laid_out_so_that_no_word_is_cut():
    assert axes_for(None).figure.get_layout_engine() is not None

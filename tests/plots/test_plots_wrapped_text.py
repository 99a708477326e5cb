"""Texts of pictures: no letter is lost, and lines fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.plots.canvas import interval_text, number_text
from rageval_report.plots.texts import wrap_evenly, wrap_text
from rageval_report.scores.names import display_width


@given(
    st.text(st.characters(exclude_characters="\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"), max_size=80)
)
def test_only_blanks_are_lost_and_no_line_is_too_wide(text):
    lines = wrap_text(text, 20).split("\n")
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert max(map(display_width, lines)) <= 20


def test_a_long_name_breaks_behind_its_separators():
    name = "production-2026-10-12-bm25-with-synonyms-and-cross-encoder-reranking"
    lines = wrap_text(f"Faithfulness: {name}", 30).split("\n")
    assert lines == [
        "Faithfulness:",
        "production-2026-10-12-bm25-",
        "with-synonyms-and-cross-",
        "encoder-reranking",
    ]


@given(st.text("ab -_ ", min_size=1, max_size=200), st.integers(10, 60))
def test_even_lines_are_as_few_and_lose_nothing(text, width):
    even, greedy = wrap_evenly(text, width), wrap_text(text, width)
    assert even.count("\n") == greedy.count("\n")
    assert "".join(even.split()) == "".join(greedy.split())
    assert max(map(len, even.split("\n"))) <= width


def test_no_word_is_alone_on_the_last_line():
    text = "Every name contains it, which is not repeated here."
    assert wrap_text(text, 46).split("\n")[-1] == "here."
    assert wrap_evenly(text, 46).split("\n") == [
        "Every name contains it,",
        "which is not repeated here.",
    ]


def test_words_stay_whole_where_they_fit():
    assert wrap_text("one two three four", 9) == "one two\nthree\nfour"


@pytest.mark.parametrize("value", [-1e-8, 1e-8, -0.0, 1e-13])
def test_what_rounding_left_is_zero_without_a_sign(value):
    assert number_text(value) == "0.000"
    assert number_text(value, signed=True) == "0.000"


def test_small_costs_are_not_zero():
    assert number_text(2.5e-7) == "2.5e−07"
    assert interval_text(2.5e-4, 2e-4, 3e-4) == "0.00025 [0.0002, 0.0003]"


def test_a_number_far_smaller_than_its_interval_is_zero():
    assert interval_text(-1e-6, -0.04, 0.05, signed=True) == "0.000 [−0.040, +0.050]"
    assert interval_text(-1e-4, -0.04, 0.05, signed=True).startswith("−0.0001 ")

"""What a text from data may not do in a terminal, in Markdown and in a spreadsheet."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.files.outgoing_text import (
    clean,
    inert_markdown,
    is_neutralised,
    neutralise_formula,
    restore_formula,
)

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1+1", "-"]
TEXTS = st.text(st.sampled_from("'=+-@\t\r\n 1.5ex\"＝"), max_size=8) | st.text(max_size=8)


@given(TEXTS)
def test_restoring_gives_back_every_text_and_nothing_computes(text):
    written = neutralise_formula(text)
    assert restore_formula(written) == text
    computes = re.match(r"\s*[=+\-@]|[\t\r\n＝＋－＠]", written)
    assert not computes or re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", written, re.I | re.A)


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_gets_one_apostrophe(text):
    assert neutralise_formula(text) == f"'{text}"
    assert is_neutralised(f"'{text}")


@pytest.mark.parametrize("text", ["", "-0.5", "+1e-5", "a=b", "'tis", "''", "2-1"])
def test_numbers_and_ordinary_texts_stay(text):
    assert neutralise_formula(text) == text == restore_formula(text)


# Each of them does something in GitHub's or GitLab's Markdown, by their documentation.
ALIVE = {
    "<img src=x onerror=alert(1)>": "<",
    "<script>alert(1)</script>": "<",
    "![pixel](http://evil.example/p.png)": "![",
    "[click](javascript:alert(1))": "[click](",
    "<javascript:alert(1)>": "<",
    "javascript:alert(1)": "javascript:a",
    "see http://evil.example": "http://",
    "see www.evil.example": "www.e",
    "mailto:me@evil.example": "mailto:m",
    "me@evil.example": "me@e",
    "@everyone": "@e",
    "#12 and GH-12": "#12",
    "GH-12": "GH-1",
    "!12": "!1",
    "&12": "&amp;1",
    "%12": "%1",
    "~bug": "~b",
    "text[^1]": "[^",
    "[^1]: a footnote": "[^",
    "^[inline]": "^[",
    "[x]: http://evil.example": "[x]:",
    "# heading": "# ",
    "=== ": "===",
    "- [x] done": "- [",
    "1. item": "1. ",
    "| a | b |": "| a",
    "```": "```",
    "$x$": "$x",
    "&lt;b&gt;": "&lt;b",
}


@pytest.mark.parametrize(("text", "live"), ALIVE.items())
def test_markdown_of_the_data_does_nothing(text, live):
    inert = inert_markdown(text)
    assert re.search(rf"(?<!\\){re.escape(live)}", inert) is None, inert
    shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", inert).replace("\u200b", "")
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        shown = shown.replace(entity, character)
    assert shown == text.strip()  # the reader sees what the data say


@pytest.mark.parametrize("text", ["recall@5", "50 % of 5", "C# and F#", "a_b", "10:30", "Who?"])
def test_an_ordinary_text_stays_as_it_is_in_markdown(text):
    assert inert_markdown(text) == text


@given(st.text())
def test_a_line_holds_no_control_characters_and_no_direction_marks(text):
    unsafe = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
    assert not unsafe.search(clean(text))
    assert not unsafe.search(inert_markdown(text))

"""What holds for any result, in every format."""

import csv
import io
import json
import re
from html.parser import HTMLParser

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.reports.cells import display_width, is_missing
from rageval_report.reports.formats import render
from rageval_report.reports.html import MOST_BYTES
from rageval_report.results import Result

HOSTILE = [
    "<script>alert(1)</script>",
    "a|b\\|c",
    "\\",
    "$x$",
    "one\ntwo\r\nthree\u2028four",
    "\u202eright to left\u202c",
    "\x00\x1b[31m",
    "=cmd()",
    "再現率とは何ですか？",
    "e" + "\u0301" * 50,
    "</td></table>",
    "\\end{table}",
    "| --- |",
]
NAMES = (
    "metric baseline n n_unscored mean std difference ci_low ci_high pvalue pvalue_adjusted wins "
    "ties losses p50 verdict group"
).split()

texts = st.sampled_from(HOSTILE) | st.text(st.characters(codec="utf-8"), max_size=120)
names = st.sampled_from(NAMES) | texts
cells = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), texts, st.lists(st.integers(), max_size=3)
)
columns = st.sampled_from(
    [st.floats(), st.floats(0, 1), st.integers(0, 999), texts, st.booleans(), cells]
)


@st.composite
def results(draw):
    n_columns = draw(st.integers(1, 30))
    labels = draw(st.lists(names, min_size=n_columns, max_size=n_columns, unique=True))
    n_rows = draw(st.integers(0, 4))
    frame = pd.DataFrame(
        {
            label: pd.Series(
                draw(st.lists(draw(columns), min_size=n_rows, max_size=n_rows)),
                dtype=object if draw(st.booleans()) else None,
            )
            for label in labels
        }
    )
    if draw(st.booleans()):
        frame.index = pd.Index([f"q{i}" for i in range(n_rows)], name="query_id", dtype=object)
    return Result(
        draw(texts),
        frame,
        {"confidence_level": 0.95, "correction": "holm", "x": draw(texts)},
        tuple(draw(st.lists(texts, max_size=2))),
        headline=tuple(draw(st.lists(st.sampled_from(labels), max_size=5))),
        grouped_by=draw(st.sampled_from(["", *labels])),
    )


class Balanced(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        assert tag != "script"
        assert not any(name.startswith("on") for name, _ in attrs)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@given(results())
@settings(max_examples=150)
def test_no_line_of_text_is_wider_than_the_page(result):
    told = render(result, "text")
    assert max(map(display_width, told.split("\n"))) <= 100
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", told)


@given(results())
@settings(max_examples=60)
def test_every_row_of_a_markdown_table_has_as_many_cells_as_its_head(result):
    told = render(result, "markdown")
    head = 0
    for line in told.split("\n"):
        n_bars = len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) if line.startswith("|") else 0
        assert head == 0 or n_bars in (0, head)
        head = n_bars
    assert "<script" not in told.rpartition("\n\n`")[0]  # in code it is only a text


@given(results())
@settings(max_examples=60)
def test_html_is_small_and_balanced_and_runs_nothing(result):
    text = render(result, "html")
    assert Balanced(text).open == []
    assert "<script" not in text
    assert len(text.encode("utf-8")) < MOST_BYTES


@given(results())
@settings(max_examples=60)
def test_json_is_json(result):
    told = json.loads(render(result, "json"), parse_constant=pytest.fail)
    assert len(told["rows"]) == len(result.frame)


@given(results())
@settings(max_examples=60)
def test_csv_gives_back_every_cell(result):
    frame = result.frame
    rows = list(csv.reader(io.StringIO(render(result, "csv"), newline="")))
    first = 0 if frame.index.names[0] is None else 1
    assert rows[0][first:] == list(frame.columns)
    assert len(rows) == 1 + len(frame)
    for i, row in enumerate(rows[1:]):
        for text, value in zip(row[first:], frame.iloc[i].tolist(), strict=True):
            assert text == ("" if is_missing(value) else text)
            if isinstance(value, float) and value == value:
                assert float(text) == value
            if isinstance(value, str):
                assert text == value

"""The witness is Python's own html.parser."""

from html.parser import HTMLParser

import pandas as pd
import pytest

from rageval_report.reports.html import MOST_BYTES, page, render
from rageval_report.results import Result

HOSTILE = "<script>alert(1)</script>\" onmouseover='x' & | \\ $ \u202e\x00"


class Parsed(HTMLParser):
    """The elements, their attributes and the texts of cells; unbalanced tags fail."""

    void = ("meta", "br", "wbr")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.cells = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag in ("td", "th"):
            self.cells.append("")
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def test_a_small_table_is_written_as_laid_out_by_hand():
    frame = pd.DataFrame({"metric": ["a<b"], "ci_low": [0.4], "ci_high": [0.5]})
    lines = render(Result("Means & more", frame)).splitlines()
    assert lines[1] == '<p style="margin:.4em 0"><strong>Means &amp; more</strong></p>'
    assert '<table aria-label="Means &amp; more"' in lines[2]
    assert lines[3] == (
        '<thead><tr><th scope="col" style="text-align:left;border-bottom:1px solid currentColor">'
        'metric</th><th scope="col" style="text-align:right;border-bottom:1px solid currentColor">'
        "CI</th></tr></thead>"
    )
    assert lines[5] == (
        '<tr><th scope="row" dir="auto" style="text-align:left;font-weight:normal">a&lt;b</th>'
        '<td style="text-align:right">0.400\u00a0to\u00a00.500</td></tr>'
    )


def test_everything_is_escaped_and_nothing_is_lost():
    frame = pd.DataFrame({HOSTILE: [HOSTILE], "group": [HOSTILE], "verdict": [HOSTILE]})
    result = Result(HOSTILE, frame, {HOSTILE: HOSTILE}, (HOSTILE,), grouped_by="group")
    for text in (render(result), page(result)):
        parsed = Parsed(text)
        assert "script" not in parsed.tags
        assert {name for _, name, _ in parsed.attributes} <= {
            *("style", "scope", "colspan", "dir", "lang", "charset", "name", "content"),
            *("http-equiv", "aria-label"),
        }
        assert parsed.cells[1].startswith("<script>alert(1)</script>\" onmouseover='x' & | \\ $")


def test_the_fragment_brings_no_colour_no_style_sheet_and_no_link():
    frame = pd.DataFrame({"group": ["a"], "metric": ["m"], "verdict": ["better"]})
    text = render(Result("t", frame, notes=("note",), grouped_by="group")).lower()
    styles = set(text.split('style="')[1:])
    assert not any("color:" in style.split('"')[0] for style in styles)
    assert not any(
        word in text for word in ("<style", "<script", "href", "src=", "#", "rgb", "url")
    )


@pytest.mark.parametrize("n_columns", [1, 8, 30, 200])
@pytest.mark.parametrize("cell", [0.123456, "a" * 500, "\"'<&>" * 100, "e" + "\u0301" * 2400])
def test_the_fragment_stays_small_whatever_the_data(n_columns, cell):
    frame = pd.DataFrame({f"{i}{str(cell)[:80]}": [cell] * 60 for i in range(n_columns)})
    frame["group"] = [f"{i}{cell}" for i in range(60)]
    frame["verdict"] = str(cell)
    notes = (str(cell),) * 100
    result = Result(str(cell), frame, {"x": str(cell)}, notes, grouped_by="group")
    text = render(result)
    assert 0 < len(text.encode()) < MOST_BYTES
    assert "more rows" in text


def test_a_page_stands_alone_and_has_every_row():
    text = page(Result("Means & more", pd.DataFrame({"n": range(123)})))
    assert text.startswith("<!doctype html>\n")
    assert '<meta charset="utf-8">' in text
    assert "<title>Means &amp; more</title>" in text
    assert text.count('scope="row"') == 123
    assert text.count("</html>") == 1

"""A format added from outside: one entry, and every way of writing a result knows it."""

from __future__ import annotations

import pandas as pd
import pytest

from rageval_report.reports.formats import RENDERERS, Renderer, render, save
from rageval_report.results import Result

RESULT = Result("Means", pd.DataFrame({"metric": ["mrr", "em"], "mean": [0.5, 0.25]}))


def render_rst(result: Result, *, underline: str = "=") -> str:
    lines = [result.title, underline * len(result.title), ""]
    lines += [f":{row.metric}: {row.mean:.2f}" for row in result.frame.itertuples()]
    return "\n".join(lines)


def render_rst_file(result: Result) -> str:
    return render_rst(result, underline="#")


@pytest.fixture(autouse=True)
def _rst():
    RENDERERS.add(
        "rst",
        Renderer("rst", render_rst, suffixes=(".rst",), render_file=render_rst_file),
    )
    yield
    del RENDERERS._entries["rst"]


def test_it_renders_by_its_name_and_by_its_entry():
    text = "Means\n=====\n\n:mrr: 0.50\n:em: 0.25"
    assert render(RESULT, "rst") == text
    assert render(RESULT, RENDERERS["rst"], underline="=") == text


def test_its_options_are_checked():
    with pytest.raises(
        TypeError, match=r"format 'rst' has no option 'underlin'\. Did you mean 'underline'"
    ):
        render(RESULT, RENDERERS["rst"], underlin="-")


def test_its_suffix_chooses_it(tmp_path):
    for path in (save(RESULT, tmp_path / "a.rst"), RESULT.save(tmp_path / "b.rst")):
        assert path.read_text() == "Means\n#####\n\n:mrr: 0.50\n:em: 0.25\n"

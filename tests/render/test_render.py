import json
import subprocess
import sys

import pandas as pd
import pytest

from rageval_report.errors import UnknownOptionError
from rageval_report.render import RENDERERS, render, renderer_for, save
from rageval_report.results import Result

RESULT = Result(
    "Means",
    pd.DataFrame({"metric": ["mrr"] * 250, "mean": [1 / 3] * 250, "answer": ["=ü再"] * 250}),
    {"seed": 0},
)


@pytest.mark.parametrize("name", sorted(RENDERERS))
def test_every_format_renders(name):
    text = render(RESULT, name)
    assert "mrr" in text


SUFFIXES = (".csv", ".htm", ".html", ".json", ".md", ".tex", ".tsv", ".txt", ".xml")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_suffix_is_written_whole_and_as_utf8(suffix, tmp_path):
    path = save(RESULT, tmp_path / f"means{suffix}")
    text = path.read_bytes().decode("utf-8")
    assert text.count("mrr") == 250
    assert "ü再" in text
    assert text.endswith("\n")
    assert "\r" not in text


def test_listing_the_formats_loads_no_renderer_and_no_pandas():
    program = (
        "import sys\n"
        "from rageval_report.render import RENDERERS\n"
        "print([entry.cli_name for entry in RENDERERS.values() if entry.suffixes][:3])\n"
        "print({'tabulate', 'pandas', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["['table', 'markdown', 'html']", "set()"]


def test_a_file_is_whole_where_a_notebook_shows_some_rows():
    html = renderer_for("means.html")
    assert html is RENDERERS["html"]
    assert html(RESULT).count("mrr") == 50
    assert html.whole(RESULT).count("mrr") == 250


def test_an_unknown_option_names_the_format_and_the_nearest():
    message = r"format 'text' has no option 'max_row'\. Did you mean 'max_rows'\?"
    with pytest.raises(UnknownOptionError, match=message):
        render(RESULT, "text", max_row=3)
    with pytest.raises(TypeError, match=r"format 'json' has no option 'width'\. Its options: none"):
        render(RESULT, "json", width=80)


def test_several_texts_become_one_file():
    assert RENDERERS["text"].join_texts(["one\n", "two\n"]) == "one\n\n\ntwo"
    assert json.loads(RENDERERS["json"].join_texts(['{"a": 1}', '{"b": 2}\n'])) == [
        {"a": 1},
        {"b": 2},
    ]
    page = RENDERERS["html"].join_texts([RENDERERS["html"].whole(RESULT)] * 2)
    assert page.count("<body") == page.count("</body>") == 1
    assert page.count("mrr") == 500

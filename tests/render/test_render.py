import json
import subprocess
import sys

import pandas as pd
import pytest

from rageval_report.errors import DataError, UnknownNameError, UnknownOptionError
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


@pytest.mark.parametrize("name", ["text", "markdown", "html", "latex", "json", "csv"])
def test_the_six_formats_are_known(name):
    assert name in RENDERERS


SUFFIXES = (".csv", ".htm", ".html", ".json", ".md", ".tex", ".tsv", ".txt", ".xml")


def test_every_suffix_belongs_to_one_format():
    suffixes = [suffix for entry in RENDERERS.values() for suffix in entry.suffixes]
    assert sorted(suffixes) == sorted(SUFFIXES)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_suffix_is_written_whole_and_as_utf8(suffix, tmp_path):
    path = save(RESULT, tmp_path / f"means{suffix}")
    text = path.read_bytes().decode("utf-8")
    assert text.count("mrr") == 250
    assert "ü再" in text
    assert text.endswith("\n")
    assert "\r" not in text


def test_a_suffix_may_be_in_capitals(tmp_path):
    assert json.loads(save(RESULT, tmp_path / "means.JSON").read_text("utf-8"))["title"] == "Means"


def test_options_reach_the_renderer(tmp_path):
    path = save(RESULT, tmp_path / "means.csv", neutralise_formulas=True)
    assert "'=ü再" in path.read_text("utf-8")


@pytest.mark.parametrize(("name", "asked"), [("means.docx", ".docx"), ("means", "means")])
def test_an_unknown_suffix_names_the_known_ones(name, asked, tmp_path):
    with pytest.raises(UnknownNameError, match=r"Known: \.csv, \.htm, \.html, \.json") as error:
        save(RESULT, tmp_path / name)
    assert asked in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_named():
    with pytest.raises(UnknownNameError, match=r"'markdwn'. Did you mean 'markdown'\?"):
        render(RESULT, "markdwn")


def test_a_file_in_the_place_of_its_folder_is_an_error(tmp_path):
    (tmp_path / "gone").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        save(RESULT, tmp_path / "gone" / "means.md")


def test_a_result_saves_itself(tmp_path):
    assert RESULT.save(tmp_path / "means.csv").read_text("utf-8") == RESULT.to_csv()


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


def test_an_entry_says_its_name_on_the_command_line():
    assert [entry.cli_name for entry in RENDERERS.values()][:6] == [
        *("table", "markdown", "html", "latex", "json", "csv"),
    ]
    assert [name for name, entry in RENDERERS.items() if entry.name != name] == []


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

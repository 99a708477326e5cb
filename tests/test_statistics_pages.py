"""The examples of pages on statistics run as they stand, and print what stands under them."""

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("clusters.md", "margins.md", "missing_scores.md", "planning.md", "which_test.md")


@pytest.mark.walked
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_print_what_the_page_shows(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    names, printed = {}, []
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, f"docs/{page}", "exec"), names)
        printed += [output.getvalue()] if output.getvalue() else []
    assert printed == re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    assert printed


def test_the_pictures_of_which_test_are_those_of_its_script():
    page = (DOCS / "which_test.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\]\((which_test/\w+\.png)\)", page))
    script = (DOCS / "make_which_test.py").read_text(encoding="utf-8")
    drawn = {f"which_test/{name}" for name in re.findall(r'"(\w+\.png)"', script)}
    files = {f"which_test/{path.name}" for path in (DOCS / "which_test").iterdir()}
    assert shown == drawn == files


def test_the_script_draws_the_examples_of_the_page():
    script = runpy.run_path(str(DOCS / "make_which_test.py"))
    names = script["examples"]()
    assert names["old"].name == "old"
    assert len(names["old"].scores) == len(names["new"].scores) == 60

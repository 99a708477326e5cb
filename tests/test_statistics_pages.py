"""The examples of pages on statistics run as they stand, and print what stands under them."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("clusters.md", "planning.md")


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

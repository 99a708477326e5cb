"""The examples of docs/sources.md run as they stand, and print what stands under them."""

import contextlib
import io
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

PAGE = (Path(__file__).parents[1] / "docs" / "sources.md").read_text(encoding="utf-8")


def test_the_examples_print_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python|text)\n(.*?)```", PAGE, re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "text"] * 2
    names: dict[str, object] = {}
    for (_, code), (_, shown) in zip(blocks[::2], blocks[1::2], strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "docs/sources.md", "exec"), names)
        assert printed.getvalue() == shown

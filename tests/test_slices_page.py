"""The examples of docs/slices.md run as they stand, and print what stands under them."""

import contextlib
import io
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

PAGE = (Path(__file__).parents[1] / "docs" / "slices.md").read_text(encoding="utf-8")


def test_the_examples_print_what_the_page_shows():
    blocks = re.findall(r"```(python|text)\n(.*?)```", PAGE, re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "text"] * 3
    names: dict[str, object] = {}
    for (_, code), (_, shown) in zip(blocks[::2], blocks[1::2], strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "docs/slices.md", "exec"), names)
        assert printed.getvalue() == shown

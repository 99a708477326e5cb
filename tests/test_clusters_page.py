"""The example of docs/clusters.md runs as it stands, and prints what stands under it."""

import contextlib
import io
import re
from pathlib import Path

PAGE = (Path(__file__).parents[1] / "docs" / "clusters.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_shows():
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    [shown] = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "docs/clusters.md", "exec"), {})
    assert printed.getvalue() == shown

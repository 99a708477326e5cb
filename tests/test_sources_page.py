"""The examples of docs/sources.md run as they stand, and print what stands under them.

Only the place of the bucket is another: it is in memory.
"""

import contextlib
import io
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "sources.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^#+ (.+?)\n(.*?)(?=^#+ |\Z)", PAGE, re.DOTALL | re.MULTILINE))
LOCAL = ("Where scores come from", "Databases")


def examples(title):
    """The programs of a section, and what each prints."""
    blocks = re.findall(r"```(python|text)\n(.*?)```", SECTIONS[title], re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "text"] * (len(blocks) // 2)
    return [(code, shown) for (_, code), (_, shown) in zip(blocks[::2], blocks[1::2], strict=True)]


def printed_by(code, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "docs/sources.md", "exec"), names)
    return printed.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in which the first examples have run."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for title in LOCAL:
        for code, shown in examples(title):
            assert printed_by(code, names) == shown
    return tmp_path


def test_every_section_with_an_example_is_run_here():
    with_code = [title for title, text in SECTIONS.items() if "```python" in text]
    others = ["Object stores and the web"]
    assert with_code == [*LOCAL, *others]


def test_the_local_examples_print_what_the_page_shows(folder):
    assert (folder / "scores.db").is_file()


def test_the_example_of_object_stores_prints_what_the_page_shows(folder):
    fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")
    memory = fsspec.filesystem("memory")
    for path in (folder / "results").iterdir():
        memory.pipe_file(f"/bucket/runs/{path.name}", path.read_bytes())
    [(code, shown)] = examples("Object stores and the web")
    try:
        assert printed_by(code.replace("s3://", "memory://"), {}) == shown
    finally:
        memory.store.clear()
        memory.pseudo_dirs[:] = [""]

"""README and the pages that go on from it, walked from the first block to the last."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
from walk import REPOSITORY, blocks_of, has_extra, walk

from rageval_report.cli.demo import FOLDER
from rageval_report.demo import write_demo_files
from rageval_report.plots import PLOTS

pytestmark = pytest.mark.docs

README = REPOSITORY / "README.md"
DOCS = REPOSITORY / "docs"
PAGES = (README, *(DOCS / f"{name}.md" for name in ("reading", "results", "deciding", "pictures")))


@pytest.mark.walked
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_runs_in_order_in_one_folder(page, tmp_path):
    done = walk(page, tmp_path)
    assert done.run >= 3
    assert done.skipped == 0


def test_readme_shows_what_its_example_prints(tmp_path):
    shown = [block for block in blocks_of(README) if block.kind == "text"]
    assert len(shown) == 1
    assert "worse on latency_ms" in shown[0].code


def test_the_files_of_the_examples_are_those_that_the_demo_writes(tmp_path):
    written = write_demo_files(tmp_path / FOLDER)
    text = README.read_text(encoding="utf-8")
    assert f"cd {FOLDER}" in text
    assert {path.name for path in written} == set(re.findall(r'"(\w+\.csv)"', text))


def test_readme_is_one_screen_and_links_to_pages_that_exist():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 110
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (REPOSITORY / target).exists(), target


def test_the_page_of_pictures_lists_every_kind_with_its_picture():
    page = (DOCS / "pictures.md").read_text(encoding="utf-8")
    listed = re.findall(r"\| \[(\w+)\]\(gallery/(\w+)\.png\) \|", page)
    assert {kind for kind, _ in listed} == set(PLOTS)
    for kind, picture in listed:
        assert kind == picture
        assert (DOCS / "gallery" / f"{picture}.png").exists()


def test_the_index_lists_every_page():
    listed = set(re.findall(r"\]\((\w+\.md)\)", (DOCS / "index.md").read_text(encoding="utf-8")))
    assert listed == {page.name for page in DOCS.glob("*.md")} - {"index.md"}


# -- the walk itself


@pytest.fixture
def page(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "page.md"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_names_and_folders_are_kept_from_block_to_block(page, tmp_path):
    text = "```python\nx = 6\n```\n\n```bash\nmkdir a && cd a\necho 7 > b\n```\n\n"
    text += "```python\nfrom pathlib import Path\nprint(x * int(Path('b').read_text()))\n```\n\n"
    text += "```text\n42\n```\n"
    folder = tmp_path / "walked"
    folder.mkdir()
    done = walk(page(text), folder)
    assert (done.run, done.compared, done.skipped) == (3, 1, 0)
    assert (folder / "a" / "b").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n```bash\nfalse\n```\n", "page.md, line 2: exit 1"),
        ("```bash\necho a\necho b\n```\n```text\nb\na\n```\n", "page.md, line 5: not printed"),
        ("| get | `rageval-report nothing` |\n", "page.md, line 1: exit 2"),
    ],
)
def test_what_fails_is_told_with_its_line(page, tmp_path, text, message):
    folder = tmp_path / "walked"
    folder.mkdir()
    with pytest.raises(AssertionError, match=message):
        walk(page(text), folder)


def test_a_block_whose_extra_is_missing_is_skipped_and_counted(page, tmp_path, monkeypatch):
    monkeypatch.setattr("walk.has_extra", lambda extra: False)
    folder = tmp_path / "walked"
    folder.mkdir()
    done = walk(page("```python extra=excel\n1 / 0\n```\n"), folder)
    assert (done.run, done.skipped) == (0, 1)


def test_a_block_that_needs_more_is_counted_and_neither_run_nor_compared(page, tmp_path):
    text = "```python\nprint(1)\n```\n"
    text += "<!-- needs: a server -->\n<!-- wandb -->\n```python\n1 / 0\n```\n"
    text += "```text\n2\n```\n<!-- needs: files -->\n| a | b |\n| get | `rageval-report no` |\n"
    folder = tmp_path / "walked"
    folder.mkdir()
    done = walk(page(text), folder)
    assert (done.run, done.compared, done.stated) == (1, 0, 1)


def test_ci_walks_through_every_page():
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    [line] = re.findall(r"tests/pages/walk\.py (.+)", script)
    walked = {path for glob in line.split() for path in REPOSITORY.glob(glob)}
    # A template is a package of its own, whose page is tested with it.
    pages = {page for page in DOCS.rglob("*.md") if "plugin_template" not in page.parts}
    assert {page for page in walked if not is_generated(page)} == {
        README,
        *(page for page in pages if not is_generated(page)),
    }


def is_generated(page):
    """Whether the site writes a page when it is built: version control ignores those."""
    ignored = (REPOSITORY / ".gitignore").read_text(encoding="utf-8").split()
    path = page.relative_to(REPOSITORY).as_posix()
    patterns = [f"{pattern}*" if pattern.endswith("/") else pattern for pattern in ignored]
    return f"!{path}" not in ignored and any(fnmatch(path, pattern) for pattern in patterns)


def test_an_extra_that_is_installed_is_known():
    assert has_extra("test")

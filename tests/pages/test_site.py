"""The site: every public name has its page, no page is an orphan, and the checks find faults.

Building the site takes a minute, so `.ci/run` does that, and checks the links of what was built.
Here the pages are generated into a folder of their own, without Sphinx.
"""

from __future__ import annotations

import ast
import importlib
import re
import runpy
import sys
from pathlib import Path

import pytest
from walk import REPOSITORY

import rageval_report

DOCS = REPOSITORY / "docs"
EXTENSIONS = DOCS / "_extensions"
RECIPES = sorted(path for path in (DOCS / "howto").glob("*.md") if path.stem != "index")


@pytest.fixture(scope="module")
def site():
    """Imports a module of the site's extension."""
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    sys.path.insert(0, str(EXTENSIONS))
    yield importlib.import_module
    sys.path.remove(str(EXTENSIONS))


@pytest.fixture(scope="module")
def generated(site, tmp_path_factory):
    """A folder with all pages that are made from the package."""
    folder = tmp_path_factory.mktemp("docs")
    out = site("generated").GeneratedPages(folder, ())
    site("api_pages").write_api(out)
    site("command_pages").write_commands(out)
    site("table_pages").write_tables(out)
    site("gallery_pages").write_gallery(out)
    return folder


def listed_names():
    """Every public name, read from the sources: the lists are not those of the code under test."""
    package = Path(rageval_report.__file__).parent
    modules = (package / "datasets.py", package / "golden.py")  # what records gives to users
    for path in (*package.rglob("__init__.py"), *modules):
        place = path.parent if path.stem == "__init__" else path.with_suffix("")
        room = ".".join(("rageval_report", *place.relative_to(package).parts))
        text = path.read_text(encoding="utf-8")
        if room == "rageval_report.cli":
            continue  # its reference are the pages of the commands
        for node in ast.parse(text).body:
            names = [name.id for name in getattr(node, "targets", ()) if isinstance(name, ast.Name)]
            if names == ["__all__"] and isinstance(node.value, ast.List):
                yield from ((room, name.value) for name in node.value.elts)
        if "lazy_face(" in text or "__all__ = [\n    name\n" in text:  # a list of what is imported
            yield from ((room, name) for name in re.findall(r"import \(?\s*\w+ as (\w+)", text))


def test_every_public_name_has_a_page_and_stands_on_that_of_its_room(site, generated):
    pages = site("public_names").pages()
    names = {(room, name) for room, name in listed_names() if not name.startswith("_")}
    assert len(names) > 150
    for room, name in sorted(names):
        page = generated / "reference" / "api" / f"{pages[f'{room}.{name}'].path}.rst"
        assert re.search(rf"^\.\. (auto|py:)\w+:: (\S+\.)?{name}$", page.read_text("utf-8"), re.M)
        room_page = generated / "reference" / "api" / f"{room}.rst"
        assert f":py:obj:`{name} <" in room_page.read_text("utf-8"), room


def test_every_command_and_every_option_has_its_place(generated):
    from rageval_report.cli.group import COMMANDS

    for name, command in COMMANDS.known().items():
        text = (generated / "reference" / "commands" / f"{name}.rst").read_text("utf-8")
        for option in command.params:
            if getattr(option, "opts", [""])[0].startswith("-") and not option.hidden:
                assert re.search(rf"^\.\. option:: .*{option.opts[0]}\b", text, re.M), option.opts


def test_the_tables_hold_every_member_of_the_registries(generated):
    from rageval_report.readers import READERS
    from rageval_report.scores import METRICS
    from rageval_report.stats import TESTS

    for page, members in (("metrics", METRICS), ("readers", READERS), ("tables", TESTS)):
        text = (generated / "reference" / f"{page}.md").read_text("utf-8")
        for name in members.known():
            assert f"| `{name}` |" in text, name


def test_no_page_is_an_orphan():
    """Every page and recipe is listed by the index, and none is listed twice."""
    listed = re.findall(r"\]\(([\w/]+)\.md\)", "\n".join(tables_of(DOCS / "index.md")))
    assert sorted(listed) == sorted(set(listed))
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    pages |= {f"howto/{path.stem}" for path in (DOCS / "howto").glob("*.md")} | {"reference/index"}
    assert pages == set(listed)


def tables_of(page):
    return [line for line in page.read_text("utf-8").splitlines() if line.startswith("|")]


# -- recipes


# -- the check of a built site


@pytest.fixture
def built(tmp_path):
    def build(**pages):
        for name, body in pages.items():
            (tmp_path / f"{name}.html").write_text(body, encoding="utf-8")
        check = runpy.run_path(str(DOCS / "check_site.py"))
        return list(check["faults"](tmp_path))

    return build


def test_a_site_whose_links_lead_somewhere_is_right(built):
    assert (
        built(index='<a href="b.html#x">b</a>', b='<p id="x"></p><a href="http://a.b">c</a>') == []
    )


@pytest.mark.parametrize(
    ("index", "fault"),
    [
        ('<a href="c.html">c</a>', "c.html, which does not exist"),
        ('<a href="b.html#y">b</a>', "b.html#y, but there is no such anchor"),
        ('<a href="b.html">b</a><script src="https://a.b/c.js"></script>', "from the network"),
        ('<a href="b.html">b</a><img src="none.png">', "loads none.png, which does not exist"),
        ("nothing", "b.html is not linked"),
    ],
)
def test_what_is_wrong_with_a_site_is_found(built, index, fault):
    found = built(index=index, b="<p id='x'></p>")
    assert any(fault in sentence for sentence in found), found

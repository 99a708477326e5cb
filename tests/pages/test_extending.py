"""The recipes of docs/extending.md: each runs as it stands, and one line adds what it made."""

from __future__ import annotations

import importlib
import re

import matplotlib.pyplot as plt
import pytest
from walk import REPOSITORY, blocks_of, walk

from rageval_report._registry import Registry

pytestmark = pytest.mark.docs

PAGE = REPOSITORY / "docs" / "extending.md"
TEXT = PAGE.read_text(encoding="utf-8")
_IMPORT = r"from (rageval_report[\w.]*) import (.*)"


def tables():
    """The tables that the recipes add to, by name."""
    names = re.findall(r"^(\w+)\.add\(", TEXT, re.MULTILINE)
    homes = {
        name.strip(): module
        for module, words in re.findall(_IMPORT, TEXT)
        for name in words.split(",")
    }
    return {name: getattr(importlib.import_module(homes[name]), name) for name in names}


@pytest.fixture
def own_tables(monkeypatch):
    """The tables, which are afterwards as they were."""
    for table in tables().values():
        monkeypatch.setattr(table, "_entries", dict(table._entries))
    yield tables()
    plt.close("all")


def test_every_recipe_runs_and_prints_what_it_shows(own_tables, tmp_path):
    known = {name: set(table) for name, table in own_tables.items()}
    done = walk(PAGE, tmp_path)
    n_recipes = len(re.findall(r"^## \d+\. ", TEXT, re.MULTILINE))
    assert (done.run, done.compared, done.skipped) == (n_recipes + 1, n_recipes, 0)
    assert n_recipes >= 9
    for name, table in own_tables.items():
        assert len(set(table) - known[name]) == 1, f"{name}: one line adds one member"


def test_each_table_is_taught_once():
    assert all(isinstance(table, Registry) for table in tables().values())
    lines = re.findall(r"^(\w+)\.add\(", TEXT, re.MULTILINE)
    assert len(lines) == len(set(lines))


def test_the_page_names_every_group_of_entry_points():
    sources = (REPOSITORY / "rageval_report").rglob("*.py")
    groups = {
        name
        for path in sources
        for name in re.findall(r'group="rageval_report\.(\w+)"', path.read_text(encoding="utf-8"))
    }
    listed = TEXT.partition("Groups of entry points:")[2]
    assert groups == set(re.findall(r"`(?:rageval_report)?\.(\w+)`", listed))


def test_recipes_are_short():
    for block in blocks_of(PAGE):
        assert len(block.code.splitlines()) <= 35, f"line {block.line}"

import importlib
import re
import sys
import tomllib
import types
from importlib import metadata
from pathlib import Path

import pytest

from rageval_report import errors
from rageval_report._registry import EXTRAS, Registry, load
from rageval_report.errors import MissingDependencyError


@pytest.fixture
def module(monkeypatch):
    """A module that is nowhere on the disk."""
    made = types.ModuleType("made_up_module")
    made.red = object()
    monkeypatch.setitem(sys.modules, "made_up_module", made)
    return made


def package(folder, name, source, entry_points=""):
    """A package as pip would install it, importable from a folder."""
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of packages that Python finds for the length of a test."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


# -- tables


def test_a_text_with_a_place_becomes_the_thing_at_that_place(module):
    colours = Registry("colour", {"red": "made_up_module:red"})
    assert colours["red"] is module.red


def test_a_thing_is_loaded_when_it_is_asked_for_and_not_before():
    colours = Registry("colour", {"red": "no_such_module:red", "blue": "no_such_module:blue"})
    assert list(colours) == ["red", "blue"]
    assert "red" in colours
    with pytest.raises(MissingDependencyError, match="no_such_module"):
        colours["red"]


def test_a_thing_is_loaded_once(module):
    colours = Registry("colour", {"red": "made_up_module:red"})
    first = colours["red"]
    module.red = object()
    assert colours["red"] is first


def test_one_more_is_one_line():
    colours = Registry("colour", {"red": 1})
    colours.add("blue", 2)
    assert colours["blue"] == 2
    colours.add("red", 3)
    assert colours["red"] == 3


# -- members that other distributions bring


def test_a_plug_in_is_found_when_the_name_is_not_built_in(site):
    package(site, "paints", "TEAL = 'teal!'\n", "[test.colours]\nteal = paints:TEAL\n")
    colours = Registry("colour", {"red": "#f00"}, group="test.colours")
    assert list(colours) == ["red", "teal"]
    assert colours["red"] == "#f00"
    assert "paints" not in sys.modules
    assert colours["teal"] == "teal!"
    assert list(colours) == ["red", "teal"]


def test_a_plug_in_does_not_replace_what_is_built_in(site):
    package(site, "dyes", "RED = 'other'\n", "[test.dyes]\nred = dyes:RED\nteal = dyes:RED\n")
    colours = Registry("colour", {"red": "#f00"}, group="test.dyes")
    assert colours["teal"] == "other"
    assert colours["red"] == "#f00"


# -- loading


def test_a_package_that_is_not_installed_is_told_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingDependencyError, match=r'install "rageval-report\[excel\]"'):
        load("openpyxl:load_workbook")


@pytest.mark.parametrize(
    ("pip", "program"),
    [(object(), "{python} -m pip install"), (None, "python3 -m pip --python {python} install")],
)
def test_the_line_installs_for_the_python_that_runs(monkeypatch, pip, program):
    monkeypatch.setattr(sys, "executable", "/with space/python")
    monkeypatch.setattr(errors, "find_spec", {"pip": pip}.__getitem__)
    line = errors.install_command("rageval-report[excel]")
    assert line == program.format(python="'/with space/python'") + ' "rageval-report[excel]"'
    assert errors.install_command("polars").endswith(" install polars")


def test_a_package_that_a_package_lacks_is_told_by_its_own_name(site):
    package(site, "needy", "import surely_not_there\n")
    with pytest.raises(MissingDependencyError, match=r" install surely_not_there") as caught:
        load("needy")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_misspelt_module_of_our_own_is_a_bug_and_no_missing_package():
    with pytest.raises(ModuleNotFoundError, match=r"rageval_report\.statz"):
        load("rageval_report.statz:mean")


def project_extras():
    project = Path(__file__).parent.parent / "pyproject.toml"
    told = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    return {
        extra: {plain_name(re.split(r"[<>=;\[ ]", one)[0]) for one in told[extra]} for extra in told
    }


def plain_name(distribution):
    return re.sub(r"[-_.]+", "-", distribution).lower()


def test_the_extra_that_is_named_brings_the_package_that_is_missing():
    brought, installed = project_extras(), metadata.packages_distributions()
    shared = {"backports"}  # a name that packages of many origins share
    known = {name: EXTRAS[name] for name in EXTRAS if name in installed and name not in shared}
    assert known
    for package, extra in known.items():
        assert {plain_name(one) for one in installed[package]} & brought[extra], package


# -- a face whose names load when asked for


FACE = """
from typing import TYPE_CHECKING
from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    import collections
    from made_up_module import Hidden
    from made_up_module import red as red
    from no.such import (
        blue as blue,
    )
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__, "green")

green = 3
"""


def test_a_face_gives_its_names_and_no_other(site, module):
    package(site, "house", FACE)
    house = importlib.import_module("house")
    assert house.__all__ == dir(house) == ["blue", "green", "red"]
    assert house.red is module.red
    assert house.green == 3
    with pytest.raises(MissingDependencyError, match="no"):
        house.blue  # noqa: B018
    with pytest.raises(AttributeError, match=r"'house' has no attribute 'reed'\. Did you.*'red'"):
        house.reed  # noqa: B018
    assert not hasattr(house, "Hidden")


def test_a_face_without_its_source_is_an_error(site, monkeypatch):
    package(site, "bare_house", FACE)
    monkeypatch.setattr("importlib.machinery.SourceFileLoader.get_source", lambda *_: None)
    with pytest.raises(ImportError, match="bare_house needs its source file"):
        importlib.import_module("bare_house")

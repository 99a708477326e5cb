"""Tests do not depend on the speed of the machine, and the lowest versions are those of pyproject.

What depends on the order, the locale, the time zone, the network or the user is found by the
scripts .ci/conditions and .ci/lowest, which run the tests themselves.
"""

import ast
import re
import tomllib
from pathlib import Path

import hypothesis

TESTS = Path(__file__).parent
ROOT = TESTS.parent


# -- no example has a time limit


def calls_of_settings(path):
    """The calls `settings(...)` of a file: the line, and the keyword arguments by name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("settings"):
            yield node.lineno, {word.arg: ast.unparse(word.value) for word in node.keywords}


def own_limits(folder):
    """Where a file overrides the profile of tests/conftest.py, so that a slow example may fail."""
    return [
        f"{path.relative_to(folder)}:{line}"
        for path in sorted(folder.rglob("test_*.py"))
        for line, options in calls_of_settings(path)
        if options.get("deadline", "None") != "None"
        or "too_slow" not in options.get("suppress_health_check", "too_slow")
    ]


def test_an_example_may_take_as_long_as_it_takes():
    assert hypothesis.settings.default.deadline is None
    assert hypothesis.HealthCheck.too_slow in hypothesis.settings.default.suppress_health_check
    assert own_limits(TESTS) == []


# -- the lowest versions


def floors():
    """The lowest version of each dependency of the package and of its tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *lines_of_extra("test", project["optional-dependencies"])]
    return dict(re.match(r"([\w.-]+)(?:\[\w+\])?>=([\w.]+)", line).groups() for line in lines)


def lines_of_extra(name, extras):
    """The dependencies of an extra, with those of the extras that it names."""
    for line in extras[name]:
        named = re.fullmatch(r"rageval-report\[(.*)\]", line)
        if named is None:
            yield line
            continue
        for other in named[1].split(","):
            yield from lines_of_extra(other, extras)


def parts_of(version):
    """A version as numbers, without zeros at the end: 3.9 and 3.9.0 are the same."""
    return tuple(map(int, re.sub(r"(\.0)+$", "", version).split(".")))


def test_the_constraints_are_the_floors_of_pyproject():
    text = (ROOT / ".ci" / "lowest.txt").read_text(encoding="utf-8")
    own, _, others = text.partition("\n\n")
    pinned = dict(re.findall(r"^([\w.-]+)==([\w.]+)", own, re.MULTILINE))
    assert {name: parts_of(version) for name, version in pinned.items()} == {
        name: parts_of(version) for name, version in floors().items()
    }
    # Each further one says why it is held back.
    assert all(re.fullmatch(r"\S+==\S+  # .+", line) for line in others.strip().splitlines())

"""The mutation script in a small house of its own, where it is known what tests notice."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import mutate
import pytest
from mutants import changed, mutants_of

HERE = Path(__file__).parent
PYPROJECT = (
    '[tool.pytest.ini_options]\naddopts = ["--doctest-modules", "--import-mode=importlib"]\n'
)
MODULE = '''
LIMIT = 3


def larger(a, b=1):
    """The larger one.

    >>> larger(2, 3)
    3
    """
    return max(a, b)


def untested(value):
    return value + 1


def unnoticed(value):
    return value > 0


def counted_down(n):
    while n > 0:
        n -= 1
    return n


def within_limit(value):
    return value <= LIMIT
'''
TESTS = """
from rageval_report.stats.tiny import counted_down, larger, unnoticed, untested, within_limit


def test_the_default_is_one():
    assert larger(0) == 1


def test_notices_nothing():
    unnoticed(1)


def test_counts_down():
    assert counted_down(2) == 0


def test_that_fails_without_a_change_covers_nothing():
    assert untested(1) == 3


def test_limit():
    assert within_limit(3)
    assert not within_limit(4)
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    root = tmp_path_factory.mktemp("house")
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / "rageval_report" / "stats").mkdir(parents=True)
    (root / "rageval_report" / "__init__.py").write_text("")
    (root / "rageval_report" / "stats" / "__init__.py").write_text("")
    (root / "rageval_report" / "stats" / "tiny.py").write_text(MODULE)
    (root / "tests" / "stats").mkdir(parents=True)
    (root / "tests" / "stats" / "test_tiny.py").write_text(TESTS)
    # Imported before the tests are collected; the change must be in it already.
    (root / "tests" / "conftest.py").write_text("import rageval_report.stats.tiny\n")
    (root / "tests" / "mutation").mkdir()
    for name in ("mutate.py", "mutants.py"):
        shutil.copy(HERE / name, root / "tests" / "mutation")
    (root / "tests" / "mutation" / "equivalents.toml").write_text("")
    return root


def run(house, *arguments):
    command = [sys.executable, "tests/mutation/mutate.py", *arguments]
    return subprocess.run(command, cwd=house, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def outcomes(house):
    done = run(house, "stats/tiny.py", "-o", "report.json", "--floor", "99", "--jobs", "2")
    assert done.returncode == 1, done.stderr  # one thing is not noticed, and the floor is high
    assert (house / "rageval_report" / "stats" / "tiny.py").read_text() == MODULE
    found = json.loads((house / "report.json").read_text())
    return {(one["mutant"]["function"], one["mutant"]["new"]): one["outcome"] for one in found}


@pytest.mark.parametrize(
    ("function", "new", "outcome"),
    [
        ("larger", "return min(a, b)", "noticed"),
        ("", "def larger(a, b=2):", "noticed"),
        ("", "LIMIT = 4", "noticed"),
        ("within_limit", "return value < LIMIT", "noticed"),
        ("unnoticed", "return value >= 0", "survived"),
        ("unnoticed", "return", "survived"),
        ("untested", "return value - 1", "not reached"),
        ("counted_down", "while n >= 0:", "noticed"),
        ("counted_down", "n += 1", "noticed"),  # it took too long
    ],
)
def test_what_becomes_of_a_mutant_is_what_the_tests_notice(outcomes, function, new, outcome):
    assert outcomes[function, new] == outcome


def test_the_survivors_of_a_report_run_once_more(house, outcomes):
    done = run(house, "--again", "report.json", "-o", "again.json")
    assert done.returncode == 0
    assert {one["outcome"] for one in json.loads((house / "again.json").read_text())} == {
        "survived"
    }


def test_an_entry_without_a_reason_or_a_mutant_is_an_error(tmp_path):
    entry = '[[equivalent]]\nfile = "rageval_report/errors.py"\nfunction = "f"\nold = "a"\n'
    path = tmp_path / "equivalents.toml"
    path.write_text(f'{entry}new = "b"\n')
    with pytest.raises(SystemExit, match="an entry lacks its reason"):
        mutate.equivalents(path)
    path.write_text(f'{entry}new = "b"\nreason = "so"\n')
    with pytest.raises(SystemExit, match="no mutant is"):
        mutate.equivalents(path)


def test_every_entry_names_a_mutant_and_every_room_its_files():
    assert mutate.equivalents()
    assert all(mutate.files_of(room) for room in (*mutate.ROOMS, *mutate.EVERY_ROOM))
    with pytest.raises(SystemExit, match=r"there is no .*family\.py"):
        mutate.files_of("analysis/family.py")


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("a < b", {"a <= b", "a >= b"}),
        ("a + b", {"a - b"}),
        ("a or b", {"a and b", "a", "b"}),
        ("a[b:c]", {"a[:c]", "a[b:]"}),
        ("-a", {"a"}),
        ("min(a, b)", {"max(a, b)"}),
        ("f(a, b)", {"f(b, a)"}),
        ("a if b in c else d", {"a if b not in c else d"}),
        ("a if b else c", {"a if not b else c"}),
        ("2.5", {"3.5"}),
        ("True", {"False"}),
        ("'a text' + f'{b + 1}'", set()),
    ],
)
def test_the_changes_of_an_expression(line, new):
    source = f"def f(a, b, c, d):\n    return {line}\n"
    assert {one.new for one in mutants_of("f.py", source)} == {
        "return",
        *(f"return {each}" for each in new),
    }


@pytest.mark.parametrize("statement", ["a.append(b)", "raise ValueError(a + 1)", "a = a.sorted()"])
def test_a_statement_is_deleted(statement):
    source = f"def f(a, b):\n    {statement}\n"
    [one] = mutants_of("f.py", source)
    assert (one.new, one.function, one.lines) == ("pass", "f", (2,))


def test_the_tree_has_the_one_change_and_types_are_left_alone():
    source = "Number = int | float\n\ndef f(a: int | None):\n    return (a + a, a + a)\n"
    found = [one for one in mutants_of("f.py", source) if "-" in one.new]
    assert [one.new for one in found] == ["return (a - a, a + a)", "return (a + a, a - a)"]
    assert ast.unparse(changed(source, found[1].number)) == source.replace("a)\n", "a)").replace(
        ", a + a", ", a - a"
    )

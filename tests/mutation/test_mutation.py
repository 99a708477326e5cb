"""The mutation script in a small house of its own, where it is known what tests notice."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import mutate
import pytest
from mutants import lines_that_read, mutants_of

HERE = Path(__file__).parent

PYPROJECT = """
[tool.pytest.ini_options]
addopts = ["--doctest-modules", "--import-mode=importlib"]
filterwarnings = ["error"]
"""
MODULE = '''
from functools import cache

LIMIT = 3


def larger(a, b=1):
    """The larger one.

    >>> larger(2, 3)
    3
    """
    return max(a, b)


@cache
def doubled(value):
    return 2 * value


def untested(value):
    return value + 1


def unnoticed(value):
    """A test calls it and looks at nothing."""
    return value > 0


def counted_down(n):
    while n > 0:
        n -= 1
    return n


def within_limit(value):
    return value <= LIMIT
'''
TESTS = """
from rageval_report.stats.tiny import counted_down, doubled, larger, unnoticed, within_limit
from rageval_report.stats.tiny import untested


def test_doubled_first():
    assert doubled(3) == 6


def test_doubled_again():
    assert doubled(3) == 6


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
    # Imported before the tests are collected; a change outside functions must be in it already.
    (root / "tests" / "conftest.py").write_text("import rageval_report.stats.tiny\n")
    (root / "tests" / "mutation").mkdir()
    for name in ("mutate.py", "mutants.py", "warm.py"):
        shutil.copy(HERE / name, root / "tests" / "mutation")
    (root / "tests" / "mutation" / "equivalents.toml").write_text("")
    return root


def run(house, *arguments):
    command = [sys.executable, "tests/mutation/mutate.py", "--rooms", "stats", *arguments]
    done = subprocess.run(command, cwd=house, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1, 2}, done.stderr
    return done


@pytest.fixture(scope="module")
def outcomes(house):
    before = {path: path.read_bytes() for path in (house / "rageval_report").rglob("*.py")}
    done = run(house, "--all", "-o", "report.json", "--floor", "99")
    assert done.returncode == 1, done.stderr  # one thing is not noticed, and the floor is high
    assert before == {path: path.read_bytes() for path in before}
    found = json.loads((house / "report.json").read_text())["mutants"]
    return {(one["function"], one["new"]): one["outcome"] for one in found}


@pytest.mark.parametrize(
    ("function", "new", "outcome"),
    [
        ("larger", "return min(a, b)", "killed"),
        ("doubled", "return 2 / value", "killed"),
        ("doubled", "return 3 * value", "killed"),
        ("", "def larger(a, b=2):", "killed"),
        ("", "LIMIT = 4", "killed"),
        ("within_limit", "return value < LIMIT", "killed"),
        ("unnoticed", "return value >= 0", "survived"),
        ("unnoticed", "return None", "survived"),
        ("untested", "return value - 1", "not covered"),
        ("counted_down", "while n >= 0:", "killed"),
        ("counted_down", "n += 1", "timed out"),
    ],
)
def test_what_becomes_of_a_mutant_is_what_the_tests_notice(outcomes, function, new, outcome):
    assert outcomes[function, new] == outcome


def test_an_equivalent_that_a_test_notices_is_an_error(house):
    entry = {"file": "rageval_report/stats/tiny.py", "function": "doubled"}
    entry |= {"old": "return 2 * value", "new": "return 3 * value", "reason": "a wrong claim"}
    lines = ["[[equivalent]]", *(f"{name} = {json.dumps(text)}" for name, text in entry.items())]
    listed = house / "tests" / "mutation" / "equivalents.toml"
    listed.write_text("\n".join(lines))
    done = run(house, "--equivalents", "--jobs", "2")
    listed.write_text("")
    assert done.returncode == 2
    assert "not equivalent" in done.stdout
    assert "test_doubled_first" in done.stdout or "test_doubled_again" in done.stdout


def test_a_file_of_tests_that_cannot_be_collected_is_an_error(house):
    extra = house / "tests" / "stats" / "test_broken.py"
    extra.write_text("import nothing_of_this_name")
    done = run(house, "--sample", "1")
    extra.unlink()
    assert done.returncode == 1
    assert "could not be collected" in done.stderr
    assert "nothing_of_this_name" in done.stderr


# -- the list of equivalents


def test_an_entry_that_matches_no_mutant_is_an_error():
    every = {"a.py": mutants_of("a.py", b"def f(a, b):\n    return a + b\n")}
    entry = {"file": "a.py", "function": "f", "old": "return a + b", "new": "return a - b"}
    assert len(mutate.matched([entry], every)) == 1
    stale = entry | {"old": "return b + a"}
    with pytest.raises(SystemExit, match="no mutant is 'return b \\+ a'"):
        mutate.matched([stale], every)


def test_an_entry_needs_a_reason(tmp_path):
    path = tmp_path / "equivalents.toml"
    path.write_text('[[equivalent]]\nfile = "a"\nfunction = "f"\nold = "a"\nnew = "b"\n')
    with pytest.raises(SystemExit, match="an entry lacks reason"):
        mutate.read_equivalents(path)


def test_every_entry_names_a_mutant_and_a_reason():
    entries = mutate.read_equivalents(mutate.EQUIVALENTS)
    files = {entry["file"] for entry in entries}
    every = {file: mutants_of(file, (mutate.ROOT / file).read_bytes()) for file in files}
    assert len(mutate.matched(entries, every)) >= len(entries)


# -- the changes


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("a < b", {"a <= b", "a >= b"}),
        ("a + b", {"a - b"}),
        ("a ** b", {"(a * b)"}),
        ("a or b", {"(a and b)", "(a)", "(b)"}),
        ("a and (b or c)", {"(a or (b or c))", "(a)", "((b or c))"}),
        ("a[b:c]", {"a[:c]", "a[b:]"}),
        ("-a", {"(a)"}),
        ("min(a, b)", {"max(a, b)"}),
        ("f(a, b)", {"f(b, a)"}),
        ("a if b in c else d", {"a if b not in c else d"}),
        ("a if b else c", {"a if (not (b)) else c"}),
        ("not a", {"(a)"}),
        ("2.5", {"3.5"}),
        ("True", {"False"}),
        ("a.idxmax()", {"a.idxmin()"}),
        ("'a text' + f'{b + 1}'", set()),
    ],
)
def test_the_changes_of_an_expression(line, changed):
    source = f"def f(a, b, c, d):\n    return {line}\n".encode()
    found = {one.new.removeprefix("return ") for one in mutants_of("f.py", source)}
    assert changed | {"None"} <= found
    if not line.startswith("a and"):  # the inner operator has changes of its own
        assert found == changed | {"None"}


@pytest.mark.parametrize(
    ("statement", "changed"),
    [
        ("a.append(1)", "pass"),
        ("raise ValueError(a + 1)", "pass"),
        ("a = a.sorted()", "pass"),
        ("a += b", "pass"),
        ("a *= b", "a /= b"),
    ],
)
def test_the_changes_of_a_statement(statement, changed):
    source = f"def f(a, b):\n    {statement}\n".encode()
    assert changed in {one.new for one in mutants_of("f.py", source)}


def test_what_an_error_says_is_left_alone():
    source = b"def f(a):\n    raise ValueError(f'{a + 1}', a - 1)\n"
    assert [one.new for one in mutants_of("f.py", source)] == ["pass"]


def test_types_are_left_alone():
    source = b"Number = int | float\ndef f(a: int | None) -> int | None: ...\n"
    assert mutants_of("f.py", source) == []


def test_a_mutant_differs_from_the_source_in_its_place_alone():
    source = "def f(ä, b):\n    x = 'ö'; return ä + b  # é\n".encode()
    [one] = [one for one in mutants_of("f.py", source) if one.kind == "arithmetic"]
    assert one.applied_to(source).decode() == source.decode().replace("+", "-")
    assert (one.line, one.function) == (2, "f")


def test_equal_changes_of_a_line_are_told_apart():
    source = b"def f(a):\n    return (a, a + a, 1)\n    return (a, a + a, 1)\n"
    same = [one for one in mutants_of("f.py", source) if one.kind == "arithmetic"]
    assert [one.occurrence for one in same] == [0, 1]


def test_the_lines_that_read_a_name():
    assert lines_that_read(["A"], b"A = 1\nb = A\nc = d.A\ne = B\n") == {2, 3}


# -- the score


def finding(outcome):
    [mutant, *_] = mutants_of("a.py", b"def f(a, b):\n    return a + b\n")
    return mutate.Finding("stats", mutant, outcome)


def test_the_score_is_of_the_covered_mutants():
    outcomes = ["killed", "killed", "timed out", "survived", "not covered", "not run"]
    assert mutate.score_of([finding(outcome) for outcome in outcomes]) == 75.0  # 3 of 4


@pytest.mark.parametrize(("outcome", "code"), [("killed", 0), ("survived", 1), ("not run", 1)])
def test_a_floor_is_missed_by_a_low_score_and_by_none(outcome, code, capsys):
    options = mutate.parsed(["--floor", "50"])
    assert mutate.report([finding(outcome)], options) == code
    assert ("below the floor" in capsys.readouterr().out) == bool(code)

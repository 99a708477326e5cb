"""The files for those who take part: hooks, sessions and templates can be read, and say what is."""

import ast
import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

REPOSITORY = Path(__file__).parents[1]
FORMS = sorted((REPOSITORY / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read(name):
    return (REPOSITORY / name).read_text(encoding="utf-8")


def sessions():
    """The names of the sessions of noxfile.py."""
    tree = ast.parse(read("noxfile.py"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {one.name for one in functions if "nox.session" in map(ast.unparse, one.decorator_list)}


@pytest.mark.parametrize(
    "page",
    ["CONTRIBUTING.md", "docs/releasing.md", "noxfile.py", ".github/pull_request_template.md"],
)
def test_sessions_that_are_named_exist(page):
    lines = re.findall(r"nox -s ((?:[a-z]+ ?)+)", read(page))
    assert lines
    assert {name for line in lines for name in line.split()} <= sessions()


def test_hooks_run_the_programs_of_the_environment_that_the_page_makes():
    (repository,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    assert repository["repo"] == "local"
    programs = {hook["entry"].split()[0] for hook in repository["hooks"]}
    assert programs == {".venv/bin/ruff", ".venv/bin/mypy"}
    assert all(hook["language"] == "system" for hook in repository["hooks"])


def test_tests_that_the_run_names_exist():
    names = re.findall(r"[ =](tests/[\w/.]+)", read(".ci/run"))
    assert len(names) > 10
    assert [name for name in names if not (REPOSITORY / name).exists()] == []

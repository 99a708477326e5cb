"""The parts of docs/ci.md about pytest, GitHub's action, pre-commit and trackers, as they stand."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rageval_report import pytest as plugin
from rageval_report.demo import write_demo_files

# Sessions in this process forget what they import, and compiled modules load only once.
from rageval_report.pytest import rule_items

pytest_plugins = ["pytester"]

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "ci.md").read_text("utf-8")
assert {rule_items.__package__} == {plugin.__name__}


def block(name):
    return re.search(rf"<!-- {re.escape(name)} -->\n```\w+\n(.*?)```", PAGE, re.S)[1]


@pytest.fixture
def project(pytester):
    """The example data under the names of the page, and its rules."""
    write_demo_files(pytester.path)
    (pytester.path / "hybrid.csv").rename(pytester.path / "scores.csv")
    (pytester.path / "bm25.csv").rename(pytester.path / "baseline.csv")
    (pytester.path / "gates.toml").write_text(block("gates.toml"))
    return pytester


def run(project, *words):
    return project.runpytest_inprocess("-p", "no:cacheprovider", *words, plugins=[plugin])


# -- pytest


def test_the_command_and_the_tests_of_the_page_pass(project):
    project.makepyfile(test_gates=block("pytest"))
    program, *words = shlex.split(block("pytest-command"))
    assert program == "pytest"
    run(project, *words).assert_outcomes(passed=3 + 6)


# -- GitHub and pre-commit


def test_the_workflow_of_the_page_gives_the_action_what_it_takes(project):
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((REPOSITORY / "action.yml").read_text("utf-8"))
    steps = yaml.safe_load(block("action"))["jobs"]["gates"]["steps"]
    [ours] = [step for step in steps if "/rageval-report@" in step.get("uses", "")]
    assert set(ours["with"]) <= set(action["inputs"])
    required = {name for name, item in action["inputs"].items() if item.get("required")}
    assert required <= set(ours["with"])
    outputs = set(re.findall(r"steps\.gates\.outputs\.([\w-]+)", block("action")))
    assert outputs <= set(action["outputs"])
    rules = [f"--rule={line}" for line in ours["with"]["rules"].splitlines()]
    files = [f"--{name}={ours['with'][name]}" for name in ("gates", "baseline")]
    words = ["gate", *files, *rules, "--quiet", "--", ours["with"]["scores"]]
    run_command(project.path, words)


def run_command(folder, words):
    program = [sys.executable, "-m", "rageval_report", *words]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "GITHUB_STEP_SUMMARY": ""}
    done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# -- trackers


def needs(package):
    is_missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(is_missing, reason=f"{package} is not installed")


@pytest.mark.parametrize(
    "package",
    [pytest.param("mlflow", marks=needs("mlflow")), pytest.param("wandb", marks=needs("wandb"))],
)
def test_the_trackers_of_the_page_take_the_example(project, package):
    folder = project.path
    settings = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")]),
        "MLFLOW_TRACKING_URI": (folder / "store").as_uri(),
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_ALLOW_FILE_STORE": "true",
        "WANDB_SILENT": "true",
        "WANDB_ERROR_REPORTING": "false",
        **{f"WANDB_{name}": str(folder) for name in ("DIR", "DATA_DIR", "CACHE_DIR", "CONFIG_DIR")},
    }
    done = subprocess.run(
        [sys.executable, "-c", block(package)], env=settings, cwd=folder, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    if package == "wandb":
        assert len(list(folder.glob("wandb/offline-run-*/run-*.wandb"))) == 1
    else:
        assert len(list(folder.glob("store/*/*/metrics/recall_at_5/mean"))) == 1
        assert len(list(folder.glob("store/*/*/artifacts/compared/report.html"))) == 1

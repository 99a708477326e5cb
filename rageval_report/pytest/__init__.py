"""The pytest plug-in: each rule of a file of gates becomes a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rageval_report._registry import Registry, lazy_face


def is_requested(config: pytest.Config) -> bool:
    """Whether the command line asks for gates; the configuration file alone does not."""
    return bool(config.getoption("rageval") or config.getoption("rageval_gates"))


def file_named(config: pytest.Config, name: str) -> str:
    """The file of an option, or else of the configuration; empty if none is named."""
    on_command_line = config.getoption(f"rageval_{name}")
    if on_command_line:
        return str(on_command_line)
    configured = str(config.getini(f"rageval_{name}"))
    # A path in a configuration file is relative to that file, as pytest's own are.
    folder = config.rootpath if config.inipath is None else config.inipath.parent
    beside = folder / configured
    return str(beside) if configured and beside.exists() else configured


def require_file(config: pytest.Config, name: str) -> str:
    """The file of an option; without one, the test or the session fails."""
    path = file_named(config, name)
    if not path:
        raise pytest.UsageError(
            f"--rageval-{name} is missing: name a file, or set rageval_{name} in the configuration "
            "file of pytest"
        )
    return path


def gates_path(config: pytest.Config) -> Path:
    """The file of gates."""
    return config.invocation_params.dir / require_file(config, "gates")


if TYPE_CHECKING:
    from rageval_report.analysis.gates_file import Gates
    from rageval_report.evaluation import RAGPipelineEvaluation
    from rageval_report.pytest.rule_items import assert_gates as assert_gates
else:
    # Only `__getattr__`: with a `__dir__` of the public names pytest would not see the hooks.
    __getattr__, _, __all__ = lazy_face(__name__)

_HERE = "rageval_report.pytest"

# What needs pandas is loaded when it is used for the first time.
_PARTS: Registry[Callable[..., Any]] = Registry(
    "part of the pytest plug-in",
    {
        "collector": f"{_HERE}.rule_items:GatesCollector",
        "scores": f"{_HERE}.rule_items:score_files",
        "gates": f"{_HERE}.rule_items:gates_of",
    },
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, and the settings of the configuration file that give their defaults."""
    group = parser.getgroup("rageval", "gates of RAG evaluations")
    group.addoption(
        "--rageval",
        action="store_true",
        help="Collect gates: each rule of a file of gates is a test.",
    )
    for name, what in _FILES.items():
        group.addoption(f"--rageval-{name}", metavar="FILE", help=what)
        parser.addini(f"rageval_{name}", f"Default of --rageval-{name}.", default="")


_FILES = {
    "scores": "The scores to check: FILE, NAME=FILE or FILE::PIPELINE.",
    "gates": "The rules, .toml or .yaml; they are collected, as with --rageval.",
    "baseline": "The scores that they are compared with, e.g. for no_regression.",
}


def pytest_configure(config: pytest.Config) -> None:
    """Collect the rules if the command line says so."""
    if is_requested(config):
        config.pluginmanager.register(_PARTS["collector"](config), "rageval_report.pytest.gates")


@pytest.fixture(scope="session")
def rageval_evaluation(request: pytest.FixtureRequest) -> RAGPipelineEvaluation:
    """The evaluation in the file of --rageval-scores, or of rageval_scores in the configuration."""
    evaluation: RAGPipelineEvaluation = _PARTS["scores"](request.config).evaluation
    return evaluation


@pytest.fixture(scope="session")
def rageval_baseline(request: pytest.FixtureRequest) -> RAGPipelineEvaluation | None:
    """The evaluation in the file of --rageval-baseline; None if there is none."""
    baseline: RAGPipelineEvaluation | None = _PARTS["scores"](request.config).baseline
    return baseline


@pytest.fixture(scope="session")
def rageval_gates(request: pytest.FixtureRequest) -> Gates:
    """The rules and settings in the file of --rageval-gates, or of rageval_gates."""
    gates: Gates = _PARTS["gates"](gates_path(request.config))
    return gates

"""The files of the plug-in's options, read once per session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from rageval_report.analysis.gates_file import Gates, read_gates
from rageval_report.analysis.rules import IN_PYTHON
from rageval_report.cli.sources import Loading
from rageval_report.errors import RagevalError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.pytest.options import file_named, require_file

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ScoreFiles:
    """The evaluation to check, and what it is compared with."""

    evaluation: RAGPipelineEvaluation
    baseline: RAGPipelineEvaluation | None = None


_READ = pytest.StashKey[ScoreFiles]()


def score_files(config: pytest.Config) -> ScoreFiles:
    """The evaluations that the options name, read at the first call."""
    if _READ not in config.stash:
        config.stash[_READ] = failing_plainly(lambda: _read(config))
    return config.stash[_READ]


def gates_of(path: Path) -> Gates:
    """The rules and settings of a file of gates."""
    return failing_plainly(lambda: read_gates(path))


def failing_plainly(action: Callable[[], T]) -> T:
    """The result of an action; its errors about files and rules fail a test without a traceback."""
    try:
        return action()
    except (RagevalError, pytest.UsageError) as exc:
        message = str(exc).replace(IN_PYTHON, "--rageval-baseline FILE")
    pytest.fail(message, pytrace=False)  # here, so that pytest does not show the error twice


def _read(config: pytest.Config) -> ScoreFiles:
    scores, baseline = require_file(config, "scores"), file_named(config, "baseline")
    *before, evaluation = Loading().load_all([*([baseline] if baseline else []), scores])
    return ScoreFiles(evaluation, *before)

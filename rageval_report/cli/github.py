"""What GitHub Actions shows of a gate: annotations, the step's summary, an output of the step.

Nothing is written unless the environment says that this is a step of a workflow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_report.cli.notes import note

if TYPE_CHECKING:
    from rageval_report.analysis.gates.result import GateResult

MOST_ANNOTATIONS = 10  # of a kind; GitHub shows no more of one step


def tell_github(
    result: GateResult, comment: Callable[[], str], environment: Mapping[str, str] | None = None
) -> None:
    """Say in GitHub's ways what became of the gates, where this is a step of a workflow.

    Parameters
    ----------
    result : GateResult
        The gates.
    comment : callable
        It makes the Markdown of the summary, where one is asked for.
    environment : mapping of str to str, optional
        That of the process where not given: ``GITHUB_ACTIONS`` asks for annotations,
        ``GITHUB_STEP_SUMMARY`` and ``GITHUB_OUTPUT`` name files to append to.
    """
    told = os.environ if environment is None else environment
    if told.get("GITHUB_ACTIONS") == "true":
        for line in annotation_lines(result):
            click.echo(line, err=True)  # a workflow reads both streams; the result keeps its own
    if told.get("GITHUB_STEP_SUMMARY"):
        _append(told["GITHUB_STEP_SUMMARY"], comment())
    if told.get("GITHUB_OUTPUT"):
        _append(told["GITHUB_OUTPUT"], f"passed={str(result.passed).lower()}\n")


def annotation_lines(result: GateResult) -> list[str]:
    """The workflow commands: an error a rule that does not hold, a warning where it might not.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> v1 = RAGPipelineEvaluation("v1", {"query_id": ["a"], "mrr": [0.5]})
    >>> annotation_lines(v1.gate("mean(mrr) > 0.9"))[0].partition("::mean")[0]
    '::error title=mean(mrr) > 0.9'
    """
    errors = [(one.request.rule.text, one.why) for one in result.outcomes if not one.passed]
    warnings = [
        (one.request.rule.text, one.why) for one in result.outcomes if one.passed and one.straddles
    ]
    return [*_commands("error", errors), *_commands("warning", warnings)]


def _commands(kind: str, told: list[tuple[str, str]]) -> Iterable[str]:
    if len(told) > MOST_ANNOTATIONS:
        kept = told[: MOST_ANNOTATIONS - 1]
        rest = len(told) - len(kept)
        told = [*kept, (f"{rest} more gates", f"{rest} more gates: see the summary of this step")]
    return [workflow_command(kind, message, title) for title, message in told]


def workflow_command(kind: str, message: str, title: str) -> str:
    r"""One command, escaped as GitHub reads it.

    Examples
    --------
    >>> workflow_command("error", "50 % of\nall", "recall@5: low, very")
    '::error title=recall@5%3A low%2C very::50 %25 of%0Aall'
    """
    name = _escaped(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={name}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _append(path: str, text: str) -> None:
    """A summary that cannot be written is told, and changes nothing of the gate."""
    try:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as exc:
        note(f"{path} cannot be written: {exc.strerror or exc}")

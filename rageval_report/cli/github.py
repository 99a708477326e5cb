"""What GitHub Actions shows of a gate: annotations, the summary and an output of the step.

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
    from rageval_report.analysis.gate import GateResult, UndecidedPolicy

UNDECIDED = "undecided"
_OF_UNDECIDED = {"fail": "error", "warn": "warning", "pass": "notice"}
MOST_ANNOTATIONS = 10  # of each kind: GitHub shows no more for one step


def report_to_github(
    result: GateResult,
    comment: Callable[[], str],
    environment: Mapping[str, str] | None = None,
    undecided: UndecidedPolicy = "fail",
) -> None:
    """Report the outcome of gates to GitHub, if this is a step of a workflow.

    Parameters
    ----------
    result : GateResult
        The gates.
    comment : callable
        Makes the Markdown of the summary, if one is wanted.
    environment : mapping of str to str, optional
        The environment of the process if omitted: ``GITHUB_ACTIONS`` asks for annotations,
        ``GITHUB_STEP_SUMMARY`` and ``GITHUB_OUTPUT`` name files to append to.
    undecided : {"fail", "warn", "pass"}
        What undecided rules are annotated as: errors, warnings, notices.
    """
    variables = os.environ if environment is None else environment
    if variables.get("GITHUB_ACTIONS") == "true":
        for line in annotation_lines(result, undecided):
            click.echo(line, err=True)  # a workflow reads both streams; standard output is ours
    if variables.get("GITHUB_STEP_SUMMARY"):
        _append(variables["GITHUB_STEP_SUMMARY"], comment())
    if variables.get("GITHUB_OUTPUT"):
        outputs = f"passed={str(result.passed).lower()}\nstate={result.state}\n"
        _append(variables["GITHUB_OUTPUT"], outputs)


def annotation_lines(result: GateResult, undecided: UndecidedPolicy = "fail") -> list[str]:
    """The workflow commands: an error for a rule that does not hold, a warning if it might not.

    Parameters
    ----------
    result : GateResult
        The gates.
    undecided : {"fail", "warn", "pass"}
        What undecided rules are: errors, warnings or notices.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> v1 = RAGPipelineEvaluation("v1", {"query_id": ["a"], "mrr": [0.5]})
    >>> annotation_lines(v1.gate("mean(mrr) > 0.9"))[0].partition("::mean")[0]
    '::error title=mean(mrr) > 0.9'
    """
    messages: dict[str, list[tuple[str, str]]] = {
        kind: [] for kind in ("error", "warning", "notice")
    }
    for outcome in result.outcomes:
        if outcome.state == UNDECIDED:
            kind = _OF_UNDECIDED[undecided]
        elif not outcome.passed:
            kind = "error"
        elif outcome.straddles:
            kind = "warning"
        else:
            continue
        messages[kind].append((outcome.request.rule.text, outcome.why))
    return [line for kind, texts in messages.items() for line in _commands(kind, texts)]


def _commands(kind: str, messages: list[tuple[str, str]]) -> Iterable[str]:
    if len(messages) > MOST_ANNOTATIONS:
        first = messages[: MOST_ANNOTATIONS - 1]
        title = f"{len(messages) - len(first)} more gates"
        messages = [*first, (title, f"{title}: see the summary of this step")]
    return [workflow_command(kind, message, title) for title, message in messages]


def workflow_command(kind: str, message: str, title: str) -> str:
    r"""One workflow command, escaped as GitHub expects it.

    Examples
    --------
    >>> workflow_command("error", "50 % of\nall", "recall@5: low, very")
    '::error title=recall@5%3A low%2C very::50 %25 of%0Aall'
    """
    name = _escape(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={name}::{_escape(message)}"


def _escape(text: str) -> str:
    # The percent sign first, or it would escape the escapes.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _append(path: str, text: str) -> None:
    """Append to a file; if it cannot be written, a note says so, and the gate is not affected."""
    try:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as exc:
        note(f"{path} cannot be written: {exc.strerror or exc}")

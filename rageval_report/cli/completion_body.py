"""completion: the script of a shell, as click has it."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from rageval_report.cli.completion import CompletionArguments

_PROGRAM, _VARIABLE = "rageval-report", "_RAGEVAL_REPORT_COMPLETE"


def completion(options: CompletionArguments) -> None:
    """Write the script to standard output."""
    kind = get_completion_class(options.shell)
    if kind is None:  # a version of click without this shell
        raise click.UsageError(f"The installed version of click has no script for {options.shell}.")
    group = click.get_current_context().find_root().command
    # The method of the base class: that of bash also runs bash, to look at its version.
    click.echo(ShellComplete.source(kind(group, {}, _PROGRAM, _VARIABLE)))

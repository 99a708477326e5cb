"""The options of completion."""

from __future__ import annotations

import click

from rageval_report.cli.command import Command, Options, argument

SHELLS = ("bash", "zsh", "fish")


class CompletionArguments(Options):
    """Print the script that completes commands at the Tab key.

    It completes commands, options and their values, files, and the metrics of the files that are on
    the line already. For bash, add this line to ~/.bashrc, for zsh the same with zsh to ~/.zshrc:

        eval "$(rageval-report completion bash)"

    For fish, write the script to ~/.config/fish/completions/rageval-report.fish.
    """

    shell: str = argument(metavar="bash|zsh|fish", type=click.Choice(SHELLS))


completion = Command(
    CompletionArguments,
    "rageval_report.cli.completion_body:completion",
    examples=("rageval-report completion bash", "rageval-report completion fish"),
)

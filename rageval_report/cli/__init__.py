"""The command line, ``rageval-report``: results on standard output, notes on standard error.

One file holds one family of commands; each command is a function of its options that calls what a
Python user would call, and writes the result. Every option has its line in `options`. The exit code
is 0 if all went well, 1 if a gate failed, 2 if the command line or the data are wrong (one line
then says what to do), and 3 if a gate is undecided.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper

import click

from rageval_report._version import __version__
from rageval_report.cli.command import examples_text
from rageval_report.cli.group import COMMANDS, CommandLine

__all__ = ["COMMANDS", "main", "rageval_report"]


@click.command(
    cls=CommandLine,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples_text(
        "rageval-report demo",
        "rageval-report report bm25.csv",
        "rageval-report compare bm25.csv hybrid.csv",
    ),
)
@click.version_option(__version__, message="rageval-report %(version)s")
@click.pass_context
def rageval_report(context: click.Context) -> None:
    """Read the results of RAG evaluations: report, failing queries, comparison, pictures.

    A FILE holds one row per query and one column per metric: CSV, TSV, JSON, JSONL or Parquet, or
    "-" for standard input. Write NAME=FILE to name the pipeline, and FILE::PIPELINE to pick one of
    several in a file.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


def main() -> None:
    """Run the command line on the arguments of this process, and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # escape what a terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    rageval_report.main(prog_name="rageval-report")

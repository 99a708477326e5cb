"""The command line, ``rageval-report``: results on standard output, everything else beside it.

Each command is a thin layer: it loads, calls what a Python user would call, and writes. A command
more is a function and a line in `COMMANDS`. The exit code is 0 where all went well, 1 where a gate
failed, and 2 where the command line was wrong or the data bad; one line then says what to do.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper

import click

from rageval_report._version import __version__
from rageval_report.cli.group import COMMANDS, CommandLine, examples

__all__ = ["COMMANDS", "main", "rageval_report"]


@click.command(
    cls=CommandLine,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples(
        "rageval-report demo",
        "rageval-report report bm25.csv",
        "rageval-report compare bm25.csv hybrid.csv",
    ),
)
@click.version_option(__version__, message="rageval-report %(version)s")
@click.pass_context
def rageval_report(context: click.Context) -> None:
    """Read the results of RAG evaluations: report, failing queries, comparison, pictures.

    A FILE holds one row a query and one column a metric: CSV, TSV, JSON, JSONL, Parquet, gzipped or
    not, "-" for standard input. Write NAME=FILE to name the pipeline, FILE::PIPELINE to pick one of
    several in a file.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


def main() -> None:
    """Run the command line on the arguments of this process, and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what a terminal cannot show is escaped, not fatal
            stream.reconfigure(errors="backslashreplace")
    rageval_report.main(prog_name="rageval-report")

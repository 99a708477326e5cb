"""The options of export and formats."""

from __future__ import annotations

import click

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.options import (
    FileOptions,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
    SpreadsheetOption,
)

PARQUET = "parquet"
EXPORTS = ("csv", "tsv", "jsonl", "json", "markdown", "review", "review-markdown", PARQUET)


class ExportArguments(FileOptions, SpreadsheetOption, MetricsOption, LoadingOptions):
    """Write the scores of one pipeline as another kind of file.

    One of the kinds is a sheet for reviewers.
    """

    file: str = argument(metavar="FILE")
    kind: str | None = option(
        "--to",
        type=click.Choice(EXPORTS),
        help="What to write; if omitted, the suffix of -o decides, else csv. json is a run file, "
        "review a sheet with blank columns for a reviewer.",
    )


class FormatsArguments(OutputOptions):
    """List the kinds of files of scores that can be read."""


export = Command(
    ExportArguments,
    "rageval_report.cli.export_body:export",
    examples=(
        "rageval-report export promptfoo.json::gpt-4o -o gpt-4o.json",
        "rageval-report export run.csv --to review -o sheet.csv",
        "rageval-report export results.parquet --to csv > scores.csv",
    ),
)
formats = Command(
    FormatsArguments,
    "rageval_report.cli.export_body:formats",
    examples=("rageval-report formats", "rageval-report formats --format markdown"),
)

"""The options of inspect, which shows how a file is read."""

from __future__ import annotations

from rageval_report.cli.command import Command, argument
from rageval_report.cli.options import LoadingOptions, MetricsOption, OutputOptions


class InspectArguments(MetricsOption, LoadingOptions, OutputOptions):
    """Show how a file is read, column by column.

    The table has the role of each column, and why; the notes have the format and what was changed.
    Nothing is computed. Doubts come first, with the option that settles each; --role COLUMN=ROLE
    says what a column is.
    """

    files: tuple[str, ...] = argument(nargs=-1, metavar="FILE...")


inspect = Command(
    InspectArguments,
    "rageval_report.cli.inspect_body:inspect",
    examples=(
        "rageval-report inspect bm25.csv",
        "rageval-report inspect bm25.csv --role latency_ms=detail",
    ),
)

"""The options of repeats."""

from __future__ import annotations

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.options import (
    ConfidenceOption,
    CorrectOption,
    LimitOption,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
)


class RepeatsArguments(
    MetricsOption, CorrectOption, LimitOption, ConfidenceOption, LoadingOptions, OutputOptions
):
    """Show how much scores vary between runs of one pipeline.

    The files are repeated runs on the same queries, with nothing changed between them, or one
    folder of run files. The result shows the noise of each metric, how stable each query is, and
    how many repeats are worth their cost.
    """

    runs: tuple[str, ...] = argument(nargs=-1, metavar="FILE...")
    queries: bool = option("--queries", help="List how much the runs agree on each query.")
    planning: bool = option("--planning", help="Show what more runs of each query would gain.")
    tolerance: float = option(
        "--tolerance",
        default=0.05,
        metavar="SHARE",
        help="Repeats are worth their cost until the standard error is within this share of the "
        "standard error without noise.",
    )


repeats = Command(
    RepeatsArguments,
    "rageval_report.cli.repeats_body:repeats",
    examples=(
        "rageval-report repeats old.csv new.csv",
        "rageval-report repeats runs --planning --metric faithfulness",
        "rageval-report repeats old.csv new.csv --queries --correct 'faithfulness>=0.5' --limit 5",
    ),
)

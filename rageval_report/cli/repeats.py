"""The options of repeats, stability and plan-repeats."""

from __future__ import annotations

from rageval_report.cli.command import Command, Options, argument, option
from rageval_report.cli.options import (
    ConfidenceOption,
    CorrectOption,
    LimitOption,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
)


class RepeatedRunsOption(Options):
    """The runs."""

    runs: tuple[str, ...] = argument(nargs=-1, metavar="FILE...")


class RepeatsArguments(
    RepeatedRunsOption, MetricsOption, ConfidenceOption, LoadingOptions, OutputOptions
):
    """Show how much scores vary between runs of one pipeline.

    The files are repeated runs on the same queries, with nothing changed between them, or one
    folder of run files. The result shows the noise of each metric, and how many repeats are worth
    their cost.

    The commands stability and plan-repeats show how much the runs agree on each query, and what
    more runs would gain.
    """

    queries: bool = option("--queries", help="Now the command stability.", hidden=True)
    planning: bool = option("--planning", help="Now the command plan-repeats.", hidden=True)
    correct: str | None = option("--correct", help="Now an option of stability.", hidden=True)
    limit: int | None = option("--limit", help="Now an option of stability.", hidden=True)
    tolerance: float = option(
        "--tolerance",
        default=0.05,
        metavar="SHARE",
        help="Repeats are worth their cost until the standard error is within this share of the "
        "standard error without noise.",
    )


class StabilityArguments(
    RepeatedRunsOption, CorrectOption, LimitOption, LoadingOptions, OutputOptions
):
    """Show how much the runs of one pipeline agree on each query.

    The least stable query comes first: in how many runs its answer is correct, and how far its
    answers differ. The files are named as for repeats.
    """


class PlanRepeatsArguments(
    RepeatedRunsOption, MetricsOption, ConfidenceOption, LoadingOptions, OutputOptions
):
    """Show what more runs of each query would gain.

    One row per metric and number of runs, with the standard error of the mean beside that of more
    queries at the same cost. The files are named as for repeats.
    """


_BODY = "rageval_report.cli.repeats_body"

repeats = Command(
    RepeatsArguments,
    f"{_BODY}:repeats",
    examples=(
        "rageval-report repeats old.csv new.csv",
        "rageval-report repeats runs --metric faithfulness",
    ),
)
stability = Command(
    StabilityArguments,
    f"{_BODY}:stability",
    examples=(
        "rageval-report stability old.csv new.csv",
        "rageval-report stability old.csv new.csv --correct 'faithfulness>=0.5' --limit 5",
    ),
)
plan_repeats = Command(
    PlanRepeatsArguments,
    f"{_BODY}:plan_repeats",
    examples=("rageval-report plan-repeats runs --metric faithfulness",),
    name="plan-repeats",
)

"""The options of plan and audit."""

from __future__ import annotations

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.options import (
    ConfidenceOption,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
)


class PlanArguments(MetricsOption, ConfidenceOption, LoadingOptions, OutputOptions):
    """Show how many queries a difference that matters needs.

    The FILE is the baseline; several files are repeated runs of it. Without a file the plan is made
    from a published mean, or for right and wrong answers with a mean of 0.5.
    """

    files: tuple[str, ...] = argument(nargs=-1, required=False, metavar="[FILE]...")
    differences: tuple[float, ...] = option(
        "--difference",
        multiple=True,
        metavar="D",
        help="A difference that matters; 2, 5 and 10 % of the scale if omitted.",
    )
    candidate: str | None = option(
        "--candidate",
        metavar="FILE",
        help="A pilot run of the candidate: paired differences are measured, not assumed.",
    )
    mean: float | None = option("--mean", metavar="M", help="A published mean.")
    sd: float | None = option(
        "--sd", metavar="SD", help="The standard deviation of its scores; 0 and 1 if omitted."
    )
    n: int | None = option(
        "-n", "--queries", metavar="N", help="The number of queries of your set."
    )
    correlation: float | None = option(
        "--correlation",
        metavar="R",
        help="The correlation of the two pipelines' scores of a query; 0.5 if omitted.",
    )
    repeats: tuple[int, ...] = option(
        "--repeats", multiple=True, metavar="N", help="Runs of each query; several runs as FILEs."
    )
    judges: tuple[int, ...] = option(
        "--judges", multiple=True, metavar="N", help="Judges of each answer; several in the FILE."
    )
    n_tests: int | None = option(
        "--tests",
        metavar="N",
        help="The tests that are corrected together; the number of metrics if omitted.",
    )
    power: float = option(
        "--power",
        default=0.8,
        metavar="P",
        help="The probability with which the difference should be shown.",
    )
    clusters: str | None = option(
        "--clusters",
        metavar="COLUMN",
        help="Column of clusters of the FILE: queries with the same value are not independent; "
        "clusters are counted.",
    )


class AuditArguments(ConfidenceOption, OutputOptions):
    """Show what two published means on the same queries can mean.

    Only the means and the number of queries are needed. If they are shares of right answers, the
    best and the worst case of the unpublished answers are tested.
    """

    baseline_mean: float = argument(metavar="BASELINE_MEAN")
    candidate_mean: float = argument(metavar="CANDIDATE_MEAN")
    n: int = option("-n", "--queries", required=True, metavar="N", help="The number of queries.")
    sd: float | None = option(
        "--sd",
        metavar="SD",
        help="The standard deviation of a query's scores, if they are not right or wrong.",
    )
    power: float = option(
        "--power", default=0.8, metavar="P", help="For the number of queries that are needed."
    )


plan = Command(
    PlanArguments,
    "rageval_report.cli.plan_body:plan",
    examples=(
        "rageval-report plan new.csv --metric faithfulness --difference 0.05",
        "rageval-report plan old.csv --candidate new.csv --difference 0.02",
        "rageval-report plan new.csv --clusters topic --difference 0.05",
        "rageval-report plan --mean 0.85 --difference 0.05 -n 100",
    ),
)

audit = Command(
    AuditArguments,
    "rageval_report.cli.plan_body:audit",
    examples=(
        "rageval-report audit -n 10 0.70 1.00",
        "rageval-report audit -n 250 3.9 4.1 --sd 0.8",
    ),
)

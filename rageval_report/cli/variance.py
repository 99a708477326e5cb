"""The options of variance."""

from __future__ import annotations

from pathlib import Path

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.options import (
    ConfidenceOption,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
)


class VarianceArguments(MetricsOption, ConfidenceOption, LoadingOptions, OutputOptions):
    """Show the noise of a mean from queries, runs and judges.

    The files are runs of one pipeline on the same queries, or one folder of run files. Scores by
    several judges count by judge. The interval of each mean counts all sources of noise.
    """

    runs: tuple[str, ...] = argument(nargs=-1, metavar="FILE...")
    run_names: str | None = option(
        "--runs",
        metavar="NAMES",
        help="The run of each file, separated by commas, if the answers of one run were judged "
        "several times: 1,1,2,2",
    )
    judge_names: str | None = option(
        "--judges",
        metavar="NAMES",
        help="The judge of each file, separated by commas: gpt,claude,gpt,claude",
    )
    fixed: tuple[str, ...] = option(
        "--fixed",
        multiple=True,
        metavar="judge|run",
        help="The mean is about these very judges or runs; how much others would differ does "
        "not count.",
    )
    sources: bool = option("--sources", help="List each source of noise with its share.")
    planning: bool = option(
        "--planning", help="Show what makes the interval half as wide, and its cost."
    )
    answer_cost: float = option(
        "--answer-cost", default=1.0, metavar="COST", help="What one answer costs."
    )
    judgement_cost: float = option(
        "--judgement-cost",
        default=1.0,
        metavar="COST",
        help="What one judgement costs, in the same unit.",
    )
    picture: Path | None = option(
        "--plot", metavar="FILE", help="Draw the sources: .png, .svg or .pdf."
    )


variance = Command(
    VarianceArguments,
    "rageval_report.cli.variance_body:variance",
    examples=(
        "rageval-report variance old.csv new.csv",
        "rageval-report variance runs --sources --metric faithfulness",
        "rageval-report variance old.csv new.csv --planning --answer-cost 0.01 "
        "--judgement-cost 0.002",
    ),
)

"""The options of variance, noise-sources and plan-interval."""

from __future__ import annotations

from rageval_report.cli.command import Command, Options, argument, option
from rageval_report.cli.options import (
    ConfidenceOption,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
)


class NoisyRunsOptions(Options):
    """The runs, and what differs between them."""

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


class VarianceArguments(
    NoisyRunsOptions,
    MetricsOption,
    ConfidenceOption,
    LoadingOptions,
    OutputOptions,
):
    """Show the noise of a mean from queries, runs and judges.

    The files are runs of one pipeline on the same queries, or one folder of run files. Scores by
    several judges count by judge. The interval of each mean counts all sources of noise.

    The commands noise-sources and plan-interval show how large each source is, and what makes the
    interval half as wide.
    """

    sources: bool = option("--sources", help="Now the command noise-sources.", hidden=True)
    planning: bool = option("--planning", help="Now the command plan-interval.", hidden=True)
    answer_cost: float = option(
        "--answer-cost", default=1.0, help="Now an option of plan-interval.", hidden=True
    )
    judgement_cost: float = option(
        "--judgement-cost", default=1.0, help="Now an option of plan-interval.", hidden=True
    )


class NoiseSourcesArguments(
    NoisyRunsOptions,
    MetricsOption,
    ConfidenceOption,
    LoadingOptions,
    OutputOptions,
):
    """List the sources of noise of a mean: queries, runs, judges.

    Each source has its standard deviation and its share of the noise. The files are named as for
    variance.
    """


class PlanIntervalArguments(
    NoisyRunsOptions, MetricsOption, ConfidenceOption, LoadingOptions, OutputOptions
):
    """Show what halves the interval of a mean, and what it costs.

    More queries, more runs, more judges, or the cheapest of all. The files are named as for
    variance.
    """

    answer_cost: float = option(
        "--answer-cost", default=1.0, metavar="COST", help="What one answer costs."
    )
    judgement_cost: float = option(
        "--judgement-cost",
        default=1.0,
        metavar="COST",
        help="What one judgement costs, in the same unit.",
    )


_BODY = "rageval_report.cli.variance_body"

variance = Command(
    VarianceArguments,
    f"{_BODY}:variance",
    examples=(
        "rageval-report variance old.csv new.csv",
        "rageval-report variance runs --metric faithfulness",
    ),
)
noise_sources = Command(
    NoiseSourcesArguments,
    f"{_BODY}:noise_sources",
    examples=(
        "rageval-report noise-sources runs --metric faithfulness",
        "rageval-report noise-sources old.csv new.csv --judges gpt,claude --runs 1,1",
    ),
    name="noise-sources",
)
plan_interval = Command(
    PlanIntervalArguments,
    f"{_BODY}:plan_interval",
    examples=(
        "rageval-report plan-interval old.csv new.csv",
        "rageval-report plan-interval runs --answer-cost 0.01 --judgement-cost 0.002",
    ),
    name="plan-interval",
)

"""The options of regressions, improvements and outcomes, which list queries of a comparison."""

from __future__ import annotations

from rageval_report.cli.command import Command, Options, argument, option
from rageval_report.cli.options import (
    CorrectOption,
    EngineOptions,
    LimitOption,
    LoadingOptions,
    OutputOptions,
)


class PairOptions(Options):
    """A baseline and its candidates."""

    baseline: str = argument(metavar="BASELINE")
    candidates: tuple[str, ...] = argument(nargs=-1, required=False, metavar="[CANDIDATE...]")
    on: str | None = option(
        "--on",
        metavar="COLUMN",
        help="Match queries by the text in this column, such as question, if their ids differ.",
    )


class RegressionsArguments(PairOptions, LimitOption, EngineOptions, LoadingOptions, OutputOptions):
    """List the queries that got worse on a metric.

    The largest change comes first, with both answers and the reasons for the scores. If one file
    with several pipelines is given, the first is the baseline.
    """

    metric: str = option(
        "--metric",
        required=True,
        metavar="NAME",
        help="The metric, by any of its names.",
    )


class ImprovementsArguments(PairOptions, LimitOption, EngineOptions, LoadingOptions, OutputOptions):
    """List the queries that got better on a metric.

    The largest change comes first, with both answers and the reasons for the scores. If one file
    with several pipelines is given, the first is the baseline.
    """

    metric: str = option(
        "--metric",
        required=True,
        metavar="NAME",
        help="The metric, by any of its names.",
    )


class OutcomesArguments(
    PairOptions, CorrectOption, LimitOption, EngineOptions, LoadingOptions, OutputOptions
):
    """List which queries both, one or none answer correctly.

    --correct says what a correct answer is.
    """


_BODY = "rageval_report.cli.changed_body"

regressions = Command(
    RegressionsArguments,
    f"{_BODY}:regressions",
    examples=(
        "rageval-report regressions bm25.csv hybrid.csv --metric exact_match --limit 5",
        "rageval-report regressions bm25.csv hybrid.csv --metric recall@5 -o worse.csv",
    ),
)
improvements = Command(
    ImprovementsArguments,
    f"{_BODY}:improvements",
    examples=("rageval-report improvements bm25.csv hybrid.csv --metric exact_match --limit 5",),
)
outcomes = Command(
    OutcomesArguments,
    f"{_BODY}:outcomes",
    examples=(
        "rageval-report outcomes bm25.csv hybrid.csv",
        "rageval-report outcomes bm25.csv hybrid.csv --correct 'faithfulness>=0.8'",
    ),
)

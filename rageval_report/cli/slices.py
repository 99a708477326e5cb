"""The options of slices, which describes or compares groups of queries."""

from __future__ import annotations

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.compare import ComparisonOptions
from rageval_report.cli.describe import PercentilesOption
from rageval_report.cli.options import (
    CorrectOption,
    EngineOptions,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
    TestOptions,
    TriedOption,
)


class SlicesArguments(
    MetricsOption,
    PercentilesOption,
    ComparisonOptions,
    TestOptions,
    TriedOption,
    CorrectOption,
    EngineOptions,
    LoadingOptions,
    OutputOptions,
):
    """Report groups of queries, or compare pipelines in each.

    Of one pipeline, one row per metric and group. Of several, the first is the baseline, and each
    candidate is compared with it within each group: with a pooled difference, which moves small
    groups towards the whole, and a sentence where a group reverses what holds for the rest.
    """

    files: tuple[str, ...] = argument(nargs=-1, metavar="FILE...")
    by: str = option(
        "--by",
        required=True,
        metavar="COLUMN",
        help="The column of the groups, such as topic.",
    )


slices = Command(
    SlicesArguments,
    "rageval_report.cli.slices_body:slices",
    examples=(
        "rageval-report slices bm25.csv --by question_type",
        "rageval-report slices bm25.csv hybrid.csv --by question_type --metric exact_match",
        "rageval-report slices bm25.csv hybrid.csv --by domain --correction bh -o slices.html",
    ),
)

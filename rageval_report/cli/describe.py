"""The options of report, thresholds and failures, which describe one pipeline at a time."""

from __future__ import annotations

from typing import Literal

import click

from rageval_report.cli.command import Command, Options, argument, option
from rageval_report.cli.options import (
    ConfidenceOption,
    CorrectOption,
    EngineOptions,
    LimitOption,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
    PageOptions,
    QueryIdsOption,
    ResamplingOptions,
)
from rageval_report.cli.parsing import parse_numbers, parse_threshold


class NameOption(Options):
    """The name of the pipeline."""

    name: str | None = option(
        "--name", help="The name of the pipeline; if omitted, the name of the file."
    )


class PercentileMethodOption(Options):
    """The rule of percentiles."""

    method: Literal["linear", "exclusive", "upper"] | None = option(
        "--method",
        type=click.Choice(["linear", "exclusive", "upper"]),
        help="Method of the percentiles: as in NumPy, as in Python's statistics module, or as in "
        "ragbench; if omitted, that of the dialect of the file, or linear.",
    )


class PercentilesOption(Options):
    """Which percentiles."""

    percentiles: tuple[float, ...] = option(
        "--percentiles",
        parse=parse_numbers,
        default="25,50,75",
        metavar="P,P,...",
        help="Percentiles to show, from 0 to 100.",
    )


class ReportArguments(
    NameOption,
    MetricsOption,
    PercentilesOption,
    CorrectOption,
    ConfidenceOption,
    ResamplingOptions,
    EngineOptions,
    LoadingOptions,
    PageOptions,
    OutputOptions,
):
    """Describe each metric: mean, interval, quantiles.

    Several files give one report after the other, and then a comparison: the first is the baseline,
    and the others are candidates. Unscored queries are counted, never averaged.

    With -o FILE.html, one page that needs no other file: verdicts, tables, pictures, slices, and
    every query to search and filter.
    """

    files: tuple[str, ...] = argument(nargs=-1, metavar="FILE...")
    by: str | None = option(
        "--by",
        metavar="COLUMN",
        help="The column of the slices of the page; the command slices writes their table.",
    )
    interval: str = option(
        "--interval",
        default="auto",
        metavar="METHOD",
        help='Method of the interval of a mean: "auto" depends on the kind of metric; t, '
        "percentile, bca, studentised, wilson, ...",
    )
    clusters: str | None = option(
        "--clusters",
        metavar="COLUMN",
        help="Column of clusters: queries with the same value are not independent.",
    )


class ThresholdsArguments(
    NameOption,
    MetricsOption,
    PercentilesOption,
    PercentileMethodOption,
    EngineOptions,
    LoadingOptions,
    OutputOptions,
):
    """Find the percentiles and the mean of each metric."""

    file: str = argument(metavar="FILE")


class FailuresArguments(
    NameOption,
    PercentileMethodOption,
    QueryIdsOption,
    LimitOption,
    EngineOptions,
    LoadingOptions,
    OutputOptions,
):
    """List the queries beyond a threshold, worst first.

    The list has texts and reasons; the direction of the metric decides which side is wrong.
    Unscored queries are counted, not listed.
    """

    file: str = argument(metavar="FILE")
    metric: str = option(
        "--metric",
        required=True,
        metavar="NAME",
        help="The metric, by any of its names.",
    )
    threshold: float | str = option(
        "--threshold",
        parse=parse_threshold,
        required=True,
        metavar="T",
        help='A number, a percentile such as "p25", "median" or "mean".',
    )


report = Command(
    ReportArguments,
    "rageval_report.cli.describe_body:report",
    examples=(
        "rageval-report report bm25.csv",
        "rageval-report report bm25.csv hybrid.csv --metric faithfulness --format markdown",
        "rageval-report report bm25.csv hybrid.csv -o report.html",
        "rageval-report report bm25.csv -o by_type.html --by question_type",
        "rageval-report report - --name nightly --format json < bm25.csv",
    ),
)
thresholds = Command(
    ThresholdsArguments,
    "rageval_report.cli.describe_body:thresholds",
    examples=(
        "rageval-report thresholds bm25.csv",
        "rageval-report thresholds bm25.csv --percentiles 5,10,25 --metric faithfulness",
    ),
)
failures = Command(
    FailuresArguments,
    "rageval_report.cli.describe_body:failures",
    examples=(
        "rageval-report failures bm25.csv --metric faithfulness --threshold 0.5",
        "rageval-report failures bm25.csv --metric latency_ms --threshold p95 --limit 5",
        "rageval-report failures bm25.csv --metric mrr --threshold mean -o failures.csv",
        "rageval-report failures bm25.csv --metric faithfulness --threshold 0.5 --query q003",
    ),
)

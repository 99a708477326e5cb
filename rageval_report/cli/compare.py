"""The options of compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rageval_report.cli.command import Command, Options, argument, option
from rageval_report.cli.options import (
    CorrectOption,
    EngineOptions,
    LimitOption,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
    PageOptions,
    TestOptions,
    TriedOption,
)
from rageval_report.cli.parsing import parse_margin

if TYPE_CHECKING:
    from rageval_report.stats.equivalence import MarginMethod


class ComparisonOptions(Options):
    """How pipelines are compared, beside the test."""

    interval: str = option(
        "--interval",
        default="auto",
        metavar="METHOD",
        help='Method of the intervals: "auto" is the one that belongs to the test; t, percentile, '
        "bca, ...",
    )
    clusters: str | None = option(
        "--clusters",
        metavar="COLUMN",
        help="Column of clusters: queries with the same value are not independent.",
    )
    margin: float | dict[str, float] | None = option(
        "--margin",
        parse=parse_margin,
        metavar="D",
        help="A difference too small to matter, for a test of equivalence: a number for all "
        "metrics, or NAME=D,NAME=D.",
    )
    margin_method: MarginMethod = option(
        "--margin-method",
        type=click.Choice(["auto", "t", "strict"]),
        default="auto",
        help="Method of the test against --margin: strict also counts losses that are too rare to "
        "be among the queries, and needs the bounds of the metrics.",
    )


class CompareArguments(
    MetricsOption,
    ComparisonOptions,
    TestOptions,
    TriedOption,
    CorrectOption,
    LimitOption,
    EngineOptions,
    LoadingOptions,
    PageOptions,
    OutputOptions,
):
    """Compare candidates with a baseline, query by query.

    One sentence per metric says what the data show, and how certain it is; the table has the
    numbers. In a terminal the intervals are drawn beside them, and the last lines are the commands
    to run next. The commands regressions, improvements, outcomes, slices and pareto show what is
    behind it.

    With -o FILE.html, one page that needs no other file: verdicts, tables, pictures, slices, and
    every query to search and filter; with --format html, only the table.

    Pipelines are named after their files, or as NAME=FILE says. If one file with several
    pipelines is given, the first is the baseline; FILE::PIPELINE chooses another.
    """

    baseline: str = argument(metavar="BASELINE")
    candidates: tuple[str, ...] = argument(nargs=-1, required=False, metavar="[CANDIDATE...]")
    by: str | None = option("--by", metavar="COLUMN", help="Now the command slices.", hidden=True)
    regressions: str | None = option(
        "--regressions", metavar="METRIC", help="Now the command regressions.", hidden=True
    )
    improvements: str | None = option(
        "--improvements", metavar="METRIC", help="Now the command improvements.", hidden=True
    )
    outcomes: bool = option("--outcomes", help="Now the command outcomes.", hidden=True)
    pareto: bool = option("--pareto", help="Now the command pareto.", hidden=True)
    draws: bool | None = option(
        "--plot/--no-plot",
        default=None,
        help="Draw the intervals beside the numbers, and say what to do next; if omitted, where a "
        "person reads the table in a terminal that is wide enough.",
    )


compare = Command(
    CompareArguments,
    "rageval_report.cli.compare_body:compare",
    examples=(
        "rageval-report compare bm25.csv hybrid.csv",
        "rageval-report compare bm25.csv hybrid.csv -o comparison.html",
        "rageval-report compare old=bm25.csv new=hybrid.csv --metric recall@5 --margin 0.02",
        "rageval-report compare bm25.csv hybrid.csv --metric recall@5 --margin 0.1 "
        "--margin-method strict",
        "rageval-report compare bm25.csv hybrid.csv --metric exact_match --correction bh",
        "rageval-report compare bm25.csv hybrid.csv --tried 20",
        "rageval-report compare bm25.run dense.run --qrels qrels.txt --metric ndcg@10",
        "rageval-report compare 'bm25/*.parquet' 'hybrid/*.parquet' --engine duckdb",
        "rageval-report compare promptfoo.json",
    ),
)

"""The options of gate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.options import (
    CorrectOption,
    EngineOptions,
    LoadingOptions,
    OutputOptions,
)

if TYPE_CHECKING:
    from rageval_report.analysis.gate import UndecidedPolicy
    from rageval_report.analysis.gate_figures import GateMissing
    from rageval_report.stats.equivalence import MarginMethod


class GateArguments(CorrectOption, EngineOptions, LoadingOptions, OutputOptions):
    """Check a pipeline against rules; exit code 1 if one fails.

    The exit code is 3 if none fails, but the queries are too few to tell whether one holds.

    A rule is a figure, an operator, a number. Figures: mean, median, p95 (any percentile), min,
    max, std, n, unscored, share_below(METRIC, T), share_above(METRIC, T), correct; ci_low and
    ci_high of a mean or of any of these. Against a baseline: no_regression(METRIC, margin=M),
    difference, pvalue, pvalue_adjusted, wins, losses, ties. Operators: >= > <= < ==.

    In a GitHub workflow, it also writes annotations and the summary of the step.
    """

    file: str = argument(metavar="FILE")
    rules: tuple[str, ...] = option(
        "--rule",
        multiple=True,
        metavar="RULE",
        help="A rule such as 'mean(faithfulness) >= 0.8'; may be repeated.",
    )
    gates_file: str | None = option(
        "--gates",
        metavar="FILE",
        help="Rules and settings in a file, .toml or .yaml; options of the command line override "
        "them.",
    )
    baseline: str | None = option(
        "--baseline",
        metavar="FILE",
        help="The scores that FILE is compared with: for no_regression, difference, pvalue, wins, "
        "losses, ties.",
    )
    junit: Path | None = option("--junit", metavar="FILE", help="Also write JUnit XML to a file.")
    comment: Path | None = option(
        "--comment",
        metavar="FILE",
        help="Also write Markdown for a pull request, with the queries to look at.",
    )
    undecided: UndecidedPolicy = option(
        "--undecided",
        type=click.Choice(["fail", "warn", "pass"]),
        default="fail",
        help="What to do if there are not enough queries to tell whether a rule holds: exit code 3 "
        "(fail), or 0 (warn, pass).",
    )
    missing: GateMissing | None = option(
        "--missing",
        type=click.Choice(["drop", "worst"]),
        help="How to treat unscored queries: leave them out (the default), or give them the worst "
        "possible score.",
    )
    confidence_level: float | None = option(
        "--confidence-level",
        metavar="LEVEL",
        help="Confidence level of the intervals; 1 - LEVEL is the error rate of no_regression. "
        "0.95 if omitted.",
    )
    clusters: str | None = option(
        "--clusters",
        metavar="COLUMN",
        help="Column of clusters: queries with the same value are not independent.",
    )
    margin_method: MarginMethod | None = option(
        "--margin-method",
        type=click.Choice(["auto", "t", "strict"]),
        help="Method of no_regression: strict also counts losses that are too rare to be among the "
        "queries, and needs the bounds of the metric.",
    )
    n_resamples: int | None = option(
        "--n-resamples",
        metavar="N",
        help="Number of resamples, for intervals that resample; 9999 if omitted.",
    )
    seed: int | None = option("--seed", help="Seed of the random numbers; 0 if omitted.")
    verbose: bool = option(
        "--verbose", help="Print a sentence per rule, all notes and the settings, too."
    )


gate = Command(
    GateArguments,
    "rageval_report.cli.gate_body:gate",
    examples=(
        "rageval-report gate hybrid.csv --rule 'ci_low(recall@5) >= 0.7'",
        "rageval-report gate hybrid.csv --rule 'unscored(faithfulness) <= 10%' "
        "--rule 'p95(latency_ms) <= 3000'",
        "rageval-report gate hybrid.csv --gates gates.toml --junit gates.xml --comment gates.md",
        "rageval-report gate dense.run --qrels qrels.txt --rule 'mean(ndcg@10) >= 0.4'",
        "rageval-report gate hybrid.csv --baseline bm25.csv "
        "--rule 'no_regression(faithfulness, margin=0.02)'",
        "rageval-report gate hybrid.csv --baseline bm25.csv --margin-method strict "
        "--rule 'no_regression(faithfulness, margin=0.1)'",
    ),
)

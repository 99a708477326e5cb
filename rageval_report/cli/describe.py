"""The commands that read one pipeline at a time: report, thresholds, failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rageval_report.cli.group import examples
from rageval_report.cli.options import (
    confidence_option,
    correct_option,
    drawn_options,
    limit_option,
    loading_options,
    metric_option,
    output_options,
)
from rageval_report.cli.output import Output
from rageval_report.cli.rules import numbers_of, parsed, threshold_of
from rageval_report.cli.sources import Loading

if TYPE_CHECKING:
    from rageval_report import RAGPipelineEvaluation
    from rageval_report.results import Result

_file = click.argument("file", metavar="FILE")
_name = click.option("--name", help="What to call the pipeline; as its file where not given.")
_percentiles = click.option(
    "--percentiles",
    callback=parsed(numbers_of),
    default="25,50,75",
    show_default=True,
    metavar="P,P,...",
    help="0 to 100.",
)


@click.command(
    epilog=examples(
        "rageval-report report bm25.csv",
        "rageval-report report bm25.csv hybrid.csv --metric faithfulness --format markdown",
        "rageval-report report bm25.csv --by question_type -o by_type.html",
        "rageval-report report - --name nightly --format json < bm25.csv",
    )
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_name
@metric_option
@click.option("--by", metavar="COLUMN", help="Report by group of this column instead.")
@_percentiles
@click.option(
    "--interval",
    default="auto",
    show_default=True,
    metavar="METHOD",
    help='How the interval of a mean is made: "auto" goes by the kind of metric; t, percentile, '
    "bca, studentised, wilson, ...",
)
@correct_option
@confidence_option
@drawn_options
@loading_options
@output_options
def report(
    files: tuple[str, ...],
    name: str | None,
    metrics: tuple[str, ...],
    by: str | None,
    loading: Loading,
    output: Output,
    **settings: Any,
) -> None:
    """Describe each metric: mean, interval, quantiles.

    With several files, one report after the other. Unscored queries are counted, never averaged.
    """
    if name is not None and len(files) > 1:
        raise click.UsageError("--name is for one file; write NAME=FILE for several.")
    evaluations = loading.load_all(files, metrics, name=name)
    chosen = {**settings, "metrics": metrics or None}
    output.write({one.name: _report(one, by, chosen) for one in evaluations})


def _report(evaluation: RAGPipelineEvaluation, by: str | None, settings: dict[str, Any]) -> Result:
    if by is None:
        return evaluation.evaluation_report(**settings)
    return evaluation.slices(by, **settings).with_notes(*evaluation.notes)


@click.command(
    epilog=examples(
        "rageval-report thresholds bm25.csv",
        "rageval-report thresholds bm25.csv --percentiles 5,10,25 --metric faithfulness",
    )
)
@_file
@_name
@metric_option
@_percentiles
@click.option(
    "--method",
    type=click.Choice(["linear", "exclusive"]),
    default="linear",
    show_default=True,
    help="As in NumPy, or as in Python's statistics module.",
)
@loading_options
@output_options
def thresholds(
    file: str,
    name: str | None,
    metrics: tuple[str, ...],
    percentiles: tuple[float, ...],
    method: str,
    loading: Loading,
    output: Output,
) -> None:
    """Find percentiles and mean of each metric."""
    [evaluation] = loading.load_all([file], metrics, name=name)
    found = evaluation.find_thresholds(metrics or None, percentiles, method)
    output.write({evaluation.name: found.with_notes(*evaluation.notes)})


@click.command(
    epilog=examples(
        "rageval-report failures bm25.csv --metric faithfulness --threshold 0.5",
        "rageval-report failures bm25.csv --metric latency_ms --threshold p95 --limit 5",
        "rageval-report failures bm25.csv --metric mrr --threshold mean -o failures.csv",
    )
)
@_file
@_name
@click.option("--metric", required=True, metavar="NAME", help="By any of its names.")
@click.option(
    "--threshold",
    callback=parsed(threshold_of),
    required=True,
    metavar="T",
    help='A number, a percentile as "p25", "median" or "mean".',
)
@limit_option
@loading_options
@output_options
def failures(
    file: str,
    name: str | None,
    metric: str,
    threshold: float | str,
    limit: int | None,
    loading: Loading,
    output: Output,
) -> None:
    """List the queries beyond a threshold, worst first.

    With texts and reasons; the metric's direction says which side is wrong. Unscored queries are
    counted, not listed.
    """
    [evaluation] = loading.load_all([file], name=name)
    found = evaluation.failures(metric, threshold).with_notes(*evaluation.notes)
    output.write({evaluation.name: output.shown(found, limit)})

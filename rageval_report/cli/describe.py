"""The commands that read one pipeline at a time: report, thresholds, failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import rageval_report
from rageval_report.cli.group import examples
from rageval_report.cli.notes import note
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
from rageval_report.files.writing import write_atomically

if TYPE_CHECKING:
    from rageval_report import RAGPipelineEvaluation
    from rageval_report.results import Result

_PAGES = (".html", ".htm")  # as files; on standard output HTML is the tables alone

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
        "rageval-report report bm25.csv hybrid.csv -o report.html",
        "rageval-report report bm25.csv --by question_type -o by_type.html",
        "rageval-report report - --name nightly --format json < bm25.csv",
    )
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_name
@metric_option
@click.option(
    "--by",
    metavar="COLUMN",
    help="Report by group of this column instead; in a page, the column of the slices.",
)
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
@click.option("--no-pictures", is_flag=True, help="A page without pictures.")
@click.option(
    "--longest-text",
    type=click.IntRange(min=1),
    metavar="N",
    help="Cut longer texts of a page; all is kept where not given.",
)
@loading_options
@output_options
def report(
    files: tuple[str, ...],
    name: str | None,
    metrics: tuple[str, ...],
    by: str | None,
    no_pictures: bool,
    longest_text: int | None,
    loading: Loading,
    output: Output,
    **settings: Any,
) -> None:
    """Describe each metric: mean, interval, quantiles.

    With several files, one report after the other. Unscored queries are counted, never averaged.

    With -o FILE.html, one page that needs no other file: verdicts, tables, pictures, slices, and
    every query to search and filter. Of several files the first is the baseline, the others are
    candidates.
    """
    if name is not None and len(files) > 1:
        raise click.UsageError("--name is for one file; write NAME=FILE for several.")
    is_page = output.path is not None and output.kind in _PAGES
    if (no_pictures or longest_text) and not is_page:
        raise click.UsageError("--no-pictures and --longest-text are for a page: -o FILE.html.")
    evaluations = loading.load_every(files, metrics, name=name)
    chosen = {**settings, "metrics": metrics or None}
    if output.path is not None and is_page:
        whole = {"by": by, "pictures": not no_pictures, "longest_text": longest_text}
        write_atomically(output.path, _page(evaluations, whole, chosen))
        note(f"wrote {output.path}")
        return
    output.write({one.name: _report(one, by, chosen) for one in evaluations})


def _page(
    evaluations: list[RAGPipelineEvaluation], whole: dict[str, Any], settings: dict[str, Any]
) -> str:
    """The report file of one pipeline, or of candidates beside the first."""
    baseline, *candidates = evaluations
    if not candidates:
        return str(baseline.report(**whole, **settings).to_html())
    paired = {name: settings.pop(name) for name in ("metrics", "confidence_level")}
    drawn = {name: settings[name] for name in ("n_resamples", "seed")}
    comparison = rageval_report.compare(baseline, *candidates, **paired, **drawn)
    return str(comparison.report(**whole, **settings).to_html())


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

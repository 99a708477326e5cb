"""report, thresholds and failures: what the scores of one pipeline look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import rageval_report
from rageval_report.cli.describe import FailuresArguments, ReportArguments, ThresholdsArguments
from rageval_report.cli.output import Output, write_text
from rageval_report.cli.sources import Loading, read_query_ids

if TYPE_CHECKING:
    from rageval_report.evaluation import RAGPipelineEvaluation
    from rageval_report.reports.report import Report
    from rageval_report.results import Result


def report(options: ReportArguments) -> None:
    """Write the report of each pipeline, or one page of all of them."""
    output = Output.of(options)
    if options.name is not None and len(options.files) > 1:
        raise click.UsageError("--name is for one file; write NAME=FILE for several.")
    # On standard output, HTML is only the tables.
    is_page = output.path is not None and output.renderer.name == "html"
    if (options.no_pictures or options.longest_text) and not is_page:
        raise click.UsageError("--no-pictures and --longest-text are for a page: -o FILE.html.")
    evaluations = Loading.of(options).load_every(options.files, options.metrics, name=options.name)
    if is_page:
        write_text(_page(evaluations, options), output.path)
        return
    output.write({evaluation.name: _report(evaluation, options) for evaluation in evaluations})


def _page(evaluations: list[RAGPipelineEvaluation], options: ReportArguments) -> str:
    """The report file of one pipeline, or of the first pipeline and its candidates."""
    baseline, *candidates = evaluations
    if not candidates:
        page: Report = baseline.report(
            by=options.by,
            pictures=not options.no_pictures,
            longest_text=options.longest_text,
            metrics=options.metrics or None,
            percentiles=options.percentiles,
            interval=options.interval,
            confidence_level=options.confidence_level,
            n_resamples=options.n_resamples,
            seed=options.seed,
            clusters=options.clusters,
        )
        return page.to_html()
    # Loaded here: the report of one pipeline needs neither tests nor pictures.
    comparison = rageval_report.compare(
        baseline,
        *candidates,
        metrics=options.metrics or None,
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples,
        seed=options.seed,
        clusters=options.clusters,
    )
    page = comparison.report(
        by=options.by,
        pictures=not options.no_pictures,
        longest_text=options.longest_text,
        percentiles=options.percentiles,
        interval=options.interval,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )
    return page.to_html()


def _report(evaluation: RAGPipelineEvaluation, options: ReportArguments) -> Result:
    if options.by is None:
        return evaluation.evaluation_report(
            metrics=options.metrics or None,
            percentiles=options.percentiles,
            interval=options.interval,
            confidence_level=options.confidence_level,
            n_resamples=options.n_resamples,
            seed=options.seed,
            clusters=options.clusters,
        )
    return evaluation.slices(
        options.by,
        metrics=options.metrics or None,
        percentiles=options.percentiles,
        interval=options.interval,
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples,
        seed=options.seed,
        clusters=options.clusters,
    ).with_notes(*evaluation.notes)


def thresholds(options: ThresholdsArguments) -> None:
    """Write the percentiles and the mean of each metric."""
    output = Output.of(options)
    [evaluation] = Loading.of(options).load_all([options.file], options.metrics, name=options.name)
    table = evaluation.find_thresholds(options.metrics or None, options.percentiles, options.method)
    output.write({evaluation.name: table.with_notes(*evaluation.notes)})


def failures(options: FailuresArguments) -> None:
    """Write the queries on the wrong side of the threshold."""
    output = Output.of(options)
    loading = Loading.of(options, [options.metric])
    [evaluation] = loading.load_all([options.file], name=options.name)
    ids = read_query_ids(options.query_ids, options.query_file)
    listed = evaluation.failures(
        options.metric, options.threshold, method=options.method, query_ids=ids or None
    )
    queries = listed.with_notes(*evaluation.notes)
    output.write({evaluation.name: output.limit_rows(queries, options.limit)})

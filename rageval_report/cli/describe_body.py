"""report, thresholds and failures: what the scores of one pipeline look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import rageval_report
from rageval_report.cli.describe import FailuresArguments, ReportArguments, ThresholdsArguments
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output
from rageval_report.cli.pages import goes_to_page, write_page
from rageval_report.cli.sources import Loading, read_query_ids
from rageval_report.errors import AlignmentError

if TYPE_CHECKING:
    from rageval_report.analysis.comparing.comparison import Comparison
    from rageval_report.evaluation import RAGPipelineEvaluation
    from rageval_report.reports.report import Report
    from rageval_report.results import Result


def report(options: ReportArguments) -> None:
    """Write the report of each pipeline and their comparison, or one page of all of them."""
    output = Output.of(options)
    if options.name is not None and len(options.files) > 1:
        raise click.UsageError("--name is for one file; write NAME=FILE for several.")
    is_page = goes_to_page(options, output)
    evaluations = Loading.of(options).load_every(options.files, options.metrics, name=options.name)
    if is_page:
        _write_page(evaluations, options, output)
        return
    results = {evaluation.name: _report(evaluation, options) for evaluation in evaluations}
    if len(evaluations) > 1 and not output.renderer.for_programs:
        results |= _comparison_result(evaluations, options)
    output.write(results)


def _write_page(
    evaluations: list[RAGPipelineEvaluation], options: ReportArguments, output: Output
) -> None:
    """Write the page of one pipeline, or of the first pipeline and its candidates."""
    if len(evaluations) == 1:
        page: Report = evaluations[0].report(
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
        write_page(page, output, evaluations[0].notes)
        return
    comparison = _compare(evaluations, options)
    page = comparison.report(
        by=options.by,
        pictures=not options.no_pictures,
        longest_text=options.longest_text,
        percentiles=options.percentiles,
        interval=options.interval,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )
    write_page(page, output, comparison.notes)


def _compare(evaluations: list[RAGPipelineEvaluation], options: ReportArguments) -> Comparison:
    return rageval_report.compare(
        *evaluations,
        metrics=options.metrics or None,
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples,
        seed=options.seed,
        clusters=options.clusters,
    )


def _comparison_result(
    evaluations: list[RAGPipelineEvaluation], options: ReportArguments
) -> dict[str, Result]:
    """The comparison of the pipelines, by its title; none, with a note, if they share no query."""
    try:
        comparison = _compare(evaluations, options)
        result = comparison if options.by is None else comparison.slices(options.by)
    except AlignmentError as exc:
        note(f"the pipelines are not compared: {exc}")
        return {}
    return {result.title: result}


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

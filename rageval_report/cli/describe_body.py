"""report, thresholds and failures: what the scores of one pipeline look like."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import click

import rageval_report
from rageval_report.cli.describe import FailuresArguments, ReportArguments, ThresholdsArguments
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output
from rageval_report.cli.pages import goes_to_page, write_page
from rageval_report.cli.rank_body import write_lead
from rageval_report.cli.scans import ScanLoading, check_list_file, split_list_file
from rageval_report.cli.sources import Loading, read_query_ids
from rageval_report.errors import AlignmentError
from rageval_report.evaluation import RAGPipelineEvaluation

if TYPE_CHECKING:
    from rageval_report.analysis.arguments import MeanKeywords
    from rageval_report.analysis.compare import Comparison
    from rageval_report.reports.report import Report
    from rageval_report.results import Result
    from rageval_report.scale.scan import EvaluationScan


Runs: TypeAlias = "list[RAGPipelineEvaluation] | list[EvaluationScan]"

# Of scans, for programs, which get all rows of tables in memory.
_MOST_WORST = 1000


def report(options: ReportArguments) -> None:
    """Write the report of each pipeline and their comparison, or one page of all of them."""
    output = Output.of(options)
    if options.name is not None and len(options.files) > 1:
        raise click.UsageError("--name is for one file; write NAME=FILE for several.")
    is_page = goes_to_page(options, output)
    loading = Loading.of(options)
    scans = ScanLoading(options, loading).open(options.files, options.metrics, name=options.name)
    evaluations: Runs = scans or loading.load_every(
        options.files, options.metrics, name=options.name
    )
    if options.by is not None and not is_page:
        note("report --by without a page is now the command slices")
    if is_page:
        _write_page(evaluations, options, output)
        return
    if options.by is None:
        write_lead(
            evaluations,
            output,
            {
                "metrics": options.metrics or None,
                "confidence_level": options.confidence_level,
                "clusters": options.clusters,
                "n_resamples": options.n_resamples,
                "seed": options.seed,
            },
        )
    results = {evaluation.name: _report(evaluation, options) for evaluation in evaluations}
    if len(evaluations) > 1 and not output.renderer.for_programs:
        results |= _comparison_result(evaluations, options)
    output.write(results)


def _write_page(evaluations: Runs, options: ReportArguments, output: Output) -> None:
    """Write the page of one pipeline, or of the first pipeline and its candidates."""
    if len(evaluations) == 1:
        page: Report = evaluations[0].report(
            by=options.by,
            pictures=not options.no_pictures,
            longest_text=options.longest_text,
            metrics=options.metrics or None,
            confidence_level=options.confidence_level,
            percentiles=options.percentiles,
            interval=options.interval,
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


def _compare(evaluations: Runs, options: ReportArguments) -> Comparison:
    return rageval_report.compare(
        *evaluations,
        metrics=options.metrics or None,
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples,
        seed=options.seed,
        clusters=options.clusters,
    )


def _comparison_result(evaluations: Runs, options: ReportArguments) -> dict[str, Result]:
    """The comparison of the pipelines, by its title; none, with a note, if they share no query."""
    try:
        comparison = _compare(evaluations, options)
        result = comparison if options.by is None else comparison.slices(options.by)
    except AlignmentError as exc:
        note(f"the pipelines are not compared: {exc}")
        return {}
    return {result.title: result}


def _report(run: RAGPipelineEvaluation | EvaluationScan, options: ReportArguments) -> Result:
    settings: MeanKeywords = {
        "percentiles": options.percentiles,
        "interval": options.interval,
        "confidence_level": options.confidence_level,
        "n_resamples": options.n_resamples,
        "seed": options.seed,
    }
    metrics = options.metrics or None
    if options.by is not None:
        groups = run.slices(options.by, metrics=metrics, clusters=options.clusters, **settings)
        return groups.with_notes(*run.notes)
    return run.evaluation_report(metrics=metrics, clusters=options.clusters, **settings)


def thresholds(options: ThresholdsArguments) -> None:
    """Write the percentiles and the mean of each metric."""
    output = Output.of(options)
    loading, files = Loading.of(options), [options.file]
    scans = ScanLoading(options, loading).open(files, options.metrics, name=options.name)
    evaluations: Runs = scans or loading.load_all(files, options.metrics, name=options.name)
    [evaluation] = evaluations
    table = evaluation.find_thresholds(options.metrics or None, options.percentiles, options.method)
    output.write({evaluation.name: table.with_notes(*evaluation.notes)})


def failures(options: FailuresArguments) -> None:
    """Write the queries on the wrong side of the threshold."""
    options, list_file = split_list_file(options)
    output = Output.of(options)
    loading = Loading.of(options, [options.metric])
    scans = ScanLoading(options, loading).open([options.file], name=options.name)
    ids = read_query_ids(options.query_ids, options.query_file)
    check_list_file(list_file, is_scanned=bool(scans))
    if scans:
        [scan] = scans
        worst = scan.failures(
            options.metric,
            options.threshold,
            k=output.most_rows(options.limit) or _MOST_WORST,
            method=options.method,
            query_ids=ids or None,
            path=list_file,
        )
        output.write({scan.name: worst.with_notes(*scan.notes)})
        return
    [evaluation] = loading.load_all([options.file], name=options.name)
    listed = evaluation.failures(
        options.metric, options.threshold, method=options.method, query_ids=ids or None
    )
    queries = listed.with_notes(*evaluation.notes)
    output.write({evaluation.name: output.limit_rows(queries, options.limit)})

"""calibrate: the scores of a judge beside the labels of people."""

from __future__ import annotations

from dataclasses import replace

import click

from rageval_report.analysis.agreement import calibration as agreement
from rageval_report.cli.calibrate import CalibrateArguments
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output, check_files, write_picture
from rageval_report.cli.sources import Loading, PipelineSource, parse_source, parse_sources
from rageval_report.plots import save_plot
from rageval_report.results import Result
from rageval_report.stats import JudgeErrors


def calibrate(options: CalibrateArguments) -> None:
    """Calibrate the judge, and write the view that was chosen."""
    output = Output.of(options)
    views = [
        *(options.confusion, options.disagreements, options.planning),
        options.to_label is not None,
    ]
    if sum(views) + (options.against is not None) > 1:
        raise click.UsageError(
            "Choose one of --confusion, --disagreements, --planning, --to-label and --against."
        )
    if options.against is None and (options.against_people or options.against_labels):
        raise click.UsageError("--against-people and --against-label belong to --against.")
    check_files(options.picture, force=options.force)
    against = [] if options.against is None else [options.against]
    source, *other_source = parse_sources([options.judged, *against])
    calibration = _calibration(options, source, options.people, options.labels)
    if other_source:
        other = _calibration(
            options,
            other_source[0],
            options.against_people or options.people,
            options.against_labels or options.labels,
        )
        difference = calibration.difference(other)
        results = {difference.title: difference}
    else:
        results = _results(calibration, options, output)
    output.write(results, "table")
    if options.picture is not None:
        write_picture(options.picture, lambda path: save_plot(calibration, "agreement", path))
        note(f"wrote {options.picture}")


def _calibration(
    options: CalibrateArguments, source: PipelineSource, people: str, labels: tuple[str, ...]
) -> agreement.Calibration:
    """The scores of one pipeline beside its labels, with notes on what was guessed in reading."""
    loading = Loading.of(options)
    evaluation = loading.load(source, (options.metric,))
    # The reader and what is known of the metric concern the judge's file, not that of the labels.
    rated = replace(loading, reader=None, overrides={}).load(parse_source(people), labels)
    calibration = agreement.calibrate(
        evaluation,
        options.metric,
        rated,
        labels or None,
        scale=options.scale,
        threshold=options.threshold,
        categories=options.categories,
        label_bounds=options.label_bounds,
        strata=options.strata,
        errors=None if options.errors is None else JudgeErrors(*options.errors),
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )
    notes = [f"labels: {message}" for message in rated.notes]
    return calibration.with_notes(*evaluation.notes, *notes)


def _results(
    calibration: agreement.Calibration, options: CalibrateArguments, output: Output
) -> dict[str, Result]:
    """The view that was chosen; else the calibration, for people with the confusion matrix."""
    if options.disagreements:
        disagreements = calibration.disagreements()
        return {disagreements.title: output.limit_rows(disagreements, options.limit)}
    if options.to_label is not None:
        strata = options.strata or "judge"
        queries = calibration.to_label(options.to_label, strata=strata, seed=options.seed)
        return {queries.title: queries}
    if options.confusion or options.planning:
        table = calibration.confusion() if options.confusion else calibration.planning()
        return {table.title: table}
    results: dict[str, Result] = {calibration.title: calibration}
    if not output.renderer.for_programs and calibration.scale.kind != "continuous":
        matrix = calibration.confusion()
        results[matrix.title] = matrix
    return results

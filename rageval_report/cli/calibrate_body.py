"""calibrate and its parts: the scores of a judge beside the labels of people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import click

from rageval_report.analysis.calibrate import Calibration
from rageval_report.analysis.calibrate import calibrate as calibrate_judge
from rageval_report.cli.calibrate import (
    CalibrateArguments,
    CalibrationOptions,
    CompareJudgedArguments,
    ConfusionArguments,
    DisagreementsArguments,
    NextLabelsArguments,
    PlanLabelsArguments,
)
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output, check_files, write_picture
from rageval_report.cli.sources import Loading, PipelineSource, parse_source, parse_sources
from rageval_report.plots import save_plot
from rageval_report.results import Result
from rageval_report.stats.prediction_powered import JudgeErrors


def calibrate(options: CalibrateArguments) -> None:
    """Calibrate the judge, and write the view that was chosen."""
    output = Output.of(options)
    chosen = [earlier for earlier in _EARLIER_OPTIONS if earlier.is_chosen(options)]
    if len(chosen) + (options.against is not None) > 1:
        raise click.UsageError(
            "Choose one of the commands confusion, disagreements, plan-labels, next-labels and "
            "compare-judged."
        )
    if options.against is None and (options.against_people or options.against_labels):
        raise click.UsageError("--against-people and --against-label belong to --against.")
    check_files(options.picture, force=options.force)
    if options.against is not None:
        note("calibrate --against is now the command compare-judged")
        calibration, difference = _difference(
            options, options.against, options.against_people, options.against_labels
        )
        results: dict[str, Result] = {difference.title: difference}
    else:
        calibration = _calibration_of(options)
        results = _results(calibration, options, chosen, output)
    output.write(results, "table")
    if options.picture is not None:
        write_picture(options.picture, lambda path: save_plot(calibration, "agreement", path))
        note(f"wrote {options.picture}")


def confusion(options: ConfusionArguments) -> None:
    """Write the confusion matrix."""
    _write(_calibration_of(options).confusion(), options)


def disagreements(options: DisagreementsArguments) -> None:
    """Write the queries on which judge and people disagree."""
    table = _calibration_of(options).disagreements()
    _write(Output.of(options).limit_rows(table, options.limit), options)


def next_labels(options: NextLabelsArguments) -> None:
    """Write the queries to label next."""
    _write(_next_labels(_calibration_of(options), options, options.n), options)


def plan_labels(options: PlanLabelsArguments) -> None:
    """Write what more labels would gain."""
    _write(_calibration_of(options).planning(), options)


def compare_judged(options: CompareJudgedArguments) -> None:
    """Write the difference of two pipelines, corrected using labels."""
    _, difference = _difference(
        options, options.against, options.against_people, options.against_labels
    )
    _write(difference, options)


def _write(result: Result, options: CalibrationOptions) -> None:
    Output.of(options).write({result.title: result}, "table")


def _difference(
    options: CalibrationOptions, judged: str, people: str | None, labels: tuple[str, ...]
) -> tuple[Calibration, Result]:
    """The calibration of the first pipeline, and its corrected difference from the other."""
    source, other_source = parse_sources([options.judged, judged])
    calibration = _calibration(options, source, options.people, options.labels)
    other = _calibration(options, other_source, people or options.people, labels or options.labels)
    return calibration, calibration.difference(other)


def _calibration_of(options: CalibrationOptions) -> Calibration:
    [source] = parse_sources([options.judged])
    return _calibration(options, source, options.people, options.labels)


def _calibration(
    options: CalibrationOptions, source: PipelineSource, people: str, labels: tuple[str, ...]
) -> Calibration:
    """The scores of one pipeline beside its labels, with notes on what was guessed in reading."""
    loading = Loading.of(options)
    evaluation = loading.load(source, (options.metric,))
    # The reader and what is known of the metric concern the judge's file, not that of the labels.
    rated = replace(loading, reader=None, overrides={}).load(parse_source(people), labels)
    calibration = calibrate_judge(
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
    calibration: Calibration,
    options: CalibrateArguments,
    chosen: Sequence[_EarlierOption],
    output: Output,
) -> dict[str, Result]:
    """The view that was chosen; else the calibration, for people with the confusion matrix."""
    for earlier in chosen:
        note(f"calibrate {earlier.flag} is now the command {earlier.command}")
        table = earlier.table(calibration, options)
        return {table.title: table}
    results: dict[str, Result] = {calibration.title: calibration}
    if not output.renderer.for_programs and calibration.scale.kind != "continuous":
        matrix = calibration.confusion()
        results[matrix.title] = matrix
    return results


def _next_labels(calibration: Calibration, options: CalibrationOptions, n: int) -> Result:
    return calibration.to_label(n, strata=options.strata or "judge", seed=options.seed)


@dataclass(frozen=True, slots=True)
class _EarlierOption:
    """An earlier option of calibrate, whose table is that of a command of its own."""

    flag: str
    command: str
    is_chosen: Callable[[CalibrateArguments], bool]
    table: Callable[[Calibration, CalibrateArguments], Result]


_EARLIER_OPTIONS = (
    _EarlierOption(
        "--disagreements",
        "disagreements",
        lambda options: options.disagreements,
        lambda calibration, options: Output.of(options).limit_rows(
            calibration.disagreements(), options.limit
        ),
    ),
    _EarlierOption(
        "--to-label N",
        "next-labels -n N",
        lambda options: options.to_label is not None,
        lambda calibration, options: _next_labels(calibration, options, options.to_label or 0),
    ),
    _EarlierOption(
        "--confusion",
        "confusion",
        lambda options: options.confusion,
        lambda calibration, _: calibration.confusion(),
    ),
    _EarlierOption(
        "--planning",
        "plan-labels",
        lambda options: options.planning,
        lambda calibration, _: calibration.planning(),
    ),
)

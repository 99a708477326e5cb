"""The command that holds a judge against people."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rageval_report
from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.notes import note
from rageval_report.cli.options import (
    confidence_option,
    drawn_options,
    limit_option,
    loading_options,
    output_options,
)
from rageval_report.cli.output import FOR_PROGRAMS, Output, check_free
from rageval_report.cli.rules import numbers_of, parsed
from rageval_report.cli.sources import Loading, Source, sources_of
from rageval_report.errors import DataError

if TYPE_CHECKING:
    from rageval_report import Calibration, Result

_RIGHT = re.compile(r"\s*(\d+)/(\d+)\s*,\s*(\d+)/(\d+)\s*")
_TABLES = ("confusion", "disagreements", "planning")


def _ends(told: str) -> tuple[float, float]:
    low, _, high = told.partition(":")
    try:
        return float(low), float(high)
    except ValueError as exc:
        raise DataError(f"--label-bounds {told!r}: expected LOW:HIGH, as 1:5") from exc


def _errors(told: str) -> Any:
    right = _RIGHT.fullmatch(told)
    if right is None:
        raise DataError(
            f"--errors {told!r}: expected how many true 1 and how many true 0 the judge got right "
            "on another set, as 45/50,38/50"
        )
    return load("rageval_report.stats:JudgeErrors")(*map(int, right.groups()))


@click.command(
    epilog=examples(
        "rageval-report calibrate judged.csv people.csv --metric faithfulness --label human_label",
        "rageval-report calibrate judged.csv rated.csv --metric faithfulness",
        "rageval-report calibrate judged.csv people.csv --metric faithfulness --label ann "
        "--label bob --disagreements --limit 5",
        "rageval-report calibrate judged.csv people.csv --metric faithfulness --label human_label "
        "--against new=judged_new.csv --against-label human_new",
        "rageval-report calibrate judged.csv people.csv --metric faithfulness --label human_label "
        "--plot agreement.png -o calibration.md",
    )
)
@click.argument("judged", metavar="JUDGED")
@click.argument("people", metavar="PEOPLE")
@click.option("--metric", required=True, metavar="NAME", help="The metric that the judge scored.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="COLUMN",
    help="People's labels; may be repeated, a column a rater. Named as the metric where not given.",
)
@click.option(
    "--scale",
    type=click.Choice(["auto", "binary", "nominal", "ordinal", "continuous"]),
    default="auto",
    show_default=True,
    help='What ratings are; "auto" looks at them.',
)
@click.option(
    "--threshold", type=float, metavar="T", help="Scores from here on count as 1, others as 0."
)
@click.option(
    "--categories",
    callback=parsed(numbers_of),
    metavar="C,C,...",
    help="All that could be given, in order; those that occur where not given.",
)
@click.option(
    "--label-bounds",
    callback=parsed(_ends),
    metavar="LOW:HIGH",
    help="The scale of the labels, where it is not that of the metric.",
)
@click.option(
    "--errors",
    callback=parsed(_errors),
    metavar="RIGHT/ONES,RIGHT/ZEROS",
    help="How often the judge is right, counted on another set, as 45/50,38/50.",
)
@click.option("--confusion", is_flag=True, help="Show the confusion matrix instead.")
@click.option("--disagreements", is_flag=True, help="List where they disagree instead.")
@click.option("--planning", is_flag=True, help="Show what more labels would buy instead.")
@click.option(
    "--against",
    metavar="JUDGED2",
    help="Another pipeline: show its difference, put right by labels of both, instead.",
)
@click.option("--against-people", metavar="PEOPLE2", help="Its labels; in PEOPLE if not given.")
@click.option(
    "--against-label",
    "against_labels",
    multiple=True,
    metavar="COLUMN",
    help="Its columns of labels; named as --label says if not given.",
)
@click.option(
    "--plot",
    "picture",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw it as well; the suffix chooses the format: .png .svg .pdf",
)
@limit_option
@confidence_option
@drawn_options
@loading_options
@output_options
def calibrate(
    judged: str,
    people: str,
    metric: str,
    labels: tuple[str, ...],
    against: str | None,
    against_people: str | None,
    against_labels: tuple[str, ...],
    picture: Path | None,
    limit: int | None,
    loading: Loading,
    output: Output,
    **settings: Any,
) -> None:
    """Hold a judge against people: agreement, bias, and the mean that people would have given.

    JUDGED holds the judge's scores of many queries, PEOPLE labels of some of them: any file of
    scores, or a sheet of export --to review, in which blank means not rated. The confusion matrix
    follows, but not in csv and json.
    """
    asked = [name for name in _TABLES if settings.pop(name)]
    if len(asked) + (against is not None) > 1:
        raise click.UsageError(
            "Choose one of --confusion, --disagreements, --planning and --against."
        )
    if against is None and (against_people or against_labels):
        raise click.UsageError("--against-people and --against-label belong to --against.")
    force = bool(click.get_current_context().params["force"])  # of both files
    if picture is not None:
        check_free(picture, force=force)
    sources = sources_of([judged, *([against] if against is not None else [])])
    found = _calibration(loading, metric, sources[0], people, labels, settings)
    if against is not None:
        other = _calibration(
            *(loading, metric, sources[1], against_people or people),
            *(against_labels or labels, settings),
        )
        difference = found.difference(other)
        results = {difference.title: difference}
    else:
        results = _results(found, asked, output, limit)
    output.write(results, "table")
    if picture is not None:
        load("rageval_report.plots:save_plot")(found, "agreement", picture, force=force)
        note(f"wrote {picture}")


def _calibration(
    loading: Loading,
    metric: str,
    source: Source,
    people: str,
    labels: tuple[str, ...],
    settings: dict[str, Any],
) -> Calibration:
    """One pipeline's scores beside the labels; what was guessed in reading is told."""
    run = loading.load(source, (metric,))
    [told] = sources_of([people])
    # What is known of the metric, and its reader, are no matter of the file of labels.
    rated = replace(loading, reader=None, overrides={}).load(told, labels)
    found = rageval_report.calibrate(run, metric, rated, labels or None, **settings)
    return found.with_notes(*run.notes, *(f"labels: {one}" for one in rated.notes))


def _results(
    found: Calibration, asked: list[str], output: Output, limit: int | None
) -> dict[str, Result]:
    """The table that was asked for; else the calibration, for people with the matrix."""
    if asked:
        table: Result = getattr(found, asked[0])()
        shown = output.shown(table, limit) if asked[0] == "disagreements" else table
        return {table.title: shown}
    results: dict[str, Result] = {found.title: found}
    if output.kind not in (*FOR_PROGRAMS, ".xml") and found.scale.kind != "continuous":
        matrix = found.confusion()
        results[matrix.title] = matrix
    return results

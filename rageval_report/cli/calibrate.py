"""The options of calibrate."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import click

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.options import (
    ConfidenceOption,
    LimitOption,
    LoadingOptions,
    OutputOptions,
    ResamplingOptions,
)
from rageval_report.cli.parsing import parse_numbers, parse_range
from rageval_report.errors import DataError

_ERRORS = re.compile(r"\s*(\d+)/(\d+)\s*,\s*(\d+)/(\d+)\s*")


def parse_errors(text: str) -> tuple[int, int, int, int]:
    """The four numbers of RIGHT/ONES,RIGHT/ZEROS.

    Examples
    --------
    >>> parse_errors("45/50,38/50")
    (45, 50, 38, 50)
    """
    match = _ERRORS.fullmatch(text)
    if match is None:
        raise DataError(
            f"--errors {text!r}: expected how many true 1 and how many true 0 the judge got right "
            "on another set, such as 45/50,38/50"
        )
    right_ones, ones, right_zeros, zeros = map(int, match.groups())
    return right_ones, ones, right_zeros, zeros


class CalibrateArguments(
    LimitOption, ConfidenceOption, ResamplingOptions, LoadingOptions, OutputOptions
):
    """Compare the scores of a judge with the labels of people.

    Shows agreement, bias, and the mean that people would have given.

    JUDGED holds the judge's scores of many queries, and PEOPLE labels of some of them: any file of
    scores, or a sheet of export --to review, in which blank means not rated. The confusion matrix
    follows, but not in csv and json.
    """

    judged: str = argument(metavar="JUDGED")
    people: str = argument(metavar="PEOPLE")
    metric: str = option(
        "--metric", required=True, metavar="NAME", help="The metric that the judge scored."
    )
    labels: tuple[str, ...] = option(
        "--label",
        multiple=True,
        metavar="COLUMN",
        help="The column of a rater's labels; may be repeated, one column per rater. If omitted, "
        "the column that is named like the metric.",
    )
    scale: Literal["auto", "binary", "nominal", "ordinal", "continuous"] = option(
        "--scale",
        type=click.Choice(["auto", "binary", "nominal", "ordinal", "continuous"]),
        default="auto",
        help='The scale of the ratings; "auto" infers it from them.',
    )
    threshold: float | None = option(
        "--threshold", metavar="T", help="Scores of at least T count as 1, the others as 0."
    )
    categories: tuple[float, ...] | None = option(
        "--categories",
        parse=parse_numbers,
        metavar="C,C,...",
        help="All possible ratings, in order; if omitted, those that occur.",
    )
    label_bounds: tuple[float, float] | None = option(
        "--label-bounds",
        parse=parse_range,
        metavar="LOW:HIGH",
        help="The bounds of the labels; if omitted, those of the metric.",
    )
    errors: tuple[int, int, int, int] | None = option(
        "--errors",
        parse=parse_errors,
        metavar="RIGHT/ONES,RIGHT/ZEROS",
        help="How often the judge is right, counted on another set, such as 45/50,38/50.",
    )
    strata: str | None = option(
        "--strata",
        metavar="judge|COLUMN",
        help="The groups from which the labelled queries were drawn, if some got more labels than "
        'others: "judge" for groups by the judge\'s score, or a column of JUDGED.',
    )
    to_label: int | None = option(
        "--to-label",
        metavar="N",
        help="List only the N queries to label next, for the narrowest interval of the corrected "
        "mean.",
    )
    confusion: bool = option("--confusion", help="Show only the confusion matrix.")
    disagreements: bool = option(
        "--disagreements", help="List only the queries on which they disagree."
    )
    planning: bool = option("--planning", help="Show only what more labels would gain.")
    against: str | None = option(
        "--against",
        metavar="JUDGED2",
        help="The scores of another pipeline: show the difference, corrected using the labels of "
        "both.",
    )
    against_people: str | None = option(
        "--against-people",
        metavar="PEOPLE2",
        help="The labels of the other pipeline; if omitted, PEOPLE.",
    )
    against_labels: tuple[str, ...] = option(
        "--against-label",
        multiple=True,
        metavar="COLUMN",
        help="The columns of its labels; if omitted, those of --label.",
    )
    picture: Path | None = option(
        "--plot",
        metavar="FILE",
        help="Also draw the agreement; the suffix chooses the format: .png .svg .pdf",
    )


calibrate = Command(
    CalibrateArguments,
    "rageval_report.cli.calibrate_body:calibrate",
    examples=(
        "rageval-report calibrate judged.csv people.csv --metric faithfulness --label human_label",
        "rageval-report calibrate judged.csv rated.csv --metric faithfulness",
        "rageval-report calibrate judged.csv people.csv --metric faithfulness --label ann "
        "--label bob --disagreements --limit 5",
        "rageval-report calibrate judged.csv people.csv --metric faithfulness --label human_label "
        "--against new=judged_new.csv --against-label human_new",
        "rageval-report calibrate judged.csv people.csv --metric faithfulness --label human_label "
        "--plot agreement.png -o calibration.md",
    ),
)

"""The options of calibrate, and of the commands that show one part of a calibration."""

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


class CalibrationOptions(ConfidenceOption, ResamplingOptions, LoadingOptions, OutputOptions):
    """The judge's scores, the labels of people, and how they are compared."""

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


class CalibrateArguments(CalibrationOptions):
    """Compare the scores of a judge with the labels of people.

    Shows agreement, bias, and the mean that people would have given.

    JUDGED holds the judge's scores of many queries, and PEOPLE labels of some of them: any file of
    scores, or a sheet of export --to review, in which blank means not rated. The confusion matrix
    follows, but not in csv and json.

    The commands disagreements, next-labels, plan-labels and compare-judged go on from here.
    """

    picture: Path | None = option(
        "--plot",
        metavar="FILE",
        help="Also draw the agreement; the suffix chooses the format: .png .svg .pdf",
    )
    confusion: bool = option("--confusion", help="Now the command confusion.", hidden=True)
    disagreements: bool = option(
        "--disagreements", help="Now the command disagreements.", hidden=True
    )
    planning: bool = option("--planning", help="Now the command plan-labels.", hidden=True)
    to_label: int | None = option("--to-label", help="Now the command next-labels.", hidden=True)
    limit: int | None = option("--limit", help="Now an option of disagreements.", hidden=True)
    against: str | None = option("--against", help="Now the command compare-judged.", hidden=True)
    against_people: str | None = option(
        "--against-people", help="Now an option of compare-judged.", hidden=True
    )
    against_labels: tuple[str, ...] = option(
        "--against-label",
        multiple=True,
        help="Now an option of compare-judged.",
        hidden=True,
    )


class ConfusionArguments(CalibrationOptions):
    """Count which scores of a judge meet which labels of people.

    The files are those of calibrate.
    """


class DisagreementsArguments(LimitOption, CalibrationOptions):
    """List the queries on which a judge and people disagree.

    The largest difference comes first, with the reason that the judge gave. The files are those of
    calibrate.
    """


class NextLabelsArguments(CalibrationOptions):
    """List the queries that people should label next.

    They make the interval of the corrected mean narrower than other queries would. The files are
    those of calibrate; pass --strata judge to calibrate when the new labels are there.
    """

    n: int = option(
        "-n", type=click.IntRange(min=1), required=True, metavar="N", help="How many queries."
    )


class PlanLabelsArguments(CalibrationOptions):
    """Show what more labels of people would gain.

    The files are those of calibrate.
    """


class CompareJudgedArguments(CalibrationOptions):
    """Compare two judged pipelines, using labels of people.

    JUDGED and PEOPLE are those of calibrate. JUDGED2 holds the judge's scores of the other
    pipeline.
    """

    judged: str = argument(metavar="JUDGED")
    against: str = argument(metavar="JUDGED2")
    people: str = argument(metavar="PEOPLE")
    against_people: str | None = option(
        "--other-people",
        metavar="PEOPLE2",
        help="The labels of the other pipeline; if omitted, PEOPLE.",
    )
    against_labels: tuple[str, ...] = option(
        "--other-label",
        multiple=True,
        metavar="COLUMN",
        help="The columns of its labels; if omitted, those of --label.",
    )


_BODY = "rageval_report.cli.calibrate_body"
_FILES = "judged.csv people.csv --metric faithfulness"

calibrate = Command(
    CalibrateArguments,
    f"{_BODY}:calibrate",
    examples=(
        f"rageval-report calibrate {_FILES} --label human_label",
        "rageval-report calibrate judged.csv rated.csv --metric faithfulness",
        f"rageval-report calibrate {_FILES} --label human_label --plot agreement.png "
        "-o calibration.md",
    ),
)
confusion = Command(
    ConfusionArguments,
    f"{_BODY}:confusion",
    examples=(f"rageval-report confusion {_FILES} --label human_label",),
)
disagreements = Command(
    DisagreementsArguments,
    f"{_BODY}:disagreements",
    examples=(f"rageval-report disagreements {_FILES} --label ann --label bob --limit 5",),
)
next_labels = Command(
    NextLabelsArguments,
    f"{_BODY}:next_labels",
    examples=(f"rageval-report next-labels {_FILES} --label human_label -n 2",),
    name="next-labels",
)
plan_labels = Command(
    PlanLabelsArguments,
    f"{_BODY}:plan_labels",
    examples=("rageval-report plan-labels bm25.csv hybrid.csv --metric faithfulness",),
    name="plan-labels",
)
compare_judged = Command(
    CompareJudgedArguments,
    f"{_BODY}:compare_judged",
    examples=(
        "rageval-report compare-judged judged.csv new=judged_new.csv people.csv "
        "--metric faithfulness --label human_label --other-label human_new",
    ),
    name="compare-judged",
)

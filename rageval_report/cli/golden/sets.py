"""The options of golden check, sample, split, review and records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_report.cli.command import Command, Options, argument, option
from rageval_report.cli.options import FileOptions, OutputOptions, SeedOption
from rageval_report.cli.parsing import parse_pair

if TYPE_CHECKING:
    from rageval_report.records.golden import GoldKind
    from rageval_report.records.golden_samples import Allocation

_BODY = "rageval_report.cli.golden.sets_body"
_BY_HELP = "What defines a type: a key of the metadata, or answerable; may be repeated."


class ByOption(Options):
    """The types of questions."""

    by: tuple[str, ...] = option(
        "--by",
        multiple=True,
        show_default="query_type, if the questions have it",
        metavar="KEY",
        help=_BY_HELP,
    )


class CheckArguments(OutputOptions):
    """Look for mistakes in a golden set, and check whether it is large enough.

    The exit code is 1 if there is an error.
    """

    file: str = argument(metavar="FILE")
    documents: str | None = option(
        "--documents", metavar="FOLDER", help="The files that spans and ids refer to."
    )
    skip: tuple[str, ...] = option(
        "--skip",
        multiple=True,
        metavar="CHECK",
        help="A check to leave out, such as near_duplicates or balance; may be repeated.",
    )
    near: float = option(
        "--near", default=0.8, help="Similarity at which questions count as near-duplicates."
    )
    by: tuple[str, ...] = option(
        "--by",
        multiple=True,
        default=("query_type", "domain"),
        metavar="KEY",
        help=_BY_HELP,
        show_default=True,
    )
    difference: float = option(
        "--difference",
        default=0.05,
        metavar="D",
        help="The difference between two pipelines that the set should be able to show.",
    )
    sd: float = option(
        "--sd",
        default=0.4,
        help="Standard deviation of the difference of a query; compare prints effect sizes of "
        "yours.",
    )
    power: float = option("--power", default=0.8, help="Power of the test.")
    strict: bool = option("--strict", help="Use exit code 1 for warnings too.")


class SampleArguments(ByOption, SeedOption, FileOptions):
    """Draw questions of each type; the order of the file does not matter."""

    file: str = argument(metavar="FILE")
    n: int = option("--n", required=True, help="Number of questions to draw.")
    how: Allocation = option(
        "--how",
        type=click.Choice(["proportional", "equal"]),
        default="proportional",
        help="Draw from each type in proportion to its share of the set, or equally many.",
    )
    unanswerable_ratio: float | None = option(
        "--unanswerable-ratio",
        metavar="SHARE",
        help="Share of the questions without an answer, such as 0.3; if omitted, as in the set.",
    )


class SplitArguments(ByOption, SeedOption, OutputOptions):
    """Split a golden set into parts, and show what each part has.

    Near-duplicates stay in the same part.
    """

    file: str = argument(metavar="FILE")
    parts: tuple[tuple[str, str], ...] = option(
        "--part",
        parse=parse_pair,
        multiple=True,
        required=True,
        metavar="FILE=SHARE",
        help="A file to write and its share; the shares add up to 1.",
    )
    together: tuple[str, ...] = option(
        "--together",
        multiple=True,
        metavar="KEY",
        help="Keep questions with the same value in the same part: a key of the metadata, or "
        "document, for the documents that the gold names.",
    )
    near: float = option(
        "--near", default=0.8, help="Similarity at which questions count as near-duplicates."
    )


class ReviewArguments(FileOptions):
    """Have people accept, edit or reject each question, and read back what they decided."""

    file: str = argument(metavar="FILE")
    decisions: str | None = option(
        "--decisions",
        metavar="REVIEW",
        help="The completed sheet (.csv), or what the page saved (.json): apply it, and write the "
        "set.",
    )
    documents: str | None = option(
        "--documents", metavar="FOLDER", help="The source files, so that passages are shown."
    )
    rejected: Path | None = option(
        "--rejected", metavar="FILE", help="Write the rejected questions to a file."
    )
    reviewer: str = option(
        "--reviewer", default="", metavar="NAME", help="The reviewer; kept with each question."
    )
    path: Path | None = option(
        "-o",
        "--output",
        metavar="FILE",
        help="A sheet (.csv) or a page (.html) to fill in; with --decisions the reviewed set "
        "(.jsonl).",
    )


class RecordsArguments(FileOptions):
    """Write the questions with the gold that your pipeline can be evaluated against.

    A set made by `generate` refers to places in files. A pipeline that gives ids of documents is
    evaluated against documents, one that gives chunks with their texts against texts.
    """

    file: str = argument(metavar="FILE")
    gold: GoldKind = option(
        "--gold",
        type=click.Choice(["auto", "ids", "spans", "texts", "documents"]),
        default="auto",
        help="What identifies relevant passages: documents uses the files of spans as ids.",
    )


check = Command(
    CheckArguments,
    f"{_BODY}:check",
    examples=(
        "rageval-report golden check golden.jsonl",
        "rageval-report golden check golden.jsonl --documents docs --difference 0.05",
    ),
)
sample = Command(
    SampleArguments,
    f"{_BODY}:sample",
    examples=["rageval-report golden sample golden.jsonl --n 4 --by query_type -o sample.jsonl"],
)
split = Command(
    SplitArguments,
    f"{_BODY}:split",
    examples=[
        "rageval-report golden split golden.jsonl --part dev.jsonl=0.25 --part test.jsonl=0.75"
    ],
)
review = Command(
    ReviewArguments,
    f"{_BODY}:review",
    examples=(
        "rageval-report golden review golden.jsonl -o review.html",
        "rageval-report golden review golden.jsonl --decisions review.csv -o reviewed.jsonl",
    ),
)
records = Command(
    RecordsArguments,
    f"{_BODY}:records",
    examples=["rageval-report golden records golden.jsonl --gold texts -o asked.jsonl"],
)

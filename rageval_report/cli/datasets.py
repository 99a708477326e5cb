"""The options of datasets list and datasets stats."""

from __future__ import annotations

from pathlib import Path

from rageval_report.cli.command import Command, Family, argument, option
from rageval_report.cli.options import OutputOptions, SeedOption


class DatasetsArguments(OutputOptions):
    """List the data sets that can be loaded, with licence and size."""


class StatsArguments(SeedOption, OutputOptions):
    """Count the questions of a data set by type and domain.

    They are also counted by difficulty, and by whether they can be answered.

    NAME_OR_PATH is a name that `datasets list` shows, such as squad_v2 or ragbench/covidqa, or the
    path of a golden set. Without --path a set is downloaded.
    """

    name: str = argument(metavar="NAME_OR_PATH")
    location: Path | None = option(
        "--path", metavar="PATH", help="The file or folder of the data set."
    )
    split: str | None = option(
        "--split", metavar="NAME", help="The split, such as train, validation or test."
    )
    samples: int | None = option(
        "--samples", metavar="N", help="Number of questions to draw at random; all if omitted."
    )
    unanswerable_ratio: float | None = option(
        "--unanswerable-ratio",
        metavar="SHARE",
        help="Share of the questions without an answer, such as 0.3; if omitted, as in the set.",
    )


list_sets = Command(
    DatasetsArguments,
    "rageval_report.cli.datasets_body:list_sets",
    name="list",
    examples=("rageval-report datasets list", "rageval-report datasets list --format markdown"),
)
stats = Command(
    StatsArguments,
    "rageval_report.cli.datasets_body:stats",
    examples=(
        "rageval-report datasets stats golden.jsonl",
        "rageval-report datasets stats beir --path nfcorpus.zip --split test",
        "rageval-report datasets stats golden.jsonl --format json",
    ),
)
datasets = Family(
    "datasets",
    """
    List data sets that can be loaded, and count their questions.

    Without a command: the list.
    """,
    [list_sets, stats],
    default=list_sets.name,
)

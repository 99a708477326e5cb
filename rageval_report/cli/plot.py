"""The options of plot."""

from __future__ import annotations

from pathlib import Path

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.options import EngineOptions, LoadingOptions, MetricsOption, ReplaceOption
from rageval_report.cli.parsing import parse_numbers
from rageval_report.plots import PLOTS


def _kind_help() -> str:
    return f"{', '.join(PLOTS.loaded())}. Kinds that compare take a baseline and candidates."


class DrawArguments(MetricsOption, EngineOptions, LoadingOptions, ReplaceOption):
    """Draw a picture into a file.

    The picture shows one pipeline, or candidates beside a baseline. No window is opened.
    """

    files: tuple[str, ...] = argument(nargs=-1, metavar="FILE...")
    kind: str = option("--kind", default="distribution", metavar="KIND", help=_kind_help)
    by: str | None = option(
        "--by",
        metavar="COLUMN",
        help="The column of the groups, for slices.",
    )
    threshold: float | None = option(
        "--threshold", metavar="T", help="Where to draw a line, for distribution."
    )
    percentiles: tuple[float, ...] | None = option(
        "--percentiles",
        parse=parse_numbers,
        metavar="P,P,...",
        help="Percentiles, from 0 to 100, at which to draw lines, for distribution.",
    )
    scale: str | None = option(
        "--scale", metavar="SCALE", help="The scale of a forest: own, range or baseline."
    )
    candidate: str | None = option(
        "--candidate", metavar="NAME", help="Which candidate to draw, for differences."
    )
    path: Path = option(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="The picture; its suffix chooses the format: .png .svg .pdf",
    )


plot = Command(
    DrawArguments,
    "rageval_report.cli.plot_body:plot",
    examples=(
        "rageval-report plot bm25.csv --kind distribution --metric faithfulness -o spread.png",
        "rageval-report plot bm25.csv hybrid.csv --kind forest -o forest.svg",
        "rageval-report plot bm25.csv hybrid.csv --kind differences --metric mrr -o change.pdf",
        "rageval-report plot bm25.csv --kind slices --by domain --metric recall@5 -o slices.png",
    ),
)

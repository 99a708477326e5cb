"""The options of monitor."""

from __future__ import annotations

from pathlib import Path

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.options import (
    EngineOptions,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
)
from rageval_report.cli.parsing import parse_pairs


class MonitorArguments(MetricsOption, EngineOptions, LoadingOptions, OutputOptions):
    """Watch batches of scores for a mean that gets worse.

    FOLDER holds run files: the reference, which was good, and after it the batches in the order of
    time. The exit code is 1 if there is an alarm, for cron. The probability of a false alarm is 5 %
    in the whole life, of all metrics and slices together, however often you look. A folder can be
    replaced by files of scores of any kind, the reference first.
    """

    runs: tuple[str, ...] = argument(nargs=-1, metavar="FOLDER")
    reference: str | None = option(
        "--reference", metavar="RUN", help="The run that was good; the first run if omitted."
    )
    by: str | None = option(
        "--by", metavar="COLUMN", help="Watch each group of this column of the details too."
    )
    tolerance: dict[str, str] = option(
        "--tolerance",
        multiple=True,
        parse_all=parse_pairs,
        metavar="METRIC=X",
        help="How much worse than the reference does not matter; may be repeated.",
    )
    pipeline: str | None = option(
        "--pipeline", metavar="NAME", help="Only runs of the pipeline of this name."
    )
    alpha: float = option(
        "--alpha", default=0.05, metavar="P", help="Probability of a false alarm."
    )
    clusters: str | None = option(
        "--clusters",
        metavar="COLUMN",
        help="Column of clusters, such as a conversation: each counts once, by its mean.",
    )
    picture: Path | None = option(
        "--plot", metavar="FILE", help="Also draw the batches: .png .svg .pdf"
    )


monitor = Command(
    MonitorArguments,
    "rageval_report.cli.monitor_body:monitor",
    examples=(
        "rageval-report monitor runs",
        "rageval-report monitor runs --reference 2026-08-01 --metric faithfulness --alpha 0.01",
        "rageval-report monitor runs --quiet --plot alarm.png --tolerance faithfulness=0.02",
        "rageval-report monitor reference=old.csv monday=new.csv --metric recall@5",
    ),
)

"""The options of history."""

from __future__ import annotations

from pathlib import Path

from rageval_report.cli.command import Command, argument, option
from rageval_report.cli.options import (
    ConfidenceOption,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
    ResamplingOptions,
)


class HistoryArguments(
    MetricsOption, ConfidenceOption, ResamplingOptions, LoadingOptions, OutputOptions
):
    """Show the trend of each metric over the runs in a folder.

    A run file is what evaluation.save("runs/2026-08-01.json") and export write. A run is named
    after its file, and ordered by its field "created", or else by the time of the file. Each run is
    tested against the run before it and against the baseline. A folder can be replaced by files of
    scores of any kind, the oldest first, by a glob in quotes ('runs/*.csv'), or by an address such
    as mlflow:/EXPERIMENT or phoenix://HOST:PORT?dataset=NAME.
    """

    runs: tuple[str, ...] = argument(nargs=-1, metavar="FOLDER")
    baseline: str | None = option(
        "--baseline",
        metavar="RUN",
        help="The run that later runs are compared with; the first run if omitted.",
    )
    pipeline: str | None = option(
        "--pipeline", metavar="NAME", help="Only runs of the pipeline of this name."
    )
    fixed: tuple[str, ...] = option(
        "--fixed",
        multiple=True,
        metavar="FIELD",
        help="A field of the configuration that must be equal for runs to be compared, such as "
        "judge_model; may be repeated. If omitted, the fields that describe the judge, the "
        "evaluator and the data set.",
    )
    changes: bool = option("--changes", help="List only what changed from run to run.")
    picture: Path | None = option(
        "--plot", metavar="FILE", help="Also draw the trend: .png .svg .pdf"
    )
    correction: str = option(
        "--correction",
        default="holm",
        metavar="NAME",
        help="Correction for several tests: holm, tarone, bh, by, hochberg, bonferroni, none.",
    )
    clusters: str | None = option(
        "--clusters",
        metavar="COLUMN",
        help="Column of clusters: queries with the same value are not independent.",
    )


history = Command(
    HistoryArguments,
    "rageval_report.cli.history_body:history",
    examples=(
        "rageval-report history runs",
        "rageval-report history runs --baseline 2026-08-01 --metric faithfulness",
        "rageval-report history runs --changes --format markdown",
        "rageval-report history runs --quiet --plot trends.png -o history.html",
        "rageval-report history monday=old.csv tuesday=new.csv --metric recall@5",
    ),
)

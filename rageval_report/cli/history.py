"""The options of history and changes."""

from __future__ import annotations

from pathlib import Path

from rageval_report.cli.command import Command, Options, argument, option
from rageval_report.cli.options import (
    ConfidenceOption,
    EngineOptions,
    LoadingOptions,
    MetricsOption,
    OutputOptions,
    ResamplingOptions,
)


class RunsOptions(Options):
    """The runs, in the order of time, and which of them are compared."""

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
    correction: str = option(
        "--correction",
        default="holm",
        metavar="NAME",
        help="Correction for several tests: holm, bh, by, hochberg, bonferroni, none.",
    )
    clusters: str | None = option(
        "--clusters",
        metavar="COLUMN",
        help="Column of clusters: queries with the same value are not independent.",
    )


class HistoryArguments(
    RunsOptions,
    MetricsOption,
    ConfidenceOption,
    ResamplingOptions,
    EngineOptions,
    LoadingOptions,
    OutputOptions,
):
    """Show the trend of each metric over the runs in a folder.

    A run file is what evaluation.save("runs/2026-08-01.json") and export write. A run is named
    after its file, and ordered by its field "created", or else by the time of the file. Each run is
    tested against the run before it and against the baseline. A folder can be replaced by files of
    scores of any kind, the oldest first, by a glob in quotes ('runs/*.csv'), or by an address such
    as mlflow:/EXPERIMENT or phoenix://HOST:PORT?dataset=NAME. Of files that are read part by part,
    a run may also be a folder of the parts of one table: name two or more.

    The command changes shows what changed between the runs.
    """

    changes: bool = option("--changes", help="Now the command changes.", hidden=True)
    picture: Path | None = option(
        "--plot", metavar="FILE", help="Also draw the trend: .png .svg .pdf"
    )


class ChangesArguments(
    RunsOptions,
    MetricsOption,
    ConfidenceOption,
    ResamplingOptions,
    EngineOptions,
    LoadingOptions,
    OutputOptions,
):
    """Show what changed from run to run.

    One row per run: its queries, its gold set and its configuration, beside those of the run
    before it.

    The runs are named as for history: a folder of run files, files of scores with the oldest first,
    a glob in quotes, or an address.
    """


history = Command(
    HistoryArguments,
    "rageval_report.cli.history_body:history",
    examples=(
        "rageval-report history runs",
        "rageval-report history runs --baseline 2026-08-01 --metric faithfulness",
        "rageval-report history runs --quiet --plot trends.png -o history.html",
        "rageval-report history monday=old.csv tuesday=new.csv --metric recall@5",
    ),
)
changes = Command(
    ChangesArguments,
    "rageval_report.cli.history_body:changes",
    examples=(
        "rageval-report changes runs",
        "rageval-report changes runs --format markdown",
        "rageval-report changes monday=old.csv tuesday=new.csv --metric recall@5",
    ),
)

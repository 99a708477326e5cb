"""The command that puts the runs of a pipeline in the order of time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.notes import note
from rageval_report.cli.options import (
    confidence_option,
    drawn_options,
    loading_options,
    metric_option,
    output_options,
)
from rageval_report.cli.output import Output, check_free
from rageval_report.cli.sources import Loading

if TYPE_CHECKING:
    from collections.abc import Sequence

_HERE = "rageval_report.run_history.runs"


@click.command(
    epilog=examples(
        "rageval-report history runs",
        "rageval-report history runs --baseline 2026-08-01 --metric faithfulness",
        "rageval-report history runs --changes --format markdown",
        "rageval-report history runs --quiet --plot trends.png -o history.html",
        "rageval-report history monday=old.csv tuesday=new.csv --metric recall@5",
    )
)
@click.argument("runs", nargs=-1, required=True, metavar="FOLDER")
@metric_option
@click.option(
    "--baseline",
    metavar="RUN",
    help="What later runs are held against; the first run if not given.",
)
@click.option("--pipeline", metavar="NAME", help="Only runs of this pipeline, by its name inside.")
@click.option(
    "--fixed",
    multiple=True,
    metavar="FIELD",
    help="A field of the configuration that must be equal for runs to be compared, as judge_model; "
    "may be repeated. Fields that speak of judge, evaluator, data set where not given.",
)
@click.option("--changes", is_flag=True, help="List what changed from run to run instead.")
@click.option(
    "--plot",
    "picture",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw the trend as well: .png .svg .pdf",
)
@click.option(
    "--correction",
    default="holm",
    show_default=True,
    metavar="NAME",
    help="For all tests of the table: holm, bh, by, hochberg, bonferroni, none.",
)
@confidence_option
@drawn_options
@loading_options
@output_options
def history(
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    fixed: tuple[str, ...],
    changes: bool,
    picture: Path | None,
    loading: Loading,
    output: Output,
    **settings: Any,
) -> None:
    """Show the trend of each metric over the runs in a folder.

    A run file is what evaluation.save("runs/2026-08-01.json") and export write; a run is named
    after its file and stands where its field "created" says, else where the file's own time does.
    Each run is tested against the one before it and against the baseline. Instead of a folder,
    files of scores of any kind, the oldest first.
    """
    if picture is not None:
        check_free(picture, force=False)
    found = load(f"{_HERE}:history")(
        _runs_of(runs, loading), metrics=metrics or None, fixed=fixed or None, **settings
    )
    if picture is not None:
        load("rageval_report.plots:save_plot")(found, "trends", picture)
        note(f"wrote {picture}")
    result = found.changes() if changes else found
    output.write({result.title: result})


def _runs_of(runs: Sequence[str], loading: Loading) -> Any:
    folders = [one for one in runs if Path(one).is_dir()]
    if not folders:
        return loading.load_runs(runs)
    if len(runs) > 1:
        raise click.UsageError(f"{folders[0]} is a folder; name it alone, or files only.")
    if loading.reader is not None:
        raise click.UsageError("--reader is for files; a folder holds run files.")
    told = {**loading.options, "metrics": loading.overrides or None}
    return load(f"{_HERE}:read_runs")(folders[0], **told)

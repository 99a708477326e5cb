"""The command that tells how much the scores of a pipeline move by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.options import (
    confidence_option,
    correct_option,
    limit_option,
    loading_options,
    metric_option,
    output_options,
)
from rageval_report.cli.output import Output
from rageval_report.cli.rules import correct_rule
from rageval_report.cli.sources import Loading

if TYPE_CHECKING:
    from rageval_report.scores import Scored


@click.command(
    epilog=examples(
        "rageval-report repeats old.csv new.csv",
        "rageval-report repeats runs --planning --metric faithfulness",
        "rageval-report repeats old.csv new.csv --queries --correct 'faithfulness>=0.5' --limit 5",
    )
)
@click.argument("runs", nargs=-1, required=True, metavar="FILE...")
@metric_option
@click.option("--queries", is_flag=True, help="List how far the runs agree on each query instead.")
@click.option("--planning", is_flag=True, help="Show what more runs of each query buy instead.")
@click.option(
    "--tolerance",
    type=float,
    default=0.05,
    show_default=True,
    metavar="SHARE",
    help="Repeats are worth it until the standard error is this near to that without noise.",
)
@correct_option
@limit_option
@confidence_option
@loading_options
@output_options
def repeats(
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    queries: bool,
    planning: bool,
    tolerance: float,
    limit: int | None,
    confidence_level: float,
    loading: Loading,
    output: Output,
) -> None:
    """Tell how much scores move from run to run when nothing was changed.

    The files are repeated runs of one pipeline on the same queries, or one folder of run files:
    the noise of each metric, how stable each query is, how many repeats are worth their cost.
    """
    if queries and planning:
        raise click.UsageError("Choose one of --queries and --planning.")
    found = load("rageval_report.analysis.repeating.repeats:repeats")(
        *_loaded(runs, metrics, loading),
        metrics=metrics or None,
        correct=None if loading.correct is None else correct_rule(loading.correct),
        confidence_level=confidence_level,
        tolerance=tolerance,
    )
    result = found.stability() if queries else found.planning() if planning else found
    output.write({result.title: output.shown(result, limit) if queries else result})


def _loaded(runs: tuple[str, ...], metrics: tuple[str, ...], loading: Loading) -> list[Scored]:
    if len(runs) == 1 and Path(runs[0]).is_dir():
        told = {**loading.options, "metrics": loading.overrides or None}
        store = load("rageval_report.run_history.runs:read_runs")(runs[0], **told)
        return [run.evaluation for run in store.runs]
    return list(loading.load_runs(runs, metrics))

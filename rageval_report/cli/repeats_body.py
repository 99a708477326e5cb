"""repeats: repeated runs of one pipeline, as the noise of its metrics."""

from __future__ import annotations

from pathlib import Path

import click

from rageval_report.analysis.repeating import repeats as repeating
from rageval_report.cli.history_body import read_run_folder
from rageval_report.cli.output import Output
from rageval_report.cli.parsing import parse_correct_rule
from rageval_report.cli.repeats import RepeatsArguments
from rageval_report.cli.sources import Loading
from rageval_report.scores import Scored


def repeats(options: RepeatsArguments) -> None:
    """Load the runs, and write the view that was chosen."""
    if options.queries and options.planning:
        raise click.UsageError("Choose one of --queries and --planning.")
    output = Output.of(options)
    noise = repeating.repeats(
        *_load(options),
        metrics=options.metrics or None,
        correct=None if options.correct is None else parse_correct_rule(options.correct),
        confidence_level=options.confidence_level,
        tolerance=options.tolerance,
    )
    if options.queries:
        stability = noise.stability()
        output.write({stability.title: output.limit_rows(stability, options.limit)})
    else:
        result = noise.planning() if options.planning else noise
        output.write({result.title: result})


def _load(options: RepeatsArguments) -> list[Scored]:
    loading = Loading.of(options)
    if len(options.runs) == 1 and Path(options.runs[0]).is_dir():
        return [run.evaluation for run in read_run_folder(options.runs[0], loading).runs]
    return list(loading.load_runs(options.runs, options.metrics))

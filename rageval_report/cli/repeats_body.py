"""repeats: repeated runs of one pipeline, as the noise of its metrics."""

from __future__ import annotations

import click

from rageval_report.analysis.repeating import repeats as repeating
from rageval_report.cli.history_body import load_repeated_runs
from rageval_report.cli.output import Output
from rageval_report.cli.parsing import parse_correct_rule
from rageval_report.cli.repeats import RepeatsArguments
from rageval_report.cli.sources import Loading


def repeats(options: RepeatsArguments) -> None:
    """Load the runs, and write the view that was chosen."""
    if options.queries and options.planning:
        raise click.UsageError("Choose one of --queries and --planning.")
    output = Output.of(options)
    noise = repeating.repeats(
        *load_repeated_runs(options.runs, Loading.of(options), options.metrics),
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

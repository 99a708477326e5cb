"""repeats, stability and plan-repeats: repeated runs of one pipeline, and their noise."""

from __future__ import annotations

import click

from rageval_report.analysis import noise
from rageval_report.cli.history_body import load_repeated_runs
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output
from rageval_report.cli.parsing import parse_correct_rule
from rageval_report.cli.repeats import (
    PlanRepeatsArguments,
    RepeatsArguments,
    StabilityArguments,
)
from rageval_report.cli.sources import Loading


def repeats(options: RepeatsArguments) -> None:
    """Load the runs, and write the noise of each metric."""
    if options.queries and options.planning:
        raise click.UsageError("Choose one of the commands stability and plan-repeats.")
    if options.queries:
        note("repeats --queries is now the command stability")
        stability(options.converted_to(StabilityArguments))
    elif options.planning:
        note("repeats --planning is now the command plan-repeats")
        plan_repeats(options.converted_to(PlanRepeatsArguments))
    else:
        output = Output.of(options)
        result = _noise(options, tolerance=options.tolerance)
        output.write({result.title: result})


def stability(options: StabilityArguments) -> None:
    """Load the runs, and write how much they agree on each query."""
    output = Output.of(options)
    correct = None if options.correct is None else parse_correct_rule(options.correct)
    runs = load_repeated_runs(options.runs, Loading.of(options), ())
    table = noise.repeats(*runs, correct=correct).stability()
    output.write({table.title: output.limit_rows(table, options.limit)})


def plan_repeats(options: PlanRepeatsArguments) -> None:
    """Load the runs, and write what more of them would gain."""
    output = Output.of(options)
    plan = _noise(options).planning()
    output.write({plan.title: plan})


def _noise(
    options: RepeatsArguments | PlanRepeatsArguments, tolerance: float = 0.05
) -> noise.Repeats:
    return noise.repeats(
        *load_repeated_runs(options.runs, Loading.of(options), options.metrics),
        metrics=options.metrics or None,
        confidence_level=options.confidence_level,
        tolerance=tolerance,
    )

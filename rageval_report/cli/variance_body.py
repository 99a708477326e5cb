"""variance: the sources of noise in runs of one pipeline."""

from __future__ import annotations

import click

from rageval_report.analysis.repeating.variance import variance as split_noise
from rageval_report.cli.history_body import load_repeated_runs
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output, check_files, write_picture
from rageval_report.cli.sources import Loading
from rageval_report.cli.variance import VarianceArguments
from rageval_report.plots import save_plot


def variance(options: VarianceArguments) -> None:
    """Load the runs, and write the view that was chosen."""
    if options.sources and options.planning:
        raise click.UsageError("Choose one of --sources and --planning.")
    output = Output.of(options)
    check_files(options.picture, force=options.force)
    noise = split_noise(
        *load_repeated_runs(options.runs, Loading.of(options), options.metrics),
        metrics=options.metrics or None,
        runs=_names(options.run_names),
        judges=_names(options.judge_names),
        fixed=options.fixed,
        answer_cost=options.answer_cost,
        judgement_cost=options.judgement_cost,
        confidence_level=options.confidence_level,
    )
    if options.picture is not None:
        write_picture(options.picture, lambda path: save_plot(noise, "noise", path))
        note(f"wrote {options.picture}")
    result = noise.sources() if options.sources else noise.planning() if options.planning else noise
    output.write({result.title: result})


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]

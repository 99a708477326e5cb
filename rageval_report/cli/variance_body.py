"""variance, noise-sources and plan-interval: the sources of noise in runs of one pipeline."""

from __future__ import annotations

import click

from rageval_report.analysis.noise import Variance
from rageval_report.analysis.noise import variance as split_noise
from rageval_report.cli.history_body import load_repeated_runs
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output
from rageval_report.cli.sources import Loading
from rageval_report.cli.variance import (
    NoiseSourcesArguments,
    PlanIntervalArguments,
    VarianceArguments,
)
from rageval_report.results import Result


def variance(options: VarianceArguments) -> None:
    """Load the runs, and write the noise of each mean."""
    if options.sources and options.planning:
        raise click.UsageError("Choose one of the commands noise-sources and plan-interval.")
    output = Output.of(options)
    noise = _noise(options, options.answer_cost, options.judgement_cost)
    result: Result = noise
    if options.sources:
        note("variance --sources is now the command noise-sources")
        result = noise.sources()
    elif options.planning:
        note("variance --planning is now the command plan-interval")
        result = noise.planning()
    output.write({result.title: result})


def noise_sources(options: NoiseSourcesArguments) -> None:
    """Load the runs, and write each source of noise with its share."""
    output = Output.of(options)
    noise = _noise(options)
    sources = noise.sources()
    output.write({sources.title: sources})


def plan_interval(options: PlanIntervalArguments) -> None:
    """Load the runs, and write what makes the intervals half as wide."""
    output = Output.of(options)
    plan = _noise(options, options.answer_cost, options.judgement_cost).planning()
    output.write({plan.title: plan})


def _noise(
    options: VarianceArguments | NoiseSourcesArguments | PlanIntervalArguments,
    answer_cost: float = 1.0,
    judgement_cost: float = 1.0,
) -> Variance:
    return split_noise(
        *load_repeated_runs(options.runs, Loading.of(options), options.metrics),
        metrics=options.metrics or None,
        runs=_names(options.run_names),
        judges=_names(options.judge_names),
        fixed=options.fixed,
        answer_cost=answer_cost,
        judgement_cost=judgement_cost,
        confidence_level=options.confidence_level,
    )


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]

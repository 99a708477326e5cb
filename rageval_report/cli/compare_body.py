"""compare: a baseline and candidates as one table, or one per group of queries."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from rageval_report.analysis import compare as comparing
from rageval_report.analysis.arguments import is_scan
from rageval_report.cli.changed import (
    ImprovementsArguments,
    OutcomesArguments,
    RegressionsArguments,
)
from rageval_report.cli.changed_body import improvements, outcomes, regressions
from rageval_report.cli.command import words_of
from rageval_report.cli.compare import CompareArguments
from rageval_report.cli.next_steps import drill_down, pasted, plan_for_undecided
from rageval_report.cli.notes import note
from rageval_report.cli.options import LoadingOptions
from rageval_report.cli.output import Output
from rageval_report.cli.pages import goes_to_page, write_page
from rageval_report.cli.pairs import notes_of_pair, open_pair
from rageval_report.cli.rank import ParetoArguments
from rageval_report.cli.rank_body import pareto, write_lead
from rageval_report.cli.sources import STANDARD_INPUT, parse_source
from rageval_report.cli.terminal_forest import add_forest
from rageval_report.evaluation import RAGPipelineEvaluation

if TYPE_CHECKING:
    from rageval_report.cli.slices import SlicesArguments
    from rageval_report.scale.scan import EvaluationScan


def compare(options: CompareArguments) -> None:
    """Load the pipelines, compare them, and write the table."""
    earlier = [name for name in _NOW_COMMANDS if getattr(options, name)]
    if len(earlier) > 1:
        raise click.UsageError(
            "Choose one of --by, --regressions, --improvements, --outcomes and --pareto."
        )
    if earlier:
        _run_command_of(earlier[0], options)
        return
    if options.margin_method != "auto" and options.margin is None:
        raise click.UsageError(
            f"--margin-method {options.margin_method} needs --margin: say how large a difference "
            "does not matter."
        )
    output = Output.of(options)
    is_page = goes_to_page(options, output, is_table=options.format_name is not None)
    files = (options.baseline, options.candidates)
    evaluations = open_pair(options, *files, options.metrics)
    comparison = comparison_of(evaluations, options)
    notes = notes_of_pair(evaluations, *files)
    if is_page:
        _write_page(comparison, options, output)
        return
    write_lead(
        evaluations,
        output,
        {
            "metrics": options.metrics or None,
            "test": options.test,
            "correction": options.correction,
            "confidence_level": options.confidence_level,
            "missing": options.missing,
            "on": options.on,
            "clusters": options.clusters,
            "n_resamples": options.n_resamples,
            "seed": options.seed,
        },
    )
    _write_comparison(comparison.with_notes(*notes), evaluations, options, output)


# -- options of earlier versions that are commands now


def _regressions(options: CompareArguments) -> None:
    regressions(options.converted_to(RegressionsArguments, metric=options.regressions))


def _improvements(options: CompareArguments) -> None:
    improvements(options.converted_to(ImprovementsArguments, metric=options.improvements))


def _outcomes(options: CompareArguments) -> None:
    outcomes(options.converted_to(OutcomesArguments))


def _pareto(options: CompareArguments) -> None:
    if isinstance(options.margin, float):
        raise click.UsageError("--margin with --pareto: write NAME=NUMBER, such as latency_ms=50.")
    files = (options.baseline, *options.candidates)
    margins = () if options.margin is None else (options.margin,)
    pareto(
        options.converted_to(
            ParetoArguments, files=files, margins=margins, weights=(), objectives=()
        )
    )


def _slices(options: CompareArguments) -> None:
    output = Output.of(options)
    files = (options.baseline, options.candidates)
    evaluations = open_pair(options, *files, options.metrics)
    comparison = comparison_of(evaluations, options)
    result = comparison.slices(str(options.by), correction=options.correction)
    notes = notes_of_pair(evaluations, *files)
    output.write({str(options.by): result.with_notes(*notes)})


_NOW_COMMANDS: Mapping[str, Callable[[CompareArguments], None]] = {
    "by": _slices,
    "regressions": _regressions,
    "improvements": _improvements,
    "outcomes": _outcomes,
    "pareto": _pareto,
}


def _run_command_of(name: str, options: CompareArguments) -> None:
    note(f"compare --{name} is now the command {'slices' if name == 'by' else name}")
    _NOW_COMMANDS[name](options)


# -- the table


def _write_comparison(
    comparison: comparing.Comparison,
    evaluations: Sequence[RAGPipelineEvaluation] | Sequence[EvaluationScan],
    options: CompareArguments,
    output: Output,
) -> None:
    """Write the table; for a person also the drawing, and what to do next."""
    if options.draws and not output.is_page_of_text:
        raise click.UsageError("--plot draws in the table on standard output only.")
    draws = output.is_on_screen if options.draws is None else options.draws
    if not draws:
        output.write({comparison.title: comparison})
        return
    output.write(
        {comparison.title: comparison},
        edit=lambda text, width: add_forest(text, comparison, width, sys.stdout.encoding),
    )
    if is_scan(evaluations[0]) and not options.candidates:
        return  # no command names one of several tables that are read part by part
    steps = _next_steps(comparison, _files_of(evaluations, options))
    if steps and not options.quiet:
        click.echo("\nNext:\n" + "\n".join(f"  {step}" for step in steps))


def _write_page(
    comparison: comparing.Comparison, options: CompareArguments, output: Output
) -> None:
    page = comparison.report(
        pictures=not options.no_pictures,
        longest_text=options.longest_text,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )
    write_page(page, output, comparison.notes)


def _next_steps(comparison: comparing.Comparison, files: Mapping[str, str]) -> list[str]:
    if STANDARD_INPUT in {parse_source(text).path for text in files.values()}:
        return []  # it has been read
    steps = (
        (drill_down(comparison, files), words_of(LoadingOptions, "on", "engine", "memory_limit")),
        (
            plan_for_undecided(comparison, files),
            words_of(LoadingOptions, "clusters", "confidence_level"),
        ),
    )
    return [pasted([*words, *options]) for words, options in steps if words]


def _files_of(
    evaluations: Sequence[RAGPipelineEvaluation] | Sequence[EvaluationScan],
    options: CompareArguments,
) -> dict[str, str]:
    """The FILE argument of each pipeline, by its name."""
    if options.candidates:
        texts: Iterable[str] = (options.baseline, *options.candidates)
    else:
        source = parse_source(options.baseline)
        pipelines = (run.name.removeprefix(f"{source.name}/") for run in evaluations)
        texts = (f"{source.path}::{pipeline}" for pipeline in pipelines)
    names = [run.name for run in evaluations]
    return dict(zip(names, texts, strict=True))


def comparison_of(
    evaluations: Sequence[RAGPipelineEvaluation] | Sequence[EvaluationScan],
    options: CompareArguments | SlicesArguments,
) -> comparing.Comparison:
    """The comparison that the options ask for; the first pipeline is the baseline.

    Parameters
    ----------
    evaluations : sequence of RAGPipelineEvaluation or EvaluationScan
        The baseline, then its candidates.
    options : CompareArguments or SlicesArguments
        The test, its settings, and the metrics.
    """
    return comparing.compare(
        *evaluations,
        metrics=options.metrics or None,
        test=options.test,
        interval=options.interval,
        correction=options.correction,
        confidence_level=options.confidence_level,
        missing=options.missing,
        on=options.on,
        clusters=options.clusters,
        tried=options.tried,
        margin=options.margin,
        margin_method=options.margin_method,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )

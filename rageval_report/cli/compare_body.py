"""compare: a baseline and candidates, as a comparison, its queries, its outcomes or its front."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

import click

from rageval_report.analysis.comparing import comparison as comparing
from rageval_report.analysis.ranking.leaderboard import rank
from rageval_report.cli.command import words_of
from rageval_report.cli.compare import CompareArguments
from rageval_report.cli.compare_queries import changed_queries
from rageval_report.cli.next_steps import drill_down, pasted, plan_for_undecided
from rageval_report.cli.options import LoadingOptions
from rageval_report.cli.output import Output
from rageval_report.cli.sources import STANDARD_INPUT, Loading, parse_source
from rageval_report.cli.terminal_forest import add_forest
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.results import Result
from rageval_report.scores.correct_notion import describe_notions, shared_notions


def compare(options: CompareArguments) -> None:
    """Load the pipelines, compare them, and write the view that was chosen."""
    views = (
        options.by,
        options.regressions,
        options.improvements,
        options.outcomes,
        options.pareto,
    )
    if sum(map(bool, views)) > 1:
        raise click.UsageError(
            "Choose one of --by, --regressions, --improvements, --outcomes and --pareto."
        )
    if options.margin_method != "auto" and options.margin is None:
        raise click.UsageError(
            f"--margin-method {options.margin_method} needs --margin: say how large a difference "
            "does not matter."
        )
    output = Output.of(options)
    changed_metric = options.regressions or options.improvements
    metrics = (changed_metric,) if changed_metric else options.metrics
    evaluations = _load(options, metrics)
    notes = notes_of(evaluations)
    if not options.candidates:
        notes.append(
            f"of the {len(evaluations)} pipelines in {options.baseline}, {evaluations[0].name} is "
            "the baseline"
        )
    if options.outcomes:
        tables = {
            candidate.name: _outcomes(evaluations[0], candidate).with_notes(*notes)
            for candidate in evaluations[1:]
        }
        _write_by_candidate(tables, output, options.limit)
    elif options.pareto:
        front = _pareto_front(evaluations, metrics, options)
        output.write({front.title: front.with_notes(*notes)})
    elif changed_metric:
        comparison = _comparison(evaluations, metrics, options)
        is_better = options.regressions is None
        tables = {
            name: result.with_notes(*notes)
            for name, result in changed_queries(
                comparison, changed_metric, better=is_better
            ).items()
        }
        _write_by_candidate(tables, output, options.limit)
    elif options.by is not None:
        comparison = _comparison(evaluations, metrics, options)
        by_group = comparison.slices(options.by, correction=options.correction)
        output.write({options.by: by_group.with_notes(*notes)})
    else:
        comparison = _comparison(evaluations, metrics, options)
        _write_comparison(comparison.with_notes(*notes), evaluations, options, output)


def _write_comparison(
    comparison: comparing.Comparison,
    evaluations: Sequence[RAGPipelineEvaluation],
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
    steps = _next_steps(comparison, _files_of(evaluations, options))
    if steps and not options.quiet:
        click.echo("\nNext:\n" + "\n".join(f"  {step}" for step in steps))


def _next_steps(comparison: comparing.Comparison, files: Mapping[str, str]) -> list[str]:
    if STANDARD_INPUT in {parse_source(text).path for text in files.values()}:
        return []  # it has been read
    steps = (
        (drill_down(comparison, files), words_of(LoadingOptions, "on")),
        (
            plan_for_undecided(comparison, files),
            words_of(LoadingOptions, "clusters", "confidence_level"),
        ),
    )
    return [pasted([*words, *options]) for words, options in steps if words]


def _files_of(
    evaluations: Sequence[RAGPipelineEvaluation], options: CompareArguments
) -> dict[str, str]:
    """The FILE argument of each pipeline, by its name."""
    if options.candidates:
        texts: Iterable[str] = (options.baseline, *options.candidates)
    else:
        source = parse_source(options.baseline)
        names = (run.name.removeprefix(f"{source.name}/") for run in evaluations)
        texts = (f"{source.path}::{name}" for name in names)
    return {run.name: text for run, text in zip(evaluations, texts, strict=True)}


def notes_of(evaluations: Sequence[RAGPipelineEvaluation]) -> list[str]:
    """The notes of all evaluations, each with the name of its pipeline."""
    return [f"{evaluation.name}: {note}" for evaluation in evaluations for note in evaluation.notes]


def _load(options: CompareArguments, metrics: tuple[str, ...]) -> list[RAGPipelineEvaluation]:
    """The baseline and its candidates; without candidates, the pipelines of the one file."""
    loading = Loading.of(options)
    if options.candidates:
        return loading.load_all([options.baseline, *options.candidates], metrics)
    evaluations = loading.load_every([options.baseline], metrics)
    if len(evaluations) == 1:
        raise click.UsageError(
            f"Missing argument 'CANDIDATE...': {options.baseline} holds one pipeline, "
            f"{evaluations[0].name}; name the files to compare it with."
        )
    return evaluations


def _comparison(
    evaluations: list[RAGPipelineEvaluation], metrics: tuple[str, ...], options: CompareArguments
) -> comparing.Comparison:
    return comparing.compare(
        *evaluations,
        metrics=metrics or None,
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
        rare_loss=options.rare_loss,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )


def _pareto_front(
    evaluations: list[RAGPipelineEvaluation], metrics: tuple[str, ...], options: CompareArguments
) -> Result:
    """The Pareto front of all runs, over the metrics that are named or the usual objectives."""
    if isinstance(options.margin, float):
        raise click.UsageError("--margin with --pareto: write NAME=NUMBER, such as latency_ms=50.")
    ranking = rank(
        *evaluations,
        confidence_level=options.confidence_level,
        missing=options.missing,
        n_resamples=options.n_resamples,
        seed=options.seed,
        on=options.on,
        clusters=options.clusters,
        margins=options.margin,
    )
    return ranking.pareto(metrics or None)


def _outcomes(baseline: RAGPipelineEvaluation, candidate: RAGPipelineEvaluation) -> Result:
    table = baseline.comparative_detailed_summary(candidate)
    counts = ", ".join(f"{n} {name}" for name, n in table.notna().sum().items())
    runs = (baseline, candidate)
    # The table exists, so something says what is correct.
    notions = shared_notions(runs) or ()
    return Result(
        f"Which queries {baseline.name} and {candidate.name} answer correctly",
        table,
        {"baseline": baseline.name, "candidate": candidate.name},
        (
            describe_notions(runs, notions),
            *dict.fromkeys(notion.note for notion in notions if notion.note),
            counts,
        ),
    )


def _write_by_candidate(tables: dict[str, Result], output: Output, limit: int | None) -> None:
    limited = {name: output.limit_rows(result, limit) for name, result in tables.items()}
    output.write(limited, "candidate")

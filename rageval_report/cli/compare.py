"""The command that compares a baseline with candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import rageval_report
from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.options import (
    confidence_option,
    correct_option,
    drawn_options,
    limit_option,
    loading_options,
    metric_option,
    output_options,
)
from rageval_report.cli.output import Output
from rageval_report.cli.rules import margin_of, parsed
from rageval_report.cli.sources import Loading

if TYPE_CHECKING:
    from rageval_report import RAGPipelineEvaluation, Result


@click.command(
    epilog=examples(
        "rageval-report compare bm25.csv hybrid.csv",
        "rageval-report compare old=bm25.csv new=hybrid.csv --metric recall@5 --margin 0.02",
        "rageval-report compare bm25.csv hybrid.csv --by question_type --metric exact_match",
        "rageval-report compare bm25.csv hybrid.csv --regressions exact_match --limit 5",
        "rageval-report compare bm25.csv hybrid.csv --pareto",
        "rageval-report compare promptfoo.json",
        "rageval-report compare bm25.csv hybrid.csv --outcomes --correct 'faithfulness>=0.8'",
    )
)
@click.argument("baseline", metavar="BASELINE")
@click.argument("candidates", nargs=-1, metavar="[CANDIDATE...]")
@metric_option
@click.option(
    "--by", metavar="COLUMN", help="Compare in each group of this column of the baseline instead."
)
@click.option("--regressions", metavar="METRIC", help="List the queries that got worse instead.")
@click.option("--improvements", metavar="METRIC", help="List the queries that got better instead.")
@click.option(
    "--outcomes",
    is_flag=True,
    help="List the queries that both, one or none answer correctly instead; see --correct.",
)
@click.option(
    "--pareto",
    is_flag=True,
    help="Say which runs no other one beats on quality, cost and latency instead; see rank.",
)
@correct_option
@limit_option
@click.option(
    "--test",
    default="auto",
    show_default=True,
    metavar="NAME",
    help='"auto" is the exact sign-flip test of the mean difference; t, wilcoxon, sign, ...',
)
@click.option(
    "--interval",
    default="auto",
    show_default=True,
    metavar="METHOD",
    help='"auto" belongs to the test; t, percentile, bca, ...',
)
@click.option(
    "--correction",
    default="holm",
    show_default=True,
    metavar="NAME",
    help="For all tests of the table: holm, bh, by, hochberg, bonferroni, westfall-young, none.",
)
@confidence_option
@click.option(
    "--missing",
    type=click.Choice(["drop", "worst", "bounds"]),
    default="drop",
    show_default=True,
    help="What an unscored query becomes.",
)
@click.option(
    "--on", metavar="COLUMN", help="Match queries by this text where ids differ, as question."
)
@click.option("--clusters", metavar="COLUMN", help="Queries of one label here are not independent.")
@click.option(
    "--margin",
    callback=parsed(margin_of),
    metavar="D",
    help="A difference too small to matter, for equivalence: a number for all metrics, or "
    "NAME=D,NAME=D.",
)
@drawn_options
@loading_options
@output_options
def compare(
    baseline: str,
    candidates: tuple[str, ...],
    metrics: tuple[str, ...],
    by: str | None,
    regressions: str | None,
    improvements: str | None,
    outcomes: bool,
    pareto: bool,
    limit: int | None,
    loading: Loading,
    output: Output,
    **settings: Any,
) -> None:
    """Compare candidates with a baseline, query by query.

    One sentence a metric says what is shown, and how sure it is; the table has the numbers. Names
    are those of the files, or told as NAME=FILE. Of one file with several pipelines the first is
    the baseline; FILE::PIPELINE chooses another.
    """
    if sum(map(bool, (by, regressions, improvements, outcomes, pareto))) > 1:
        raise click.UsageError(
            "Choose one of --by, --regressions, --improvements, --outcomes and --pareto."
        )
    asked = regressions or improvements
    chosen = (asked,) if asked else metrics
    runs = _runs(loading, baseline, candidates, chosen)
    notes = [f"{run.name}: {note}" for run in runs for note in run.notes]
    if not candidates:
        notes.append(f"of the {len(runs)} pipelines in {baseline}, {runs[0].name} is the baseline")
    if outcomes:
        tables = {one.name: _outcomes(runs[0], one).with_notes(*notes) for one in runs[1:]}
        output.write({name: output.shown(one, limit) for name, one in tables.items()}, "candidate")
        return
    if pareto:
        front = _front(runs, chosen, settings)
        output.write({front.title: front.with_notes(*notes)})
        return
    comparison = rageval_report.compare(runs[0], *runs[1:], metrics=chosen or None, **settings)
    if asked:
        changed_queries = load("rageval_report.cli.changes:changed_queries")
        found = changed_queries(comparison, asked, better=regressions is None)
        shown = {name: output.shown(one.with_notes(*notes), limit) for name, one in found.items()}
        output.write(shown, "candidate")
    elif by is not None:
        by_group = comparison.slices(by, correction=settings["correction"])
        output.write({by: by_group.with_notes(*notes)})
    else:
        output.write({comparison.title: comparison.with_notes(*notes)})


def _runs(
    loading: Loading, baseline: str, candidates: tuple[str, ...], metrics: tuple[str, ...]
) -> list[RAGPipelineEvaluation]:
    """The baseline and its candidates; without candidates, the pipelines of the one file."""
    if candidates:
        return loading.load_all([baseline, *candidates], metrics)
    runs = loading.load_every([baseline], metrics)
    if len(runs) == 1:
        raise click.UsageError(
            f"Missing argument 'CANDIDATE...': {baseline} holds one pipeline, {runs[0].name}; name "
            "the files to compare it with."
        )
    return runs


def _front(
    runs: list[RAGPipelineEvaluation], metrics: tuple[str, ...], settings: dict[str, Any]
) -> Result:
    """The Pareto front of all runs, over the metrics named or else the usual objectives."""
    known = ("confidence_level", "missing", "n_resamples", "seed", "on")
    rank = load("rageval_report.analysis.ranking.leaderboard:rank")
    ranking = rank(*runs, **{name: settings[name] for name in known})
    front: Result = ranking.pareto(metrics or None)
    return front


def _outcomes(baseline: RAGPipelineEvaluation, candidate: RAGPipelineEvaluation) -> Result:
    table = baseline.comparative_detailed_summary(candidate)
    counts = ", ".join(f"{n} {name}" for name, n in table.notna().sum().items())
    ours = load("rageval_report.analysis.comparing.answer_outcomes:correct_rule_of")(baseline)
    theirs = candidate.correct_rule or ours
    told = load("rageval_report.analysis.comparing.answer_outcomes:describe_correct_rules")
    return rageval_report.Result(
        f"Which queries {baseline.name} and {candidate.name} answer correctly",
        table,
        {"baseline": baseline.name, "candidate": candidate.name},
        (*told([(baseline, ours), (candidate, theirs)]), counts),
    )

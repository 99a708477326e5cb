"""The command that ranks several pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.options import (
    confidence_option,
    drawn_options,
    loading_options,
    metric_option,
    output_options,
)
from rageval_report.cli.output import Output
from rageval_report.cli.sources import Loading

if TYPE_CHECKING:
    from rageval_report import Result


@click.command(
    epilog=examples(
        "rageval-report rank bm25.csv hybrid.csv reranked.csv",
        "rageval-report rank bm25.csv hybrid.csv reranked.csv --metric faithfulness --pairs",
        "rageval-report rank bm25.csv hybrid.csv --weight faithfulness=2 --weight recall@5=1",
        "rageval-report rank bm25.csv hybrid.csv --pareto --objective quality=faithfulness,recall@5"
        " --objective latency_ms",
    )
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@metric_option
@click.option(
    "--weighted",
    is_flag=True,
    help="One score from weighted objectives, and how far the order rests on the weights, instead.",
)
@click.option(
    "--pareto",
    is_flag=True,
    help="Which pipelines no other one beats on quality, cost and latency, instead.",
)
@click.option("--pairs", is_flag=True, help="Every pair of pipelines with its difference, instead.")
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="NAME=W",
    help="The weight of an objective or a metric, for --weighted (which it implies) and --pareto.",
)
@click.option(
    "--objective",
    "objectives",
    multiple=True,
    metavar="NAME[=METRIC,...]",
    help="An objective and the metrics it is made of; may be repeated.",
)
@click.option(
    "--correction",
    default="holm",
    show_default=True,
    metavar="NAME",
    help="For all pairs: holm, bh, by, hochberg, bonferroni, westfall-young, none.",
)
@click.option(
    "--test",
    default="auto",
    show_default=True,
    metavar="NAME",
    help='"auto" is the exact sign-flip test of the mean difference; t, wilcoxon, sign, ...',
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
@drawn_options
@loading_options
@output_options
def rank(
    files: tuple[str, ...],
    metrics: tuple[str, ...],
    weighted: bool,
    pareto: bool,
    pairs: bool,
    weights: tuple[str, ...],
    objectives: tuple[str, ...],
    loading: Loading,
    output: Output,
    **settings: Any,
) -> None:
    """Rank several pipelines, metric by metric.

    Pipelines that share a letter cannot be told apart on the queries that all of them scored. A
    file may hold one pipeline or several; names are those of the files, or told as NAME=FILE.
    """
    if sum((weighted or (bool(weights) and not pareto), pareto, pairs)) > 1:
        raise click.UsageError("Choose one of --weighted, --pareto and --pairs.")
    as_objectives = metrics if (weighted or pareto) and not weights else ()
    named = _weights(weights), _objectives(objectives or as_objectives)
    if any(named) and not (weighted or weights or pareto):
        raise click.UsageError("--objective belongs to --weighted or --pareto.")
    runs = loading.load_every(files, () if any(named) or weighted or pareto else metrics)
    make = load("rageval_report.analysis.ranking.leaderboard:rank")
    made = make(*runs, metrics=metrics or None, **settings)
    shown = _shown(made, *named, weighted=weighted or bool(weights), pareto=pareto, pairs=pairs)
    notes = [f"{run.name}: {note}" for run in runs for note in run.notes]
    output.write({shown.title: shown.with_notes(*notes)})


def _shown(
    ranking: Any,
    weights: dict[str, float] | None,
    objectives: dict[str, Any] | list[str] | None,
    *,
    weighted: bool,
    pareto: bool,
    pairs: bool,
) -> Result:
    """What was asked for of the ranking."""
    if pareto:
        front: Result = ranking.pareto(objectives, weights)
        return front
    if weighted:
        scores: Result = ranking.weighted(weights, objectives)
        return scores
    table: Result = ranking.pairs if pairs else ranking
    return table


def _weights(told: tuple[str, ...]) -> dict[str, float] | None:
    """The weights by name; None where none is told."""
    weights = {}
    for one in told:
        name, equals, number = one.rpartition("=")
        try:
            weights[name.strip()] = float(number)
        except ValueError:
            equals = ""
        if not (equals and name.strip()):
            raise click.UsageError(f"--weight {one!r}: write NAME=W, as faithfulness=2.")
    return weights or None


def _objectives(told: tuple[str, ...]) -> dict[str, Any] | list[str] | None:
    """The objectives, by what they are made of where any says it; None where none is told."""
    if not any("=" in one for one in told):
        return list(told) or None
    made = {}
    for one in told:
        name, equals, metrics = one.partition("=")
        made[name.strip()] = [part.strip() for part in (metrics if equals else name).split(",")]
        if not (name.strip() and all(made[name.strip()])):
            raise click.UsageError(f"--objective {one!r}: write NAME=METRIC,METRIC or NAME.")
    return made

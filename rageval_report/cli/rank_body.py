"""rank: several pipelines as a leaderboard, as pairs, by weighted score, or as a Pareto front."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from rageval_report.analysis import rank as ranking_door
from rageval_report.analysis.objectives import (
    Objective,
    is_statistic_of_metrics,
    parse_named_objectives,
    parse_objective,
)
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output
from rageval_report.cli.pages import goes_to_page, write_page
from rageval_report.cli.pairs import notes_of
from rageval_report.cli.rank import (
    PairsArguments,
    ParetoArguments,
    RankArguments,
    WeightedArguments,
)
from rageval_report.cli.scans import ScanLoading
from rageval_report.cli.sources import Loading
from rageval_report.errors import RagevalError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.results import Result

if TYPE_CHECKING:
    from rageval_report.scale.scan import EvaluationScan


def rank(options: RankArguments) -> None:
    """Load the pipelines, rank them, and write the leaderboard."""
    has_weights = bool(options.weights or options.objectives) and not options.pareto
    if sum((options.weighted or has_weights, options.pareto, options.pairs)) > 1:
        raise click.UsageError("Choose one of the commands weighted, pareto and pairs.")
    if options.pareto:
        note("rank --pareto is now the command pareto")
        _rank(options, _PARETO)
    elif options.weighted or has_weights:
        flag = (
            "--weighted" if options.weighted else "--weight" if options.weights else "--objective"
        )
        note(f"rank {flag} is now the command weighted")
        _rank(options, _WEIGHTED)
    elif options.pairs:
        note("rank --pairs is now the command pairs")
        _rank(options, _PAIRS)
    else:
        _rank(options, _LEADERBOARD)


def write_lead(
    evaluations: Sequence[RAGPipelineEvaluation] | Sequence[EvaluationScan],
    output: Output,
    settings: Mapping[str, Any],
) -> None:
    """Write the answer of the ranking of three or more pipelines above their other tables.

    Parameters
    ----------
    evaluations : sequence of RAGPipelineEvaluation or EvaluationScan
        The pipelines; the first one is the baseline of the tables.
    output : Output
        Only a page of text on standard output is read from its top.
    settings : mapping
        The keywords of `rageval_report.rank`.
    """
    if len(evaluations) < 3 or not output.is_page_of_text:
        return
    try:
        answer = ranking_door.rank(*evaluations, **settings).summary
    except RagevalError:  # such as pipelines that share queries only two by two
        return
    baseline = evaluations[0].name
    click.echo(
        f"{answer}\nThe command rank compares every pair; below, {baseline} is the baseline.\n"
    )


def pairs(options: PairsArguments) -> None:
    """Load the pipelines, and write every pair."""
    _rank(options.converted_to(RankArguments, **_NO_VIEW, **_NO_OBJECTIVES, correct=None), _PAIRS)


def weighted(options: WeightedArguments) -> None:
    """Load the pipelines, and write their weighted score."""
    _rank(options.converted_to(RankArguments, **_NO_VIEW), _WEIGHTED)


def pareto(options: ParetoArguments) -> None:
    """Load the pipelines, and write their Pareto front."""
    _rank(options.converted_to(RankArguments, **_NO_VIEW, tried=1), _PARETO)


# By the names of their commands.
_LEADERBOARD, _PAIRS, _WEIGHTED, _PARETO = "rank", "pairs", "weighted", "pareto"
# The earlier options of rank, which commands of their own do not have.
_NO_VIEW: dict[str, bool | None] = {
    "weighted": False,
    "pareto": False,
    "pairs": False,
    # Those of its page.
    "no_pictures": False,
    "longest_text": None,
    "by": None,
}
_NO_OBJECTIVES: dict[str, tuple[str, ...]] = {"weights": (), "objectives": ()}


def _rank(options: RankArguments, view: str) -> None:
    is_weighed = view in (_WEIGHTED, _PARETO)
    output = Output.of(options)
    is_table = view != _LEADERBOARD or options.format_name is not None
    is_page = goes_to_page(options, output, is_table=is_table)
    if options.by is not None and not is_page:
        raise click.UsageError("--by is for a page: -o FILE.html; slices has tables of groups.")
    # Without weights, the named metrics are the objectives.
    as_objectives = options.metrics if is_weighed and not options.weights else ()
    weights = _parse_weights(options.weights)
    objectives = parse_named_objectives(options.objectives or as_objectives)
    margins = {name: margin for part in options.margins for name, margin in part.items()}
    checked = () if is_weighed else options.metrics
    loading = Loading.of(options, _named_metrics(options.metrics, weights, objectives))
    evaluations = _open(options, loading, checked)
    _check_several(view, options.files, evaluations)
    ranking = ranking_door.rank(
        *evaluations,
        metrics=options.metrics or None,
        test=options.test,
        correction=options.correction,
        confidence_level=options.confidence_level,
        missing=options.missing,
        on=options.on,
        clusters=options.clusters,
        tried=options.tried,
        n_resamples=options.n_resamples,
        seed=options.seed,
        # Names of objectives are checked with them, in the views that have them.
        margins=None if is_weighed else margins or None,
    )
    if is_page:
        page = ranking.report(
            by=options.by, pictures=not options.no_pictures, longest_text=options.longest_text
        )
        write_page(page, output, notes_of(evaluations))
        return
    result: Result = ranking
    if view == _PARETO:
        result = ranking.pareto(objectives, weights, margins=margins)
    elif view == _WEIGHTED:
        result = ranking.weighted(weights, objectives, margins=margins)
    elif view == _PAIRS:
        result = ranking.pairs
    output.write({result.title: result.with_notes(*notes_of(evaluations))})


def _open(
    options: RankArguments, loading: Loading, metrics: tuple[str, ...]
) -> Sequence[RAGPipelineEvaluation] | Sequence[EvaluationScan]:
    """The pipelines of all files; as scans where these are read part by part."""
    opening = ScanLoading(options, loading)
    return opening.open(options.files, metrics) or loading.load_every(options.files, metrics)


def _check_several(
    view: str,
    files: Sequence[str],
    evaluations: Sequence[RAGPipelineEvaluation] | Sequence[EvaluationScan],
) -> None:
    if len(evaluations) == 1:
        raise click.UsageError(
            f"{view} needs at least two pipelines, and {files[0]} holds one, "
            f"{evaluations[0].name}; name another file."
        )


def _named_metrics(
    metrics: Iterable[str],
    weights: Mapping[str, float] | None,
    objectives: Mapping[str, Objective] | list[str] | None,
) -> list[str]:
    """The metrics that the options name; a weight may also belong to an objective."""
    own = objectives if isinstance(objectives, Mapping) else {}
    in_objectives = [metric for objective in own.values() for metric in objective.metrics]
    names = [*([] if isinstance(objectives, Mapping) else objectives or []), *(weights or {})]
    return [
        *metrics,
        *in_objectives,
        *(metric for name in names if name not in own for metric in _metrics_in(name)),
    ]


def _metrics_in(name: str) -> tuple[str, ...]:
    """The metrics of a name such as "p95(latency_ms)", or the name itself."""
    return tuple(parse_objective(name).metrics) if is_statistic_of_metrics(name) else (name,)


def _parse_weights(texts: tuple[str, ...]) -> dict[str, float] | None:
    """The weights by name; None if there are none."""
    weights = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        try:
            weights[name.strip()] = float(number)
        except ValueError:
            equals = ""
        if not (equals and name.strip()):
            raise click.UsageError(f"--weight {text!r}: write NAME=W, such as faithfulness=2.")
    return weights or None

"""slices: the groups of one pipeline described, or several pipelines compared within each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rageval_report.cli.compare_body import comparison_of
from rageval_report.cli.output import Output
from rageval_report.cli.pairs import notes_of
from rageval_report.cli.scans import ScanLoading
from rageval_report.cli.slices import SlicesArguments
from rageval_report.cli.sources import Loading
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.results import Result

if TYPE_CHECKING:
    from rageval_report.scale.scan import EvaluationScan

_OF_SEVERAL = (
    "test",
    "correction",
    "missing",
    "on",
    "tried",
    "margin",
    "margin_method",
)
_OF_ONE = ("percentiles", "correct")


def slices(options: SlicesArguments) -> None:
    """Load the pipelines, and write a table of their groups."""
    output = Output.of(options)
    loading = Loading.of(options)
    scans = ScanLoading(options, loading).open(options.files, options.metrics)
    runs = scans or loading.load_every(options.files, options.metrics)
    if len(runs) == 1:
        _refuse(_OF_SEVERAL, "several pipelines")
        result, described = _described(runs[0], options), notes_of(runs)
    else:
        _refuse(_OF_ONE, "one pipeline")
        comparison = comparison_of(runs, options)
        result = comparison.slices(options.by, correction=options.correction)
        described = notes_of(runs)
    output.write({options.by: result.with_notes(*described)})


def _described(run: RAGPipelineEvaluation | EvaluationScan, options: SlicesArguments) -> Result:
    return run.slices(
        options.by,
        metrics=options.metrics or None,
        percentiles=options.percentiles,
        interval=options.interval,
        confidence_level=options.confidence_level,
        n_resamples=options.n_resamples,
        seed=options.seed,
        clusters=options.clusters,
    )


def _refuse(names: tuple[str, ...], what: str) -> None:
    """Refuse options on the command line that are for another number of pipelines."""
    context = click.get_current_context()
    flags = {parameter.name: max(parameter.opts, key=len) for parameter in context.command.params}
    for name in names:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{flags[name]} is for {what}.")

"""score: rankings against judgments, or records with answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import click
from click.core import ParameterSource

from rageval_report.cli.group import OK
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output, check_files
from rageval_report.cli.score import ScoreArguments, ScoreTracesArguments
from rageval_report.cli.score_traces_body import score_traces
from rageval_report.cli.sources import PipelineSource, check_unique_names, parse_sources
from rageval_report.errors import DataError, named
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.metrics import scoring as record_scoring
from rageval_report.metrics.scoring import score_rankings
from rageval_report.readers.ranking_files import ranking_name
from rageval_report.readers.record_files import read_records
from rageval_report.runner.eval_queries import allowed_metrics


class ScoredKind(NamedTuple):
    """A kind of thing that can be scored: its options, and those that it needs."""

    options: tuple[str, ...]
    needed: tuple[str, ...]


_KINDS = {
    "rankings": ScoredKind(
        (
            *("runs", "qrels", "metrics", "ties", "relevance_level", "no_relevant", "drop_self"),
            *("duplicates", "dialect", "match_ids"),
        ),
        ("runs", "qrels", "metrics"),
    ),
    "traces": ScoredKind(
        ("gold", "trace", "k", "gates", "missing", "dialect", "report_path"), ("gold", "trace")
    ),
    "records": ScoredKind(
        (
            *("records", "metrics", "level", "duplicates", "no_relevant", "dialect"),
            "match_ids",
        ),
        ("records",),
    ),
}


def score(options: ScoreArguments) -> int:
    """Score what the options name, and write the report."""
    output = replace(Output.of(options), verbose=True)  # what was scored, and at which cost
    kind = _kind_of(click.get_current_context())
    if kind == "traces":
        note("score --gold GOLD --trace TRACE is now the command score-traces GOLD TRACE")
        return score_traces(options.converted_to(ScoreTracesArguments))
    files = options.runs or options.records
    if options.queries is not None:
        if len(files) > 1:
            raise click.UsageError("--queries is for one run; score the others one by one.")
        check_files(Path(options.queries), force=options.force)
    score_one = _score_rankings if kind == "rankings" else _score_records
    stem = ranking_name if kind == "rankings" else None
    evaluations = [score_one(source, options) for source in _named_sources(files, stem)]
    output.write({evaluation.name: evaluation.evaluation_report() for evaluation in evaluations})
    if options.queries is not None:
        note(f"wrote {evaluations[0].save(options.queries)}")
    return OK


# -- which kind


def _kind_of(context: click.Context) -> str:
    """The kind that the options on the command line belong to."""
    written = {name: _written_options(context, kind.options) for name, kind in _KINDS.items()}
    if not any(written.values()):
        raise click.UsageError("Say what to score: --run, --qrels and --metric, or --records.")
    every = {option for options in written.values() for option in options}
    matches = [name for name, options in written.items() if every == set(options)]
    if not matches:
        (kind, option), (other_kind, other_option) = next(_conflicts(written))
        raise click.UsageError(
            f"{option} scores {kind} and {other_option} {other_kind}; give the options of one of "
            "them."
        )
    missing = [name for name in _KINDS[matches[0]].needed if not context.params[name]]
    if missing:
        raise click.UsageError(f"Missing option '{_flag_of(context, missing[0])}'.")
    return matches[0]


def _conflicts(written: dict[str, list[str]]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Pairs of kinds, each with an option on the command line that the other does not have."""
    for kind, other in combinations(written, 2):
        options = [option for option in written[kind] if option not in written[other]]
        other_options = [option for option in written[other] if option not in written[kind]]
        if options and other_options:
            yield (kind, options[0]), (other, other_options[0])


def _written_options(context: click.Context, names: Sequence[str]) -> list[str]:
    """The options that are on the command line, as users write them."""
    return [
        _flag_of(context, name)
        for name in names
        # Defaults have values too, and would make every command a mixture of all kinds.
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    ]


def _flag_of(context: click.Context, name: str) -> str:
    parameters = context.command.params
    return next(parameter.opts[0] for parameter in parameters if parameter.name == name)


# -- each kind


def _named_sources(
    files: Sequence[str], name_of: Callable[[str], str] | None = None
) -> list[PipelineSource]:
    """The files, each with a name of its own."""
    sources = [
        replace(source, name=source.name or (name_of(source.path) if name_of else source.stem))
        for source in parse_sources(files)
    ]
    check_unique_names([str(source.name) for source in sources])
    return sources


def _score_rankings(source: PipelineSource, options: ScoreArguments) -> RAGPipelineEvaluation:
    if options.qrels is None:
        raise click.UsageError("Missing option '--qrels': the judgments of the queries.")
    return score_rankings(
        source.path,
        options.qrels,
        list(options.metrics),
        name=source.name,
        ties=options.ties,
        relevance_level=options.relevance_level,
        no_relevant=options.no_relevant,
        drop_self=options.drop_self,
        duplicates=options.duplicates,
        dialect=options.dialect,
        match_ids=options.match_ids,
        strict=options.strict,
        allow=options.allow,
    )


def _score_records(source: PipelineSource, options: ScoreArguments) -> RAGPipelineEvaluation:
    """The metrics that are named, or else those that the fields of the records allow."""
    table = read_records(source.path, unretrieved_citations="keep")
    metrics = list(options.metrics) or allowed_metrics(table, dialect=options.dialect)
    if not metrics:
        raise DataError(
            f"{source.path}: nothing can be computed: expected retrieved and relevant, or answer "
            f"and reference, among the fields; found {named(table.columns, 12)}. If a model is to "
            "judge: rageval-report judge FILE"
        )
    return record_scoring.score(
        table,
        metrics,
        name=source.name or source.stem,
        level=options.level,
        duplicates=options.duplicates,
        no_relevant=options.no_relevant,
        dialect=options.dialect,
        match_ids=options.match_ids,
        strict=options.strict,
        allow=options.allow,
    )

"""The command that scores: traces against a gold set, rankings against judgments, records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import rageval_report
from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.notes import note
from rageval_report.cli.options import output_options
from rageval_report.cli.output import Output, check_free
from rageval_report.cli.sources import Source, sources_of
from rageval_report.errors import DataError, named
from rageval_report.files.writing import write_atomically

if TYPE_CHECKING:
    from rageval_report import RAGPipelineEvaluation

FAILED = 1


@dataclass(frozen=True)
class _Form:
    """What may be scored: its options and those that it needs, by the names of their arguments."""

    options: tuple[str, ...]
    needed: tuple[str, ...]


_FORMS = {
    "rankings": _Form(
        ("runs", "qrels", "metrics", "ties", "relevance_level", "no_relevant", "drop_self"),
        ("runs", "qrels", "metrics"),
    ),
    "traces": _Form(("gold", "trace", "k", "gates", "missing", "report_path"), ("gold", "trace")),
    "records": _Form(("records", "metrics"), ("records",)),
}


@click.command(
    epilog=examples(
        "rageval-report score --gold gold.jsonl --trace trace.jsonl",
        "rageval-report score --gold gold.jsonl --trace trace.jsonl --k 5 "
        "--gates precision=0.50,chr=0.50,under=0.50,over=0.50 --report report.json",
        "rageval-report score --records answered.jsonl --metric recall@5 --metric exact_match",
    )
)
@click.option(
    "--gold",
    metavar="FILE",
    help="The gold set, JSON Lines: qid, answerable, gold_claim_substr, gold_citations.",
)
@click.option(
    "--trace",
    metavar="FILE",
    help="The pipeline's traces, likewise: qid, retrieved_ids, answer_json with claim and "
    "citations; - reads stdin.",
)
@click.option("--k", type=int, default=5, show_default=True, help="The cutoff of the recall.")
@click.option(
    "--gates",
    metavar="NAME=T,...",
    help="At least: precision, chr, recall; at most: under, over. Else the shipped gates.",
)
@click.option(
    "--missing",
    type=click.Choice(["answered", "refusal", "skip"]),
    default="answered",
    show_default=True,
    help="What a gold question without a trace is.",
)
@click.option(
    "--report",
    "report_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the figures and gates as JSON as well.",
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="FILE",
    help="A run, as TREC writes it; NAME=FILE names it; may be repeated, with a report each.",
)
@click.option("--qrels", metavar="FILE", help="The judgments of the runs: TREC's, or BEIR's.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="As ndcg@10, recall@5, mrr, and of records exact_match; may be repeated. Of records all "
    "that their fields allow where not given.",
)
@click.option(
    "--records",
    multiple=True,
    metavar="FILE",
    help="Records with answers: .jsonl, .csv, .parquet; NAME=FILE names them; may be repeated.",
)
@click.option(
    "--ties",
    type=click.Choice(["docid", "input", "error"]),
    default="docid",
    show_default=True,
    help="How documents of equal score stand: as in trec_eval, as given, or not at all.",
)
@click.option(
    "--relevance-level",
    type=float,
    default=1,
    show_default=True,
    metavar="GRADE",
    help="The lowest grade that is relevant.",
)
@click.option(
    "--no-relevant",
    type=click.Choice(["zero", "skip"]),
    default="zero",
    show_default=True,
    help="What a query scores for which nothing is relevant.",
)
@click.option(
    "--drop-self", is_flag=True, help="Leave out documents that bear their query's id, as BEIR."
)
@click.option("--queries", metavar="FILE", help="Write a row a query: .csv, .json, .jsonl, ...")
@output_options
@click.pass_context
def score(context: click.Context, /, queries: str | None, output: Output, **given: Any) -> int:
    """Score the traces of a pipeline against a gold set, and hold its gates.

    Ends with 1 where a gate fails.

    Or score rankings against judgments, and report the metrics: --run bm25.run --qrels qrels.txt
    --metric ndcg@10 --metric recall@5. Or records that have their answers: --records answered.jsonl
    --metric exact_match.
    """
    form = _form(context)
    asked = {name: given[name] for name in _FORMS[form].options}
    if form == "traces":
        return _score_traces(_Traces(**asked), queries, output)
    if queries is not None:
        _check_queries(queries, given["runs"] or given["records"])
    evaluations = _ranked(_Rankings(**asked)) if form == "rankings" else _of_records(**asked)
    output.write({one.name: one.evaluation_report() for one in evaluations})
    if queries is not None:
        note(f"wrote {evaluations[0].save(queries)}")
    return 0


def _check_queries(queries: str, files: Sequence[str]) -> None:
    if len(files) > 1:
        raise click.UsageError("--queries is for one run; score the others one by one.")
    check_free(Path(queries), force=False)


def _form(context: click.Context) -> str:
    """What is to be scored; what is lacking or does not fit is told in one line."""
    written = {name: _written(context, form.options) for name, form in _FORMS.items()}
    if not any(written.values()):
        raise click.UsageError(
            "Say what to score: --gold and --trace, or --run, --qrels and --metric, or --records."
        )
    every = {option for options in written.values() for option in options}
    fitting = [name for name, options in written.items() if every == set(options)]
    if not fitting:
        (one, ours), (other, theirs) = next(_at_odds(written))
        raise click.UsageError(
            f"{ours} scores {one} and {theirs} {other}; give the options of one of them."
        )
    form = fitting[0]
    lacking = [name for name in _FORMS[form].needed if not context.params[name]]
    if lacking:
        raise click.UsageError(f"Missing option '{_spelled(context, lacking[0])}'.")
    return form


def _at_odds(written: dict[str, list[str]]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Forms, two by two, and of each an option that the other does not have."""
    for one, other in combinations(written, 2):
        ours = [option for option in written[one] if option not in written[other]]
        theirs = [option for option in written[other] if option not in written[one]]
        if ours and theirs:
            yield (one, ours[0]), (other, theirs[0])


def _written(context: click.Context, names: Sequence[str]) -> list[str]:
    """Those of the options that stand on the command line."""
    return [
        _spelled(context, name)
        for name in names
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    ]


def _spelled(context: click.Context, name: str) -> str:
    return next(one.opts[0] for one in context.command.params if one.name == name)


# -- traces


@dataclass(frozen=True)
class _Traces:
    """What was asked of traces."""

    gold: str
    trace: str
    k: int
    gates: str | None
    missing: str
    report_path: Path | None


def _score_traces(asked: _Traces, queries: str | None, output: Output) -> int:
    for path in (asked.report_path, None if queries is None else Path(queries)):
        if path is not None:
            check_free(path, force=False)
    score_traces = load("rageval_report.scoring.traces:score_traces")
    result = score_traces(asked.gold, asked.trace, asked.k, asked.gates, missing=asked.missing)
    output.write({result.title: result})
    if asked.report_path is not None:
        write_atomically(asked.report_path, json.dumps(result.report(), indent=2) + "\n")
        note(f"wrote {asked.report_path}")
    if queries is not None:
        note(f"wrote {result.evaluation.save(queries)}")
    return 0 if result.passed else FAILED


# -- rankings


@dataclass(frozen=True)
class _Rankings:
    """What was asked of rankings."""

    runs: tuple[str, ...]
    qrels: str
    metrics: tuple[str, ...]
    ties: str
    relevance_level: float
    no_relevant: str
    drop_self: bool


def _named_sources(files: Sequence[str]) -> list[Source]:
    """The files, each with a name of its own."""
    sources = [replace(one, name=one.name or one.stem) for one in sources_of(files)]
    names = Counter(source.name for source in sources)
    twice = [name for name, n in names.items() if n > 1]
    if twice:
        raise DataError(f"two runs are named {twice[0]!r}; give each its own name")
    return sources


def _ranked(asked: _Rankings) -> list[RAGPipelineEvaluation]:
    score_rankings = load("rageval_report.scoring.records:score_rankings")
    return [
        score_rankings(
            source.path,
            asked.qrels,
            list(asked.metrics),
            name=source.name,
            ties=asked.ties,
            relevance_level=asked.relevance_level,
            no_relevant=asked.no_relevant,
            drop_self=asked.drop_self,
        )
        for source in _named_sources(asked.runs)
    ]


# -- records


def _of_records(records: tuple[str, ...], metrics: tuple[str, ...]) -> list[RAGPipelineEvaluation]:
    return [_scored(source, list(metrics)) for source in _named_sources(records)]


def _scored(source: Source, metrics: list[str]) -> RAGPipelineEvaluation:
    """The metrics that are named, or else those that the fields of the records allow."""
    table = rageval_report.read_records(source.path, unretrieved_citations="keep")
    chosen = metrics or load("rageval_report.cli.eval.metrics:allowed")(table)
    if not chosen:
        raise DataError(
            f"{source.path}: nothing can be computed: expected retrieved and relevant, or answer "
            f"and reference, among the fields; found {named(table.columns, 12)}. Where a model is "
            "to judge: rageval-report judge FILE"
        )
    return rageval_report.score(table, chosen, name=source.name or source.stem)

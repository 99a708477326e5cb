"""The command that scores: traces against a gold set, or rankings against judgments."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.notes import note
from rageval_report.cli.options import output_options
from rageval_report.cli.output import Output, check_free
from rageval_report.cli.sources import sources_of
from rageval_report.errors import DataError
from rageval_report.files.writing import write_atomically

if TYPE_CHECKING:
    from rageval_report import RAGPipelineEvaluation

FAILED = 1

# The options of the one form and of the other, by the names of their arguments.
_OF_TRACES = ("gold", "trace", "k", "gates", "missing", "report_path")
_OF_RANKINGS = ("runs", "qrels", "metrics", "ties", "relevance_level", "no_relevant", "drop_self")


@click.command(
    epilog=examples(
        "rageval-report score --gold gold.jsonl --trace trace.jsonl",
        "rageval-report score --gold gold.jsonl --trace trace.jsonl --k 5 "
        "--gates precision=0.50,chr=0.50,under=0.50,over=0.50 --report report.json",
    )
)
@click.option("--gold", metavar="FILE", help="The gold set, JSON Lines; gzipped or not.")
@click.option("--trace", metavar="FILE", help="The pipeline's traces, likewise; - reads stdin.")
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
    help="A metric of rankings, as ndcg@10, recall@5, mrr; may be repeated.",
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
    --metric ndcg@10 --metric recall@5.
    """
    if _is_of_rankings(context):
        return _score_rankings(_Rankings(**_only(given, _OF_RANKINGS)), queries, output)
    return _score_traces(_Traces(**_only(given, _OF_TRACES)), queries, output)


def _only(given: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: given[name] for name in names}


def _is_of_rankings(context: click.Context) -> bool:
    """Whether rankings are to be scored; what is lacking or does not fit is told in one line."""
    ranked, traced = _written(context, _OF_RANKINGS), _written(context, _OF_TRACES)
    if ranked and traced:
        raise click.UsageError(
            f"{ranked[0]} scores rankings and {traced[0]} traces; give the options of one of them."
        )
    needed = ("runs", "qrels", "metrics") if ranked else ("gold", "trace")
    lacking = [name for name in needed if not context.params[name]]
    if not (ranked or traced):
        raise click.UsageError(
            "Say what to score: --gold and --trace, or --run, --qrels and --metric."
        )
    if lacking:
        raise click.UsageError(f"Missing option '{_spelled(context, lacking[0])}'.")
    return bool(ranked)


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
    score_traces = load("rageval_report.traces:score_traces")
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


def _score_rankings(asked: _Rankings, queries: str | None, output: Output) -> int:
    if queries is not None:
        if len(asked.runs) > 1:
            raise click.UsageError("--queries is for one run; score the others one by one.")
        check_free(Path(queries), force=False)
    evaluations = _evaluations(asked)
    output.write({one.name: one.evaluation_report() for one in evaluations})
    if queries is not None:
        note(f"wrote {evaluations[0].save(queries)}")
    return 0


def _evaluations(asked: _Rankings) -> list[RAGPipelineEvaluation]:
    score_rankings = load("rageval_report.scoring:score_rankings")
    sources = sources_of(asked.runs)
    names = Counter(source.name or source.stem for source in sources)
    twice = [name for name, n in names.items() if n > 1]
    if twice:
        raise DataError(f"two runs are named {twice[0]!r}; give each its own name")
    return [
        score_rankings(
            source.path,
            asked.qrels,
            list(asked.metrics),
            name=source.name or source.stem,
            ties=asked.ties,
            relevance_level=asked.relevance_level,
            no_relevant=asked.no_relevant,
            drop_self=asked.drop_self,
        )
        for source in sources
    ]

"""The options of eval."""

from __future__ import annotations

from pathlib import Path

import click

from rageval_report.cli.command import Command, Options, option
from rageval_report.cli.judge.options import JudgingOptions, parse_prices
from rageval_report.cli.options import (
    FOLDER,
    CorrectOption,
    FormatOption,
    MatchingOptions,
    QueryIdsOption,
    RetrievalOptions,
    StopOptions,
)
from rageval_report.cli.parsing import parse_pairs
from rageval_report.files.strict_json import load_json


def parse_json(text: str) -> object:
    """The value of a JSON text.

    Examples
    --------
    >>> parse_json('{"question": "{question}"}')
    {'question': '{question}'}
    """
    try:
        return load_json(text)
    except (ValueError, RecursionError) as exc:
        raise click.BadParameter(f"expected JSON: {exc}") from exc


class QueryOptions(QueryIdsOption):
    """Which queries are asked."""

    heading = "The queries"

    records: str | None = option(
        "--records", metavar="FILE", help="The queries, with gold: .jsonl, .csv, .parquet ..."
    )
    datasets: tuple[str, ...] = option(
        "--datasets",
        "--dataset",
        multiple=True,
        metavar="NAME[=PATH]",
        help="A data set whose questions are asked: a name that `datasets` lists, such as squad_v2 "
        "or ragbench/covidqa, with or without its path, or the path of a golden set; may be "
        "repeated, or joined by commas.",
    )
    split: str | None = option(
        "--split", metavar="NAME", help="Split of the data sets, such as train or test."
    )


class TargetOptions(Options):
    """The pipeline that is asked, and how."""

    heading = "The pipeline"

    url: str | None = option(
        "--url", "--rag-url", metavar="URL", help="URL of the pipeline's server."
    )
    function: str | None = option(
        "--callable", metavar="MODULE:FUNCTION", help="A Python function that answers a question."
    )
    line: str | None = option(
        "--command", metavar="LINE", help="A command that reads questions as JSON Lines."
    )
    method: str | None = option(
        "--method", metavar="NAME", help="Method of the request; POST if omitted."
    )
    headers: dict[str, str] = option(
        "--header",
        multiple=True,
        parse_all=parse_pairs,
        metavar="NAME=VALUE",
        help="A header; name the variable that holds a key: 'Authorization=Bearer ${RAG_API_KEY}'.",
    )
    body: object = option(
        "--body",
        parse=parse_json,
        metavar="JSON",
        help="The body of the request, in which {question} is filled in; "
        '\'{"question": "{question}"}\' if omitted.',
    )
    paths: dict[str, str] = option(
        "--path",
        multiple=True,
        parse_all=parse_pairs,
        metavar="FIELD=PATH",
        help="Where a field is in the answer, such as answer=choices.0.message.content or "
        "retrieved=sources.*.id.",
    )
    stream: str | None = option(
        "--stream",
        metavar="PATH",
        help="For server-sent events: where the pieces of the answer are in an event.",
    )
    stream_end: str | None = option(
        "--stream-end",
        metavar="TEXT",
        help="The data or the name of the event that ends an answer; [DONE] if omitted.",
    )
    timeout: float | None = option("--timeout", metavar="SECONDS", help="Timeout of one query.")
    health_url: str | None = option(
        "--health-url", metavar="URL", help="A URL that returns status 200 if the server is ready."
    )
    config_url: str | None = option(
        "--config-url", metavar="URL", help="A URL that returns the server's configuration."
    )


class RunOptions(Options):
    """How many queries are asked, and how fast."""

    heading = "The run"

    name: str | None = option(
        "--name", metavar="NAME", help="The name of the pipeline; that of the folder if omitted."
    )
    concurrency: int | None = option(
        "--concurrency", metavar="N", help="Number of queries asked at the same time; 4 if omitted."
    )
    rate: float | None = option(
        "--rate", metavar="N", help="Maximum number of requests per second."
    )
    warm_up: int | None = option(
        "--warm-up", metavar="N", help="Number of warm-up queries, asked first and not measured."
    )
    samples: int | None = option(
        "--samples",
        metavar="N",
        help="Number of queries to draw at random, from each data set; all if omitted.",
    )
    seed: int | None = option(
        "--seed", metavar="N", help="Seed of the random numbers; 0 if omitted."
    )
    resume: bool = option("--resume", help="Continue the run in FOLDER.")
    retry_failed: bool = option("--retry-failed", help="Continue, and repeat failed queries.")
    table: str | None = option(
        "--table", type=click.Choice(["parquet", "jsonl"]), help="File format of the records."
    )


class ResultOptions(RetrievalOptions, MatchingOptions, CorrectOption):
    """What is computed, judged and weighed."""

    heading = "Scores"

    metrics: tuple[str, ...] = option(
        "--metric",
        multiple=True,
        metavar="NAME",
        help="A metric to compute; may be repeated; if omitted, all that the fields allow.",
    )
    no_judge: bool = option("--no-judge", help="Call no judge, even if the settings name one.")
    pipeline_prices: dict[str, tuple[float, float]] = option(
        "--pipeline-price",
        multiple=True,
        parse_all=parse_prices,
        metavar="MODEL=SENT:RECEIVED",
        help="Price of a model of the pipeline in US dollars per million tokens; may be repeated. "
        "The cost of each query is then a metric, cost_usd.",
    )
    weighted: bool = option(
        "--weighted",
        help="Also show one score from weighted objectives, as the command weighted gives it.",
    )
    weights: dict[str, str] = option(
        "--weight",
        multiple=True,
        parse_all=parse_pairs,
        metavar="NAME=W",
        help="The weight of an objective or a metric; implies --weighted.",
    )
    objectives: dict[str, str] = option(
        "--objective",
        multiple=True,
        parse_all=parse_pairs,
        metavar="NAME=METRIC,...",
        help="An objective and its metrics, or a statistic of them and the values that count as 0 "
        "and 1, such as speed=p95(latency_ms),worst=9,best=0; may be repeated.",
    )
    gates_file: Path | None = option(
        "--gates",
        metavar="FILE",
        help="Rules in a file, .toml or .yaml, as for gate; exit code 1 if one does not hold.",
    )
    dry_run: bool = option(
        "--dry-run", help="Ask neither pipeline nor judge; show what would be asked."
    )


class EvalArguments(
    QueryOptions,
    TargetOptions,
    RunOptions,
    ResultOptions,
    StopOptions,
    JudgingOptions,
    FormatOption,
):
    """Ask a pipeline every query, score its answers, and report.

    A server is asked with --url http://localhost:8001/answer. Every answer is on disk before the
    next question is asked; a run that was stopped goes on with --resume. With --judge
    faithfulness --model llama3.1 a chat model judges the answers in the same run. FOLDER then holds
    the records, run.json, scores.json for the other commands, and report.html, a page with every
    query.
    """

    config: str | None = option(
        "--config", metavar="FILE", help="Settings in YAML; options override them."
    )
    folder: Path | None = option(
        "-o",
        "--output",
        type=FOLDER,
        metavar="FOLDER",
        help="The folder of the run; if omitted, runs_dir and name of the settings file.",
    )


evaluate = Command(
    EvalArguments,
    "rageval_report.cli.eval.eval_body:evaluate",
    name="eval",
    examples=(
        "rageval-report eval --callable my_rag:answer --records queries.jsonl -o run",
        "rageval-report eval --callable my_rag:answer --records queries.jsonl -o run "
        "--samples 2 --seed 7 --metric recall@5 --metric exact_match",
        "rageval-report eval --callable my_rag:answer -o run --datasets beir=nfcorpus.zip "
        "--samples 2",
        "rageval-report eval --callable my_rag:answer --records queries.jsonl -o run "
        "--stop-when 'ci_low(exact_match) >= 0.5' --or 'ci_high(exact_match) <= 0.5'",
        "rageval-report eval --config eval.yaml -o run --weight retrieval=2 --weight accuracy=1",
    ),
)

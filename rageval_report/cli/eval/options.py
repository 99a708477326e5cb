"""The options of eval: what is asked, which queries, how fast, and what is made of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click


def pairs(context: click.Context, option: click.Parameter, told: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE, each name once."""
    del context
    found = {}
    for one in told:
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise click.BadParameter(f"expected NAME=VALUE, got {one!r}", param=option)
        found[name.strip()] = value.strip()
    return found


def _json(context: click.Context, option: click.Parameter, told: str | None) -> Any:
    del context
    try:
        return None if told is None else json.loads(told)
    except ValueError as exc:
        raise click.BadParameter(f"expected JSON: {exc}", param=option) from exc


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is asked, and how."""
    for option in reversed(
        (
            click.option("--url", "--rag-url", metavar="URL", help="A server that is asked."),
            click.option(
                "--callable",
                "function",
                metavar="MODULE:FUNCTION",
                help="A Python function of a question instead.",
            ),
            click.option(
                "--command", "line", metavar="LINE", help="A command that reads JSON Lines instead."
            ),
            click.option("--method", metavar="NAME", help="Of the request; POST where not given."),
            click.option(
                "--header",
                "headers",
                multiple=True,
                callback=pairs,
                metavar="NAME=VALUE",
                help="A header; a key is named: 'Authorization=Bearer ${RAG_API_KEY}'.",
            ),
            click.option(
                "--body",
                callback=_json,
                metavar="JSON",
                help='What is sent; {question} is filled in. \'{"question": "{question}"}\' where '
                "not given.",
            ),
            click.option(
                "--path",
                "paths",
                multiple=True,
                callback=pairs,
                metavar="FIELD=PATH",
                help="Where a field stands in the answer, as answer=choices.0.message.content or "
                "retrieved=sources.*.id.",
            ),
            click.option(
                "--stream",
                metavar="PATH",
                help="The answer comes as server-sent events; where its pieces stand in them.",
            ),
            click.option(
                "--stream-end",
                metavar="TEXT",
                help="The data or the name of the event that ends an answer, if not [DONE].",
            ),
            click.option("--timeout", type=float, metavar="SECONDS", help="For one query."),
            click.option("--health-url", metavar="URL", help="What answers 200 when all is well."),
            click.option(
                "--config-url", metavar="URL", help="What tells how the server is set up."
            ),
        )
    ):
        command = option(command)
    return command


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How fast, how many."""
    for option in reversed(
        (
            click.option("--name", metavar="NAME", help="The pipeline's; the folder's otherwise."),
            click.option("--concurrency", type=int, metavar="N", help="Queries at once; 4."),
            click.option("--rate", type=float, metavar="N", help="Requests a second at most."),
            click.option(
                "--warm-up", type=int, metavar="N", help="Queries asked before, unmeasured."
            ),
            click.option(
                "--samples",
                type=int,
                metavar="N",
                help="Queries drawn at random, of every data set so many; all.",
            ),
            click.option("--seed", type=int, metavar="N", help="For the draw; 0."),
            click.option("--resume", is_flag=True, help="Go on with the run in FOLDER."),
            click.option("--retry-failed", is_flag=True, help="And ask again what failed."),
            click.option(
                "--table", type=click.Choice(["parquet", "jsonl"]), help="How records are written."
            ),
        )
    ):
        command = option(command)
    return command


def query_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Which queries."""
    for option in reversed(
        (
            click.option(
                "--records",
                metavar="FILE",
                help="The queries, with gold: .jsonl, .csv, .parquet ...",
            ),
            click.option(
                "--datasets",
                "--dataset",
                "datasets",
                multiple=True,
                metavar="NAME[=PATH]",
                help="Questions of a data set instead: a name that `datasets` lists, as squad_v2 "
                "or ragbench/covidqa, with or without its path, or the path of a golden set; may "
                "be repeated, or joined by commas.",
            ),
            click.option("--split", metavar="NAME", help="Of the data sets, as train, test."),
        )
    ):
        command = option(command)
    return command


def result_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is computed, judged and weighed."""
    for option in reversed(
        (
            click.option(
                "--metric",
                "metrics",
                multiple=True,
                metavar="NAME",
                help="What is computed; may be repeated. What the fields allow where not given.",
            ),
            click.option(
                "--no-judge",
                is_flag=True,
                help="Judge nothing, whatever the file or --metric says.",
            ),
            click.option(
                "--weighted",
                is_flag=True,
                help="One score from weighted objectives too, as rank --weighted gives it.",
            ),
            click.option(
                "--weight",
                "weights",
                multiple=True,
                callback=pairs,
                metavar="NAME=W",
                help="The weight of an objective or a metric; implies --weighted.",
            ),
            click.option(
                "--objective",
                "objectives",
                multiple=True,
                callback=pairs,
                metavar="NAME=METRIC,...",
                help="An objective and the metrics it is made of; may be repeated.",
            ),
            click.option(
                "--dry-run",
                is_flag=True,
                help="Ask neither pipeline nor judge; say what would be asked.",
            ),
        )
    ):
        command = option(command)
    return command

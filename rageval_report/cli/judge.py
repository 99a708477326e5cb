"""The command that lets a chat model judge records."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_report._registry import load
from rageval_report.cli.group import INTERRUPTED, examples
from rageval_report.cli.notes import note
from rageval_report.cli.options import output_options
from rageval_report.cli.output import Output, check_free
from rageval_report.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from rageval_report import RAGPipelineEvaluation
    from rageval_report.judges import Judged
    from rageval_report.judges.chats.over_http import HttpChat
    from rageval_report.judges.rubric import Rubric
    from rageval_report.results import Result

_JUDGES = "rageval_report.judges"
_DEFAULT = ("faithfulness", "answer_relevancy")


def _price(
    context: click.Context, option: click.Parameter, told: str | None
) -> tuple[float, float] | None:
    """Two numbers with a colon between."""
    del context
    if told is None:
        return None
    sent, colon, received = told.partition(":")
    try:
        price = float(sent), float(received)
    except ValueError:
        price = math.nan, math.nan
    if not colon or not all(math.isfinite(one) and one >= 0.0 for one in price):
        raise click.BadParameter(f"expected SENT:RECEIVED, as 0.15:0.6; got {told!r}", param=option)
    return price


def _model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Who judges."""
    for option in reversed(
        (
            click.option(
                "--provider",
                metavar="NAME",
                help="anthropic, gemini, ollama or openai; else RAG_EVAL_PROVIDER, else openai "
                "with --base-url and ollama without.",
            ),
            click.option(
                "--model", metavar="NAME", help="Who judges; else RAG_EVAL_<PROVIDER>_MODEL."
            ),
            click.option(
                "--base-url", metavar="URL", help="A server of yours, as http://localhost:8000/v1."
            ),
            click.option(
                "--api-key-env", metavar="NAME", help="The environment variable of its key."
            ),
            click.option(
                "--max-tokens", type=int, metavar="N", help="How long an answer may be; 1024."
            ),
            click.option("--temperature", type=float, metavar="T", help="Sent where given only."),
            click.option("--timeout", type=float, metavar="SECONDS", help="Of one call; 120."),
            click.option("--no-schema", is_flag=True, help="For servers that keep no JSON schema."),
        )
    ):
        command = option(command)
    return command


def _how_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How fast, how often, how dear."""
    for option in reversed(
        (
            click.option(
                "--concurrency",
                type=int,
                default=8,
                show_default=True,
                metavar="N",
                help="Calls at once.",
            ),
            click.option("--per-minute", type=float, metavar="N", help="Calls a minute at most."),
            click.option(
                "--n-repeats",
                type=int,
                default=1,
                show_default=True,
                metavar="N",
                help="Ask the same so often, to see the judge's noise.",
            ),
            click.option(
                "--price",
                callback=_price,
                metavar="SENT:RECEIVED",
                help="US dollars a million tokens of the model.",
            ),
            click.option(
                "--max-cost", type=float, metavar="USD", help="Begin no call that could exceed it."
            ),
            click.option(
                "--cache",
                "cache_path",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="Where answers are kept; else RAGEVAL_CACHE, else your folder of caches.",
            ),
            click.option("--no-cache", is_flag=True, help="Keep no answers, and use none."),
            click.option("--dry-run", is_flag=True, help="Ask nobody; say what it would take."),
        )
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class _Asked:
    """What was asked on the command line."""

    records: str
    judges: tuple[str, ...]
    rubrics: tuple[Path, ...]
    against: str | None
    name: str | None
    generator: str | None
    query_id: str
    provider: str | None
    model: str | None
    base_url: str | None
    api_key_env: str | None
    max_tokens: int | None
    temperature: float | None
    timeout: float | None
    no_schema: bool
    concurrency: int
    per_minute: float | None
    n_repeats: int
    price: tuple[float, float] | None
    max_cost: float | None
    cache_path: Path | None
    no_cache: bool
    dry_run: bool

    def chat(self) -> HttpChat:
        """The model that judges."""
        told = {
            "base_url": self.base_url,
            "api_key_env": self.api_key_env,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "timeout": self.timeout,
        }
        given: dict[str, Any] = {name: one for name, one in told.items() if one is not None}
        if self.no_schema:
            given["structured"] = False
        chat_from_environment = load(f"{_JUDGES}:chat_from_environment")
        chat: HttpChat = chat_from_environment(self.provider, self.model, **given)
        return chat

    def chosen(self) -> list[Rubric | str]:
        """The rubrics, named and read."""
        read = [load(f"{_JUDGES}:read_rubric")(path) for path in self.rubrics]
        return [*(self.judges or (() if read else _DEFAULT)), *read]

    def cache(self) -> Path | None:
        """Where answers are kept."""
        if self.no_cache:
            return None
        return self.cache_path or Path(load(f"{_JUDGES}:default_cache")())

    def prices(self, model: str) -> dict[str, tuple[float, float]] | None:
        """What the model costs."""
        return None if self.price is None else {model: self.price}

    def table(self, path: str) -> pd.DataFrame:
        """Records of a file."""
        read_records = load("rageval_report:read_records")
        table: pd.DataFrame = read_records(
            path, query_id=self.query_id, unretrieved_citations="keep"
        )
        return table


@click.command(
    epilog=examples(
        "rageval-report judge records.jsonl --judge faithfulness --model llama3.1 --dry-run",
        "rageval-report judge records.jsonl --rubric tone.yaml --base-url http://localhost:8000/v1 "
        "--model qwen3 --price 0.15:0.6 --dry-run",
    )
)
@click.argument("records", metavar="RECORDS")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME",
    help="A rubric, as faithfulness, answer_correctness, context_recall; may be repeated.",
)
@click.option(
    "--rubric",
    "rubrics",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A rubric of yours, YAML, JSON or TOML; may be repeated.",
)
@click.option(
    "--against",
    metavar="FILE",
    help="Records of a baseline: say whose answers are better, asked in both orders.",
)
@click.option("--name", metavar="NAME", help="The pipeline's; the file's where not given.")
@click.option("--generator", metavar="MODEL", help="The model that gave the answers.")
@click.option("--query-id", default="query_id", metavar="COLUMN", help="The column of query ids.")
@_model_options
@_how_options
@click.option(
    "--queries", metavar="FILE", help="Write a row a query: .json (a run file), .csv, .jsonl, ..."
)
@output_options
def judge(queries: str | None, output: Output, **given: Any) -> int:
    """Let a chat model judge RECORDS by rubrics, and report the scores.

    RECORDS holds a row a query: question, answer, contexts, reference. Keys come from the
    environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY; a server of yours gets the one
    that you name. What was answered is kept in a cache, so that after Ctrl-C, or where the budget
    was spent, the same command goes on.
    """
    asked = _Asked(**given)
    if queries is not None:
        check_free(Path(queries), force=False)
    if asked.dry_run:
        output.write({"estimate": _estimated(asked)})
        return 0
    return _preferred(asked, queries, output) if asked.against else _judged(asked, queries, output)


def _estimated(asked: _Asked) -> Result:
    if asked.against:
        raise DataError("--dry-run is for rubrics of one pipeline; --against asks twice a query")
    chat = asked.chat()
    cache = asked.cache()
    frame = load(f"{_JUDGES}:estimate")(
        asked.table(asked.records),
        asked.chosen(),
        chat,
        n_repeats=asked.n_repeats,
        cache=cache,
        prices=asked.prices(chat.model),
    )
    notes = ["nothing was asked; tokens are guessed from lengths, about four bytes each"]
    if asked.price is None:
        notes.append("the cost is not known: give the model's with --price SENT:RECEIVED")
    result: Result = load("rageval_report:Result")(
        "Estimate", frame, {"judge_model": chat.model, "n_repeats": asked.n_repeats}, tuple(notes)
    )
    return result


def _how(asked: _Asked, model: str) -> dict[str, Any]:
    return {
        "cache": asked.cache(),
        "concurrency": asked.concurrency,
        "per_minute": asked.per_minute,
        "prices": asked.prices(model),
        "max_cost": asked.max_cost,
        "progress": not click.get_current_context().params.get("quiet"),
    }


def _judged(asked: _Asked, queries: str | None, output: Output) -> int:
    chat = asked.chat()
    judged: Judged = load(f"{_JUDGES}:judge")(
        asked.table(asked.records),
        asked.chosen(),
        chat,
        n_repeats=asked.n_repeats,
        generator=asked.generator,
        **_how(asked, chat.model),
    )
    evaluation = _evaluation(asked.name or _stem(asked.records), judged)
    results: dict[str, Result] = {evaluation.name: evaluation.evaluation_report()}
    if len(judged.noise):
        result = load("rageval_report:Result")
        results["noise"] = result("Noise of the judge", judged.noise, judged.settings)
    output.write(results)
    if queries is not None:
        note(f"wrote {evaluation.save(queries)}")
    return INTERRUPTED if judged.is_interrupted else 0


def _stem(path: str) -> str:
    return "records" if path == "-" else Path(path).name.partition(".")[0]


def _evaluation(name: str, judged: Judged) -> RAGPipelineEvaluation:
    metrics = load("rageval_report:METRICS")
    for metric in judged.metrics.values():
        if metric.name not in metrics:  # a rubric of the user's: its direction is known here only
            metrics.add(metric.name, metric)
    evaluation: RAGPipelineEvaluation = load("rageval_report:RAGPipelineEvaluation")(
        name, judged.rows, metrics=list(judged.metrics), config={"judge": judged.settings}
    )
    return evaluation.noting(*judged.notes)


def _preferred(asked: _Asked, queries: str | None, output: Output) -> int:
    if asked.judges or asked.n_repeats > 1:
        raise click.UsageError("--against asks for a preference; leave out --judge and --n-repeats")
    if len(asked.rubrics) > 1:
        raise click.UsageError("--against takes one --rubric, of the kind preference")
    chat = asked.chat()
    rubric = [load(f"{_JUDGES}:read_rubric")(path) for path in asked.rubrics] or ["preference"]
    found = load(f"{_JUDGES}:prefer")(
        asked.table(str(asked.against)),
        asked.table(asked.records),
        chat,
        rubric=rubric[0],
        **_how(asked, chat.model),
    )
    row = {
        "baseline": _stem(str(asked.against)),
        "candidate": asked.name or _stem(asked.records),
        **{name: getattr(found, name) for name in ("n", "n_unscored", "wins", "ties", "losses")},
        "first_place": found.position["first"],
    }
    frame = load("pandas:DataFrame")([row])
    output.write(
        {
            "preference": load("rageval_report:Result")(
                "Preference", frame, found.settings, found.notes
            )
        }
    )
    if queries is not None:
        written = load("rageval_report.scores.write:csv_text")(found.frame.reset_index())
        note(f"wrote {load('rageval_report.files.writing:write_atomically')(queries, written)}")
    return INTERRUPTED if found.is_interrupted else 0

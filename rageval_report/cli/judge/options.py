"""The options of the judge, shared by the commands that let a chat model judge."""

from __future__ import annotations

import math
from pathlib import Path

import click

from rageval_report.cli.command import option
from rageval_report.cli.options import QuietOption
from rageval_report.cli.parsing import parse_pairs


def parse_price(text: str) -> tuple[float, float]:
    """The two numbers of SENT:RECEIVED.

    Examples
    --------
    >>> parse_price("0.15:0.6")
    (0.15, 0.6)
    """
    sent, colon, received = text.partition(":")
    try:
        price = float(sent), float(received)
    except ValueError:
        price = math.nan, math.nan
    if not colon or not all(math.isfinite(value) and value >= 0.0 for value in price):
        raise click.BadParameter(f"expected SENT:RECEIVED, such as 0.15:0.6; got {text!r}")
    return price


def parse_prices(texts: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """The prices by model of several MODEL=SENT:RECEIVED.

    Examples
    --------
    >>> parse_prices(("small=0.15:0.6", "llama3:8b=0:0"))
    {'small': (0.15, 0.6), 'llama3:8b': (0.0, 0.0)}
    """
    return {model: parse_price(price) for model, price in parse_pairs(texts).items()}


class JudgingOptions(QuietOption):
    """The rubrics, the model that judges, and how it is asked.

    A command whose pipeline has no timeout and no concurrency declares those of the judge again,
    without "judge-" before them.
    """

    heading = "The judge"

    judges: tuple[str, ...] = option(
        "--judge",
        multiple=True,
        metavar="NAME",
        help="A rubric, such as faithfulness, answer_correctness, context_recall; names of other "
        "frameworks work too (groundedness); may be repeated.",
    )
    rubrics: tuple[Path, ...] = option(
        "--rubric",
        multiple=True,
        metavar="FILE",
        help="A rubric of your own in a file, YAML, JSON or TOML; may be repeated.",
    )
    provider: str | None = option(
        "--provider",
        metavar="NAME",
        help="anthropic, bedrock, gemini, ollama or openai; if omitted, RAG_EVAL_PROVIDER, else "
        "openai with --base-url and ollama without.",
    )
    model: str | None = option(
        "--model",
        metavar="NAME",
        help="The model that judges; if omitted, RAG_EVAL_<PROVIDER>_MODEL.",
    )
    judge_models: tuple[str, ...] = option(
        "--judge-model",
        multiple=True,
        metavar="[PROVIDER=]NAME",
        help="One of several models, of which each judges every query: the score is their majority "
        "(yes and no) or their mean. A name alone goes with --provider and --base-url.",
    )
    base_url: str | None = option(
        "--base-url",
        metavar="URL",
        help="The judge's server, if it is your own, such as http://localhost:8000/v1.",
    )
    api_key_env: str | None = option(
        "--api-key-env", metavar="NAME", help="The environment variable that holds the API key."
    )
    max_tokens: int | None = option(
        "--max-tokens", metavar="N", help="Maximum length of a verdict in tokens; 1024 if omitted."
    )
    temperature: float | None = option(
        "--temperature",
        metavar="T",
        help="Sampling temperature; the provider's default if omitted.",
    )
    judge_timeout: float | None = option(
        "--judge-timeout",
        metavar="SECONDS",
        help="Timeout of one call of the judge; 120 if omitted.",
    )
    no_schema: bool = option(
        "--no-schema",
        help="Send no JSON schema; a server that refuses a schema is asked without it anyway.",
    )
    judge_concurrency: int | None = option(
        "--judge-concurrency",
        metavar="N",
        help="Number of calls of the judge at the same time; 8 if omitted.",
    )
    per_minute: float | None = option(
        "--per-minute", metavar="N", help="Maximum number of calls of the judge per minute."
    )
    n_repeats: int | None = option(
        "--n-repeats",
        metavar="N",
        help="Ask the same question N times, to measure the judge's noise; once if omitted.",
    )
    price: tuple[float, float] | None = option(
        "--price",
        parse=parse_price,
        metavar="SENT:RECEIVED",
        help="Price of the judge in US dollars per million tokens.",
    )
    judge_prices: dict[str, tuple[float, float]] = option(
        "--judge-price",
        multiple=True,
        parse_all=parse_prices,
        metavar="MODEL=SENT:RECEIVED",
        help="Price of one of several judges in US dollars per million tokens; may be repeated.",
    )
    max_cost: float | None = option(
        "--max-cost",
        metavar="USD",
        help="Send no request with which the cost of all judges together could exceed this; it "
        "includes what earlier runs with the same cache have spent.",
    )
    max_cost_over: str | None = option(
        "--max-cost-over",
        type=click.Choice(["cache", "run"]),
        help="What --max-cost limits: all runs with the same cache (the default), or this run.",
    )
    cache_path: Path | None = option(
        "--cache",
        metavar="FILE",
        help="The file that keeps verdicts; if omitted, RAGEVAL_CACHE, else a file in your cache "
        "folder.",
    )
    no_cache: bool = option("--no-cache", help="Neither read nor write the cache.")
    retry_unusable: bool = option(
        "--retry-unusable",
        help="Ask again where the cache has an answer without a verdict: refused, cut off, or "
        "impossible to read.",
    )

"""The judge that the options and a file of settings describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click
import pandas as pd

from rageval_report.cli.judge.options import JudgingOptions
from rageval_report.cli.notes import note
from rageval_report.judges.chats import Chat
from rageval_report.results import Result
from rageval_report.runner.eval_config import JudgeSection
from rageval_report.runner.judge_setup import JudgeSetup


def judge_setup(
    options: JudgingOptions, section: JudgeSection | None = None, *, is_rehearsal: bool = False
) -> JudgeSetup:
    """The judge of a section of settings, overridden by the command line.

    Parameters
    ----------
    options : JudgingOptions
        The command line.
    section : JudgeSection, optional
        The file.
    is_rehearsal : bool
        Whether nobody will be asked.
    """
    if options.judge_models and options.model is not None:
        raise click.UsageError("Give --model, or --judge-model for each of several judges.")
    if len(options.judge_models) > 1 and options.price is not None:
        raise click.UsageError(
            "--price is that of one judge; give --judge-price MODEL=SENT:RECEIVED for each."
        )
    return JudgeSetup(
        _override_section(section or JudgeSection(), options),
        chosen=(*options.judges, *options.rubrics),
        price=options.price,
        progress=not options.quiet,
        tell=note,
        is_rehearsal=is_rehearsal,
    )


def _override_section(section: JudgeSection, options: JudgingOptions) -> JudgeSection:
    cache = None if options.cache_path is None else str(options.cache_path)
    if options.model is not None or options.judge_models:
        section = replace(section, model=None, models=())
    overrides: dict[str, Any] = {
        "provider": options.provider,
        "model": options.model,
        "models": options.judge_models or None,
        "prices": {**section.prices, **options.judge_prices},
        "base_url": options.base_url,
        "api_key_env": options.api_key_env,
        "temperature": options.temperature,
        "max_tokens": options.max_tokens,
        "timeout": options.judge_timeout,
        "concurrency": options.judge_concurrency,
        "per_minute": options.per_minute,
        "n_repeats": options.n_repeats,
        "max_cost": options.max_cost,
        "max_cost_over": options.max_cost_over,
        "structured": False if options.no_schema else None,
        "retry_unusable": options.retry_unusable or None,
        "cache": False if options.no_cache else cache,
    }
    return replace(
        section, **{name: value for name, value in overrides.items() if value is not None}
    )


def estimate_settings(setup: JudgeSetup, chats: Sequence[Chat]) -> dict[str, object]:
    """The models that would judge, and how often."""
    return {
        "judge_model": " + ".join(chat.model for chat in chats),
        "n_repeats": setup.repeats,
    }


def estimate_result(
    setup: JudgeSetup, chats: Sequence[Chat], frame: pd.DataFrame, *notes: str
) -> Result:
    """The calls, tokens and cost that the judges would need; no request is sent."""
    messages = ["no request was sent; tokens are estimated from lengths, four bytes each"]
    if not setup.is_priced:
        messages.append(f"the cost is not known: give {_price_option(chats)}")
    if setup.cache() is not None:
        messages.append(f"replies in {setup.cache()} are not requested again, and cost nothing")
    if len(chats) > 1:
        messages.append(f"all {len(chats)} judges together: {_total(frame)}")
    return Result("Estimate", frame, estimate_settings(setup, chats), (*messages, *notes))


def _price_option(chats: Sequence[Chat]) -> str:
    if len(chats) == 1:
        return "the model's price with --price SENT:RECEIVED"
    return "each model's price with --judge-price MODEL=SENT:RECEIVED"


def _total(frame: pd.DataFrame) -> str:
    calls = f"{frame['n_calls'].sum()} calls"
    costs, limits = (frame[name].astype(float) for name in ("cost_usd", "max_cost_usd"))
    if costs.isna().any():
        return calls
    most = "" if limits.isna().any() else f", {limits.sum():.4g} USD at most"
    return f"{calls}, about {costs.sum():.4g} USD{most}"

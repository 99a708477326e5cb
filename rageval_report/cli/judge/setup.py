"""The judge that the options and a file of settings describe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from rageval_report.cli.judge.options import JudgingOptions
from rageval_report.cli.notes import note
from rageval_report.evaluating.judge_section import JudgeSection
from rageval_report.evaluating.judge_setup import JudgeSetup
from rageval_report.judges.chats.base import Chat
from rageval_report.results import Result


def judge_setup(options: JudgingOptions, section: JudgeSection | None = None) -> JudgeSetup:
    """The judge of a section of settings, overridden by the command line.

    Parameters
    ----------
    options : JudgingOptions
        The command line.
    section : JudgeSection, optional
        The file.
    """
    return JudgeSetup(
        _override_section(section or JudgeSection(), options),
        chosen=(*options.judges, *options.rubrics),
        price=options.price,
        progress=not options.quiet,
        tell=note,
    )


def _override_section(section: JudgeSection, options: JudgingOptions) -> JudgeSection:
    cache = None if options.cache_path is None else str(options.cache_path)
    overrides: dict[str, Any] = {
        "provider": options.provider,
        "model": options.model,
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


def estimate_result(setup: JudgeSetup, chat: Chat, frame: pd.DataFrame, *notes: str) -> Result:
    """The calls, tokens and cost that a judge would need; no request is sent."""
    messages = ["no request was sent; tokens are estimated from lengths, four bytes each"]
    if not setup.is_priced:
        messages.append("the cost is not known: give the model's price with --price SENT:RECEIVED")
    if setup.cache() is not None:
        messages.append(f"replies in {setup.cache()} are not requested again, and cost nothing")
    settings = {"judge_model": chat.model, "n_repeats": setup.repeats}
    return Result("Estimate", frame, settings, (*messages, *notes))

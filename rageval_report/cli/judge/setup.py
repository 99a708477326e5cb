"""The judge that the options and a file of settings describe, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pandas as pd

from rageval_report import judges
from rageval_report.cli.judge.options import JudgingOptions
from rageval_report.cli.judge.section import JudgeSection
from rageval_report.cli.notes import note
from rageval_report.judges import Judged, Rubric, default_cache, read_rubric
from rageval_report.judges.chats.base import Chat
from rageval_report.judges.judge_options import CallOptions, JudgeOptions
from rageval_report.judges.rubrics import rubrics_of
from rageval_report.results import Result

if TYPE_CHECKING:
    from rageval_report.judges.chats.chat_options import ChatOptions
    from rageval_report.judges.ledger import MaxCostOver

T = TypeVar("T")


@dataclass(frozen=True)
class JudgeSetup:
    """The options of the judge, and behind them its section of a file of settings.

    Parameters
    ----------
    options : JudgingOptions
        The command line, which comes first.
    section : JudgeSection
        The file.
    """

    options: JudgingOptions
    section: JudgeSection = field(default_factory=JudgeSection)

    @property
    def repeats(self) -> int:
        """How often the same question is asked."""
        n_repeats = _first(self.options.n_repeats, self.section.n_repeats)
        return 1 if n_repeats is None else n_repeats

    @property
    def retry_unusable(self) -> bool:
        """Whether answers in the cache that contain no verdict are asked for again."""
        return self.options.retry_unusable or self.section.retry_unusable

    @property
    def is_priced(self) -> bool:
        """Whether any price is known."""
        return self.options.price is not None or bool(self.section.prices)

    def chat(self) -> Chat:
        """The model that judges."""
        options, section = self.options, self.section
        settings: ChatOptions = {"temperature": _first(options.temperature, section.temperature)}
        max_tokens = _first(options.max_tokens, section.max_tokens)
        if max_tokens is not None:
            settings["max_tokens"] = max_tokens
        timeout = _first(options.judge_timeout, section.timeout)
        if timeout is not None:
            settings["timeout"] = timeout
        if section.max_attempts is not None:
            settings["max_attempts"] = section.max_attempts
        if section.extra_body:
            settings["extra_body"] = section.extra_body
        if options.no_schema or not section.structured:
            settings["structured"] = False
        # The chats over HTTP need an extra, which a run without a judge does not.
        return judges.chat_from_environment(
            _first(options.provider, section.provider),
            _first(options.model, section.model),
            base_url=_first(options.base_url, section.base_url),
            api_key_env=_first(options.api_key_env, section.api_key_env),
            **settings,
        )

    def rubrics_in_files(self) -> list[Rubric]:
        """The rubrics of ``--rubric``."""
        return [read_rubric(path) for path in self.options.rubrics]

    def rubrics(self, default: tuple[str, ...] = ()) -> list[Rubric]:
        """The rubrics of the command line; else those of the file, else those of `default`."""
        chosen: list[str | Rubric] = [*self.options.judges, *self.rubrics_in_files()]
        chosen = chosen or self.section.read_rubrics() or [*default]
        return rubrics_of(chosen) if chosen else []

    def cache(self) -> Path | None:
        """The file that keeps verdicts; None if none are kept."""
        path, in_section = self.options.cache_path, self.section.cache
        if self.options.no_cache or (path is None and in_section is False):
            return None
        if path is None and isinstance(in_section, str):
            return Path(in_section)
        return path or default_cache()

    def prices(self, model: str) -> dict[str, Any] | None:
        """The price of each model; None if none is known."""
        price = {} if self.options.price is None else {model: self.options.price}
        return {**self.section.prices, **price} or None

    def how(self, model: str) -> CallOptions:
        """How the model is asked."""
        options, section = self.options, self.section
        how = CallOptions(
            cache=self.cache(),
            per_minute=_first(options.per_minute, section.per_minute),
            prices=self.prices(model),
            max_cost=_first(options.max_cost, section.max_cost),
            retry_unusable=self.retry_unusable,
            progress=not options.quiet,
            tell=note,
        )
        concurrency = _first(options.judge_concurrency, section.concurrency)
        if concurrency is not None:
            how["concurrency"] = concurrency
        over = _first(options.max_cost_over, section.max_cost_over)
        if over is not None:
            how["max_cost_over"] = cast("MaxCostOver", over)
        if section.give_up_after is not None:
            how["give_up_after"] = section.give_up_after
        return how

    def judge_options(self, model: str) -> JudgeOptions:
        """The options of `judge`; the records say which model gave the answers."""
        return {**self.how(model), "n_repeats": self.repeats, "generator": None}


def estimate_result(setup: JudgeSetup, chat: Chat, frame: pd.DataFrame, *notes: str) -> Result:
    """The calls, tokens and cost that a judge would need; no request is sent."""
    messages = ["no request was sent; tokens are estimated from lengths, four bytes each"]
    if not setup.is_priced:
        messages.append("the cost is not known: give the model's price with --price SENT:RECEIVED")
    if setup.cache() is not None:
        messages.append(f"replies in {setup.cache()} are not requested again, and cost nothing")
    settings = {"judge_model": chat.model, "n_repeats": setup.repeats}
    return Result("Estimate", frame, settings, (*messages, *notes))


def noise_results(judged: Judged | None) -> dict[str, Result]:
    """How much the judge's repeats differ, if there are any."""
    if judged is None or not len(judged.noise):
        return {}
    return {"noise": Result("Noise of the judge", judged.noise, judged.settings)}


def _first(option: T | None, setting: T | None) -> T | None:
    """The value on the command line, else the one in the file."""
    return setting if option is None else option

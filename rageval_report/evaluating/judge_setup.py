"""The judge that a section of settings describes, and what it reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rageval_report import judges
from rageval_report.evaluating.judge_section import JudgeSection
from rageval_report.judges import Judged, Rubric, default_cache, read_rubric
from rageval_report.judges.chats.base import Chat
from rageval_report.judges.judge_options import CallOptions, JudgeOptions
from rageval_report.judges.rubrics import rubrics_of
from rageval_report.results import Result

if TYPE_CHECKING:
    from rageval_report.judges.chats.chat_options import ChatOptions
    from rageval_report.judges.ledger import MaxCostOver


@dataclass(frozen=True)
class JudgeSetup:
    """The section of the judge, and what a file cannot hold.

    Parameters
    ----------
    section : JudgeSection
        The rubrics, the model that judges, and how it is asked.
    chosen : tuple of str, Path or Rubric
        Rubrics that replace those of the section: names, files and rubrics.
    price : tuple of float, optional
        US dollars per million tokens sent and received, of the model that judges.
    model : Chat, optional
        The chat model that judges, if it was handed in; otherwise that of the section.
    progress : bool
        Whether a progress bar is shown if standard error is a terminal.
    tell : callable, optional
        Is called with each note that should be known before the first request.

    Examples
    --------
    >>> setup = JudgeSetup(JudgeSection(n_repeats=2), chosen=("faithfulness",))
    >>> setup.repeats, [rubric.name for rubric in setup.rubrics()]
    (2, ['faithfulness'])
    """

    section: JudgeSection = field(default_factory=JudgeSection)
    chosen: tuple[str | Path | Rubric, ...] = ()
    price: tuple[float, float] | None = None
    model: Chat | None = None
    progress: bool = True
    tell: Callable[[str], object] | None = None

    @property
    def repeats(self) -> int:
        """How often the same question is asked."""
        return 1 if self.section.n_repeats is None else self.section.n_repeats

    @property
    def is_priced(self) -> bool:
        """Whether any price is known."""
        return self.price is not None or bool(self.section.prices)

    def chat(self) -> Chat:
        """The model that judges."""
        if self.model is not None:
            return self.model
        section = self.section
        settings: ChatOptions = {"temperature": section.temperature}
        if section.max_tokens is not None:
            settings["max_tokens"] = section.max_tokens
        if section.timeout is not None:
            settings["timeout"] = section.timeout
        if section.max_attempts is not None:
            settings["max_attempts"] = section.max_attempts
        if section.extra_body:
            settings["extra_body"] = section.extra_body
        if not section.structured:
            settings["structured"] = False
        # The chats over HTTP need an extra, which a run without a judge does not.
        return judges.chat_from_environment(
            section.provider,
            section.model,
            base_url=section.base_url,
            api_key_env=section.api_key_env,
            **settings,
        )

    def rubrics(self, default: tuple[str, ...] = ()) -> list[Rubric]:
        """The chosen rubrics; else those of the section, else those of `default`."""
        chosen: list[str | Rubric] = [
            read_rubric(rubric) if isinstance(rubric, Path) else rubric for rubric in self.chosen
        ]
        chosen = chosen or self.section.read_rubrics() or [*default]
        return rubrics_of(chosen) if chosen else []

    def cache(self) -> Path | None:
        """The file that keeps verdicts; None if none are kept."""
        # A callable is known by its name alone, which another one may have tomorrow.
        in_section = self.section.cache
        if in_section is False or (in_section is None and self.model is not None):
            return None
        return Path(in_section) if isinstance(in_section, str) else default_cache()

    def prices(self, model: str) -> dict[str, Any] | None:
        """The price of each model; None if none is known."""
        price = {} if self.price is None else {model: self.price}
        return {**self.section.prices, **price} or None

    def how(self, model: str) -> CallOptions:
        """How the model is asked."""
        section = self.section
        how = CallOptions(
            cache=self.cache(),
            per_minute=section.per_minute,
            prices=self.prices(model),
            max_cost=section.max_cost,
            retry_unusable=section.retry_unusable,
            progress=self.progress,
            tell=self.tell,
        )
        if section.concurrency is not None:
            how["concurrency"] = section.concurrency
        if section.max_cost_over is not None:
            how["max_cost_over"] = cast("MaxCostOver", section.max_cost_over)
        if section.give_up_after is not None:
            how["give_up_after"] = section.give_up_after
        return how

    def judge_options(self, model: str) -> JudgeOptions:
        """The options of `judge`; the records say which model gave the answers."""
        return {**self.how(model), "n_repeats": self.repeats, "generator": None}


def noise_results(judged: Judged | None) -> dict[str, Result]:
    """How much the judge's repeats differ, if there are any."""
    if judged is None or not len(judged.noise):
        return {}
    return {"noise": Result("Noise of the judge", judged.noise, judged.settings)}

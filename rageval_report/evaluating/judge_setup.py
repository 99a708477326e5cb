"""The judge that a section of settings describes, and what it reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rageval_report import judges
from rageval_report.evaluating.judge_section import JudgeSection
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.judges import Judged, Rubric, default_cache, read_rubric
from rageval_report.judges.chats import Chat, chats_of
from rageval_report.judges.options import CallOptions, JudgeOptions
from rageval_report.judges.preferences import Preferences
from rageval_report.judges.rubric import rubrics_of
from rageval_report.results import Result

if TYPE_CHECKING:
    from rageval_report.judges.chats import ChatOptions
    from rageval_report.judges.options import MaxCostOver

_MOST_DISAGREEMENTS = 20  # as many as a page shows without hiding the other tables


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
    models : tuple of Chat
        The chat models that judge, if they were handed in; otherwise those of the section.
    progress : bool
        Whether a progress bar is shown if standard error is a terminal.
    tell : callable, optional
        Is called with each note that should be known before the first request.
    is_rehearsal : bool
        Whether nobody will be asked, so that no key is needed.

    Examples
    --------
    >>> setup = JudgeSetup(JudgeSection(n_repeats=2), chosen=("faithfulness",))
    >>> setup.repeats, [rubric.name for rubric in setup.rubrics()]
    (2, ['faithfulness'])
    """

    section: JudgeSection = field(default_factory=JudgeSection)
    chosen: tuple[str | Path | Rubric, ...] = ()
    price: tuple[float, float] | None = None
    models: tuple[Chat, ...] = ()
    progress: bool = True
    tell: Callable[[str], object] | None = None
    is_rehearsal: bool = False

    @property
    def repeats(self) -> int:
        """How often the same question is asked."""
        return 1 if self.section.n_repeats is None else self.section.n_repeats

    @property
    def is_priced(self) -> bool:
        """Whether any price is known."""
        return self.price is not None or bool(self.section.prices)

    def chats(self) -> list[Chat]:
        """The models that judge.

        Raises
        ------
        DataError
            If two of them are the same.
        """
        section = self.section
        if self.models:
            return chats_of(self.models)
        if not section.models:
            return [
                self._chat_of(
                    section.provider, section.model, section.base_url, section.api_key_env
                )
            ]
        return chats_of([self._chat_named(name) for name in section.models])

    def _chat_named(self, text: str) -> Chat:
        """The model NAME or PROVIDER=NAME; the address of the section is that of its provider."""
        section = self.section
        provider, sign, name = text.partition("=")
        if sign:
            return self._chat_of(provider, name, None, None)
        return self._chat_of(section.provider, text, section.base_url, section.api_key_env)

    def _chat_of(
        self,
        provider: str | None,
        model: str | None,
        base_url: str | None,
        api_key_env: str | None,
    ) -> Chat:
        section = self.section
        settings: ChatOptions = {
            "base_url": base_url,
            "api_key_env": api_key_env,
            "temperature": section.temperature,
        }
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
        if self.is_rehearsal:
            settings["check_key"] = False
        # The chats over HTTP need an extra, which a run without a judge does not.
        return judges.chat_from_environment(provider, model, **settings)

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
        if in_section is False or (in_section is None and self.models):
            return None
        return Path(in_section) if isinstance(in_section, str) else default_cache()

    def prices(self, chats: Sequence[Chat]) -> dict[str, Any] | None:
        """The price of each model; None if none is known."""
        price = {} if self.price is None else {chat.model: self.price for chat in chats}
        return {**self.section.prices, **price} or None

    def how(self, chats: Sequence[Chat]) -> CallOptions:
        """How the models are asked."""
        section = self.section
        how = CallOptions(
            cache=self.cache(),
            per_minute=section.per_minute,
            prices=self.prices(chats),
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

    def judge_options(self, chats: Sequence[Chat]) -> JudgeOptions:
        """The options of `judge`; the records say which model gave the answers."""
        return {**self.how(chats), "n_repeats": self.repeats, "generator": None}


def noise_results(judged: Judged | None) -> dict[str, Result]:
    """How much the judge's repeats differ, if there are any."""
    if judged is None or not len(judged.noise):
        return {}
    return {"noise": Result("Noise of the judge", judged.noise, judged.settings)}


def judges_results(
    evaluation: RAGPipelineEvaluation, judged: Judged | Preferences | None
) -> dict[str, Result]:
    """How far several judges agree, and where they differ most; nothing for one judge.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        The evaluation that holds their scores.
    judged : Judged or Preferences, optional
        The result of the judging.
    """
    if judged is None or not judged.by_judge:
        return {}
    disagreements = evaluation.judges_disagreements()
    n = len(disagreements.frame)
    if n > _MOST_DISAGREEMENTS:
        shown = f"the first {_MOST_DISAGREEMENTS} of {n}; judges_disagreements() gives all"
        disagreements = replace(
            disagreements, frame=disagreements.frame.head(_MOST_DISAGREEMENTS)
        ).with_notes(shown)
    return {"agreement": evaluation.judges_agreement(), "disagreements": disagreements}

"""The judge that a section of settings describes, and the tables that it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pandas as pd

from rageval_report import judges
from rageval_report.judges import (
    CallOptions,
    ChatOptions,
    Judged,
    JudgeOptions,
    Preferences,
    Rubric,
    default_cache,
    read_rubric,
)
from rageval_report.judges.chats import Chat, chats_of
from rageval_report.judges.rubric import rubrics_of
from rageval_report.results import Result
from rageval_report.runner.eval_config import JudgeSection

_RUBRIC_FILES = (".yaml", ".yml", ".json", ".toml")
_PREFERENCE = "preference"


@dataclass(frozen=True)
class JudgeSetup:
    """The section of the judge, and what a file cannot hold.

    Parameters
    ----------
    section : JudgeSection
        The settings.
    chosen : tuple of str, Path and Rubric
        The rubrics, instead of those of the section.
    price : (float, float), optional
        The price of every model that judges, US dollars per million tokens.
    models : tuple of Chat
        The models that judge, instead of those of the section.
    progress : bool
        Whether progress bars are shown.
    tell : callable, optional
        Is called with each note as soon as it is known.
    is_rehearsal : bool
        Whether nothing will be asked, so that no key is needed.
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
        """The models that judge."""
        if self.models:
            return chats_of(self.models)
        names = self.section.models
        chats = [self._chat_named(name) for name in names or (self.section.model,)]
        return chats_of(chats) if names else chats

    def _chat_named(self, text: str | None) -> Chat:
        """The model NAME or PROVIDER=NAME; the address of the section is that of its provider."""
        section, home = self.section, ("base_url", "api_key_env")
        provider, sign, name = (text or "").partition("=")
        is_elsewhere = bool(sign and section.models)
        places = dict.fromkeys(home) if is_elsewhere else {n: getattr(section, n) for n in home}
        if not is_elsewhere:
            provider, name = section.provider, text  # type: ignore[assignment]
        options: dict[str, Any] = {
            **places,
            "temperature": section.temperature,
            **_stated(section, "max_tokens", "timeout", "max_attempts"),
            **({"extra_body": section.extra_body} if section.extra_body else {}),
            **({} if section.structured else {"structured": False}),
            **({"check_key": False} if self.is_rehearsal else {}),
        }
        # The chats over HTTP need an extra, which a run without a judge does not.
        return judges.chat_from_environment(provider, name, **cast("ChatOptions", options))

    def rubrics(self, default: tuple[str, ...] = ()) -> list[Rubric]:
        """The chosen rubrics; else those of the section, else those of `default`."""
        rubrics = self.chosen or self.section.rubrics or default
        read = [
            read_rubric(rubric)
            if isinstance(rubric, Path)
            or (isinstance(rubric, str) and not self.chosen and _is_rubric_file(rubric))
            else rubric
            for rubric in rubrics
        ]
        return rubrics_of(read) if read else []

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
        how = {
            "cache": self.cache(),
            "prices": self.prices(chats),
            "max_cost": section.max_cost,
            "progress": self.progress,
            "tell": self.tell,
            **_stated(section, "concurrency", "give_up_after"),
        }
        return cast("CallOptions", how)

    def judge_options(self, chats: Sequence[Chat]) -> JudgeOptions:
        """The options of `judge`; the records say which model gave the answers."""
        return {**self.how(chats), "n_repeats": self.repeats, "generator": None}


def _stated(section: JudgeSection, *names: str) -> dict[str, Any]:
    """The settings that have a value."""
    values = {name: getattr(section, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _is_rubric_file(name: str) -> bool:
    return Path(name).suffix.lower() in _RUBRIC_FILES


# -- tables


def noise_results(judged: Judged | None) -> dict[str, Result]:
    """How much the judge's repeats differ, if there are any."""
    if judged is None or not len(judged.noise):
        return {}
    return {"noise": Result("Noise of the judge", judged.noise, judged.settings)}


def preference_results(
    preferences: Preferences, *, baseline: str, candidate: str
) -> dict[str, Result]:
    """The table of a preference, with a row for each of several judges."""
    pipelines = {"baseline": baseline, "candidate": candidate}
    several = preferences.by_judge
    counts = ("n", "n_unscored", "wins", "ties", "losses")
    rows = [
        {
            **pipelines,
            **({"judge": name} if several else {}),
            **{count: getattr(result, count) for count in counts},
            "first_place": result.position["first"],
        }
        for name, result in {f"majority of {len(several)}": preferences, **several}.items()
    ]
    table = Result("Preference", pd.DataFrame(rows), preferences.settings, preferences.notes)
    return {_PREFERENCE: table}

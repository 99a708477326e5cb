"""The options that say who judges, and how: shared by the commands that let a model judge."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_report._registry import load
from rageval_report.cli.judge.section import JudgeSection
from rageval_report.cli.notes import note

if TYPE_CHECKING:
    from rageval_report.judges import Judged
    from rageval_report.judges.chats.over_http import HttpChat
    from rageval_report.judges.rubric import Rubric
    from rageval_report.results import Result

JUDGES = "rageval_report.judges"

Command = Callable[..., Any]


@dataclass(frozen=True)
class Judging:
    """What was said of the judge on the command line, and behind it in a file of settings."""

    judges: tuple[str, ...]
    rubrics: tuple[Path, ...]
    provider: str | None
    model: str | None
    base_url: str | None
    api_key_env: str | None
    max_tokens: int | None
    temperature: float | None
    judge_timeout: float | None
    no_schema: bool
    judge_concurrency: int | None
    per_minute: float | None
    n_repeats: int | None
    price: tuple[float, float] | None
    max_cost: float | None
    cache_path: Path | None
    no_cache: bool
    section: JudgeSection = field(default_factory=JudgeSection)

    @property
    def repeats(self) -> int:
        """How often the same is asked."""
        return int(_first(self.n_repeats, self.section.n_repeats, 1))

    @property
    def is_priced(self) -> bool:
        """Whether any price is known."""
        return self.price is not None or bool(self.section.prices)

    def chat(self) -> HttpChat:
        """The model that judges."""
        file = self.section
        told = {
            "base_url": _first(self.base_url, file.base_url),
            "api_key_env": _first(self.api_key_env, file.api_key_env),
            "max_tokens": _first(self.max_tokens, file.max_tokens),
            "temperature": _first(self.temperature, file.temperature),
            "timeout": _first(self.judge_timeout, file.timeout),
            "max_attempts": file.max_attempts,
            "extra_body": file.extra_body or None,
        }
        given: dict[str, Any] = {name: one for name, one in told.items() if one is not None}
        if self.no_schema or not file.structured:
            given["structured"] = False
        chat_from_environment = load(f"{JUDGES}:chat_from_environment")
        provider, model = _first(self.provider, file.provider), _first(self.model, file.model)
        chat: HttpChat = chat_from_environment(provider, model, **given)
        return chat

    def read(self) -> list[Rubric]:
        """The rubrics that stand in files."""
        return [load(f"{JUDGES}:read_rubric")(path) for path in self.rubrics]

    def chosen(self, default: tuple[str, ...] = ()) -> list[Rubric]:
        """The rubrics, named and read; else those of the file, else those of `default`."""
        asked = [*self.judges, *self.read()] or self.section.chosen() or [*default]
        found: list[Rubric] = load(f"{JUDGES}.rubrics:rubrics_of")(asked) if asked else []
        return found

    def cache(self) -> Path | None:
        """Where answers are kept."""
        in_file = self.section.cache
        if self.no_cache or (self.cache_path is None and in_file is False):
            return None
        if self.cache_path is None and isinstance(in_file, str):
            return Path(in_file)
        return self.cache_path or Path(load(f"{JUDGES}:default_cache")())

    def prices(self, model: str) -> dict[str, Any] | None:
        """What the model costs."""
        told = {} if self.price is None else {model: self.price}
        return {**self.section.prices, **told} or None

    def how(self, model: str) -> dict[str, Any]:
        """How it is asked, for `judge` and `prefer`."""
        file = self.section
        told = {
            "concurrency": _first(self.judge_concurrency, file.concurrency),
            "give_up_after": file.give_up_after,
        }
        return {
            "cache": self.cache(),
            "per_minute": _first(self.per_minute, file.per_minute),
            "prices": self.prices(model),
            "max_cost": _first(self.max_cost, file.max_cost),
            "progress": not click.get_current_context().params.get("quiet"),
            "tell": note,
            **{name: one for name, one in told.items() if one is not None},
        }


def _first(*told: Any) -> Any:
    """The first that was said."""
    return next((one for one in told if one is not None), None)


def judging_options(of_the_judge: str = "") -> Callable[[Command], Command]:
    """Who judges by what and how, as the argument ``judging``.

    Parameters
    ----------
    of_the_judge : str
        What stands before ``timeout`` and ``concurrency``, as "judge-" in a command whose pipeline
        has options of these names.
    """

    def with_options(command: Command) -> Command:
        @functools.wraps(command)
        def with_judging(**given: Any) -> Any:
            names = [one.name for one in fields(Judging) if one.name in given]
            told = {name: given.pop(name) for name in names}
            return command(judging=Judging(**told), **given)

        options = (*_rubric_options(), *_model_options(of_the_judge), *_how_options(of_the_judge))
        for option in reversed(options):
            option(with_judging)
        return with_judging

    return with_options


def estimate_result(judging: Judging, chat: HttpChat, frame: Any, *notes: str) -> Result:
    """What a judge would take, as a result; nothing was asked for it."""
    told = ["nothing was asked; tokens are guessed from lengths, about four bytes each"]
    if not judging.is_priced:
        told.append("the cost is not known: give the model's with --price SENT:RECEIVED")
    if judging.cache() is not None:
        told.append(f"what is in {judging.cache()} already is not asked again, and costs nothing")
    settings = {"judge_model": chat.model, "n_repeats": judging.repeats}
    result: Result = load("rageval_report:Result")("Estimate", frame, settings, (*told, *notes))
    return result


def noise_results(judged: Judged | None) -> dict[str, Result]:
    """How far the judges' repeats differ, where there are any."""
    if judged is None or not len(judged.noise):
        return {}
    result = load("rageval_report:Result")
    return {"noise": result("Noise of the judge", judged.noise, judged.settings)}


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


Option = Callable[[Command], Command]


def _rubric_options() -> tuple[Option, ...]:
    return (
        click.option(
            "--judge",
            "judges",
            multiple=True,
            metavar="NAME",
            help="A rubric, as faithfulness, answer_correctness, context_recall, also as other "
            "frameworks call it (groundedness); may be repeated.",
        ),
        click.option(
            "--rubric",
            "rubrics",
            multiple=True,
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="A rubric of yours, YAML, JSON or TOML; may be repeated.",
        ),
    )


def _model_options(of_the_judge: str) -> tuple[Option, ...]:
    return (
        click.option(
            "--provider",
            metavar="NAME",
            help="anthropic, gemini, ollama or openai; else RAG_EVAL_PROVIDER, else openai "
            "with --base-url and ollama without.",
        ),
        click.option("--model", metavar="NAME", help="Who judges; else RAG_EVAL_<PROVIDER>_MODEL."),
        click.option(
            "--base-url",
            metavar="URL",
            help="The judge's server, where it is yours, as http://localhost:8000/v1.",
        ),
        click.option("--api-key-env", metavar="NAME", help="The environment variable of its key."),
        click.option(
            "--max-tokens", type=int, metavar="N", help="How long a verdict may be; 1024."
        ),
        click.option("--temperature", type=float, metavar="T", help="Sent where given only."),
        click.option(
            f"--{of_the_judge}timeout",
            "judge_timeout",
            type=float,
            metavar="SECONDS",
            help="Of one call of the judge; 120.",
        ),
        click.option(
            "--no-schema",
            is_flag=True,
            help="Send no JSON schema; a server that refuses one is asked without it anyway.",
        ),
    )


def _how_options(of_the_judge: str) -> tuple[Option, ...]:
    return (
        click.option(
            f"--{of_the_judge}concurrency",
            "judge_concurrency",
            type=int,
            metavar="N",
            help="Calls of the judge at once; 8.",
        ),
        click.option(
            "--per-minute", type=float, metavar="N", help="Calls of the judge a minute at most."
        ),
        click.option(
            "--n-repeats",
            type=int,
            metavar="N",
            help="Ask the same so often, to see the judge's noise; once.",
        ),
        click.option(
            "--price",
            callback=_price,
            metavar="SENT:RECEIVED",
            help="US dollars a million tokens of the judge.",
        ),
        click.option(
            "--max-cost", type=float, metavar="USD", help="Begin no call that could exceed it."
        ),
        click.option(
            "--cache",
            "cache_path",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Where verdicts are kept; else RAGEVAL_CACHE, else your folder of caches.",
        ),
        click.option("--no-cache", is_flag=True, help="Keep no verdicts, and use none."),
    )

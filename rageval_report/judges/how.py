"""How a chat model is asked: with which cache, budget and pace, opened once and closed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rageval_report.errors import JudgeError
from rageval_report.judges.asking import Asking, Brake, Pace, Schemas
from rageval_report.judges.cache import Cache
from rageval_report.judges.chats.base import as_chat
from rageval_report.judges.running import INTERRUPTED, checked_concurrency
from rageval_report.judges.spending import Meter, budget_of, price_of
from rageval_report.metrics.performance import Prices


@dataclass(frozen=True)
class How:
    """How a judge is asked.

    Parameters
    ----------
    cache : Cache or path, optional
        Where answers are kept, so that nothing is paid for twice; nowhere where not given.
    concurrency : int
        How many calls may be under way at once.
    per_minute : float, optional
        How many calls may begin a minute.
    prices : mapping of str to Price, optional
        By model, US dollars a million tokens sent and received, as ``{"gpt-5": (1.25, 10)}``. A
        model without a price costs nobody knows what; one that is free costs ``(0, 0)``.
    max_cost : float, optional
        US dollars. No call begins that could exceed it.
    give_up_after : int
        How many calls in a row may fail before the rest is not asked.
    progress : bool
        Whether a bar is shown where standard error is a terminal.
    tell : callable, optional
        Takes what should be known before the first call, as that some records lack what a rubric
        needs, a sentence at a time. The notes of the result have it too.
    """

    cache: Cache | str | Path | None = None
    concurrency: int = 8
    per_minute: float | None = None
    prices: Prices | None = None
    max_cost: float | None = None
    give_up_after: int = 10
    progress: bool = True
    tell: Callable[[str], object] | None = None

    def say(self, notes: tuple[str, ...]) -> tuple[str, ...]:
        """Tell what should be known beforehand; the same notes."""
        if self.tell is not None:
            for one in notes:
                self.tell(one)
        return notes

    @contextmanager
    def opened(self, chat: object) -> Iterator[Asking]:
        """What asks, until it is closed; a cache that was given open stays so."""
        model = as_chat(chat)
        checked_concurrency(self.concurrency)
        price = price_of(model, self.prices)
        budget = budget_of(self.max_cost, price, model.model)
        pace = Pace(self.per_minute)
        own = Cache(self.cache) if isinstance(self.cache, str | Path) else None
        cache = self.cache if isinstance(self.cache, Cache) else own
        try:
            with model.open() as ask:
                brake = Brake(self.give_up_after)
                yield Asking(model, ask, cache, Meter(price), budget, pace, brake, Schemas(model))
        finally:
            if own is not None:
                own.close()


def stopped_note(asking: Asking) -> tuple[str, ...]:
    """What is said of work that was stopped.

    Raises
    ------
    JudgeError
        If nothing could be asked at all.
    """
    brake = asking.brake
    if brake.reason is None:
        return ()
    if brake.is_failure and not brake.has_succeeded:
        raise JudgeError(brake.reason)
    return (f"stopped before the end: {brake.reason}. What was judged so far is kept",)


def failure_of(asking: Asking, n_scored: int) -> str | None:
    """Why nothing at all was judged; None where something was, or nothing failed.

    Parameters
    ----------
    asking : Asking
        What was done. That the user ended it is no failure.
    n_scored : int
        How many verdicts there are.
    """
    stopped, failures = asking.brake.reason, asking.meter.failures
    if n_scored or stopped == INTERRUPTED or not (stopped or failures):
        return None
    if stopped:
        return f"nothing was judged: {stopped}"
    [(why, n)] = failures.most_common(1)
    return f"nothing was judged; of {failures.total()} failures {n} are this: {why}"

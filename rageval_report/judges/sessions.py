"""A judging session: one chat model with the cache, the budget and the limits of its calls.

A reply comes from the cache if it is there, else from the model, as soon as the budget and the
pace allow the call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from rageval_report.errors import DataError, RagevalError
from rageval_report.judges.chats.base import Ask, Chat, Message, Reply, as_chat
from rageval_report.judges.parsing.objects import UnreadableError
from rageval_report.judges.reply_cache import Cache, reply_key
from rageval_report.judges.rubric import Rubric
from rageval_report.judges.spending import (
    Budget,
    Meter,
    cost_of,
    max_message_tokens,
    open_budget,
    price_of,
)
from rageval_report.metrics.performance import Prices

T = TypeVar("T")

_SECONDS_PER_MINUTE = 60.0
# Unauthorised, forbidden, not found: every further call would get the same answer.
_HOPELESS_STATUSES = (401, 403, 404)
# What servers answer to a field that they do not know, such as the one that holds the schema.
_REFUSED_BODY_STATUSES = (400, 422)
# One repair is enough for the fences and words that models put around JSON now and then.
_ASK_AGAIN = (
    "\n\nAn answer of yours to this could not be read: {why}. Give the JSON object alone, without "
    "a word before or after it."
)


class NoVerdictError(Exception):
    """There is no verdict: the call failed, or the model refused or gave an unreadable reply."""


class NotAskedError(Exception):
    """The model was not asked, because the session had stopped before."""


@dataclass(frozen=True)
class JudgeStep(Generic[T]):
    """One request of a judge, and how its reply is read.

    Parameters
    ----------
    message : Message
        What the model is asked.
    read : callable
        Parses the text of the reply; raises `UnreadableError`.
    stand_in : T
        A possible result, used to estimate the cost without asking.
    """

    message: Message
    read: Callable[[str], T]
    stand_in: T


class AskStep(Protocol):
    """The callable through which a procedure asks its steps."""

    def __call__(self, step: JudgeStep[T]) -> T:
        """The parsed reply to a step; raises `NoVerdictError` or `NotAskedError`."""


class Brake:
    """Stops a session: after a hopeless failure, too many in a row, or an interruption.

    Parameters
    ----------
    give_up_after : int
        The number of consecutive calls that may fail.
    """

    def __init__(self, give_up_after: int):
        self.reason: str | None = None
        self.is_failure = False
        self.has_succeeded = False
        self._give_up_after = give_up_after
        self._n_in_a_row = 0
        self._lock = threading.Lock()

    def stop(self, reason: str, *, is_failure: bool = False) -> None:
        """Let no further call start; the first reason is kept."""
        with self._lock:
            if self.reason is None:
                self.reason, self.is_failure = reason, is_failure

    def check(self) -> None:
        """Raise `NotAskedError` if the session has stopped."""
        if self.reason is not None:
            raise NotAskedError(f"not asked: {self.reason}")

    def record_success(self) -> None:
        """Note that a call was answered."""
        with self._lock:
            self.has_succeeded, self._n_in_a_row = True, 0

    def record_failure(self, exc: BaseException) -> None:
        """Note that a call failed after all retries, and stop if the next ones would too."""
        with self._lock:
            self._n_in_a_row += 1
            n_in_a_row, has_succeeded = self._n_in_a_row, self.has_succeeded
        # A server that was never reached is most likely not running; one that answered before may
        # come back, so that only a series of failures counts.
        is_down = getattr(exc, "is_unreachable", False) and not has_succeeded
        if is_down or _is_hopeless(exc):
            self.stop(str(exc), is_failure=True)
        elif n_in_a_row >= self._give_up_after:
            self.stop(f"{n_in_a_row} calls in a row failed, the last with: {exc}", is_failure=True)


def _is_hopeless(exc: BaseException) -> bool:
    return (
        # A DataError is about the request itself, such as a missing key, and every request would
        # raise it.
        isinstance(exc, DataError)
        or getattr(exc, "status", None) in _HOPELESS_STATUSES
        or getattr(exc, "failure", None) == "certificate"
    )


class Pace:
    """Spaces the calls evenly, so that a rate limit holds.

    Parameters
    ----------
    per_minute : float, optional
        The number of calls that may start per minute; unlimited if None.
    clock, sleep : callable
        The time in seconds, and a function that waits.

    Raises
    ------
    DataError
        If `per_minute` is not positive.
    """

    def __init__(
        self,
        per_minute: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ):
        if per_minute is not None and not per_minute > 0.0:
            raise DataError(f"per_minute must be > 0; got {per_minute!r}")
        self._gap = 0.0 if per_minute is None else _SECONDS_PER_MINUTE / per_minute
        self._clock, self._sleep = clock, sleep
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Wait until this call may start."""
        if not self._gap:
            return
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._gap
        if turn > now:
            # Outside the lock, so that the waits of several threads overlap.
            self._sleep(turn - now)


class SchemaSupport:
    """Whether the server accepts JSON schemas: assumed until it has refused one.

    Parameters
    ----------
    chat : Chat
        The chat model; one whose setting "structured" is not true is never sent a schema.
    """

    def __init__(self, chat: Chat):
        # A chat from outside that does not mention schemas is not asked again without one.
        self.are_sent = chat.settings.get("structured") is True
        self.were_refused = False

    def record_refusal(self) -> None:
        """Note that the server answers only without a schema, and send none any more."""
        self.are_sent, self.were_refused = False, True

    def without_schema(self, message: Message) -> Message | None:
        """The message without its schema; None if it is sent without one anyway."""
        has_schema = message.schema is not None and (self.are_sent or self.were_refused)
        return replace(message, schema=None) if has_schema else None


@dataclass(frozen=True)
class JudgeSession:
    """Everything that calls to one chat model share; it is used by several threads.

    Parameters
    ----------
    chat : Chat
        The chat model that judges.
    ask : callable
        The opened chat: takes a message and returns the reply.
    cache : Cache, optional
        Where replies are kept.
    meter, budget, pace, brake
        What is counted, and what limits the calls.
    schemas : SchemaSupport
        Whether the server accepts JSON schemas.
    concurrency : int
        The number of calls that may run at the same time.
    progress : bool
        Whether to show a progress bar.
    tell : callable, optional
        Called with each note that should be known before the first request.
    """

    chat: Chat
    ask: Ask
    cache: Cache | None
    meter: Meter
    budget: Budget
    pace: Pace
    brake: Brake
    schemas: SchemaSupport
    concurrency: int = 8
    progress: bool = True
    tell: Callable[[str], object] | None = None

    def asker(self, rubric: Rubric, repeat: int = 0) -> AskStep:
        """The callable that asks the steps of one rubric."""
        return _Asker(self, rubric, repeat)

    def announce(self, notes: tuple[str, ...]) -> tuple[str, ...]:
        """Call `tell` with each note; returns the same notes."""
        if self.tell is not None:
            for note in notes:
                self.tell(note)
        return notes


@contextmanager
def open_session(
    chat: object,
    *,
    cache: Cache | str | Path | None = None,
    concurrency: int = 8,
    per_minute: float | None = None,
    prices: Prices | None = None,
    max_cost: float | None = None,
    give_up_after: int = 10,
    progress: bool = True,
    tell: Callable[[str], object] | None = None,
) -> Iterator[JudgeSession]:
    """A session with a chat model, which is closed at the end of the ``with`` block.

    Parameters
    ----------
    chat : Chat or callable
        The chat model that judges.
    cache, concurrency, per_minute, prices, max_cost, give_up_after, progress, tell
        As in `rageval_report.judges.judge_options.CallOptions`. A `Cache` stays open; the cache of
        a path is closed with the session.

    Raises
    ------
    DataError
        If an option has no valid value, or `chat` is neither a chat nor a callable.
    """
    model = as_chat(chat)
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise DataError(f"concurrency must be an integer >= 1; got {concurrency!r}")
    price = price_of(model, prices)
    budget = open_budget(max_cost, price, model.model)
    pace = Pace(per_minute)
    own_cache = Cache(cache) if isinstance(cache, str | Path) else None
    try:
        with model.open() as ask:
            yield JudgeSession(
                model,
                ask,
                cache if isinstance(cache, Cache) else own_cache,
                Meter(price),
                budget,
                pace,
                Brake(give_up_after),
                SchemaSupport(model),
                concurrency,
                progress,
                tell,
            )
    finally:
        if own_cache is not None:
            own_cache.close()


@dataclass(frozen=True)
class _Asker:
    """Asks the steps of one rubric: the cache first, then the model."""

    session: JudgeSession
    rubric: Rubric
    repeat: int

    def __call__(self, step: JudgeStep[T]) -> T:
        cached = self._look_up(step)
        if cached is not None:
            return cached.value
        session, judge = self.session, self.rubric.name
        try:
            reply = self._call(step.message)
            value, reply = self._read_reply(step, reply)
        except NoVerdictError as exc:
            session.meter.count_failure(judge, str(exc))
            raise
        if session.cache is not None:
            # Kept under the message as it was sent: without a schema if the server refused it.
            key = _cache_key(session.chat, self.rubric, self._as_sent(step.message), self.repeat)
            session.cache.put(key, reply, judge=judge, model=session.chat.model)
        return value

    def _look_up(self, step: JudgeStep[T]) -> CachedAnswer[T] | None:
        session = self.session
        if session.cache is None:
            return None
        cached = cached_answer(session.cache, session.chat, self.rubric, step, self.repeat)
        if cached is None:
            return None
        # The server refused schemas in an earlier run: this one does not try again.
        if cached.is_without_schema:
            session.schemas.record_refusal()
        session.meter.count_cached(self.rubric.name)
        return cached

    def _as_sent(self, message: Message) -> Message:
        schemas = self.session.schemas
        return (schemas.were_refused and schemas.without_schema(message)) or message

    def _read_reply(self, step: JudgeStep[T], reply: Reply) -> tuple[T, Reply]:
        """The parsed reply; an unreadable one is asked for once more."""
        self._check_ending(reply)
        try:
            return step.read(reply.text), reply
        except UnreadableError as exc:
            nudge = _ASK_AGAIN.format(why=exc)
        again = self._call(replace(step.message, user=step.message.user + nudge))
        self._check_ending(again)
        try:
            return step.read(again.text), again
        except UnreadableError as exc:
            raise NoVerdictError(f"{exc} (asked twice)") from exc

    def _check_ending(self, reply: Reply) -> None:
        if reply.ending == "refusal":
            text = reply.text.strip()
            raise NoVerdictError("the judge refused" + (f": {text[:80]!r}" if text else ""))
        if reply.ending == "length":
            limit = self.session.chat.max_tokens
            raise NoVerdictError(
                f"the judge's answer was cut off at max_tokens={limit}; increase max_tokens"
            )

    def _call(self, message: Message) -> Reply:
        """Call the model within the budget and the pace, and count what it took."""
        session = self.session
        session.brake.check()
        max_cost = _max_cost(session, message)
        # The highest cost is reserved before the call, because threads that each saw room left
        # could exceed the budget together.
        if not session.budget.reserve(max_cost):
            session.brake.stop(
                f"the budget of {session.budget.limit:g} USD is too small for another call"
            )
            session.brake.check()
        cost: float | None = 0.0  # of a call that failed
        try:
            session.pace.wait()
            session.brake.check()
            reply = self._request(message)
            cost = session.meter.count_answer(self.rubric.name, reply)
        finally:
            session.budget.settle(max_cost, cost)
        return reply

    def _request(self, message: Message) -> Reply:
        try:
            reply = self._request_with_or_without_schema(self._as_sent(message))
        except RagevalError as exc:
            self.session.brake.record_failure(exc)
            raise NoVerdictError(f"the judge could not be asked: {exc}") from exc
        except Exception as exc:  # a callable of the user may raise anything
            self.session.brake.record_failure(exc)
            raise NoVerdictError(f"the chat client failed: {exc!r}") from exc
        self.session.brake.record_success()
        return reply

    def _request_with_or_without_schema(self, message: Message) -> Reply:
        """If a request is refused, whether it succeeds without its schema shows the reason."""
        session = self.session
        try:
            return session.ask(message)
        except RagevalError as exc:
            plain = session.schemas.without_schema(message)
            if plain is None or getattr(exc, "status", None) not in _REFUSED_BODY_STATUSES:
                raise
        session.pace.wait()
        reply = session.ask(plain)
        session.schemas.record_refusal()
        return reply


def _max_cost(session: JudgeSession, message: Message) -> float:
    """What a call can hardly exceed; 0 if the price is unknown."""
    sent, received = max_message_tokens(message), float(session.chat.max_tokens)
    return cost_of(session.meter.price, sent, received) or 0.0


# -- what is in the cache


@dataclass(frozen=True)
class CachedAnswer(Generic[T]):
    """A reply from the cache, parsed.

    Parameters
    ----------
    value : T
        What the reply says.
    is_without_schema : bool
        Whether it was given without the schema that the request would have now.
    """

    value: T
    is_without_schema: bool


def cached_answer(
    cache: Cache, chat: Chat, rubric: Rubric, step: JudgeStep[T], repeat: int = 0
) -> CachedAnswer[T] | None:
    """The cached reply to a step; also one of a server that had refused the schema."""
    plain = SchemaSupport(chat).without_schema(step.message)
    messages = [step.message] if plain is None else [step.message, plain]
    for message in messages:
        reply = cache.get(_cache_key(chat, rubric, message, repeat))
        if reply is None:
            continue
        try:
            return CachedAnswer(step.read(reply.text), message is plain)
        except UnreadableError:  # kept by a version that parsed it differently: ask again
            continue
    return None


def _cache_key(chat: Chat, rubric: Rubric, message: Message, repeat: int) -> bytes:
    return reply_key(
        model=chat.model,
        settings=chat.settings,
        message=message,
        judge=rubric.name,
        version=rubric.version,
        repeat=repeat,
    )

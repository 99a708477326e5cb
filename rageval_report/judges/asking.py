"""How a judge gets an answer: from the cache, else from the model, as the budget and pace allow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from rageval_report.errors import DataError, RagevalError
from rageval_report.judges.cache import Cache, reply_key
from rageval_report.judges.chats.base import Ask, Chat, Message, Reply
from rageval_report.judges.parsing.objects import UnreadableError
from rageval_report.judges.rubric import Rubric
from rageval_report.judges.spending import Budget, Meter, at_most_tokens, cost_of
from rageval_report.types import Sleep

T = TypeVar("T")

_A_MINUTE = 60.0
_HOPELESS = (401, 403, 404)  # statuses that every further call would meet as well
_REFUSED_BODY = (400, 422)  # what servers answer to a field that they do not know
_AGAIN = (
    "\n\nAn answer of yours to this could not be read: {why}. Give the JSON object alone, without "
    "a word before or after it."
)


class NoVerdictError(Exception):
    """There is no verdict: the model failed, refused, or its answer cannot be read."""


class NotAskedError(Exception):
    """Nobody was asked: the work was stopped before."""


@dataclass(frozen=True)
class Step(Generic[T]):
    """One thing to ask.

    Parameters
    ----------
    message : Message
        What is asked.
    read : callable
        The text of the answer as what it says; raises `UnreadableError`.
    stand_in : T
        What an answer could be, where it is only worked out what asking would cost.
    """

    message: Message
    read: Callable[[str], T]
    stand_in: T


class AskStep(Protocol):
    """What procedures ask with."""

    def __call__(self, step: Step[T]) -> T:
        """What the answer to a step says; raises `NoVerdictError` or `NotAskedError`."""


class Brake:
    """Stops the work, for a reason: a hopeless failure, too many in a row, or the user.

    That nobody takes the connection is hopeless until somebody did.

    Parameters
    ----------
    give_up_after : int
        How many calls in a row may fail.
    """

    def __init__(self, give_up_after: int):
        self.reason: str | None = None
        self.is_failure = False
        self.has_succeeded = False
        self._give_up_after = give_up_after
        self._in_a_row = 0
        self._lock = threading.Lock()

    def stop(self, reason: str, *, is_failure: bool = False) -> None:
        """Let no further call begin; the first reason stays."""
        with self._lock:
            if self.reason is None:
                self.reason, self.is_failure = reason, is_failure

    def check(self) -> None:
        """Raise `NotAskedError` if the work was stopped."""
        if self.reason is not None:
            raise NotAskedError(f"not asked: {self.reason}")

    def succeeded(self) -> None:
        """A call was answered."""
        with self._lock:
            self.has_succeeded, self._in_a_row = True, 0

    def failed(self, exc: BaseException) -> None:
        """A call failed for good."""
        with self._lock:
            self._in_a_row += 1
            in_a_row, is_first = self._in_a_row, not self.has_succeeded
        if _is_hopeless(exc) or (is_first and getattr(exc, "is_unreachable", False)):
            self.stop(str(exc), is_failure=True)
        elif in_a_row >= self._give_up_after:
            self.stop(f"{in_a_row} calls in a row failed, the last so: {exc}", is_failure=True)


def _is_hopeless(exc: BaseException) -> bool:
    return (
        isinstance(exc, DataError)
        or getattr(exc, "status", None) in _HOPELESS
        or getattr(exc, "failure", None) == "certificate"
    )


class Pace:
    """Lets calls begin at most so often.

    Parameters
    ----------
    per_minute : float, optional
        How many calls may begin a minute, evenly; no limit where None.
    clock, sleep : callable
        The time in seconds, and what waits.

    Raises
    ------
    DataError
        If the number is not above 0.
    """

    def __init__(
        self,
        per_minute: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = time.sleep,
    ):
        if per_minute is not None and not per_minute > 0.0:
            raise DataError(f"the calls a minute must be above 0; got {per_minute!r}")
        self._gap = 0.0 if per_minute is None else _A_MINUTE / per_minute
        self._clock, self._sleep = clock, sleep
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Wait for this call's turn."""
        if not self._gap:
            return
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._gap
        if turn > now:
            self._sleep(turn - now)


class Schemas:
    """Whether the server keeps JSON schemas; it does until it has refused one.

    Parameters
    ----------
    chat : Chat
        Whom to ask; one that is not structured is never sent a schema.
    """

    def __init__(self, chat: Chat):
        self.are_sent = chat.settings.get("structured") is True
        self.were_refused = False

    def refused(self) -> None:
        """The server answers without a schema alone: it is sent none any more."""
        self.are_sent, self.were_refused = False, True

    def in_words(self, message: Message) -> Message | None:
        """A message without its schema, where one would be sent, or was until it was refused."""
        has_one = message.schema is not None and (self.are_sent or self.were_refused)
        return replace(message, schema=None) if has_one else None


@dataclass(frozen=True)
class Asking:
    """All that asking needs; threads share it.

    Parameters
    ----------
    chat : Chat
        Whom to ask.
    ask : callable
        What asks.
    cache : Cache, optional
        Where answers are kept.
    meter, budget, pace, brake
        What is counted, and what holds back.
    schemas : Schemas
        Whether the server keeps them.
    """

    chat: Chat
    ask: Ask
    cache: Cache | None
    meter: Meter
    budget: Budget
    pace: Pace
    brake: Brake
    schemas: Schemas

    def about(self, rubric: Rubric, repeat: int = 0) -> AskStep:
        """What asks the steps of one rubric."""
        return _Asker(self, rubric, repeat)


@dataclass(frozen=True)
class _Asker:
    shared: Asking
    rubric: Rubric
    repeat: int

    def __call__(self, step: Step[T]) -> T:
        kept = self._kept(step)
        if kept is not None:
            return kept[0]
        try:
            reply = self._paid(step.message)
            found, reply = self._read(step, reply)
        except NoVerdictError as exc:
            self.shared.meter.failed(self.rubric.name, str(exc))
            raise
        if self.shared.cache is not None:
            key = key_of(self.shared.chat, self.rubric, self._as_sent(step.message), self.repeat)
            name, model = self.rubric.name, self.shared.chat.model
            self.shared.cache.put(key, reply, judge=name, model=model)
        return found

    def _kept(self, step: Step[T]) -> tuple[T] | None:
        shared = self.shared
        if shared.cache is None:
            return None
        kept = kept_answer(shared.cache, shared.chat, self.rubric, step, self.repeat)
        if kept is None:
            return None
        if kept.in_words:
            shared.schemas.refused()
        shared.meter.cached(self.rubric.name)
        return (kept.found,)

    def _as_sent(self, message: Message) -> Message:
        schemas = self.shared.schemas
        return (schemas.were_refused and schemas.in_words(message)) or message

    def _read(self, step: Step[T], reply: Reply) -> tuple[T, Reply]:
        """What an answer says; one that cannot be read is asked for once more."""
        self._check_ending(reply)
        try:
            return step.read(reply.text), reply
        except UnreadableError as exc:
            nudge = _AGAIN.format(why=exc)
        again = self._paid(replace(step.message, user=step.message.user + nudge))
        self._check_ending(again)
        try:
            return step.read(again.text), again
        except UnreadableError as exc:
            raise NoVerdictError(f"{exc} (asked twice)") from exc

    def _check_ending(self, reply: Reply) -> None:
        if reply.ending == "refusal":
            said = f": {reply.text.strip()[:80]!r}" if reply.text.strip() else ""
            raise NoVerdictError(f"the judge refused{said}")
        if reply.ending == "length":
            raise NoVerdictError(
                f"the judge's answer was cut at max_tokens={self.shared.chat.max_tokens}: raise it"
            )

    def _paid(self, message: Message) -> Reply:
        shared = self.shared
        shared.brake.check()
        dearest = at_most_cost(shared, message)
        if not shared.budget.hold(dearest):
            shared.brake.stop(f"the budget of {shared.budget.most:g} USD has no room for a call")
            shared.brake.check()
        cost: float | None = 0.0
        try:
            shared.pace.wait()
            shared.brake.check()
            reply = self._answered(message)
            cost = shared.meter.answered(self.rubric.name, reply)
        finally:
            shared.budget.settle(dearest, cost)
        return reply

    def _answered(self, message: Message) -> Reply:
        try:
            reply = self._with_schema_or_without(self._as_sent(message))
        except RagevalError as exc:
            self.shared.brake.failed(exc)
            raise NoVerdictError(f"the judge could not be asked: {exc}") from exc
        except Exception as exc:  # a callable of the user's may raise anything
            self.shared.brake.failed(exc)
            raise NoVerdictError(f"the chat client failed: {exc!r}") from exc
        self.shared.brake.succeeded()
        return reply

    def _with_schema_or_without(self, message: Message) -> Reply:
        """What a refused request gives without its schema tells whether the schema was at fault."""
        shared = self.shared
        try:
            return shared.ask(message)
        except RagevalError as exc:
            plain = shared.schemas.in_words(message)
            if plain is None or getattr(exc, "status", None) not in _REFUSED_BODY:
                raise
        shared.pace.wait()
        reply = shared.ask(plain)
        shared.schemas.refused()
        return reply


def at_most_cost(shared: Asking, message: Message) -> float:
    """What a call hardly exceeds; 0 where nobody knows the price."""
    sent, received = at_most_tokens(message), float(shared.chat.max_tokens)
    return cost_of(shared.meter.price, sent, received) or 0.0


@dataclass(frozen=True)
class Kept(Generic[T]):
    """What an answer that is in the cache says.

    Parameters
    ----------
    found : T
        As its step reads it.
    in_words : bool
        Whether it was given without the schema that it would be asked for with.
    """

    found: T
    in_words: bool


def kept_answer(
    cache: Cache, chat: Chat, rubric: Rubric, step: Step[T], repeat: int = 0
) -> Kept[T] | None:
    """The answer to a step out of the cache, also one of a server that had refused the schema."""
    for message, in_words in _ways(chat, step.message):
        reply = cache.get(key_of(chat, rubric, message, repeat))
        if reply is None:
            continue
        try:
            return Kept(step.read(reply.text), in_words)
        except UnreadableError:  # kept by a version that read it otherwise: ask anew
            continue
    return None


def _ways(chat: Chat, message: Message) -> Iterator[tuple[Message, bool]]:
    """A message as it is sent, and as it is sent to a server that refused the schema."""
    yield message, False
    plain = Schemas(chat).in_words(message)
    if plain is not None:
        yield plain, True


def key_of(chat: Chat, rubric: Rubric, message: Message, repeat: int) -> bytes:
    """What the answer to a message is kept under."""
    return reply_key(
        model=chat.model,
        settings=chat.settings,
        message=message,
        judge=rubric.name,
        version=rubric.version,
        repeat=repeat,
    )

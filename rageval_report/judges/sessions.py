"""A judging session: one chat model with the cache, the ledger and the limits of its calls.

A reply comes from the cache if it is there, else from the model, as soon as the budget and the
pace allow the call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar, Unpack

from rageval_report.errors import DataError, RagevalError
from rageval_report.judges.attempts import (
    AskInAttempts,
    max_reply_tokens,
    max_request_tokens,
    open_attempts,
    was_not_billed,
)
from rageval_report.judges.chats.base import Chat, Message, Reply, as_chat
from rageval_report.judges.judge_options import CallOptions
from rageval_report.judges.ledger import (
    MICROS_PER_USD,
    Ledger,
    MaxCostOver,
    check_budget,
    cost_in_micros,
    open_ledger,
)
from rageval_report.judges.reply_cache import Cache
from rageval_report.judges.rubric import Rubric
from rageval_report.judges.schema_support import SchemaSupport
from rageval_report.judges.spending import Meter, price_of
from rageval_report.judges.steps import (
    AskStep,
    CachedReplies,
    JudgeStep,
    NotAskedError,
    NoVerdictError,
    ask_step,
)
from rageval_report.metrics.performance import Prices

T = TypeVar("T")

_SECONDS_PER_MINUTE = 60.0
# Unauthorised, forbidden, not found: every further call would get the same answer.
_HOPELESS_STATUSES = (401, 403, 404)
# What servers answer to a field that they do not know, such as the one that holds the schema.
_REFUSED_BODY_STATUSES = (400, 422)


class Brake:
    """Stops a session: after a hopeless failure, too many in a row, or an interruption.

    Parameters
    ----------
    give_up_after : int
        The number of consecutive calls that may fail.
    on_stop : callable
        Called when the session has stopped, e.g. to wake calls that wait for the budget.
    """

    def __init__(self, give_up_after: int, on_stop: Callable[[], object] = lambda: None):
        self.reason: str | None = None
        self.is_failure = False
        self.has_succeeded = False
        self._give_up_after = give_up_after
        self._on_stop = on_stop
        self._n_in_a_row = 0
        self._lock = threading.Lock()

    def stop(self, reason: str, *, is_failure: bool = False) -> None:
        """Let no further call start; the first reason is kept."""
        with self._lock:
            if self.reason is None:
                self.reason, self.is_failure = reason, is_failure
        self._on_stop()

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


@dataclass(frozen=True)
class Brakes:
    """The brakes of several sessions, which an interruption stops together."""

    brakes: tuple[Brake, ...]

    def stop(self, reason: str) -> None:
        """Let no further call start in any of the sessions."""
        for brake in self.brakes:
            brake.stop(reason)


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


@dataclass(frozen=True)
class JudgeSession:
    """Everything that calls to one chat model share; it is used by several threads.

    Parameters
    ----------
    chat : Chat
        The chat model that judges.
    ask : callable
        The opened chat: takes a message and a function that runs one attempt; returns the reply.
    cache : Cache, optional
        Where replies are kept.
    meter, ledger, pace, brake
        What is counted, and what limits the calls.
    schemas : SchemaSupport
        Whether the server accepts JSON schemas.
    concurrency : int
        The number of calls that may run at the same time.
    progress : bool
        Whether to show a progress bar.
    tell : callable, optional
        Called with each note that should be known before the first request.
    retry_unusable : bool
        Whether to ask again where the cache has an answer without a verdict.
    """

    chat: Chat
    ask: AskInAttempts
    cache: Cache | None
    meter: Meter
    ledger: Ledger
    pace: Pace
    brake: Brake
    schemas: SchemaSupport
    concurrency: int = 8
    progress: bool = True
    tell: Callable[[str], object] | None = None
    retry_unusable: bool = False

    @property
    def is_hopeless(self) -> bool:
        """Whether it stopped because of a failure before the model answered once."""
        return self.brake.is_failure and not self.brake.has_succeeded

    def asker(self, rubric: Rubric, repeat: int = 0) -> AskStep:
        """The callable that asks the steps of one rubric."""
        cached = None
        if self.cache is not None:
            cached = CachedReplies(self.cache, self.chat, rubric, repeat)
        return _Asker(self, rubric.name, cached)

    def ask_within_budget(self, message: Message, purpose: str) -> Reply:
        """The reply to a message that is not a judge's; its attempts are limited like all others.

        Parameters
        ----------
        message : Message
            The request.
        purpose : str
            Under which name the request is counted.

        Raises
        ------
        NotAskedError
            If the budget is too small for it.
        """
        return self.ask(message, partial(_Asker(self, purpose, None).attempt, message))

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
    max_cost_over: MaxCostOver = "cache",
    give_up_after: int = 10,
    retry_unusable: bool = False,
    progress: bool = True,
    tell: Callable[[str], object] | None = None,
    ledger: Ledger | None = None,
) -> Iterator[JudgeSession]:
    """A session with a chat model, which is closed at the end of the ``with`` block.

    Parameters
    ----------
    chat : Chat or callable
        The chat model that judges.
    cache, concurrency, per_minute, prices, max_cost, max_cost_over, give_up_after, retry_unusable
        As in `rageval_report.judges.judge_options.CallOptions`. A `Cache` stays open; the cache of
        a path is closed with the session.
    progress, tell
        As there.
    ledger : Ledger, optional
        The ledger of several sessions with one budget; it stays open.

    Raises
    ------
    DataError
        If an option has no valid value, or `chat` is neither a chat nor a callable.
    """
    model = as_chat(chat)
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise DataError(f"concurrency must be an integer >= 1; got {concurrency!r}")
    price = price_of(model, prices)
    _check_limit(model, max_cost)
    pace = Pace(per_minute)
    path = _path_of(cache)
    with ExitStack() as stack:
        if ledger is None:
            ledger = open_ledger(max_cost, price, model.model, cache=path, over=max_cost_over)
            stack.callback(ledger.close)
        if isinstance(cache, str | Path):
            cache = stack.enter_context(Cache(cache))
        yield JudgeSession(
            model,
            stack.enter_context(open_attempts(model)),
            cache,
            Meter(price),
            ledger,
            pace,
            Brake(give_up_after, on_stop=ledger.wake),
            SchemaSupport(model),
            concurrency,
            progress,
            tell,
            retry_unusable,
        )


def _check_limit(model: Chat, max_cost: float | None) -> None:
    if max_cost is not None and max_reply_tokens(model) is None:
        raise DataError(
            f"max_cost needs a limit of the answers of {model.model}, but extra_body removes the "
            "field for max_tokens from the request"
        )


def _path_of(cache: Cache | str | Path | None) -> Path | None:
    if isinstance(cache, Cache):
        return cache.path
    return None if cache is None else Path(cache)


@contextmanager
def open_sessions(
    chats: Sequence[Chat], **options: Unpack[CallOptions]
) -> Iterator[tuple[JudgeSession, ...]]:
    """Sessions with one or more chat models, which share the cache and the budget.

    Parameters
    ----------
    chats : sequence of Chat
        The chat models that judge.
    **options
        As for `open_session`; ``per_minute`` and ``give_up_after`` hold for each of them.

    Raises
    ------
    DataError
        If an option has no valid value, or there is a budget and a model has no price.
    """
    with ExitStack() as stack:
        if len(chats) > 1:
            ledger = _open_shared_ledger(chats, options)
            stack.callback(ledger.close)
            cache = options.get("cache")
            if isinstance(cache, str | Path):
                options["cache"] = stack.enter_context(Cache(cache))
            sessions = (open_session(chat, **options, ledger=ledger) for chat in chats)
        else:
            sessions = (open_session(chat, **options) for chat in chats)
        yield tuple(map(stack.enter_context, sessions))


def _open_shared_ledger(chats: Sequence[Chat], options: CallOptions) -> Ledger:
    prices, max_cost = options.get("prices"), options.get("max_cost")
    for chat in chats:
        _check_limit(chat, max_cost)
        check_budget(max_cost, price_of(chat, prices), chat.model)
    known = (price for chat in chats if (price := price_of(chat, prices)) is not None)
    return open_ledger(
        max_cost,
        next(known, None),
        " + ".join(chat.model for chat in chats),
        cache=_path_of(options.get("cache")),
        over=options.get("max_cost_over", "cache"),
    )


@dataclass(frozen=True)
class _Asker:
    """Asks the steps of one rubric: the cache first, then the model."""

    session: JudgeSession
    judge: str
    cached: CachedReplies | None

    def __call__(self, step: JudgeStep[T]) -> T:
        meter = self.session.meter
        try:
            answer = None if self.cached is None else self.cached.answer(step)
            if answer is None or (self.session.retry_unusable and not answer.is_usable):
                return ask_step(step, self._reply_to, self.session.chat.max_tokens)
            # The server refused schemas in an earlier run: this one does not try again.
            if answer.is_without_schema:
                self.session.schemas.record_refusal()
            meter.count_cached(self.judge, is_usable=answer.is_usable)
            return answer.result()
        except NoVerdictError as exc:
            meter.count_failure(self.judge, str(exc))
            raise

    def _reply_to(self, message: Message) -> Reply:
        """The reply of the model, or the one that it gave before the session was interrupted."""
        if self.cached is not None and not self.session.retry_unusable:
            earlier = self.cached.find(message)
            if earlier is not None:
                return earlier.reply
        reply = self._call(message)
        # Every answer was paid for, also one without a verdict.
        if self.cached is not None:
            self.cached.put(self.session.schemas.as_sent(message), reply)
        return reply

    def _call(self, message: Message) -> Reply:
        brake = self.session.brake
        try:
            reply = self._call_with_or_without_schema(self.session.schemas.as_sent(message))
        except NotAskedError:
            raise
        except RagevalError as exc:
            brake.record_failure(exc)
            raise NoVerdictError(f"the judge could not be asked: {exc}") from exc
        except Exception as exc:  # a callable of the user may raise anything
            brake.record_failure(exc)
            raise NoVerdictError(f"the chat client failed: {exc!r}") from exc
        brake.record_success()
        return reply

    def _call_with_or_without_schema(self, message: Message) -> Reply:
        """If a request is refused, whether it succeeds without its schema shows the reason."""
        session = self.session
        try:
            return session.ask(message, partial(self.attempt, message))
        except RagevalError as exc:
            plain = session.schemas.without_schema(message)
            if plain is None or getattr(exc, "status", None) not in _REFUSED_BODY_STATUSES:
                raise
        reply = session.ask(plain, partial(self.attempt, plain))
        session.schemas.record_refusal()
        return reply

    def attempt(self, message: Message, send: Callable[[], Reply]) -> Reply:
        """Send a request once, within the budget and the pace, and count what it took."""
        session, meter = self.session, self.session.meter
        session.brake.check()
        max_cost = self._max_cost(message)
        # Reserved before it is sent, because threads that each saw room left could exceed the
        # budget together.
        if not session.ledger.reserve(max_cost, session.brake.check):
            session.brake.stop(_too_small(session.ledger, max_cost))
            session.brake.check()
        cost = 0  # of a request that was not sent
        try:
            session.pace.wait()
            session.brake.check()
            cost = max_cost  # until more is known
            try:
                reply = send()
            except Exception as exc:
                if was_not_billed(exc):
                    cost = 0
                else:
                    meter.count_unknown(self.judge, max_cost / MICROS_PER_USD)
                raise
            meter.count_answer(self.judge, reply)
            cost = self._cost(reply, max_cost)
            return reply
        finally:
            session.ledger.settle(max_cost, cost)

    def _max_cost(self, message: Message) -> int:
        """What one attempt may cost at most, in millionths of a US dollar."""
        session = self.session
        if session.meter.price is None:
            return 0
        sent = max_request_tokens(session.chat, message)
        received = max_reply_tokens(session.chat) or session.chat.max_tokens
        return cost_in_micros(session.meter.price, sent, received)

    def _cost(self, reply: Reply, max_cost: int) -> int:
        """What a reply has cost; the most that it may have cost if the server does not say."""
        session, price = self.session, self.session.meter.price
        sent, received = reply.prompt_tokens, reply.completion_tokens
        if price is None or sent is None or received is None:
            return max_cost
        cost = cost_in_micros(price, sent, received)
        # The server does not keep to the limits that it was sent, so that no budget can hold.
        if cost > max_cost and session.ledger.limit is not None:
            session.brake.stop(
                f"{session.chat.model} reported {sent:,} and {received:,} tokens for a request "
                f"that may cost {_usd(max_cost)} at most, which is {_usd(cost)}: its server does "
                "not keep to max_tokens, so that the budget cannot be kept either"
            )
        return cost


def _too_small(ledger: Ledger, max_cost: int) -> str:
    """Why a call does not start."""
    spent = ""
    if ledger.spent or ledger.earlier:
        earlier = ""
        if ledger.earlier:
            earlier = (
                f", {_usd(ledger.earlier)} of it by other runs with the same cache, which "
                'max_cost_over="run" leaves out'
            )
        spent = f" (at most {_usd(ledger.spent + ledger.earlier)} is spent{earlier})"
    return (
        f"the budget of {ledger.max_cost:g} USD is too small for another call, which may "
        f"cost {_usd(max_cost)}{spent}"
    )


def _usd(micros: int) -> str:
    return f"{micros / MICROS_PER_USD:.4g} USD"

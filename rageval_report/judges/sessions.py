"""A judging session: one chat model with the cache, the budget and the limits of its calls.

A reply comes from the cache if it is there, else from the model, as soon as the budget allows it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Generic, Protocol, TypedDict, TypeVar, Unpack

import pandas as pd
from tqdm import tqdm

from rageval_report.errors import DataError, RagevalError
from rageval_report.judges.cache import Cache, reply_key
from rageval_report.judges.chats import (
    Ask,
    AskInAttempts,
    Chat,
    Message,
    Reply,
    chats_of,
    check_count,
    max_reply_tokens,
    max_request_tokens,
    open_attempts,
    was_not_billed,
)
from rageval_report.judges.ledger import MICROS_PER_USD, Ledger, check_budget, cost_in_micros
from rageval_report.judges.parsing import UnreadableError
from rageval_report.judges.rubric import Rubric
from rageval_report.metrics.performance import Price, Prices, check_prices

T = TypeVar("T")
JobT = TypeVar("JobT")
Number = TypeVar("Number", int, float)

INTERRUPTED = "interrupted"
# Unauthorised, forbidden, not found: every further call would get the same answer.
_HOPELESS_STATUSES = (401, 403, 404)
# What servers answer to a field that they do not know, such as the one that holds the schema.
_REFUSED_BODY_STATUSES = (400, 422)
# Two waiting jobs per thread: no thread is ever idle, and memory does not grow with all jobs.
_WAITING_PER_THREAD = 2
# One repair is enough for the fences and words that models put around JSON now and then.
_ASK_AGAIN = (
    "\n\nAn answer of yours to this could not be read: {why}. Give the JSON object alone, without "
    "a word before or after it."
)


class CallOptions(TypedDict, total=False):
    """How a chat model is called, by `judge` as by `prefer`; every key may be omitted.

    Examples
    --------
    >>> CallOptions(concurrency=4, progress=False)
    {'concurrency': 4, 'progress': False}

    Parameters
    ----------
    cache : Cache or path, optional
        Where replies are kept, so that no call is paid for twice. If omitted, they are not kept.
    concurrency : int, default 8
        The number of calls that may run at the same time, of all judges together.
    prices : mapping of str to Price, optional
        By model, US dollars per million tokens sent and received, as ``{"gpt-5": (1.25, 10)}``.
        The cost of a model without a price is unknown; a free one costs ``(0, 0)``.
    max_cost : float, optional
        The budget of this run in US dollars, of all judges together: no request is sent that could
        exceed it. It needs the price of each model. A request reserves one token per byte of it and
        `max_tokens` tokens of the answer; a retry is another request. What it did not use is free
        again as soon as it is answered; if it is not, e.g. after a time-out, the reservation counts
        as spent.
    give_up_after : int, default 10
        The number of consecutive calls that may fail before the remaining ones are cancelled; each
        judge counts its own.
    progress : bool, default True
        Whether to show a progress bar if standard error is a terminal.
    tell : callable, optional
        Called before the first request with each note that should be known by then, e.g. that some
        records lack a field. The notes of the result contain them too.
    """

    cache: Cache | str | Path | None
    concurrency: int
    prices: Prices | None
    max_cost: float | None
    give_up_after: int
    progress: bool
    tell: Callable[[str], object] | None


class JudgeOptions(CallOptions, total=False):
    """All options of `judge`: `CallOptions`, `n_repeats` and `generator`.

    Examples
    --------
    >>> options: JudgeOptions = {"n_repeats": 3, "concurrency": 1, "max_cost": 2.5, "prices": {}}
    >>> options["n_repeats"]
    3
    """

    n_repeats: int
    generator: str | None


class NoVerdictError(Exception):
    """No verdict was given: the call failed, or the model refused, or its reply was unreadable."""


class NotAskedError(Exception):
    """The model was not asked, because the session had stopped before."""


# -- one request of a judge


@dataclass(frozen=True)
class JudgeStep(Generic[T]):
    """One request of a judge, and how its reply is read."""

    message: Message
    read: Callable[[str], T]
    stand_in: T


class AskStep(Protocol):
    """The callable through which a procedure asks its steps."""

    def __call__(self, step: JudgeStep[T]) -> T:
        """The parsed reply to a step; raises `NoVerdictError` or `NotAskedError`."""


def ask_step(step: JudgeStep[T], reply_to: Ask, max_tokens: int) -> T:
    """The parsed reply to a step; an unreadable one is asked for once more."""
    message = step.message
    for is_last in (False, True):
        reply = reply_to(message)
        if reply.ending == "refusal":
            text = reply.text.strip()
            raise NoVerdictError("the judge refused" + (f": {text[:80]!r}" if text else ""))
        if reply.ending == "length":
            raise NoVerdictError(
                f"the judge's answer was cut off at max_tokens={max_tokens}; increase max_tokens"
            )
        try:
            return step.read(reply.text)
        except UnreadableError as exc:
            if is_last:
                raise NoVerdictError(f"{exc} (asked twice)") from exc
            message = replace(message, user=message.user + _ASK_AGAIN.format(why=exc))
    raise AssertionError  # the loop returns or raises


def _key(chat: Chat, message: Message, rubric: Rubric, repeat: int) -> bytes:
    return reply_key(
        model=chat.model,
        settings=chat.settings,
        message=message,
        judge=rubric.name,
        version=rubric.version,
        repeat=repeat,
    )


# -- what is counted, and what limits the calls


def price_of(chat: Chat, prices: Prices | None) -> Price | None:
    """The price of the chat's tokens; None if `prices` does not contain the model."""
    return None if prices is None else check_prices(prices).get(chat.model)


def cost_of(price: Price | None, sent: float | None, received: float | None) -> float | None:
    """The cost of tokens in US dollars; None if the price or a number of tokens is unknown."""
    if price is None or sent is None or received is None:
        return None
    return (sent * price.prompt + received * price.completion) / MICROS_PER_USD


@dataclass
class Usage:
    """What one judge took; None for tokens and costs as soon as those of one call are unknown."""

    n_calls: int = 0
    n_cached: int = 0
    n_failed: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost_usd: float | None = 0.0


class Meter:
    """Counts what each judge takes; several threads share it."""

    def __init__(self, price: Price | None):
        self.price = price
        self.by_judge: dict[str, Usage] = {}
        self.failures: Counter[str] = Counter()  # reasons for a missing verdict
        self._lock = threading.Lock()

    def count_answer(self, judge: str, reply: Reply) -> None:
        """Count a call that was answered."""
        sent, received = reply.prompt_tokens, reply.completion_tokens
        with self._lock:
            usage = self.by_judge.setdefault(judge, Usage())
            usage.n_calls += 1
            usage.prompt_tokens = _add(usage.prompt_tokens, sent)
            usage.completion_tokens = _add(usage.completion_tokens, received)
            usage.cost_usd = _add(usage.cost_usd, cost_of(self.price, sent, received))

    def count_step(self, judge: str, *, is_cached: bool, failure: str | None) -> None:
        """Count a request that has its verdict, or the reason why it has none."""
        with self._lock:
            usage = self.by_judge.setdefault(judge, Usage())
            usage.n_cached += is_cached
            if failure is not None:
                usage.n_failed += 1
                self.failures[failure] += 1

    def table(self, judges: Iterable[str]) -> pd.DataFrame:
        """One row per judge; also of those that were never asked."""
        rows = [{"judge": name, **vars(self.by_judge.get(name, Usage()))} for name in judges]
        return pd.DataFrame(rows)


def _add(total: Number | None, more: Number | None) -> Number | None:
    return None if total is None or more is None else total + more


class Brake:
    """Stops a session: after a hopeless failure, too many in a row, or an interruption."""

    def __init__(self, give_up_after: int, on_stop: Callable[[], object]):
        self.reason: str | None = None
        self.is_failure = False
        self.has_succeeded = False
        self._give_up_after = give_up_after
        self._on_stop = on_stop  # to wake calls that wait for the budget
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
        # come back, so that only a series of failures counts. A DataError is about the request
        # itself, such as a missing key, and every request would raise it.
        if (
            (getattr(exc, "is_unreachable", False) and not has_succeeded)
            or isinstance(exc, DataError)
            or getattr(exc, "status", None) in _HOPELESS_STATUSES
            or getattr(exc, "failure", None) == "certificate"
        ):
            self.stop(str(exc), is_failure=True)
        elif n_in_a_row >= self._give_up_after:
            self.stop(f"{n_in_a_row} calls in a row failed, the last with: {exc}", is_failure=True)


# -- sessions


class JudgeSession:
    """Everything that calls to one chat model share; it is used by several threads."""

    def __init__(
        self,
        chat: Chat,
        ask: AskInAttempts,
        cache: Cache | None,
        ledger: Ledger,
        options: CallOptions,
    ):
        self.chat, self.ask, self.cache, self.ledger = chat, ask, cache, ledger
        self.concurrency = options.get("concurrency", 8)
        self.has_progress = options.get("progress", True)
        self.tell = options.get("tell")
        self.meter = Meter(price_of(chat, options.get("prices")))
        self.brake = Brake(options.get("give_up_after", 10), on_stop=ledger.wake)
        self.has_refused_schemas = False  # then none is sent any more

    @property
    def is_hopeless(self) -> bool:
        """Whether it stopped because of a failure before the model answered once."""
        return self.brake.is_failure and not self.brake.has_succeeded

    def asker(self, rubric: Rubric, repeat: int = 0) -> AskStep:
        """The callable that asks the steps of one rubric."""
        return _Asker(self, rubric, repeat)


@contextmanager
def open_sessions(chat: object, **options: Unpack[CallOptions]) -> Iterator[list[JudgeSession]]:
    """Sessions with one or more chat models that share the cache and the budget."""
    chats, max_cost = chats_of(chat), options.get("max_cost")
    check_count("concurrency", options.get("concurrency", 8))
    for model in chats:
        if max_cost is not None and max_reply_tokens(model) is None:
            raise DataError(
                f"max_cost needs a limit of the answers of {model.model}, but extra_body removes "
                "the field for max_tokens from the request"
            )
        check_budget(max_cost, price_of(model, options.get("prices")), model.model)
    with ExitStack() as stack:
        cache, ledger = options.get("cache"), Ledger(max_cost)
        if cache is not None and not isinstance(cache, Cache):
            cache = stack.enter_context(Cache(cache))
        yield [
            JudgeSession(model, stack.enter_context(open_attempts(model)), cache, ledger, options)
            for model in chats
        ]


@dataclass(frozen=True)
class _Asker:
    """Asks the steps of one rubric: the cache first, then the model."""

    session: JudgeSession
    rubric: Rubric
    repeat: int

    def __call__(self, step: JudgeStep[T]) -> T:
        session, name, n_asked, failure = self.session, self.rubric.name, 0, None

        def reply_to(message: Message) -> Reply:
            nonlocal n_asked
            key, cache = _key(session.chat, message, self.rubric, self.repeat), session.cache
            reply = None if cache is None else cache.get(key)
            if reply is None:
                n_asked += 1
                reply = self._ask(message)
                # Every answer was paid for, also one without a verdict.
                if cache is not None:
                    cache.put(key, reply, judge=name, model=session.chat.model)
            return reply

        try:
            return ask_step(step, reply_to, session.chat.max_tokens)
        except NoVerdictError as exc:
            failure = str(exc)
            raise
        finally:
            session.meter.count_step(name, is_cached=not n_asked, failure=failure)

    def _ask(self, message: Message) -> Reply:
        brake = self.session.brake
        try:
            reply = self._call(message)
        except NotAskedError:
            raise
        except Exception as exc:  # a callable of the user may raise anything
            brake.record_failure(exc)
            is_ours = isinstance(exc, RagevalError)
            why = f"the judge could not be asked: {exc}"
            raise NoVerdictError(why if is_ours else f"the chat client failed: {exc!r}") from exc
        brake.record_success()
        return reply

    def _call(self, message: Message) -> Reply:
        """If a request is refused, whether it succeeds without its schema shows the reason."""
        session = self.session
        plain = replace(message, schema=None)
        if session.has_refused_schemas:
            message = plain
        try:
            return session.ask(message, partial(self._attempt, message))
        except RagevalError as exc:
            is_sent = message.schema is not None and session.chat.settings.get("structured") is True
            if not is_sent or getattr(exc, "status", None) not in _REFUSED_BODY_STATUSES:
                raise
        reply = session.ask(plain, partial(self._attempt, plain))
        session.has_refused_schemas = True
        return reply

    def _attempt(self, message: Message, send: Callable[[], Reply]) -> Reply:
        """Send a request once, within the budget, and count what it took."""
        session, ledger, brake = self.session, self.session.ledger, self.session.brake
        brake.check()
        max_cost = self._max_cost(message)
        # Reserved before it is sent, because threads that each saw room left could exceed the
        # budget together.
        if not ledger.reserve(max_cost, brake.check):
            spent = f" (at most {_usd(ledger.spent)} is spent)" if ledger.spent else ""
            brake.stop(
                f"the budget of {ledger.max_cost:g} USD is too small for another call, which may "
                f"cost {_usd(max_cost)}{spent}"
            )
            brake.check()
        cost = max_cost  # until more is known
        try:
            reply = send()
            session.meter.count_answer(self.rubric.name, reply)
            cost = self._cost(reply, max_cost)
            return reply
        except Exception as exc:
            if was_not_billed(exc):
                cost = 0
            raise
        finally:
            ledger.settle(max_cost, cost)

    def _max_cost(self, message: Message) -> int:
        """What one attempt may cost at most, in millionths of a US dollar."""
        chat, price = self.session.chat, self.session.meter.price
        if price is None:
            return 0
        received = max_reply_tokens(chat) or chat.max_tokens
        return cost_in_micros(price, max_request_tokens(chat, message), received)

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


def _usd(micros: int) -> str:
    return f"{micros / MICROS_PER_USD:.4g} USD"


# -- jobs in worker threads


def run_jobs(
    work: Callable[[JobT], object],
    jobs: Iterable[JobT],
    n_jobs: int,
    sessions: Sequence[JudgeSession],
) -> None:
    """Run all jobs in threads, with a progress bar if standard error is a terminal."""
    n_threads = sessions[0].concurrency
    waiting: set[Future[object]] = set()
    pool = ThreadPoolExecutor(n_threads, thread_name_prefix="judge")
    # With disable=None tqdm shows the bar on a terminal only.
    is_hidden = None if sessions[0].has_progress else True
    bar = tqdm(total=n_jobs, desc="judging", leave=False, disable=is_hidden)

    def wait_until(most: int) -> None:
        """Wait until at most so many jobs are unfinished."""
        nonlocal waiting
        while len(waiting) > most:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                future.result()  # raises what the job raised
                bar.update()

    is_abandoned = False
    try:
        for job in jobs:
            waiting.add(pool.submit(work, job))
            wait_until(_WAITING_PER_THREAD * n_threads - 1)
        wait_until(0)
    except KeyboardInterrupt:
        is_abandoned = True  # set back below, if no second interruption comes
        for session in sessions:
            session.brake.stop(INTERRUPTED)
        # Calls in flight are paid for, so their verdicts are waited for and kept.
        wait([future for future in waiting if not future.cancel()])
        is_abandoned = False
    finally:
        # Not a with block: it would wait for calls in flight after a second interruption as well.
        pool.shutdown(wait=not is_abandoned, cancel_futures=is_abandoned)
        bar.close()


# -- the calls and the cost of judging, without a call

# English prose has about four bytes per token; other scripts take more bytes and more tokens alike.
_BYTES_PER_TOKEN = 4.0
_OVERHEAD_TOKENS = 20  # roles and separators around a message
_TOKENS_PER_VERDICT = 40.0  # a verdict with a sentence of reasoning, as models usually give it


class _NotCachedError(Exception):
    """The cache has no reply to a message."""


class Rehearsal:
    """Counts the steps of a rubric, and answers them from the cache or with their stand-ins."""

    def __init__(self, chat: Chat, cache: Cache | None, rubric: Rubric):
        self.chat, self.cache, self.rubric = chat, cache, rubric
        self.n_calls = self.n_cached = 0
        self.sent = self.max_sent = self.received = 0.0

    def asker(self, repeat: int) -> AskStep:
        """The callable that asks the steps of one repeat."""

        def find(message: Message) -> Reply:
            key = _key(self.chat, message, self.rubric, repeat)
            reply = None if self.cache is None else self.cache.get(key)
            if reply is None:
                raise _NotCachedError
            return reply

        def ask(step: JudgeStep[T]) -> T:
            try:
                result = ask_step(step, find, self.chat.max_tokens)
            except _NotCachedError:
                return self._count_call(step)
            except NoVerdictError:
                self.n_cached += 1
                raise
            self.n_cached += 1
            return result

        return ask

    def _count_call(self, step: JudgeStep[T]) -> T:
        self.n_calls += 1
        self.sent += step.message.size / _BYTES_PER_TOKEN + _OVERHEAD_TOKENS
        self.max_sent += max_request_tokens(self.chat, step.message)
        # A list of verdicts is as long as the list of claims or contexts.
        n_verdicts = len(step.stand_in) if isinstance(step.stand_in, list) else 1
        self.received += min(_TOKENS_PER_VERDICT * n_verdicts, self.chat.max_tokens)
        # The stand-in lets the procedure go on to its next request, which costs as well.
        return step.stand_in

    def counts(self, prices: Prices | None) -> dict[str, object]:
        """What was counted, by the columns of an estimate."""
        price, per_reply = price_of(self.chat, prices), max_reply_tokens(self.chat)
        max_received = None if per_reply is None else float(per_reply * self.n_calls)
        return {
            "n_calls": self.n_calls,
            "n_cached": self.n_cached,
            "prompt_tokens": round(self.sent),
            "completion_tokens": round(self.received),
            "cost_usd": cost_of(price, self.sent, self.received),
            "max_cost_usd": cost_of(price, self.max_sent, max_received),
        }

"""A judging session: one chat model with the cache, the ledger and the limits of its calls.

A reply comes from the cache if it is there, else from the model, as soon as the budget and the
pace allow the call.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Protocol, TypeVar, Unpack

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
    max_reply_tokens,
    max_request_tokens,
    open_attempts,
    was_not_billed,
)
from rageval_report.judges.ledger import (
    MICROS_PER_USD,
    Ledger,
    check_budget,
    cost_in_micros,
    ledger_path,
)
from rageval_report.judges.options import CallOptions, CallPlan
from rageval_report.judges.parsing import UnreadableError
from rageval_report.judges.rubric import Rubric
from rageval_report.metrics.performance import Price, Prices, check_prices

T = TypeVar("T")
JobT = TypeVar("JobT")
Number = TypeVar("Number", int, float)

INTERRUPTED = "interrupted"
_SECONDS_PER_MINUTE = 60.0
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


class NotCachedError(Exception):
    """The cache has no reply to a message."""


@dataclass(frozen=True)
class CachedReplies:
    """The replies in a cache to the requests of one rubric and repeat; none without a cache."""

    cache: Cache | None
    chat: Chat
    rubric: Rubric | None = None
    repeat: int = 0

    def find(self, message: Message) -> tuple[Reply, bool]:
        """The reply to a message, and whether it is of a server that had refused the schema."""
        variants = [message]
        if message.schema is not None and sends_schemas(self.chat):
            variants.append(replace(message, schema=None))
        for variant in variants if self.cache is not None else ():
            if (reply := self.cache.get(self._key(variant))) is not None:  # type: ignore[union-attr]
                return reply, variant is not message
        raise NotCachedError

    def put(self, sent: Message, reply: Reply) -> None:
        """Keep the reply to a message as it was sent: without a schema if the server refused it."""
        if self.cache is not None and self.rubric is not None:
            judge, model = self.rubric.name, self.chat.model
            self.cache.put(self._key(sent), reply, judge=judge, model=model)

    def _key(self, message: Message) -> bytes:
        return reply_key(
            model=self.chat.model,
            settings=self.chat.settings,
            message=message,
            judge=self.rubric.name if self.rubric else "",
            version=self.rubric.version if self.rubric else "",
            repeat=self.repeat,
        )


def sends_schemas(chat: Chat) -> bool:
    """Whether a chat sends JSON schemas; one from outside that does not mention them does not."""
    return chat.settings.get("structured") is True


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
    n_unknown: int = 0
    max_unknown_usd: float | None = 0.0


class Meter:
    """Counts what each judge takes; several threads share it."""

    def __init__(self, price: Price | None):
        self.price = price
        self.by_judge: dict[str, Usage] = {}
        self.failures: Counter[str] = Counter()  # reasons for a missing verdict
        self.n_unusable_cached = 0  # answers without a verdict that were not asked again
        self._lock = threading.Lock()

    @contextmanager
    def counting(self, judge: str) -> Iterator[Usage]:
        """The usage of a judge, to be changed by one thread at a time."""
        with self._lock:
            yield self.by_judge.setdefault(judge, Usage())

    def count_answer(self, judge: str, reply: Reply) -> None:
        """Count a call that was answered."""
        sent, received = reply.prompt_tokens, reply.completion_tokens
        with self.counting(judge) as usage:
            usage.n_calls += 1
            usage.prompt_tokens = _add(usage.prompt_tokens, sent)
            usage.completion_tokens = _add(usage.completion_tokens, received)
            usage.cost_usd = _add(usage.cost_usd, cost_of(self.price, sent, received))

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


class Pace:
    """Spaces the calls evenly, so that a rate limit holds."""

    def __init__(self, per_minute: float | None):
        self._gap = 0.0 if per_minute is None else _SECONDS_PER_MINUTE / per_minute
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Wait until this call may start."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._gap
        if turn > now:
            # Outside the lock, so that the waits of several threads overlap.
            time.sleep(turn - now)


# -- sessions


class JudgeSession:
    """Everything that calls to one chat model share; it is used by several threads."""

    def __init__(
        self, chat: Chat, ask: AskInAttempts, cache: Cache | None, plan: CallPlan, ledger: Ledger
    ):
        self.chat, self.ask, self.cache, self.plan, self.ledger = chat, ask, cache, plan, ledger
        self.meter = Meter(price_of(chat, plan.prices))
        self.pace = Pace(plan.per_minute)
        self.brake = Brake(plan.give_up_after, on_stop=ledger.wake)
        self.has_refused_schemas = False  # then none is sent any more

    @property
    def is_hopeless(self) -> bool:
        """Whether it stopped because of a failure before the model answered once."""
        return self.brake.is_failure and not self.brake.has_succeeded

    def asker(self, rubric: Rubric, repeat: int = 0) -> AskStep:
        """The callable that asks the steps of one rubric."""
        return _Asker(self, rubric.name, CachedReplies(self.cache, self.chat, rubric, repeat))

    def ask_within_budget(self, message: Message, purpose: str) -> Reply:
        """The reply to a message that is not a judge's, within the budget."""
        asker = _Asker(self, purpose, CachedReplies(None, self.chat))
        return self.ask(message, partial(asker.attempt, message))


@contextmanager
def open_sessions(chat: object, **options: Unpack[CallOptions]) -> Iterator[list[JudgeSession]]:
    """Sessions with one or more chat models that share the cache and the budget."""
    chats, plan = chats_of(chat), CallPlan(**options)
    prices = [price_of(model, plan.prices) for model in chats]
    for model, price in zip(chats, prices, strict=True):
        if plan.max_cost is not None and max_reply_tokens(model) is None:
            raise DataError(
                f"max_cost needs a limit of the answers of {model.model}, but extra_body removes "
                "the field for max_tokens from the request"
            )
        check_budget(plan.max_cost, price, model.model)
    # Without a price nobody knows what is spent, so that nothing can be kept.
    is_kept = plan.cache_path is not None and prices != [None] * len(prices)
    path = ledger_path(plan.cache_path) if is_kept and plan.cache_path else None
    names = " + ".join(model.model for model in chats)
    with ExitStack() as stack:
        ledger = Ledger(plan.max_cost, path, over=plan.max_cost_over, model=names)
        stack.callback(ledger.close)
        cache = plan.cache
        if cache is not None and not isinstance(cache, Cache):
            cache = stack.enter_context(Cache(cache))
        yield [
            JudgeSession(model, stack.enter_context(open_attempts(model)), cache, plan, ledger)
            for model in chats
        ]


@dataclass(frozen=True)
class _Asker:
    """Asks the steps of one rubric: the cache first, then the model."""

    session: JudgeSession
    judge: str
    cached: CachedReplies

    def __call__(self, step: JudgeStep[T]) -> T:
        session, n_asked, is_usable = self.session, 0, False

        def reply_to(message: Message) -> Reply:
            nonlocal n_asked
            try:
                reply, is_without_schema = self.cached.find(message)
            except NotCachedError:
                n_asked += 1
                return self._ask(message)
            # The server refused schemas in an earlier run: this one does not try again.
            session.has_refused_schemas |= is_without_schema
            return reply

        failure = ""
        try:
            try:
                result = ask_step(step, reply_to, session.chat.max_tokens)
                is_usable = True
            except NoVerdictError:
                if n_asked or not session.plan.retry_unusable:
                    raise
                n_asked = 1
                result = ask_step(step, self._ask, session.chat.max_tokens)
            return result
        except NoVerdictError as exc:
            failure = str(exc)
            raise
        finally:
            with session.meter.counting(self.judge) as usage:
                usage.n_cached += not n_asked
                session.meter.n_unusable_cached += not (n_asked or is_usable)
                usage.n_failed += bool(failure)
                if failure:
                    session.meter.failures[failure] += 1

    def _ask(self, message: Message) -> Reply:
        """The reply of the model, which is kept."""
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
        # Every answer was paid for, also one without a verdict.
        refused = self.session.has_refused_schemas
        self.cached.put(replace(message, schema=None) if refused else message, reply)
        return reply

    def _call(self, message: Message) -> Reply:
        """If a request is refused, whether it succeeds without its schema shows the reason."""
        session = self.session
        plain = replace(message, schema=None)
        if session.has_refused_schemas:
            message = plain
        try:
            return session.ask(message, partial(self.attempt, message))
        except RagevalError as exc:
            may_be_schema = message.schema is not None and sends_schemas(session.chat)
            if not may_be_schema or getattr(exc, "status", None) not in _REFUSED_BODY_STATUSES:
                raise
        reply = session.ask(plain, partial(self.attempt, plain))
        session.has_refused_schemas = True
        return reply

    def attempt(self, message: Message, send: Callable[[], Reply]) -> Reply:
        """Send a request once, within the budget and the pace, and count what it took."""
        session, meter, ledger = self.session, self.session.meter, self.session.ledger
        session.brake.check()
        max_cost = self._max_cost(message)
        # Reserved before it is sent, because threads that each saw room left could exceed the
        # budget together.
        if not ledger.reserve(max_cost, session.brake.check):
            session.brake.stop(_too_small(ledger, max_cost))
            session.brake.check()
        cost = 0  # of a request that was not sent
        try:
            session.pace.wait()
            session.brake.check()
            cost = max_cost  # until more is known
            reply = send()
            meter.count_answer(self.judge, reply)
            cost = self._cost(reply, max_cost)
            return reply
        except NotAskedError:
            raise
        except Exception as exc:
            if was_not_billed(exc):
                cost = 0
            else:
                most = None if meter.price is None else max_cost / MICROS_PER_USD
                with meter.counting(self.judge) as usage:
                    usage.n_unknown += 1
                    usage.max_unknown_usd = _add(usage.max_unknown_usd, most)
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


def _too_small(ledger: Ledger, max_cost: int) -> str:
    """Why a call does not start."""
    spent = earlier = ""
    if ledger.earlier:
        by_others = f"{_usd(ledger.earlier)} of it by other runs with the same cache"
        earlier = f', {by_others}, which max_cost_over="run" leaves out'
    if ledger.committed:
        spent = f" (at most {_usd(ledger.committed)} is spent{earlier})"
    return (
        f"the budget of {ledger.max_cost:g} USD is too small for another call, which may "
        f"cost {_usd(max_cost)}{spent}"
    )


def _usd(micros: int) -> str:
    return f"{micros / MICROS_PER_USD:.4g} USD"


# -- jobs in worker threads


def run_jobs(
    work: Callable[[JobT], object], jobs: Iterable[JobT], n_jobs: int, sessions: list[JudgeSession]
) -> None:
    """Run all jobs in threads, with a progress bar if standard error is a terminal."""
    plan = sessions[0].plan
    waiting: set[Future[object]] = set()
    pool = ThreadPoolExecutor(plan.concurrency, thread_name_prefix="judge")
    # With disable=None tqdm shows the bar on a terminal only.
    bar = tqdm(total=n_jobs, desc="judging", leave=False, disable=None if plan.progress else True)

    def wait_until(most: int) -> None:
        """Wait until at most so many jobs are unfinished."""
        nonlocal waiting
        while len(waiting) > most:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                future.result()  # raises what the job raised
                if not bar.disable:
                    bar.set_postfix(_shown_totals(sessions), refresh=False)
                    bar.update()

    is_abandoned = False
    try:
        for job in jobs:
            waiting.add(pool.submit(work, job))
            wait_until(_WAITING_PER_THREAD * plan.concurrency - 1)
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


def _shown_totals(sessions: Sequence[JudgeSession]) -> Mapping[str, object]:
    meters = [session.meter for session in sessions]
    usages = [usage for meter in meters for usage in list(meter.by_judge.values())]
    costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    is_known = len(costs) == len(usages) and all(meter.price is not None for meter in meters)
    shown: dict[str, object] = {"failed": sum(usage.n_failed for usage in usages)}
    return shown | ({"cost": f"{sum(costs):.4f} USD"} if is_known else {})


# -- a chat whose every request is within a budget, for work other than judging


@dataclass(frozen=True)
class BudgetedChat:
    """A chat model whose requests share the ledger of the judges; `purpose` is for messages."""

    session: JudgeSession
    purpose: str
    model: str
    settings: Mapping[str, object]
    max_tokens: int

    @property
    def spent_usd(self) -> float:
        """What the requests have cost at most, in US dollars; 0 if the price is unknown."""
        return self.session.ledger.spent / MICROS_PER_USD

    @property
    def left_usd(self) -> float | None:
        """What is left of the budget of this run alone; None if it is unlimited."""
        ledger = self.session.ledger
        return None if ledger.limit is None else (ledger.limit - ledger.spent) / MICROS_PER_USD

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """A context that yields a function to ask the model."""
        yield self._ask

    def _ask(self, message: Message) -> Reply:
        try:
            return self.session.ask_within_budget(message, self.purpose)
        except NotAskedError as exc:
            # As a mistake of the set-up: every further request would end in the same way.
            raise DataError(
                f"{self.purpose}: {exc}. The replies so far are kept: repeat with a larger one"
            ) from exc


@contextmanager
def budgeted_chat(
    chat: object, purpose: str, **options: Unpack[CallOptions]
) -> Iterator[BudgetedChat]:
    """A chat within the budget of `judge`, to be used inside the ``with`` block."""
    with open_sessions(chat, **options) as [session]:
        model = session.chat
        yield BudgetedChat(session, purpose, model.model, model.settings, model.max_tokens)


# -- the calls and the cost of judging, without a call

# English prose has about four bytes per token; other scripts take more bytes and more tokens alike.
_BYTES_PER_TOKEN = 4.0
_OVERHEAD_TOKENS = 20  # roles and separators around a message
_TOKENS_PER_VERDICT = 40.0  # a verdict with a sentence of reasoning, as models usually give it


class Rehearsal:
    """Counts the steps of a rubric, and answers them from the cache or with their stand-ins."""

    def __init__(self, chat: Chat, cache: Cache | None, rubric: Rubric, retry_unusable: bool):
        self.chat, self.cache, self.rubric = chat, cache, rubric
        self.retry_unusable = retry_unusable
        self.n_calls = self.n_cached = 0
        self.sent = self.max_sent = self.received = 0.0

    def asker(self, repeat: int = 0) -> AskStep:
        """The callable that asks the steps of one repeat."""
        cached = CachedReplies(self.cache, self.chat, self.rubric, repeat)

        def ask(step: JudgeStep[T]) -> T:
            try:
                result = ask_step(step, lambda message: cached.find(message)[0], 0)
            except NotCachedError:
                return self._count_call(step)
            except NoVerdictError:
                if self.retry_unusable:
                    return self._count_call(step)
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

    def counts(self, n_queries: int, n_not_judged: int, prices: Prices | None) -> dict[str, object]:
        """What was counted, by the columns of an estimate."""
        price, per_reply = price_of(self.chat, prices), max_reply_tokens(self.chat)
        max_received = None if per_reply is None else float(per_reply * self.n_calls)
        return {
            "judge": self.rubric.name,
            "n_queries": n_queries,
            "n_not_judged": n_not_judged,
            "n_calls": self.n_calls,
            "n_cached": self.n_cached,
            "prompt_tokens": round(self.sent),
            "completion_tokens": round(self.received),
            "cost_usd": cost_of(price, self.sent, self.received),
            "max_cost_usd": cost_of(price, self.max_sent, max_received),
        }

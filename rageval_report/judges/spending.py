"""Tokens and money: what the judges took, and the budget that limits it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from rageval_report.errors import DataError
from rageval_report.judges.chats.base import Chat, Message, Reply
from rageval_report.metrics.performance import Price, Prices, check_prices

Number = TypeVar("Number", int, float)

_TOKENS_PER_PRICE = 1_000_000
# English prose has about four bytes per token; other scripts take more bytes and more tokens alike.
_BYTES_PER_TOKEN = 4.0
# Numbers, code and rare words have fewer: for what a call costs at most.
_MIN_BYTES_PER_TOKEN = 2.0
_OVERHEAD_TOKENS = 20  # roles and separators around a message


def price_of(chat: Chat, prices: Prices | None) -> Price | None:
    """The price of the chat's tokens; None if `prices` does not contain the model.

    Raises
    ------
    DataError
        If a price is not two numbers >= 0.
    """
    return None if prices is None else check_prices(prices).get(chat.model)


def cost_of(price: Price | None, sent: float | None, received: float | None) -> float | None:
    """The cost of tokens in US dollars; None if the price or a number of tokens is unknown.

    Examples
    --------
    >>> cost_of(Price(3.0, 15.0), 1000, 100)
    0.0045
    """
    if price is None or sent is None or received is None:
        return None
    return (sent * price.prompt + received * price.completion) / _TOKENS_PER_PRICE


def estimate_message_tokens(message: Message) -> float:
    """The approximate number of tokens of a message; only the server knows the exact one."""
    return message.size / _BYTES_PER_TOKEN + _OVERHEAD_TOKENS


def max_message_tokens(message: Message) -> float:
    """The number of tokens that a message hardly exceeds."""
    return message.size / _MIN_BYTES_PER_TOKEN + _OVERHEAD_TOKENS


@dataclass
class Usage:
    """What one judge took.

    Parameters
    ----------
    n_calls : int
        The number of calls that the model answered.
    n_cached : int
        The number of replies from the cache.
    n_failed : int
        How often the call failed, the model refused, or its reply contained no verdict.
    prompt_tokens, completion_tokens, cost_usd : float, optional
        None as soon as the value of one call is unknown.
    """

    n_calls: int = 0
    n_cached: int = 0
    n_failed: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost_usd: float | None = 0.0


class Meter:
    """Counts what each judge takes; several threads share it.

    Parameters
    ----------
    price : Price, optional
        The price of the model's tokens.
    """

    def __init__(self, price: Price | None):
        self.price = price
        self.by_judge: dict[str, Usage] = {}
        self.failures: Counter[str] = Counter()  # reasons for a missing verdict
        self._lock = threading.Lock()

    def count_answer(self, judge: str, reply: Reply) -> float | None:
        """Count a call that was answered; returns its cost."""
        cost = cost_of(self.price, reply.prompt_tokens, reply.completion_tokens)
        with self._lock:
            usage = self._usage_of(judge)
            usage.n_calls += 1
            usage.prompt_tokens = _add(usage.prompt_tokens, reply.prompt_tokens)
            usage.completion_tokens = _add(usage.completion_tokens, reply.completion_tokens)
            usage.cost_usd = _add(usage.cost_usd, cost)
        return cost

    def count_cached(self, judge: str) -> None:
        """Count a reply from the cache."""
        with self._lock:
            self._usage_of(judge).n_cached += 1

    def count_failure(self, judge: str, reason: str) -> None:
        """Count a missing verdict."""
        with self._lock:
            self._usage_of(judge).n_failed += 1
            self.failures[reason] += 1

    def _usage_of(self, judge: str) -> Usage:
        return self.by_judge.setdefault(judge, Usage())

    @property
    def cost_usd(self) -> float | None:
        """The cost of all judges; None if it is unknown."""
        costs = [usage.cost_usd for usage in self.by_judge.values()]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def n_failed(self) -> int:
        """The number of missing verdicts of all judges."""
        return sum(usage.n_failed for usage in list(self.by_judge.values()))


def _add(total: Number | None, more: Number | None) -> Number | None:
    return None if total is None or more is None else total + more


@dataclass
class Budget:
    """Lets a call start only if the budget covers the highest cost that the call can have.

    Parameters
    ----------
    limit : float, optional
        US dollars; unlimited if None.
    """

    limit: float | None = None
    spent: float = 0.0
    reserved: float = 0.0
    _changed: threading.Condition = field(default_factory=threading.Condition, repr=False)

    def reserve(self, max_cost: float) -> bool:
        """Reserve what a call may cost at most; False if the budget is too small for it.

        It waits for running calls, which usually cost less than was reserved for them.
        """
        if self.limit is None:
            return True
        with self._changed:
            while self.spent + self.reserved + max_cost > self.limit:
                if self.reserved <= 0.0:  # nothing is running that could free a part of the budget
                    return False
                self._changed.wait()
            self.reserved += max_cost
        return True

    def settle(self, max_cost: float, cost: float | None) -> None:
        """Replace a finished call's reservation by its cost; an unknown cost counts in full."""
        if self.limit is None:
            return
        with self._changed:
            self.reserved = max(0.0, self.reserved - max_cost)
            self.spent += max_cost if cost is None else cost
            self._changed.notify_all()


def open_budget(max_cost: float | None, price: Price | None, model: str) -> Budget:
    """The budget of a session; unlimited if `max_cost` is None.

    Raises
    ------
    DataError
        If `max_cost` is not positive, or the price of the model is unknown.
    """
    if max_cost is None:
        return Budget()
    if not max_cost > 0.0:
        raise DataError(f"max_cost must be > 0, in US dollars; got {max_cost!r}")
    if price is None:
        raise DataError(
            f"max_cost needs the price of {model!r}: prices={{{model!r}: (sent, received)}}, in US "
            "dollars per million tokens"
        )
    return Budget(max_cost)


def usage_rows(by_judge: Mapping[str, Usage]) -> list[dict[str, object]]:
    """One row per judge, for a DataFrame."""
    return [{"judge": judge, **vars(usage)} for judge, usage in by_judge.items()]

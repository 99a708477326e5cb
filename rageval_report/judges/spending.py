"""Tokens and money: what the judges took."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from rageval_report.judges.chats.base import Chat, Message, Reply
from rageval_report.metrics.performance import Price, Prices, check_prices

Number = TypeVar("Number", int, float)

_TOKENS_PER_PRICE = 1_000_000
# English prose has about four bytes per token; other scripts take more bytes and more tokens alike.
_BYTES_PER_TOKEN = 4.0
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
        Of the answered calls; None as soon as the value of one call is unknown.
    n_unknown : int
        The number of attempts that were not answered and may have been billed, e.g. after a
        time-out.
    max_unknown_usd : float, optional
        What those may have cost at most; None if the price is unknown.
    """

    n_calls: int = 0
    n_cached: int = 0
    n_failed: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost_usd: float | None = 0.0
    n_unknown: int = 0
    max_unknown_usd: float | None = 0.0


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
        self.n_unusable_cached = 0  # answers without a verdict that were not asked again
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

    def count_unknown(self, judge: str, max_cost_usd: float) -> None:
        """Count an attempt that was not answered and may have been billed."""
        with self._lock:
            usage = self._usage_of(judge)
            usage.n_unknown += 1
            most = None if self.price is None else max_cost_usd
            usage.max_unknown_usd = _add(usage.max_unknown_usd, most)

    def count_cached(self, judge: str, *, is_usable: bool = True) -> None:
        """Count a reply from the cache, which may be one without a verdict."""
        with self._lock:
            self._usage_of(judge).n_cached += 1
            self.n_unusable_cached += not is_usable

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


def usage_rows(by_judge: Mapping[str, Usage]) -> list[dict[str, object]]:
    """One row per judge, for a DataFrame."""
    return [{"judge": judge, **vars(usage)} for judge, usage in by_judge.items()]

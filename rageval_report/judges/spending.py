"""Tokens and money: what was spent, what may be, and when to stop."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rageval_report.errors import DataError
from rageval_report.judges.chats.base import Chat, Message, Reply
from rageval_report.metrics.performance import Price, Prices, checked_prices

_A_PRICE = 1_000_000
_BYTES_A_TOKEN = 4.0  # of English prose; other scripts take more bytes and more tokens alike
_FEWEST_BYTES_A_TOKEN = 2.0  # figures, code, rare words: for what a call costs at most
_OVERHEAD = 20  # tokens around a message


def price_of(chat: Chat, prices: Prices | None) -> Price | None:
    """What the chat's tokens cost; None where the table does not say.

    Raises
    ------
    DataError
        If a price is not two numbers from 0 upwards.
    """
    return None if prices is None else checked_prices(prices).get(chat.model)


def cost_of(price: Price | None, sent: float | None, received: float | None) -> float | None:
    """US dollars for tokens; None where price or tokens are not known.

    Examples
    --------
    >>> cost_of(Price(3.0, 15.0), 1000, 100)
    0.0045
    """
    if price is None or sent is None or received is None:
        return None
    return (sent * price.prompt + received * price.completion) / _A_PRICE


def about_tokens(message: Message) -> float:
    """About how many tokens a message has: nobody but the server knows."""
    return message.size / _BYTES_A_TOKEN + _OVERHEAD


def at_most_tokens(message: Message) -> float:
    """How many tokens a message hardly exceeds."""
    return message.size / _FEWEST_BYTES_A_TOKEN + _OVERHEAD


@dataclass
class Usage:
    """What a judge took.

    Parameters
    ----------
    n_calls : int
        How often the model was asked and answered.
    n_cached : int
        How many answers came from the cache.
    n_failed : int
        How often it could not be asked, refused, or gave no verdict.
    prompt_tokens, completion_tokens, cost_usd : float, optional
        None as soon as one call's is not known.
    """

    n_calls: int = 0
    n_cached: int = 0
    n_failed: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost_usd: float | None = 0.0


class Meter:
    """Counts what each judge takes; threads share it.

    Parameters
    ----------
    price : Price, optional
        Of the model.
    """

    def __init__(self, price: Price | None):
        self.price = price
        self.by_judge: dict[str, Usage] = {}
        self.failures: Counter[str] = Counter()  # why there was no verdict, and how often
        self._lock = threading.Lock()

    def answered(self, judge: str, reply: Reply) -> float | None:
        """Count a call; what it cost."""
        cost = cost_of(self.price, reply.prompt_tokens, reply.completion_tokens)
        with self._lock:
            usage = self._of(judge)
            usage.n_calls += 1
            usage.prompt_tokens = _sum(usage.prompt_tokens, reply.prompt_tokens)
            usage.completion_tokens = _sum(usage.completion_tokens, reply.completion_tokens)
            usage.cost_usd = _sum(usage.cost_usd, cost)
        return cost

    def cached(self, judge: str) -> None:
        """Count an answer that was there."""
        with self._lock:
            self._of(judge).n_cached += 1

    def failed(self, judge: str, why: str) -> None:
        """Count a call without a verdict."""
        with self._lock:
            self._of(judge).n_failed += 1
            self.failures[why] += 1

    def _of(self, judge: str) -> Usage:
        return self.by_judge.setdefault(judge, Usage())

    @property
    def cost_usd(self) -> float | None:
        """What all judges cost; None where that is not known."""
        costs = [usage.cost_usd for usage in self.by_judge.values()]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def n_failed(self) -> int:
        """How many calls of all judges gave no verdict."""
        return sum(usage.n_failed for usage in list(self.by_judge.values()))


def _sum(total: Any, more: Any) -> Any:
    return None if total is None or more is None else total + more


@dataclass
class Budget:
    """Lets calls begin as long as even the dearest end of them stays within the budget.

    Parameters
    ----------
    most : float, optional
        US dollars; no limit where None.
    """

    most: float | None = None
    spent: float = 0.0
    held: float = 0.0
    _changed: threading.Condition = field(default_factory=threading.Condition, repr=False)

    def hold(self, at_most: float) -> bool:
        """Set aside what a call may cost at most; false where the budget has no room for it.

        It waits for calls that are under way, which as a rule cost less than was set aside.
        """
        if self.most is None:
            return True
        with self._changed:
            while self.spent + self.held + at_most > self.most:
                if self.held <= 0.0:
                    return False
                self._changed.wait()
            self.held += at_most
        return True

    def settle(self, at_most: float, cost: float | None) -> None:
        """A call is over; what it cost is spent, all that was set aside where nobody knows."""
        if self.most is None:
            return
        with self._changed:
            self.held = max(0.0, self.held - at_most)
            self.spent += at_most if cost is None else cost
            self._changed.notify_all()


def budget_of(max_cost: float | None, price: Price | None, model: str) -> Budget:
    """The budget, if it can be kept.

    Raises
    ------
    DataError
        If it is not above 0, or nobody knows what the model costs.
    """
    if max_cost is None:
        return Budget()
    if not max_cost > 0.0:
        raise DataError(f"max_cost is in US dollars and above 0; got {max_cost!r}")
    if price is None:
        raise DataError(
            f"a budget needs the price of {model!r}: prices={{{model!r}: (sent, received)}}, US "
            "dollars a million tokens"
        )
    return Budget(max_cost)


def usage_rows(by_judge: Mapping[str, Usage]) -> list[dict[str, Any]]:
    """A row a judge, for a frame."""
    return [{"judge": judge, **vars(usage)} for judge, usage in by_judge.items()]

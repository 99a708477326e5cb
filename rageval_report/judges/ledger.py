"""The budget: what calls have cost, and what calls in flight may cost at most.

Amounts are whole millionths of a US dollar: sums of them are exact, whatever their order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, isfinite
from numbers import Real

from rageval_report.errors import DataError
from rageval_report.metrics.performance import Price

MICROS_PER_USD = 1_000_000


def _exact(number: float) -> Fraction:
    # As fractions, because 0.15 is not exact as a float, and a cost must never be rounded down.
    return Fraction(repr(float(number)))


def cost_in_micros(price: Price, sent: int, received: int) -> int:
    """The cost of tokens in millionths of a US dollar, rounded up."""
    return ceil(sent * _exact(price.prompt) + received * _exact(price.completion))


class Ledger:
    """Lets an attempt of a call start only if the budget covers what it may cost at most."""

    def __init__(self, max_cost: float | None = None):
        self.max_cost = max_cost
        # Rounded down, as costs are rounded up: the sum of costs is then within the budget.
        self.limit = None if max_cost is None else floor(_exact(max_cost) * MICROS_PER_USD)
        self.spent = 0
        self.reserved = 0
        # Counted, not concluded from `reserved`: an attempt may reserve 0.
        self.n_in_flight = 0
        self._changed = threading.Condition()

    def reserve(self, amount: int, check: Callable[[], object] = lambda: None) -> bool:
        """Reserve what an attempt may cost at most; False if the budget is too small for it."""
        with self._changed:
            while True:
                check()
                if self._fits(self.reserved + amount):
                    self.reserved += amount
                    self.n_in_flight += 1
                    return True
                # Too small even if nothing in flight costs anything: no reason to wait.
                if not self.n_in_flight or not self._fits(amount):
                    # Those who wait for less may fit, or have to learn that the session stops.
                    self._changed.notify_all()
                    return False
                self._changed.wait()

    def settle(self, amount: int, cost: int) -> None:
        """Replace the reservation of a finished attempt by its cost, and wake all that wait."""
        with self._changed:
            self.n_in_flight -= 1
            self.reserved -= amount
            self.spent += cost
            # All, not one: each waits for another amount.
            self._changed.notify_all()

    def wake(self) -> None:
        """Let all that wait look again, because the session has stopped."""
        with self._changed:
            self._changed.notify_all()

    def _fits(self, amount: int) -> bool:
        return self.limit is None or self.spent + amount <= self.limit


def check_budget(max_cost: float | None, price: Price | None, model: str) -> None:
    """Check a budget, and that the price of a model is known if there is one."""
    if max_cost is None:
        return
    is_number = isinstance(max_cost, Real) and not isinstance(max_cost, bool)
    if not (is_number and isfinite(max_cost) and max_cost > 0.0):
        raise DataError(f"max_cost must be a finite number > 0, in US dollars; got {max_cost!r}")
    if price is None:
        raise DataError(
            f"max_cost needs the price of {model!r}: prices={{{model!r}: (sent, received)}}, "
            "in US dollars per million tokens"
        )

"""The ledger of a budget: what calls have cost, and what calls in flight may cost at most.

Amounts are whole millionths of a US dollar: sums of them are exact, whatever their order.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, isfinite
from numbers import Real
from pathlib import Path
from typing import Literal

from rageval_report.errors import DataError, RagevalWarning, check_choice
from rageval_report.judges.ledger_file import (
    LEDGER_ENDING,
    LedgerDamagedError,
    LedgerFaultError,
    LedgerFile,
)
from rageval_report.metrics.performance import Price

MaxCostOver = Literal["cache", "run"]
MAX_COST_OVER: tuple[MaxCostOver, ...] = ("cache", "run")

MICROS_PER_USD = 1_000_000
# A server may report any number. This one is a billion dollars, and sums of it still fit into the
# 64 bits of SQLite's integers.
_MOST_MICROS = 10**15


def cost_in_micros(price: Price, sent: int, received: int) -> int:
    """The cost of tokens in millionths of a US dollar, rounded up.

    Parameters
    ----------
    price : Price
        US dollars per million tokens, so millionths of a dollar per token.
    sent, received : int
        Numbers of tokens.

    Examples
    --------
    >>> cost_in_micros(Price(0.15, 0.6), 1000, 101)
    211
    """
    # As fractions, because 0.15 is not exact as a float, and a cost must never be rounded down.
    cost = ceil(sent * _exact(price.prompt) + received * _exact(price.completion))
    return min(_MOST_MICROS, cost)


def _exact(number: float) -> Fraction:
    return Fraction(repr(float(number)))


class Ledger:
    """Lets an attempt of a call start only if the budget covers what it may cost at most.

    The threads of a session share it. With a file, it also counts what other runs have spent and
    reserved; the reservation of a run that was killed counts in full, as its outcome is unknown.

    Parameters
    ----------
    max_cost : float, optional
        The budget in US dollars; unlimited if None. All other amounts are in millionths of it.
    path : Path, optional
        The file, created with the first reservation; if omitted, nothing is kept.
    over : {"cache", "run"}
        Whether the budget limits the sum over all runs with the same file, or this run.
    model : str
        The model that is paid, for the file.

    Raises
    ------
    DataError
        If the file cannot be read, and the budget includes what earlier runs spent.

    Examples
    --------
    >>> ledger = Ledger(0.001)
    >>> ledger.reserve(600), ledger.room
    (True, 400)
    >>> ledger.settle(600, 250)
    >>> ledger.spent, ledger.room, ledger.reserve(800)
    (250, 750, False)
    """

    def __init__(
        self,
        max_cost: float | None = None,
        path: Path | None = None,
        *,
        over: MaxCostOver = "cache",
        model: str = "",
    ):
        self.max_cost = max_cost
        # Rounded down, as costs are rounded up: the sum of costs is then within the budget.
        self.limit = None if max_cost is None else floor(_exact(max_cost) * MICROS_PER_USD)
        self.over = over
        self.spent = 0
        self.reserved = 0
        # Counted, not concluded from `reserved`: an attempt may reserve 0.
        self.n_in_flight = 0
        self.earlier = 0  # what other runs have spent and reserved, if the budget includes it
        self._changed = threading.Condition()
        self._damage: LedgerDamagedError | None = None
        self._file = None if path is None else LedgerFile(path, model)
        self._read_file()

    def _read_file(self) -> None:
        if self._file is None:
            return
        try:
            others = self._file.committed_by_others()
        except LedgerFaultError as exc:
            if self._needs_others:
                raise _unknown_spending(exc) from exc
            self._give_up_file(exc)
        else:
            self._count_others(others)

    def close(self) -> None:
        """Close the file; what is still in flight stays reserved in it."""
        with self._changed:
            if self._file is not None:
                self._file.close()

    @property
    def _needs_others(self) -> bool:
        """Whether the budget cannot be kept without knowing what other runs spend."""
        return self.limit is not None and self.over == "cache"

    @property
    def room(self) -> int | None:
        """How much may still be reserved; None if that is unlimited."""
        if self.limit is None:
            return None
        return self.limit - self.earlier - self.spent - self.reserved

    def reserve(self, amount: int, check: Callable[[], object] = lambda: None) -> bool:
        """Reserve what an attempt may cost at most; False if the budget is too small for it.

        It waits for attempts in flight, which usually cost less than was reserved for them.

        Parameters
        ----------
        amount : int
            Millionths of a US dollar.
        check : callable
            Called before each look at the budget; an error that it raises ends the waiting.

        Raises
        ------
        DataError
            If the file was damaged since, and the budget includes what other runs spend.
        """
        with self._changed:
            while True:
                check()
                if self._reserve_now(amount):
                    self.n_in_flight += 1
                    return True
                # Too small even if nothing in flight costs anything: no reason to wait.
                if not self.n_in_flight or not self._fits(amount - self.reserved):
                    # Those who wait for less may fit, or have to learn that the session stops.
                    self._changed.notify_all()
                    return False
                self._changed.wait()

    def settle(self, amount: int, cost: int) -> None:
        """Replace the reservation of a finished attempt by its cost, and wake all that wait.

        Parameters
        ----------
        amount : int
            What was reserved.
        cost : int
            What it cost; the same amount again if that is unknown.
        """
        with self._changed:
            self.n_in_flight -= 1
            self.reserved -= amount
            self.spent += cost
            self._in_file(lambda file: file.settle(amount, cost))
            # All, not one: each waits for another amount.
            self._changed.notify_all()

    def wake(self) -> None:
        """Let all that wait look again, because the session has stopped."""
        with self._changed:
            self._changed.notify_all()

    def _reserve_now(self, amount: int) -> bool:
        if self.over == "run" and not self._fits(amount):
            return False
        most = None
        if self.over == "cache" and self.limit is not None:
            most = self.limit - self.spent - self.reserved
        # Other processes look and reserve at the same time: one transaction does both.
        self._count_others(self._in_file(lambda file: file.reserve(amount, most)))
        if self._damage is not None:
            raise _unknown_spending(self._damage) from self._damage
        if not self._fits(amount):
            return False
        self.reserved += amount
        return True

    def _fits(self, amount: int) -> bool:
        return self.room is None or amount <= self.room

    def _count_others(self, committed: int | None) -> None:
        if committed is not None and self.over == "cache":
            self.earlier = committed

    def _in_file(self, operation: Callable[[LedgerFile], int | None]) -> int | None:
        """The result of an operation on the file; a fault of the disk does not stop the work."""
        if self._file is None:
            return None
        try:
            return operation(self._file)
        except LedgerFaultError as exc:
            if isinstance(exc, LedgerDamagedError) and self._needs_others:
                self._damage = exc
            else:
                self._give_up_file(exc)
        return None

    def _give_up_file(self, exc: LedgerFaultError) -> None:
        warnings.warn(
            f"{exc}; from here on what this run spends is not kept for later runs",
            RagevalWarning,
            stacklevel=2,
        )
        self._file = None


def check_budget(max_cost: float | None, price: Price | None, model: str) -> None:
    """Check a budget, and that the price of a model is known if there is one.

    Raises
    ------
    DataError
        If `max_cost` is not a positive number, or the price of the model is unknown.
    """
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


def open_ledger(
    max_cost: float | None,
    price: Price | None,
    model: str,
    *,
    cache: Path | None = None,
    over: MaxCostOver = "cache",
) -> Ledger:
    """The ledger of a session; unlimited if `max_cost` is None.

    Parameters
    ----------
    max_cost : float, optional
        The budget in US dollars.
    price : Price, optional
        The price of the model's tokens.
    model : str
        The model's name.
    cache : Path, optional
        The cache of the session; the ledger's file is next to it.
    over : {"cache", "run"}
        Whether the budget limits all runs with the same cache, or this run.

    Raises
    ------
    DataError
        If `max_cost` is not a positive number, or the price of the model is unknown.

    Examples
    --------
    >>> ledger = open_ledger(0.05, Price(10.0, 10.0), "m")
    >>> ledger.limit, ledger.room
    (50000, 50000)
    """
    check_choice("max_cost_over", over, MAX_COST_OVER)
    check_budget(max_cost, price, model)
    # Without a price nobody knows what is spent, so that nothing can be kept.
    path = None if cache is None or price is None else ledger_path(cache)
    return Ledger(max_cost, path, over=over, model=model)


def _unknown_spending(exc: LedgerFaultError) -> DataError:
    return DataError(
        f"max_cost includes what earlier runs spent, but {exc}. Delete that file to "
        'count from 0, or use max_cost_over="run"'
    )


def ledger_path(cache: Path) -> Path:
    """The file next to a cache that keeps what its runs have spent.

    Examples
    --------
    >>> ledger_path(Path("judges.sqlite")).name
    'judges.sqlite.spending'
    """
    return cache.with_name(f"{cache.name}{LEDGER_ENDING}")

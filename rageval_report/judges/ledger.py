"""The ledger of a budget: what calls have cost, and what calls in flight may cost at most.

Amounts are whole millionths of a US dollar: sums of them are exact, whatever their order. Next to a
cache a file keeps what each run has spent, for the runs after it and beside it. Each of its rows
has a digest, and rows are numbered without gaps, so that a row that is damaged or missing is
noticed: a sum that is too small would let later runs exceed their budget.
"""

from __future__ import annotations

import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from math import ceil, floor, isfinite
from numbers import Real
from pathlib import Path
from typing import Any
from weakref import finalize

from rageval_report.errors import MOST_NAMED, DataError, RagevalWarning
from rageval_report.files.digests import canonical_json, digest_of_parts
from rageval_report.files.writing import locked_folder, write_with
from rageval_report.judges.cache import DAMAGE, connect, read_pragma
from rageval_report.judges.options import MaxCostOver
from rageval_report.metrics.performance import Price

MICROS_PER_USD = 1_000_000
# A server may report any number. This one is a billion dollars, and sums of it still fit into the
# 64 bits of SQLite's integers.
_MOST_MICROS = 10**15


def _exact(number: float) -> Fraction:
    # As fractions, because 0.15 is not exact as a float, and a cost must never be rounded down.
    return Fraction(repr(float(number)))


def cost_in_micros(price: Price, sent: int, received: int) -> int:
    """The cost of tokens in millionths of a US dollar, rounded up."""
    cost = ceil(sent * _exact(price.prompt) + received * _exact(price.completion))
    return min(_MOST_MICROS, cost)


def ledger_path(cache: Path) -> Path:
    """The file next to a cache that keeps what its runs have spent."""
    return cache.with_name(f"{cache.name}.spending")


class Ledger:
    """Lets an attempt of a call start only if the budget covers what it may cost at most."""

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
        self._damage: LedgerFaultError | None = None
        self._file = None if path is None else LedgerFile(path, model)
        self._in_file(lambda file: file.committed_by_others(), is_first=True)

    def close(self) -> None:
        """Close the file; what is still in flight stays reserved in it."""
        with self._changed:
            if self._file is not None:
                self._file.close()

    @property
    def room(self) -> int | None:
        """How much may still be reserved; None if that is unlimited."""
        if self.limit is None:
            return None
        return self.limit - self.earlier - self.spent - self.reserved

    @property
    def committed(self) -> int:
        """What this run and, if the budget includes them, the others have spent."""
        return self.earlier + self.spent

    def reserve(self, amount: int, check: Callable[[], object] = lambda: None) -> bool:
        """Reserve what an attempt may cost at most; False if the budget is too small for it."""
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
        """Replace the reservation of a finished attempt by its cost, and wake all that wait."""
        with self._changed:
            self.n_in_flight -= 1
            self.reserved -= amount
            self.spent += cost
            self._in_file(lambda file: file.add(cost, -amount))
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
        self._in_file(lambda file: file.add(0, amount, most))
        if self._damage is not None:
            raise _unknown_spending(self._damage) from self._damage
        if not self._fits(amount):
            return False
        self.reserved += amount
        return True

    def _fits(self, amount: int) -> bool:
        return self.room is None or amount <= self.room

    def _in_file(self, operation: Callable[[LedgerFile], int], *, is_first: bool = False) -> None:
        """Run an operation on the file, which gives what others committed; a fault is no end."""
        if self._file is None:
            return
        try:
            committed = operation(self._file)
            if self.over == "cache":
                self.earlier = committed
        except LedgerFaultError as exc:
            # Whether the budget cannot be kept without knowing what other runs spend.
            needs_others = self.limit is not None and self.over == "cache"
            if needs_others and is_first:
                raise _unknown_spending(exc) from exc
            if needs_others and exc.is_damage:
                self._damage = exc
                return
            warnings.warn(
                f"{exc}; from here on what this run spends is not kept for later runs",
                RagevalWarning,
                stacklevel=2,
            )
            self._file = None


def _unknown_spending(exc: LedgerFaultError) -> DataError:
    return DataError(
        f"max_cost includes what earlier runs spent, but {exc}. Delete that file to "
        'count from 0, or use max_cost_over="run"'
    )


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


def spent_by_runs(path: Path) -> float:
    """What all runs with the file of a ledger have spent and reserved, in US dollars."""
    file = LedgerFile(path, "")
    try:
        return file.committed_by_others() / MICROS_PER_USD
    except LedgerFaultError as exc:
        raise DataError(str(exc)) from exc
    finally:
        file.close()


# -- the file

_APPLICATION_ID = 0x52414C47  # "RALG", in the field by which SQLite marks whose file it is
_FORMAT_VERSION = 2
# AUTOINCREMENT, because SQLite then keeps the number of the last row in a table of its own, which
# shows if rows are missing at the end.
_TABLE = """
CREATE TABLE runs (
    run INTEGER PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL,
    started REAL NOT NULL,
    spent INTEGER NOT NULL,
    reserved INTEGER NOT NULL,
    digest BLOB NOT NULL
)
"""
_SELECT = "SELECT run, model, started, spent, reserved, digest FROM runs ORDER BY run"
_LAST_RUN = "SELECT MAX(seq) FROM sqlite_sequence WHERE name = 'runs'"
# What SQLite answers where the file may be whole; anything else is damage.
_DISK_FAULTS = frozenset(
    getattr(sqlite3, f"SQLITE_{name}")
    for name in "BUSY LOCKED READONLY IOERR FULL CANTOPEN PERM NOMEM INTERRUPT".split()
)
_MOST_MISSING = 1000  # rows


class LedgerFaultError(Exception):
    """The file of a ledger cannot be used, or is damaged: nobody knows what was spent."""

    def __init__(self, message: str, *, is_damage: bool):
        super().__init__(message)
        self.is_damage = is_damage


class LedgerFile:
    """What each run has spent and reserved, in millionths of a US dollar; one row per run."""

    def __init__(self, path: Path, model: str):
        self.path = path
        self._model, self._started = model, time.time()
        self._database: sqlite3.Connection | None = None
        # The number of this run, None before its first reservation; what it spent and reserved.
        self._row: tuple[int | None, int, int] = (None, 0, 0)
        self._others = 0
        self._state: int | None = None  # of the file, for which the sum of others was computed

    def committed_by_others(self) -> int:
        """What all other runs have spent, and what they have reserved."""
        if not self.path.exists():  # to ask for a sum creates no file
            return 0
        with self._transaction() as database:
            return self._sum_of_others(database)

    def add(self, spent: int, reserved: int, most: int | None = None) -> int:
        """Add amounts if others have left enough of `most`; returns what others committed."""
        with self._transaction() as database:
            others = self._sum_of_others(database)
            if most is not None and others + reserved > most:
                return others
            # The whole row, from memory: what another program made of it does not matter.
            run, old_spent, old_reserved = self._row
            if run is None:
                run = 1 + _last_run(database)
            elif database.execute("DELETE FROM runs WHERE run = ?", (run,)).rowcount != 1:
                raise sqlite3.DatabaseError(f"run {run} is missing")
            self._row = (run, old_spent + spent, old_reserved + reserved)
            cells = _sealed(run, self._model, self._started, *self._row[1:])
            database.execute("INSERT INTO runs VALUES (?,?,?,?,?,?)", cells)
            return others

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _sum_of_others(self, database: sqlite3.Connection) -> int:
        # The number changes when another process writes; then all rows are checked again.
        state = read_pragma(database, "data_version")
        if state != self._state:
            rows = database.execute(_SELECT).fetchall()
            problems = _problems_in(rows, _last_run(database))
            if problems:
                raise sqlite3.DatabaseError("; ".join(problems[:MOST_NAMED]))
            self._others = sum(row[3] + row[4] for row in rows if row[0] != self._row[0])
            self._state = state
        return self._others

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """The database, in a transaction that no other process can come between."""
        before = self._row
        try:
            if self._database is None:
                self._database = _open(self.path)
                # Also of a ledger that nobody closes, of which Python 3.13 and later warn.
                finalize(self, self._database.close)
            self._database.execute("BEGIN IMMEDIATE")
            with self._database:  # commits, or rolls back after an error
                yield self._database
        except (*DAMAGE, OverflowError, DataError) as exc:
            self._row, self._state = before, None
            # The low byte is the kind of an error, the others say more.
            code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
            is_damage = not isinstance(exc, DataError) and code not in _DISK_FAULTS
            fault = "is damaged, or not a ledger" if is_damage else "cannot be used"
            message = f"the ledger {self.path} {fault} ({exc})"
            raise LedgerFaultError(message, is_damage=is_damage) from exc


def _sealed(*cells: Any) -> tuple[Any, ...]:
    """The cells of a row, with its digest."""
    return (*cells, digest_of_parts([canonical_json(cells)]))


def _problems_in(rows: list[tuple[Any, ...]], last: int) -> list[str]:
    """Which of the rows up to the number of the last run are damaged or missing."""
    problems = [f"run {row[0]} is damaged" for row in rows if row != _sealed(*row[:-1])]
    numbers = [row[0] for row in rows]
    if last > len(rows) + _MOST_MISSING:  # a damaged number may be any, and is not counted up to
        problems.append("the number of the last run is damaged")
    else:
        missing = sorted(set(range(1, last + 1)).difference(numbers))
        problems += [f"run {run} is missing" for run in missing]
    if not problems and len(rows) != last:
        problems.append("the numbers of the runs are damaged")
    return problems


def _last_run(database: sqlite3.Connection) -> int:
    """The number of the last run, as SQLite keeps it apart from the rows."""
    return int(database.execute(_LAST_RUN).fetchone()[0] or 0)


def _open(path: Path) -> sqlite3.Connection:
    # Whole at once, if there is none: an empty file would be one that lost what it held. Locked,
    # because a second process must not replace the file of the first.
    if not path.exists():
        with locked_folder(path.parent):
            if not path.exists():
                write_with(path, _write_empty, private=True)
    database = connect(path, isolation_level=None)
    try:
        # No write-ahead log, as in the cache: SQLite passes over a damaged part of a log that a
        # killed process left, and what it held would be missing in the sum. A damaged rollback
        # journal leaves a reservation where a cost should be, or pages whose digests are wrong.
        # Not flushed to the disk either: two flushes per call, each waited for, took 30 ms on a
        # busy disk, and a killed process loses nothing without them.
        database.execute("PRAGMA synchronous = OFF")
        marks = (read_pragma(database, "application_id"), read_pragma(database, "user_version"))
        if marks != (_APPLICATION_ID, _FORMAT_VERSION):
            raise sqlite3.DatabaseError("it is empty, or of another program or version")
    except BaseException:
        database.close()
        raise
    return database


def _write_empty(path: str) -> None:
    marks = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {_FORMAT_VERSION}"
    with closing(connect(path, isolation_level=None)) as database:
        database.executescript(f"BEGIN; {marks}; {_TABLE}; COMMIT")

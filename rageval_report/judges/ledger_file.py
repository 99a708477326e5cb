"""The file of a ledger: what each run has spent, for the runs after it and beside it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_APPLICATION_ID = 0x52414C47  # "RALG", in the field by which SQLite marks whose file it is
_FORMAT_VERSION = 1
_BUSY_SECONDS = 30.0  # how long one process waits for another that writes
_TABLE = """
CREATE TABLE IF NOT EXISTS runs (
    run INTEGER PRIMARY KEY,
    model TEXT NOT NULL,
    started REAL NOT NULL,
    spent INTEGER NOT NULL,
    reserved INTEGER NOT NULL
)
"""


class LedgerFaultError(Exception):
    """The file of a ledger cannot be read or written."""


class LedgerFile:
    """What each run has spent and reserved, in millionths of a US dollar; one row per run.

    A reservation is in the file before its request is sent, so that a run that is killed leaves it
    there. Several processes may use the file at the same time; the threads of one take turns.

    Parameters
    ----------
    path : Path
        The file; it is created with the first reservation.
    model : str
        The model that is paid.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = LedgerFile(Path(folder) / "spending", "m")
    ...     first.reserve(600, most=1000)
    ...     first.settle(600, 250)
    ...     first.close()
    ...     LedgerFile(Path(folder) / "spending", "m").committed_by_others()
    0
    250
    """

    def __init__(self, path: Path, model: str):
        self.path = path
        self._model = model
        self._database: sqlite3.Connection | None = None
        self._run: int | None = None  # the number of this run; None before its first reservation

    def committed_by_others(self) -> int:
        """What all other runs have spent, and what they have reserved.

        Raises
        ------
        LedgerFaultError
            If the file cannot be read.
        """
        if not self.path.exists():  # to ask for a sum creates no file
            return 0
        with self._transaction() as database:
            return self._sum_of_others(database)

    def reserve(self, amount: int, most: int | None) -> int:
        """Reserve an amount if others have left enough; returns what they have committed.

        Parameters
        ----------
        amount : int
            Millionths of a US dollar.
        most : int, optional
            The reservation is made if it and what others have committed are together not more than
            this; in any case if None.

        Raises
        ------
        LedgerFaultError
            If the file cannot be written.
        """
        with self._transaction() as database:
            others = self._sum_of_others(database)
            if most is None or others + amount <= most:
                self._add(database, 0, amount)
            return others

    def settle(self, amount: int, cost: int) -> None:
        """Replace a reservation by the cost.

        Raises
        ------
        LedgerFaultError
            If the file cannot be written.
        """
        with self._transaction() as database:
            self._add(database, cost, -amount)

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _sum_of_others(self, database: sqlite3.Connection) -> int:
        query = "SELECT COALESCE(SUM(spent + reserved), 0) FROM runs WHERE run IS NOT ?"
        return int(database.execute(query, (self._run,)).fetchone()[0])

    def _add(self, database: sqlite3.Connection, spent: int, reserved: int) -> None:
        if self._run is None:
            columns = "model, started, spent, reserved"
            row = (self._model, time.time(), spent, reserved)
            cursor = database.execute(f"INSERT INTO runs ({columns}) VALUES (?,?,?,?)", row)  # noqa: S608
            self._run = cursor.lastrowid
        else:
            change = "UPDATE runs SET spent = spent + ?, reserved = reserved + ? WHERE run = ?"
            database.execute(change, (spent, reserved, self._run))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """The database, in a transaction that no other process can come between."""
        try:
            if self._database is None:
                self._database = _open(self.path)
            self._database.execute("BEGIN IMMEDIATE")
            with self._database:  # commits, or rolls back after an error
                yield self._database
        except sqlite3.OperationalError as exc:  # full, locked for long, not writable
            raise LedgerFaultError(f"the ledger {self.path} cannot be used ({exc})") from exc
        except (sqlite3.Error, OverflowError) as exc:
            raise LedgerFaultError(
                f"the ledger {self.path} is damaged, or not a ledger ({exc})"
            ) from exc


def _open(path: Path) -> sqlite3.Connection:
    # The lock of `Ledger` takes the place of SQLite's check of threads.
    database = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None
    )
    try:
        _prepare(database)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection) -> None:
    # As in the cache: a killed process loses nothing, a power cut the last amounts at most.
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("BEGIN IMMEDIATE")  # two processes set up a new file one after the other
    with database:
        if not database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {_FORMAT_VERSION}")
            database.execute(_TABLE)
        marks = tuple(
            int(database.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("application_id", "user_version")
        )
    if marks != (_APPLICATION_ID, _FORMAT_VERSION):
        raise sqlite3.DatabaseError("it is of another program or version")

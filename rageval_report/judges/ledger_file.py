"""The file of a ledger: what each run has spent, for the runs after it and beside it.

Each row has a digest, and rows are numbered without gaps, so that a row that is damaged or missing
is noticed: a sum that is too small would let later runs exceed their budget.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from weakref import finalize

from rageval_report.errors import MOST_NAMED, DataError
from rageval_report.files.digests import canonical_json, digest_of_parts
from rageval_report.files.writing import locked_folder, write_with
from rageval_report.judges.reply_cache import DAMAGE

LEDGER_ENDING = ".spending"

_APPLICATION_ID = 0x52414C47  # "RALG", in the field by which SQLite marks whose file it is
# Where SQLite's header has this field, see https://www.sqlite.org/fileformat2.html.
_APPLICATION_PLACE = 68
_FORMAT_VERSION = 2
_WITHOUT_DIGESTS = 1
_BUSY_SECONDS = 30.0  # how long one process waits for another that writes
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
_MARKS = f"""
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_FORMAT_VERSION};
"""
_SELECT = "SELECT run, model, started, spent, reserved, digest FROM runs ORDER BY run"
# What SQLite answers where the file may be whole; anything else is damage.
_DISK_FAULTS = frozenset(
    {
        *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY),
        *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN),
        *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT),
    }
)
_MOST_MISSING = 1000  # rows
_COMPANIONS = ("-journal", "-wal")  # what a killed process may leave beside the file


class LedgerFaultError(Exception):
    """The file of a ledger cannot be read or written."""


class LedgerDamagedError(LedgerFaultError):
    """The file of a ledger is not as it was written, so that nobody knows what was spent."""


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
        self._started = time.time()
        self._spent = self._reserved = 0
        # What others have committed, and the state of the file for which that was computed.
        self._others = 0
        self._state: int | None = None

    def committed_by_others(self) -> int:
        """What all other runs have spent, and what they have reserved.

        Raises
        ------
        LedgerFaultError
            If the file cannot be read; `LedgerDamagedError` if it is damaged.
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
            If the file cannot be written; `LedgerDamagedError` if it is damaged.
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
            If the file cannot be written; `LedgerDamagedError` if it is damaged.
        """
        with self._transaction() as database:
            self._add(database, cost, -amount)

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _sum_of_others(self, database: sqlite3.Connection) -> int:
        # The number changes when another process writes; then all rows are checked again.
        state = _read_number(database, "PRAGMA data_version")
        if state != self._state:
            rows, problems = _checked_rows(database)
            if problems:
                raise sqlite3.DatabaseError("; ".join(problems[:MOST_NAMED]))
            self._others = sum(row[3] + row[4] for row in rows if row[0] != self._run)
            self._state = state
        return self._others

    def _add(self, database: sqlite3.Connection, spent: int, reserved: int) -> None:
        # The whole row, from memory: what another program made of it in the file does not matter.
        cells = (self._model, self._started, self._spent + spent, self._reserved + reserved)
        run = self._run
        if run is None:
            run = 1 + _last_run(database)
            database.execute("INSERT INTO runs VALUES (?,?,?,?,?,?)", _sealed(run, *cells))
        else:
            change = (
                "UPDATE runs SET run = ?, model = ?, started = ?, spent = ?, reserved = ?, "
                "digest = ? WHERE run = ?"
            )
            if database.execute(change, (*_sealed(run, *cells), run)).rowcount != 1:
                raise sqlite3.DatabaseError(f"run {run} is missing")
        self._run, self._spent, self._reserved = run, cells[2], cells[3]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """The database, in a transaction that no other process can come between."""
        before = self._run, self._spent, self._reserved
        try:
            if self._database is None:
                self._database = _open(self.path)
                # Also of a ledger that nobody closes, of which Python 3.13 and later warn.
                finalize(self, self._database.close)
            self._database.execute("BEGIN IMMEDIATE")
            with self._database:  # commits, or rolls back after an error
                yield self._database
        except (*DAMAGE, OverflowError, DataError) as exc:
            self._run, self._spent, self._reserved = before
            self._state = None
            raise _fault(self.path, exc) from exc


def _fault(path: Path, exc: Exception) -> LedgerFaultError:
    # The low byte is the kind of an error, the others say more.
    code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
    if isinstance(exc, DataError) or code in _DISK_FAULTS:
        return LedgerFaultError(f"the ledger {path} cannot be used ({exc})")
    return LedgerDamagedError(f"the ledger {path} is damaged, or not a ledger ({exc})")


# -- rows


def _sealed(*cells: Any) -> tuple[Any, ...]:
    """The cells of a row, with its digest."""
    return (*cells, digest_of_parts([canonical_json(cells)]))


def _checked_rows(database: sqlite3.Connection) -> tuple[list[tuple[Any, ...]], list[str]]:
    """All rows, and which of them are damaged or missing."""
    rows = database.execute(_SELECT).fetchall()
    problems = [f"run {row[0]} is damaged" for row in rows if row != _sealed(*row[:-1])]
    last, numbers = _last_run(database), {row[0] for row in rows}
    if last > len(rows) + _MOST_MISSING:  # a damaged number may be any, and is not counted up to
        problems.append("the number of the last run is damaged")
    else:
        problems += [f"run {run} is missing" for run in range(1, last + 1) if run not in numbers]
    if not problems and len(rows) != last:
        problems.append("the numbers of the runs are damaged")
    return rows, problems


def _last_run(database: sqlite3.Connection) -> int:
    """The number of the last run, as SQLite keeps it apart from the rows."""
    return _read_number(database, "SELECT MAX(seq) FROM sqlite_sequence WHERE name = 'runs'")


def _read_number(database: sqlite3.Connection, query: str) -> int:
    return int(database.execute(query).fetchone()[0] or 0)


# -- the file


def _open(path: Path) -> sqlite3.Connection:
    _create(path)
    database = _connect(path)
    try:
        _prepare(database)
    except BaseException:
        database.close()
        raise
    return database


def _create(path: Path) -> None:
    """Create the file, if there is none, whole at once: an empty one has lost what it held."""
    if path.exists():
        return
    with locked_folder(path.parent):  # a second process must not replace the file of the first
        if not path.exists():
            write_with(path, _write_empty, private=True)


def _write_empty(path: str) -> None:
    with closing(_connect(Path(path))) as database:
        database.executescript(f"BEGIN; {_MARKS} {_TABLE}; COMMIT")


def _connect(path: Path) -> sqlite3.Connection:
    # The lock of `Ledger` takes the place of SQLite's check of threads.
    database = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None
    )
    # A damaged text must come to the check of its digest, and not end in an error of SQLite.
    database.text_factory = partial(str, encoding="utf-8", errors="replace")
    return database


def _prepare(database: sqlite3.Connection) -> None:
    # No write-ahead log, as in the cache: SQLite passes over a damaged part of a log that a killed
    # process left, and what it held would be missing in the sum. A damaged rollback journal leaves
    # a reservation where a cost should be, or pages whose digests are wrong.
    # Not flushed to the disk either: two flushes per call, each waited for, took 30 ms on a busy
    # disk, and a killed process loses nothing without them.
    database.execute("PRAGMA synchronous = OFF")
    version = _version(database)
    if version == _WITHOUT_DIGESTS:
        with suppress(sqlite3.OperationalError):  # another process has it open
            database.execute("PRAGMA journal_mode = DELETE")
        database.execute("BEGIN IMMEDIATE")
        with database:
            if _version(database) == _WITHOUT_DIGESTS:  # no other process has done it
                _add_digests(database)


def _version(database: sqlite3.Connection) -> int:
    version = _read_number(database, "PRAGMA user_version")
    is_ours = _read_number(database, "PRAGMA application_id") == _APPLICATION_ID
    if not is_ours or version not in (_WITHOUT_DIGESTS, _FORMAT_VERSION):
        raise sqlite3.DatabaseError("it is empty, or of another program or version")
    return version


def _add_digests(database: sqlite3.Connection) -> None:
    """Bring a file of an earlier version up to date."""
    earlier = database.execute("SELECT model, started, spent, reserved FROM runs ORDER BY run")
    rows = [_sealed(run, *cells) for run, cells in enumerate(earlier.fetchall(), 1)]
    database.execute("DROP TABLE runs")
    database.execute(_TABLE)
    database.executemany("INSERT INTO runs VALUES (?,?,?,?,?,?)", rows)
    database.execute(f"PRAGMA user_version = {_FORMAT_VERSION}")


# -- checking


def is_ledger(head: bytes) -> bool:
    """Whether a file is a ledger, by its first bytes.

    Examples
    --------
    >>> is_ledger(b"SQLite format 3")
    False
    """
    mark = head[_APPLICATION_PLACE : _APPLICATION_PLACE + 4]
    return mark == _APPLICATION_ID.to_bytes(4, "big")


def count_runs(path: Path) -> tuple[bool, int, list[str]]:
    """Check the runs in a ledger without changing the file.

    Parameters
    ----------
    path : Path
        The ledger.

    Returns
    -------
    is_protected : bool
        Whether the rows have digests.
    n : int
        The number of rows.
    damage : list of str
        The runs that are damaged or missing, or why the file cannot be read.

    Raises
    ------
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = LedgerFile(Path(folder) / "spending", "m")
    ...     _ = ledger.reserve(600, most=None)
    ...     ledger.close()
    ...     count_runs(ledger.path)
    (True, 1, [])
    """
    # On a copy: to read what a killed process left, SQLite first repairs the file.
    with tempfile.TemporaryDirectory(prefix="rageval-") as folder:
        copy = Path(folder, "ledger")
        shutil.copyfile(path, copy)
        for ending in _COMPANIONS:
            companion = path.with_name(path.name + ending)
            if companion.exists():
                shutil.copyfile(companion, f"{copy}{ending}")
        try:
            with closing(_connect(copy)) as database:
                if _version(database) == _WITHOUT_DIGESTS:
                    return False, _read_number(database, "SELECT COUNT(*) FROM runs"), []
                rows, problems = _checked_rows(database)
        except DAMAGE as exc:
            return True, 0, [f"the file cannot be read: {exc}"]
        return True, len(rows), problems

"""The replies of judges on disk, so that no call is paid for twice."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from rageval_report.errors import DataError, RagevalWarning
from rageval_report.files.writing import OWNER_ONLY
from rageval_report.judges.chats.base import Message, Reply

T = TypeVar("T")

FORMAT_VERSION = 2
_WITHOUT_ENDINGS = 1  # the version whose replies were all complete
_APPLICATION_ID = 0x52414745  # "RAGE", in the field by which SQLite marks whose file it is
_BUSY_SECONDS = 30.0  # how long one process waits for another that writes
_TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    key BLOB PRIMARY KEY,
    judge TEXT NOT NULL,
    model TEXT NOT NULL,
    text TEXT NOT NULL,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    kept REAL NOT NULL,
    ending TEXT NOT NULL DEFAULT 'end'
) WITHOUT ROWID
"""
_COLUMNS = "key judge model text prompt_tokens completion_tokens kept ending".split()
_COMPANIONS = ("-wal", "-shm")  # endings of the files that SQLite keeps next to its own
_STACK_LEVEL = 4  # warnings point to the caller of the method


def default_cache() -> Path:
    """The cache that commands use: RAGEVAL_CACHE, else a file in the user's cache folder."""
    path = os.environ.get("RAGEVAL_CACHE")
    if path:
        return Path(path)
    folder = os.environ.get("XDG_CACHE_HOME")
    return (Path(folder) if folder else Path.home() / ".cache") / "rageval-report" / "judges.sqlite"


def reply_key(
    *,
    model: str,
    settings: Mapping[str, object],
    message: Message,
    judge: str,
    version: str,
    repeat: int = 0,
) -> bytes:
    """The key of a reply: a digest of everything that could have changed it.

    Parameters
    ----------
    model : str
        The model that was asked.
    settings : mapping
        The chat's settings: provider, address, limits; never a key.
    message : Message
        The request.
    judge, version : str
        Name and version of the rubric.
    repeat : int
        The number of the repeat, from 0.

    Examples
    --------
    >>> key = reply_key(
    ...     model="m", settings={}, message=Message("Is it?"), judge="tone", version="1"
    ... )
    >>> len(key)
    16
    """
    parts = [model, dict(settings), message.system, message.user, message.schema, judge, version]
    # As JSON, because joined texts could be equal for different parts.
    text = json.dumps([*parts, repeat], sort_keys=True, ensure_ascii=False, default=repr)
    # 16 bytes: among a billion replies a collision has a chance below 1 in 10**20.
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True)
class CacheStatus:
    """What a cache contains.

    Parameters
    ----------
    path : Path
    n_replies : int
    n_bytes : int
        The size of the file and of the files that SQLite keeps next to it.
    by_judge : dict of (judge, model) to int
        The number of replies.
    """

    path: Path
    n_replies: int
    n_bytes: int
    by_judge: dict[tuple[str, str], int]


class Cache:
    """A file of replies; several threads and processes may use it at the same time.

    Every answer of the model is kept, also one without a verdict, so that it is not paid for twice.
    A file that is damaged or is not a cache is renamed, with a warning; a file of a newer version
    is refused. If the disk is full, the work continues, with a warning that
    nothing more is kept. Use a local disk: SQLite cannot lock files on most network drives.

    Parameters
    ----------
    path : str or Path
        The file; its folder is created if it does not exist.

    Raises
    ------
    DataError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Cache(folder + "/judges.sqlite") as cache:
    ...     cache.put(b"key", Reply("8/10"), judge="tone", model="m")
    ...     cache.get(b"key").text, cache.get(b"other")
    ('8/10', None)
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._lock = threading.Lock()
        self._is_writable = True
        self._database = self._open()
        self._identity = _identity(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; SQLite then merges its companion files into it."""
        with self._lock:
            self._database.close()

    def get(self, key: bytes) -> Reply | None:
        """The reply with a key; None if there is none."""

        def read(database: sqlite3.Connection) -> Reply | None:
            query = "SELECT text, prompt_tokens, completion_tokens, ending, model FROM replies"
            row = database.execute(f"{query} WHERE key = ?", (key,)).fetchone()
            return None if row is None else Reply(*row)

        return self._use(read)

    def put(self, key: bytes, reply: Reply, *, judge: str, model: str) -> None:
        """Keep a reply; it replaces an earlier one with the same key."""
        counts = (reply.prompt_tokens, reply.completion_tokens)
        row = (key, judge, model, reply.text, *counts, time.time(), reply.ending)

        def write(database: sqlite3.Connection) -> None:
            with database:
                database.execute("INSERT OR REPLACE INTO replies VALUES (?,?,?,?,?,?,?,?)", row)

        if self._is_writable:
            self._use(write)

    def status(self) -> CacheStatus:
        """The number and the size of the replies."""

        def count(database: sqlite3.Connection) -> list[tuple[str, str, int]]:
            query = "SELECT judge, model, COUNT(*) FROM replies GROUP BY judge, model ORDER BY 1, 2"
            return database.execute(query).fetchall()

        by_judge = {(judge, model): n for judge, model, n in self._use(count) or []}
        return CacheStatus(self.path, sum(by_judge.values()), self._size(), by_judge)

    def clear(self, judge: str | None = None) -> int:
        """Delete all replies, or those of one judge; returns their number."""

        def delete(database: sqlite3.Connection) -> int:
            where, values = ("", ()) if judge is None else (" WHERE judge = ?", (judge,))
            with database:
                n = database.execute(f"DELETE FROM replies{where}", values).rowcount  # noqa: S608
            # SQLite keeps the space of deleted rows otherwise, and the text of the replies in it.
            database.execute("VACUUM")
            return n

        return self._use(delete) or 0

    def _size(self) -> int:
        paths = [self.path, *(_companion(self.path, ending) for ending in _COMPANIONS)]
        return sum(path.stat().st_size for path in paths if path.exists())

    # -- faults

    def _use(self, operation: Callable[[sqlite3.Connection], T]) -> T | None:
        """Run an operation; a fault of the disk loses cached replies, never the work."""
        with self._lock:
            try:
                return operation(self._database)
            except sqlite3.OperationalError as exc:  # full, locked for long, not writable
                # Reading goes on: replies that are there need not be paid for again.
                self._is_writable = False
                _warn(
                    f"the cache {self.path} cannot be written ({exc}); from here on verdicts are "
                    "not kept on disk"
                )
            except sqlite3.DatabaseError as exc:
                self._begin_anew(exc)
        return None

    def _begin_anew(self, exc: sqlite3.DatabaseError) -> None:
        self._database.close()
        try:
            _move_aside(self.path, f"it is damaged ({exc})", self._identity)
            self._database = self._open()
            self._identity = _identity(self.path)
        except DataError as worse:
            self._database = _set_up(":memory:")
            _warn(f"{worse}; from here on verdicts are not kept on disk")

    def _open(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise DataError(
                f"the cache {self.path}: its folder cannot be created: {exc.strerror}"
            ) from exc
        # Before SQLite makes the file, because it holds questions and answers: it is its owner's
        # alone, and so are the files that SQLite keeps next to it. Never a file that exists: to
        # close it would end the locks that SQLite has on it in this process.
        with suppress(OSError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, OWNER_ONLY))
        seen = _identity(self.path)
        try:
            return self._open_checked()
        except _UnfitError as exc:
            _move_aside(self.path, str(exc), seen)
        try:
            return self._open_checked()
        except _UnfitError as exc:
            raise DataError(f"the cache {self.path} cannot be used: {exc}") from exc

    def _open_checked(self) -> sqlite3.Connection:
        try:
            return _set_up(self.path)
        except sqlite3.OperationalError as exc:
            raise DataError(f"the cache {self.path} cannot be opened: {exc}") from exc
        except sqlite3.Error as exc:
            raise _UnfitError(f"it is damaged, or not a cache ({exc})") from exc
        except DataError as exc:
            raise DataError(f"the cache {self.path} {exc}") from exc


def _set_up(path: str | Path) -> sqlite3.Connection:
    # The lock of `Cache` takes the place of SQLite's check of threads.
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
    try:
        _prepare(database)
    except BaseException:
        database.close()
        raise
    return database


class _UnfitError(Exception):
    """The file is not a cache of this version."""


def _prepare(database: sqlite3.Connection) -> None:
    """Set up a new file, or check that it is a cache whose table can be read."""
    # WAL: readers do not wait for the one that writes, so several processes share the file.
    database.execute("PRAGMA journal_mode = WAL")
    # With WAL a power cut then loses the last replies at most, never the file, and each write is
    # much faster.
    database.execute("PRAGMA synchronous = NORMAL")
    with database:
        database.execute("BEGIN IMMEDIATE")  # two processes set up a new file one after the other
        application = _read_pragma(database, "application_id")
        version = _read_pragma(database, "user_version")
        n_tables = database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        if n_tables:
            _check_version(application, version)
            _upgrade(database, version)
        else:
            database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            database.execute(_TABLE)
        columns = [row[1] for row in database.execute("PRAGMA table_info(replies)")]
    if columns != _COLUMNS:
        raise _UnfitError(f"its table has other columns: {', '.join(columns) or 'none'}")


def _upgrade(database: sqlite3.Connection, version: int) -> None:
    """Bring a file of an earlier version up to date: its replies are paid for."""
    if version == _WITHOUT_ENDINGS:
        database.execute("ALTER TABLE replies ADD COLUMN ending TEXT NOT NULL DEFAULT 'end'")
        database.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


def _check_version(application: int, version: int) -> None:
    if application != _APPLICATION_ID:
        raise _UnfitError("it is a database of another program")
    if version < _WITHOUT_ENDINGS:
        raise _UnfitError(f"it has an older version, {version}; this one is {FORMAT_VERSION}")
    # A newer file is left alone: moving it aside would cost the newer program its replies.
    if version > FORMAT_VERSION:
        raise DataError(
            f"was written by a newer rageval-report (version {version}; this one reads "
            f"{FORMAT_VERSION}): upgrade, or use another file"
        )


def _read_pragma(database: sqlite3.Connection, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file: another file under the same name has others."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _move_aside(path: Path, why: str, seen: tuple[int, int] | None) -> None:
    """Rename a file, unless another process has already replaced the one that was `seen`."""
    if seen is None or _identity(path) != seen:
        return
    number = 1
    while (aside := path.with_name(f"{path.name}.aside-{number}")).exists():
        number += 1
    try:
        path.rename(aside)
    except OSError as exc:
        raise DataError(f"the cache {path}: {why}; it cannot be renamed: {exc.strerror}") from exc
    # SQLite could apply a write-ahead log that is left behind to the new file.
    for ending in _COMPANIONS:
        with suppress(OSError):
            _companion(path, ending).rename(_companion(aside, ending))
    _warn(f"the cache {path}: {why}. It was renamed to {aside.name}, and a new one was created")


def _companion(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _warn(message: str) -> None:
    warnings.warn(message, RagevalWarning, stacklevel=_STACK_LEVEL)

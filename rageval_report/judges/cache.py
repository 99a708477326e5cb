"""What judges answered, kept on disk: what was paid for once is not asked again."""

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
from typing import Any, Self, TypeVar

from rageval_report.errors import DataError, RagevalWarning
from rageval_report.judges.chats.base import Message, Reply

T = TypeVar("T")

FORMAT_VERSION = 1
_APPLICATION = 0x52414745  # "RAGE": what SQLite keeps to tell whose file it is
_BUSY_MS = 30_000  # how long one process waits for another that writes
_TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    key BLOB PRIMARY KEY,
    judge TEXT NOT NULL,
    model TEXT NOT NULL,
    text TEXT NOT NULL,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    kept REAL NOT NULL
) WITHOUT ROWID
"""
_COLUMNS = "key judge model text prompt_tokens completion_tokens kept".split()
_BESIDE = ("-wal", "-shm")
_CALLERS_LINE = 4


def default_cache() -> Path:
    """Where the cache is that commands use: RAGEVAL_CACHE, else the user's folder of caches."""
    named = os.environ.get("RAGEVAL_CACHE")
    if named:
        return Path(named)
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
    """What a reply is kept under: all that could have changed it.

    Parameters
    ----------
    model : str
        Who was asked.
    settings : mapping
        How it was asked: provider, address, limits; never a key.
    message : Message
        What was asked.
    judge, version : str
        The rubric's.
    repeat : int
        The how-manieth time the same is asked.

    Examples
    --------
    >>> key = reply_key(
    ...     model="m", settings={}, message=Message("Is it?"), judge="tone", version="1"
    ... )
    >>> len(key)
    16
    """
    parts = [model, dict(settings), message.system, message.user, message.schema, judge, version]
    told = json.dumps([*parts, repeat], sort_keys=True, ensure_ascii=False, default=repr)
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True)
class CacheStatus:
    """What a cache holds.

    Parameters
    ----------
    path : Path
    n_replies : int
    n_bytes : int
        With what SQLite keeps beside the file.
    by_judge : dict of (judge, model) to int
        How many replies.
    """

    path: Path
    n_replies: int
    n_bytes: int
    by_judge: dict[tuple[str, str], int]


class Cache:
    """A file of replies; several threads and processes may use it at once.

    A file that is damaged, of an older version, or something else altogether is moved aside under
    a new name, and a warning says so; a newer version is refused. Where the disk is full, the work
    goes on and a warning says that nothing more is kept. It belongs on a disk of this machine:
    SQLite cannot lock files on most network drives.

    Parameters
    ----------
    path : str or Path
        The file; its folder is made where it is missing.

    Raises
    ------
    DataError
        If it cannot be opened.

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
        self._writes = True
        self._database = self._opened()
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
        """Close the file; SQLite then folds what it keeps beside it into it."""
        with self._lock:
            self._database.close()

    def get(self, key: bytes) -> Reply | None:
        """The reply that is kept under a key; None where there is none."""

        def read(database: sqlite3.Connection) -> Any:
            told = "SELECT text, prompt_tokens, completion_tokens, model FROM replies WHERE key = ?"
            return database.execute(told, (key,)).fetchone()

        found = self._tried(read)
        return None if found is None else Reply(found[0], found[1], found[2], model=found[3])

    def put(self, key: bytes, reply: Reply, *, judge: str, model: str) -> None:
        """Keep a reply; one that is there already is replaced."""
        counts = (reply.prompt_tokens, reply.completion_tokens)
        row = (key, judge, model, reply.text, *counts, time.time())

        def write(database: sqlite3.Connection) -> None:
            with database:
                database.execute("INSERT OR REPLACE INTO replies VALUES (?,?,?,?,?,?,?)", row)

        if self._writes:
            self._tried(write)

    def status(self) -> CacheStatus:
        """What is in it."""

        def count(database: sqlite3.Connection) -> list[Any]:
            told = "SELECT judge, model, COUNT(*) FROM replies GROUP BY judge, model ORDER BY 1, 2"
            return database.execute(told).fetchall()

        by_judge = {(judge, model): n for judge, model, n in self._tried(count) or []}
        return CacheStatus(self.path, sum(by_judge.values()), self._size(), by_judge)

    def clear(self, judge: str | None = None) -> int:
        """Forget all replies, or those of one judge; how many they were."""

        def forget(database: sqlite3.Connection) -> int:
            where, given = ("", ()) if judge is None else (" WHERE judge = ?", (judge,))
            with database:
                n = database.execute(f"DELETE FROM replies{where}", given).rowcount  # noqa: S608
            database.execute("VACUUM")
            return n

        return int(self._tried(forget) or 0)

    def _size(self) -> int:
        paths = [self.path, *(_beside(self.path, ending) for ending in _BESIDE)]
        return sum(path.stat().st_size for path in paths if path.exists())

    # -- faults

    def _tried(self, use: Callable[[sqlite3.Connection], T]) -> T | None:
        """Use the file; a fault of the disk loses what is kept, never the work."""
        with self._lock:
            try:
                return use(self._database)
            except sqlite3.OperationalError as exc:  # full, locked for long, not writable
                self._writes = False
                _warn(
                    f"the cache {self.path} cannot be written ({exc}): from here on verdicts are "
                    "not kept on disk"
                )
            except sqlite3.DatabaseError as exc:
                self._begin_anew(exc)
        return None

    def _begin_anew(self, exc: sqlite3.DatabaseError) -> None:
        self._database.close()
        try:
            _move_aside(self.path, f"it is damaged ({exc})", self._identity)
            self._database = self._opened()
            self._identity = _identity(self.path)
        except DataError as worse:
            self._database = _set_up(":memory:")
            _warn(f"{worse}: from here on verdicts are not kept on disk")

    def _opened(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise DataError(f"the cache {self.path} has no folder: {exc.strerror}") from exc
        seen = _identity(self.path)
        try:
            return self._checked()
        except _UnfitError as exc:
            _move_aside(self.path, str(exc), seen)
        try:
            return self._checked()
        except _UnfitError as exc:
            raise DataError(f"the cache {self.path} cannot be used: {exc}") from exc

    def _checked(self) -> sqlite3.Connection:
        try:
            return _set_up(self.path)
        except sqlite3.OperationalError as exc:
            raise DataError(f"the cache {self.path} cannot be opened: {exc}") from exc
        except sqlite3.Error as exc:
            raise _UnfitError(f"it is damaged, or no cache ({exc})") from exc
        except DataError as exc:
            raise DataError(f"the cache {self.path} {exc}") from exc


def _set_up(path: str | Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_BUSY_MS / 1000, check_same_thread=False)
    try:
        _prepare(database)
    except BaseException:
        database.close()
        raise
    return database


class _UnfitError(Exception):
    """A file is no cache of this version."""


def _prepare(database: sqlite3.Connection) -> None:
    """Set up a new file, or see that it is one of ours, undamaged as far as a look tells."""
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    with database:
        database.execute("BEGIN IMMEDIATE")  # two processes that come at once set it up in turn
        whose, version = (_number(database, name) for name in ("application_id", "user_version"))
        tables = database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        if tables:
            _check_version(whose, version)
        else:
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            database.execute(_TABLE)
        columns = [row[1] for row in database.execute("PRAGMA table_info(replies)")]
    if columns != _COLUMNS:
        raise _UnfitError(f"its table has other columns: {', '.join(columns) or 'none'}")


def _check_version(whose: int, version: int) -> None:
    if whose != _APPLICATION:
        raise _UnfitError("it is a database of something else")
    if version < FORMAT_VERSION:
        raise _UnfitError(f"it is of an older version, {version}; this one is {FORMAT_VERSION}")
    if version > FORMAT_VERSION:
        raise DataError(
            f"was written by a newer rageval-report (version {version}; this one knows "
            f"{FORMAT_VERSION}): upgrade, or name another file"
        )


def _number(database: sqlite3.Connection, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        told = path.stat()
    except OSError:
        return None
    return told.st_dev, told.st_ino


def _move_aside(path: Path, why: str, seen: tuple[int, int] | None) -> None:
    """Give a file another name, unless another process has done so since it was looked at."""
    if seen is None or _identity(path) != seen:
        return
    number = 1
    while (aside := path.with_name(f"{path.name}.aside-{number}")).exists():
        number += 1
    try:
        path.rename(aside)
    except OSError as exc:
        raise DataError(f"the cache {path}: {why}; it cannot be moved: {exc.strerror}") from exc
    for ending in _BESIDE:
        with suppress(OSError):
            _beside(path, ending).rename(_beside(aside, ending))
    _warn(f"the cache {path}: {why}. It was moved to {aside.name}, and a new one begun")


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _warn(told: str) -> None:
    warnings.warn(told, RagevalWarning, stacklevel=_CALLERS_LINE)

"""The replies of judges on disk, so that no call is paid for twice."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self, TypeVar

from rageval_report.errors import DataError, RagevalWarning
from rageval_report.files.digests import digest_of_parts
from rageval_report.files.writing import OWNER_ONLY
from rageval_report.judges.chats import Message, Reply

T = TypeVar("T")

FORMAT_VERSION = 4
_APPLICATION_ID = 0x52414745  # "RAGE", in the field by which SQLite marks whose file it is
_BUSY_SECONDS = 30.0  # how long one process waits for another that writes
_RETRY_SECONDS = 0.01  # a new file is set up by another process in about a millisecond
_COLUMNS = "key judge model text prompt_tokens completion_tokens kept ending digest".split()
_TABLE = """
CREATE TABLE replies (
    key BLOB PRIMARY KEY,
    judge TEXT NOT NULL,
    model TEXT NOT NULL,
    text TEXT NOT NULL,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    kept REAL NOT NULL,
    ending TEXT NOT NULL DEFAULT 'end',
    digest BLOB NOT NULL DEFAULT x''
) WITHOUT ROWID
"""
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM replies"  # noqa: S608
_INSERT = f"INSERT OR REPLACE INTO replies VALUES ({','.join('?' * len(_COLUMNS))})"  # noqa: S608
# Messages of SQLite quote the damaged text, which Python then cannot decode.
_DAMAGE = (sqlite3.Error, UnicodeDecodeError)


def default_cache() -> Path:
    """The cache that commands use: RAGEVAL_CACHE, else a file in the user's cache folder.

    Examples
    --------
    >>> default_cache().suffix
    '.sqlite'
    """
    if path := os.environ.get("RAGEVAL_CACHE"):
        return Path(path)
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "rageval-report" / "judges.sqlite"


def reply_key(
    *,
    model: str,
    settings: Mapping[str, object],
    message: Message,
    judge: str,
    version: str,
    repeat: int = 0,
) -> bytes:
    """The key of a reply: a digest of everything that could have changed it."""
    parts = [model, dict(settings), message.system, message.user, message.schema, judge, version]
    # As JSON, because joined texts could be equal for different parts.
    text = json.dumps([*parts, repeat], sort_keys=True, ensure_ascii=False, default=repr)
    # 16 bytes: among a billion replies a collision has a chance below 1 in 10**20.
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _row_digest(cells: tuple[Any, ...]) -> bytes:
    """The digest of the cells of a row; a text is not the blob of its bytes."""
    # Not as JSON: its escapes of texts beyond ASCII took most of the time of `Cache.get`.
    return digest_of_parts(map(_part, cells))


def _part(cell: object) -> bytes:
    if isinstance(cell, bytes):
        return b"blob:" + cell
    text = f"text:{cell}" if isinstance(cell, str) else f"number:{cell!r}"
    return text.encode("utf-8", "surrogatepass")


def _is_whole(row: tuple[Any, ...]) -> bool:
    """Whether a row, whose last cell is its digest, is as it was written."""
    return bool(row[-1] == _row_digest(row[:-1]))


class Cache:
    """A file of replies; several threads and processes may use it at the same time.

    Every answer of the model is kept, also one without a verdict, so that it is not paid for twice.
    Every row has a digest. A row that is damaged counts as absent, with a warning, so that its
    reply is asked for again. A file that is damaged, or not a cache of this version, is refused. If
    the disk is full or fails, the work continues, with a warning that nothing more is kept. Use a
    local disk: SQLite cannot lock files on most network drives.

    Parameters
    ----------
    path : str or Path
        The file; its folder is created if it does not exist.

    Raises
    ------
    DataError
        If the file cannot be opened, or is not a cache of this version.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Cache(folder + "/judges.sqlite") as cache:
    ...     cache.put(b"key", Reply("8/10"), judge="tone", model="m")
    ...     cache.get(b"key").text, cache.get(b"other"), cache.counts()
    ...     cache.clear("tone")
    ...     cache.close()  # at the latest at the end of the block
    ('8/10', None, {('tone', 'm'): 1})
    1
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._lock = threading.Lock()
        self._is_usable = self._is_writable = True
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            why = f"its folder cannot be created: {exc.strerror}"
            raise DataError(f"the cache {self.path}: {why}") from exc
        self._database = _open(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; SQLite then merges its companion files into it."""
        with self._lock:
            self._database.close()

    def get(self, key: bytes) -> Reply | None:
        """The reply with a key; None if there is none, or its row is damaged."""
        row = self._use(lambda base: base.execute(f"{_SELECT} WHERE key = ?", (key,)).fetchone())
        if row is None:
            return None
        found_key, judge, _, text, sent, received, _, ending, _ = row
        # The key that was asked for: a search in a damaged file may end at another row.
        if found_key == key and _is_whole(row):
            return Reply(text, sent, received, ending)
        self._warn(f"a reply of the judge {judge!r} is damaged; it is asked for again")
        return None

    def put(self, key: bytes, reply: Reply, *, judge: str, model: str) -> None:
        """Keep a reply; it replaces an earlier one with the same key."""
        counts = (reply.prompt_tokens, reply.completion_tokens)
        row = (key, judge, model, reply.text, *counts, time.time(), reply.ending)

        def insert(database: sqlite3.Connection) -> None:
            with database:
                database.execute(_INSERT, (*row, _row_digest(row)))

        if self._is_writable:
            self._use(insert)

    def counts(self) -> dict[tuple[str, str], int]:
        """The number of replies by judge and model."""
        rows = self._use(lambda base: base.execute(_SELECT).fetchall()) or []
        return dict(sorted(Counter((row[1], row[2]) for row in rows if _is_whole(row)).items()))

    def clear(self, judge: str | None = None) -> int:
        """Delete all replies, or those of one judge; returns their number."""

        def delete(database: sqlite3.Connection) -> int:
            with database:
                which = "DELETE FROM replies WHERE judge = COALESCE(?, judge)"
                n = database.execute(which, (judge,)).rowcount
            # SQLite keeps the space of deleted rows otherwise, and the text of the replies in it.
            database.execute("VACUUM")
            return n

        return self._use(delete) or 0

    def _use(self, operation: Callable[[sqlite3.Connection], T]) -> T | None:
        """Run an operation; a fault of the file loses cached replies, never the work."""
        with self._lock:
            try:
                return operation(self._database) if self._is_usable else None
            except _DAMAGE as exc:
                # On a full disk reading goes on: replies that are there need not be paid for again.
                is_full = getattr(exc, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
                self._is_usable, self._is_writable = is_full, False
                self._warn(f"{exc}; from here on replies are not kept on disk")
        return None

    def _warn(self, message: str) -> None:
        # The location of a warning decides whether it is shown again: once for each message.
        warnings.warn(f"the cache {self.path}: {message}", RagevalWarning, stacklevel=1)


def _open(path: Path) -> sqlite3.Connection:
    """The database; a new one is set up, and one of another kind is refused."""
    deadline = time.monotonic() + _BUSY_SECONDS
    # Before SQLite makes the file, because it holds questions and answers: it is its owner's
    # alone, and so are the files that SQLite keeps next to it.
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, OWNER_ONLY))
    while True:
        try:
            return _set_up(path)
        except _DAMAGE as exc:
            # Another process sets it up, or closes it as the last one.
            is_busy = getattr(exc, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() >= deadline:
                raise DataError(
                    f"the cache {path} cannot be used: {exc}; delete it, or name another file"
                ) from exc
        time.sleep(_RETRY_SECONDS)


def _set_up(path: Path) -> sqlite3.Connection:
    """Set up a new file, or check that it is a cache whose table can be read."""
    # The lock of `Cache` takes the place of the check of threads.
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
    # The check of its digest finds a damaged text; SQLite would only raise an error.
    database.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        if database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            _check(database)  # before anything of another program's file is changed
        # WAL: readers do not wait for the one that writes, so several processes share the file.
        database.execute("PRAGMA journal_mode = WAL")
        # With WAL a power cut then loses the last replies at most, never the file, and each write
        # is much faster.
        database.execute("PRAGMA synchronous = NORMAL")
        with database:
            database.execute("BEGIN IMMEDIATE")  # two processes set up a file one after the other
            if not database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
                database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                database.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
                database.execute(_TABLE)
        _check(database)
    except BaseException:
        database.close()
        raise
    return database


def _check(database: sqlite3.Connection) -> None:
    columns = [row[1] for row in database.execute("PRAGMA table_info(replies)")]
    marks = [
        database.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version", "encoding")
    ]
    # One bit of the header is the encoding, and no text could be read.
    if [columns, *marks] != [_COLUMNS, _APPLICATION_ID, FORMAT_VERSION, "UTF-8"]:
        raise sqlite3.DatabaseError("it is damaged, or no cache of this version")

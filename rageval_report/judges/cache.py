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
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self, TypeVar

from rageval_report.errors import MOST_NAMED, DataError, RagevalWarning
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
DAMAGE = (sqlite3.Error, UnicodeDecodeError)
_MAGIC = b"SQLite format 3\0"
_COMPANIONS = ("-wal", "-shm")  # endings of the files that SQLite keeps next to its own

CachedRow = tuple[Any, ...]  # the cells of a row, in the order of the columns


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


def row_digest(cells: CachedRow) -> bytes:
    """The digest of the cells of a row; a text is not the blob of its bytes."""
    # Not as JSON: its escapes of texts beyond ASCII took most of the time of `Cache.get`.
    return digest_of_parts(map(_part, cells))


def _part(cell: object) -> bytes:
    if isinstance(cell, bytes):
        return b"blob:" + cell
    text = f"text:{cell}" if isinstance(cell, str) else f"number:{cell!r}"
    return text.encode("utf-8", "surrogatepass")


def is_whole(row: CachedRow) -> bool:
    """Whether a row, whose last cell is its digest, is as it was written."""
    return bool(row[-1] == row_digest(row[:-1]))


@dataclass(frozen=True)
class CacheStatus:
    """What a cache contains: its replies, also by judge and model, and rows that are damaged."""

    path: Path
    n_replies: int
    n_bytes: int
    by_judge: dict[tuple[str, str], int]
    n_damaged: int = 0


class Cache:
    """A file of replies; several threads and processes may use it at the same time.

    Every answer of the model is kept, also one without a verdict, so that it is not paid for twice.
    Every row has a digest. A row that is damaged counts as absent, with a warning, so that its
    reply is asked for again. A file with damaged pages, or that is not a cache of this version, is
    renamed, with a warning, and a new one keeps the rows that can still be read; a file of a newer
    version is refused. If the disk is full, the work continues, with a warning that nothing more is
    kept. Use a local disk: SQLite cannot lock files on most network drives.

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
    ...     cache.get(b"key").text, cache.get(b"other"), cache.status().n_replies
    ...     cache.clear("tone")
    ...     cache.close()  # at the latest at the end of the block
    ('8/10', None, 1)
    1
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._lock = threading.Lock()
        self._is_writable = True
        self._damaged: set[bytes] = set()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            why = f"its folder cannot be created: {exc.strerror}"
            raise DataError(f"the cache {self.path}: {why}") from exc
        try:
            self._database = self._open()
        except _UnfitError as exc:
            self._database = self._open_anew(str(exc))

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
        found_key, judge, model, text, sent, received, _, ending, _ = row
        # The key that was asked for: a search in a damaged file may end at another row.
        if found_key == key and is_whole(row):
            return Reply(text, sent, received, ending, model=model)
        with self._lock:
            is_new = key not in self._damaged
            self._damaged.add(key)
            n = len(self._damaged)
        if is_new and n <= MOST_NAMED:
            more = "; further ones are not named" if n == MOST_NAMED else ""
            # What is damaged may have another type.
            shown = found_key.hex() if isinstance(found_key, bytes) else repr(found_key)
            _warn(
                f"the cache {self.path}: the reply with the key {shown} (judge {judge!r}) is "
                f"damaged; it is asked for again{more}"
            )
        return None

    def put(self, key: bytes, reply: Reply, *, judge: str, model: str) -> None:
        """Keep a reply; it replaces an earlier one with the same key."""
        counts = (reply.prompt_tokens, reply.completion_tokens)
        row = (key, judge, model, reply.text, *counts, time.time(), reply.ending)
        if self._is_writable:
            self._use(lambda base: _insert(base, [(*row, row_digest(row))]))

    def status(self) -> CacheStatus:
        """The number and the size of the replies."""
        rows = self._use(lambda base: base.execute(_SELECT).fetchall()) or []
        by_judge = Counter((row[1], row[2]) for row in rows if is_whole(row))
        paths = [_companion(self.path, ending) for ending in ("", *_COMPANIONS)]
        size = sum(path.stat().st_size for path in paths if path.exists())
        n = by_judge.total()
        return CacheStatus(self.path, n, size, dict(sorted(by_judge.items())), len(rows) - n)

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

    # -- faults

    def _use(self, operation: Callable[[sqlite3.Connection], T]) -> T | None:
        """Run an operation; a fault of the disk loses cached replies, never the work."""
        with self._lock:
            try:
                return operation(self._database)
            except sqlite3.OperationalError as exc:  # full, locked for long, not writable
                # Reading goes on: replies that are there need not be paid for again.
                self._is_writable = False
                _warn(f"the cache {self.path} cannot be written ({exc}); {_NOT_KEPT}")
            except DAMAGE as exc:
                self._database.close()
                try:
                    self._database = self._open_anew(f"it is damaged ({exc})")
                except DataError as worse:
                    self._database = _set_up(":memory:")
                    _warn(f"{worse}; {_NOT_KEPT}")
        return None

    def _open(self) -> sqlite3.Connection:
        """Open the file; wait for another process that sets it up, or closes it as the last one."""
        deadline = time.monotonic() + _BUSY_SECONDS
        # Before SQLite makes the file, because it holds questions and answers: it is its owner's
        # alone, and so are the files that SQLite keeps next to it. Never a file that exists: to
        # close it would end the locks that SQLite has on it in this process.
        with suppress(OSError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, OWNER_ONLY))
        self._identity = _identity(self.path)
        while True:
            try:
                return _set_up(self.path)
            except sqlite3.OperationalError as exc:
                is_busy = exc.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_busy or time.monotonic() >= deadline:
                    raise DataError(f"the cache {self.path} cannot be opened: {exc}") from exc
            except DAMAGE as exc:
                raise _UnfitError(f"it is damaged, or not a cache ({exc})") from exc
            except DataError as exc:
                raise DataError(f"the cache {self.path} {exc}") from exc
            time.sleep(_RETRY_SECONDS)

    def _open_anew(self, why: str) -> sqlite3.Connection:
        """Rename the file, and open a new one with the rows that can be read."""
        aside = _move_aside(self.path, why, self._identity)
        try:
            database = self._open()
        except _UnfitError as exc:
            raise DataError(f"the cache {self.path} cannot be used: {exc}") from exc
        if aside is not None:
            rows = _readable_rows(aside)
            with suppress(sqlite3.Error):  # on a full disk they are asked for again
                _insert(database, rows)
            kept = f" with its {len(rows)} replies that are whole" if rows else ""
            _warn(
                f"the cache {self.path}: {why}. It was renamed to {aside.name}, and a new one was "
                f"created{kept}"
            )
        return database


_NOT_KEPT = "from here on replies are not kept on disk"


class _UnfitError(Exception):
    """The file is not a cache of this version."""


def _insert(database: sqlite3.Connection, rows: list[CachedRow]) -> None:
    with database:
        database.executemany(_INSERT, rows)


def connect(path: str | Path, *, isolation_level: Any = "DEFERRED") -> sqlite3.Connection:
    """A database that gives a damaged text to the check of its digest, not an error of SQLite."""
    database = sqlite3.connect(
        path,
        timeout=_BUSY_SECONDS,
        isolation_level=isolation_level,
        check_same_thread=False,  # the locks of `Cache` and `Ledger` take the place of the check
    )
    database.text_factory = lambda data: data.decode("utf-8", "replace")
    return database


def _set_up(path: str | Path) -> sqlite3.Connection:
    """Set up a new file, or check that it is a cache whose table can be read."""
    database = connect(path)
    try:
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
        _check_format(database)
    except BaseException:
        database.close()
        raise
    return database


def _check_format(database: sqlite3.Connection) -> None:
    if read_pragma(database, "application_id") != _APPLICATION_ID:
        raise _UnfitError("it is a database of another program")
    version = read_pragma(database, "user_version")
    # A newer file is left alone: moving it aside would cost the newer program its replies.
    if version > FORMAT_VERSION:
        raise DataError(
            f"was written by a newer rageval-report (version {version}; this one reads "
            f"{FORMAT_VERSION}): upgrade, or use another file"
        )
    if version < FORMAT_VERSION:
        raise _UnfitError(f"it has an older version, {version}; this one is {FORMAT_VERSION}")
    columns = [row[1] for row in database.execute("PRAGMA table_info(replies)")]
    if columns != _COLUMNS:
        raise _UnfitError(f"its table has other columns: {', '.join(columns) or 'none'}")
    encoding = database.execute("PRAGMA encoding").fetchone()[0]
    if encoding != "UTF-8":  # one bit of the header, and no text could be read
        raise _UnfitError(f"its texts are in {encoding}")


def _readable_rows(path: Path) -> list[CachedRow]:
    """The whole rows of a damaged file that SQLite reads, from either end up to the damage."""
    rows: dict[bytes, CachedRow] = {}
    for order in ("ASC", "DESC"):
        with suppress(*DAMAGE), closing(connect(path)) as database:
            for row in database.execute(f"{_SELECT} ORDER BY key {order}"):
                if is_whole(row):
                    rows[row[0]] = row
    return list(rows.values())


def read_pragma(database: sqlite3.Connection, name: str) -> int:
    """The whole number that a pragma gives."""
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])


# -- the file


def is_database(path: str | Path) -> bool:
    """Whether a file is a database of SQLite, or may become one because it has no content."""
    file = Path(path)
    if not file.exists():
        return True
    with file.open("rb") as content:
        return content.read(len(_MAGIC)) in (b"", _MAGIC)


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file: another file under the same name has others."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _move_aside(path: Path, why: str, seen: tuple[int, int] | None) -> Path | None:
    """Rename a file, unless another process has already replaced the one that was `seen`."""
    if seen is None or _identity(path) != seen:
        return None
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
    return aside


def _companion(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _warn(message: str) -> None:
    warnings.warn(message, RagevalWarning, stacklevel=4)  # of the caller of the method

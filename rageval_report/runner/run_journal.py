"""The journal of a run: every answer is written to disk before the next question is asked.

Each line is a JSON object with a checksum of itself and of what the run asks. A line that was cut
by a kill is removed; one that is damaged costs its own query, which is asked again.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rageval_report.errors import DataError, ReaderError
from rageval_report.files.strict_json import replace_lone_surrogates
from rageval_report.files.writing import open_private, write_whole

try:
    import fcntl
except ImportError:  # Windows has no such lock: two runs in one folder are not detected
    fcntl = None  # type: ignore[assignment]

FORMAT = "rageval_report journal"
FORMAT_VERSION = 3
_CHECK = b', "check": "'
_END = b'"}'


class RunJournal:
    """The answers of a run, by row: appended by several threads, and read when it is opened.

    Parameters
    ----------
    path : str or Path
        The file; it is created if it does not exist.
    header : mapping
        What identifies the run; ``asked`` must be equal when the run is resumed.
    n : int
        The number of queries.

    Raises
    ------
    DataError
        If another process writes the file, or it belongs to a run with other settings.
    ReaderError
        If the file is not a journal.
    """

    def __init__(self, path: str | Path, header: Mapping[str, Any], n: int):
        self.path = Path(path)
        self.is_cut = False  # whether a half line was removed at the end
        self.damage: list[str] = []
        self.n_lines = 0
        self.entries: dict[int, dict[str, Any]] = {}
        self._n, self._lock = n, threading.Lock()
        self._salt = _digest(_line(header.get("asked", {})))
        self._file = _open_for_append(self.path)
        try:
            self._lock_file()
            self.header = self._read({"format": FORMAT, "format_version": FORMAT_VERSION, **header})
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> RunJournal:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def n_done(self) -> int:
        """The number of queries with an entry."""
        return len(self.entries)

    @property
    def failed(self) -> dict[int, dict[str, Any]]:
        """The entries of the queries without an answer, in the order of the rows."""
        rows = sorted(self.entries)
        return {row: self.entries[row] for row in rows if _is_failure(self.entries[row])}

    def mask(self, rows: Iterable[int]) -> np.ndarray:
        """A mask of some rows, such as those of `entries` or of `failed`."""
        mask = np.zeros(self._n, dtype=bool)
        mask[list(rows)] = True
        return mask

    @property
    def names(self) -> set[str]:
        """The names of all fields in the entries."""
        return {name for entry in self.entries.values() for name in entry}

    def entry(self, row: int) -> dict[str, Any] | None:
        """The last entry of a row; None if there is none."""
        return self.entries.get(row)

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write the entry of a query: ``row``, ``query_id``, and its fields or ``error``."""
        text = _line(entry)
        with self._lock:
            place = self._file.seek(0, os.SEEK_END)
            try:
                write_whole(self._file, _seal(text, self._salt))
            except OSError as exc:
                # Half a line would join the next one and spoil both.
                self._file.truncate(place)
                reason = exc.strerror or str(exc)
                raise DataError(
                    f"{self.path} cannot be written: {reason}; the answers so far are kept, "
                    "and the run can be resumed"
                ) from exc
            self.n_lines += 1
            self.entries[entry["row"]] = json.loads(text)

    def expect_lines(self, n: int) -> None:
        """Note that lines are missing, if there were `n` when the run was finished."""
        if self.n_lines < n:
            self._distrust(f"{n - self.n_lines} of {n} lines are missing")

    def delete_if_empty(self) -> None:
        """Delete the file if it has no entries: such a folder does not contain a run."""
        if not self.entries:
            with contextlib.suppress(OSError):  # Windows does not delete a file that is open
                self.path.unlink()

    def _lock_file(self) -> None:
        if fcntl is None:
            return
        try:
            # Two runs in one folder would ask every query twice and mix their answers. Not a lock
            # file: the system frees this lock if the process is killed.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise DataError(
                f"{self.path}: another run is writing this file; wait until it ends"
            ) from exc

    def _read(self, header: dict[str, Any]) -> dict[str, Any]:
        """Read the entries, and return the header: that of the file, or else the new one."""
        *lines, half = self.path.read_bytes().split(b"\n")
        if half:
            self._file.truncate(self.path.stat().st_size - len(half))
            self.is_cut = True
        if not lines:
            write_whole(self._file, _seal(_line(header), b""))
            self.n_lines = 1
            return header
        old = _open(lines[0], b"")
        if old is None:
            # The checksums of the other lines cover what was asked: they show if it is the same.
            self.damage.append("line 1, which says what was asked, is damaged")
        else:
            self._check_header(old, header)
        for number, line in enumerate(lines[1:], 2):
            entry = _open(line, self._salt)
            if entry is None:
                self.damage.append(f"line {number} is damaged")
            # A line that was moved or copied never replaces an answer by a failure.
            elif not (_is_failure(entry) and entry["row"] in self.entries):
                self.entries[entry["row"]] = entry
        if old is None and not self.entries:
            raise ReaderError(f"expected a journal of format {FORMAT_VERSION}", self.path, 1)
        self.n_lines = len(lines)
        if self.damage:
            self._distrust()
        return old or header

    def _check_header(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        if old.get("format") != FORMAT or old.get("format_version") != FORMAT_VERSION:
            raise ReaderError(f"expected a journal of format {FORMAT_VERSION}", self.path, 1)
        # By way of JSON, because tuples come back as lists and would never be equal.
        then, now = old.get("asked", {}), json.loads(_line(new.get("asked", {})))
        changed = sorted(key for key in then.keys() | now.keys() if then.get(key) != now.get(key))
        if changed:
            raise DataError(
                f"{self.path} belongs to a run with different settings: {' and '.join(changed)}. "
                "Resume with the original settings, or choose a new folder"
            )

    def _distrust(self, *problems: str) -> None:
        """Note damage, and forget failures: a line that is lost may have replaced them."""
        self.damage += problems
        for row in self.failed:
            del self.entries[row]


def _is_failure(entry: Mapping[str, Any]) -> bool:
    return entry.get("error") is not None


def _seal(text: bytes, salt: bytes) -> bytes:
    return text[:-1] + _CHECK + _digest(text, salt) + _END + b"\n"


def _open(line: bytes, salt: bytes) -> dict[str, Any] | None:
    """The entry of a line; None if the line is damaged, or of another run."""
    text, _, rest = line.rpartition(_CHECK)
    text += b"}"
    if rest != _digest(text, salt) + _END:
        return None
    document: dict[str, Any] = json.loads(text)
    return document


def _digest(text: bytes, salt: bytes = b"") -> bytes:
    return blake2b(salt + text, digest_size=8).hexdigest().encode()


def _open_for_append(path: Path) -> BinaryIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Unbuffered: an entry is with the system when append returns, so a killed process loses
        # only what is in flight.
        return os.fdopen(open_private(path), "a+b", buffering=0)
    except OSError as exc:
        raise DataError(f"{path} cannot be written: {exc.strerror or exc}") from exc


def _line(entry: Mapping[str, Any]) -> bytes:
    # Half a character cannot be encoded when the records are written, hours later.
    text, _ = replace_lone_surrogates(json.dumps(entry, default=str))
    return text.encode("ascii")

"""The journal of a run: every answer is written to disk before the next question is asked.

It is a JSON Lines file. The first line says what is asked; every other line is one answer, or the
reason why there is none. A line is passed to the operating system in one piece before its thread
continues, so that a process that is killed loses only the answers in flight. If a query has several
lines, the last one counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rageval_report.errors import DataError, ReaderError
from rageval_report.files.strict_json import replace_lone_surrogates
from rageval_report.files.writing import open_private

try:
    import fcntl
except ImportError:  # Windows has no such lock: two runs in one folder are not detected
    fcntl = None  # type: ignore[assignment]

FORMAT = "rageval_report journal"
FORMAT_VERSION = 1

_MISSING = -1
_NOT_AN_ENTRY = "this is not a line of a journal: remove it, and its query is asked again"


class RunJournal:
    """The answers of a run, appended by several threads and read back by row.

    Parameters
    ----------
    path : str or Path
        The file; it is created if it is missing.
    header : mapping
        What is asked. An existing journal must have the same ``asked``.
    n : int
        The number of queries.

    Attributes
    ----------
    names : set of str
        The fields that occur in the journal.
    is_cut : bool
        Whether the file ended in the middle of a line, which was removed.

    Raises
    ------
    DataError
        If another run uses the file, it cannot be written, or something else was asked.
    ReaderError
        If the file is damaged anywhere but at its end.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with RunJournal(Path(folder) / "journal.jsonl", {"asked": {"seed": 0}}, 2) as journal:
    ...         journal.append({"row": 1, "query_id": "b", "answer": "Yes."})
    ...         journal.entry(0), journal.entry(1)["answer"], journal.n_done
    (None, 'Yes.', 1)
    """

    def __init__(self, path: str | Path, header: Mapping[str, Any], n: int):
        self.path = Path(path)
        self.is_cut = False
        self.names: set[str] = set()
        # Offsets instead of answers: eight bytes per query stay in memory, however long the answers
        # are.
        self._places = array("q", [_MISSING]) * n
        self._failed = bytearray(n)
        self._lock = threading.Lock()
        self._end = 0  # kept here, because each system call may hand control to another thread
        self._file = _open_for_append(self.path)
        try:
            self._lock_file()
            self.header = self._read(header)
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
        return len(self._places) - self._places.count(_MISSING)

    @property
    def n_failed(self) -> int:
        """The number of queries whose last entry is a failure."""
        return sum(self._failed)

    def has(self, row: int) -> bool:
        """Whether the query of this row has an entry."""
        return self._places[row] != _MISSING

    @property
    def done(self) -> np.ndarray:
        """A mask of the rows with an entry."""
        places = np.array(self._places, dtype=np.int64)
        return np.not_equal(places, _MISSING)

    @property
    def failures(self) -> np.ndarray:
        """A mask of the rows whose last entry is a failure."""
        return np.array(self._failed, dtype=bool)

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write the entry of a query: ``row``, ``query_id``, and its fields or ``error``.

        Raises
        ------
        DataError
            If it cannot be written, e.g. on a full disk; the entries before it stay intact.
        """
        line = _line(entry)
        with self._lock:
            place = self._end
            try:
                _write_whole(self._file, line)
            except OSError as exc:
                # Half a line would join the next one and spoil both.
                self._file.truncate(place)
                reason = exc.strerror or str(exc)
                raise DataError(
                    f"{self.path} cannot be written: {reason}; the answers so far are kept, "
                    "and the run can be resumed"
                ) from exc
            self._end = place + len(line)
            self._register(entry, place)

    def entry(self, row: int) -> dict[str, Any] | None:
        """The last entry of a row; None if there is none."""
        return self.sized_entry(row)[0]

    def sized_entry(self, row: int) -> tuple[dict[str, Any] | None, int]:
        """The last entry of a row, and its size in bytes."""
        if not self.has(row):
            return None, 0
        with self._lock:
            self._file.seek(self._places[row])
            line = _read_line(self._file)
        entry = self._parse_line(line)
        # The lock is advisory: another program can still write to the file.
        if entry.get("row") != row:
            raise ReaderError("another program changed the journal during the run", self.path)
        return entry, len(line)

    def delete_if_empty(self) -> None:
        """Delete the file if it has no entries: such a folder does not contain a run."""
        if self.n_done == 0:
            with contextlib.suppress(OSError):  # Windows does not delete a file that is open
                self.path.unlink()

    def _register(self, entry: Mapping[str, Any], place: int) -> None:
        self.names.update(entry)
        self._places[entry["row"]] = place
        self._failed[entry["row"]] = entry.get("error") is not None

    # -- an existing journal

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

    def _read(self, header: Mapping[str, Any]) -> dict[str, Any]:
        new_header = {"format": FORMAT, "format_version": FORMAT_VERSION, **header}
        old_header, place = None, 0
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):  # the process was killed while it wrote
                    self._file.truncate(place)
                    self.is_cut = True
                    break
                document = self._parse_line(line, number)
                if old_header is None:
                    self._check_header(document, new_header)
                    old_header = document
                else:
                    self._load_entry(document, place, number)
                place += len(line)
        if old_header is None:
            line = _line(new_header)
            _write_whole(self._file, line)
            place += len(line)
        self._end = place
        return old_header or new_header

    def _parse_line(self, line: bytes, number: int | None = None) -> dict[str, Any]:
        try:
            document = json.loads(line)
        except ValueError as exc:
            raise ReaderError(_NOT_AN_ENTRY, self.path, number) from exc
        if not isinstance(document, dict):
            raise ReaderError(_NOT_AN_ENTRY, self.path, number)
        return document

    def _check_header(self, old: dict[str, Any], new: Mapping[str, Any]) -> None:
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

    def _load_entry(self, entry: dict[str, Any], place: int, number: int) -> None:
        row = entry.get("row")
        if not isinstance(row, int) or not 0 <= row < len(self._places):
            raise ReaderError("the entry does not belong to a query of this run", self.path, number)
        self._register(entry, place)


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
    return text.encode("ascii") + b"\n"


def _write_whole(file: BinaryIO, line: bytes) -> None:
    """Write the whole line; an unbuffered file may accept only a part at a time."""
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(rest) or 0 :]


def _read_line(file: BinaryIO) -> bytes:
    """The line at the current position; read in pieces, because the file is not buffered."""
    pieces = []
    while piece := file.read(1 << 16):
        end = piece.find(b"\n")
        if end >= 0:
            pieces.append(piece[: end + 1])
            break
        pieces.append(piece)
    return b"".join(pieces)

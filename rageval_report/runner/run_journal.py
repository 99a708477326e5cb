"""The journal of a run: every answer is written to disk before the next question is asked.

It is a JSON Lines file. The first line says what is asked; every other line is one answer, or the
reason why there is none. A line is passed to the operating system in one piece before its thread
continues, so that a process that is killed loses only the answers in flight. If a query has several
lines, the last one counts.

Each line ends with its number and a digest. The digest covers the line, its number, and what was
asked, so that an answer to another question, or of another pipeline, is never taken for one of this
run. A damaged line is reported, and its query is asked again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rageval_report.errors import DataError, ReaderError
from rageval_report.files.digests import (
    Line,
    LineNumbers,
    canonical_json,
    digest_of_parts,
    open_line,
    seal_line,
    separate_lines,
)
from rageval_report.files.strict_json import replace_lone_surrogates
from rageval_report.files.writing import open_private, write_whole

try:
    import fcntl
except ImportError:  # Windows has no such lock: two runs in one folder are not detected
    fcntl = None  # type: ignore[assignment]

FORMAT = "rageval_report journal"
FORMAT_VERSION = 2
WITHOUT_DIGESTS = 1  # the version whose lines have no digests; such a journal goes on without them

_MISSING = -1
_VERSIONS = (WITHOUT_DIGESTS, FORMAT_VERSION)
_DAMAGED_HEADER = "line 1, which says what was asked, is damaged"
_ROW = re.compile(rb'"row": (\d{1,15})[,}]')
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
    damage : list of str
        The lines that are damaged, missing or there twice. Their queries have no entry.
    has_digests : bool
        Whether the lines have digests; those of earlier versions have none.
    n_lines : int
        The number of lines, the first one included.

    Raises
    ------
    DataError
        If another run uses the file, it cannot be written, or something else was asked.
    ReaderError
        If a line of a journal without digests is damaged, or the first line is damaged and what
        was asked cannot be known.

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
        self.damage: list[str] = []
        self.has_digests = True
        self._numbers = LineNumbers()
        self._salt = b""
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
        text = _line(entry)
        with self._lock:
            place, last = self._end, self._numbers.last
            line = self._seal(text)
            try:
                write_whole(self._file, line)
            except OSError as exc:
                # Half a line would join the next one and spoil both.
                self._file.truncate(place)
                self._numbers.last = last
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
        opened = open_line(line, self._salt) if self.has_digests else (line, 0)
        entry = {} if opened is None else self._parse_line(opened[0])
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
        self._salt = salt_of(new_header)
        old_header = None
        n_entries = 0
        for line in self._lines():
            if line.number == 1 and old_header is None:
                old_header = self._read_header(line, new_header)
            elif self.has_digests:
                n_entries += self._load_sealed(line)
            else:
                self._load_entry(self._parse_line(line.content, line.number), line)
        if self.damage and self.damage[0] == _DAMAGED_HEADER and not n_entries:
            message = f"expected a journal of format {FORMAT_VERSION}: {_DAMAGED_HEADER}, and no"
            raise ReaderError(f"{message} other line is of this run", self.path, 1)
        if old_header is None:
            first = seal_line(_line(new_header), self._numbers.next())
            write_whole(self._file, first)
            self._end += len(first)
        return old_header or new_header

    def _lines(self) -> Iterator[Line]:
        """The lines of the file; what a killed process left behind the last one is removed."""
        with self.path.open("rb") as file:
            for number, content in enumerate(file, 1):
                if not content.endswith(b"\n"):
                    self._file.truncate(self._end)
                    self.is_cut = True
                    return
                line = Line(number, self._end, content)
                self._end += len(content)
                yield from separate_lines(line, self._salt) if self.has_digests else (line,)

    def _read_header(self, line: Line, new_header: Mapping[str, Any]) -> dict[str, Any]:
        opened = open_line(line.content)
        if opened is None and is_without_digests(line.content):
            self.has_digests = False
            self._numbers.next()
            document = self._parse_line(line.content, 1)
            self._check_header(document, new_header)
            return document
        if opened is None:
            # The digests of the other lines cover what was asked, so they show whether it is the
            # same.
            self.damage.append(_DAMAGED_HEADER)
            self._numbers.next()
            return dict(new_header)
        document = self._parse_line(opened[0], 1)
        self._check_header(document, new_header)
        self._numbers.check(opened[1])
        return document

    def _load_sealed(self, line: Line) -> bool:
        """Take the entry of a line, or note that it is damaged."""
        opened = open_line(line.content, self._salt)
        if opened is None:
            self._numbers.count_damaged()
            self._distrust(f"{line.name} is damaged", row_in(line.content))
            return False
        entry, number = opened
        before = self._numbers.last
        problem = self._numbers.check(number)
        document = self._parse_line(entry, line.number)
        if problem is not None:
            self._distrust(problem, None)
        # A line that was moved or copied never replaces what may have been written after it.
        if number > before or not self.has(document["row"]):
            self._load_entry(document, line)
        return True

    def _distrust(self, problem: str, row: int | None) -> None:
        """Note damage, and forget what a line that is lost may have replaced."""
        self.damage.append(problem)
        # Only a failure is asked again in the same run, and so has another line after it.
        for failed in np.flatnonzero(self.failures).tolist():
            self._forget(failed)
        if row is not None and 0 <= row < len(self._places):
            self._forget(row)

    def _forget(self, row: int) -> None:
        self._places[row] = _MISSING
        self._failed[row] = False

    def expect_lines(self, n: int) -> None:
        """Note that lines at the end are missing, if there were `n` when the run was finished.

        Parameters
        ----------
        n : int
            The number of lines, as the file of the finished run says it.
        """
        problem = self._numbers.missing_until(n) if self.has_digests else None
        if problem is not None:
            self._distrust(problem, None)

    @property
    def n_lines(self) -> int:
        """The number of the last line."""
        return self._numbers.n_lines

    def _seal(self, text: bytes) -> bytes:
        number = self._numbers.next()
        return seal_line(text, number, self._salt) if self.has_digests else text + b"\n"

    def _parse_line(self, line: bytes, number: int | None = None) -> dict[str, Any]:
        try:
            document = json.loads(line)
        except ValueError as exc:
            raise ReaderError(_NOT_AN_ENTRY, self.path, number) from exc
        if not isinstance(document, dict):
            raise ReaderError(_NOT_AN_ENTRY, self.path, number)
        return document

    def _check_header(self, old: dict[str, Any], new: Mapping[str, Any]) -> None:
        if old.get("format") != FORMAT or old.get("format_version") not in _VERSIONS:
            raise ReaderError(f"expected a journal of format {FORMAT_VERSION}", self.path, 1)
        # By way of JSON, because tuples come back as lists and would never be equal.
        then, now = old.get("asked", {}), json.loads(_line(new.get("asked", {})))
        changed = sorted(key for key in then.keys() | now.keys() if then.get(key) != now.get(key))
        if changed:
            raise DataError(
                f"{self.path} belongs to a run with different settings: {' and '.join(changed)}. "
                "Resume with the original settings, or choose a new folder"
            )

    def _load_entry(self, entry: dict[str, Any], line: Line) -> None:
        row = entry.get("row")
        if not isinstance(row, int) or not 0 <= row < len(self._places):
            message = "the entry does not belong to a query of this run"
            raise ReaderError(message, self.path, line.number)
        self._register(entry, line.place)


def salt_of(header: Mapping[str, Any]) -> bytes:
    """What the digests of all lines but the first cover beside the line: what was asked."""
    return digest_of_parts([canonical_json(header.get("asked", {}))])


def is_without_digests(header: bytes) -> bool:
    """Whether the first line of a journal is that of a version whose lines have no digests."""
    try:
        document = json.loads(header)
    except ValueError:
        return False
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return False
    return document.get("format_version") == WITHOUT_DIGESTS


def row_in(content: bytes) -> int | None:
    """The row in a damaged line, if it can still be read."""
    match = _ROW.search(content)
    return None if match is None else int(match[1])


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

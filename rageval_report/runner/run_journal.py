"""The journal of a run: every answer is on disk before the next question is asked.

A JSON Lines file. The first line says what is asked; every other is one answer, or why there is
none. A line is handed to the operating system in one piece before its thread goes on, so that a
process that is killed loses only what was in flight. Of several lines of a query the last counts.
"""

from __future__ import annotations

import contextlib
import json
import threading
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rageval_report.errors import DataError, ReaderError
from rageval_report.files.strict_json import replace_lone_surrogates

try:
    import fcntl
except ImportError:  # Windows: nothing there keeps two runs out of one folder
    fcntl = None  # type: ignore[assignment]

FORMAT = "rageval_report journal"
FORMAT_VERSION = 1

_NOT_THERE = -1
_NO_LINE = "this is no line of a journal: take it out, and what it may have told is asked again"


class RunJournal:
    """The answers of a run, appended by several threads, and read back by row.

    Parameters
    ----------
    path : str or Path
        The file; it is made where it is missing.
    header : mapping
        What is asked. A journal that is there must hold the same ``asked``.
    n : int
        How many queries there are.

    Attributes
    ----------
    names : set of str
        The fields that occur in it.
    is_cut : bool
        Whether it ended in the middle of a line, which was dropped.

    Raises
    ------
    DataError
        If another run uses it, it cannot be written, or something else was asked.
    ReaderError
        If it is broken anywhere but at its end.

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
        self._places = array("q", [_NOT_THERE]) * n
        self._failed = bytearray(n)
        self._lock = threading.Lock()
        self._end = 0  # kept, not asked for: each call of the system may cost a thread its turn
        self._file = _opened(self.path)
        try:
            self._take_for_itself()
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
        """How many queries have an entry."""
        return len(self._places) - self._places.count(_NOT_THERE)

    @property
    def n_failed(self) -> int:
        """How many queries' last entry is a failure."""
        return sum(self._failed)

    def has(self, row: int) -> bool:
        """Whether the query of this row was asked."""
        return self._places[row] != _NOT_THERE

    def failed(self, row: int) -> bool:
        """Whether the last entry of this row is a failure."""
        return bool(self._failed[row])

    @property
    def done(self) -> np.ndarray:
        """Which rows have an entry, as a mask."""
        places = np.array(self._places, dtype=np.int64)
        return np.not_equal(places, _NOT_THERE)

    @property
    def failures(self) -> np.ndarray:
        """Which rows' last entry is a failure, as a mask."""
        return np.array(self._failed, dtype=bool)

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write what became of a query: ``row``, ``query_id``, and its fields or ``error``.

        Raises
        ------
        DataError
            If it cannot be written, as on a full disk; what stands there is kept whole.
        """
        line = _line(entry)
        with self._lock:
            place = self._end
            try:
                _write_whole(self._file, line)
            except OSError as exc:
                self._file.truncate(place)
                told = exc.strerror or str(exc)
                raise DataError(
                    f"{self.path} cannot be written: {told}; what was answered before is kept, "
                    "and the run can be resumed"
                ) from exc
            self._end = place + len(line)
            self._note(entry, place)

    def entry(self, row: int) -> dict[str, Any] | None:
        """The last entry of a row; None where there is none."""
        return self.sized_entry(row)[0]

    def sized_entry(self, row: int) -> tuple[dict[str, Any] | None, int]:
        """The same, and how many bytes it is."""
        if not self.has(row):
            return None, 0
        with self._lock:
            self._file.seek(self._places[row])
            line = _read_line(self._file)
        found = self._document(line)
        if found.get("row") != row:
            raise ReaderError("it was changed by something else while the run went on", self.path)
        return found, len(line)

    def let_go(self) -> None:
        """Take the file away where nothing was answered: such a folder holds no run."""
        if self.n_done == 0:
            with contextlib.suppress(OSError):  # Windows keeps a file that is open
                self.path.unlink()

    def _note(self, entry: Mapping[str, Any], place: int) -> None:
        self.names.update(entry)
        self._places[entry["row"]] = place
        self._failed[entry["row"]] = entry.get("error") is not None

    # -- what is there already

    def _take_for_itself(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise DataError(f"{self.path}: another run is writing it; let it end first") from exc

    def _read(self, header: Mapping[str, Any]) -> dict[str, Any]:
        whole = {"format": FORMAT, "format_version": FORMAT_VERSION, **header}
        found, place = None, 0
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):  # the process was killed while it wrote
                    self._file.truncate(place)
                    self.is_cut = True
                    break
                document = self._document(line, number)
                if found is None:
                    found = self._checked_header(document, whole)
                else:
                    self._take(document, place, number)
                place += len(line)
        if found is None:
            line = _line(whole)
            _write_whole(self._file, line)
            place += len(line)
        self._end = place
        return found or whole

    def _document(self, line: bytes, number: int | None = None) -> dict[str, Any]:
        try:
            document = json.loads(line)
        except ValueError as exc:
            raise ReaderError(_NO_LINE, self.path, number) from exc
        if not isinstance(document, dict):
            raise ReaderError(_NO_LINE, self.path, number)
        return document

    def _checked_header(self, found: dict[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        if found.get("format") != FORMAT or found.get("format_version") != FORMAT_VERSION:
            raise ReaderError(f"expected a journal of format {FORMAT_VERSION}", self.path, 1)
        then, now = found.get("asked", {}), json.loads(_line(wanted.get("asked", {})))
        changed = sorted(key for key in then.keys() | now.keys() if then.get(key) != now.get(key))
        if changed:
            raise DataError(
                f"{self.path} is of a run in which {' and '.join(changed)} was another: resume "
                "with what it was, or choose a new folder"
            )
        return found

    def _take(self, entry: dict[str, Any], place: int, number: int) -> None:
        row = entry.get("row")
        if not isinstance(row, int) or not 0 <= row < len(self._places):
            raise ReaderError("an entry of no query of this run", self.path, number)
        self._note(entry, place)


def _opened(path: Path) -> BinaryIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+b", buffering=0)
    except OSError as exc:
        raise DataError(f"{path} cannot be written: {exc.strerror or exc}") from exc


def _line(entry: Mapping[str, Any]) -> bytes:
    text, _ = replace_lone_surrogates(json.dumps(entry, default=str))
    return text.encode("ascii") + b"\n"


def _write_whole(file: BinaryIO, line: bytes) -> None:
    """Write all of it; an unbuffered file may take a part at a time."""
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(rest) or 0 :]


def _read_line(file: BinaryIO) -> bytes:
    """The line at the file's place; read in pieces, because the file is not buffered."""
    pieces = []
    while piece := file.read(1 << 16):
        end = piece.find(b"\n")
        if end >= 0:
            pieces.append(piece[: end + 1])
            break
        pieces.append(piece)
    return b"".join(pieces)

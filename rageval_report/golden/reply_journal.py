"""A journal of a chat model's replies: each is on disk before the next question is asked.

It is a JSON Lines file, with a digest of model, settings and message as the key. A second run with
the same documents and seed takes the replies from there, and asks only for the others.

Each line ends with its number and a digest. A line that is damaged is reported, and its message is
asked again. The first line has the number of lines, as it was when the file was last closed, so
that lines that are missing at the end are reported too.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from rageval_report.errors import (
    DataError,
    MissingDependencyError,
    RagevalWarning,
    ReaderError,
    named,
)
from rageval_report.files.digests import (
    Line,
    LineNumbers,
    looks_sealed,
    open_line,
    seal_line,
    separate_lines,
)
from rageval_report.files.writing import open_private, write_whole
from rageval_report.judges.chats import Ask, Chat, Message

AskText = Callable[[Message], str]

_STACK_LEVEL = 4  # the warning points to the caller of the function with the journal
_MOST_FAILURES = 5  # in a row: then the chat is most likely down
# The number of lines is padded with blanks: the first line is written again in its place.
_FIRST_LINE = b'{"key": "", "reply": "", "n_lines": %15d}'


class ChatFailedError(Exception):
    """The chat did not answer one message; the text says why."""


class ChatDownError(ChatFailedError):
    """The chat was not reached, or was busy, also after its retries; it may answer later."""


class ReplyJournal:
    """Replies by message, on disk or, without a path, in memory.

    Parameters
    ----------
    path : str or Path, optional
        The file; it is created if it does not exist. An incomplete last line is removed.

    Attributes
    ----------
    n_asked, n_replayed : int
        The number of messages to the model, and of those that the journal answered.

    Raises
    ------
    ReaderError
        If the file is not a journal.
    DataError
        If the file cannot be opened.

    Examples
    --------
    >>> from rageval_report.judges.chats import as_chat
    >>> journal = ReplyJournal()
    >>> with journal.open(as_chat(lambda text: text.upper())) as ask:
    ...     ask(Message("twice")), ask(Message("twice"))
    ('TWICE', 'TWICE')
    >>> journal.n_asked, journal.n_replayed
    (1, 1)
    """

    def __init__(self, path: str | Path | None = None):
        self.path = None if path is None else Path(path)
        self.n_asked = self.n_replayed = 0
        self._replies: dict[str, str] = {}
        self._failures = 0
        self._lock = threading.Lock()
        self._numbers = LineNumbers()
        self._had_no_digests = True
        self._has_count = False
        if self.path is not None:
            self._read(self.path)

    @contextmanager
    def open(self, chat: Chat) -> Iterator[AskText]:
        """A context that yields a function which asks the chat, or answers from the journal.

        Parameters
        ----------
        chat : Chat
            The model.

        Raises
        ------
        DataError
            If the journal cannot be written, or the chat is set up wrongly.
        ChatFailedError
            By the function, if the chat fails; the fifth time in a row the failure itself.
        """
        with chat.open() as ask, self._open_file() as file:
            settings = json.dumps([chat.model, dict(chat.settings)], default=str).encode()

            def answer(message: Message) -> str:
                key = _key_of(settings, message)
                with self._lock:
                    if key in self._replies:
                        self.n_replayed += 1
                        return self._replies[key]
                reply = self._ask_chat(ask, message)
                with self._lock:
                    entry = json.dumps({"key": key, "reply": reply}, ensure_ascii=True)
                    self._append(file, entry.encode())
                    self._replies[key] = reply
                    self.n_asked += 1
                return reply

            yield answer

    def _ask_chat(self, ask: Ask, message: Message) -> str:
        try:
            reply = ask(message)
        # Mistakes of the set-up: every further question would fail in the same way.
        except (DataError, MissingDependencyError):
            raise
        except Exception as exc:
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                raise
            is_down = isinstance(exc, OSError) or getattr(exc, "is_temporary", False)
            failure = ChatDownError if is_down else ChatFailedError
            raise failure(f"the chat failed: {exc}") from exc
        self._failures = 0
        if reply.ending != "end":
            raise ChatFailedError(f"the chat's answer is incomplete: {reply.ending}")
        return reply.text

    @contextmanager
    def _open_file(self) -> Iterator[BinaryIO | None]:
        if self.path is None:
            yield None
            return
        try:
            file = os.fdopen(open_private(self.path), "ab", buffering=0)
        except OSError as exc:
            raise DataError(f"{self.path}: the journal cannot be written: {exc.strerror}") from exc
        with file:
            self._write_first_line(file)
            try:
                yield file
            finally:
                self._write_count(self.path)

    def _write_first_line(self, file: BinaryIO) -> None:
        """Begin a new file; one that earlier versions began goes on without a number of lines."""
        if not self._numbers.n_lines and not self._replies:
            self._has_count = True
            self._append(file, _FIRST_LINE % 1)

    def _append(self, file: BinaryIO | None, entry: bytes) -> None:
        if file is None:
            return
        last = self._numbers.last
        line = seal_line(entry, self._numbers.next())
        place = os.fstat(file.fileno()).st_size
        try:
            write_whole(file, line)
            # Each reply was paid for, so it must survive a power cut too.
            os.fsync(file.fileno())
        except OSError as exc:
            # Half a line would join the next one and spoil both.
            file.truncate(place)
            self._numbers.last = last
            raise DataError(
                f"{self.path}: the journal cannot be written: {exc.strerror}; its entries are kept"
            ) from exc

    def _write_count(self, path: Path) -> None:
        """Write the number of lines into the first one."""
        if not self._has_count:
            return
        # The replies are kept without it, so that a fault of the disk stops nothing.
        with suppress(OSError), path.open("r+b", buffering=0) as file:
            write_whole(file, seal_line(_FIRST_LINE % self._numbers.n_lines, 1))
            os.fsync(file.fileno())

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        damage = []
        n_lines = 0
        for line in _lines_of(whole):
            opened = open_line(line.content)
            if opened is None and not self._is_of_earlier_version(line):
                self._numbers.count_damaged()
                damage.append(line.name)
                continue
            entry, number = opened or (line.content, self._numbers.last + 1)
            problem = self._numbers.check(number)
            if problem is not None:
                damage.append(problem)
            if n := lines_counted(line.content):
                self._has_count, n_lines = True, n
                continue
            key, reply = _parse_entry(entry, path, line.number)
            self._replies[key] = reply
        if problem := self._numbers.missing_until(n_lines):
            damage.append(problem)
        if damage:
            warnings.warn(
                f"{path}: the journal is damaged: {named(damage)}; what is lost is asked again",
                RagevalWarning,
                stacklevel=_STACK_LEVEL,
            )
        if len(whole) < len(content):  # the process was killed while writing
            os.truncate(path, len(whole))

    def _is_of_earlier_version(self, line: Line) -> bool:
        """Whether a line has no digest because its version wrote none; then no line before had."""
        self._had_no_digests = self._had_no_digests and not looks_sealed(line.content)
        return self._had_no_digests


def lines_counted(line: bytes) -> int | None:
    """The number of lines in the first line of a journal; None if it is another line, or damaged.

    Examples
    --------
    >>> lines_counted(seal_line(_FIRST_LINE % 12, 1)), lines_counted(seal_line(b'{"row": 0}', 1))
    (12, None)
    """
    opened = open_line(line)
    if opened is None or opened[1] != 1:
        return None
    n_lines = json.loads(opened[0]).get("n_lines")
    return n_lines if type(n_lines) is int else None


def _lines_of(content: bytes) -> Iterator[Line]:
    place = 0
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        yield from separate_lines(Line(number, place, line + b"\n"))
        place += len(line) + 1


def _key_of(settings: bytes, message: Message) -> str:
    digest = blake2b(settings, digest_size=16)
    digest.update(json.dumps([message.system, message.user]).encode())
    return digest.hexdigest()


def _parse_entry(line: bytes, path: Path, number: int) -> tuple[str, str]:
    try:
        entry = json.loads(line)
    except ValueError as exc:
        raise ReaderError("this is not an entry of a journal", path, number) from exc
    if not isinstance(entry, Mapping) or not {"key", "reply"} <= set(entry):
        raise ReaderError("expected a key and a reply; is this another file?", path, number)
    return str(entry["key"]), str(entry["reply"])

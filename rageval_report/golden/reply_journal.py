"""What was asked of a chat model is on disk before the next question is asked.

A JSON Lines file of replies by a digest of model, settings and message. Whoever starts again with
the same documents and seed gets the replies that are there, and asks only for the others.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from rageval_report.errors import DataError, MissingDependencyError, ReaderError
from rageval_report.judges.chats import Chat, Message, Reply

_MOST_FAILURES = 5


class ChatFailedError(Exception):
    """The chat gave no answer to one message; why stands in the text."""


class Journal:
    """Replies by what was asked, on disk or, without a path, in memory.

    Parameters
    ----------
    path : str or Path, optional
        The file; made where it is missing. A last line that was cut is dropped.

    Attributes
    ----------
    n_asked, n_replayed : int
        How many messages went to the model, and how many were answered from the journal.

    Raises
    ------
    ReaderError
        If a line is no line of a journal.
    DataError
        If the file cannot be opened.

    Examples
    --------
    >>> from rageval_report.judges.chats import as_chat
    >>> journal = Journal()
    >>> with journal.asking(as_chat(lambda text: text.upper())) as ask:
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
        if self.path is not None:
            self._read(self.path)

    @contextmanager
    def asking(self, chat: Chat) -> Iterator[Ask]:
        """What asks the chat, or answers from the journal.

        Parameters
        ----------
        chat : Chat
            The model.

        Raises
        ------
        DataError
            If the journal cannot be written, or the chat says that it is set up wrongly.
        ChatFailedError
            By the function, if the chat fails; the fifth time in a row the failure itself.
        """
        with chat.open() as ask, self._opened() as file:
            digest = blake2b(digest_size=16)
            digest.update(json.dumps([chat.model, dict(chat.settings)], default=str).encode())

            def answer(message: Message) -> str:
                key = _key(digest.copy(), message)
                with self._lock:
                    if key in self._replies:
                        self.n_replayed += 1
                        return self._replies[key]
                reply = self._asked(ask, message)
                with self._lock:
                    _append(file, self.path, {"key": key, "reply": reply})
                    self._replies[key] = reply
                    self.n_asked += 1
                return reply

            yield answer

    def _asked(self, ask: Any, message: Message) -> str:
        try:
            reply: Reply = ask(message)
        except (DataError, MissingDependencyError):
            raise
        except Exception as exc:
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                raise
            raise ChatFailedError(f"the chat failed: {exc}") from exc
        self._failures = 0
        if reply.ending != "end":
            raise ChatFailedError(f"the chat's answer ended by {reply.ending}")
        return reply.text

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO | None]:
        if self.path is None:
            yield None
            return
        try:
            file = self.path.open("ab", buffering=0)
        except OSError as exc:
            raise DataError(f"{self.path} cannot be written: {exc.strerror}") from exc
        with file:
            yield file

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            key, reply = _entry(line, path, number)
            self._replies[key] = reply
        if len(whole) < len(content):  # the process was killed while it wrote
            os.truncate(path, len(whole))


Ask = Any  # a function of a Message that gives a text; Callable would hide what it may raise


def _key(digest: Any, message: Message) -> str:
    digest.update(json.dumps([message.system, message.user]).encode())
    return str(digest.hexdigest())


def _entry(line: bytes, path: Path, number: int) -> tuple[str, str]:
    try:
        found = json.loads(line)
    except ValueError as exc:
        raise ReaderError("this is no line of a journal", path, number) from exc
    if not isinstance(found, Mapping) or not {"key", "reply"} <= set(found):
        raise ReaderError("expected a key and a reply; is this another file?", path, number)
    return str(found["key"]), str(found["reply"])


def _append(file: BinaryIO | None, path: Path | None, entry: Mapping[str, str]) -> None:
    if file is None:
        return
    line = json.dumps(entry, ensure_ascii=True).encode() + b"\n"
    try:
        file.write(line)
        os.fsync(file.fileno())
    except OSError as exc:
        raise DataError(f"{path} cannot be written: {exc.strerror}; what it holds is kept") from exc

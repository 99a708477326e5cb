"""A chat that says what a script says: for tests of what is built on judges."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rageval_report.errors import JudgeError
from rageval_report.judges.chats.base import MAX_TOKENS, Ask, Message, Reply

Line = str | Reply | BaseException
Script = Iterable[Line] | Callable[[Message], Line]


class ScriptedChat:
    """A chat without a model.

    Parameters
    ----------
    script : iterable of replies, or callable
        What is answered in turn, or a function of the message; an exception is raised. Which
        question gets which line of a list is certain with ``concurrency=1`` only.
    model : str
        The name that it goes by.
    max_tokens : int
        How long an answer may be, for estimates.

    Attributes
    ----------
    asked : list of Message
        All that was asked.

    Examples
    --------
    >>> chat = ScriptedChat(['{"reasoning": "It is.", "score": 5}'])
    >>> with chat.open() as ask:
    ...     reply = ask(Message("How good is it?"))
    >>> reply.text, len(chat.asked)
    ('{"reasoning": "It is.", "score": 5}', 1)
    """

    def __init__(self, script: Script, *, model: str = "scripted", max_tokens: int = MAX_TOKENS):
        self.model = model
        self.max_tokens = max_tokens
        self.asked: list[Message] = []
        self._lock = threading.Lock()
        self._answer = script if callable(script) else _in_turn(script)

    @property
    def settings(self) -> Mapping[str, object]:
        """That nothing but the script decides."""
        return {"provider": "scripted"}

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """What reads the script."""
        yield self._ask

    def _ask(self, message: Message) -> Reply:
        with self._lock:
            self.asked.append(message)
        said: Any = self._answer(message)
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, Reply) else Reply(str(said))


def _in_turn(lines: Iterable[Line]) -> Callable[[Message], Line]:
    left, lock = deque(lines), threading.Lock()

    def next_line(message: Message) -> Line:
        with lock:
            if not left:
                raise JudgeError(f"the script is at its end; asked was: {message.user[:60]!r}")
            return left.popleft()

    return next_line

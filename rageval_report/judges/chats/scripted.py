"""A chat without a model, which answers from a script: for tests of what is built on judges."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from rageval_report.errors import JudgeError
from rageval_report.judges.chats.base import MAX_TOKENS, Ask, Message, Reply

ScriptedAnswer = str | Reply | BaseException
Script = Iterable[ScriptedAnswer] | Callable[[Message], ScriptedAnswer]


class ScriptedChat:
    """A chat without a model.

    Parameters
    ----------
    script : iterable of answers, or callable
        The answers in order, or a function of the message; an exception is raised. Which request
        gets which answer of a list is certain with ``concurrency=1`` only.
    model : str
        The name of the model.
    max_tokens : int
        The maximum length of an answer, for cost estimates.

    Attributes
    ----------
    asked : list of Message
        All messages so far.

    Examples
    --------
    >>> chat = ScriptedChat(['{"reasoning": "It is.", "score": 5}'])
    >>> with chat.open() as ask:
    ...     reply = ask(Message("How good is it?"))
    >>> reply.text, len(chat.asked)
    ('{"reasoning": "It is.", "score": 5}', 1)
    >>> chat.settings
    {'provider': 'scripted'}
    """

    def __init__(self, script: Script, *, model: str = "scripted", max_tokens: int = MAX_TOKENS):
        self.model = model
        self.max_tokens = max_tokens
        self.asked: list[Message] = []
        self._lock = threading.Lock()
        self._answer = script if callable(script) else _answer_in_order(script)

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings: nothing but the script decides."""
        return {"provider": "scripted"}

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """A context that yields a function which answers from the script."""
        yield self._ask

    def _ask(self, message: Message) -> Reply:
        with self._lock:
            self.asked.append(message)
        answer = self._answer(message)
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, Reply) else Reply(str(answer))


def _answer_in_order(answers: Iterable[ScriptedAnswer]) -> Callable[[Message], ScriptedAnswer]:
    remaining, lock = deque(answers), threading.Lock()

    def next_answer(message: Message) -> ScriptedAnswer:
        with lock:
            if not remaining:
                raise JudgeError(f"no scripted reply is left for: {message.user[:60]!r}")
            return remaining.popleft()

    return next_answer

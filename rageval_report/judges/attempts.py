"""Attempts of calls: each is a request that may be billed, and what it may cost at most."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, runtime_checkable

from rageval_report.errors import DataError
from rageval_report.judges.chats.base import Chat, Message, Reply, count_bytes

RunAttempt = Callable[[Callable[[], Reply]], Reply]
"""Runs one attempt: takes a function that sends a request once, and returns its reply."""

AskInAttempts = Callable[[Message, RunAttempt], Reply]
"""Asks the model: takes a message, and what runs each attempt."""

# What servers add to a request on their side: roles, separators, the date, words about the format
# of the answer. Published chat templates add fewer than 100 tokens.
_ADDED_TOKENS = 256
_REFUSALS = range(300, 500)
# Gateways also answer this one when the model takes too long.
_REQUEST_TIMEOUT = 408


@runtime_checkable
class RetryingChat(Protocol):
    """A chat that retries, so that one call may be several requests, all of which may be billed."""

    def open_attempts(self) -> AbstractContextManager[AskInAttempts]:
        """A context that yields a function to ask the model, attempt by attempt."""


@runtime_checkable
class BoundedChat(Protocol):
    """A chat that knows how large its requests and the answers to them may be."""

    def max_request_bytes(self, message: Message) -> int:
        """The number of bytes that the server is sent for a message."""

    def max_reply_tokens(self) -> int | None:
        """The largest number of tokens of an answer; None if the server is sent no limit."""


@contextmanager
def open_attempts(chat: Chat) -> Iterator[AskInAttempts]:
    """A context that yields a function to ask a chat; one that does not retry has one attempt.

    Examples
    --------
    >>> from rageval_report.judges.chats.base import as_chat
    >>> with open_attempts(as_chat(lambda text: text.upper())) as ask:
    ...     ask(Message("yes"), lambda send: send()).text
    'YES'
    """
    if isinstance(chat, RetryingChat):
        with chat.open_attempts() as ask_in_attempts:
            yield ask_in_attempts
    else:
        with chat.open() as ask:
            yield lambda message, run_attempt: run_attempt(lambda: ask(message))


def max_request_tokens(chat: Chat, message: Message) -> int:
    """The number of tokens that a request does not exceed, whatever the tokenizer: one per byte.

    Tokenizers fall back to bytes where they know no longer piece, so that no text has more tokens
    than bytes. Providers' endpoints that count tokens are not used: their counts are estimates by
    their own account, and each costs a request.

    Examples
    --------
    >>> from rageval_report.judges.chats.base import as_chat
    >>> max_request_tokens(as_chat(len), Message("漢字"))
    262
    """
    if isinstance(chat, BoundedChat):
        return chat.max_request_bytes(message) + _ADDED_TOKENS
    schema = "" if message.schema is None else json.dumps(dict(message.schema), ensure_ascii=False)
    return message.size + count_bytes(schema) + _ADDED_TOKENS


def max_reply_tokens(chat: Chat) -> int | None:
    """The largest number of tokens of an answer; None if the server is sent no limit.

    Examples
    --------
    >>> from rageval_report.judges.chats.base import as_chat
    >>> max_reply_tokens(as_chat(len))
    1024
    """
    return chat.max_reply_tokens() if isinstance(chat, BoundedChat) else chat.max_tokens


def was_not_billed(exc: BaseException) -> bool:
    """Whether it is certain that a failed attempt costs nothing.

    No connection was made, the request was never sent, or the server refused it with a status
    below 500, other than 408. After a time-out, an answer that broke off and a fault of the server
    nobody knows.

    Examples
    --------
    >>> from rageval_report.http.request_errors import RequestError
    >>> busy = RequestError("busy", url="http://host", failure="status", status=429)
    >>> late = RequestError("late", url="http://host", failure="timeout")
    >>> was_not_billed(busy), was_not_billed(late), was_not_billed(ValueError("?"))
    (True, False, False)
    """
    if isinstance(exc, DataError):
        return True
    failure = getattr(exc, "failure", None)
    if failure == "status":
        status = getattr(exc, "status", None)
        return status in _REFUSALS and status != _REQUEST_TIMEOUT
    return failure == "certificate" or bool(getattr(exc, "is_unreachable", False))

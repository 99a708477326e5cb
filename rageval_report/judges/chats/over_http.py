"""A chat model behind a server, and what the protocols of all providers have in common."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rageval_report.errors import DataError, JudgeError
from rageval_report.http.addresses import check_address, redact_url
from rageval_report.http.client import Client, Headers, HttpResponse
from rageval_report.http.keys import check_key_variable, key_from_environment
from rageval_report.judges.chats.base import MAX_TOKENS, Ask, Ending, Message, Reply
from rageval_report.types import Sleep

Body = dict[str, Any]
TIMEOUT = 120.0


@dataclass(frozen=True)
class HttpChat:
    """A model behind a server; `openai_chat` and its like make it.

    It holds no key and no connection: the key is read from the environment when it is opened.

    Parameters
    ----------
    provider, model, url : str
        Whom to ask, and where.
    max_tokens : int
        How long an answer may be.
    settings : mapping
        All that can change an answer.
    write : callable
        A message as the provider's protocol has it.
    read : callable
        The provider's answer as a reply.
    headers : callable
        What carries the key.
    client : callable
        Makes the client.
    """

    provider: str
    model: str
    url: str
    max_tokens: int
    settings: Mapping[str, object]
    write: Callable[[Message], Body] = field(repr=False)
    read: Callable[[HttpResponse], Reply] = field(repr=False)
    headers: Callable[[], Headers] = field(repr=False)
    client: Callable[[], Client] = field(repr=False)

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """What asks the server, over connections that are kept until it is closed."""
        headers = self.headers()
        with self.client() as client:

            def ask(message: Message) -> Reply:
                body = self.write(message)
                return self.read(client.request("POST", self.url, json=body, headers=headers))

            yield ask

    def __call__(self, text: str) -> str:
        """Ask one thing.

        Raises
        ------
        JudgeError
            If the model refuses, or its answer was cut.
        RequestError
            If the server cannot be reached or does not answer as it should.
        """
        with self.open() as ask:
            reply = ask(Message(text))
        if reply.ending != "end":
            why = "refused" if reply.ending == "refusal" else f"was cut at {self.max_tokens} tokens"
            raise JudgeError(f"the answer of {self.model} {why}")
        return reply.text


@dataclass(frozen=True)
class Options:
    """What can be set for every provider.

    Parameters
    ----------
    max_tokens : int
        How long an answer may be, thoughts of the model included where it thinks.
    temperature : float, optional
        Sent only where given: several newer models refuse any.
    structured : bool
        Whether the server is asked to keep the JSON schema of the answer; turn it off for one that
        does not know how.
    extra_body : mapping, optional
        What else is sent; a value of None takes something away.
    timeout, max_attempts, max_wait, sleep
        As in `rageval_report.http.client.Client`.
    """

    max_tokens: int = MAX_TOKENS
    temperature: float | None = None
    structured: bool = True
    extra_body: Mapping[str, object] = field(default_factory=dict)
    timeout: float = TIMEOUT
    max_attempts: int = 5
    max_wait: float = 60.0
    sleep: Sleep = time.sleep

    def __post_init__(self) -> None:
        if isinstance(self.max_tokens, bool) or not (
            isinstance(self.max_tokens, int) and self.max_tokens >= 1
        ):
            raise DataError(f"max_tokens must be a whole number from 1 on; got {self.max_tokens!r}")
        if self.temperature is not None and not 0.0 <= self.temperature <= 2.0:
            raise DataError(f"temperature must be from 0 to 2; got {self.temperature!r}")
        object.__setattr__(self, "extra_body", dict(self.extra_body or {}))
        self.client()().close()  # the limits are checked now, not at the first question

    def client(self) -> Callable[[], Client]:
        """What makes the client."""
        return partial(
            Client,
            timeout=self.timeout,
            max_attempts=self.max_attempts,
            max_wait=self.max_wait,
            sleep=self.sleep,
        )

    def completed(self, body: Body) -> Body:
        """What is sent, with the user's additions."""
        whole = {**body, **self.extra_body}
        return {name: value for name, value in whole.items() if value is not None}

    def schema_of(self, message: Message) -> Mapping[str, Any] | None:
        """The schema that the server shall keep."""
        return message.schema if self.structured else None


def chat_over_http(
    provider: str,
    model: str,
    url: str,
    options: Options,
    write: Callable[[Message], Body],
    read: Callable[[HttpResponse], Reply],
    headers: Callable[[], Headers],
) -> HttpChat:
    """A chat whose model and key are checked now, not at the first question."""
    if not isinstance(model, str) or not model.strip():
        raise DataError(f"expected the name of a model, got {model!r}")
    headers()
    settings: dict[str, object] = {
        "provider": provider,
        "url": redact_url(url),
        "max_tokens": options.max_tokens,
        "temperature": options.temperature,
        "structured": options.structured,
        "extra_body": dict(options.extra_body),
    }
    return HttpChat(
        *(provider, model, url, options.max_tokens, settings),
        write=write,
        read=read,
        headers=headers,
        client=options.client(),
    )


@dataclass(frozen=True)
class Home:
    """Where a provider is asked, and which environment variables say otherwise.

    Parameters
    ----------
    url : str
        The provider's own address.
    url_variables, key_variables : tuple of str
        The first of them that is set counts.
    """

    url: str
    url_variables: tuple[str, ...]
    key_variables: tuple[str, ...]

    def server(self, base_url: str | None, api_key_env: str | None) -> tuple[str, str | None]:
        """The address, and the variable of the key that goes there.

        A server that the caller names gets a key only if the caller names one too, so that the key
        of the provider goes to nobody else.
        """
        routed = _first_set(self.url_variables)
        base = base_url or (os.environ[routed] if routed else self.url)
        if "?" in base or "#" in base:
            raise DataError(f"base_url ends before any '?' or '#': {redact_url(base)} alone")
        address = check_address(base).rstrip("/")
        if api_key_env is not None:
            return address, check_key_variable(api_key_env)
        if base_url is not None:
            return address, None
        key = _first_set(self.key_variables)
        return address, key or (None if routed else self.key_variables[-1])


def _first_set(variables: tuple[str, ...]) -> str | None:
    return next((name for name in variables if os.environ.get(name)), None)


def key_header(name: str, variable: str | None, scheme: str) -> Headers:
    """The header that carries the key; none where there is no key."""
    return {} if variable is None else {name: key_from_environment(variable, scheme=scheme)}


# -- reading answers


def objects(document: Any, name: str) -> list[Body]:
    """The objects in a list of a document; none where it is not so."""
    found = document.get(name) if isinstance(document, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def inner(document: Any, name: str) -> Body:
    """The object under a name; an empty one where there is none."""
    found = document.get(name) if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}


def tokens(usage: Body, *names: str) -> int | None:
    """The sum of counts; None where the first of them is not there."""
    counts = [usage.get(name) for name in names]
    known = [n for n in counts if isinstance(n, int) and not isinstance(n, bool) and n >= 0]
    return sum(known) if known and counts[0] is not None else None


def ending_of(said: object, endings: Mapping[str, Ending]) -> Ending:
    """How an answer ended; whole where the provider says nothing else."""
    return endings.get(str(said).lower(), "end")

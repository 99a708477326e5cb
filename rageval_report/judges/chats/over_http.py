"""A chat model behind a server: what the protocols of all providers have in common."""

from __future__ import annotations

import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, Unpack

from rageval_report import http
from rageval_report.errors import DataError, JudgeError
from rageval_report.http.addresses import redact_url
from rageval_report.http.keys import Key, fill_request, key_from_environment, keys_named_in
from rageval_report.http.literal_keys import check_body
from rageval_report.http.provider_homes import ProviderHome
from rageval_report.http.responses import Headers, HttpResponse, Signer, check_limits
from rageval_report.judges.attempts import AskInAttempts, RunAttempt
from rageval_report.judges.chats.base import (
    MAX_TOKENS,
    Ask,
    Chat,
    Ending,
    JsonSchema,
    Message,
    Reply,
    count_bytes,
)
from rageval_report.judges.chats.chat_options import ChatOptions
from rageval_report.judges.judge_options import check_options
from rageval_report.types import Sleep

if TYPE_CHECKING:
    from rageval_report.http.client import Client

JsonBody = dict[str, Any]
FieldPath = tuple[str, ...]
TIMEOUT = 120.0  # seconds; a model that thinks before it answers takes long


class ChatFactory(Protocol):
    """The signature of the functions in `CHATS`, such as `openai_chat`."""

    def __call__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str | None = None,
        **options: Unpack[ChatOptions],
    ) -> Chat:
        """A chat with a model of the provider."""


@dataclass(frozen=True)
class CheckedOptions:
    """The values of `ChatOptions`, checked and with defaults filled in.

    Raises
    ------
    DataError
        If an option has no valid value.
    """

    max_tokens: int = MAX_TOKENS
    temperature: float | None = None
    structured: bool = True
    extra_body: Mapping[str, object] | None = None
    timeout: float = TIMEOUT
    max_attempts: int = 5
    max_wait: float = 60.0
    sleep: Sleep = field(default=time.sleep, repr=False)
    check_key: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.max_tokens, bool) or not (
            isinstance(self.max_tokens, int) and self.max_tokens >= 1
        ):
            raise DataError(f"max_tokens must be an integer >= 1; got {self.max_tokens!r}")
        if self.temperature is not None and not 0.0 <= self.temperature <= 2.0:
            raise DataError(f"temperature must be from 0 to 2; got {self.temperature!r}")
        # A copy: it is part of the cache's key, so it must not change afterwards.
        object.__setattr__(
            self, "extra_body", dict(check_body(self.extra_body or {}, "extra_body"))
        )
        if self.extra_body and self.extra_body.get("stream"):
            raise DataError("extra_body must not contain 'stream': an answer is read as a whole")
        check_limits(  # now, not at the first call
            timeout=self.timeout, max_attempts=self.max_attempts, max_wait=self.max_wait
        )

    def new_client(self) -> Client:
        """A client with these limits."""
        # An estimate of the cost needs the chat, but no package for HTTP.
        return http.Client(
            timeout=self.timeout,
            max_attempts=self.max_attempts,
            max_wait=self.max_wait,
            sleep=self.sleep,
        )


@dataclass(frozen=True)
class HttpChat(ABC):
    """A model behind a server; each provider's protocol is a subclass.

    It stores neither a key nor a connection: the key is read from the environment when the chat is
    opened.

    Parameters
    ----------
    model : str
        The model's name.
    url : str
        The address that requests are sent to.
    key_variable : str, optional
        The environment variable of the key; no key is sent if None.
    options : CheckedOptions
        The limits, and what else can change an answer.

    Raises
    ------
    DataError
        If the model has no name, or the key is missing.
    """

    provider: ClassVar[str]
    home: ClassVar[ProviderHome]
    # Where a request says how long an answer may be, and how many answers it wants.
    limit_fields: ClassVar[tuple[FieldPath, ...]]
    count_fields: ClassVar[tuple[FieldPath, ...]] = ()

    model: str
    url: str
    key_variable: str | None
    options: CheckedOptions

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip():
            raise DataError(f"model must be the name of a model; got {self.model!r}")
        if self.options.check_key:  # a missing one is reported now, not at the first call
            self.headers()
            self.signer()
            self.named_keys()

    @classmethod
    def connect(
        cls,
        model: str,
        base_url: str | None,
        api_key_env: str | None,
        options: ChatOptions,
    ) -> Self:
        """A chat with a model of the provider, or of a server that speaks its protocol."""
        check_options(f"{cls.provider}_chat", options, ChatOptions.__annotations__)
        base, key_variable = cls.locate(base_url, api_key_env)
        return cls(model, cls.endpoint(base, model), key_variable, CheckedOptions(**options))

    @classmethod
    def locate(cls, base_url: str | None, api_key_env: str | None) -> tuple[str, str | None]:
        """The address of the server, and the variable of the key that is sent there."""
        return cls.home.locate(base_url, api_key_env)

    @staticmethod
    @abstractmethod
    def endpoint(base: str, model: str) -> str:
        """The address for requests to a model, from the address of the server."""

    @abstractmethod
    def headers(self) -> Headers:
        """The headers, which carry the key."""

    def signer(self) -> Signer | None:
        """What signs each request; None if a key in a header is enough."""
        return None

    @abstractmethod
    def write(self, message: Message) -> JsonBody:
        """The body of a request; a field that is None is not sent."""

    @abstractmethod
    def read(self, answer: HttpResponse) -> Reply:
        """The reply in the server's answer."""

    @property
    def max_tokens(self) -> int:
        """The maximum length of an answer."""
        return self.options.max_tokens

    @property
    def settings(self) -> dict[str, object]:
        """Everything beside the model and the message that can change an answer; never a key."""
        return {
            "provider": self.provider,
            "url": redact_url(self.url),
            "max_tokens": self.options.max_tokens,
            "temperature": self.options.temperature,
            "structured": self.options.structured,
            "extra_body": self.options.extra_body,
        }

    def named_keys(self) -> dict[str, Key]:
        """The keys that the address and `extra_body` name as ``${NAME}``."""
        return keys_named_in([self.url, self.options.extra_body])

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """A context that yields a function to ask the server, over connections that stay open."""
        with self.open_attempts() as ask:
            yield lambda message: ask(message, lambda send: send())

    @contextmanager
    def open_attempts(self) -> Iterator[AskInAttempts]:
        """The same; the function also takes what runs each attempt, as each may be billed."""
        url, added, keys = fill_request(self.url, self.options.extra_body)
        headers, signer = self.headers(), self.signer()
        with self.options.new_client() as client:

            def ask(message: Message, run_attempt: RunAttempt) -> Reply:
                body = self.request_body(message, added)

                def send() -> Reply:
                    answer = client.send(
                        "POST", url, json=body, headers=headers, keys=keys, signer=signer
                    )
                    return self.read(answer)

                return client.retry(lambda: run_attempt(send))

            yield ask

    def request_body(
        self, message: Message, extra_body: Mapping[str, object] | None = None
    ) -> JsonBody:
        """The body that is sent: the protocol's, with the user's additions and removals."""
        added = self.options.extra_body if extra_body is None else extra_body
        body = {**self.write(message), **(added or {})}
        # None removes a field: some servers refuse even a null temperature.
        return {name: value for name, value in body.items() if value is not None}

    def max_request_bytes(self, message: Message) -> int:
        """The number of bytes that the server is sent for a message."""
        # Without \uXXXX, which the server turns back into characters.
        return count_bytes(json.dumps(self.request_body(message), ensure_ascii=False))

    def max_reply_tokens(self) -> int | None:
        """The largest number of tokens of an answer; None if the server is sent no limit."""
        body = self.request_body(Message(""))
        limits = [n for path in self.limit_fields if (n := _whole_number(body, path)) is not None]
        counts = [_whole_number(body, path) or 1 for path in self.count_fields]
        return max(limits) * math.prod(counts) if limits else None

    def schema_of(self, message: Message) -> JsonSchema | None:
        """The schema that the server is asked to enforce, if any."""
        return message.schema if self.options.structured else None

    def __call__(self, text: str) -> str:
        """Ask one thing.

        Raises
        ------
        JudgeError
            If the model refuses, or its answer was cut off.
        RequestError
            If the server cannot be reached, or its answer cannot be read.
        """
        with self.open() as ask:
            reply = ask(Message(text))
        if reply.ending == "refusal":
            raise JudgeError(f"{self.model} refused to answer")
        if reply.ending == "length":
            raise JudgeError(f"the answer of {self.model} was cut off at {self.max_tokens} tokens")
        return reply.text


def key_header(name: str, variable: str | None, scheme: str = "") -> Headers:
    """The header that carries the key; none if there is no key."""
    return {} if variable is None else {name: key_from_environment(variable, scheme=scheme)}


# -- reading answers, which may have any shape


def _whole_number(document: JsonBody, path: FieldPath) -> int | None:
    """The whole number at a path of names; None if there is none."""
    value: object = document
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def inner_objects(document: object, name: str) -> list[JsonBody]:
    """The objects in the list under a name; empty if there is no list."""
    items = document.get(name) if isinstance(document, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def inner_object(document: object, name: str) -> JsonBody:
    """The object under a name; empty if there is none."""
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, dict) else {}


def sum_tokens(usage: JsonBody, *names: str) -> int | None:
    """The sum of several counts of tokens; None if the first of them is missing."""
    counts = [usage.get(name) for name in names]
    # A wrong count would be a wrong cost; an unknown one is reported as unknown.
    valid = [n for n in counts if isinstance(n, int) and not isinstance(n, bool) and n >= 0]
    return sum(valid) if valid and counts[0] is not None else None


def read_ending(reason: object, endings: Mapping[str, Ending]) -> Ending:
    """How an answer ended, by the provider's reason; complete if that is not listed."""
    return endings.get(str(reason).lower(), "end")

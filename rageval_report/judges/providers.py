"""Chat models behind servers: the protocols of four providers. Needs the extra ``http``.

``wires.toml`` says where each server is, what a request contains, and where in an answer the text,
the tokens and the reason to stop are. Keys are read from the environment when a chat is opened, and
stored nowhere.
"""

from __future__ import annotations

import json
import math
import os
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Unpack
from urllib.parse import quote

from rageval_report import http
from rageval_report._registry import load
from rageval_report.errors import DataError, check_options
from rageval_report.http import (
    Headers,
    HttpResponse,
    Key,
    ProviderHome,
    Signer,
    check_limits,
    fill_request,
    key_from_environment,
    keys_named_in,
    redact_url,
    region_from_environment,
)
from rageval_report.judges.chats import (
    MAX_TOKENS,
    Ask,
    AskInAttempts,
    ChatOptions,
    Message,
    Reply,
    RunAttempt,
    check_count,
    count_bytes,
)
from rageval_report.types import Sleep

JsonBody = dict[str, Any]


# How the servers of each provider are spoken to: the tables of ``wires.toml``, which explains them.
_OMITTED: dict[str, Any] = {"base_endings": "", "refusal": "", "counts": ()}
_FILE = Path(__file__).with_name("wires.toml")
WIRES: dict[str, Any] = {
    name: SimpleNamespace(provider=name, **{**_OMITTED, **table})
    for name, table in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()
}


@dataclass(frozen=True)
class HttpChat:
    """A model behind a server."""

    wire: Any = field(repr=False)  # of `WIRES`
    model: str
    url: str
    key_variable: str | None
    max_tokens: int = MAX_TOKENS
    temperature: float | None = None
    structured: bool = True
    extra_body: Mapping[str, object] | None = None
    timeout: float = 120.0  # seconds; a model that thinks before it answers takes long
    max_attempts: int = 5
    max_wait: float = 60.0
    sleep: Sleep = field(default=time.sleep, repr=False)
    check_key: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        check_count("max_tokens", self.max_tokens)
        if self.temperature is not None and not 0.0 <= self.temperature <= 2.0:
            raise DataError(f"temperature must be from 0 to 2; got {self.temperature!r}")
        # A copy: it is part of the cache's key, so it must not change afterwards.
        object.__setattr__(self, "extra_body", dict(self.extra_body or {}))
        if self.extra_body and self.extra_body.get("stream"):
            raise DataError("extra_body must not contain 'stream': an answer is read as a whole")
        check_limits(timeout=self.timeout, max_attempts=self.max_attempts, max_wait=self.max_wait)
        if not isinstance(self.model, str) or not self.model.strip():
            raise DataError(f"model must be the name of a model; got {self.model!r}")
        if self.check_key:  # a missing one is reported now, not at the first call
            self._headers()
            self._signer()
            keys_named_in([self.url, self.extra_body])

    @property
    def settings(self) -> dict[str, object]:
        """Everything beside the model and the message that can change an answer; never a key."""
        names = ("max_tokens", "temperature", "structured", "extra_body")
        own = {name: getattr(self, name) for name in names}
        return {"provider": self.wire.provider, "url": redact_url(self.url), **own}

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """A context that yields a function to ask the server, over connections that stay open."""
        with self.open_attempts() as ask:
            yield lambda message: ask(message, lambda send: send())

    @contextmanager
    def open_attempts(self) -> Iterator[AskInAttempts]:
        """The same; the function also takes what runs each attempt, as each may be billed."""
        url, added, keys = fill_request(self.url, self.extra_body)
        headers, signer = self._headers(), self._signer()
        names = ("timeout", "max_attempts", "max_wait", "sleep")
        limits: Any = {name: getattr(self, name) for name in names}
        with http.Client(**limits) as client:

            def ask(message: Message, run_attempt: RunAttempt) -> Reply:
                body = self._body(message, added)

                send = partial(
                    client.send, "POST", url, json=body, headers=headers, keys=keys, signer=signer
                )
                return client.retry(lambda: run_attempt(lambda: self._read(send())))

            yield ask

    def max_request_bytes(self, message: Message) -> int:
        """The number of bytes that the server is sent for a message."""
        # Without \uXXXX, which the server turns back into characters.
        body = self._body(message, self.extra_body)
        return count_bytes(json.dumps(body, ensure_ascii=False))

    def max_reply_tokens(self) -> int | None:
        """The largest number of tokens of an answer; None if the server is sent no limit."""
        body = self._body(Message(""), self.extra_body)
        limits = [n for path in self.wire.limits if (n := _count_at(body, path)) is not None]
        counts = [_count_at(body, path) or 1 for path in self.wire.counts]
        return max(limits) * math.prod(counts) if limits else None

    def _body(self, message: Message, added: Mapping[str, object] | None) -> JsonBody:
        is_sent = message.schema is not None and self.structured
        schema = dict(message.schema or {}) if is_sent else None
        is_home = self.url.startswith(f"{self.wire.home}/")
        filled = _fill(
            self.wire.body,
            {
                "model": self.model,
                "user": message.user,
                "system": message.system or None,
                "max_tokens": self.max_tokens,
                "max_tokens_at_home": self.max_tokens if is_home else None,
                "max_tokens_elsewhere": None if is_home else self.max_tokens,
                "temperature": self.temperature,
                "schema": schema,
                "schema_text": schema and json.dumps(schema, ensure_ascii=False),
                "schema_type": schema and "application/json",
            },
        )
        # None removes a field: some servers refuse even a null temperature.
        body = {**filled, **(added or {})}
        return {name: value for name, value in body.items() if value is not None}

    def _headers(self) -> Headers:
        """The headers, which carry the key."""
        headers: dict[str, str | Key] = {}
        if self.wire.provider == "anthropic":
            headers["anthropic-version"] = "2023-06-01"
        if self.key_variable is not None and not self._is_signed:
            name, scheme = self.wire.key_header
            headers[name] = key_from_environment(self.key_variable, scheme=scheme)
        return headers

    @property
    def _is_signed(self) -> bool:
        """Whether each request is signed; else a key in a header is enough."""
        return self.wire.provider == "bedrock" and self.key_variable == _SECRET_KEY

    def _signer(self) -> Signer | None:
        if not self._is_signed:
            return None
        credentials = load("boto3:Session")().get_credentials()
        if credentials is None:
            raise DataError(
                f"no key: Amazon Bedrock needs {_BEARER_TOKEN}, or credentials that boto3 finds, "
                f"e.g. AWS_ACCESS_KEY_ID and {_SECRET_KEY}"
            )
        return _BotoSigner(credentials, region_from_environment())

    def _read(self, answer: HttpResponse) -> Reply:
        document, wire = answer.json(), self.wire
        refusal = _value_at(document, wire.refusal)
        if not refusal and not isinstance(_value_at(document, wire.required), dict | list):
            raise answer.error(f"expected {wire.expected}")
        text = _join_texts(_value_at(document, wire.text))
        reason = str(_value_at(document, wire.stop)).lower()
        return Reply(
            text or (refusal if isinstance(refusal, str) else ""),
            _sum_tokens(document, wire.sent),
            _sum_tokens(document, wire.received),
            "refusal" if refusal else wire.endings.get(reason, "end"),
        )


def _connect(provider: str, model: str, options: ChatOptions, home: str | None = None) -> HttpChat:
    """A chat with a model of the provider, or of a server that speaks its protocol."""
    check_options(f"{provider}_chat", options, ChatOptions.__annotations__)
    wire = WIRES[provider]
    place = ProviderHome(home or wire.home, tuple(wire.url_variables), tuple(wire.key_variables))
    base, key_variable = place.locate(options.get("base_url"), options.get("api_key_env"))
    base = base.removesuffix(wire.base_endings)
    # Ids contain ":", and ARNs "/" too; Google's own lists name models with "models/".
    name = quote(str(model).removeprefix("models/"), safe="")
    places = ("base_url", "api_key_env")
    limits: Any = {name: value for name, value in options.items() if name not in places}
    return HttpChat(
        wire, model, wire.endpoint.format(base=base, model=name), key_variable, **limits
    )


# -- writing and reading documents, which may have any shape


def _fill(template: Any, values: Mapping[str, object]) -> Any:
    """A template with each ``$name`` filled in; None where nothing in it was filled in."""
    if isinstance(template, str) and template.startswith("$"):
        return values[template[1:]]
    if isinstance(template, list):
        parts = [part for item in template if (part := _fill(item, values)) is not None]
        return parts or None
    if isinstance(template, dict):
        filled = {name: _fill(part, values) for name, part in template.items()}
        kept = {name: part for name, part in filled.items() if part is not None}
        # What was a constant before says nothing without what it belongs to.
        return kept if any(kept[name] is not template[name] for name in kept) else None
    return template


def _value_at(document: object, path: str) -> Any:
    """The value at a path of names and positions; None if there is none."""
    for name in path.split("."):
        if isinstance(document, list):
            document = (
                document[int(name)] if name.isdecimal() and int(name) < len(document) else None
            )
        else:
            document = document.get(name) if isinstance(document, dict) else None
    return document


def _count_at(document: object, path: str) -> int | None:
    """A count of tokens or answers; None if there is none, or it is no whole number from 0 on."""
    value = _value_at(document, path)
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None


def _sum_tokens(document: object, paths: tuple[str, ...]) -> int | None:
    """The sum of several counts of tokens; None if the first of them is missing."""
    # A wrong count would be a wrong cost; an unknown one is reported as unknown.
    counts = [n for path in paths if (n := _count_at(document, path)) is not None]
    return sum(counts) if _value_at(document, paths[0]) is not None and counts else None


def _join_texts(content: object) -> str:
    """The text of an answer, or of its parts without the model's thoughts."""
    if isinstance(content, str):
        return content
    return "".join(
        str(part.get("text") or "")
        for part in (content if isinstance(content, list) else [])
        if isinstance(part, dict) and part.get("type") in (None, "text") and not part.get("thought")
    )


# -- OpenAI, and every server that speaks its protocol


def openai_chat(model: str, **options: Unpack[ChatOptions]) -> HttpChat:
    """A chat with a model behind a server that speaks OpenAI's protocol of chat completions.

    Parameters
    ----------
    model : str
        The server's name of the model.
    base_url : str, optional
        Usually up to "/v1": "http://localhost:8000/v1" for vLLM, "http://localhost:1234/v1" for
        LM Studio. If omitted, RAG_EVAL_OPENAI_BASE_URL or OPENAI_BASE_URL, else OpenAI's server.
    api_key_env : str, optional
        The environment variable that contains the key. If `base_url` is omitted too, the default is
        RAG_EVAL_OPENAI_API_KEY or OPENAI_API_KEY; a server of your own is sent a key only if you
        name its variable.
    **options
        ``max_tokens``, ``temperature``, ``structured``, ``extra_body``, ``timeout``,
        ``max_attempts`` and ``max_wait``, as described in `rageval_report.judges.ChatOptions`.

    Raises
    ------
    DataError
        If an argument has no valid value, or the key is missing.

    Examples
    --------
    >>> chat = openai_chat("llama3.1", base_url="http://localhost:11434/v1", temperature=0)
    >>> chat.url
    'http://localhost:11434/v1/chat/completions'
    """
    return _connect("openai", model, options)


def ollama_chat(model: str, **options: Unpack[ChatOptions]) -> HttpChat:
    """A chat with a model that Ollama runs, by OpenAI's protocol.

    Parameters
    ----------
    model : str
        For example "llama3.1:8b".
    base_url : str, optional
        If omitted, RAG_EVAL_OLLAMA_BASE_URL or OLLAMA_HOST, else this machine.
    api_key_env, **options
        As for `openai_chat`.

    Examples
    --------
    >>> ollama_chat("llama3.1:8b", base_url="http://gpu:11434").url
    'http://gpu:11434/v1/chat/completions'
    """
    variables = ("RAG_EVAL_OLLAMA_BASE_URL", "OLLAMA_HOST")
    named = options.get("base_url") or next(filter(None, map(os.environ.get, variables)), None)
    host = named or "http://localhost:11434"
    # OLLAMA_HOST is mostly a bare host and port, as Ollama itself takes it.
    url = (host if "://" in host else f"http://{host}").rstrip("/")
    options["base_url"] = url if "/" in url.partition("://")[2] else f"{url}/v1"
    return openai_chat(model, **options)


# -- Anthropic


def anthropic_chat(model: str, **options: Unpack[ChatOptions]) -> HttpChat:
    """A chat with a model of Anthropic.

    Parameters
    ----------
    model : str
        For example "claude-haiku-4-5".
    base_url : str, optional
        If omitted, RAG_EVAL_ANTHROPIC_BASE_URL or ANTHROPIC_BASE_URL, else Anthropic's server.
    api_key_env : str, optional
        The environment variable that contains the key. If `base_url` is omitted too, the default is
        RAG_EVAL_ANTHROPIC_API_KEY or ANTHROPIC_API_KEY.
    **options
        As for `openai_chat`.

    Examples
    --------
    >>> anthropic_chat("claude-haiku-4-5", base_url="http://localhost:8080").url
    'http://localhost:8080/v1/messages'
    """
    return _connect("anthropic", model, options)


# -- Gemini, by its own protocol; its endpoint for OpenAI's works too


def gemini_chat(model: str, **options: Unpack[ChatOptions]) -> HttpChat:
    """A chat with a model of Gemini, by its own protocol.

    Parameters
    ----------
    model : str
        For example "gemini-2.5-flash".
    base_url : str, optional
        With the version, e.g. "http://localhost:8080/v1beta". If omitted,
        RAG_EVAL_GEMINI_BASE_URL or GOOGLE_GEMINI_BASE_URL, else Google's server.
    api_key_env : str, optional
        The environment variable that contains the key. If `base_url` is omitted too, the default is
        RAG_EVAL_GEMINI_API_KEY, GEMINI_API_KEY or GOOGLE_API_KEY.
    **options
        As for `openai_chat`.

    Examples
    --------
    >>> gemini_chat("gemini-2.5-flash", base_url="http://localhost:8080/v1beta").url
    'http://localhost:8080/v1beta/models/gemini-2.5-flash:generateContent'
    """
    return _connect("gemini", model, options)


# -- Amazon Bedrock, by its protocol Converse

_BEARER_TOKEN = "AWS_BEARER_TOKEN_BEDROCK"  # noqa: S105
_SECRET_KEY = "AWS_SECRET_ACCESS_KEY"  # noqa: S105


def bedrock_chat(model: str, **options: Unpack[ChatOptions]) -> HttpChat:
    """A chat with a model of Amazon Bedrock, by the protocol Converse.

    Parameters
    ----------
    model : str
        The id of a model or of an inference profile, or its ARN, for example
        "us.anthropic.claude-haiku-4-5-20251001-v1:0".
    base_url : str, optional
        If omitted, RAG_EVAL_BEDROCK_BASE_URL or AWS_ENDPOINT_URL_BEDROCK_RUNTIME, else the server
        of the region in AWS_REGION or AWS_DEFAULT_REGION.
    api_key_env : str, optional
        The environment variable that contains an API key of Bedrock. If `base_url` is omitted too,
        the default is RAG_EVAL_BEDROCK_API_KEY or AWS_BEARER_TOKEN_BEDROCK; if neither is set,
        AWS_SECRET_ACCESS_KEY, with which boto3 signs the requests.
    **options
        As for `openai_chat`.

    Raises
    ------
    DataError
        If an argument has no valid value, or the key or the region is missing.
    MissingDependencyError
        If requests are to be signed and the extra ``bedrock`` is not installed.

    Notes
    -----
    With "AWS_SECRET_ACCESS_KEY" as `api_key_env` boto3 finds the credentials, in the environment,
    in profiles or in the role of the machine, and signs each attempt (Signature Version 4).

    Examples
    --------
    >>> chat = bedrock_chat("amazon.nova-lite-v1:0", base_url="http://localhost:8080")
    >>> chat.url
    'http://localhost:8080/model/amazon.nova-lite-v1%3A0/converse'
    """
    url = None
    variables = WIRES["bedrock"].url_variables
    if options.get("base_url") is None and not any(map(os.environ.get, variables)):
        region = region_from_environment()
        url = f"https://bedrock-runtime.{region}.amazonaws.com"
    return _connect("bedrock", model, options, url)


@dataclass(frozen=True)
class _BotoSigner:
    """Signs each attempt with what boto3 finds: Signature Version 4, whose time is that of now."""

    credentials: Any = field(repr=False)
    region: str

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys, which no error, log or answer may repeat."""
        frozen = self.credentials.get_frozen_credentials()
        return tuple(Key(value, scheme="") for value in frozen if value)

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes
    ) -> Headers:
        """The headers that sign a request now."""
        make_request = load("botocore.awsrequest:AWSRequest")
        request = make_request(method=method, url=url, headers=dict(headers), data=content)
        # Temporary credentials are renewed here, so that a long judging goes on.
        frozen = self.credentials.get_frozen_credentials()
        load("botocore.auth:SigV4Auth")(frozen, "bedrock", self.region).add_auth(request)
        return {name.lower(): text for name, text in request.headers.items() if name not in headers}

"""Chat models behind servers: the protocols of four providers. Needs the extra ``http``.

A protocol is a `WireProtocol`: where its server is, what a request contains, and where in an answer
the text, the tokens and the reason to stop are. Keys are read from the environment when a chat is
opened, and stored nowhere.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Unpack
from urllib.parse import quote

from rageval_report import http
from rageval_report._registry import load
from rageval_report.errors import DataError, JudgeError
from rageval_report.http.addresses import redact_url
from rageval_report.http.aws_regions import region_from_environment
from rageval_report.http.keys import Key, fill_request, key_from_environment, keys_named_in
from rageval_report.http.provider_homes import ProviderHome
from rageval_report.http.responses import Headers, HttpResponse, Signer, check_limits
from rageval_report.judges.chats import (
    MAX_TOKENS,
    Ask,
    AskInAttempts,
    ChatOptions,
    Ending,
    Message,
    Reply,
    RunAttempt,
    count_bytes,
)
from rageval_report.judges.options import check_count, check_options
from rageval_report.types import Sleep

JsonBody = dict[str, Any]


@dataclass(frozen=True)
class WireProtocol:
    """How the servers of a provider are spoken to; places in documents are paths with dots."""

    provider: str
    home: ProviderHome
    key_header: tuple[str, str]  # its name, and the word before the key
    endpoint: Callable[[str, str], str]  # from the address of the server and the model
    write: Callable[[HttpChat, Message], JsonBody]  # a field that is None is not sent
    # Where a request says how long an answer may be, and how many answers it wants.
    limits: tuple[str, ...]
    required: str  # the place without which a document is no answer, as `expected` shows it
    expected: str
    text: str  # a text, or a list of parts with texts
    stop: str
    # The provider's names of endings, in lower case; any other is that of a complete answer.
    endings: Mapping[str, Ending]
    sent: tuple[str, ...]  # places of counts of tokens, which are added up
    received: tuple[str, ...]
    refusal: str = ""  # anything there is a refusal; a text is the answer where there is no other
    counts: tuple[str, ...] = ()
    model: str = "model"


@dataclass(frozen=True)
class HttpChat:
    """A model behind a server."""

    wire: WireProtocol
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
        return {
            "provider": self.wire.provider,
            "url": redact_url(self.url),
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "structured": self.structured,
            "extra_body": self.extra_body,
        }

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
        with http.Client(
            timeout=self.timeout,
            max_attempts=self.max_attempts,
            max_wait=self.max_wait,
            sleep=self.sleep,
        ) as client:

            def ask(message: Message, run_attempt: RunAttempt) -> Reply:
                body = self._body(message, added)

                def send() -> Reply:
                    return self._read(
                        client.send(
                            "POST", url, json=body, headers=headers, keys=keys, signer=signer
                        )
                    )

                return client.retry(lambda: run_attempt(send))

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

    def __call__(self, text: str) -> str:
        """Ask one thing; `JudgeError` if the model refuses, or its answer was cut off."""
        with self.open() as ask:
            reply = ask(Message(text))
        if reply.ending == "refusal":
            raise JudgeError(f"{self.model} refused to answer")
        if reply.ending == "length":
            raise JudgeError(f"the answer of {self.model} was cut off at {self.max_tokens} tokens")
        return reply.text

    def schema_of(self, message: Message) -> JsonBody | None:
        """The schema that the server is asked to enforce, if any."""
        is_sent = message.schema is not None and self.structured
        return dict(message.schema or {}) if is_sent else None

    def _body(self, message: Message, added: Mapping[str, object] | None) -> JsonBody:
        body = {**self.wire.write(self, message), **(added or {})}
        # None removes a field: some servers refuse even a null temperature.
        return {name: value for name, value in body.items() if value is not None}

    def _headers(self) -> Headers:
        """The headers, which carry the key."""
        headers: dict[str, str | Key] = {}
        if self.wire.provider == "anthropic":
            version = os.environ.get("RAG_EVAL_ANTHROPIC_VERSION") or "2023-06-01"
            headers["anthropic-version"] = version
        if self.key_variable not in (None, _SECRET_KEY):
            name, scheme = self.wire.key_header
            headers[name] = key_from_environment(str(self.key_variable), scheme=scheme)
        return headers

    def _signer(self) -> Signer | None:
        """What signs each request; None if a key in a header is enough."""
        return _boto_signer() if self.key_variable == _SECRET_KEY else None

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
            str(_value_at(document, wire.model) or ""),
        )


def _connect(wire: WireProtocol, model: str, options: ChatOptions) -> HttpChat:
    """A chat with a model of the provider, or of a server that speaks its protocol."""
    check_options(f"{wire.provider}_chat", options, ChatOptions.__annotations__)
    base, key_variable = wire.home.locate(options.get("base_url"), options.get("api_key_env"))
    places = ("base_url", "api_key_env")
    limits: Any = {name: value for name, value in options.items() if name not in places}
    return HttpChat(wire, model, wire.endpoint(base, str(model)), key_variable, **limits)


# -- reading documents, which may have any shape


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
    parts = (
        [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    return "".join(
        str(part.get("text") or "")
        for part in parts
        if part.get("type") in (None, "text") and not part.get("thought")
    )


# -- OpenAI, and every server that speaks its protocol

_CHAT_PATH = "/chat/completions"


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
    return _connect(_OPENAI, model, options)


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


def _write_openai(chat: HttpChat, message: Message) -> JsonBody:
    system = [{"role": "system", "content": message.system}] if message.system else []
    # OpenAI's newer models know only one name of the limit, most other servers the other one.
    is_openai = chat.url == _OPENAI.home.url + _CHAT_PATH
    schema = chat.schema_of(message)
    # strict: without it the schema is only advice to the model.
    form = {"name": "verdict", "strict": True, "schema": schema}
    return {
        "model": chat.model,
        "messages": [*system, {"role": "user", "content": message.user}],
        "max_completion_tokens" if is_openai else "max_tokens": chat.max_tokens,
        "temperature": chat.temperature,
        "response_format": schema and {"type": "json_schema", "json_schema": form},
    }


_OPENAI = WireProtocol(
    "openai",
    ProviderHome(
        "https://api.openai.com/v1",
        ("RAG_EVAL_OPENAI_BASE_URL", "OPENAI_BASE_URL"),
        ("RAG_EVAL_OPENAI_API_KEY", "OPENAI_API_KEY"),
    ),
    key_header=("authorization", "Bearer"),
    # Some paste the full address of the endpoint, some its base.
    endpoint=lambda base, _: base.removesuffix(_CHAT_PATH) + _CHAT_PATH,
    write=_write_openai,
    limits=("max_tokens", "max_completion_tokens"),
    counts=("n", "best_of"),
    required="choices.0",
    expected='{"choices": [{"message": {"content": ...}}]}',
    text="choices.0.message.content",
    # With a schema OpenAI's models refuse in this field and leave the content empty.
    refusal="choices.0.message.refusal",
    stop="choices.0.finish_reason",
    endings={"length": "length", "content_filter": "refusal"},
    sent=("usage.prompt_tokens",),
    received=("usage.completion_tokens",),
)


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

    Notes
    -----
    The header ``anthropic-version`` is 2023-06-01, or the value of RAG_EVAL_ANTHROPIC_VERSION: the
    provider's own library sends 2026-10-21 since version 2, with the same body.

    Examples
    --------
    >>> anthropic_chat("claude-haiku-4-5", base_url="http://localhost:8080").url
    'http://localhost:8080/v1/messages'
    """
    return _connect(_ANTHROPIC, model, options)


def _write_anthropic(chat: HttpChat, message: Message) -> JsonBody:
    schema = chat.schema_of(message)
    return {
        "model": chat.model,
        "max_tokens": chat.max_tokens,  # this protocol requires a limit
        "messages": [{"role": "user", "content": message.user}],
        "system": message.system or None,
        "temperature": chat.temperature,
        "output_config": schema and {"format": {"type": "json_schema", "schema": schema}},
    }


_ANTHROPIC = WireProtocol(
    "anthropic",
    ProviderHome(
        "https://api.anthropic.com",
        ("RAG_EVAL_ANTHROPIC_BASE_URL", "ANTHROPIC_BASE_URL"),
        ("RAG_EVAL_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
    ),
    key_header=("x-api-key", ""),
    # Anthropic's own base URL ends before /v1, that of some proxies after it.
    endpoint=lambda base, _: base.removesuffix("/v1") + "/v1/messages",
    write=_write_anthropic,
    limits=("max_tokens",),
    required="content",
    expected='{"content": [{"type": "text", "text": ...}]}',
    text="content",
    stop="stop_reason",
    endings={
        **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
        "refusal": "refusal",
    },
    # input_tokens leaves out what came from the prompt cache, which is paid for too.
    sent=(
        *("usage.input_tokens", "usage.cache_creation_input_tokens"),
        "usage.cache_read_input_tokens",
    ),
    received=("usage.output_tokens",),
)


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
    return _connect(_GEMINI, model, options)


def _write_gemini(chat: HttpChat, message: Message) -> JsonBody:
    config: JsonBody = {"maxOutputTokens": chat.max_tokens}
    if chat.temperature is not None:
        config["temperature"] = chat.temperature
    if schema := chat.schema_of(message):
        config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
    return {
        "contents": [{"role": "user", "parts": [{"text": message.user}]}],
        "systemInstruction": {"parts": [{"text": message.system}]} if message.system else None,
        "generationConfig": config,
    }


_GEMINI = WireProtocol(
    "gemini",
    ProviderHome(
        "https://generativelanguage.googleapis.com/v1beta",
        ("RAG_EVAL_GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
        ("RAG_EVAL_GEMINI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    key_header=("x-goog-api-key", ""),
    # Google's own lists name models with this prefix.
    endpoint=lambda base, model: (
        f"{base}/models/{quote(model.removeprefix('models/'), safe='')}:generateContent"
    ),
    write=_write_gemini,
    limits=("generationConfig.maxOutputTokens",),
    counts=("generationConfig.candidateCount",),
    required="candidates.0",
    expected='{"candidates": [{"content": {"parts": [{"text": ...}]}}]}',
    text="candidates.0.content.parts",
    # A blocked prompt has no candidates at all: a refusal, not a broken answer.
    refusal="promptFeedback.blockReason",
    stop="candidates.0.finishReason",
    endings={
        **dict.fromkeys(("max_tokens", "continuation"), "length"),
        **dict.fromkeys(
            ("safety", "recitation", "language", "blocklist", "prohibited_content", "spii"),
            "refusal",
        ),
    },
    sent=("usageMetadata.promptTokenCount",),
    # Thoughts are billed as output, but counted apart.
    received=("usageMetadata.candidatesTokenCount", "usageMetadata.thoughtsTokenCount"),
    model="modelVersion",
)


# -- Amazon Bedrock, by its protocol Converse

_BEARER_TOKEN = "AWS_BEARER_TOKEN_BEDROCK"  # noqa: S105
_SECRET_KEY = "AWS_SECRET_ACCESS_KEY"  # noqa: S105
# The domains of regions outside the main one, by the beginning of the region's name.
_DOMAINS = {"cn-": "amazonaws.com.cn", "eusc-": "amazonaws.eu"}


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
    wire = _BEDROCK
    if options.get("base_url") is None and wire.home.routed_url() is None:
        region = region_from_environment()
        domains = (domain for start, domain in _DOMAINS.items() if region.startswith(start))
        url = f"https://bedrock-runtime.{region}.{next(domains, 'amazonaws.com')}"
        wire = replace(wire, home=replace(wire.home, url=url))
    return _connect(wire, model, options)


def _write_bedrock(chat: HttpChat, message: Message) -> JsonBody:
    config: JsonBody = {"maxTokens": chat.max_tokens}
    if chat.temperature is not None:
        config["temperature"] = chat.temperature
    schema = chat.schema_of(message)
    # The schema is a text here, not an object.
    form = {"name": "verdict", "schema": json.dumps(schema, ensure_ascii=False)}
    structure = {"type": "json_schema", "structure": {"jsonSchema": form}}
    return {
        "messages": [{"role": "user", "content": [{"text": message.user}]}],
        "system": [{"text": message.system}] if message.system else None,
        "inferenceConfig": config,
        "outputConfig": schema and {"textFormat": structure},
    }


_BEDROCK = WireProtocol(
    "bedrock",
    ProviderHome(
        "https://bedrock-runtime.us-east-1.amazonaws.com",  # of another region in `bedrock_chat`
        ("RAG_EVAL_BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
        ("RAG_EVAL_BEDROCK_API_KEY", _BEARER_TOKEN, _SECRET_KEY),
    ),
    key_header=("authorization", "Bearer"),
    # Ids contain ":", and ARNs "/" too.
    endpoint=lambda base, model: f"{base}/model/{quote(model, safe='')}/converse",
    write=_write_bedrock,
    limits=("inferenceConfig.maxTokens",),
    required="output.message.content",
    expected='{"output": {"message": {"content": [{"text": ...}]}}}',
    text="output.message.content",  # thoughts are parts without a text
    stop="stopReason",
    endings={
        **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
        **dict.fromkeys(("guardrail_intervened", "content_filtered"), "refusal"),
    },
    # inputTokens leaves out what came from the prompt cache, which is paid for too.
    sent=("usage.inputTokens", "usage.cacheReadInputTokens", "usage.cacheWriteInputTokens"),
    received=("usage.outputTokens",),
)
WIRES = (_OPENAI, _ANTHROPIC, _GEMINI, _BEDROCK)


def _boto_signer() -> Signer:
    credentials = load("boto3:Session")().get_credentials()
    if credentials is None:
        raise DataError(
            f"no key: Amazon Bedrock needs {_BEARER_TOKEN}, or credentials that boto3 finds, "
            f"e.g. AWS_ACCESS_KEY_ID and {_SECRET_KEY}"
        )
    return _BotoSigner(credentials, region_from_environment())


def _import_untyped(place: str) -> ModuleType:
    """A module of botocore, which has no types; see `load`."""
    module: ModuleType = load(place)
    return module


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
        request = _import_untyped("botocore.awsrequest").AWSRequest(
            method=method, url=url, headers=dict(headers), data=content
        )
        # Temporary credentials are renewed here, so that a long judging goes on.
        frozen = self.credentials.get_frozen_credentials()
        signature = _import_untyped("botocore.auth").SigV4Auth(frozen, "bedrock", self.region)
        signature.add_auth(request)
        return {name.lower(): text for name, text in request.headers.items() if name not in headers}

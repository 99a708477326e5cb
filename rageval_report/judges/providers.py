"""Chat models behind servers: the protocols of four providers. Needs the extra ``http``.

A protocol is a class that says where its server is, what a request contains and what an answer
means. Keys are read from the environment when a chat is opened, and stored nowhere.
"""

from __future__ import annotations

import json
import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, ClassVar, Self, Unpack
from urllib.parse import quote

from rageval_report import http
from rageval_report._registry import load
from rageval_report.errors import DataError, JudgeError
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
    Ending,
    JsonSchema,
    Message,
    Reply,
    RunAttempt,
    count_bytes,
)
from rageval_report.judges.options import check_options
from rageval_report.types import Sleep

JsonBody = dict[str, Any]


@dataclass(frozen=True)
class CheckedOptions:
    """The values of `ChatOptions`, checked and with defaults filled in."""

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
        if isinstance(self.max_tokens, bool) or not (
            isinstance(self.max_tokens, int) and self.max_tokens >= 1
        ):
            raise DataError(f"max_tokens must be an integer >= 1; got {self.max_tokens!r}")
        if self.temperature is not None and not 0.0 <= self.temperature <= 2.0:
            raise DataError(f"temperature must be from 0 to 2; got {self.temperature!r}")
        # A copy: it is part of the cache's key, so it must not change afterwards.
        body = dict(self.extra_body or {})
        object.__setattr__(self, "extra_body", body)
        if body.get("stream"):
            raise DataError("extra_body must not contain 'stream': an answer is read as a whole")
        check_limits(  # now, not at the first call
            timeout=self.timeout, max_attempts=self.max_attempts, max_wait=self.max_wait
        )


@dataclass(frozen=True)
class HttpChat(ABC):
    """A model behind a server; each provider's protocol is a subclass."""

    provider: ClassVar[str]
    home: ClassVar[ProviderHome]
    key_header: ClassVar[tuple[str, str]]  # its name, and the word before the key
    # Where a request says how long an answer may be, and how many answers it wants.
    limit_fields: ClassVar[tuple[str, ...]]
    count_fields: ClassVar[tuple[str, ...]] = ()
    # The provider's names of endings, in lower case; any other is that of a complete answer.
    endings: ClassVar[Mapping[str, Ending]]

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
            keys_named_in([self.url, self.options.extra_body])

    @classmethod
    def connect(cls, model: str, options: ChatOptions) -> Self:
        """A chat with a model of the provider, or of a server that speaks its protocol."""
        check_options(f"{cls.provider}_chat", options, ChatOptions.__annotations__)
        base, key_variable = cls.locate(options.get("base_url"), options.get("api_key_env"))
        places = ("base_url", "api_key_env")
        limits: Any = {name: value for name, value in options.items() if name not in places}
        return cls(model, cls.endpoint(base, model), key_variable, CheckedOptions(**limits))

    @classmethod
    def locate(cls, base_url: str | None, api_key_env: str | None) -> tuple[str, str | None]:
        """The address of the server, and the variable of the key that is sent there."""
        return cls.home.locate(base_url, api_key_env)

    @staticmethod
    @abstractmethod
    def endpoint(base: str, model: str) -> str:
        """The address for requests to a model, from the address of the server."""

    @abstractmethod
    def write(self, message: Message) -> JsonBody:
        """The body of a request; a field that is None is not sent."""

    @abstractmethod
    def read(self, answer: HttpResponse) -> Reply:
        """The reply in the server's answer."""

    def headers(self) -> Headers:
        """The headers, which carry the key."""
        if self.key_variable is None:
            return {}
        name, scheme = self.key_header
        return {name: key_from_environment(self.key_variable, scheme=scheme)}

    def signer(self) -> Signer | None:
        """What signs each request; None if a key in a header is enough."""
        return None

    @property
    def max_tokens(self) -> int:
        """The maximum length of an answer."""
        return self.options.max_tokens

    @property
    def settings(self) -> dict[str, object]:
        """Everything beside the model and the message that can change an answer; never a key."""
        names = ("max_tokens", "temperature", "structured", "extra_body")
        values = {name: getattr(self.options, name) for name in names}
        return {"provider": self.provider, "url": redact_url(self.url), **values}

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """A context that yields a function to ask the server, over connections that stay open."""
        with self.open_attempts() as ask:
            yield lambda message: ask(message, lambda send: send())

    @contextmanager
    def open_attempts(self) -> Iterator[AskInAttempts]:
        """The same; the function also takes what runs each attempt, as each may be billed."""
        url, added, keys = fill_request(self.url, self.options.extra_body)
        headers, signer, how = self.headers(), self.signer(), self.options
        with http.Client(
            timeout=how.timeout,
            max_attempts=how.max_attempts,
            max_wait=how.max_wait,
            sleep=how.sleep,
        ) as client:

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
        if message.schema is None or not self.options.structured:
            return None
        return dict(message.schema)

    def ending(self, reason: object) -> Ending:
        """How an answer ended, by the provider's reason."""
        return self.endings.get(str(reason).lower(), "end")

    def __call__(self, text: str) -> str:
        """Ask one thing; `JudgeError` if the model refuses, or its answer was cut off."""
        with self.open() as ask:
            reply = ask(Message(text))
        if reply.ending == "refusal":
            raise JudgeError(f"{self.model} refused to answer")
        if reply.ending == "length":
            raise JudgeError(f"the answer of {self.model} was cut off at {self.max_tokens} tokens")
        return reply.text


# -- reading documents, which may have any shape


def _whole_number(document: JsonBody, path: str) -> int | None:
    value: object = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _objects(document: object, name: str) -> list[JsonBody]:
    """The objects in the list under a name; empty if there is no list."""
    items = document.get(name) if isinstance(document, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _object(document: object, *names: str) -> JsonBody:
    """The object under one name in another; empty if there is none."""
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def _sum_tokens(usage: JsonBody, *names: str) -> int | None:
    """The sum of several counts of tokens; None if the first of them is missing."""
    counts = [usage.get(name) for name in names]
    # A wrong count would be a wrong cost; an unknown one is reported as unknown.
    valid = [n for n in counts if isinstance(n, int) and not isinstance(n, bool) and n >= 0]
    return sum(valid) if valid and counts[0] is not None else None


def _join_texts(parts: object) -> str:
    """The texts of the parts of an answer."""
    items = parts if isinstance(parts, list) else []
    return "".join(str(part.get("text", "")) for part in items if isinstance(part, dict))


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
    return _OpenAIChat.connect(model, options)


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


class _OpenAIChat(HttpChat):
    provider = "openai"
    key_header = ("authorization", "Bearer")
    limit_fields = ("max_tokens", "max_completion_tokens")
    count_fields = ("n", "best_of")
    endings: ClassVar[Mapping[str, Ending]] = {"length": "length", "content_filter": "refusal"}
    home = ProviderHome(
        "https://api.openai.com/v1",
        ("RAG_EVAL_OPENAI_BASE_URL", "OPENAI_BASE_URL"),
        ("RAG_EVAL_OPENAI_API_KEY", "OPENAI_API_KEY"),
    )

    @staticmethod
    def endpoint(base: str, model: str) -> str:  # noqa: ARG004
        # Some paste the full address of the endpoint, some its base.
        return base.removesuffix(_CHAT_PATH) + _CHAT_PATH

    def write(self, message: Message) -> JsonBody:
        system = [{"role": "system", "content": message.system}] if message.system else []
        # OpenAI's newer models know only one name of the limit, most other servers the other one.
        is_openai = self.url == self.home.url + _CHAT_PATH
        body: JsonBody = {
            "model": self.model,
            "messages": [*system, {"role": "user", "content": message.user}],
            "max_completion_tokens" if is_openai else "max_tokens": self.options.max_tokens,
            "temperature": self.options.temperature,
        }
        schema = self.schema_of(message)
        if schema is not None:
            # strict: without it the schema is only advice to the model.
            form = {"name": "verdict", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def read(self, answer: HttpResponse) -> Reply:
        document = answer.json()
        choices = _objects(document, "choices")
        if not choices:
            raise answer.error('expected {"choices": [{"message": {"content": ...}}]}')
        message = _object(choices[0], "message")
        content = message.get("content")  # some servers send it in parts
        # With a schema OpenAI's models refuse in this field and leave the content empty.
        refusal = message.get("refusal")
        usage = _object(document, "usage")
        return Reply(
            (content if isinstance(content, str) else _join_texts(content)) or str(refusal or ""),
            _sum_tokens(usage, "prompt_tokens"),
            _sum_tokens(usage, "completion_tokens"),
            "refusal" if refusal else self.ending(choices[0].get("finish_reason")),
            str(document.get("model") or ""),
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
    return _AnthropicChat.connect(model, options)


class _AnthropicChat(HttpChat):
    provider = "anthropic"
    key_header = ("x-api-key", "")
    limit_fields = ("max_tokens",)
    endings: ClassVar[Mapping[str, Ending]] = {
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "refusal",
    }
    home = ProviderHome(
        "https://api.anthropic.com",
        ("RAG_EVAL_ANTHROPIC_BASE_URL", "ANTHROPIC_BASE_URL"),
        ("RAG_EVAL_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
    )

    @staticmethod
    def endpoint(base: str, model: str) -> str:  # noqa: ARG004
        # Anthropic's own base URL ends before /v1, that of some proxies after it.
        return base.removesuffix("/v1") + "/v1/messages"

    def headers(self) -> Headers:
        version = os.environ.get("RAG_EVAL_ANTHROPIC_VERSION") or "2023-06-01"
        return {"anthropic-version": version, **super().headers()}

    def write(self, message: Message) -> JsonBody:
        body: JsonBody = {
            "model": self.model,
            "max_tokens": self.options.max_tokens,  # this protocol requires a limit
            "messages": [{"role": "user", "content": message.user}],
            "system": message.system or None,
            "temperature": self.options.temperature,
        }
        schema = self.schema_of(message)
        if schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return body

    def read(self, answer: HttpResponse) -> Reply:
        document = answer.json()
        if not isinstance(document, dict) or not isinstance(document.get("content"), list):
            raise answer.error('expected {"content": [{"type": "text", "text": ...}]}')
        # Parts of other types are the model's thoughts.
        parts = [part for part in _objects(document, "content") if part.get("type") == "text"]
        usage = _object(document, "usage")
        # input_tokens leaves out what came from the prompt cache, which is paid for too.
        sent = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        return Reply(
            _join_texts(parts),
            _sum_tokens(usage, *sent),
            _sum_tokens(usage, "output_tokens"),
            self.ending(document.get("stop_reason")),
            str(document.get("model") or ""),
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
    return _GeminiChat.connect(model, options)


class _GeminiChat(HttpChat):
    provider = "gemini"
    key_header = ("x-goog-api-key", "")
    limit_fields = ("generationConfig.maxOutputTokens",)
    count_fields = ("generationConfig.candidateCount",)
    _REFUSALS = "safety recitation language blocklist prohibited_content spii".split()
    endings: ClassVar[Mapping[str, Ending]] = {
        **dict.fromkeys(("max_tokens", "continuation"), "length"),
        **dict.fromkeys(_REFUSALS, "refusal"),
    }
    home = ProviderHome(
        "https://generativelanguage.googleapis.com/v1beta",
        ("RAG_EVAL_GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
        ("RAG_EVAL_GEMINI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
    )

    @staticmethod
    def endpoint(base: str, model: str) -> str:
        # Google's own lists name models with this prefix.
        name = quote(str(model).removeprefix("models/"), safe="")
        return f"{base}/models/{name}:generateContent"

    def write(self, message: Message) -> JsonBody:
        config: JsonBody = {"maxOutputTokens": self.options.max_tokens}
        if self.options.temperature is not None:
            config["temperature"] = self.options.temperature
        schema = self.schema_of(message)
        if schema is not None:
            config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
        system = {"parts": [{"text": message.system}]} if message.system else None
        contents = [{"role": "user", "parts": [{"text": message.user}]}]
        return {"contents": contents, "systemInstruction": system, "generationConfig": config}

    def read(self, answer: HttpResponse) -> Reply:
        document = answer.json()
        candidates = _objects(document, "candidates")
        # A blocked prompt has no candidates at all: a refusal, not a broken answer.
        is_blocked = bool(_object(document, "promptFeedback").get("blockReason"))
        if not candidates and not is_blocked:
            raise answer.error('expected {"candidates": [{"content": {"parts": [{"text": ...}]}}]}')
        first = candidates[0] if candidates else {}
        parts = _objects(_object(first, "content"), "parts")
        usage = _object(document, "usageMetadata")
        return Reply(
            _join_texts([part for part in parts if not part.get("thought")]),
            _sum_tokens(usage, "promptTokenCount"),
            # Thoughts are billed as output, but counted apart.
            _sum_tokens(usage, "candidatesTokenCount", "thoughtsTokenCount"),
            "refusal" if is_blocked else self.ending(first.get("finishReason")),
            str(document.get("modelVersion") or ""),
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
    return _BedrockChat.connect(model, options)


class _BedrockChat(HttpChat):
    provider = "bedrock"
    key_header = ("authorization", "Bearer")
    limit_fields = ("inferenceConfig.maxTokens",)
    endings: ClassVar[Mapping[str, Ending]] = {
        **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
        **dict.fromkeys(("guardrail_intervened", "content_filtered"), "refusal"),
    }
    home = ProviderHome(
        "https://bedrock-runtime.us-east-1.amazonaws.com",  # of another region in `locate`
        ("RAG_EVAL_BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
        ("RAG_EVAL_BEDROCK_API_KEY", _BEARER_TOKEN, _SECRET_KEY),
    )

    @classmethod
    def locate(cls, base_url: str | None, api_key_env: str | None) -> tuple[str, str | None]:
        if base_url is not None or cls.home.routed_url() is not None:
            return cls.home.locate(base_url, api_key_env)
        region = region_from_environment()
        domains = (domain for start, domain in _DOMAINS.items() if region.startswith(start))
        url = f"https://bedrock-runtime.{region}.{next(domains, 'amazonaws.com')}"
        return replace(cls.home, url=url).locate(base_url, api_key_env)

    @staticmethod
    def endpoint(base: str, model: str) -> str:
        # Ids contain ":", and ARNs "/" too.
        return f"{base}/model/{quote(str(model), safe='')}/converse"

    def headers(self) -> Headers:
        return {} if self.key_variable == _SECRET_KEY else super().headers()

    def signer(self) -> Signer | None:
        if self.key_variable != _SECRET_KEY:
            return None
        credentials = load("boto3:Session")().get_credentials()
        if credentials is None:
            raise DataError(
                f"no key: Amazon Bedrock needs {_BEARER_TOKEN}, or credentials that boto3 finds, "
                f"e.g. AWS_ACCESS_KEY_ID and {_SECRET_KEY}"
            )
        return _BotoSigner(credentials, region_from_environment())

    def write(self, message: Message) -> JsonBody:
        config: JsonBody = {"maxTokens": self.options.max_tokens}
        if self.options.temperature is not None:
            config["temperature"] = self.options.temperature
        body: JsonBody = {
            "messages": [{"role": "user", "content": [{"text": message.user}]}],
            "system": [{"text": message.system}] if message.system else None,
            "inferenceConfig": config,
        }
        schema = self.schema_of(message)
        if schema is not None:
            # The schema is a text here, not an object.
            text = json.dumps(schema, ensure_ascii=False)
            structure = {"jsonSchema": {"name": "verdict", "schema": text}}
            body["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": structure}}
        return body

    def read(self, answer: HttpResponse) -> Reply:
        document = answer.json()
        message = _object(document, "output", "message")
        if not isinstance(message.get("content"), list):
            raise answer.error('expected {"output": {"message": {"content": [{"text": ...}]}}}')
        usage = _object(document, "usage")
        # inputTokens leaves out what came from the prompt cache, which is paid for too.
        sent = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
        return Reply(
            _join_texts(message["content"]),  # thoughts are parts without a text
            _sum_tokens(usage, *sent),
            _sum_tokens(usage, "outputTokens"),
            self.ending(document.get("stopReason")),
        )


def _import_untyped(place: str) -> ModuleType:
    """A module of botocore, which has no types; see `load`."""
    module: ModuleType = load(place)
    return module


class _BotoSigner:
    """Signs each attempt with what boto3 finds: Signature Version 4, whose time is that of now."""

    def __init__(self, credentials: Any, region: str):
        self._credentials = credentials
        self._region = region

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys, which no error, log or answer may repeat."""
        frozen = self._credentials.get_frozen_credentials()
        return tuple(Key(value, scheme="") for value in frozen if value)

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes
    ) -> Headers:
        """The headers that sign a request now."""
        request = _import_untyped("botocore.awsrequest").AWSRequest(
            method=method, url=url, headers=dict(headers), data=content
        )
        # Temporary credentials are renewed here, so that a long judging goes on.
        frozen = self._credentials.get_frozen_credentials()
        signature = _import_untyped("botocore.auth").SigV4Auth(frozen, "bedrock", self._region)
        signature.add_auth(request)
        return {name.lower(): text for name, text in request.headers.items() if name not in headers}

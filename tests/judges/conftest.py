"""A server on this machine that speaks the protocols of four providers, and errs when told to.

It is as strict as theirs: a field that the provider does not publish is refused with 400. The
fields are those of the types in anthropic 2.12.0 (and temperature, which its older models take),
openai 3.54.0 and google-genai 3.4.0, and those of the operation Converse in botocore 1.44.5.
"""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from rageval_report.judges import CHATS

Document = dict[str, Any]
SECRET = "sk-very-secret-0123456789"

ANTHROPIC_VERSIONS = ("2023-06-01", "2026-10-21")  # as documented, and as the library sends
ANTHROPIC_FIELDS = set(
    "max_tokens messages model cache_control container diagnostics inference_geo metadata "
    "output_config service_tier speed stop_sequences stream system thinking tool_choice tools "
    "temperature top_k top_p".split()
)
OPENAI_FIELDS = set(
    "messages model frequency_penalty logit_bias logprobs max_completion_tokens max_tokens "
    "metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key "
    "reasoning_effort response_format safety_identifier seed service_tier stop store stream "
    "stream_options temperature tool_choice tools top_logprobs top_p user verbosity".split()
)
GEMINI_FIELDS = set(
    "contents systemInstruction generationConfig safetySettings tools toolConfig cachedContent "
    "labels".split()
)
GEMINI_CONFIG = set(
    "maxOutputTokens temperature responseMimeType responseJsonSchema responseSchema topP topK seed "
    "stopSequences candidateCount thinkingConfig".split()
)
BEDROCK_FIELDS = set(
    "messages system inferenceConfig toolConfig guardrailConfig additionalModelRequestFields "
    "promptVariables additionalModelResponseFieldPaths requestMetadata performanceConfig "
    "serviceTier outputConfig".split()
)
BEDROCK_CONFIG = set("maxTokens temperature topP stopSequences".split())


@dataclass
class Said:
    """What the model says, whatever the protocol."""

    text: str = ""
    ending: str = "end"  # end, length or refusal
    tokens: tuple[int, int] | None = (100, 20)


@dataclass
class Status:
    """An answer that is none."""

    status: int
    body: Document | bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


# -- the three protocols: where, what may be sent, what is answered


def strict_object(schema: Any) -> bool:
    """Whether every object of a schema is closed and all its properties are required."""
    if isinstance(schema, list):
        return all(map(strict_object, schema))
    if not isinstance(schema, dict):
        return True
    is_object = schema.get("type") == "object"
    closed = (
        schema.get("additionalProperties") is False
        and set(schema["required"]) == set(schema["properties"])
        if is_object
        else True
    )
    return closed and all(map(strict_object, schema.values()))


class Protocol:
    """What the servers of all providers have in common; a subclass says how they differ."""

    path: str
    key_header, scheme = "authorization", "Bearer "
    fields: set[str]
    config, config_fields = "", frozenset[str]()
    schema_at: tuple[Any, ...]  # the path of the schema in a request
    prompt_at: tuple[Any, ...] = ("messages", -1, "content")
    roles: tuple[list[str], ...] = (["user"],)

    @classmethod
    def fault(cls, asked: Document, headers: Any) -> str:
        unknown = (asked.keys() - cls.fields) | (
            asked.get(cls.config, {}).keys() - cls.config_fields if cls.config else set()
        )
        if unknown:
            return f"{min(unknown)}: Extra inputs are not permitted"
        if [one["role"] for one in asked.get("messages", [{"role": "user"}])] not in cls.roles:
            return "messages: roles"
        return cls.own_fault(asked, headers)

    @staticmethod
    def own_fault(asked: Document, headers: Any) -> str:
        return ""

    @classmethod
    def prompt(cls, asked: Document) -> str:
        return at(asked, cls.prompt_at)

    @classmethod
    def schema(cls, asked: Document) -> Any:
        return at(asked, cls.schema_at)

    @staticmethod
    def error(message: str) -> Document:
        return {"error": {"message": message, "type": "invalid_request_error", "code": None}}


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        if isinstance(document, dict) and key not in document:
            return None
        document = document[key]
    return document


class Anthropic(Protocol):
    path = "/v1/messages"
    key_header, scheme = "x-api-key", ""
    fields = ANTHROPIC_FIELDS
    schema_at = ("output_config", "format", "schema")

    @staticmethod
    def own_fault(asked: Document, headers: Any) -> str:
        if headers.get("anthropic-version") not in ANTHROPIC_VERSIONS:
            return "anthropic-version: header is required"
        if not isinstance(asked.get("max_tokens"), int) or not asked.get("model"):
            return "max_tokens: Field required"
        wanted = asked.get("output_config", {}).get("format")
        if wanted and (set(wanted) != {"type", "schema"} or wanted["type"] != "json_schema"):
            return "output_config.format: wrong"
        return "" if strict_object(wanted) else "output_config.format.schema: not closed"

    @staticmethod
    def document(asked: Document, said: Said) -> Document:
        stop = {"end": "end_turn", "length": "max_tokens", "refusal": "refusal"}[said.ending]
        texts = [
            {"type": "thinking", "thinking": "Hm, 2/10?", "signature": "x"},
            {"type": "text", "text": said.text, "citations": None},
        ]
        usage = said.tokens and {
            "input_tokens": said.tokens[0] - 10,
            "cache_creation_input_tokens": 4,
            "cache_read_input_tokens": 6,
            "output_tokens": said.tokens[1],
        }
        shown = {"model": asked["model"], "content": texts, "stop_reason": stop}
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            **shown,
            "usage": usage or {},
        }


class OpenAI(Protocol):
    path = "/v1/chat/completions"
    fields = OPENAI_FIELDS
    roles = (["user"], ["system", "user"])
    schema_at = ("response_format", "json_schema", "schema")

    @classmethod
    def own_fault(cls, asked: Document, headers: Any) -> str:
        wanted = asked.get("response_format")
        if wanted and (wanted["type"] != "json_schema" or not wanted["json_schema"]["strict"]):
            return "response_format: wrong"
        closed = strict_object(cls.schema(asked))
        return "" if closed else "response_format: 'additionalProperties' is required to be false"

    @staticmethod
    def document(asked: Document, said: Said) -> Document:
        reason = {"end": "stop", "length": "length", "refusal": "stop"}[said.ending]
        is_refusal = said.ending == "refusal"
        words = {"content": None if is_refusal else said.text}
        message = {"role": "assistant", **words, "refusal": said.text if is_refusal else None}
        usage = said.tokens and {
            "prompt_tokens": said.tokens[0],
            "completion_tokens": said.tokens[1],
            "total_tokens": sum(said.tokens),
        }
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        shown = {"created": 1, "model": asked["model"], "choices": [choice], "usage": usage}
        return {"id": "c-1", "object": "chat.completion", **shown}


class Gemini(Protocol):
    path = "/v1beta/models/toy:generateContent"
    key_header, scheme = "x-goog-api-key", ""
    fields, config, config_fields = GEMINI_FIELDS, "generationConfig", GEMINI_CONFIG
    schema_at = ("generationConfig", "responseJsonSchema")
    prompt_at = ("contents", -1, "parts", 0, "text")

    @classmethod
    def own_fault(cls, asked: Document, headers: Any) -> str:
        schema, how = cls.schema(asked), asked["generationConfig"]
        if schema is not None and how["responseMimeType"] != "application/json":
            return "responseMimeType: wrong"
        return "" if strict_object(schema) else "schema: not closed"

    @staticmethod
    def document(asked: Document, said: Said) -> Document:
        usage = said.tokens and {
            "promptTokenCount": said.tokens[0],
            "candidatesTokenCount": said.tokens[1] - 5,
            "thoughtsTokenCount": 5,
            "totalTokenCount": sum(said.tokens),
        }
        told: Document = {"modelVersion": "toy-001", "usageMetadata": usage or {}}
        if said.ending == "refusal":
            return {**told, "promptFeedback": {"blockReason": "SAFETY"}}
        parts = [{"text": "Hm, 2/10?", "thought": True}, {"text": said.text}]
        reason = {"end": "STOP", "length": "MAX_TOKENS"}[said.ending]
        content = {"role": "model", "parts": parts}
        return {**told, "candidates": [{"content": content, "finishReason": reason, "index": 0}]}

    @staticmethod
    def error(message: str) -> Document:
        return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}


class Bedrock(Protocol):
    path = "/model/toy/converse"
    fields, config, config_fields = BEDROCK_FIELDS, "inferenceConfig", BEDROCK_CONFIG
    schema_at = ("outputConfig", "textFormat", "structure", "jsonSchema", "schema")
    prompt_at = ("messages", -1, "content", 0, "text")

    @classmethod
    def own_fault(cls, asked: Document, headers: Any) -> str:
        schema = cls.schema(asked)
        if schema is None:
            return ""
        if asked["outputConfig"]["textFormat"]["type"] != "json_schema":
            return "outputConfig.textFormat: wrong"
        is_closed = isinstance(schema, str) and strict_object(json.loads(schema))
        return "" if is_closed else "schema: not closed"

    @staticmethod
    def document(asked: Document, said: Said) -> Document:
        stop = {"end": "end_turn", "length": "max_tokens", "refusal": "content_filtered"}
        thought = {"reasoningContent": {"reasoningText": {"text": "Hm, 2/10?", "signature": "x"}}}
        usage = said.tokens and {
            "inputTokens": said.tokens[0] - 10,
            "cacheReadInputTokens": 4,
            "cacheWriteInputTokens": 6,
            "outputTokens": said.tokens[1],
            "totalTokens": sum(said.tokens),
        }
        message = {"role": "assistant", "content": [thought, {"text": said.text}]}
        shown = {"stopReason": stop[said.ending], "usage": usage or {}}
        return {"output": {"message": message}, **shown, "metrics": {"latencyMs": 7}}

    @staticmethod
    def error(message: str) -> Document:
        return {"message": message}


PROTOCOLS = {"anthropic": Anthropic, "bedrock": Bedrock, "gemini": Gemini, "openai": OpenAI}


# -- the server


@dataclass
class Provider:
    """What it was asked, which key it wants, and what it does in turn, the last again and again."""

    port: int = 0
    asked: list[Document] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    wants: str | None = None
    keeps_schemas: bool = True
    under_way: int = 0
    most_under_way: int = 0
    script: deque[Any] = field(default_factory=deque)
    released: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def url(self, name: str) -> str:
        ending = {"anthropic": "", "bedrock": "", "gemini": "/v1beta"}.get(name, "/v1")
        return f"http://127.0.0.1:{self.port}{ending}"

    def will(self, *script: Any) -> None:
        """Say these: texts, `Said`, `Status`, or functions of the prompt that give one."""
        self.script = deque(script)

    def count(self, step: int) -> None:
        """How many calls are under way, now and at most."""
        with self.lock:
            self.under_way += step
            self.most_under_way = max(self.most_under_way, self.under_way)

    def next(self, prompt: str) -> Any:
        said = self.script.popleft() if len(self.script) > 1 else self.script[0]
        return said(prompt) if callable(said) else said


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        provider: Provider = self.server.provider
        [protocol] = [one for one in PROTOCOLS.values() if one.path == self.path] or [None]
        if protocol is None:
            return self.reply(Status(404, {"error": {"message": f"no route {self.path}"}}))
        provider.asked.append(asked)
        provider.prompts.append(protocol.prompt(asked))
        provider.arrived.release()
        key = self.headers.get(protocol.key_header)
        if provider.wants and key != protocol.scheme + provider.wants:
            return self.reply(Status(401, protocol.error(f"invalid key: {key}")))
        if fault := protocol.fault(asked, self.headers):
            return self.reply(Status(400, protocol.error(fault)))
        if protocol.schema(asked) is not None and not provider.keeps_schemas:
            return self.reply(Status(400, protocol.error("no such field: schema")))
        provider.count(1)
        try:
            said = provider.next(protocol.prompt(asked))
        finally:
            provider.count(-1)
        if isinstance(said, Status):
            return self.reply(said)
        whole = said if isinstance(said, Said) else Said(str(said))
        return self.reply(Status(200, protocol.document(asked, whole)))

    def reply(self, told: Status) -> None:
        content = told.body if isinstance(told.body, bytes) else json.dumps(told.body).encode()
        self.send_response(told.status)
        for name, value in {"content-length": str(len(content)), **told.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        """Tests print nothing."""


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """A client that hangs up is what some tests are about."""


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch, tmp_path):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("OPENAI", "ANTHROPIC", "BEDROCK", "GEMINI", "GOOGLE", "OLLAMA", "GOOGLE_GEMINI"):
        for front in ("", "RAG_EVAL_"):
            for ending in ("API_KEY", "BASE_URL", "MODEL", "HOST"):
                monkeypatch.delenv(f"{front}{name}_{ending}", raising=False)
    monkeypatch.delenv("RAG_EVAL_ANTHROPIC_VERSION", raising=False)
    monkeypatch.delenv("RAG_EVAL_PROVIDER", raising=False)
    monkeypatch.setenv("RAGEVAL_CACHE", str(tmp_path / "default.sqlite"))


@pytest.fixture
def provider() -> Iterator[Provider]:
    server = QuietServer(("127.0.0.1", 0), Handler)
    server.provider = Provider(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.provider
    server.provider.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def tls_url(tmp_path) -> Iterator[str]:
    """The same behind a certificate that nobody has signed but itself."""
    if not shutil.which("openssl"):
        pytest.skip("openssl, which makes a certificate for the test, is not installed")
    place = tmp_path / "own.pem"
    words = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
        f"/CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -keyout {place}.key -out {place}"
    )
    subprocess.run(words.split(), check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place, f"{place}.key")
    server = QuietServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.provider = Provider(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def chat_of(provider) -> Callable[..., Any]:
    """A chat of the server by a provider's protocol; a test that really waits is wrong."""

    def make(name: str = "openai", **options: Any):
        given = {"max_attempts": 1, "base_url": provider.url(name), **options}
        return CHATS[name]("toy", **given)

    return make


@pytest.fixture
def say() -> type[Said]:
    return Said


@pytest.fixture
def status() -> type[Status]:
    return Status


@pytest.fixture
def secret() -> str:
    return SECRET


@pytest.fixture
def rows() -> list[Document]:
    """Three records with all that rubrics look at."""
    return [
        {
            "query_id": f"q{i}",
            "question": f"What is {i}?",
            "answer": f"It is number {i}.",
            "reference": [f"Number {i}."],
            "contexts": [f"Number {i} is {i}.", "Bananas are yellow."],
        }
        for i in range(3)
    ]

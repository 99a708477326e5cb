"""A server on this machine that speaks the protocols of four providers, and errs when told to."""

from __future__ import annotations

import copy
import json
import os
import shutil
import ssl
import subprocess
import threading
import tomllib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rageval_report.judges import CHATS

Document = dict[str, Any]
SECRET = "sk-very-secret-0123456789"
PROTOCOLS = tomllib.loads(Path(__file__).with_name("protocols.toml").read_text(encoding="utf-8"))
ANTHROPIC_VERSIONS = ("2023-06-01", "2026-10-21")  # as documented, and as the library sends


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


def at(document: Any, path: str) -> Any:
    """The value at a path with dots; None if there is none."""
    for key in path.split("."):
        if isinstance(document, dict) and key not in document:
            return None
        document = document[int(key) if isinstance(document, list) else key]
    return document


def filled(template: Any, values: Document) -> Any:
    """A template with each $name filled in."""
    if isinstance(template, str):
        return values.get(template.removeprefix("$"), template) if "$" in template else template
    if isinstance(template, dict):
        return {name: filled(part, values) for name, part in template.items()}
    return [filled(part, values) for part in template] if isinstance(template, list) else template


def is_strict(schema: Any) -> bool:
    """Whether every object of a schema is closed and all its properties are required."""
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, dict):
        return True
    closed = schema.get("type") != "object" or (
        schema.get("additionalProperties") is False
        and set(schema["required"]) == set(schema["properties"])
    )
    return closed and all(map(is_strict, schema.values()))


def schema_of(protocol: Document, asked: Document) -> Any:
    schema = at(asked, protocol["schema"])
    return json.loads(schema) if isinstance(schema, str) else schema


def fault_of(name: str, asked: Document, headers: Any) -> str:
    """Why a server refuses a request; empty if it does not."""
    protocol = PROTOCOLS[name]
    inner = asked.get(protocol.get("config", ""), {}).keys() - set(
        protocol.get("inner", "").split()
    )
    if unknown := (asked.keys() - set(protocol["fields"].split())) | inner:
        return f"{min(unknown)}: Extra inputs are not permitted"
    roles = [one.get("role") for one in asked.get("messages", [{"role": "user"}])]
    if roles != ["user"] and not (name == "openai" and roles == ["system", "user"]):
        return "messages: roles"
    if name == "anthropic" and headers.get("anthropic-version") not in ANTHROPIC_VERSIONS:
        return "anthropic-version: header is required"
    if name == "anthropic" and not isinstance(asked.get("max_tokens"), int):
        return "max_tokens: Field required"
    schema = schema_of(protocol, asked)
    musts = protocol["must"].items() if schema is not None else ()
    wrong = [path for path, value in musts if at(asked, path) != value]
    return f"{wrong}: wrong" if wrong else "" if is_strict(schema) else "schema: not closed"


def answer_of(name: str, said: Said) -> Document:
    """The document in which a model says something."""
    protocol = PROTOCOLS[name]
    template = protocol.get("refused") if said.ending == "refusal" else None
    values = {"text": said.text, "stop": protocol["stops"][said.ending]}
    document = filled(copy.deepcopy(template or protocol["answer"]), values)
    for counts, n in zip(("tokens", "received"), said.tokens or (), strict=False):
        places = list(protocol[counts].items())
        for path, shift in places:
            usage, _, key = path.partition(".")
            # The first place counts what the others do not.
            document[usage][key] = n + shift if path == places[0][0] else shift
    return document


# -- the server


@dataclass
class Provider:
    """What it was asked, which key it wants, and what it does in turn, the last again and again."""

    port: int = 0
    asked: list[Document] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
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

    def say(self, prompt: str) -> Any:
        """What it says next, while it counts the calls that are under way."""
        with self.lock:
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            said = self.script.popleft() if len(self.script) > 1 else self.script[0]
            return said(prompt) if callable(said) else said
        finally:
            with self.lock:
                self.under_way -= 1


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.provider.requests.append((self.path, dict(self.headers.items()), body))
        told = self.told(json.loads(body))
        content = told.body if isinstance(told.body, bytes) else json.dumps(told.body).encode()
        self.send_response(told.status)
        for name, value in {"content-length": str(len(content)), **told.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def told(self, asked: Document) -> Status:
        provider: Provider = self.server.provider
        [name] = [name for name in PROTOCOLS if PROTOCOLS[name]["path"] == self.path] or [None]
        if name is None:
            return Status(404, {"error": {"message": f"no route {self.path}"}})
        protocol = PROTOCOLS[name]
        prompt = at(asked, protocol["prompt"])
        provider.asked.append(asked)
        provider.prompts.append(prompt)
        provider.arrived.release()
        key = self.headers.get(protocol["key_header"])
        if provider.wants and key != protocol["scheme"] + provider.wants:
            return Status(401, filled(protocol["error"], {"message": f"invalid key: {key}"}))
        fault = fault_of(name, asked, self.headers)
        if not fault and schema_of(protocol, asked) is not None and not provider.keeps_schemas:
            fault = "no such field: schema"
        if fault:
            return Status(400, filled(protocol["error"], {"message": fault}))
        said = provider.say(prompt)
        if isinstance(said, Status):
            return said
        return Status(200, answer_of(name, said if isinstance(said, Said) else Said(str(said))))

    def log_message(self, *args):
        """Tests print nothing."""


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """A client that hangs up is what some tests are about."""


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Provider]:
    server = QuietServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.provider = Provider(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.provider
    server.provider.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch, tmp_path):
    fronts = ("AWS_", "RAG_EVAL_", "OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "OLLAMA")
    for name in [name for name in os.environ if name.startswith(fronts)]:
        monkeypatch.delenv(name)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("RAGEVAL_CACHE", str(tmp_path / "default.sqlite"))


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as provider:
        yield provider


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
    with serving(context) as provider:
        yield f"https://127.0.0.1:{provider.port}/v1"


@pytest.fixture
def chat_of(provider) -> Callable[..., Any]:
    """A chat of the server by a provider's protocol; a test that really waits is wrong."""

    def make(name: str = "openai", **options: Any):
        given = {"max_attempts": 1, "base_url": provider.url(name), **options}
        return CHATS[name]("toy", **given)

    return make


@pytest.fixture
def fill() -> Callable[..., Any]:
    return filled


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

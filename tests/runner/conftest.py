"""Servers over real sockets that do what a test asks of them, and runs against them."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rageval_report.demo.server import ExtractiveRag, Faults, ReferenceServer, demo_documents
from rageval_report.http import Client
from rageval_report.runner.targets import HttpSettings, HttpTarget

RAG = ExtractiveRag(demo_documents())


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Start the reference server with faults by name and share; its address."""
    running = []

    def start(slow: float = 5.0, **shares: float) -> str:
        named = {name.lstrip("_").replace("_", "-"): share for name, share in shares.items()}
        server = ReferenceServer(RAG, faults=Faults(named), slow=slow).__enter__()
        running.append(server)
        return server.url

    yield start
    for server in running:
        server.__exit__(None, None, None)


@pytest.fixture
def target() -> Iterator[Callable[..., HttpTarget]]:
    """A target of a server's address; closed at the end."""
    made = []

    def make(url: str, **settings: Any) -> HttpTarget:
        made.append(HttpTarget(HttpSettings(url, **{"timeout": 10.0, **settings})))
        return made[-1]

    yield make
    for one in made:
        one.close()


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that does not trust a certificate hangs up."""


@dataclass
class Says:
    """A server that answers ``body`` with ``status`` and ``headers``, whatever it is asked."""

    server: ScriptedServer
    body: bytes = b'{"answer": "Yes."}'
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"{self.server.url}/ask"

    @property
    def requests(self) -> list[tuple[str, dict[str, str], bytes]]:
        return [(asked.path, asked.headers, asked.body) for asked in self.server.requests]


@pytest.fixture
def says(server) -> Says:
    said = Says(server)
    server.will(lambda handler: answer(said.status, said.body, **said.headers)(handler))
    return said


@pytest.fixture
def closed_port() -> str:
    """An address at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/answer"


@pytest.fixture
def waits() -> list[float]:
    """How long a run would have waited between attempts."""
    return []


def rows(n: int) -> list[dict[str, Any]]:
    return [{"query_id": f"q{i}", "question": f"What is the fee for {i}?"} for i in range(n)]


@pytest.fixture
def queries() -> Callable[[int], list[dict[str, Any]]]:
    """So many queries."""
    return rows


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def lines() -> Callable[[Path], list[dict[str, Any]]]:
    """The objects of a JSON Lines file."""
    return lines_of


# -- a server whose replies are scripted one by one

Reply = Callable[["Handler"], object]


class Handler(BaseHTTPRequestHandler):
    """Notes the request and does what comes next."""

    def do_POST(self):
        size = int(self.headers.get("content-length", 0))
        scripted = self.server.scripted
        scripted.requests.append(
            Request(self.command, self.path, dict(self.headers.items()), self.rfile.read(size))
        )
        replies = scripted.replies
        (replies.popleft() if len(replies) > 1 else replies[0])(self)

    do_GET = do_POST

    def log_message(self, *args):
        """Tests print nothing."""


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class ScriptedServer:
    """Its address, what it was asked, and what it will do: in turn, the last again and again."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    replies: deque[Reply] = field(default_factory=deque)
    released: threading.Event = field(default_factory=threading.Event)

    def will(self, *replies: Reply) -> None:
        self.replies = deque(replies)

    def hang(self, handler: Handler) -> None:
        """Say nothing until the test is over."""
        self.released.wait(10)

    def trickle(self, handler: Handler) -> None:
        """A byte now and then, never silent for long, never done."""
        handler.send_response(200)
        handler.send_header("content-length", "1000000")
        handler.end_headers()
        for _ in range(500):
            if self.released.wait(0.01):
                break
            handler.wfile.write(b" ")


def answer(status: int = 200, body: object = None, **headers: str) -> Reply:
    """An answer: bytes as they are, anything else as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    def reply(handler: Handler) -> None:
        handler.send_response_only(status)
        for name, value in {"content-length": str(len(content)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(content)

    return reply


def broken_off(handler: Handler) -> None:
    """Half of what was promised, then the end."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')
    handler.close_connection = True


def hung_up(handler: Handler) -> None:
    """The end before a word."""
    handler.close_connection = True


def serving(tls: ssl.SSLContext | None = None) -> Iterator[ScriptedServer]:
    server = Quiet(("127.0.0.1", 0), Handler)
    scheme = "http"
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    scripted = ScriptedServer(f"{scheme}://127.0.0.1:{server.server_port}")
    server.scripted = scripted
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield scripted
    scripted.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    yield from serving()


@pytest.fixture
def own_certificate(tmp_path) -> Path:
    """A certificate that nobody has signed but itself, with its key, fresh from openssl."""
    if not shutil.which("openssl"):
        pytest.skip("openssl, which makes a certificate for the test, is not installed")
    path = tmp_path / "own.pem"
    subprocess.run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out "
        "own.pem".split(),
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    path.write_bytes(path.read_bytes() + (tmp_path / "key.pem").read_bytes())
    return path


@pytest.fixture
def tls_server(own_certificate) -> Iterator[ScriptedServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own_certificate)
    yield from serving(context)


@pytest.fixture
def client(waits) -> Iterator[Client]:
    with Client(sleep=waits.append, timeout=10) as ours:
        yield ours


@pytest.fixture
def replies():
    """What a scripted server can do."""
    return Replies


class Replies:
    answer = staticmethod(answer)
    broken_off = staticmethod(broken_off)
    hung_up = staticmethod(hung_up)

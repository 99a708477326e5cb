"""Servers over real sockets that do what a test asks of them, and runs against them."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rageval_report.demo.server import ExtractiveRag, Faults, ReferenceServer, demo_documents
from rageval_report.runner import RunConfig
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


class Scripted(BaseHTTPRequestHandler):
    """Notes the request, answers what the server was told."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        size = int(self.headers.get("content-length", 0))
        self.server.requests.append((self.path, dict(self.headers.items()), self.rfile.read(size)))
        body = self.server.body
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *args):
        """Tests print nothing."""


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that does not trust a certificate hangs up."""


def scripted(tls: ssl.SSLContext | None = None) -> Iterator[Any]:
    server = Quiet(("127.0.0.1", 0), Scripted)
    server.requests, server.status, server.headers = [], 200, {}
    server.body = b'{"answer": "Yes."}'
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}/ask"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def says() -> Iterator[Any]:
    """A server that answers ``body`` with ``status`` and ``headers``."""
    yield from scripted()


@pytest.fixture
def untrusted(tmp_path) -> Iterator[Any]:
    """The same with a certificate that nobody has signed but itself."""
    if not shutil.which("openssl"):
        pytest.skip("openssl, which makes a certificate for the test, is not installed")
    subprocess.run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out "
        "own.pem".split(),
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "own.pem", tmp_path / "key.pem")
    yield from scripted(context)


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


@pytest.fixture
def as_lines() -> RunConfig:
    """A configuration that writes the records as JSON Lines."""
    return RunConfig(table="jsonl")

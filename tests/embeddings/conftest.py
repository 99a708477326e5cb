"""A server on this machine that speaks OpenAI's protocol of embeddings, and can be made to err."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Document = dict[str, Any]

WIDTH = 64


def vector(text: str, width: int = WIDTH) -> list[float]:
    """How often each word stands in the text, words told apart by a checksum."""
    counts = [0.0] * width
    for word in text.lower().split():
        counts[zlib.crc32(word.encode()) % width] += 1.0
    return counts


@dataclass
class EmbeddingModel:
    """Where it is, what it was asked, which key it wants, and what it does to its answers."""

    url: str = ""
    asked: list[Document] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    wants: str | None = None
    bend: Callable[[Document], Document | bytes] = lambda document: document

    def answer(self, asked: Document, authorization: str | None) -> tuple[int, Document | bytes]:
        self.asked.append(asked)
        self.keys.append(authorization)
        if self.wants and authorization != f"Bearer {self.wants}":
            return 401, {"error": {"message": f"Incorrect API key provided: {authorization}"}}
        if "" in asked["input"] or not asked["input"]:
            return 400, {"error": {"message": "'$.input' is invalid"}}
        return 200, self.bend(self.document(asked))

    def document(self, asked: Document) -> Document:
        vectors = [vector(text, asked.get("dimensions", WIDTH)) for text in asked["input"]]
        data = [
            {"object": "embedding", "index": place, "embedding": list(numbers)}
            for place, numbers in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return {"object": "list", "data": data, "model": asked["model"], "usage": usage}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status, document = 404, {"error": {"message": f"no route {self.path}"}}
        if self.path == "/v1/embeddings":
            status, document = self.server.model.answer(body, self.headers["authorization"])
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        """Tests print nothing."""


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def model() -> Iterator[EmbeddingModel]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.model = EmbeddingModel(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.model
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def expected():
    """The vector of a text, by the server's own arithmetic."""
    return vector

"""The reference server itself: three addresses over the standard library's HTTP server."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from rageval_report._version import __version__
from rageval_report.demo.server.faults import FAULTS, Faults
from rageval_report.demo.server.search import MODEL, ExtractiveRag
from rageval_report.errors import DataError

_JSON = "application/json"
_EVENTS = "text/event-stream"
_MOST_SENT = 1 << 20
_OK, _BAD, _NOT_FOUND, _TOO_LARGE = 200, 400, 404, 413
_PATHS = ("/answer", "/stream")


class _BadRequestError(Exception):
    """A request that cannot be answered: a status and why."""

    def __init__(self, status: int, why: str):
        self.status = status
        super().__init__(why)


@dataclass(frozen=True)
class _Asked:
    """A question that came in."""

    question: str
    k: int | None
    in_pieces: bool


class ReferenceServer:
    """A RAG server on this machine; use it in a ``with`` block, or call `serve`.

    ``POST /answer`` takes ``{"question": ..., "k": ...}`` and gives ``answer``, ``retrieved``,
    ``citations`` and ``model``; ``POST /stream`` gives the same as server-sent events, word by
    word; ``GET /health`` and ``GET /config`` say how it is.

    Parameters
    ----------
    rag : ExtractiveRag
        What answers.
    faults : Faults, optional
        What it does wrong on purpose; nothing where not given.
    host : str
        Where it listens; this machine only.
    port : int
        0 for any that is free.
    delay, slow : float
        Seconds that each answer takes longer, and one that meets the fault "slow".

    Raises
    ------
    DataError
        If it cannot listen there.

    Examples
    --------
    >>> from rageval_report.demo.server import demo_documents
    >>> with ReferenceServer(ExtractiveRag(demo_documents())) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self,
        rag: ExtractiveRag,
        *,
        faults: Faults | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        delay: float = 0.0,
        slow: float = 5.0,
    ):
        self.rag = rag
        self.faults = faults or Faults({})
        self.delay, self.slow = delay, slow
        self.is_over = threading.Event()
        try:
            self._http = _Listener((host, port), self)
        except (OSError, OverflowError) as exc:
            told = getattr(exc, "strerror", None) or str(exc)
            raise DataError(f"cannot listen on {host}:{port}: {told}") from exc
        self._thread = threading.Thread(target=self.serve, name="reference server", daemon=True)

    @property
    def url(self) -> str:
        """Its address, without a path."""
        host, port = self._http.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}"

    def serve(self) -> None:
        """Answer until `stop` is called."""
        self._http.serve_forever(poll_interval=0.02)

    def stop(self) -> None:
        """Stop answering; those who wait are hung up on."""
        self.is_over.set()
        self._http.shutdown()

    def close(self) -> None:
        """Free the port."""
        self._http.server_close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._thread.join()
        self.close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, address: tuple[str, int], reference: ReferenceServer):
        self.reference = reference
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is its own affair."""


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    protocol_version = "HTTP/1.1"
    server_version = f"rageval-report/{__version__}"
    disable_nagle_algorithm = True
    wbufsize = -1  # an answer goes out in one piece

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (as inherited)
        """Nothing is printed."""

    def parse_request(self) -> bool:
        """A server that was stopped answers nobody, on connections that are open neither."""
        if self.server.reference.is_over.is_set():
            self.hang_up()
            return False
        return super().parse_request()

    def do_GET(self) -> None:
        """Health and settings."""
        about = {"/health": {"status": "ok"}, "/config": self._config()}
        path = self.path.partition("?")[0]
        if path in about:
            self._send_json(_OK, about[path])
        else:
            self._send_json(_NOT_FOUND, {"error": f"nothing is at {path}; POST to {_PATHS[0]}"})

    def do_POST(self) -> None:
        """Answer, unless a fault comes between."""
        try:
            asked = self._asked()
        except _BadRequestError as exc:
            self.close_connection = True  # what was sent may not have been read
            self._send_json(exc.status, {"error": str(exc)})
            return
        reference = self.server.reference
        reference.is_over.wait(reference.delay)
        found = reference.rag.answer(asked.question, asked.k)
        body = json.dumps(found).encode()
        fault = reference.faults.draw(asked.question)
        if fault is not None and FAULTS[fault](self, body):
            return
        if asked.in_pieces:
            self._send_pieces(found)
        else:
            self.send(_OK, body, kind=_JSON)

    def _asked(self) -> _Asked:
        path = self.path.partition("?")[0]
        if path not in _PATHS:
            raise _BadRequestError(_NOT_FOUND, f"nothing is at {path}; POST to {_PATHS[0]}")
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > _MOST_SENT:
            raise _BadRequestError(_TOO_LARGE, f"expected at most {_MOST_SENT:,} bytes of JSON")
        try:
            document = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as exc:
            raise _BadRequestError(_BAD, "this is not JSON") from exc
        question = document.get("question") if isinstance(document, dict) else None
        if not isinstance(question, str):
            raise _BadRequestError(_BAD, 'expected {"question": "..."}')
        k = document.get("k")
        if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
            raise _BadRequestError(_BAD, f"k must be a whole number from 1; got {k!r}")
        return _Asked(question, k, path == _PATHS[1])

    def _config(self) -> dict[str, Any]:
        return {
            "llm_model": MODEL,
            "llm_provider": None,
            "embedding_model": None,
            "reranker_model": None,
            "retrieval_top_k": self.server.reference.rag.k,
            "hybrid_search_enabled": False,
            "contextual_retrieval_enabled": False,
        }

    def _send_json(self, status: int, document: object) -> None:
        self.send(status, json.dumps(document).encode(), kind=_JSON)

    def _send_pieces(self, found: dict[str, Any]) -> None:
        """The answer word by word, then all that belongs to it, then the end."""
        self.send_response(_OK)
        self.send_header("Content-Type", _EVENTS)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        words = found["answer"].split(" ")
        pieces = [word if n == 0 else f" {word}" for n, word in enumerate(words)]
        rest = {name: value for name, value in found.items() if name != "answer"}
        for data in (*({"delta": piece} for piece in pieces), rest):
            self._send_chunk(f"data: {json.dumps(data)}\n\n".encode())
        self._send_chunk(b"data: [DONE]\n\n")
        self._send_chunk(b"")

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    # -- what faults use

    def send(
        self, status: int, body: bytes, *, kind: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send an answer, whole."""
        self.send_response(status)
        told = {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}
        for name, value in told.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def break_off(self, body: bytes, *, promised: int) -> None:
        """Promise so many bytes, send these, and hang up."""
        self.send_response(_OK)
        self.send_header("Content-Type", _JSON)
        self.send_header("Content-Length", str(promised))
        self.end_headers()
        self.wfile.write(body)
        self.hang_up()

    def hang_up(self) -> None:
        """End the connection without a word more."""
        self.close_connection = True

    def pause(self) -> None:
        """Be slow, until the server stops."""
        self.server.reference.is_over.wait(self.server.reference.slow)

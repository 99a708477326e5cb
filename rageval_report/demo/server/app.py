"""The reference server: four addresses on the HTTP server of the standard library."""

from __future__ import annotations

import ipaddress
import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from rageval_report._version import __version__
from rageval_report.demo.server.rag import MODEL, ExtractiveRag
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.files.strict_json import load_json

_JSON = "application/json"
_EVENTS = "text/event-stream"
_MOST_BYTES = 1 << 20
_OK, _BAD, _NOT_FOUND, _TOO_LATE, _TOO_LARGE, _MISDIRECTED = 200, 400, 404, 408, 413, 421
_PATHS = ("/answer", "/stream")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_switch(value: object) -> bool:
    return isinstance(value, bool)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


# What a request may set, besides the question.
_SETTINGS: dict[str, tuple[Callable[[object], bool], str]] = {
    "k": (_is_count, "an integer >= 1"),
    "synonyms": (_is_switch, "true or false"),
    "rerank": (_is_switch, "true or false"),
    "least_covered": (_is_share, "a number from 0 to 1"),
}


# -- deliberate faults: what real servers do by accident, on demand and reproducibly

_HUGE = 10 << 20
# What is sent instead of the answer: status, body and kind.
_SENT_INSTEAD = {
    "500": (500, b'{"error": "an internal error, on demand"}', _JSON),
    "429": (429, b'{"error": "too many requests, on demand"}', _JSON),
    "html": (
        200,
        b"<!doctype html>\n<title>Bad gateway</title>\n<h1>Bad gateway</h1>\n",
        "text/html",
    ),
    "empty": (200, b"", _JSON),
    "huge": (200, b'{"answer": "' + b"x" * _HUGE + b'"}', _JSON),
    "refusal": (200, b'{"answer": "I cannot answer that."}', _JSON),
}
FAULTS = ("slow", *_SENT_INSTEAD, "garbage", "drop", "hang-up")


class Faults:
    """Choose the fault of each request, by its question and how often it was asked, not by chance.

    Parameters
    ----------
    shares : mapping of str to float
        The share of requests with each fault, by name in `FAULTS`; together at most 1.
    seed : int
        A different seed chooses different requests.

    Raises
    ------
    UnknownNameError
        If no fault has that name.
    DataError
        If a share is negative, or their sum is above 1.

    Examples
    --------
    >>> faults = Faults({"500": 0.5})
    >>> [faults.draw("Why?") for _ in range(8)] == [Faults({"500": 0.5}).draw("Why?")] * 8
    False
    >>> Faults({}).draw("Why?") is None
    True
    """

    def __init__(self, shares: Mapping[str, float], *, seed: int = 0):
        for name, share in shares.items():
            if name not in FAULTS:
                raise UnknownNameError("fault", name, FAULTS)
            if not (math.isfinite(share) and share >= 0):
                raise DataError(f"the share of {name} must be a number from 0 to 1; got {share!r}")
        if sum(shares.values()) > 1 + 1e-9:
            raise DataError("the shares of all faults must add up to at most 1")
        self._shares = dict(shares)
        self._seed = seed
        self._n_asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def draw(self, question: str) -> str | None:
        """The fault of this request, or None.

        Examples
        --------
        >>> Faults({"500": 1.0}).draw("Why?")
        '500'
        """
        if not self._shares:
            return None
        with self._lock:
            n = self._n_asked[question]
            self._n_asked[question] += 1
        # With the number of the attempt, so that a retry may succeed; not with the order of
        # requests, which threads change.
        key = f"{self._seed}|{n}|{question}".encode("utf-8", "surrogatepass")
        place = int.from_bytes(blake2b(key, digest_size=8).digest()) / 2**64
        for name, share in self._shares.items():
            if place < share:
                return name
            place -= share
        return None


# -- the server


class _BadRequestError(Exception):
    """A request that cannot be answered: the HTTP status and the reason."""

    def __init__(self, status: int, reason: str):
        self.status = status
        super().__init__(reason)


@dataclass(frozen=True)
class _AnswerRequest:
    """A question from a client."""

    question: str
    settings: dict[str, Any]
    is_stream: bool


class ReferenceServer:
    """A RAG server on this machine; use it in a ``with`` block, or call `serve`.

    ``POST /answer`` takes ``{"question": ..., "k": 3, "synonyms": false, "rerank": false,
    "least_covered": 0.5}``, all but the question optional, as `ExtractiveRag.answer` does. It
    returns ``answer``, ``retrieved``, ``citations`` and ``model``; ``POST /stream`` returns the
    same as server-sent events, word by word; ``GET /health`` and ``GET /config`` return its status
    and its configuration.

    Parameters
    ----------
    rag : ExtractiveRag
        Answers the questions.
    faults : Faults, optional
        The errors that it makes on purpose; none if omitted.
    host : str
        The address to listen on; by default only this machine can reach it.
    port : int
        The port; 0 for any free one.
    delay, slow : float
        Extra seconds for every answer, and for one with the fault "slow".
    names : collection of str
        Names by which clients may address it, besides ``localhost``, IP addresses and `host`: any
        other host is refused, because a page of the web may have made a browser come here.
    patience : float
        Seconds that a client may keep silent within a request, or between two.

    Raises
    ------
    DataError
        If it cannot listen on that address.

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
        # Not 0.0.0.0: a server for trying things out is not for the network.
        host: str = "127.0.0.1",
        # The system chooses a free one.
        port: int = 0,
        delay: float = 0.0,
        slow: float = 5.0,
        names: Collection[str] = (),
        patience: float = 60.0,
    ):
        self.rag = rag
        self.names = frozenset({host, *names})
        self.patience = patience
        self.faults = faults or Faults({})
        self.delay, self.slow = delay, slow
        self.is_over = threading.Event()
        try:
            self._http = _Listener((host, port), self)
        except (OSError, OverflowError) as exc:
            reason = getattr(exc, "strerror", None) or str(exc)
            raise DataError(f"cannot listen on {host}:{port}: {reason}") from exc
        self._thread = threading.Thread(target=self.serve, name="reference server", daemon=True)

    @property
    def url(self) -> str:
        """The address of the server, without a path."""
        host, port = self._http.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}"

    def serve(self) -> None:
        """Answer until `stop` is called."""
        self._http.serve_forever(poll_interval=0.02)

    def stop(self) -> None:
        """Stop answering, and close waiting connections."""
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
    # A client that holds its connection open must not keep the server from ending.
    daemon_threads = True
    block_on_close = False
    # The standard library's 5 refuses connections when many threads start at once.
    request_queue_size = 256

    def __init__(self, address: tuple[str, int], reference: ReferenceServer):
        self.reference = reference
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that hang up."""


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    # 1.0 would close the connection after each answer.
    protocol_version = "HTTP/1.1"
    server_version = f"rageval-report/{__version__}"
    # Otherwise small pieces of a stream wait up to 40 ms, and latencies measure that.
    disable_nagle_algorithm = True
    wbufsize = -1  # send an answer in one piece

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (as inherited)
        """Print nothing."""

    def setup(self) -> None:
        """Wait for a client as long as the server is patient."""
        super().setup()
        self.connection.settimeout(self.server.reference.patience)

    def parse_request(self) -> bool:
        """After `stop`, answer no further request, on open connections either."""
        if self.server.reference.is_over.is_set():
            self.close_connection = True
            return False
        return super().parse_request() and self._is_for_this_server()

    def _is_for_this_server(self) -> bool:
        """Whether the request names this server as its host; otherwise it is refused."""
        hosts = self.headers.get_all("host", [])
        if len(hosts) == 1 and is_own_host(hosts[0], self.server.reference.names):
            return True
        self.close_connection = True  # the body is not read
        if len(hosts) != 1:
            self._send_json(_BAD, {"error": "expected one header named Host"})
        else:
            reason = (
                f"this server has no name {hosts[0][:80]!r}; use its address, or allow the name"
            )
            self._send_json(_MISDIRECTED, {"error": reason})
        return False

    def do_GET(self) -> None:
        """Answer requests for health and configuration."""
        about = {"/health": {"status": "ok"}, "/config": self._config()}
        path = self.path.partition("?")[0]
        if path in about:
            self._send_json(_OK, about[path])
        else:
            self._send_json(
                _NOT_FOUND, {"error": f"there is nothing at {path}; POST to {_PATHS[0]}"}
            )

    def do_POST(self) -> None:
        """Answer a question, unless a fault replaces the answer."""
        try:
            request = self._parse_body()
        except _BadRequestError as exc:
            self.close_connection = True  # the body may not have been read
            self._send_json(exc.status, {"error": str(exc)})
            return
        reference = self.server.reference
        reference.is_over.wait(reference.delay)
        answer = reference.rag.answer(request.question, **request.settings)
        body = json.dumps(answer).encode()
        fault = reference.faults.draw(request.question)
        if fault == "slow":
            reference.is_over.wait(reference.slow)
        if fault not in (None, "slow"):
            self._fail(str(fault), body)
        elif request.is_stream:
            self._send_stream(answer)
        else:
            self._send(_OK, body, _JSON)

    def _fail(self, fault: str, body: bytes) -> None:
        """What happens instead of the answer."""
        if fault in _SENT_INSTEAD:
            self._send(*_SENT_INSTEAD[fault])
        elif fault == "garbage":
            self._send(_OK, body[: len(body) // 2] + b"\x00\xff}{", _JSON)
        else:
            self.close_connection = True
            if fault == "drop":  # more is announced than comes
                self._send(_OK, body[: len(body) // 2], _JSON, announced=len(body))

    def _parse_body(self) -> _AnswerRequest:
        path = self.path.partition("?")[0]
        if path not in _PATHS:
            raise _BadRequestError(_NOT_FOUND, f"there is nothing at {path}; POST to {_PATHS[0]}")
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > _MOST_BYTES:
            raise _BadRequestError(_TOO_LARGE, f"expected at most {_MOST_BYTES:,} bytes of JSON")
        try:
            document = load_json(self.rfile.read(int(length)))
        except TimeoutError as exc:
            reason = f"nothing came for {self.server.reference.patience:g} s"
            raise _BadRequestError(_TOO_LATE, reason) from exc
        except (ValueError, RecursionError) as exc:
            raise _BadRequestError(_BAD, "this is not JSON") from exc
        question = document.get("question") if isinstance(document, dict) else None
        if not isinstance(question, str):
            raise _BadRequestError(_BAD, 'expected {"question": "..."}')
        settings = {name: document[name] for name in _SETTINGS if document.get(name) is not None}
        for name, value in settings.items():
            is_valid, expected = _SETTINGS[name]
            if not is_valid(value):
                raise _BadRequestError(_BAD, f"{name} must be {expected}; got {value!r}")
        return _AnswerRequest(question, settings, path == _PATHS[1])

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
        self._send(status, json.dumps(document).encode(), _JSON)

    def _send_stream(self, answer: dict[str, Any]) -> None:
        """Send the answer word by word, then its other fields, then the end mark."""
        self.send_response(_OK)
        self.send_header("Content-Type", _EVENTS)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        words = answer["answer"].split(" ")
        pieces = [word if n == 0 else f" {word}" for n, word in enumerate(words)]
        rest = {name: value for name, value in answer.items() if name != "answer"}
        for data in (*({"delta": piece} for piece in pieces), rest):
            self._send_chunk(f"data: {json.dumps(data)}\n\n".encode())
        self._send_chunk(b"data: [DONE]\n\n")
        self._send_chunk(b"")

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _send(self, status: int, body: bytes, kind: str, announced: int | None = None) -> None:
        """Send a complete answer, or one that is shorter than announced."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if announced is None else announced))
        if status == 429:
            self.send_header("Retry-After", "0")
        if self.close_connection and announced is None:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


def is_own_host(value: str, names: Collection[str]) -> bool:
    """Whether the ``Host`` of a request is this machine.

    A page of the web can make a browser take the page's own name for the address of this machine,
    and then read what a server here answers. Such a request has the name of the page as its host,
    so that addresses, ``localhost`` and the server's own names are safe.

    Examples
    --------
    >>> is_own_host("localhost:8001", []), is_own_host("[::1]:8001", [])
    (True, True)
    >>> is_own_host("rag:8001", ["rag"]), is_own_host("evil.example:8001", ["rag"])
    (True, False)
    """
    host = value.strip().lower()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        ipaddress.ip_address(host)
    except ValueError:
        host = host.removesuffix(".")
        return host == "localhost" or host in {name.lower() for name in names}
    return True

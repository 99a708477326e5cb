"""A server that is never silent for long and never done is left when the time is up."""

from __future__ import annotations

import ast
import socket
import threading
from pathlib import Path

import httpcore2
import pytest

import rageval_report.http
from rageval_report.errors import DataError
from rageval_report.http import Client, RequestError
from rageval_report.http import TimedClient
from rageval_report.http import Proxies

TIMEOUT = 0.2
EVERY, DROPS = 0.02, 1500  # half a minute: it ends when the client leaves, however late that is


class Dripping:
    """A server by sockets alone: what it says comes a drop at a time, far beyond the time-out."""

    def __init__(self, first: bytes, drop: bytes, before: bytes = b""):
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(60)  # a test whose client never comes must end as well
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/answer"
        self._first, self._drop, self._before = first, drop, before
        self._stopped = threading.Event()
        self._was_left = False
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Dripping:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        self._listening.close()

    @property
    def was_left(self) -> bool:
        """Whether the client hung up before the last drop."""
        self._thread.join()
        return self._was_left

    def _serve(self) -> None:
        try:
            connection, _ = self._listening.accept()
        except TimeoutError:
            return
        with connection:
            if self._before:  # a whole answer, after which the connection is used again
                connection.recv(1 << 16)
                connection.sendall(self._before)
            connection.recv(1 << 16)
            try:
                connection.sendall(self._first)
                for _ in range(DROPS):
                    if self._stopped.wait(EVERY):
                        return
                    connection.sendall(self._drop)
            except OSError:
                self._was_left = True


@pytest.fixture
def dripping():
    running = []

    def start(*said: bytes) -> Dripping:
        running.append(Dripping(*said).__enter__())
        return running[-1]

    yield start
    for server in running:
        server.__exit__()


HEADERS = b"HTTP/1.1 200 OK\r\nx-slow: "
BODY = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n"
INTERIM = b"HTTP/1.1 102 Processing\r\n\r\n"
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


LATE = r"no complete answer within timeout=0\.2 seconds"


@pytest.fixture
def client():
    with Client(timeout=TIMEOUT, max_attempts=1) as ours:
        yield ours


@pytest.mark.parametrize(("first", "drop"), [(HEADERS, b"a"), (b"", INTERIM), (BODY, b" ")])
def test_a_server_that_drips_is_left_when_the_time_is_up(client, dripping, first, drop):
    server = dripping(first, drop)
    with pytest.raises(RequestError, match=LATE) as caught:
        client.request("GET", server.url)
    assert caught.value.failure == "timeout"
    assert server.was_left


def test_a_connection_that_is_used_again_has_a_deadline_too(dripping):
    server = dripping(HEADERS, b"a", WHOLE)
    with Client(
        timeout=2, max_attempts=1
    ) as client:  # the first answer is in time when all is slow
        assert client.request("GET", server.url).json() == {}
        with pytest.raises(RequestError, match=r"no complete answer within timeout=2 seconds"):
            client.request("GET", server.url)
        assert server.was_left


def test_a_request_that_is_timed_has_a_deadline_too(dripping):
    server = dripping(HEADERS, b"a")
    with TimedClient(timeout=TIMEOUT) as client, pytest.raises(RequestError, match=LATE):
        client.ask("GET", server.url)
    assert server.was_left


def test_a_server_behind_a_proxy_has_a_deadline_too(dripping, monkeypatch):
    server = dripping(HEADERS, b"a")
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/answer"))
    asking = Client(timeout=TIMEOUT, max_attempts=1)  # it looks for a proxy now
    with asking as client, pytest.raises(RequestError, match=LATE):
        client.request("GET", "http://some.example/answer")
    assert server.was_left


class Sipping:
    """A server that reads a drop of the request now and then."""

    def __init__(self):
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(60)  # a test whose client never comes must end as well
        # Small, so that what the client has sent is what the server has read, more or less.
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/answer"
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        connection, _ = self._listening.accept()
        with connection:
            while not self._stopped.wait(EVERY):
                try:
                    if not connection.recv(1000):
                        return
                except OSError:
                    return

    def close(self):
        self._stopped.set()
        self._thread.join()
        self._listening.close()


def test_a_server_that_reads_slowly_is_left_when_the_time_is_up(client):
    server = Sipping()
    try:
        with pytest.raises(RequestError, match=LATE):  # 30 MB at 50,000 bytes a second
            client.request("POST", server.url, json="x" * 30_000_000)
    finally:
        server.close()


def test_a_name_that_is_looked_up_for_too_long_is_left_when_the_time_is_up(client, monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait(60) and [])
    try:
        with pytest.raises(RequestError, match=LATE):
            client.request("GET", "http://slow.example/answer")
    finally:
        released.set()


def test_every_address_of_a_name_is_tried(client, dripping, monkeypatch):
    server = dripping(WHOLE, b"")
    port = int(server.url.rpartition(":")[2].partition("/")[0])
    look_up = socket.getaddrinfo

    def two_addresses(host, *arguments, **named):
        if host != "two.example":
            return look_up(host, *arguments, **named)
        # The whole network 127.0.0.0/8 is this machine; at the first address nobody listens.
        return [(0, 0, 0, "", (address, 0)) for address in ("127.0.0.254", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", two_addresses)
    assert client.request("GET", f"http://two.example:{port}/answer").json() == {}


def test_a_request_that_passes_by_the_deadline_is_an_error(client, dripping, monkeypatch):
    """As if the library no longer used the network backend that it is given."""
    server = dripping(WHOLE, b"")
    monkeypatch.setattr(
        "rageval_report.http.DeadlineNetwork.connect_tcp",
        lambda _, *arguments, **named: httpcore2.SyncBackend().connect_tcp(*arguments, **named),
    )
    with pytest.raises(RuntimeError, match="sent a request without a deadline, through SyncStream"):
        client.request("GET", server.url)


def private_attributes(tree: ast.AST) -> list[str]:
    """The attributes with an underscore in front that are not those of the object itself."""
    return [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and ast.unparse(node.value) not in ("self", "super()")
    ]


def test_the_http_library_is_used_by_its_public_names():
    for path in Path(rageval_report.http.__file__).parent.glob("*.py"):
        assert private_attributes(ast.parse(path.read_text("utf-8"))) == [], path.name
    assert private_attributes(ast.parse("client._transport._pool.x, self._own")) == [
        "client._transport._pool",
        "client._transport",
    ]


# -- proxies


@pytest.mark.parametrize(
    ("exceptions", "host", "is_direct"),
    [
        ("", "example.com", False),
        ("*", "example.com", True),
        ("example.com", "example.com", True),
        ("example.com", "WWW.Example.com", True),
        ("example.com", "notexample.com", False),
        (".example.com", "www.example.com", True),
        ("*.example.com", "www.example.com", True),
        ("localhost, example.com:8000", "example.com", True),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("::1", "[::1]", True),
        ("http://example.com", "example.com", True),
    ],
)
def test_hosts_without_a_proxy_are_asked_directly(monkeypatch, exceptions, host, is_direct):
    monkeypatch.setenv("http_proxy", "proxy:3128")
    monkeypatch.setenv("no_proxy", exceptions)
    proxy = Proxies.of_environment().proxy_for("http", host)
    assert proxy == (None if is_direct else "http://proxy:3128")


def test_a_proxy_serves_its_own_scheme_or_all(monkeypatch):
    monkeypatch.setenv("https_proxy", "http://one:1")
    assert Proxies.of_environment().proxy_for("http", "example.com") is None
    monkeypatch.setenv("all_proxy", "http://two:2")
    proxies = Proxies.of_environment()
    assert proxies.proxy_for("http", "example.com") == "http://two:2"
    assert proxies.proxy_for("https", "example.com") == "http://one:1"


def test_a_proxy_that_is_no_address_is_refused_before_anything_is_asked(monkeypatch):
    monkeypatch.setenv("http_proxy", "gopher://me:secret@proxy:70")
    with pytest.raises(DataError, match="got 'gopher://proxy:70'"):
        Client()

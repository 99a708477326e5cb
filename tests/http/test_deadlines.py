"""A server that is never silent for long and never done is left when the time is up."""

from __future__ import annotations

import socket
import threading

import pytest

from rageval_report.http import Client, RequestError
from rageval_report.http.streams import TimedClient

TIMEOUT = 0.2
EVERY, DROPS = 0.02, 50  # a second, five times as long as the client waits


class Dripping:
    """A server by sockets alone: what it says comes a drop at a time, far beyond the time-out."""

    def __init__(self, first: bytes, drop: bytes, before: bytes = b""):
        self._listening = socket.create_server(("127.0.0.1", 0))
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
        connection, _ = self._listening.accept()
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


def test_a_connection_that_is_used_again_has_a_deadline_too(client, dripping):
    server = dripping(HEADERS, b"a", WHOLE)
    assert client.request("GET", server.url).json() == {}
    with pytest.raises(RequestError, match=LATE):
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

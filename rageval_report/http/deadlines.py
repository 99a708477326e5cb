"""The end of a request's time, kept wherever its bytes are sent and read.

The HTTP library limits the silence between two bytes. A server that sends one now and then, in its
headers or in what follows them, is never silent for long and may take for ever.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore2
import httpx2

_PIECE = 1 << 16  # bytes after which a server that reads slowly is looked at
_USUAL = httpx2.Limits(max_connections=100, max_keepalive_connections=20)


class Deadline:
    """Until when the request of this thread may go on; each thread has its own.

    Examples
    --------
    >>> deadline = Deadline()
    >>> deadline.left(5.0)
    5.0
    >>> with deadline.within(1.0):
    ...     deadline.left(5.0) <= 1.0
    True
    """

    def __init__(self) -> None:
        self._here = threading.local()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Give what this thread asks in the block so many seconds."""
        self._here.end = time.monotonic() + seconds
        try:
            yield
        finally:
            self._here.end = None

    def left(self, timeout: float | None) -> float | None:
        """How long the next step may wait; 0 where the time is up."""
        end: float | None = getattr(self._here, "end", None)
        if end is None:
            return timeout
        left = max(0.0, end - time.monotonic())
        return left if timeout is None else min(left, timeout)


def client_within(
    deadline: Deadline, *, timeout: float, limits: httpx2.Limits = _USUAL
) -> httpx2.Client:
    """A client that leaves a server alone once the deadline of the thread that asks is over.

    Parameters
    ----------
    deadline : Deadline
        Set for each request.
    timeout : float
        Seconds that a connection may take, or a server be silent.
    limits : httpx2.Limits, optional
        How many connections there are.
    """
    client = httpx2.Client(timeout=timeout, follow_redirects=False, limits=limits)
    # The HTTP library has no argument for the network below it, and its one way to hand in another
    # transport turns the proxies of the environment off.
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx2.HTTPTransport):
            pool = transport._pool
            pool._network_backend = _Network(pool._network_backend, deadline)
    return client


class _Network(httpcore2.NetworkBackend):
    """A network whose connections know of a deadline."""

    def __init__(self, network: httpcore2.NetworkBackend, deadline: Deadline):
        self._network, self._deadline = network, deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        timeout = _some(self._deadline.left(timeout), httpcore2.ConnectTimeout)
        stream = self._network.connect_tcp(host, port, timeout, local_address, socket_options)
        return _Stream(stream, self._deadline)


class _Stream(httpcore2.NetworkStream):
    """A connection that is not waited for beyond a deadline."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline):
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = _some(self._deadline.left(timeout), httpcore2.ReadTimeout)
        return self._stream.read(max_bytes, left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for place in range(0, len(buffer), _PIECE):
            left = _some(self._deadline.left(timeout), httpcore2.WriteTimeout)
            self._stream.write(buffer[place : place + _PIECE], left)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = _some(self._deadline.left(timeout), httpcore2.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _some(left: float | None, late: type[Exception]) -> float | None:
    """The time, if any is left: a socket takes 0 for "do not wait", not for "too late"."""
    if left is not None and left <= 0:
        raise late("the time is up")
    return left

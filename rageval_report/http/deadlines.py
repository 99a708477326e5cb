"""A deadline for a whole request, checked wherever its bytes are sent and read.

The timeout of the HTTP library limits only the pause between two bytes. A server that sends a byte
now and then, in its headers or its body, never pauses for long and may take for ever.
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

_PIECE = 1 << 16  # bytes; the deadline is checked after each, in case the server reads slowly
# The library's own defaults, which an explicit Limits() would remove.
_DEFAULT_LIMITS = httpx2.Limits(max_connections=100, max_keepalive_connections=20)


class Deadline:
    """The time by which the request of this thread must end; each thread has its own.

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
        # Threads share a client, and each of their requests has a time of its own.
        self._here = threading.local()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limit the request that this thread makes in the block to so many seconds."""
        self._here.end = time.monotonic() + seconds
        try:
            yield
        finally:
            self._here.end = None

    def left(self, timeout: float | None) -> float | None:
        """How long the next step may wait; 0 if the time is up."""
        end: float | None = getattr(self._here, "end", None)
        if end is None:
            return timeout
        left = max(0.0, end - time.monotonic())
        return left if timeout is None else min(left, timeout)


def make_client(
    deadline: Deadline, *, timeout: float, limits: httpx2.Limits = _DEFAULT_LIMITS
) -> httpx2.Client:
    """A client whose requests end when the deadline of the calling thread is over.

    Parameters
    ----------
    deadline : Deadline
        The deadline, set for each request.
    timeout : float
        Seconds for opening a connection, and for each pause between bytes.
    limits : httpx2.Limits, optional
        How many connections are kept.
    """
    client = httpx2.Client(timeout=timeout, follow_redirects=False, limits=limits)
    # The HTTP library has no argument for its network backend, and passing a transport of one's own
    # would switch off the proxies of the environment.
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx2.HTTPTransport):
            pool = transport._pool
            pool._network_backend = _DeadlineNetwork(pool._network_backend, deadline)
    return client


class _DeadlineNetwork(httpcore2.NetworkBackend):
    """A network backend whose connections observe a deadline."""

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
        timeout = _require_time(self._deadline.left(timeout), httpcore2.ConnectTimeout)
        stream = self._network.connect_tcp(host, port, timeout, local_address, socket_options)
        return _DeadlineStream(stream, self._deadline)


class _DeadlineStream(httpcore2.NetworkStream):
    """A connection that is not waited for beyond a deadline."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline):
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = _require_time(self._deadline.left(timeout), httpcore2.ReadTimeout)
        return self._stream.read(max_bytes, left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for place in range(0, len(buffer), _PIECE):
            left = _require_time(self._deadline.left(timeout), httpcore2.WriteTimeout)
            self._stream.write(buffer[place : place + _PIECE], left)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = _require_time(self._deadline.left(timeout), httpcore2.ConnectTimeout)
        return _DeadlineStream(
            self._stream.start_tls(ssl_context, server_hostname, left), self._deadline
        )

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def _require_time(left: float | None, error: type[Exception]) -> float | None:
    """The time that is left, if any: a socket takes 0 for "do not wait", not for "too late"."""
    if left is not None and left <= 0:
        raise error("the time is up")
    return left

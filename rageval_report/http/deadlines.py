"""A deadline for a whole request, checked wherever its bytes are sent and read.

The timeout of the HTTP library limits only the pause between two bytes. A server that sends a byte
now and then, in its headers or its body, never pauses for long and may take for ever.
"""

from __future__ import annotations

import ipaddress
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore2

# Bytes; the deadline is checked after each piece. A socket that can be written to takes so many at
# once, so that a server that reads slowly cannot start the time-out anew within a piece.
_PIECE = 1 << 12


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


class DeadlineNetwork(httpcore2.NetworkBackend):
    """A network backend whose connections observe a deadline.

    Parameters
    ----------
    deadline : Deadline
        The deadline, set for each request.
    """

    def __init__(self, deadline: Deadline):
        self._network, self._deadline = httpcore2.SyncBackend(), deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> DeadlineStream:
        """Connect to the first address of the host that answers in time."""
        addresses = _resolve(host, port, self._left(timeout))
        for n, address in enumerate(addresses):
            left = self._left(timeout)
            # An address that does not answer must leave some time for the next one.
            share = left if left is None else left / (len(addresses) - n)
            try:
                stream = self._network.connect_tcp(
                    address, port, share, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if n + 1 == len(addresses):
                    raise
            else:
                return DeadlineStream(stream, self._deadline)
        raise httpcore2.ConnectError(f"the name {host} has no address")

    def _left(self, timeout: float | None) -> float | None:
        return _require_time(self._deadline.left(timeout), httpcore2.ConnectTimeout)


def _resolve(host: str, port: int, seconds: float | None) -> list[str]:
    """The addresses of a host, in the order of the operating system.

    The operating system can take minutes for a name, and its function cannot be interrupted: a
    thread waits for it, and is left behind when the time is up.
    """
    if _is_address(host):
        return [host]
    outcomes: queue.SimpleQueue[list[str] | OSError | UnicodeError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as exc:
            outcomes.put(exc)
        else:
            outcomes.put(list(dict.fromkeys(str(address[0]) for *_, address in entries)))

    threading.Thread(target=look_up, name=f"looking up {host}", daemon=True).start()
    try:
        outcome = outcomes.get(timeout=seconds)
    except queue.Empty:
        raise httpcore2.ConnectTimeout("the name of the host was not resolved in time") from None
    if isinstance(outcome, UnicodeError):  # not a name that anything can have
        raise outcome
    if isinstance(outcome, OSError):
        raise httpcore2.ConnectError(str(outcome)) from outcome
    return outcome


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class DeadlineStream(httpcore2.NetworkStream):
    """A connection that is not waited for beyond a deadline.

    Parameters
    ----------
    stream : httpcore2.NetworkStream
        The connection itself.
    deadline : Deadline
        The deadline, set for each request.
    """

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline):
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what has come."""
        left = _require_time(self._deadline.left(timeout), httpcore2.ReadTimeout)
        return self._stream.read(max_bytes, left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of it."""
        for place in range(0, len(buffer), _PIECE):
            left = _require_time(self._deadline.left(timeout), httpcore2.WriteTimeout)
            self._stream.write(buffer[place : place + _PIECE], left)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> DeadlineStream:
        """Encrypt the connection."""
        left = _require_time(self._deadline.left(timeout), httpcore2.ConnectTimeout)
        return DeadlineStream(
            self._stream.start_tls(ssl_context, server_hostname, left), self._deadline
        )

    def get_extra_info(self, info: str) -> object:
        """What the connection knows about itself."""
        return self._stream.get_extra_info(info)


def _require_time(left: float | None, error: type[Exception]) -> float | None:
    """The time that is left, if any: a socket takes 0 for "do not wait", not for "too late"."""
    if left is not None and left <= 0:
        raise error("the time is up")
    return left

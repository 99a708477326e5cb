"""What the reference server demands of a request: that it comes in time, and means this machine."""

from __future__ import annotations

import io
import ipaddress
import math
import socket
import time
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class RequestReader(io.RawIOBase):
    """Reads requests from a connection; each must be complete so many seconds after its first byte.

    The time-out of a socket would start anew with each byte, so that a client that sends one now
    and then would keep its thread for ever.

    Parameters
    ----------
    connection : socket
        The connection to a client.
    patience : float
        Seconds for a whole request, and for the client to take an answer.
    idle : float
        Seconds that a connection may be open between two requests.
    """

    def __init__(self, connection: socket.socket, *, patience: float, idle: float):
        self._connection, self._patience, self._idle = connection, patience, idle
        self._deadline = math.inf

    def expect_request(self) -> None:
        """The next byte is the first one of a request."""
        self._deadline = math.inf

    def readable(self) -> bool:
        """As for every file that is read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read what has come.

        Raises
        ------
        TimeoutError
            If the time of the request is up.
        """
        left = min(self._idle, self._deadline - time.monotonic())
        if left <= 0:
            raise TimeoutError("the request did not come in time")
        self._connection.settimeout(left)
        n = self._connection.recv_into(buffer)
        if self._deadline == math.inf:
            self._deadline = time.monotonic() + self._patience
        self._connection.settimeout(self._patience)  # for the answer
        return n


def is_own_host(value: str, names: Collection[str]) -> bool:
    """Whether the ``Host`` of a request is this machine.

    A page of the web can make a browser take the page's own name for the address of this machine,
    and then read what a server here answers. Such a request has the name of the page as its host,
    so that addresses, ``localhost`` and the server's own names are safe.

    Parameters
    ----------
    value : str
        The header.
    names : collection of str
        The server's own names.

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

"""Deliberate faults: what real servers do by accident, on demand and reproducibly."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Protocol

from rageval_report._registry import Registry
from rageval_report.errors import DataError, UnknownNameError

_MEGABYTE = 1 << 20
_HUGE = 10 * _MEGABYTE
_PAGE = b"<!doctype html>\n<title>Bad gateway</title>\n<h1>Bad gateway</h1>\n"


class Connection(Protocol):
    """What a fault can do to a client."""

    def send(
        self, status: int, body: bytes, *, kind: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a complete answer."""

    def break_off(self, body: bytes, *, promised: int) -> None:
        """Announce `promised` bytes, send fewer, and close the connection."""

    def hang_up(self) -> None:
        """Close the connection without an answer."""

    def pause(self) -> None:
        """Wait."""


Fault = Callable[[Connection, bytes], bool]


def _slow(connection: Connection, _: bytes) -> bool:
    connection.pause()
    return False


def _server_error(connection: Connection, _: bytes) -> bool:
    connection.send(500, b'{"error": "an internal error, on demand"}', kind="application/json")
    return True


def _busy(connection: Connection, _: bytes) -> bool:
    body = b'{"error": "too many requests, on demand"}'
    connection.send(429, body, kind="application/json", headers={"Retry-After": "0"})
    return True


def _garbage(connection: Connection, body: bytes) -> bool:
    connection.send(200, body[: len(body) // 2] + b"\x00\xff}{", kind="application/json")
    return True


def _html(connection: Connection, _: bytes) -> bool:
    connection.send(200, _PAGE, kind="text/html")
    return True


def _empty_body(connection: Connection, _: bytes) -> bool:
    connection.send(200, b"", kind="application/json")
    return True


def _huge(connection: Connection, _: bytes) -> bool:
    body = b'{"answer": "' + b"x" * _HUGE + b'"}'
    connection.send(200, body, kind="application/json")
    return True


def _drop(connection: Connection, body: bytes) -> bool:
    connection.break_off(body[: len(body) // 2], promised=len(body))
    return True


def _hang_up(connection: Connection, _: bytes) -> bool:
    connection.hang_up()
    return True


def _refusal(connection: Connection, _: bytes) -> bool:
    connection.send(200, b'{"answer": "I cannot answer that."}', kind="application/json")
    return True


FAULTS: Registry[Fault] = Registry(
    "fault",
    {
        "slow": _slow,
        "500": _server_error,
        "429": _busy,
        "garbage": _garbage,
        "html": _html,
        "empty": _empty_body,
        "huge": _huge,
        "drop": _drop,
        "hang-up": _hang_up,
        "refusal": _refusal,
    },
)
"""What a server can do instead of answering; returns True if no answer must follow."""


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

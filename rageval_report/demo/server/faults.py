"""Deliberate faults: what real servers do by accident, on demand and the same each time."""

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
        """Send an answer, whole."""

    def break_off(self, body: bytes, *, promised: int) -> None:
        """Promise so many bytes, send these, and hang up."""

    def hang_up(self) -> None:
        """End the connection without a word."""

    def pause(self) -> None:
        """Be slow."""


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


def _nothing(connection: Connection, _: bytes) -> bool:
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
        "empty": _nothing,
        "huge": _huge,
        "drop": _drop,
        "hang-up": _hang_up,
        "refusal": _refusal,
    },
)
"""What a server may do instead of an answer; true where the client needs no further one."""


class Faults:
    """Which request meets which fault: by question and how often it was asked, never by chance.

    Parameters
    ----------
    shares : mapping of str to float
        By name of `FAULTS` the share of requests that meet it; together at most 1.
    seed : int
        Another seed, other requests.

    Raises
    ------
    UnknownNameError
        If no fault has that name.
    DataError
        If shares are below 0, or above 1 together.

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
                raise DataError(f"the share of {name} must be from 0 to 1; got {share!r}")
        if sum(shares.values()) > 1 + 1e-9:
            raise DataError("the shares of all faults must be at most 1 together")
        self._shares = dict(shares)
        self._seed = seed
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def draw(self, question: str) -> str | None:
        """The fault that this request meets, or None."""
        if not self._shares:
            return None
        with self._lock:
            n = self._asked[question]
            self._asked[question] += 1
        told = f"{self._seed}|{n}|{question}".encode("utf-8", "surrogatepass")
        place = int.from_bytes(blake2b(told, digest_size=8).digest()) / 2**64
        for name, share in self._shares.items():
            if place < share:
                return name
            place -= share
        return None

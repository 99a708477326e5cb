"""Requests whose answers are timed piece by piece, to measure how fast a server is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

import httpx2

from rageval_report.http.client import Client, _build_request, _Request
from rageval_report.http.keys import Key
from rageval_report.http.responses import Headers, HttpResponse
from rageval_report.http.transport import make_client


@dataclass(frozen=True)
class TimedResponse:
    """An answer, and when its pieces arrived.

    Parameters
    ----------
    answer : HttpResponse
        The complete answer.
    moments : tuple of (int, float)
        For each piece of the body: the number of bytes so far, and the seconds after the request.
    """

    answer: HttpResponse
    moments: tuple[tuple[int, float], ...] = field(repr=False)

    @property
    def first_byte_seconds(self) -> float | None:
        """Seconds from the request to the first byte of the body; None if the body is empty."""
        return self.moments[0][1] if self.moments else None

    def seconds_at(self, place: int) -> float:
        """Seconds from the request to the byte at `place`, counted from 0.

        Examples
        --------
        >>> response = HttpResponse("http://host", 200, {}, b"abcdef", 0.9)
        >>> timed = TimedResponse(response, ((3, 0.2), (6, 0.9)))
        >>> timed.first_byte_seconds, timed.seconds_at(2), timed.seconds_at(3)
        (0.2, 0.2, 0.9)
        """
        return next((when for n, when in self.moments if n > place), self.answer.seconds)


class TimedClient(Client):
    """Sends each request once, and notes when the pieces of the answer arrive.

    Retries are left to the caller. A client can be shared by threads.

    Parameters
    ----------
    timeout : float, default 60
        Seconds that a request may take.
    max_bytes : int, default 64 MB
        A larger answer is an error, and is not read to its end.
    connections : int, default 20
        The number of connections that are kept open.
    clock : callable, default time.monotonic
        Returns the time in seconds.

    Examples
    --------
    >>> with TimedClient(timeout=5.0) as client:
    ...     client.ask("POST", "localhost:8000/answer", json={"question": "Why?"})
    Traceback (most recent call last):
    ...
    rageval_report.errors.DataError: expected an address such as \
'https://host/path'; got 'localhost:8000/answer'
    """

    def __init__(
        self,
        *,
        timeout: float = 60.0,
        max_bytes: int = 64 << 20,
        connections: int = 20,
        clock: Callable[[], float] = time.monotonic,
    ):
        # A retry inside would be part of the measured time; the caller retries and measures each
        # attempt.
        super().__init__(timeout=timeout, max_attempts=1, max_bytes=max_bytes)
        self._clock = clock
        self._here = threading.local()
        self._http.close()
        # One kept connection per thread, so that no measured time contains the set-up of a
        # connection.
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._http = make_client(self._deadline, timeout=timeout, limits=limits)

    def ask(
        self,
        method: str,
        url: str,
        *,
        json: object = None,
        headers: Headers | None = None,
        keys: Iterable[Key] = (),
    ) -> TimedResponse:
        """Send a request once.

        Parameters
        ----------
        method, url, json, headers, keys
            As for `Client.request`.

        Raises
        ------
        RequestError
            If the server cannot be reached or refuses, or its answer is cut, late or too large.
        DataError
            If the address is malformed, or `json` cannot be written as JSON.
        """
        request = _build_request(method, url, json, headers or {}, keys)
        with self._record_moments() as moments:
            answer = self._send_once(request, 1)
        return TimedResponse(answer, tuple(moments))

    @contextmanager
    def _record_moments(self) -> Iterator[list[tuple[int, float]]]:
        """The moments of this thread's request; the list is filled while the body is read."""
        # By thread: answers of other threads arrive at the same time.
        self._here.started, self._here.moments = self._clock(), []
        yield self._here.moments

    def _read_body(self, response: httpx2.Response, request: _Request) -> bytes:
        observed = cast("httpx2.Response", _ObservedResponse(response, self._note))
        return super()._read_body(observed, request)

    def _note(self, n: int) -> None:
        self._here.moments.append((n, self._clock() - self._here.started))


@dataclass(frozen=True)
class _ObservedResponse:
    """The part of a response that reading its body needs; reports how many bytes have come."""

    response: httpx2.Response
    note: Callable[[int], None]

    @property
    def status_code(self) -> int:
        return self.response.status_code

    def iter_bytes(self) -> Iterator[bytes]:
        n = 0
        for piece in self.response.iter_bytes():
            n += len(piece)
            self.note(n)
            yield piece

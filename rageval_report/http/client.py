"""A client for servers that are asked over HTTP and mostly speak JSON."""

from __future__ import annotations

import json
import math
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx2

from rageval_report.errors import DataError
from rageval_report.http.addresses import check_address, redact_url
from rageval_report.http.deadlines import Deadline, client_within
from rageval_report.http.keys import Key
from rageval_report.http.request_errors import Failure, RequestError
from rageval_report.http.retries import Sleep, retry_after_seconds, retrying
from rageval_report.http.server_messages import quote_beginning, redact_keys, server_message

Headers = Mapping[str, str | Key]

_MEGABYTE = 1 << 20
_OK = range(200, 300)
_REDIRECTS = range(300, 400)
_ANSWERS_HELD_BACK = (401, 403)
_NOT_FOUND = 404


@dataclass(frozen=True)
class HttpResponse:
    """What a server answered, whole.

    Parameters
    ----------
    url : str
        The address that was asked, without its query.
    status : int
        The HTTP status.
    headers : dict of str to str
        Names in lower case.
    body : bytes
        The content, unpacked.
    seconds : float
        From asking to the last byte, of the attempt that succeeded.
    attempts : int
        How often it was tried.
    keys : tuple of Key
        What was sent, so that no error repeats it.
    """

    url: str
    status: int
    headers: dict[str, str]
    body: bytes = field(repr=False)
    seconds: float
    attempts: int = 1
    keys: tuple[Key, ...] = field(default=(), repr=False)

    def json(self) -> Any:
        """The document in the body.

        Raises
        ------
        RequestError
            If it is not JSON.
        """
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as exc:
            kind = self.headers.get("content-type", "no content type")
            raise self.error(
                f"expected JSON, got {kind} that begins {quote_beginning(self.body, self.keys)!r}: "
                "is this the address of the service itself?"
            ) from exc

    def error(self, message: str) -> RequestError:
        """The error to raise where the content is not as it should be."""
        return RequestError(
            redact_keys(self.keys, message),
            url=self.url,
            failure="content",
            status=self.status,
            attempts=self.attempts,
        )


@dataclass(frozen=True)
class _Question:
    """One request; what is printed of it holds no key."""

    method: str
    url: str
    content: bytes | None
    headers: dict[str, str] = field(repr=False)
    keys: tuple[Key, ...]

    def error(self, message: str, failure: Failure, **fields: Any) -> RequestError:
        told = redact_keys(self.keys, message)
        return RequestError(told, url=redact_url(self.url), failure=failure, **fields)


class Client:
    """Asks servers, again where a failure may pass, and tells the others in words.

    A refused or broken connection, a time-out, a status 429 or 5xx are tried again, after the time
    that the server asks for in ``Retry-After``, else after 1, 2, 4 ... seconds and a random part.
    Where nobody takes the connection and nobody ever answered this client, it is told at once: most
    likely no server runs there.
    Any other status is an error at once. Redirects are not followed: a key goes nowhere else.
    It may be shared by threads; close it, or use it in a ``with`` block.

    Parameters
    ----------
    timeout : float, default 60
        Seconds that one attempt may take, from the first byte sent to the last byte read, however
        the server spreads its headers and its answer over them.
    max_attempts : int, default 5
        How often a request is tried.
    max_wait : float, default 60
        The longest wait between two attempts in seconds; a server that asks for more is not asked
        again.
    max_bytes : int, default 64 MB
        An answer that is larger is not read to its end.
    sleep : callable, default time.sleep
        Waits that many seconds.

    Raises
    ------
    DataError
        If a limit makes no sense.

    Examples
    --------
    >>> with Client(timeout=5.0) as client:
    ...     client.request("POST", "localhost:8000/answer", json={"question": "Why?"})
    Traceback (most recent call last):
    ...
    rageval_report.errors.DataError: expected an address as 'https://host/path', got \
'localhost:8000/answer'
    """

    def __init__(
        self,
        *,
        timeout: float = 60.0,
        max_attempts: int = 5,
        max_wait: float = 60.0,
        max_bytes: int = 64 * _MEGABYTE,
        sleep: Sleep = time.sleep,
    ):
        _check_limits(timeout=timeout, max_attempts=max_attempts, max_bytes=max_bytes)
        if not max_wait >= 0:
            raise DataError(f"max_wait must not be below 0; got {max_wait!r}")
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._has_met = False  # whether any server ever answered
        self._retrying = retrying(
            max_attempts=max_attempts, max_wait=max_wait, sleep=sleep, again=self._may_pass
        )
        self._deadline = Deadline()
        self._http = client_within(self._deadline, timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._http.close()

    def request(
        self, method: str, url: str, *, json: object = None, headers: Headers | None = None
    ) -> HttpResponse:
        """Ask a server.

        Parameters
        ----------
        method : str
            As "GET" or "POST".
        url : str
            The address. No keys here, which the HTTP library may log: they belong in headers.
        json : object, optional
            What is sent, as JSON.
        headers : mapping of str to str or Key, optional
            Further headers.

        Returns
        -------
        HttpResponse
            With a status from 200 to 299.

        Raises
        ------
        RequestError
            If the server cannot be reached, refuses, or its answer is cut, late or too large.
        DataError
            If there is no such address, or `json` cannot be written as JSON.
        """
        question = _question(method, url, json, headers or {})
        attempts = 0

        def ask() -> HttpResponse:
            nonlocal attempts
            attempts += 1
            return self._asked_once(question, attempts)

        answer: HttpResponse = self._retrying(ask)
        return answer

    def _may_pass(self, failure: RequestError) -> bool:
        return failure.is_passing and (self._has_met or not failure.is_unreachable)

    def _asked_once(self, question: _Question, attempt: int) -> HttpResponse:
        started, url = time.monotonic(), question.url
        asked = self._http.stream(
            question.method, url, content=question.content, headers=question.headers
        )
        try:
            with self._deadline.within(self._timeout), asked as response:
                self._has_met = True
                body = self._body(response, question)
        except httpx2.TimeoutException as exc:
            late = f"no whole answer within timeout={self._timeout:g} seconds"
            raise question.error(late, "timeout") from exc
        except (httpx2.InvalidURL, httpx2.LocalProtocolError, UnicodeError) as exc:
            raise DataError(f"{redact_url(url)}: the request cannot be sent: {exc}") from exc
        except httpx2.RequestError as exc:
            raise _broken(question, exc) from exc
        headers = {name.lower(): value for name, value in response.headers.items()}
        if response.status_code not in _OK:
            raise _refused(question, response.status_code, headers, body)
        seconds = time.monotonic() - started
        return HttpResponse(
            redact_url(url), response.status_code, headers, body, seconds, attempt, question.keys
        )

    def _body(self, response: httpx2.Response, question: _Question) -> bytes:
        """The content, if it is not too large; read in pieces for that."""
        pieces, size = [], 0
        for piece in response.iter_bytes():
            pieces.append(piece)
            size += len(piece)
            if size > self._max_bytes:
                raise question.error(
                    f"the answer is larger than max_bytes={self._max_bytes:,} bytes: raise it, "
                    "or ask for less at a time",
                    "size",
                    status=response.status_code,
                )
        return b"".join(pieces)


def _check_limits(**limits: float) -> None:
    for name, value in limits.items():
        if not 0 < value < math.inf:
            raise DataError(f"{name} must be above 0 and finite; got {value!r}")


def _question(method: str, url: str, body: object, headers: Headers) -> _Question:
    try:
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as exc:
        raise DataError(f"what is sent must be JSON: {exc}") from exc
    sent = {"content-type": "application/json"} if content is not None else {}
    for name, value in headers.items():
        sent[name] = value.header() if isinstance(value, Key) else _plain(name, value)
    keys = tuple(value for value in headers.values() if isinstance(value, Key))
    return _Question(method, check_address(url), content, sent, keys)


def _plain(name: str, value: str) -> str:
    """A header's value, if it can be sent; the HTTP library would print one that it refuses."""
    if not (value.isascii() and value.isprintable() and value == value.strip()):
        raise DataError(f"the header {name!r} holds what no header can carry")
    return value


def _broken(question: _Question, exc: httpx2.RequestError) -> RequestError:
    if isinstance(exc, httpx2.DecodingError):
        return question.error(f"the answer cannot be unpacked: {exc}", "content")
    if _is_about_trust(exc):
        return question.error(
            f"the server's certificate is not trusted ({exc}); if it is your own, let the "
            "environment variable SSL_CERT_FILE name the file of its authority",
            "certificate",
        )
    if isinstance(exc, httpx2.ConnectError):
        told = f"cannot be reached ({exc}); does the server run?"
        return question.error(told, "connection", is_unreachable=True)
    return question.error(f"the connection broke off: {exc}", "connection")


def _is_about_trust(exc: BaseException | None) -> bool:
    """Whether a certificate is behind it; the HTTP library keeps that as the cause of a cause."""
    while exc is not None:
        if isinstance(exc, ssl.SSLCertVerificationError):
            return True
        exc = exc.__cause__ or exc.__context__
    return False


def _refused(
    question: _Question, status: int, headers: dict[str, str], body: bytes
) -> RequestError:
    told = server_message(body, question.keys)
    return question.error(
        f"answered {status}" + (f": {told}" if told else "") + _advice(question, status, headers),
        "status",
        status=status,
        retry_after=retry_after_seconds(headers),
    )


def _advice(question: _Question, status: int, headers: dict[str, str]) -> str:
    if status in _REDIRECTS and "location" in headers:
        return f" (it has moved to {redact_url(headers['location'])}: give that address)"
    if status in _ANSWERS_HELD_BACK:
        return " (the key was refused)" if question.keys else " (no key was sent)"
    return " (is the address right?)" if status == _NOT_FOUND else ""

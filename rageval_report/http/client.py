"""A client for servers that accept HTTP requests and mostly answer in JSON."""

from __future__ import annotations

import json
import logging
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeVar

import httpx2

from rageval_report.errors import DataError
from rageval_report.http.addresses import check_address, redact_url
from rageval_report.http.deadlines import Deadline
from rageval_report.http.keys import Key, proxy_keys, redact_keys
from rageval_report.http.request_errors import Failure, RequestError
from rageval_report.http.responses import Headers, HttpResponse, Signer, check_limits
from rageval_report.http.retries import make_retrier, retry_after_seconds
from rageval_report.http.server_messages import server_message
from rageval_report.http.transport import make_client
from rageval_report.types import Sleep

T = TypeVar("T")

_MEGABYTE = 1 << 20
_OK = range(200, 300)
# A redirect is an error: to follow it would send the key to another server.
_REDIRECTS = range(300, 400)
_UNAUTHORISED = (401, 403)
_NOT_FOUND = 404
# Amazon says in a header what kind of error it is, and with a wrong key as without a permission
# that access is denied.
_AWS_ERROR = "x-amzn-errortype"
_AWS_DENIED = "AccessDenied"


@dataclass(frozen=True)
class _Request:
    """One request; its repr contains no key."""

    method: str
    url: str = field(repr=False)
    content: bytes | None = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    keys: tuple[Key, ...]  # to hide: those of the request, and those of proxies
    has_key: bool

    @property
    def shown_url(self) -> str:
        """The address without its query and keys."""
        # Keys first: redact_url may cut one in two, at a # in it.
        return redact_url(redact_keys(self.keys, self.url))

    def cause(self, exc: Exception) -> Exception | None:
        """The exception as a cause of another; None if a traceback would show a key."""
        return exc if redact_keys(self.keys, repr(exc)) == repr(exc) else None

    def error(
        self,
        message: str,
        failure: Failure,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        is_unreachable: bool = False,
    ) -> RequestError:
        return RequestError(
            redact_keys(self.keys, message),
            url=self.shown_url,
            failure=failure,
            status=status,
            retry_after=retry_after,
            is_unreachable=is_unreachable,
        )


class Client:
    """Sends requests to servers, with retries after failures that may pass.

    A refused or broken connection, a time-out, and a status 429 or 5xx are retried, after the time
    that the server states in ``Retry-After``, or else after 1, 2, 4 ... seconds plus a random part.
    If the connection is refused and no server has answered this client before, the error is raised
    at once: most likely no server runs there. Any other status is an error at once. Redirects are
    not followed, so that a key is sent nowhere else.
    A client can be shared by threads; close it, or use it in a ``with`` block.

    Parameters
    ----------
    timeout : float, default 60
        Seconds that one attempt may take in total, from the first byte sent to the last byte read.
    max_attempts : int, default 5
        The largest number of attempts for one request.
    max_wait : float, default 60
        The longest wait between two attempts in seconds; if a server asks for more, there is no
        further attempt.
    max_bytes : int, default 64 MB
        A larger answer is an error, and is not read to its end.
    sleep : callable, default time.sleep
        Waits the given number of seconds.

    Raises
    ------
    DataError
        If a limit is not a positive finite number.

    Examples
    --------
    >>> with Client(timeout=5.0) as client:
    ...     client.request("POST", "localhost:8000/answer", json={"question": "Why?"})
    Traceback (most recent call last):
    ...
    rageval_report.errors.DataError: expected an address such as \
'https://host/path'; got 'localhost:8000/answer'
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
        check_limits(
            timeout=timeout, max_attempts=max_attempts, max_wait=max_wait, max_bytes=max_bytes
        )
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._has_been_answered = False  # by any server
        self._retrier = make_retrier(
            max_attempts=max_attempts,
            max_wait=max_wait,
            sleep=sleep,
            should_retry=self._should_retry,
        )
        # The HTTP library's own time-out starts anew with each piece, so a server that drips would
        # never be late.
        self._deadline = Deadline()
        self._http = make_client(self._deadline, timeout=timeout)

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
        """Close the open connections."""
        self._http.close()

    def request(
        self,
        method: str,
        url: str,
        *,
        json: object = None,
        headers: Headers | None = None,
        keys: Iterable[Key] = (),
    ) -> HttpResponse:
        """Send a request.

        Parameters
        ----------
        method : str
            Such as "GET" or "POST".
        url : str
            The address.
        json : object, optional
            The body, sent as JSON.
        headers : mapping of str to str or Key, optional
            Additional headers.
        keys : iterable of Key
            The keys that were filled into the address, the body or a header, so that no error, log
            or answer repeats them.

        Returns
        -------
        HttpResponse
            An answer with a status from 200 to 299.

        Raises
        ------
        RequestError
            If the server cannot be reached or refuses, or its answer is cut, late or too large.
        DataError
            If the address is malformed, or `json` cannot be written as JSON.
        """
        request = _build_request(method, url, json, headers or {}, keys)
        attempts = 0

        def send() -> HttpResponse:
            nonlocal attempts
            attempts += 1
            return self._send_once(request, attempts)

        return self.retry(send)

    def send(
        self,
        method: str,
        url: str,
        *,
        json: object = None,
        headers: Headers | None = None,
        keys: Iterable[Key] = (),
        signer: Signer | None = None,
    ) -> HttpResponse:
        """Send a request once, for a caller that counts the attempts; see `retry`.

        Parameters
        ----------
        method, url, json, headers, keys
            As for `request`, like the result and the errors.
        signer : Signer, optional
            Adds headers that sign the body as it is sent. `request` has none, because a signature
            contains the time of its attempt.
        """
        return self._send_once(_build_request(method, url, json, headers or {}, keys, signer), 1)

    def retry(self, attempt: Callable[[], T]) -> T:
        """Call a function again while it raises a temporary `RequestError`, within the limits.

        Parameters
        ----------
        attempt : callable
            Sends a request once, e.g. by `send`.
        """
        outcome: T = self._retrier(attempt)
        return outcome

    def _should_retry(self, failure: RequestError) -> bool:
        # A server that never answered is most likely not running; one that did may be restarting.
        return failure.is_temporary and (self._has_been_answered or not failure.is_unreachable)

    def _send_once(self, request: _Request, attempt: int) -> HttpResponse:
        started = time.monotonic()
        stream = self._http.stream(
            request.method, request.url, content=request.content, headers=request.headers
        )
        try:
            with _hide_in_logs(request), self._deadline.within(self._timeout), stream as response:
                self._has_been_answered = True
                body = self._read_body(response, request)
        except httpx2.TimeoutException as exc:
            message = f"no complete answer within timeout={self._timeout:g} seconds"
            raise request.error(message, "timeout") from request.cause(exc)
        # Errors of the request itself: no server will ever accept it, so it is not retried.
        except (httpx2.InvalidURL, httpx2.LocalProtocolError, UnicodeError) as exc:
            message = redact_keys(request.keys, str(exc))
            raise DataError(
                f"{request.shown_url}: the request cannot be sent: {message}"
            ) from request.cause(exc)
        except httpx2.RequestError as exc:
            raise _transport_error(request, exc) from request.cause(exc)
        headers = {name.lower(): value for name, value in response.headers.items()}
        if response.status_code not in _OK:
            raise _status_error(request, response.status_code, headers, body)
        seconds = time.monotonic() - started
        return HttpResponse(
            *(request.shown_url, response.status_code, headers, body, seconds, attempt),
            keys=request.keys,
        )

    def _read_body(self, response: httpx2.Response, request: _Request) -> bytes:
        """Read the body in pieces, so that one that is too large is not held."""
        pieces, size = [], 0
        for piece in response.iter_bytes():
            pieces.append(piece)
            size += len(piece)
            # Counted after decompression: a small compressed body can expand to gigabytes.
            if size > self._max_bytes:
                raise request.error(
                    f"the answer is larger than max_bytes={self._max_bytes:,} bytes; raise "
                    "max_bytes, or ask for less at a time",
                    "size",
                    status=response.status_code,
                )
        return b"".join(pieces)


_SENDING: ContextVar[_Request | None] = ContextVar("request", default=None)


@contextmanager
def _hide_in_logs(request: _Request) -> Iterator[None]:
    """Keep keys out of the HTTP library's own log: it contains the address, and what comes back."""
    token = _SENDING.set(request)
    try:
        yield
    finally:
        _SENDING.reset(token)


class _KeyFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        request = _SENDING.get()
        if request is not None and request.keys:
            record.msg, record.args = redact_keys(request.keys, record.getMessage()), ()
        return True


# It acts only while a request of this module is sent. A filter of a logger does not see the records
# of the loggers below it, so that each of them gets it.
for _name in (
    *(httpx2.__name__, "httpcore2.connection", "httpcore2.http11", "httpcore2.http2"),
    *("httpcore2.proxy", "httpcore2.socks"),
):
    logging.getLogger(_name).addFilter(_KeyFilter())


def _build_request(
    method: str,
    url: str,
    body: object,
    headers: Headers,
    keys: Iterable[Key] = (),
    signer: Signer | None = None,
) -> _Request:
    try:
        # NaN is not JSON: the server would refuse it without saying which value.
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as exc:
        raise DataError(f"the body of the request cannot be written as JSON: {exc}") from exc
    address = check_address(url)
    sent = {"content-type": "application/json"} if content is not None else {}
    sent |= _write_headers(headers)
    sent_keys = (*keys, *(value for value in headers.values() if isinstance(value, Key)))
    if signer is not None:
        sent |= _write_headers(signer(method, address, sent, content or b""))
        sent_keys += signer.keys
    return _Request(
        *(method, address, content, sent),
        keys=(*sent_keys, *proxy_keys()),
        has_key=bool(sent_keys),
    )


def _write_headers(headers: Headers) -> dict[str, str]:
    return {
        name: value.header() if isinstance(value, Key) else _check_header(name, value)
        for name, value in headers.items()
    }


def _check_header(name: str, value: str) -> str:
    """Check a header's value here: the HTTP library would print one that it refuses."""
    if not (value.isascii() and value.isprintable() and value == value.strip()):
        raise DataError(f"the header {name!r} contains characters that cannot be sent in a header")
    return value


def _transport_error(request: _Request, exc: httpx2.RequestError) -> RequestError:
    # A damaged body is a fault of content: the same answer would come again.
    if isinstance(exc, httpx2.DecodingError):
        return request.error(f"the answer cannot be decompressed: {exc}", "content")
    if _is_about_trust(exc):
        return request.error(
            f"the server's certificate is not trusted ({exc}); if it is your own, set the "
            "environment variable SSL_CERT_FILE to the file of its certificate authority",
            "certificate",
        )
    # Certificates come first, because the library reports them as ConnectError as well.
    if isinstance(exc, httpx2.ConnectError):
        message = f"cannot be reached ({exc}); is the server running?"
        return request.error(message, "connection", is_unreachable=True)
    return request.error(f"the connection broke off: {exc}", "connection")


def _is_about_trust(exc: BaseException | None) -> bool:
    """Whether a certificate caused it; the HTTP library hides that in a chain of causes."""
    while exc is not None:
        if isinstance(exc, ssl.SSLCertVerificationError):
            return True
        exc = exc.__cause__ or exc.__context__
    return False


def _status_error(
    request: _Request, status: int, headers: dict[str, str], body: bytes
) -> RequestError:
    message = server_message(body, request.keys, headers.get(_AWS_ERROR, ""))
    return request.error(
        f"answered {status}"
        + (f": {message}" if message else "")
        + _advice(request, status, headers),
        "status",
        status=status,
        retry_after=retry_after_seconds(headers),
    )


def _advice(request: _Request, status: int, headers: dict[str, str]) -> str:
    if status in _REDIRECTS and "location" in headers:
        return f" (it has moved to {redact_url(headers['location'])}: use that address)"
    if headers.get(_AWS_ERROR, "").startswith(_AWS_DENIED):
        return " (the key is wrong, or it or its account may not use this)"
    if status in _UNAUTHORISED:
        return " (the key was refused)" if request.has_key else " (no key was sent)"
    return " (is the address right?)" if status == _NOT_FOUND else ""

"""The way to the network: requests, their retries, keys and errors. Needs the extra ``http``.

Everything that calls a server uses it: judges, sources, the runner. A key is never
written into a setting: ``${NAME}`` names the environment variable that holds it.
"""

from __future__ import annotations

import contextlib
import html
import json as json_format
import logging
import math
import os
import random
import re
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from operator import attrgetter
from typing import Any, Literal, NoReturn, Self, TypeVar
from urllib.parse import quote, quote_plus, urlsplit

from rageval_report._registry import load
from rageval_report.errors import DataError, RagevalError
from rageval_report.files.strict_json import load_json
from rageval_report.types import Sleep

T = TypeVar("T")

VARIABLE = re.compile(r"\$\{(\w+)\}")
HIDDEN = "***"  # what replaces a key
_SHORTEST_KEY = 4  # stars for each "a" would spoil every text
# What a header can contain; checked here, because the HTTP library prints a header that it refuses.
_SENDABLE = re.compile(r"[!-~]+")
_SECRET_HEADER = re.compile(r"authorization|cookie|key|token|secret|password", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


# -- keys


class Key:
    """A key for a server; only the request that carries it can read it.

    Parameters
    ----------
    value : str
        The key; blanks and line ends around it are removed.
    scheme : str, default "Bearer"
        The word before the key in the header; "" if the header contains the key alone.
    name : str, default "the key"
        What an error calls it.
    for_header : bool, default True
        Whether it must have a form that a header can contain.

    Raises
    ------
    DataError
        If it is empty, or contains characters that cannot be sent in a header.

    Examples
    --------
    >>> Key("sk-1234"), Key("sk-1234").header()
    (<a key>, 'Bearer sk-1234')
    >>> Key("sk-1234").redact("Incorrect API key: sk-1234")
    'Incorrect API key: ***'
    """

    # Without a __dict__, so that vars() and debuggers' dumps do not show the key.
    __slots__ = ("__weakref__", "_forms", "_scheme", "_value")

    def __init__(
        self, value: str, *, scheme: str = "Bearer", name: str = "the key", for_header: bool = True
    ):
        stripped = value.strip()  # a key read from a file ends in a line feed
        if not stripped or (for_header and not _SENDABLE.fullmatch(stripped)):
            raise DataError(
                f"{name} is empty, or contains blanks, line ends or characters beyond ASCII, which "
                "cannot be sent in a header: copy it again"
            )
        self._value, self._scheme = stripped, scheme
        self._forms = _written_forms(stripped)
        _KEYS_IN_USE.add(self)

    def header(self) -> str:
        """The value of the header."""
        return f"{self._scheme} {self._value}" if self._scheme else self._value

    def text(self) -> str:
        """The key alone, for a body or an address."""
        return self._value

    def redact(self, text: str) -> str:
        """The text with the key replaced by stars, also where it is escaped for JSON or a URL."""
        return self._forms.sub(HIDDEN, text)

    def __repr__(self) -> str:
        return "<a key>"

    def __reduce__(self) -> NoReturn:
        # A pickle would write the key to a file or to another process.
        raise TypeError("a key cannot be pickled: pass the name of its environment variable")


_KEYS_IN_USE: weakref.WeakSet[Key] = weakref.WeakSet()

_ENCODERS: tuple[Callable[[str], str], ...] = (
    *(quote, quote_plus, partial(quote, safe=""), html.escape, lambda text: repr(text)[1:-1]),
    lambda text: json_format.dumps(text)[1:-1],
    lambda text: json_format.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: text.replace("/", "\\/"),  # PHP
    lambda text: re.sub("[<>&']", lambda match: f"\\u{ord(match[0]):04x}", text),  # Go
)


def _written_forms(value: str) -> re.Pattern[str]:
    """The key as servers repeat it: itself, or escaped for JSON, a URL or HTML, also twice."""
    forms = {value}
    for _ in range(2):
        forms |= {encode(form) for form in forms for encode in _ENCODERS}
    longest_first = sorted(forms, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)


def key_from_environment(variable: str, *, scheme: str = "Bearer", for_header: bool = True) -> Key:
    """The key in an environment variable.

    Parameters
    ----------
    variable : str
        The name of the variable, e.g. "OPENAI_API_KEY".
    scheme, for_header
        As in `Key`.

    Raises
    ------
    DataError
        If the variable is not set, or does not contain a usable key.

    Examples
    --------
    >>> key_from_environment("NO_SUCH_KEY")
    Traceback (most recent call last):
    ...
    rageval_report.errors.DataError: no key: the environment variable NO_SUCH_KEY is not set
    """
    value = os.environ.get(variable)
    if value is None:
        raise DataError(f"no key: the environment variable {variable} is not set")
    name = f"the environment variable {variable}"
    return Key(value, scheme=scheme, name=name, for_header=for_header)


def check_key_variable(name: str) -> str:
    """The name of a variable; a value that may be the key itself is refused and not repeated."""
    if _is_variable_name(name):
        return name
    raise DataError(
        "api_key_env must be the name of the environment variable with the key, e.g. MY_KEY; no "
        "variable of the given name is set. The value is not shown because it may be the key"
    )


def _is_variable_name(name: object) -> bool:
    is_a_name = isinstance(name, str) and _NAME.fullmatch(name) is not None
    # A key without punctuation has the form of a name; but an unset variable in capitals is far
    # more likely a name than a key.
    return is_a_name and (name in os.environ or name == str(name).upper())


def check_header(name: str, value: str) -> str:
    """The value of a header; a header for a key must name the variable that holds it."""
    if _SECRET_HEADER.search(name) and not VARIABLE.search(value):
        raise DataError(
            f"the header {name!r} contains a literal API key; put the key into an environment "
            "variable, and write 'Bearer ${RAG_API_KEY}'"
        )
    return value


def map_texts(document: Any, change: Callable[[str], Any], *, with_names: bool = False) -> Any:
    """A JSON value with every text in it changed, at any depth."""
    if isinstance(document, str):
        return change(document)
    if isinstance(document, Mapping):
        return {
            change(str(name)) if with_names else name: map_texts(
                item, change, with_names=with_names
            )
            for name, item in document.items()
        }
    if isinstance(document, list | tuple):
        return [map_texts(item, change, with_names=with_names) for item in document]
    return document


def keys_named_in(template: object, *, for_header: bool = False) -> dict[str, Key]:
    """The keys that a template names as ``${NAME}``, at any depth, by the name.

    Raises
    ------
    DataError
        If a variable is not set, or does not contain a usable key: of four characters or more.
    """
    text = json_format.dumps(template, default=str)
    keys: dict[str, Key] = {}
    for name in sorted(set(VARIABLE.findall(text))):
        if not _is_variable_name(name):
            raise DataError(
                "${...} must contain the name of an environment variable, e.g. ${MY_KEY}; no "
                "variable of the given name is set. The name is not shown because it may be the "
                "key; a field such as {question} has no $ before it"
            )
        keys[name] = key_from_environment(name, scheme="", for_header=for_header)
        if len(keys[name].text()) < _SHORTEST_KEY:
            raise DataError(
                f"${{{name}}} is for a key, which is replaced by stars in everything that the "
                f"server says; the variable {name} holds fewer than {_SHORTEST_KEY} characters, "
                "which many texts contain: if it is no secret, write its value itself"
            )
    return keys


def fill_keys(template: Any, keys: Mapping[str, Key], *, escape: Callable[[str], str] = str) -> Any:
    """A template with each ``${NAME}`` replaced by its key, at any depth."""
    return map_texts(template, partial(VARIABLE.sub, lambda match: escape(keys[match[1]].text())))


def fill_request(url: str, body: Any) -> tuple[str, Any, tuple[Key, ...]]:
    """An address and a body with their keys, and the keys, which the client hides."""
    keys = keys_named_in([url, body])
    address = fill_keys(url, keys, escape=partial(quote, safe=""))
    return str(address), fill_keys(body, keys), tuple(keys.values())


def redact_keys(keys: Iterable[Key], text: str) -> str:
    """Replace keys in a text by stars. Shorten a text only afterwards, or half a key may remain."""
    # The longest first: of two keys one may be the beginning of the other.
    for key in sorted(keys, key=lambda key: -len(key.text())):
        text = key.redact(text)
    return text


def redact_document(keys: Iterable[Key], document: Any) -> Any:
    """Replace keys in all texts of a JSON document by stars, the names of its fields included."""
    sent = tuple(keys)
    return map_texts(document, partial(redact_keys, sent), with_names=True) if sent else document


class _KeyFilter(logging.Filter):
    """Keeps keys out of the HTTP library's own log, which contains addresses and answers."""

    def filter(self, record: logging.LogRecord) -> bool:
        if keys := list(_KEYS_IN_USE):
            record.msg, record.args = redact_keys(keys, record.getMessage()), ()
        return True


# A filter of a logger does not see the records of the loggers below it.
for _part in ("connection", "http11", "http2", "proxy", "socks"):
    logging.getLogger(f"httpcore2.{_part}").addFilter(_KeyFilter())
logging.getLogger("httpx2").addFilter(_KeyFilter())


# -- addresses


def check_address(url: str) -> str:
    """An HTTP address without a user or password."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if it is not a number
    except ValueError:
        parts = urlsplit("")
    # urlsplit drops tabs and line ends in silence: another address would be asked than is shown.
    is_clean = url.isprintable() and " " not in url
    if not is_clean or parts.scheme not in ("http", "https") or not parts.hostname:
        raise DataError(f"expected an address such as 'https://host/path'; got {redact_url(url)!r}")
    if parts.username is not None or parts.password is not None:
        raise DataError(
            f"{redact_url(url)}: do not put credentials in a URL: they end up in logs. Send a "
            "header whose key comes from an environment variable"
        )
    return url


def redact_url(url: str) -> str:
    """The address without user, password, query and fragment.

    Examples
    --------
    >>> redact_url("https://me:secret@host:8000/v1?key=secret#part")
    'https://host:8000/v1'
    """
    # By hand, because urlsplit raises on malformed addresses, and those too are printed in errors.
    front, slashes, rest = url.partition("#")[0].partition("?")[0].partition("//")
    host, slash, path = rest.partition("/")
    return front + slashes + host.rpartition("@")[2] + slash + path


@dataclass(frozen=True)
class ProviderHome:
    """The address of a provider, and the environment variables that override it.

    Parameters
    ----------
    url : str
        The provider's own address.
    url_variables, key_variables : tuple of str
        The first of them that is set counts.
    """

    url: str
    url_variables: tuple[str, ...]
    key_variables: tuple[str, ...]

    def locate(self, base_url: str | None, api_key_env: str | None) -> tuple[str, str | None]:
        """The address of the server, and the variable of the key that is sent there.

        A server that the caller names gets a key only if the caller names its variable too, so
        that the provider's key is sent to no other server.
        """
        routed = next(filter(None, map(os.environ.get, self.url_variables)), None)
        base = base_url or routed or self.url
        if "?" in base or "#" in base:
            raise DataError(f"base_url must end before any '?' or '#'; use {redact_url(base)}")
        address = check_address(base).rstrip("/")
        if api_key_env is not None or base_url is not None:
            return address, None if api_key_env is None else check_key_variable(api_key_env)
        key = next((name for name in self.key_variables if os.environ.get(name)), None)
        # An address from the environment may be a local server without a key; the provider itself
        # always wants one, and the error names its variable.
        return address, key or (None if routed else self.key_variables[-1])


def region_from_environment() -> str:
    """The region of Amazon Web Services that the environment names."""
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
    # The region is part of a host name, to which a key is sent.
    if not re.fullmatch(r"[A-Za-z0-9-]+", region):
        raise DataError(
            "no region: set the environment variable AWS_REGION (or AWS_DEFAULT_REGION), e.g. to "
            f"us-east-1; got {region!r}"
        )
    return region


# -- errors

Failure = Literal["connection", "certificate", "timeout", "status", "size", "content"]
_TOO_MANY_REQUESTS = 429
_SERVER_FAULTS = range(500, 600)


class RequestError(RagevalError, RuntimeError):
    """A server could not be reached, refused a request, or answered it wrongly.

    Parameters
    ----------
    message : str
        What was expected, what happened, what to do; never contains a key.
    url : str
        The address, without user, password and query.
    failure : {"connection", "certificate", "timeout", "status", "size", "content"}
        What kind of failure it was.
    status : int, optional
        The HTTP status, if the server answered.
    retry_after : float, optional
        The seconds that the server asks to wait.
    is_unreachable : bool, default False
        Whether no connection could be made.

    Examples
    --------
    >>> str(RequestError("answered 500", url="http://host", failure="status", status=500))
    'http://host: answered 500'
    """

    def __init__(
        self,
        message: str,
        *,
        url: str,
        failure: Failure,
        status: int | None = None,
        retry_after: float | None = None,
        is_unreachable: bool = False,
    ):
        self.message, self.url = message, url
        self.failure: Failure = failure
        self.status, self.retry_after, self.is_unreachable = status, retry_after, is_unreachable
        super().__init__(message)

    def __str__(self) -> str:
        return f"{self.url}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        rebuild = partial(RequestError, self.message, url=self.url, failure=self.failure)
        return rebuild, (), vars(self)

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later."""
        if self.failure == "status":
            return self.status == _TOO_MANY_REQUESTS or self.status in _SERVER_FAULTS
        return self.failure in ("connection", "timeout")


_LONGEST_MESSAGE, _LONGEST_BEGINNING = 300, 60
_MOST_READ = 1 << 16  # bytes of a page about an error, which may be megabytes long
# OpenAI nests {"error": {"message"}}, FastAPI writes "detail", OAuth "error_description", and
# Amazon's gateways "Message".
_MESSAGE_FIELDS = ("error", "message", "Message", "detail", "error_description", "msg")


def _server_message(body: bytes, keys: Iterable[Key]) -> str:
    """The message of a server about a failure, in one line."""
    text = body.decode("utf-8", "replace")
    with contextlib.suppress(ValueError, RecursionError):
        text = _message_in(load_json(text)) or text
    # Keys are hidden before the text is cut off, which could cut one in two.
    return _to_line(redact_keys(keys, text[:_MOST_READ]), _LONGEST_MESSAGE)


def _message_in(document: object) -> str:
    """The first text under a key that servers use, at any depth; "" if there is none."""
    if isinstance(document, list):
        return "; ".join(filter(None, map(_message_in, document)))
    if isinstance(document, dict):
        messages = (_message_in(document[name]) for name in _MESSAGE_FIELDS if name in document)
        return next(filter(None, messages), "")
    return document if isinstance(document, str) else ""


def _to_line(text: str, longest: int) -> str:
    """The text with single blanks and without control characters, which could move the cursor."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


# -- answers

Headers = Mapping[str, str | Key]


# Signs a request: takes the method, the address, the headers and the body, gives further headers.
Signer = Callable[[str, str, Mapping[str, str], bytes], Headers]


@dataclass(frozen=True)
class HttpResponse:
    """The complete answer of a server.

    Parameters
    ----------
    url : str
        The address, without user, password and query.
    status : int
        The HTTP status.
    headers : dict of str to str
        By name in lower case.
    body : bytes
        Uncompressed.
    seconds : float
        From the start of the attempt to the last byte.
    keys : tuple of Key
        The keys that were sent.
    """

    url: str
    status: int
    headers: dict[str, str]
    body: bytes = field(repr=False)
    seconds: float
    keys: tuple[Key, ...] = field(default=(), repr=False)

    def json(self) -> Any:
        """The JSON document in the body; keys that the server repeats are replaced by stars."""
        try:
            return redact_document(self.keys, load_json(self.body))
        except (ValueError, RecursionError) as exc:
            kind = self.headers.get("content-type", "no content type")
            text = redact_keys(self.keys, self.body[:_MOST_READ].decode("utf-8", "replace"))
            raise self.error(
                f"expected JSON; got {kind} that starts with "
                f"{_to_line(text, _LONGEST_BEGINNING)!r}; is this the address of the service?"
            ) from exc

    def error(self, message: str) -> RequestError:
        """An error about the content of this answer."""
        return _refuse(self.url, self.keys, message, "content", status=self.status)


# -- retries


def make_retrier(
    *,
    max_attempts: int,
    max_wait: float,
    sleep: Sleep,
    should_retry: Callable[[RequestError], bool] = attrgetter("is_temporary"),
) -> Any:
    """An object of tenacity that calls a function again while its failures are temporary."""
    tenacity = load("tenacity")
    is_last = tenacity.stop_after_attempt(max_attempts)
    # 1, 2, 4 ... seconds, and up to one more.
    backoff = tenacity.wait_exponential_jitter(initial=1.0, max=max_wait, jitter=1.0)

    def give_up(state: Any) -> NoReturn:
        failure, n = copy(state.outcome.exception()), state.attempt_number
        end = f"given up after {n} attempt{'s' if n > 1 else ''}"
        if (failure.retry_after or 0.0) > max_wait:
            end = f"it asks to wait {failure.retry_after:.0f} s, more than max_wait={max_wait:g}"
        failure.message = f"{failure.message}; {end}"
        raise failure from state.outcome.exception()

    def stop(state: Any) -> bool:
        # Asking earlier than the server allows would only be refused again.
        return is_last(state) or (state.outcome.exception().retry_after or 0.0) > max_wait

    def wait(state: Any) -> float:
        requested = state.outcome.exception().retry_after
        # All clients of a busy server are told the same time; the random part keeps them from
        # returning together.
        seconds: float = backoff(state) if requested is None else requested + random.random()  # noqa: S311
        return seconds

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(
            lambda exc: isinstance(exc, RequestError) and should_retry(exc)
        ),
        stop=stop,
        wait=wait,
        sleep=sleep,
        retry_error_callback=give_up,
    )


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """The seconds that the server asks to wait; None if it does not say.

    Examples
    --------
    >>> retry_after_seconds({"retry-after": "3"})
    3.0
    """
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        then = _parse_date(text)
        if then is None:
            return None
        # A date is one of the server's clock (RFC 9110, 10.2.3), which may differ from ours.
        now = _parse_date(headers.get("date", "")) or datetime.now(UTC)
        seconds = (then - now).total_seconds()
    # float() also reads "inf" and "nan", after which no wait would end.
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _parse_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# -- the client

_OK = range(200, 300)


def check_limits(*, max_wait: float, **limits: float) -> None:
    """Refuse limits of a client that no request could keep."""
    for name, value in limits.items():
        if not 0 < value < math.inf:
            raise DataError(f"{name} must be a finite number > 0; got {value!r}")
    if not max_wait >= 0:
        raise DataError(f"max_wait must be a number >= 0; got {max_wait!r}")


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
        Seconds for the connection, for each wait for the server, and for the whole answer.
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
        max_bytes: int = 64 << 20,
        sleep: Sleep = time.sleep,
    ):
        check_limits(
            timeout=timeout, max_attempts=max_attempts, max_wait=max_wait, max_bytes=max_bytes
        )
        self._timeout, self._max_bytes = timeout, max_bytes
        self._has_been_answered = False  # by any server
        self._httpx = load("httpx2")
        self._opened: Any = None
        self._lock = threading.Lock()
        self._retrier = make_retrier(
            max_attempts=max_attempts, max_wait=max_wait, sleep=sleep, should_retry=self._may_pass
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> Any:
        """The library's client, made at the first request: reading certificates takes a while."""
        with self._lock:
            if self._opened is None:
                limits = self._httpx.Limits()  # none: each thread keeps its connection
                try:
                    self._opened = self._httpx.Client(timeout=self._timeout, limits=limits)
                except (OSError, ValueError, self._httpx.InvalidURL) as exc:
                    raise DataError(
                        f"the proxy or the certificates that the environment names cannot be used "
                        f"({exc}): see HTTP_PROXY, HTTPS_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
                    ) from exc
            return self._opened

    def close(self) -> None:
        """Close the open connections."""
        if self._opened is not None:
            self._opened.close()

    def request(
        self,
        method: str,
        url: str,
        *,
        json: object = None,
        headers: Headers | None = None,
        keys: Iterable[Key] = (),
    ) -> HttpResponse:
        """Send a request, again after failures that may pass.

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
        send = partial(self.send, method, url, json=json, headers=headers, keys=tuple(keys))
        return self.retry(send)

    def retry(self, attempt: Callable[[], T]) -> T:
        """Call a function that sends a request again while it raises a temporary failure."""
        outcome: T = self._retrier(attempt)
        return outcome

    def _may_pass(self, failure: RequestError) -> bool:
        # A server that never answered is most likely not running; one that did may be restarting.
        return failure.is_temporary and (self._has_been_answered or not failure.is_unreachable)

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
        """Send a request once; the parameters, the answer and the errors are those of `request`."""
        content = _write_body(json)
        written = {} if content is None else {"content-type": "application/json"}
        written |= _write_headers(headers or {})
        sent = (*keys, *(value for value in (headers or {}).values() if isinstance(value, Key)))
        if signer is not None:
            written |= _write_headers(signer(method, url, written, content or b""))
            sent += getattr(signer, "keys", ())
        # Keys first: redact_url may cut one in two, at a # in it.
        shown = redact_url(redact_keys(sent, url))
        address = check_address(url)
        refuse = partial(_refuse, shown, sent)
        started = time.monotonic()
        try:
            with self._open().stream(method, address, content=content, headers=written) as response:
                self._has_been_answered = True
                body = self._read_body(response, started, refuse)
        # Errors of the request itself: no server will ever accept it, so it is not retried.
        except (self._httpx.InvalidURL, self._httpx.LocalProtocolError, UnicodeError) as exc:
            message = redact_keys(sent, str(exc))
            error = DataError(f"{shown}: the request cannot be sent: {message}")
            raise error from (None if sent else exc)
        except self._httpx.RequestError as exc:
            raise self._transport_error(exc, refuse) from (None if sent else exc)
        status = response.status_code
        named = {name.lower(): value for name, value in response.headers.items()}
        if status not in _OK:
            said = _server_message(body, sent)
            message = f"answered {status}{said and f': {said}'}"
            message += _advice(status, named, has_key=bool(sent))
            raise refuse(message, "status", status=status, retry_after=retry_after_seconds(named))
        seconds = time.monotonic() - started
        return HttpResponse(shown, status, named, body, seconds, sent)

    def _read_body(
        self, response: Any, started: float, refuse: Callable[..., RequestError]
    ) -> bytes:
        """Read the body in pieces, so that one that is too large or never ends is not held."""
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            # The library's own time-out starts anew with each piece.
            if time.monotonic() - started > self._timeout:
                raise self._httpx.ReadTimeout("the answer does not end")
            # Counted after decompression: a small compressed body can expand to gigabytes.
            if len(body) > self._max_bytes:
                raise refuse(
                    f"the answer is larger than max_bytes={self._max_bytes:,} bytes; raise "
                    "max_bytes, or ask for less at a time",
                    "size",
                    status=response.status_code,
                )
        return bytes(body)

    def _transport_error(self, exc: Exception, refuse: Callable[..., RequestError]) -> RequestError:
        if isinstance(exc, self._httpx.TimeoutException):
            return refuse(f"no complete answer within timeout={self._timeout:g} seconds", "timeout")
        # A damaged body is a fault of content: the same answer would come again.
        if isinstance(exc, self._httpx.DecodingError):
            return refuse(f"the answer cannot be decompressed: {exc}", "content")
        # Certificates come first, because the library reports them as ConnectError as well.
        if _is_about_trust(exc):
            return refuse(
                f"the server's certificate is not trusted ({exc}); if it is your own, set the "
                "environment variable SSL_CERT_FILE to the file of its certificate authority",
                "certificate",
            )
        if isinstance(exc, self._httpx.ConnectError):
            message = f"cannot be reached ({exc}); is the server running?"
            return refuse(message, "connection", is_unreachable=True)
        return refuse(f"the connection broke off: {exc}", "connection")


def _refuse(
    url: str, keys: tuple[Key, ...], message: str, failure: Failure, **fields: Any
) -> RequestError:
    return RequestError(redact_keys(keys, message), url=url, failure=failure, **fields)


def _write_body(body: object) -> bytes | None:
    try:
        # NaN is not JSON: the server would refuse it without saying which value.
        return None if body is None else json_format.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as exc:
        raise DataError(f"the body of the request cannot be written as JSON: {exc}") from exc


def _write_headers(headers: Headers) -> dict[str, str]:
    written = {
        name: value.header() if isinstance(value, Key) else value for name, value in headers.items()
    }
    for name, value in written.items():
        if not (value.isascii() and value.isprintable() and value == value.strip()):
            raise DataError(
                f"the header {name!r} contains characters that cannot be sent in a header"
            )
    return written


def _is_about_trust(exc: BaseException | None) -> bool:
    """Whether a certificate caused it; the HTTP library hides that in a chain of causes."""
    while exc is not None:
        if isinstance(exc, ssl.SSLCertVerificationError):
            return True
        exc = exc.__cause__ or exc.__context__
    return False


def _advice(status: int, headers: Mapping[str, str], *, has_key: bool) -> str:
    if 300 <= status < 400 and "location" in headers:
        return f" (it has moved to {redact_url(headers['location'])}: use that address)"
    if status in (401, 403):
        return " (the key was refused)" if has_key else " (no key was sent)"
    return " (is the address right?)" if status == 404 else ""

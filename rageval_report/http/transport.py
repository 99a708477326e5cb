"""The way of a request to the network: direct or through a proxy, with a deadline on every byte.

The HTTP library has no argument for a network backend, but its connection pools have one, and it
accepts a transport of one's own. Given one, it no longer looks for proxies in the environment; so
this transport does.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.request import getproxies

import httpcore2
import httpx2

from rageval_report._registry import load
from rageval_report.errors import DataError
from rageval_report.http.addresses import redact_url
from rageval_report.http.deadlines import Deadline, DeadlineNetwork, DeadlineStream

# The library's own defaults, which an explicit Limits() would remove.
_DEFAULT_LIMITS = httpx2.Limits(max_connections=100, max_keepalive_connections=20)
# Each error of the lower library, and that of the upper one which its users catch.
_ERRORS: dict[type[Exception], type[httpx2.TransportError]] = {
    getattr(httpcore2, name): getattr(httpx2, name)
    for name in (
        *("TimeoutException", "ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout"),
        *("NetworkError", "ConnectError", "ReadError", "WriteError", "ProxyError"),
        *("UnsupportedProtocol", "ProtocolError", "LocalProtocolError", "RemoteProtocolError"),
    )
}


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

    Raises
    ------
    DataError
        If a proxy in the environment is not a valid address.

    Examples
    --------
    >>> with make_client(Deadline(), timeout=5.0) as client:
    ...     client.follow_redirects
    False
    """
    transport = DeadlineTransport(deadline, limits, Proxies.of_environment())
    return httpx2.Client(timeout=timeout, follow_redirects=False, transport=transport)


@dataclass(frozen=True)
class Proxies:
    """Which proxy a request goes through.

    Parameters
    ----------
    by_scheme : dict of str to str
        The address of the proxy for "http", "https" and "all".
    exceptions : tuple of str
        The hosts that are asked directly: names, which stand for their subdomains as well, IP
        addresses, networks such as "10.0.0.0/8", or "*" for all.

    Examples
    --------
    >>> proxies = Proxies({"all": "http://proxy:3128"}, ("example.com", "10.0.0.0/8"))
    >>> proxies.proxy_for("https", "example.org")
    'http://proxy:3128'
    >>> proxies.proxy_for("https", "www.example.com") is proxies.proxy_for("http", "10.1.2.3")
    True
    """

    by_scheme: dict[str, str] = field(default_factory=dict)
    exceptions: tuple[str, ...] = ()

    @classmethod
    def of_environment(cls) -> Proxies:
        """Those of the environment variables ``http_proxy``, ``no_proxy`` and so on."""
        proxies = getproxies()
        # A proxy may be written without a scheme, as curl allows.
        by_scheme = {
            scheme: proxies[scheme] if "://" in proxies[scheme] else f"http://{proxies[scheme]}"
            for scheme in ("http", "https", "all")
            if proxies.get(scheme)
        }
        hosts = (host.strip() for host in proxies.get("no", "").split(","))
        return cls(by_scheme, tuple(host for host in hosts if host))

    def proxy_for(self, scheme: str, host: str) -> str | None:
        """The address of the proxy; None to ask directly."""
        proxy = self.by_scheme.get(scheme) or self.by_scheme.get("all")
        if proxy is None or any(_is_exception(host.lower(), entry) for entry in self.exceptions):
            return None
        return proxy


def _is_exception(host: str, entry: str) -> bool:
    """Whether a host is the one that an entry of ``no_proxy`` stands for."""
    if entry == "*":
        return True
    entry = entry.lower().partition("://")[2] or entry.lower()
    try:
        network = ipaddress.ip_network(entry.strip("[]"), strict=False)
        return ipaddress.ip_address(host.strip("[]")) in network
    except ValueError:  # one of them is a name
        name = entry.removeprefix("*").lstrip(".").partition(":")[0]
        return host == name or host.endswith(f".{name}")


class DeadlineTransport(httpx2.BaseTransport):
    """Sends requests through connections that observe a deadline.

    Parameters
    ----------
    deadline : Deadline
        The deadline, set for each request.
    limits : httpx2.Limits
        How many connections are kept.
    proxies : Proxies
        The proxies.
    """

    def __init__(self, deadline: Deadline, limits: httpx2.Limits, proxies: Proxies):
        self._network, self._limits, self._proxies = DeadlineNetwork(deadline), limits, proxies
        # By the proxy, and by whether the connections are encrypted.
        self._pools: dict[tuple[str | None, bool], httpcore2.ConnectionPool] = {}
        self._lock = threading.Lock()
        # Now, and not at the first request: a wrong setting is reported before anything is asked.
        for proxy in {None, *proxies.by_scheme.values()}:
            self._pool(proxy, is_encrypted=False)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and return the answer when its headers have come.

        Raises
        ------
        DataError
            If the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read.
        """
        url = request.url
        proxy = self._proxies.proxy_for(url.scheme, url.host)
        pool = self._pool(proxy, is_encrypted=url.scheme == "https")
        if not isinstance(request.stream, httpx2.SyncByteStream):
            raise TypeError("the body of the request must be synchronous")
        with _errors_of_upper_library():
            response = pool.handle_request(
                httpcore2.Request(
                    method=request.method,
                    url=_core_url(url),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        _require_deadline(response)
        return httpx2.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Body(response),
            extensions=response.extensions,
        )

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            for pool in self._pools.values():
                pool.close()

    def _pool(self, proxy: str | None, *, is_encrypted: bool) -> httpcore2.ConnectionPool:
        key = (proxy, is_encrypted)
        with self._lock:
            if key not in self._pools:
                self._pools[key] = self._make_pool(proxy, is_encrypted=is_encrypted)
            return self._pools[key]

    def _make_pool(self, proxy: str | None, *, is_encrypted: bool) -> httpcore2.ConnectionPool:
        limits = self._limits
        settings: dict[str, Any] = {
            # Reading the certificates takes longer than all else here: only where they are used.
            "ssl_context": _load_certificates() if is_encrypted else None,
            "max_connections": limits.max_connections,
            "max_keepalive_connections": limits.max_keepalive_connections,
            "keepalive_expiry": limits.keepalive_expiry,
            "network_backend": self._network,
        }
        if proxy is None:
            return httpcore2.ConnectionPool(**settings)
        try:
            server = httpx2.Proxy(proxy)
        except (ValueError, httpx2.InvalidURL) as exc:
            raise DataError(
                "the proxy in the environment must be an address such as 'http://host:3128'; got "
                f"{redact_url(proxy)!r}"
            ) from exc
        is_socks = server.url.scheme.startswith("socks")
        kind = _socks_proxy() if is_socks else httpcore2.HTTPProxy
        pool: httpcore2.ConnectionPool = kind(_core_url(server.url), server.raw_auth, **settings)
        return pool


def _load_certificates() -> ssl.SSLContext:
    try:
        return httpx2.create_ssl_context()
    except OSError as exc:  # also ssl.SSLError: a file without certificates
        name = "SSL_CERT_FILE" if os.environ.get("SSL_CERT_FILE") else "SSL_CERT_DIR"
        raise DataError(
            f"{name}: the certificates in {os.environ.get(name)!r} cannot be read ({exc}). Set the "
            "environment variable to a file or folder of certificate authorities, or unset it"
        ) from exc


def _core_url(url: httpx2.URL) -> httpcore2.URL:
    return httpcore2.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )


def _socks_proxy() -> type[httpcore2.SOCKSProxy]:
    load("socksio")  # the HTTP library itself misses it without naming it
    return httpcore2.SOCKSProxy


def _require_deadline(response: httpcore2.Response) -> None:
    """Check that the answer came through a connection of ours: no other one has a deadline.

    Raises
    ------
    RuntimeError
        If it did not, because a new version of the library does something else with the network
        backend. Without the check, a server that is slow enough would be waited for without end.
    """
    stream = response.extensions.get("network_stream")
    if not isinstance(stream, DeadlineStream):
        raise RuntimeError(
            f"httpcore2 {httpcore2.__version__} sent a request without a deadline, through "
            f"{type(stream).__name__}; install a version that this library was tested with"
        )


class _Body(httpx2.SyncByteStream):
    """The body of an answer, whose errors are those of the upper library."""

    def __init__(self, response: httpcore2.Response):
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        with _errors_of_upper_library():
            yield from self._response.iter_stream()

    def close(self) -> None:
        with _errors_of_upper_library():
            self._response.close()


@contextmanager
def _errors_of_upper_library() -> Iterator[None]:
    try:
        yield
    except tuple(_ERRORS) as exc:
        kind = next(_ERRORS[level] for level in type(exc).__mro__ if level in _ERRORS)
        raise kind(str(exc)) from exc

"""Addresses of servers: checked once, and printed without their secret parts."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from rageval_report.errors import DataError
from rageval_report.http.literal_keys import hide_literal_keys


def check_address(url: str) -> str:
    """Check an address, and return it.

    Raises
    ------
    DataError
        If it is not an HTTP address, or contains a user or password.

    Examples
    --------
    >>> check_address("http://localhost:11434/v1")
    'http://localhost:11434/v1'
    """
    parts = _split_url(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise DataError(f"expected an address such as 'https://host/path'; got {redact_url(url)!r}")
    if parts.username is not None or parts.password is not None:
        raise DataError(
            f"{redact_url(url)}: do not put credentials in a URL: they end up in logs. Send a "
            "header whose key comes from an environment variable"
        )
    return url


def redact_url(url: str) -> str:
    """The address without user, password, query, fragment and whatever looks like a key.

    Examples
    --------
    >>> redact_url("https://me:secret@host:8000/v1?key=secret#part")
    'https://host:8000/v1'
    """
    # By hand, because urlsplit raises on malformed addresses, and those too are printed in errors.
    bare = url.partition("#")[0].partition("?")[0]
    front, slashes, rest = bare.partition("//")
    host, slash, path = rest.partition("/")
    return hide_literal_keys(front + slashes + host.rpartition("@")[2] + slash + path)


def _split_url(url: str) -> SplitResult | None:
    """The parts of an address; None if it is malformed, e.g. if the port is not a number."""
    # urlsplit drops tabs and line ends in silence, so that another address would be asked than the
    # one shown.
    if not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return None
    return parts

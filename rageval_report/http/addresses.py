"""Addresses of servers: checked once, and shown without what may be secret in them."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from rageval_report.errors import DataError


def check_address(url: str) -> str:
    """The address, if one can ask there.

    Raises
    ------
    DataError
        If it is no address of HTTP, or holds a user or password.

    Examples
    --------
    >>> check_address("http://localhost:11434/v1")
    'http://localhost:11434/v1'
    """
    parts = _parts(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise DataError(f"expected an address as 'https://host/path', got {redact_url(url)!r}")
    if parts.username is not None or parts.password is not None:
        raise DataError(
            f"{redact_url(url)}: do not put credentials in a URL: they end up in logs. Send a "
            "header whose key comes from an environment variable"
        )
    return url


def redact_url(url: str) -> str:
    """The address without user, password, query and fragment, any of which may be a key.

    Examples
    --------
    >>> redact_url("https://me:secret@host:8000/v1?key=secret#part")
    'https://host:8000/v1'
    """
    bare = url.partition("#")[0].partition("?")[0]
    front, slashes, rest = bare.partition("//")
    host, slash, path = rest.partition("/")
    return front + slashes + host.rpartition("@")[2] + slash + path


def _parts(url: str) -> SplitResult | None:
    """The parts of an address; None where it has none, as with a port that is no number."""
    if not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts

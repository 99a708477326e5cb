"""What a server said, short enough for a line, safe to print, and without keys."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from rageval_report.http.keys import Key

_LONGEST = 300
_LONGEST_BEGINNING = 60
_LOOKED_AT = 4096  # characters, or bytes of them
_PLACES = ("error", "message", "detail", "error_description", "msg")  # where servers put it


def server_message(body: bytes, keys: Iterable[Key] = ()) -> str:
    """What the server says of a failure, in one line.

    Parameters
    ----------
    body : bytes
        Its answer: JSON with a message somewhere, or any text.
    keys : iterable of Key
        The keys that were sent; some servers repeat them.

    Examples
    --------
    >>> server_message(b'{"error": {"message": "model not found", "code": 404}}')
    'model not found'
    >>> server_message(b"<h1>Bad gateway</h1>")
    '<h1>Bad gateway</h1>'
    """
    text = body.decode("utf-8", "replace")
    try:
        said = _message_in(json.loads(text)) or text
    except (ValueError, RecursionError):
        said = text
    return _line(redact_keys(keys, said), _LONGEST)


def quote_beginning(body: bytes, keys: Iterable[Key] = ()) -> str:
    r"""How an answer begins, in one line.

    Examples
    --------
    >>> quote_beginning(b"<!doctype html>\n<title>Hello</title>")
    '<!doctype html> <title>Hello</title>'
    """
    text = body[:_LOOKED_AT].decode("utf-8", "replace")
    return _line(redact_keys(keys, text), _LONGEST_BEGINNING)


def _message_in(document: Any) -> str:
    """The first text under a name that servers use, however deep; "" where there is none."""
    if isinstance(document, str):
        return document
    if isinstance(document, list):
        return "; ".join(filter(None, map(_message_in, document)))
    if isinstance(document, dict):
        found = (_message_in(document[name]) for name in _PLACES if name in document)
        return next(filter(None, found), "")
    return ""


def redact_keys(keys: Iterable[Key], text: str) -> str:
    """The text with stars where keys stood; to be cut only afterwards, lest half a key remains.

    Examples
    --------
    >>> redact_keys([Key("sk-1")], "sk-1 is wrong")
    '*** is wrong'
    """
    for key in keys:
        text = key.redact(text)
    return text


def _line(text: str, longest: int) -> str:
    """The text with single blanks and nothing that moves a cursor."""
    printable = (c if c.isprintable() else " " for c in text[:_LOOKED_AT])
    line = " ".join("".join(printable).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"

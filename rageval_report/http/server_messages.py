"""Messages of servers, shortened to one line, safe to print, and without keys."""

from __future__ import annotations

from collections.abc import Iterable

from rageval_report.files.strict_json import load_json
from rageval_report.http.keys import Key, redact_keys

_LONGEST_MESSAGE = 300
_LONGEST_BEGINNING = 60
# A page of HTML may be megabytes long; its beginning says which server it is.
_MOST_READ = 4096  # characters
# Keys are hidden before a text is cut; this cut is far behind the characters that are shown.
_MOST_REDACTED = 1 << 16
# OpenAI nests {"error": {"message"}}, FastAPI writes "detail", OAuth "error_description", and
# Amazon's gateways "Message".
_MESSAGE_KEYS = ("error", "message", "Message", "detail", "error_description", "msg")


def server_message(body: bytes, keys: Iterable[Key] = (), kind: str = "") -> str:
    """The message of a server about a failure, in one line.

    Parameters
    ----------
    body : bytes
        The answer: JSON with a message somewhere in it, or any text.
    keys : iterable of Key
        The keys that were sent, which some servers repeat.
    kind : str
        The kind of the failure, if a header names it; an address may follow it.

    Examples
    --------
    >>> server_message(b'{"message": "Slow down"}', kind="ThrottlingException:http://host/")
    'ThrottlingException: Slow down'
    >>> server_message(b'{"error": {"message": "model not found", "code": 404}}')
    'model not found'
    >>> server_message(b"<h1>Bad gateway</h1>")
    '<h1>Bad gateway</h1>'
    """
    text = body.decode("utf-8", "replace")
    try:
        message = _message_in(load_json(text)) or text
    except (ValueError, RecursionError):
        message = text
    # Keys are hidden before the address is cut off, which could cut one in two.
    name = redact_keys(keys, kind).partition(":")[0]
    parts = filter(None, (name, redact_keys(keys, message)))
    return _to_line(": ".join(parts), _LONGEST_MESSAGE)


def quote_beginning(body: bytes, keys: Iterable[Key] = ()) -> str:
    r"""The beginning of an answer, in one line.

    Examples
    --------
    >>> quote_beginning(b"<!doctype html>\n<title>Hello</title>")
    '<!doctype html> <title>Hello</title>'
    """
    text = body[:_MOST_REDACTED].decode("utf-8", "replace")
    return _to_line(redact_keys(keys, text), _LONGEST_BEGINNING)


def _message_in(document: object) -> str:
    """The first text under a key that servers use, at any depth; "" if there is none."""
    if isinstance(document, str):
        return document
    if isinstance(document, list):
        return "; ".join(filter(None, map(_message_in, document)))
    if isinstance(document, dict):
        messages = (_message_in(document[key]) for key in _MESSAGE_KEYS if key in document)
        return next(filter(None, messages), "")
    return ""


def _to_line(text: str, longest: int) -> str:
    """The text with single blanks and without control characters."""
    # A server must not be able to move the cursor or colour the terminal.
    printable = (c if c.isprintable() else " " for c in text[:_MOST_READ])
    line = " ".join("".join(printable).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"

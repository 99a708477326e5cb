"""Server-sent events: an answer that a server sends piece by piece."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# The three line ends of the standard; "\r\n" first, or it would count as two.
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Event:
    """One event.

    Parameters
    ----------
    name : str
        The name of the event; "message" if the server gives none.
    data : str
        The data of the event.
    place : int
        The position of the byte that completed it.
    """

    name: str
    data: str
    place: int


def events_in(body: bytes) -> Iterator[Event]:
    r"""The events of a stream, in order; an incomplete event at the end is ignored.

    Parameters
    ----------
    body : bytes
        The complete stream.

    References
    ----------
    .. [1] HTML Living Standard, section 9.2, Server-sent events.

    Examples
    --------
    >>> list(events_in(b": hello\n\ndata: one\ndata: two\n\ndata: cut"))
    [Event(name='message', data='one\ntwo', place=29)]
    """
    data: list[str] = []
    name, place = "", len(_BYTE_ORDER_MARK) if body.startswith(_BYTE_ORDER_MARK) else 0
    for end in _LINE_END.finditer(body, place):
        line, place = body[place : end.start()].decode("utf-8", "replace"), end.end()
        if not line:
            # An event without data is not dispatched, by the standard; its name is dropped with it.
            if data:
                yield Event(name or "message", "\n".join(data), end.start())
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        # The standard drops one blank after the colon, not more: a piece of an answer may begin
        # with one.
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value

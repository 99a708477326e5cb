"""A server as a target: asked over HTTP, with complete or streamed answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rageval_report.errors import PipelineError
from rageval_report.files.strict_json import load_json
from rageval_report.http.addresses import check_address, redact_url
from rageval_report.http.keys import (
    VARIABLE,
    Key,
    fill_keys,
    fill_keys_in_url,
    hidden_names,
    keys_named_in,
    redact_document,
    redact_keys,
)
from rageval_report.http.literal_keys import check_body, check_header, check_url_template
from rageval_report.http.request_errors import RequestError
from rageval_report.http.streams import TimedClient, TimedResponse
from rageval_report.runner.paths import value_at
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import ResponsePaths, TargetReply, record_fields
from rageval_report.runner.target_errors import TargetError, target_error
from rageval_report.runner.targets.base import MOST_BYTES, SNAPSHOT, Target, digest_of
from rageval_report.runner.targets.events import Event, events_in
from rageval_report.runner.templates import fill_template, fill_url

_LONGEST_QUOTE = 200
_MILLISECONDS = 1000.0
_DEFAULT_END = "[DONE]"


@dataclass(frozen=True)
class StreamSettings:
    """How to read an answer that is streamed as server-sent events.

    Parameters
    ----------
    text : str
        The path of a piece of the answer in an event, such as ``choices.0.delta.content``; an empty
        path if the event itself is the piece, as it is if its data is not JSON.
    done : str, optional
        The data, or the name, of the event that ends an answer; an answer without it is cut. If
        omitted, "[DONE]" ends an answer, but is not required.
    """

    text: str = "delta"
    done: str | None = None


@dataclass(frozen=True)
class HttpSettings:
    """How to ask a server.

    ``${RAG_API_KEY}`` in a header, in the body, and in the path or the query of an address is
    filled in from that environment variable. What it holds is taken for a key: it is replaced by
    stars in everything that the server says. A literal key is refused, because settings are shared
    and written into files; `rageval_report.http.literal_keys` says how one is recognised.

    Parameters
    ----------
    url : str
        The address; ``{question}`` is filled in and escaped.
    method : str
        Such as "POST" or "GET".
    headers : dict of str to str
        For example ``Authorization: Bearer ${RAG_API_KEY}``.
    body : JSON value
        The body of the request; ``{question}``, ``{query_id}`` and names of metadata are filled in,
        except those that reveal the gold. GET has no body.
    response : ResponsePaths
        The paths of the fields of a record in the answer.
    stream : StreamSettings, optional
        How to read a streamed answer; if omitted, answers are not streamed.
    timeout : float
        Seconds that a query may take.
    max_bytes : int, default 10 MB
        A larger answer is a failure.
    health_url : str, optional
        An address that answers 200 if the server is ready; if omitted, any answer at `url` will do.
    config_url : str, optional
        An address that returns the configuration of the server.
    config : dict of str to str
        The path of each setting in that answer, by name; its own name if omitted.

    Raises
    ------
    DataError
        If a header, the body or an address contains a literal key.
    """

    url: str
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = field(default_factory=lambda: {"question": "{question}"})
    response: ResponsePaths = field(default_factory=ResponsePaths)
    stream: StreamSettings | None = None
    timeout: float = 60.0
    max_bytes: int = MOST_BYTES
    health_url: str | None = None
    config_url: str | None = None
    config: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.headers.items():
            check_header(name, value)
        check_body(self.body)
        for name in ("url", "health_url", "config_url"):
            url = getattr(self, name)
            if url:
                check_url_template(url, name)

    @property
    def templates(self) -> tuple[object, ...]:
        """What may name keys besides the headers."""
        return (self.body, self.url, self.health_url, self.config_url)


class HttpTarget(Target):
    """A server that is asked over HTTP.

    Parameters
    ----------
    settings : HttpSettings
        How it is asked.

    Raises
    ------
    DataError
        If an address is malformed, or the variable of a key is not set.

    Examples
    --------
    >>> HttpTarget(HttpSettings("http://localhost:8001/answer")).identity()["url"]
    'http://localhost:8001/answer'
    """

    settings_type = HttpSettings

    def __init__(self, settings: HttpSettings):
        for url in (settings.url, settings.health_url, settings.config_url):
            # Keys are left out, because an error shows the address.
            check_address(fill_url(VARIABLE.sub("x", url or settings.url), _AnyField()))
        self._settings = settings
        self._by_name = {
            **keys_named_in(settings.templates),
            **keys_named_in(settings.headers, for_header=True),
        }
        self._connections = 1
        self._lock = threading.Lock()
        self._opened: TimedClient | None = None

    @property
    def _client(self) -> TimedClient:
        """Created at the first request, because loading the trusted certificates takes a while."""
        with self._lock:
            if self._opened is None:
                settings = self._settings
                self._opened = TimedClient(
                    timeout=settings.timeout,
                    max_bytes=settings.max_bytes,
                    connections=self._connections,
                )
            return self._opened

    def prepare(self, concurrency: int) -> None:
        """Keep a connection open for each thread."""
        # The number of kept connections is fixed when a client is made.
        self.close()
        self._connections = concurrency

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = None

    def identity(self) -> dict[str, Any]:
        """The address, the template, the names of headers, and a digest of what may be secret."""
        settings = self._settings
        paths, stream = asdict(settings.response), settings.stream and asdict(settings.stream)
        return {
            "target": "http",
            "url": redact_url(settings.url),
            "method": settings.method,
            # Names alone: the values may be keys.
            "headers": sorted(settings.headers),
            "body": settings.body if self._sends else None,
            "stream": settings.stream is not None,
            "settings": digest_of(settings.url, settings.headers, paths, stream),
        }

    @property
    def _keys(self) -> tuple[Key, ...]:
        return tuple(self._by_name.values())

    @property
    def _headers(self) -> dict[str, str]:
        """The headers with their keys; made for each request, so that nothing holds them."""
        headers: dict[str, str] = fill_keys(self._settings.headers, self._by_name)
        return headers

    @property
    def _sends(self) -> bool:
        return self._settings.method.upper() not in ("GET", "HEAD")

    def ask(self, query: Query) -> TargetReply:
        """Send the question and read the answer."""
        settings, fields = self._settings, query.public_fields
        body = fill_template(settings.body, fields, self._by_name) if self._sends else None
        url = fill_url(settings.url, fields, self._by_name)
        try:
            timed = self._client.ask(
                settings.method, url, json=body, headers=self._headers, keys=self._keys
            )
            if settings.stream is None:
                return _complete_reply(timed, settings.response, self._by_name)
            return _streamed_reply(timed, settings.stream, settings.response, self._by_name)
        except RequestError as exc:
            raise target_error(exc) from exc
        except RecursionError as exc:
            raise TargetError("the answer is nested too deeply", "content") from exc

    def check(self) -> None:
        """Ask the health address, or check whether anything answers at the address."""
        settings = self._settings
        url = (
            fill_keys_in_url(settings.health_url, self._by_name)
            if settings.health_url
            else fill_url(settings.url, _AnyField(), self._by_name)
        )
        try:
            self._client.ask("GET", url, headers=self._headers, keys=self._keys)
        except RequestError as exc:
            # Without a health address a GET may well be refused (405) by a server that answers
            # POST.
            is_reachable = settings.health_url is None and exc.failure in ("status", "size")
            if not is_reachable:
                raise PipelineError(f"the pipeline cannot be asked: {exc}") from exc

    def snapshot(self) -> dict[str, Any]:
        """The configuration that the server reports; null where it reports nothing."""
        settings = self._settings
        if settings.config_url is None:
            return super().snapshot()
        try:
            url = fill_keys_in_url(settings.config_url, self._by_name)
            timed = self._client.ask("GET", url, headers=self._headers, keys=self._keys)
            document = timed.answer.json()
        except RequestError as exc:
            raise PipelineError(
                f"the configuration of the pipeline cannot be fetched: {exc}"
            ) from exc
        names = dict.fromkeys((*SNAPSHOT, *settings.config))
        return {name: value_at(document, settings.config.get(name, name)) for name in names}


class _AnyField(dict[str, Any]):
    """A value for every field, to check the form of an address."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return "x"


def _complete_reply(
    timed: TimedResponse, paths: ResponsePaths, keys: Mapping[str, Key]
) -> TargetReply:
    document = timed.answer.json()
    fields = record_fields(document, paths)
    hidden = hidden_names(keys, fields, lambda: json.loads(timed.answer.body))
    reply = TargetReply(fields, 0.0, document=document, hidden=hidden)
    return _with_timing(reply, timed, timed.first_byte_seconds)


def _with_timing(
    reply: TargetReply, timed: TimedResponse, first_seconds: float | None
) -> TargetReply:
    first = None if first_seconds is None else _MILLISECONDS * first_seconds
    return replace(reply, latency_ms=_MILLISECONDS * timed.answer.seconds, first_byte_ms=first)


# -- streams


def _streamed_reply(
    timed: TimedResponse, stream: StreamSettings, paths: ResponsePaths, by_name: Mapping[str, Key]
) -> TargetReply:
    keys = tuple(by_name.values())
    texts: list[str] = []
    last: dict[str, Any] = {}
    place, is_done = None, stream.done is None
    for event in events_in(timed.answer.body):
        # Servers report a failure in mid-stream as an event, because the status 200 was sent long
        # before.
        if event.name == "error":
            message = redact_keys(keys, event.data)[:_LONGEST_QUOTE]
            raise TargetError(f"the server sent an error: {message}", "content")
        document = _document(event.data)
        if _is_end(event, document, stream.done or _DEFAULT_END):
            last |= _fields_of(document)
            is_done = True
            break
        piece = document if isinstance(document, str) else value_at(document, stream.text)
        if isinstance(piece, str) and piece:
            place = event.place if place is None else place
            texts.append(piece)
        last |= _fields_of(document)
    if not is_done:
        raise TargetError(f"the answer ended before the event {stream.done!r}", "content")
    answer = "".join(texts)
    reply = _join_pieces(
        redact_keys(keys, answer), redact_document(keys, last), timed, place, paths
    )
    return replace(reply, hidden=hidden_names(by_name, reply.fields, lambda: [answer, last]))


def _is_end(event: Event, document: Any, end: str) -> bool:
    """Whether the event has that name, or that data: the same text, or the same JSON."""
    return end in (event.name, event.data) or (
        isinstance(document, dict) and document == _document(end)
    )


def _fields_of(document: Any) -> dict[str, Any]:
    """The other fields of an event, besides a piece of the answer."""
    if not isinstance(document, dict):
        return {}
    return {key: value for key, value in document.items() if value is not None}


def _document(data: str) -> Any:
    try:
        return load_json(data)
    except (ValueError, RecursionError):
        return data


def _join_pieces(
    answer: str, last: dict[str, Any], timed: TimedResponse, place: int | None, paths: ResponsePaths
) -> TargetReply:
    """Join the pieces to one reply, with the last value of each other field of the events."""
    if place is None:
        error = timed.answer.error("expected pieces of an answer in the events; there are none")
        raise target_error(error)
    rest = record_fields({**last, "answer": answer}, replace(paths, answer="answer"))
    return _with_timing(TargetReply(rest, 0.0, document=last), timed, timed.seconds_at(place))

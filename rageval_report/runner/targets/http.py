"""A server as a target: asked over HTTP, answers whole or as server-sent events."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rageval_report.errors import DataError, PipelineError
from rageval_report.http.addresses import check_address, redact_url
from rageval_report.http.keys import Key, key_from_environment
from rageval_report.http.request_errors import RequestError
from rageval_report.http.server_messages import redact_keys
from rageval_report.http.streams import TimedClient, TimedResponse
from rageval_report.runner.paths import value_at
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import ResponsePaths, TargetReply, record_fields
from rageval_report.runner.target_errors import TargetError, target_error
from rageval_report.runner.targets.base import MOST_BYTES, SNAPSHOT, Target, digest_of
from rageval_report.runner.targets.events import Event, events_in
from rageval_report.runner.templates import fill_template, fill_url

_VARIABLE = re.compile(r"(?:(\S+) )?\$\{(\w+)\}")
_OF_KEYS = re.compile(r"authorization|cookie|key|token|secret", re.IGNORECASE)
_LONGEST_SHOWN = 200
_MILLISECONDS = 1000.0
_USUAL_END = "[DONE]"


@dataclass(frozen=True)
class StreamSettings:
    """How an answer comes in pieces, as server-sent events.

    Parameters
    ----------
    text : str
        Where a piece of the answer stands in an event, as ``choices.0.delta.content``; an empty
        path where the event is the piece, as it is where its data is no JSON.
    done : str, optional
        The data, or the name, of the event that ends an answer; without it the answer was cut.
        Where not given, "[DONE]" ends one too, and need not come.
    """

    text: str = "delta"
    done: str | None = None


@dataclass(frozen=True)
class HttpSettings:
    """How a server is asked.

    Parameters
    ----------
    url : str
        Its address; ``{question}`` is filled in and escaped.
    method : str
        As "POST" or "GET".
    headers : dict of str to str
        A key is named, not written: ``Authorization: Bearer ${RAG_API_KEY}`` takes it from that
        environment variable.
    body : JSON value
        What is sent; ``{question}``, ``{query_id}`` and the names of metadata are filled in, but
        for those that tell the gold. Nothing is sent with GET.
    response : ResponsePaths
        Where the fields of a record stand in the answer.
    stream : StreamSettings, optional
        How the answer comes in pieces; it comes whole where not given.
    timeout : float
        Seconds that a query may take.
    max_bytes : int, default 10 MB
        An answer that is larger is a failure.
    health_url : str, optional
        What answers 200 when the server can be asked; without it, the address need only be there.
    config_url : str, optional
        What tells how the server is set up.
    config : dict of str to str
        By name of a setting, where it stands in that answer; under its own name where not given.
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


class HttpTarget(Target):
    """A server that is asked over HTTP.

    Parameters
    ----------
    settings : HttpSettings
        How it is asked.

    Raises
    ------
    DataError
        If an address is none, or a key stands in the settings, or in no variable.

    Examples
    --------
    >>> HttpTarget(HttpSettings("http://localhost:8001/answer")).identity()["url"]
    'http://localhost:8001/answer'
    """

    settings_type = HttpSettings

    def __init__(self, settings: HttpSettings):
        for url in (settings.url, settings.health_url, settings.config_url):
            check_address(fill_url(url, _Anything()) if url else settings.url)
        self._settings = settings
        self._headers = {name: _header(name, value) for name, value in settings.headers.items()}
        self._connections = 1
        self._lock = threading.Lock()
        self._opened: TimedClient | None = None

    @property
    def _client(self) -> TimedClient:
        """Made when something is asked: the trusted certificates take a while to load."""
        with self._lock:
            if self._opened is None:
                told = self._settings
                self._opened = TimedClient(
                    timeout=told.timeout, max_bytes=told.max_bytes, connections=self._connections
                )
            return self._opened

    def prepare(self, concurrency: int) -> None:
        """Keep a connection open for each thread."""
        self.close()
        self._connections = concurrency

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = None

    def identity(self) -> dict[str, Any]:
        """Address and template; of headers the names, and of what may be secret a digest."""
        told = self._settings
        paths, stream = asdict(told.response), told.stream and asdict(told.stream)
        return {
            "target": "http",
            "url": redact_url(told.url),
            "method": told.method,
            "headers": sorted(told.headers),
            "body": told.body if self._sends else None,
            "stream": told.stream is not None,
            "settings": digest_of(told.url, told.headers, paths, stream),
        }

    @property
    def _keys(self) -> list[Key]:
        return [value for value in self._headers.values() if isinstance(value, Key)]

    @property
    def _sends(self) -> bool:
        return self._settings.method.upper() not in ("GET", "HEAD")

    def ask(self, query: Query) -> TargetReply:
        """Send the question and read the answer."""
        told, fields = self._settings, query.public_fields
        body = fill_template(told.body, fields) if self._sends else None
        try:
            timed = self._client.ask(
                told.method, fill_url(told.url, fields), json=body, headers=self._headers
            )
            if told.stream is None:
                return _whole(timed, told.response, self._keys)
            return _in_pieces(timed, told.stream, told.response, self._keys)
        except RequestError as exc:
            raise target_error(exc) from exc
        except RecursionError as exc:
            raise TargetError("the answer is nested too deeply", "content") from exc

    def check(self) -> None:
        """Ask the health address, or look whether anything answers at the address at all."""
        told = self._settings
        url = told.health_url or fill_url(told.url, _Anything())
        try:
            self._client.ask("GET", url, headers=self._headers)
        except RequestError as exc:
            is_there = told.health_url is None and exc.failure in ("status", "size")
            if not is_there:
                raise PipelineError(f"the pipeline cannot be asked: {exc}") from exc

    def snapshot(self) -> dict[str, Any]:
        """What the server says of itself; null where it says nothing."""
        told = self._settings
        if told.config_url is None:
            return super().snapshot()
        try:
            answer = self._client.ask("GET", told.config_url, headers=self._headers).answer
            document = _hidden(self._keys, answer.json())
        except RequestError as exc:
            raise PipelineError(f"the pipeline's settings cannot be had: {exc}") from exc
        names = dict.fromkeys((*SNAPSHOT, *told.config))
        return {name: value_at(document, told.config.get(name, name)) for name in names}


class _Anything(dict[str, Any]):
    """Every field, to see what an address looks like."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return "x"


def _header(name: str, value: str) -> str | Key:
    variable = _VARIABLE.fullmatch(value)
    if variable:
        return key_from_environment(variable[2], scheme=variable[1] or "")
    if _OF_KEYS.search(name):
        raise DataError(
            f"the header {name!r} holds a key as it stands; put it into an environment variable "
            "and name that: 'Bearer ${RAG_API_KEY}'"
        )
    return value


def _whole(timed: TimedResponse, paths: ResponsePaths, keys: Sequence[Key]) -> TargetReply:
    fields = record_fields(_hidden(keys, timed.answer.json()), paths)
    return _timed(TargetReply(fields, 0.0), timed, timed.first_byte_seconds)


def _hidden(keys: Sequence[Key], document: Any) -> Any:
    """The document with stars where a server repeats a key: what it says is written to files."""
    if isinstance(document, str):
        return redact_keys(keys, document)
    if isinstance(document, list):
        return [_hidden(keys, item) for item in document] if keys else document
    if isinstance(document, dict) and keys:
        return {_hidden(keys, name): _hidden(keys, item) for name, item in document.items()}
    return document


def _timed(reply: TargetReply, timed: TimedResponse, first_seconds: float | None) -> TargetReply:
    first = None if first_seconds is None else _MILLISECONDS * first_seconds
    return replace(reply, latency_ms=_MILLISECONDS * timed.answer.seconds, first_byte_ms=first)


# -- pieces


def _in_pieces(
    timed: TimedResponse, stream: StreamSettings, paths: ResponsePaths, keys: Sequence[Key]
) -> TargetReply:
    texts: list[str] = []
    last: dict[str, Any] = {}
    place, is_done = None, stream.done is None
    for event in events_in(timed.answer.body):
        if event.name == "error":
            told = redact_keys(keys, event.data)[:_LONGEST_SHOWN]
            raise TargetError(f"the server broke off: {told}", "content")
        document = _document(event.data)
        if _is_end(event, document, stream.done or _USUAL_END):
            last |= _fields_of(document)
            is_done = True
            break
        piece = document if isinstance(document, str) else value_at(document, stream.text)
        if isinstance(piece, str) and piece:
            place = event.place if place is None else place
            texts.append(piece)
        last |= _fields_of(document)
    if not is_done:
        raise TargetError(f"the answer ended before {stream.done!r}", "content")
    answer = redact_keys(keys, "".join(texts))
    return _joined(answer, _hidden(keys, last), timed, place, paths)


def _is_end(event: Event, document: Any, end: str) -> bool:
    """Whether the event is named so, or says that: the same text, or the same JSON."""
    return end in (event.name, event.data) or (
        isinstance(document, dict) and document == _document(end)
    )


def _fields_of(document: Any) -> dict[str, Any]:
    """What an event tells beside a piece of the answer."""
    is_object = isinstance(document, dict)
    return {key: one for key, one in document.items() if one is not None} if is_object else {}


def _document(data: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data


def _joined(
    answer: str, last: dict[str, Any], timed: TimedResponse, place: int | None, paths: ResponsePaths
) -> TargetReply:
    """The pieces as one answer; what else the events held, the latest of each name."""
    if place is None:
        told = timed.answer.error("no piece of an answer in the events")
        raise target_error(told)
    rest = record_fields({**last, "answer": answer}, replace(paths, answer="answer"))
    return _timed(TargetReply(rest, 0.0), timed, timed.seconds_at(place))

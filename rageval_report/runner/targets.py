"""What can be asked: a server over HTTP, a Python function, a command."""

from __future__ import annotations

import inspect
import json
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any, ClassVar, Literal, Self, get_args
from urllib.parse import quote

from rageval_report._registry import Registry, load
from rageval_report.errors import DataError, MissingDependencyError, PipelineError, check_choice
from rageval_report.http import (
    Client,
    HttpResponse,
    Key,
    RequestError,
    check_address,
    check_header,
    fill_keys,
    keys_named_in,
    map_texts,
    redact_url,
)
from rageval_report.runner.query_source import Query, field_of
from rageval_report.runner.replies import (
    ResponsePaths,
    TargetError,
    TargetReply,
    record_fields,
    target_error,
    value_at,
)
from rageval_report.runner.settings import parse_settings

# The settings that a server may report about itself; those that it does not report are null.
SNAPSHOT = (
    "llm_model llm_provider embedding_model reranker_model retrieval_top_k hybrid_search_enabled "
    "contextual_retrieval_enabled"
).split()
# A larger answer is a failure: an answer has a few thousand characters, and ten contexts of a chunk
# each have some tens of thousands.
MOST_BYTES = 10_000_000
_MILLISECONDS = 1000.0


def digest_of(*settings: object) -> str:
    """A digest that differs if settings differ, without revealing them: some may be secret."""
    # Sorted, so that the order of keys in a file does not make another run of it.
    text = json.dumps(settings, sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=8).hexdigest()


class Target(ABC):
    """A pipeline that answers questions; several threads ask it at the same time."""

    settings_type: ClassVar[type]

    @abstractmethod
    def __init__(self, settings: Any): ...  # each target narrows it to its settings_type

    @classmethod
    def of_settings(cls, section: Mapping[str, object], name: str) -> Self:
        """Create the target from a section of a configuration; every key is checked."""
        return cls(parse_settings(cls.settings_type, section, name))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def ask(self, query: Query) -> TargetReply:
        """Ask a query once; a failure is a `TargetError`."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What must be unchanged when a run is resumed; contains no keys."""

    def check(self) -> None:  # noqa: B027  (most have nothing to check)
        """Check whether it can be asked at all; a `PipelineError` says why not."""

    def snapshot(self) -> dict[str, Any]:
        """The configuration of the pipeline, as far as it reports one."""
        return dict.fromkeys(SNAPSHOT)

    def close(self) -> None:  # noqa: B027  (most hold nothing)
        """Close connections and processes."""


_HERE = __name__
TARGETS: Registry[type[Target]] = Registry(
    "target",
    {
        "http": f"{_HERE}:HttpTarget",
        "callable": f"{_HERE}:FunctionTarget",
        "command": "rageval_report.runner.commands:CommandTarget",
    },
    group="rageval_report.targets",
)


# -- templates

# A field, or a key after a dollar sign. Both in one pass, so that nothing that is filled in is read
# as a template: a question that contains ${NAME} stays as it is.
_PLACEHOLDER = re.compile(r"(?P<dollar>\$?)\{(?P<name>[A-Za-z_]\w*)\}")
_NO_KEYS: Mapping[str, Key] = {}


def in_url(value: object) -> str:
    """A value escaped for an address; a slash in a question must not become part of the path."""
    return quote(str(value), safe="")


def fill_template(
    template: object,
    fields: Mapping[str, object],
    keys: Mapping[str, Key] = _NO_KEYS,
    *,
    escape: Callable[[object], str] = str,
    leaves_others: bool = False,
) -> Any:
    """Fill the placeholders of a template, at any depth.

    Parameters
    ----------
    template : JSON value
        A text, or lists and objects of texts.
    fields : mapping of str to object
        The values by name; a placeholder alone keeps the type of its value.
    keys : mapping of str to Key
        The keys by the name of their variable.
    escape : callable, default str
        Makes a text of a value, e.g. `in_url`.
    leaves_others : bool, default False
        Whether placeholders without a value stay; otherwise they are errors.

    Raises
    ------
    UnknownNameError
        If a placeholder is not a field.

    Examples
    --------
    >>> fill_template({"q": "{question}", "k": "{top_k}"}, {"question": "Why?", "top_k": 5})
    {'q': 'Why?', 'k': 5}
    >>> fill_template("http://host/{question}", {"question": "a/b?"}, escape=in_url)
    'http://host/a%2Fb%3F'
    """

    def stays(match: re.Match[str]) -> bool:
        if match["dollar"]:
            return match["name"] not in keys
        return leaves_others and match["name"] not in fields

    def text_of(match: re.Match[str]) -> str:
        if stays(match):
            return match[0]
        name = match["name"]
        return escape(keys[name].text() if match["dollar"] else field_of(name, fields))

    def fill(text: str) -> Any:
        whole = _PLACEHOLDER.fullmatch(text)
        if whole and not whole["dollar"] and escape is str and not stays(whole):
            return field_of(whole["name"], fields)
        return _PLACEHOLDER.sub(text_of, text)

    return map_texts(template, fill)


def placeholders_in(template: object) -> set[str]:
    """The names of the placeholders in a template, at any depth.

    Examples
    --------
    >>> sorted(placeholders_in({"q": "{question}", "auth": "${KEY}"}))
    ['question']
    """
    text = json.dumps(template, default=str)
    return {match["name"] for match in _PLACEHOLDER.finditer(text) if not match["dollar"]}


# -- functions

Argument = Literal["question", "query"]


@dataclass(frozen=True)
class FunctionSettings:
    """How a function is called.

    Parameters
    ----------
    function : str
        "module:function".
    argument : {"question", "query"}, default "question"
        Whether it takes the text of the question, or a dict of the query's fields.
    fields : tuple of str
        The metadata that such a dict contains besides ``query_id`` and ``question``.
    response : ResponsePaths
        Where the fields are in what it returns.

    Examples
    --------
    >>> FunctionSettings("my_rag:answer").argument
    'question'
    """

    function: str
    argument: Argument = "question"
    fields: tuple[str, ...] = ()
    response: ResponsePaths = field(default_factory=ResponsePaths)


class FunctionTarget(Target):
    """A function of a question that returns the answer, or a mapping that contains it."""

    settings_type = FunctionSettings

    def __init__(self, settings: FunctionSettings, function: Callable[[Any], Any] | None = None):
        check_choice("argument", settings.argument, get_args(Argument))
        if settings.fields and settings.argument != "query":
            raise DataError(
                "fields needs argument: query; with argument: question no fields are passed"
            )
        self._settings = settings
        self._function = function or import_function(settings.function)
        # It would return a coroutine, never an answer.
        if inspect.iscoroutinefunction(self._function):
            raise DataError(
                f"{settings.function} is asynchronous; pass a normal function that calls it, e.g. "
                "with asyncio.run"
            )

    @classmethod
    def of(cls, function: Callable[[Any], Any]) -> FunctionTarget:
        """The target that calls this function with a question."""
        return cls(FunctionSettings(place_of(function)), function)

    def ask(self, query: Query) -> TargetReply:
        """Call the function."""
        settings = self._settings
        by_fields = settings.argument == "query"
        argument = query.request_fields(settings.fields) if by_fields else query.question
        started = time.perf_counter()
        try:
            returned = self._function(argument)
        # A function may raise it itself, to say the kind of its failure, such as "busy".
        except TargetError:
            raise
        except Exception as exc:  # any error of a user's function means no answer to this query
            raise TargetError(f"{type(exc).__name__}: {exc}", "exception") from exc
        latency_ms = _MILLISECONDS * (time.perf_counter() - started)
        fields = record_fields(returned, settings.response)
        return TargetReply(fields, latency_ms, returned)

    def identity(self) -> dict[str, Any]:
        """The name of the function, and a digest of how it is called."""
        settings = self._settings
        digest = digest_of(settings.argument, asdict(settings.response), settings.fields)
        return {"target": "callable", "function": settings.function, "settings": digest}


def place_of(function: Callable[..., object]) -> str:
    """The name of a function, by which a run that is resumed recognises it."""
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"{getattr(function, '__module__', None) or '__main__'}:{name}"


def import_function(place: str) -> Callable[..., Any]:
    """The function that "module:function" names."""
    module, _, name = place.partition(":")
    if not module or not name:
        raise DataError(f"function must be 'module:function'; got {place!r}")
    try:
        function: object = load(place)
    except MissingDependencyError as exc:
        # The module itself was found, but one that it imports was not: not a wrong path.
        if exc.package != module.partition(".")[0]:
            raise
        raise DataError(
            f"{place}: no module is named {module!r}; run in its folder, or set PYTHONPATH"
        ) from exc
    except AttributeError as exc:
        raise DataError(f"{place}: the module has no function {name!r}") from exc
    if not callable(function):
        raise DataError(f"{place} is not a function: it is {type(function).__name__}")
    return function


# -- servers


@dataclass(frozen=True)
class HttpSettings:
    """How to ask a server.

    ``${NAME}`` in the body, in a header, and in the path or query of an address stands for the key
    in that environment variable; it is replaced by stars in everything that the server says.

    Parameters
    ----------
    url : str
        The address; ``{question}`` and other fields may stand in it.
    method : str, default "POST"
        The HTTP method; "GET" sends no body.
    headers : dict of str to str
        Additional headers.
    body : JSON value
        The template of the body.
    response : ResponsePaths
        Where the fields are in the answer.
    timeout : float, default 60
        Seconds that one attempt may take.
    max_bytes : int, default 10 MB
        A larger answer is a failure.
    health_url : str, optional
        Is asked before the first query.
    config_url : str, optional
        Returns the configuration of the pipeline, which is kept with the run.

    Raises
    ------
    DataError
        If an address is malformed, or a header for a key contains one instead of its name.

    Examples
    --------
    >>> HttpSettings("http://localhost:8001/answer", body={"q": "{question}"}).method
    'POST'
    """

    url: str
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = field(default_factory=lambda: {"question": "{question}"})
    response: ResponsePaths = field(default_factory=ResponsePaths)
    timeout: float = 60.0
    max_bytes: int = MOST_BYTES
    health_url: str | None = None
    config_url: str | None = None

    def __post_init__(self) -> None:
        for name, value in self.headers.items():
            check_header(name, value)


class HttpTarget(Target):
    """A server that is asked over HTTP, with complete or streamed answers."""

    settings_type = HttpSettings

    def __init__(self, settings: HttpSettings):
        urls = [settings.url, settings.health_url, settings.config_url]
        for url in filter(None, urls):
            check_address(url)
        self._settings = settings
        self._keys = {
            **keys_named_in([settings.body, *urls]),
            **keys_named_in(settings.headers, for_header=True),
        }
        self._lock = threading.Lock()
        self._opened: Client | None = None

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = None

    def identity(self) -> dict[str, Any]:
        """The address, the names of headers, and a digest of what may be secret."""
        settings = self._settings
        paths = asdict(settings.response)
        return {
            "target": "http",
            "url": redact_url(settings.url),
            "method": settings.method,
            "headers": sorted(settings.headers),
            "settings": digest_of(settings.url, settings.headers, settings.body, paths),
        }

    def _send(self, method: str, url: str, body: object = None) -> HttpResponse:
        with self._lock:
            if self._opened is None:
                settings = self._settings
                # One attempt: the runner retries, and measures each attempt.
                self._opened = Client(
                    timeout=settings.timeout, max_bytes=settings.max_bytes, max_attempts=1
                )
            client = self._opened
        headers: dict[str, str] = fill_keys(self._settings.headers, self._keys)
        return client.send(method, url, json=body, headers=headers, keys=self._keys.values())

    def ask(self, query: Query) -> TargetReply:
        """Send the question and read the answer."""
        settings, sent = self._settings, query.public_fields
        sends = settings.method.upper() not in ("GET", "HEAD")
        body = fill_template(settings.body, sent, self._keys) if sends else None
        url = fill_template(settings.url, sent, self._keys, escape=in_url)
        try:
            answer = self._send(settings.method, url, body)
            document = answer.json()
            fields = record_fields(document, settings.response)
            return TargetReply(fields, _MILLISECONDS * answer.seconds, document)
        except RequestError as exc:
            raise target_error(exc) from exc
        except RecursionError as exc:
            raise TargetError("the answer is nested too deeply", "content") from exc

    def check(self) -> None:
        """Ask the health address, or check whether anything answers at the address."""
        url = self._settings.health_url or self._settings.url
        fields = dict.fromkeys(placeholders_in(url), "x")
        try:
            self._send("GET", fill_template(url, fields, self._keys, escape=in_url))
        except RequestError as exc:
            # A server that answers POST may well refuse a GET (405).
            is_reachable = self._settings.health_url is None and exc.failure in ("status", "size")
            if not is_reachable:
                raise PipelineError(f"the pipeline cannot be asked: {exc}") from exc

    def snapshot(self) -> dict[str, Any]:
        """The configuration that the server reports; null where it reports nothing."""
        settings = self._settings
        if settings.config_url is None:
            return super().snapshot()
        try:
            url = fill_keys(settings.config_url, self._keys, escape=in_url)
            document = self._send("GET", url).json()
        except RequestError as exc:
            raise PipelineError(
                f"the configuration of the pipeline cannot be fetched: {exc}"
            ) from exc
        return {name: value_at(document, name) for name in SNAPSHOT}

"""Chat models: messages, replies, and what every chat has in common.

`CHATS` is the table of providers; one more is a function that returns a chat, and a line there. A
chat is also any callable that takes a text and returns one, or a script, for tests.
"""

from __future__ import annotations

import json
import os
import re
import threading
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict, Unpack, runtime_checkable

from rageval_report._registry import Registry
from rageval_report.errors import DataError, JudgeError
from rageval_report.files.digests import canonical_json
from rageval_report.types import Sleep

Ending = Literal["end", "length", "refusal"]
JsonSchema = Mapping[str, Any]
MAX_TOKENS = 1024  # enough for a verdict with its reasoning
# Words by what they mean, by what they are looked for in.
WORDS: dict[str, dict[str, list[str]]] = {
    kind: {meaning: words.split() for meaning, words in table.items()}
    for kind, table in tomllib.loads(
        Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
    ).items()
}


def check_count(name: str, value: object) -> None:
    """Check that an option is an integer from 1 on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise DataError(f"{name} must be an integer >= 1; got {value!r}")


def count_bytes(text: str) -> int:
    """The number of bytes of a text in UTF-8, also of one with half a character."""
    return len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Message:
    """What a model is asked.

    Parameters
    ----------
    user : str
        The request, with everything that belongs to it.
    system : str
        The system prompt.
    schema : mapping, optional
        The JSON schema of the answer, for providers that can enforce one.

    Examples
    --------
    >>> Message("Is it polite? Go away.", system="You judge.").size
    32
    """

    user: str
    system: str = ""
    schema: JsonSchema | None = None

    @property
    def size(self) -> int:
        """The number of bytes that are sent, from which tokens can be estimated."""
        return count_bytes(self.user) + count_bytes(self.system)


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Parameters
    ----------
    text : str
        The answer, without the model's thoughts before it.
    prompt_tokens, completion_tokens : int, optional
        The server's counts; None if it did not report them.
    ending : {"end", "length", "refusal"}
        Whether the answer is complete, was cut off at the token limit, or was refused.

    Examples
    --------
    >>> Reply("8/10", prompt_tokens=20, completion_tokens=3).ending
    'end'
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    ending: Ending = "end"


Ask = Callable[[Message], Reply]
# Runs one attempt: takes a function that sends a request once, and returns its reply.
RunAttempt = Callable[[Callable[[], Reply]], Reply]
AskInAttempts = Callable[[Message, RunAttempt], Reply]


# So that `as_chat` accepts a chat from outside without a common base class.
@runtime_checkable
class Chat(Protocol):
    """A chat model: those of `CHATS`, or a callable wrapped by `as_chat`."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def settings(self) -> Mapping[str, object]:
        """Everything beside the model and the message that can change an answer; never a key."""

    @property
    def max_tokens(self) -> int:
        """The maximum length of an answer."""

    def open(self) -> AbstractContextManager[Ask]:
        """A context that yields a function to ask the model, which several threads may call."""


@dataclass(frozen=True)
class FunctionChat:
    """A chat model from a callable that takes a text and returns one.

    Parameters
    ----------
    function : callable
        Takes the request as one text; returns the answer, as a text or a `Reply`. Several threads
        call it at the same time, unless `judge` runs with ``concurrency=1``.
    model : str
        A name for the model; replies in a cache are kept by it.
    max_tokens : int
        The maximum length of an answer, which the callable has to observe: cost estimates and the
        budget count on it.

    Examples
    --------
    >>> chat = FunctionChat(lambda text: "TRUE", model="yes-man")
    >>> with chat.open() as ask:
    ...     ask(Message("Is it?")).text
    'TRUE'
    >>> chat.settings["provider"]
    'callable'
    """

    function: Callable[[str], str | Reply] = field(repr=False)
    model: str
    max_tokens: int = MAX_TOKENS

    @property
    def settings(self) -> dict[str, object]:
        """The settings that are known of a callable: it is sent no schema."""
        return {"provider": "callable", "structured": False}

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """A context that yields a function which calls the callable."""
        yield self._ask

    def _ask(self, message: Message) -> Reply:
        text = f"{message.system}\n\n{message.user}" if message.system else message.user
        answer = self.function(text)
        if isinstance(answer, Reply):
            return answer
        if not isinstance(answer, str):
            raise JudgeError(f"the chat must return a text; it returned {type(answer).__name__}")
        return Reply(answer)


ScriptedAnswer = str | Reply | BaseException


class ScriptedChat:
    """A chat without a model, which answers from a script.

    Parameters
    ----------
    script : iterable of answers, or callable
        The answers in order, or a function of the message; an exception is raised. Which request
        gets which answer of a list is certain with ``concurrency=1`` only.
    model : str
        The name of the model.
    max_tokens : int
        The maximum length of an answer, for cost estimates.

    Attributes
    ----------
    asked : list of Message
        All messages so far.

    Examples
    --------
    >>> chat = ScriptedChat(['{"reasoning": "It is.", "score": 5}'])
    >>> with chat.open() as ask:
    ...     reply = ask(Message("How good is it?"))
    >>> reply.text, len(chat.asked), chat.settings
    ('{"reasoning": "It is.", "score": 5}', 1, {'provider': 'scripted'})
    """

    def __init__(
        self,
        script: Iterable[ScriptedAnswer] | Callable[[Message], ScriptedAnswer],
        *,
        model: str = "scripted",
        max_tokens: int = MAX_TOKENS,
    ):
        self.model = model
        self.max_tokens = max_tokens
        self.asked: list[Message] = []
        self._lock = threading.Lock()
        self._function = script if callable(script) else None
        self._left = iter(() if callable(script) else script)

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings: nothing but the script decides."""
        return {"provider": "scripted"}

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """A context that yields a function which answers from the script."""
        yield self._ask

    def _ask(self, message: Message) -> Reply:
        with self._lock:
            self.asked.append(message)
            answer = next(self._left, None)
        if self._function is not None:
            answer = self._function(message)
        if answer is None:
            raise JudgeError(f"no scripted reply is left for: {message.user[:60]!r}")
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, Reply) else Reply(str(answer))


def as_chat(chat: object) -> Chat:
    """A chat as it is, or a callable wrapped as one; `DataError` if it is neither."""
    if isinstance(chat, Chat):
        return chat
    if callable(chat):
        name = getattr(chat, "model", None) or getattr(chat, "__name__", type(chat).__name__)
        return FunctionChat(chat, str(name))
    raise DataError(
        "chat must be a chat client, e.g. openai_chat(...), or a callable that takes a text and "
        f"returns one; got {type(chat).__name__}"
    )


# -- several chats


def chats_of(chat: object) -> list[Chat]:
    """The chat models that judge: one, or those of a list, which must differ."""
    if not isinstance(chat, list | tuple):
        return [as_chat(chat)]
    chats = [as_chat(item) for item in chat]
    if not chats:
        raise DataError("chat must be a chat model, or a list of at least one; got an empty list")
    # Two with the same settings would share the entries of the cache.
    identities = [canonical_json({**judge.settings, "model": judge.model}) for judge in chats]
    for judge, identity in zip(chats, identities, strict=True):
        if identities.count(identity) > 1:
            raise DataError(
                f"chat must be different judges; {judge.model!r} appears twice with the same "
                "settings. To ask one judge several times, use n_repeats; callables get names "
                "with FunctionChat(function, model=...)"
            )
    return chats


def judge_names(chats: Sequence[Chat]) -> list[str]:
    """A name for each judge: its model, with the provider or a number if others have it too."""
    names = [chat.model for chat in chats]
    longer = [f"{chat.model} ({chat.settings.get('provider', 'chat')})" for chat in chats]
    names = [b if names.count(a) > 1 else a for a, b in zip(names, longer, strict=True)]
    numbers = [names[: place + 1].count(name) for place, name in enumerate(names)]
    pairs = zip(names, numbers, strict=True)
    return [f"{name} {n}" if names.count(name) > 1 else name for name, n in pairs]


_MAKERS = {word: maker for maker, words in WORDS["makers"].items() for word in words}


def family_of(model: str) -> str | None:
    """The maker of a model; None if the name does not show it."""
    # gpt-4 and llama3.1 have a word at its start, "ogpt" has none.
    words = "|".join(rf"(?<![a-z0-9]){word}(?![a-z])" for word in _MAKERS)
    match = re.search(words, model.lower())
    return _MAKERS[match[0]] if match else None


# -- attempts of calls: each is a request that may be billed, and what it may cost at most

# What servers add to a request on their side: roles, separators, the date, words about the format
# of the answer. Published chat templates add fewer than 100 tokens.
_ADDED_TOKENS = 256
_REFUSALS = range(300, 500)
_REQUEST_TIMEOUT = 408  # gateways also answer this one when the model takes too long


@contextmanager
def open_attempts(chat: Chat) -> Iterator[AskInAttempts]:
    """A context that yields a function to ask a chat; one that does not retry has one attempt."""
    opens_attempts = getattr(chat, "open_attempts", None)
    if opens_attempts is not None:
        with opens_attempts() as ask_in_attempts:
            yield ask_in_attempts
    else:
        with chat.open() as ask:
            yield lambda message, run_attempt: run_attempt(lambda: ask(message))


def max_request_tokens(chat: Chat, message: Message) -> int:
    """The number of tokens that a request does not exceed, whatever the tokenizer: one per byte."""
    count = getattr(chat, "max_request_bytes", None)
    if count is not None:
        return int(count(message)) + _ADDED_TOKENS
    schema = "" if message.schema is None else json.dumps(dict(message.schema), ensure_ascii=False)
    return message.size + count_bytes(schema) + _ADDED_TOKENS


def max_reply_tokens(chat: Chat) -> int | None:
    """The largest number of tokens of an answer; None if the server is sent no limit."""
    count: Callable[[], int | None] | None = getattr(chat, "max_reply_tokens", None)
    return chat.max_tokens if count is None else count()


def was_not_billed(exc: BaseException) -> bool:
    """Whether it is certain that a failed attempt costs nothing."""
    if isinstance(exc, DataError):
        return True
    failure = getattr(exc, "failure", None)
    if failure == "status":
        status = getattr(exc, "status", None)
        return status in _REFUSALS and status != _REQUEST_TIMEOUT
    return failure == "certificate" or bool(getattr(exc, "is_unreachable", False))


# -- providers


class ChatOptions(TypedDict, total=False):
    """The options that every provider of chat models takes; every key may be omitted.

    Examples
    --------
    >>> ChatOptions(temperature=0.0, timeout=30)
    {'temperature': 0.0, 'timeout': 30}

    Parameters
    ----------
    base_url : str, optional
        The address of the server; see each provider's function.
    api_key_env : str, optional
        The environment variable that contains the key.
    max_tokens : int, default 1024
        The maximum length of an answer, including the model's thoughts if it thinks.
    temperature : float, optional
        The sampling temperature; the provider's default if omitted. Several newer models refuse
        any value.
    structured : bool, default True
        Whether the server is asked to enforce the JSON schema of the answer; use False for a
        server that cannot.
    extra_body : mapping, optional
        Further fields of the request; a value of None removes a field. Name a key as ``${NAME}``,
        by its environment variable: these fields are part of the settings of results.
    timeout : float, default 120
        Seconds per call.
    max_attempts : int, default 5
        How often a call is made if it fails for a reason that may pass.
    max_wait : float, default 60
        The longest wait between two attempts, in seconds.
    sleep : callable
        Waits for a number of seconds.
    check_key : bool, default True
        Whether a missing key is an error now; use False for an estimate, which asks nobody. A call
        without its key is an error in any case.
    """

    base_url: str | None
    api_key_env: str | None
    max_tokens: int
    temperature: float | None
    structured: bool
    extra_body: Mapping[str, object] | None
    timeout: float
    max_attempts: int
    max_wait: float
    sleep: Sleep
    check_key: bool


_NAMES = ("anthropic", "bedrock", "gemini", "ollama", "openai")
CHATS: Registry[Callable[..., Chat]] = Registry(
    "provider of chat models",
    {name: f"rageval_report.judges.providers:{name}_chat" for name in _NAMES},
    group="rageval_report.chats",
)


def chat_from_environment(
    provider: str | None = None, model: str | None = None, **options: Unpack[ChatOptions]
) -> Chat:
    """The chat that the arguments name, or the environment if they are omitted.

    Parameters
    ----------
    provider : str, optional
        A name of `CHATS`. If omitted, RAG_EVAL_PROVIDER, else "openai" if there is a `base_url`,
        because most servers speak its protocol, else "ollama".
    model : str, optional
        If omitted, the variable RAG_EVAL_<PROVIDER>_MODEL. There is no further default, because
        the model that judged is part of the result.
    **options
        As for the provider's function, such as `openai_chat`.

    Raises
    ------
    DataError
        If no model is named, or a key is missing.
    UnknownNameError
        If no provider has that name.

    Examples
    --------
    >>> chat_from_environment("openai", "qwen3", base_url="http://localhost:8000/v1").model
    'qwen3'
    """
    # Without any setting nothing leaves the machine.
    usual = "openai" if options.get("base_url") else "ollama"
    name = provider or os.environ.get("RAG_EVAL_PROVIDER") or usual
    make_chat = CHATS[name]
    variable = f"RAG_EVAL_{name.upper().replace('-', '_')}_MODEL"
    model_name = model or os.environ.get(variable)
    if not model_name:
        raise DataError(
            f"model is missing for the provider {name!r}. Name it with model=... or in the "
            f"environment variable {variable}"
        )
    return make_chat(model_name, **options)

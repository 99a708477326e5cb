"""What every chat model has in common: messages, replies, and how a chat is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from rageval_report.errors import DataError, JudgeError

Ending = Literal["end", "length", "refusal"]
JsonSchema = Mapping[str, Any]
MAX_TOKENS = 1024  # enough for a verdict with its reasoning


def count_bytes(text: str) -> int:
    r"""The number of bytes of a text in UTF-8, also of one with half a character.

    Examples
    --------
    >>> count_bytes("ไทย"), count_bytes("\ud83d")
    (9, 3)
    """
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
    model : str
        The model that answered, as the server names it.

    Examples
    --------
    >>> Reply("8/10", prompt_tokens=20, completion_tokens=3).ending
    'end'
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    ending: Ending = "end"
    model: str = ""


Ask = Callable[[Message], Reply]


# So that `as_chat` accepts a chat from outside without a common base class.
@runtime_checkable
class Chat(Protocol):
    """A chat model: those of `CHATS`, or a callable wrapped by `as_chat`.

    Examples
    --------
    >>> chat = FunctionChat(lambda text: "YES", model="yes-man")
    >>> isinstance(chat, Chat), chat.model, chat.max_tokens, chat.settings["provider"]
    (True, 'yes-man', 1024, 'callable')
    >>> with chat.open() as ask:
    ...     ask(Message("Is it?")).text
    'YES'
    """

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
    >>> chat.settings
    {'provider': 'callable', 'structured': False}
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


def as_chat(chat: object) -> Chat:
    """A chat as it is, or a callable wrapped as one.

    Raises
    ------
    DataError
        If it is neither.

    Examples
    --------
    >>> def my_model(text):
    ...     return "8/10"
    >>> as_chat(my_model).model
    'my_model'
    """
    if isinstance(chat, Chat):
        return chat
    if callable(chat):
        name = getattr(chat, "model", None) or getattr(chat, "__name__", type(chat).__name__)
        return FunctionChat(chat, str(name))
    raise DataError(
        "chat must be a chat client, e.g. openai_chat(...), or a callable that takes a text and "
        f"returns one; got {type(chat).__name__}"
    )

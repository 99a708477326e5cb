"""What a chat model is asked and answers, whoever runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from rageval_report.errors import DataError, JudgeError

Ending = Literal["end", "length", "refusal"]
MAX_TOKENS = 1024


@dataclass(frozen=True)
class Message:
    """What a model is asked.

    Parameters
    ----------
    user : str
        The question with all that belongs to it.
    system : str
        What the model is to be.
    schema : mapping, optional
        The JSON schema that the answer shall keep, for providers that can see to it.
    """

    user: str
    system: str = ""
    schema: Mapping[str, Any] | None = None

    @property
    def size(self) -> int:
        """How many bytes are sent, from which tokens can be guessed."""
        return len(self.user.encode()) + len(self.system.encode())


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Parameters
    ----------
    text : str
        The answer, without what the model thought before it.
    prompt_tokens, completion_tokens : int, optional
        What the server counted; None where it did not say.
    ending : {"end", "length", "refusal"}
        Whether the answer is whole, was cut at the limit of tokens, or was refused.
    model : str
        The model that answered, as the server names it.
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    ending: Ending = "end"
    model: str = ""


Ask = Callable[[Message], Reply]


@runtime_checkable
class Chat(Protocol):
    """A model that can be asked; those of `CHATS` are, and `as_chat` makes one of a callable."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def settings(self) -> Mapping[str, object]:
        """All that can change an answer beside the model and the message; never a key."""

    @property
    def max_tokens(self) -> int:
        """How long an answer may be."""

    def open(self) -> AbstractContextManager[Ask]:
        """What asks the model, from several threads if need be, until it is closed."""


@dataclass(frozen=True)
class FunctionChat:
    """A callable that takes a text and gives one, as a chat.

    Parameters
    ----------
    function : callable
        Takes what is asked as one text; gives the answer, as a text or a `Reply`. It is called
        from several threads at once unless `judge` is told ``concurrency=1``.
    model : str
        A name for what answers: verdicts in a cache are told apart by it.
    max_tokens : int
        How long an answer may be, for estimates.

    Examples
    --------
    >>> chat = FunctionChat(lambda text: "TRUE", model="yes-man")
    >>> with chat.open() as ask:
    ...     ask(Message("Is it?")).text
    'TRUE'
    """

    function: Callable[[str], str | Reply] = field(repr=False)
    model: str
    max_tokens: int = MAX_TOKENS

    @property
    def settings(self) -> dict[str, object]:
        """A callable keeps its settings to itself, and is handed no schema."""
        return {"provider": "callable", "structured": False}

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """What calls the function."""
        yield self._ask

    def _ask(self, message: Message) -> Reply:
        text = f"{message.system}\n\n{message.user}" if message.system else message.user
        said = self.function(text)
        if isinstance(said, Reply):
            return said
        if not isinstance(said, str):
            raise JudgeError(f"the chat is to give a text; it gave {type(said).__name__}")
        return Reply(said)


def as_chat(chat: object) -> Chat:
    """A chat, or a callable as one.

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
        "expected a chat client, as openai_chat(...), or a callable that takes a text and gives "
        f"one; got {type(chat).__name__}"
    )

"""The steps of a judge, how their replies are read, and what the cache knows of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from rageval_report.judges.chats.base import Chat, Message, Reply
from rageval_report.judges.parsing.objects import UnreadableError
from rageval_report.judges.reply_cache import Cache, reply_key
from rageval_report.judges.rubric import Rubric
from rageval_report.judges.schema_support import SchemaSupport

T = TypeVar("T")

# One repair is enough for the fences and words that models put around JSON now and then.
_ASK_AGAIN = (
    "\n\nAn answer of yours to this could not be read: {why}. Give the JSON object alone, without "
    "a word before or after it."
)


class NoVerdictError(Exception):
    """No verdict was given: the call failed, or the model refused, or its reply was unreadable."""


class NotAskedError(Exception):
    """The model was not asked, because the session had stopped before."""


@dataclass(frozen=True)
class JudgeStep(Generic[T]):
    """One request of a judge, and how its reply is read.

    Parameters
    ----------
    message : Message
        What the model is asked.
    read : callable
        Parses the text of the reply; raises `UnreadableError`.
    stand_in : T
        A possible result, used to estimate the cost without asking.
    """

    message: Message
    read: Callable[[str], T]
    stand_in: T


class AskStep(Protocol):
    """The callable through which a procedure asks its steps."""

    def __call__(self, step: JudgeStep[T]) -> T:
        """The parsed reply to a step; raises `NoVerdictError` or `NotAskedError`."""


def ask_step(step: JudgeStep[T], reply_to: Callable[[Message], Reply], max_tokens: int) -> T:
    """The parsed reply to a step; an unreadable one is asked for once more.

    Parameters
    ----------
    step : JudgeStep
        The request.
    reply_to : callable
        Takes a message and returns the model's reply.
    max_tokens : int
        The maximum length of a reply, for the reason of one that was cut off.

    Raises
    ------
    NoVerdictError
        If the model refused, or neither reply can be read.

    Examples
    --------
    >>> from rageval_report.judges.parsing.choices import read_truth
    >>> step = JudgeStep(Message("Is it?"), read_truth, (True, None))
    >>> ask_step(step, lambda message: Reply('{"verdict": false}'), 1024)
    (False, None)
    """
    reply = reply_to(step.message)
    _check_ending(reply, max_tokens)
    try:
        return step.read(reply.text)
    except UnreadableError as exc:
        nudge = _ASK_AGAIN.format(why=exc)
    again = reply_to(replace(step.message, user=step.message.user + nudge))
    _check_ending(again, max_tokens)
    try:
        return step.read(again.text)
    except UnreadableError as exc:
        raise NoVerdictError(f"{exc} (asked twice)") from exc


def _check_ending(reply: Reply, max_tokens: int) -> None:
    if reply.ending == "refusal":
        text = reply.text.strip()
        raise NoVerdictError("the judge refused" + (f": {text[:80]!r}" if text else ""))
    if reply.ending == "length":
        raise NoVerdictError(
            f"the judge's answer was cut off at max_tokens={max_tokens}; increase max_tokens"
        )


# -- what is in the cache


@dataclass(frozen=True)
class CachedReplies:
    """The replies in a cache to the requests of one rubric.

    Parameters
    ----------
    cache : Cache
        The cache.
    chat : Chat
        The chat model that judges.
    rubric : Rubric
        The rubric.
    repeat : int
        The number of the repeat, from 0.
    """

    cache: Cache
    chat: Chat
    rubric: Rubric
    repeat: int = 0

    def find(self, message: Message) -> CachedReply | None:
        """The reply to a message; also one of a server that had refused the schema."""
        reply = self.cache.get(self._key(message))
        if reply is not None:
            return CachedReply(reply, is_without_schema=False)
        plain = SchemaSupport(self.chat).without_schema(message)
        reply = None if plain is None else self.cache.get(self._key(plain))
        return None if reply is None else CachedReply(reply, is_without_schema=True)

    def answer(self, step: JudgeStep[T]) -> CachedAnswer[T] | None:
        """What the cached replies to a step say; None if the model has to be asked."""
        seen: list[CachedReply] = []

        def reply_to(message: Message) -> Reply:
            cached = self.find(message)
            if cached is None:
                raise _NotCachedError
            seen.append(cached)
            return cached.reply

        outcome: T | NoVerdictError
        try:
            outcome = ask_step(step, reply_to, self.chat.max_tokens)
        except _NotCachedError:
            return None
        except NoVerdictError as exc:
            outcome = exc
        return CachedAnswer(outcome, seen[-1].is_without_schema)

    def put(self, sent: Message, reply: Reply) -> None:
        """Keep the reply to a message as it was sent: without a schema if the server refused it."""
        self.cache.put(self._key(sent), reply, judge=self.rubric.name, model=self.chat.model)

    def _key(self, message: Message) -> bytes:
        return reply_key(
            model=self.chat.model,
            settings=self.chat.settings,
            message=message,
            judge=self.rubric.name,
            version=self.rubric.version,
            repeat=self.repeat,
        )


class _NotCachedError(Exception):
    """The cache has no reply to a message."""


@dataclass(frozen=True)
class CachedReply:
    """A reply from the cache.

    Parameters
    ----------
    reply : Reply
        What the model answered.
    is_without_schema : bool
        Whether it was given without the schema that the request would have now.
    """

    reply: Reply
    is_without_schema: bool


@dataclass(frozen=True)
class CachedAnswer(Generic[T]):
    """What the cached replies to a step say.

    Parameters
    ----------
    outcome : T or NoVerdictError
        The parsed reply, or why the replies contain no verdict.
    is_without_schema : bool
        Whether they were given without the schema that the request would have now.
    """

    outcome: T | NoVerdictError
    is_without_schema: bool

    @property
    def is_usable(self) -> bool:
        """Whether there is a verdict."""
        return not isinstance(self.outcome, NoVerdictError)

    def result(self) -> T:
        """The parsed reply.

        Raises
        ------
        NoVerdictError
            If the replies contain no verdict.
        """
        if isinstance(self.outcome, NoVerdictError):
            raise self.outcome
        return self.outcome

"""A chat whose every request is within a budget, for work other than judging."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Unpack

from rageval_report.errors import DataError
from rageval_report.judges.chats.base import Ask, Message, Reply
from rageval_report.judges.judge_options import CallOptions
from rageval_report.judges.ledger import MICROS_PER_USD
from rageval_report.judges.sessions import JudgeSession, open_session
from rageval_report.judges.steps import NotAskedError


@dataclass(frozen=True)
class BudgetedChat:
    """A chat model whose requests share the ledger of the judges.

    Parameters
    ----------
    session : JudgeSession
        The session with the model, whose ledger limits the requests.
    purpose : str
        What the model is asked for, for messages.
    """

    session: JudgeSession
    purpose: str

    @property
    def model(self) -> str:
        """The model's name."""
        return self.session.chat.model

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings of the model."""
        return self.session.chat.settings

    @property
    def max_tokens(self) -> int:
        """The maximum length of an answer."""
        return self.session.chat.max_tokens

    @property
    def spent_usd(self) -> float:
        """What the requests have cost at most, in US dollars; 0 if the price is unknown."""
        return self.session.ledger.spent / MICROS_PER_USD

    @property
    def left_usd(self) -> float | None:
        """What is left of the budget of this run alone; None if it is unlimited."""
        limit = self.session.ledger.limit
        return None if limit is None else (limit - self.session.ledger.spent) / MICROS_PER_USD

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """A context that yields a function to ask the model."""
        yield self._ask

    def _ask(self, message: Message) -> Reply:
        try:
            return self.session.ask_within_budget(message, self.purpose)
        except NotAskedError as exc:
            # As a mistake of the set-up: every further request would end in the same way.
            raise DataError(
                f"{self.purpose}: {exc}. The replies so far are kept: repeat with a larger one"
            ) from exc


@contextmanager
def budgeted_chat(
    chat: object, purpose: str, **options: Unpack[CallOptions]
) -> Iterator[BudgetedChat]:
    """A chat within the budget of `judge`, to be used inside the ``with`` block.

    Parameters
    ----------
    chat : Chat or callable
        The chat model.
    purpose : str
        What the model is asked for, for messages.
    **options
        As in `CallOptions`. Replies are not kept in the cache; what they cost is kept next to it.

    Raises
    ------
    DataError
        If an option has no valid value; and by the chat, if the budget is too small for a request.

    Examples
    --------
    >>> from rageval_report.judges.chats.base import FunctionChat
    >>> model = FunctionChat(lambda text: Reply(text.upper(), 10, 2), "m")
    >>> prices = {"m": (1.0, 10.0)}
    >>> with budgeted_chat(model, "references", prices=prices, max_cost=0.02) as paid:
    ...     with paid.open() as ask:
    ...         ask(Message("yes")).text, paid.spent_usd, paid.left_usd
    ('YES', 3e-05, 0.01997)
    """
    with open_session(chat, **options) as session:
        yield BudgetedChat(session, purpose)

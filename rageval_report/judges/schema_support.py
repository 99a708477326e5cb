"""Whether the server of a judge accepts JSON schemas."""

from __future__ import annotations

from dataclasses import replace

from rageval_report.judges.chats.base import Chat, Message


class SchemaSupport:
    """Whether the server accepts JSON schemas: assumed until it has refused one.

    Parameters
    ----------
    chat : Chat
        The chat model; one whose setting "structured" is not true is never sent a schema.
    """

    def __init__(self, chat: Chat):
        # A chat from outside that does not mention schemas is not asked again without one.
        self.are_sent = chat.settings.get("structured") is True
        self.were_refused = False

    def record_refusal(self) -> None:
        """Note that the server answers only without a schema, and send none any more."""
        self.are_sent, self.were_refused = False, True

    def without_schema(self, message: Message) -> Message | None:
        """The message without its schema; None if it is sent without one anyway."""
        has_schema = message.schema is not None and (self.are_sent or self.were_refused)
        return replace(message, schema=None) if has_schema else None

    def as_sent(self, message: Message) -> Message:
        """The message as the server is sent it now."""
        return (self.were_refused and self.without_schema(message)) or message

"""Chat models: by a provider's protocol, a callable of your own, or a script.

`CHATS` is the table of providers; one more is a function that returns a chat, and a line there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import Registry
from rageval_report.judges.chats.base import Chat, FunctionChat, Message, Reply, as_chat
from rageval_report.judges.chats.scripted import ScriptedChat

if TYPE_CHECKING:
    from rageval_report.judges.chats.over_http import ChatFactory

_HERE = __name__

CHATS: Registry[ChatFactory] = Registry(
    "provider of chat models",
    {
        "anthropic": f"{_HERE}.anthropic:anthropic_chat",
        "bedrock": f"{_HERE}.bedrock:bedrock_chat",
        "gemini": f"{_HERE}.gemini:gemini_chat",
        "ollama": f"{_HERE}.openai:ollama_chat",
        "openai": f"{_HERE}.openai:openai_chat",
    },
    group="rageval_report.chats",
)

__all__ = ["CHATS", "Chat", "FunctionChat", "Message", "Reply", "ScriptedChat", "as_chat"]

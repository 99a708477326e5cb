"""Anthropic's protocol of messages. Needs the extra ``http``."""

from __future__ import annotations

import os
from typing import Unpack

from rageval_report.http.provider_homes import ProviderHome
from rageval_report.http.responses import Headers, HttpResponse
from rageval_report.judges.chats.base import Ending, Message, Reply
from rageval_report.judges.chats.chat_options import ChatOptions
from rageval_report.judges.chats.over_http import (
    HttpChat,
    JsonBody,
    inner_object,
    inner_objects,
    key_header,
    read_ending,
    sum_tokens,
)

# The version in the documentation, whose fields stay as they are; a variable names another one.
_VERSION = "2023-06-01"
_VERSION_VARIABLE = "RAG_EVAL_ANTHROPIC_VERSION"
_ENDINGS: dict[str, Ending] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
# input_tokens leaves out what came from the prompt cache, which is paid for too.
_INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def anthropic_chat(
    model: str,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    **options: Unpack[ChatOptions],
) -> HttpChat:
    """A chat with a model of Anthropic.

    Parameters
    ----------
    model : str
        For example "claude-haiku-4-5".
    base_url : str, optional
        If omitted, RAG_EVAL_ANTHROPIC_BASE_URL or ANTHROPIC_BASE_URL, else Anthropic's server.
    api_key_env : str, optional
        The environment variable that contains the key. If `base_url` is omitted too, the default is
        RAG_EVAL_ANTHROPIC_API_KEY or ANTHROPIC_API_KEY.
    **options
        As for `openai_chat`.

    Raises
    ------
    DataError
        If an argument has no valid value, or the key is missing.

    Notes
    -----
    The header ``anthropic-version`` is 2023-06-01, or the value of RAG_EVAL_ANTHROPIC_VERSION: the
    provider's own library sends 2026-10-21 since version 2, with the same body.

    Examples
    --------
    >>> anthropic_chat("claude-haiku-4-5", base_url="http://localhost:8080").url
    'http://localhost:8080/v1/messages'
    """
    return _AnthropicChat.connect(model, base_url, api_key_env, options)


class _AnthropicChat(HttpChat):
    provider = "anthropic"
    limit_fields = (("max_tokens",),)
    home = ProviderHome(
        "https://api.anthropic.com",
        ("RAG_EVAL_ANTHROPIC_BASE_URL", "ANTHROPIC_BASE_URL"),
        ("RAG_EVAL_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
    )

    @staticmethod
    def endpoint(base: str, model: str) -> str:  # noqa: ARG004
        # Anthropic's own base URL ends before /v1, that of some proxies after it.
        return base.removesuffix("/v1") + "/v1/messages"

    def headers(self) -> Headers:
        version = os.environ.get(_VERSION_VARIABLE) or _VERSION
        return {"anthropic-version": version, **key_header("x-api-key", self.key_variable)}

    def write(self, message: Message) -> JsonBody:
        body: JsonBody = {
            "model": self.model,
            # This protocol requires a limit.
            "max_tokens": self.options.max_tokens,
            "messages": [{"role": "user", "content": message.user}],
            "system": message.system or None,
            "temperature": self.options.temperature,
        }
        schema = self.schema_of(message)
        if schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": dict(schema)}}
        return body

    def read(self, answer: HttpResponse) -> Reply:
        document = answer.json()
        if not isinstance(document, dict) or not isinstance(document.get("content"), list):
            raise answer.error('expected {"content": [{"type": "text", "text": ...}]}')
        parts = inner_objects(document, "content")
        usage = inner_object(document, "usage")
        return Reply(
            # Parts of other types are the model's thoughts.
            "".join(str(part.get("text", "")) for part in parts if part.get("type") == "text"),
            sum_tokens(usage, *_INPUT_TOKENS),
            sum_tokens(usage, "output_tokens"),
            read_ending(document.get("stop_reason"), _ENDINGS),
            str(document.get("model") or ""),
        )

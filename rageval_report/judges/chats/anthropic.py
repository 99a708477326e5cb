"""Anthropic's protocol of messages. Needs the extra ``http``."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from rageval_report.http.client import Headers, HttpResponse
from rageval_report.judges.chats.base import Ending, Message, Reply
from rageval_report.judges.chats.over_http import (
    Body,
    Home,
    HttpChat,
    Options,
    chat_over_http,
    ending_of,
    inner,
    key_header,
    objects,
    tokens,
)

_HOME = Home(
    "https://api.anthropic.com",
    ("RAG_EVAL_ANTHROPIC_BASE_URL", "ANTHROPIC_BASE_URL"),
    ("RAG_EVAL_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
)
_PATH = "/v1/messages"
# The version that the documentation tells, whose fields are kept for good; another by variable.
_VERSION = "2023-06-01"
_VERSION_VARIABLE = "RAG_EVAL_ANTHROPIC_VERSION"
_ENDINGS: dict[str, Ending] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def anthropic_chat(
    model: str, *, base_url: str | None = None, api_key_env: str | None = None, **options: Any
) -> HttpChat:
    """A model of Anthropic.

    Parameters
    ----------
    model : str
        As "claude-haiku-4-5".
    base_url : str, optional
        Where not given, RAG_EVAL_ANTHROPIC_BASE_URL or ANTHROPIC_BASE_URL, else Anthropic.
    api_key_env : str, optional
        The environment variable that holds the key. Where not given: RAG_EVAL_ANTHROPIC_API_KEY or
        ANTHROPIC_API_KEY, if no `base_url` is given either.
    **options
        As `rageval_report.judges.chats.over_http.Options` has them: ``max_tokens``,
        ``temperature``, ``structured``, ``extra_body``, ``timeout``, ``max_attempts``.

    Raises
    ------
    DataError
        If an argument makes no sense, or the key is missing.

    Notes
    -----
    The header ``anthropic-version`` is 2023-06-01, or what RAG_EVAL_ANTHROPIC_VERSION says: the
    provider's own library sends 2026-10-21 since version 2, with the same body.

    Examples
    --------
    >>> anthropic_chat("claude-haiku-4-5", base_url="http://localhost:8080").url
    'http://localhost:8080/v1/messages'
    """
    given = Options(**options)
    base, variable = _HOME.server(base_url, api_key_env)
    return chat_over_http(
        "anthropic",
        model,
        base.removesuffix("/v1") + _PATH,
        given,
        partial(_body, model, given),
        _reply,
        partial(_headers, variable),
    )


def _headers(variable: str | None) -> Headers:
    version = os.environ.get(_VERSION_VARIABLE) or _VERSION
    return {"anthropic-version": version, **key_header("x-api-key", variable, "")}


def _body(model: str, options: Options, message: Message) -> Body:
    body: Body = {
        "model": model,
        "max_tokens": options.max_tokens,
        "messages": [{"role": "user", "content": message.user}],
        "system": message.system or None,
        "temperature": options.temperature,
    }
    schema = options.schema_of(message)
    if schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": dict(schema)}}
    return options.completed(body)


def _reply(answer: HttpResponse) -> Reply:
    document = answer.json()
    if not isinstance(document, dict) or not isinstance(document.get("content"), list):
        raise answer.error('expected {"content": [{"type": "text", "text": ...}]}')
    texts = [one for one in objects(document, "content") if one.get("type") == "text"]
    usage = inner(document, "usage")
    sent = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Reply(
        "".join(str(one.get("text", "")) for one in texts),
        tokens(usage, *sent),
        tokens(usage, "output_tokens"),
        ending_of(document.get("stop_reason"), _ENDINGS),
        str(document.get("model") or ""),
    )

"""Gemini's own protocol; its endpoint for OpenAI's works too. Needs the extra ``http``."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import quote

from rageval_report.http.client import HttpResponse
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
    "https://generativelanguage.googleapis.com/v1beta",
    ("RAG_EVAL_GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
    ("RAG_EVAL_GEMINI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
)
_CUT: dict[str, Ending] = {"max_tokens": "length", "continuation": "length"}
_REFUSED: dict[str, Ending] = dict.fromkeys(
    ("safety", "recitation", "language", "blocklist", "prohibited_content", "spii"), "refusal"
)


def gemini_chat(
    model: str, *, base_url: str | None = None, api_key_env: str | None = None, **options: Any
) -> HttpChat:
    """A model of Gemini, by its own protocol.

    Parameters
    ----------
    model : str
        As "gemini-2.5-flash".
    base_url : str, optional
        With the version, as "http://localhost:8080/v1beta". Where not given,
        RAG_EVAL_GEMINI_BASE_URL or GOOGLE_GEMINI_BASE_URL, else Google.
    api_key_env : str, optional
        The environment variable that holds the key. Where not given: RAG_EVAL_GEMINI_API_KEY,
        GEMINI_API_KEY or GOOGLE_API_KEY, if no `base_url` is given either.
    **options
        As `rageval_report.judges.chats.over_http.Options` has them: ``max_tokens``,
        ``temperature``, ``structured``, ``extra_body``, ``timeout``, ``max_attempts``.

    Raises
    ------
    DataError
        If an argument makes no sense, or the key is missing.

    Examples
    --------
    >>> gemini_chat("gemini-2.5-flash", base_url="http://localhost:8080/v1beta").url
    'http://localhost:8080/v1beta/models/gemini-2.5-flash:generateContent'
    """
    given = Options(**options)
    base, variable = _HOME.server(base_url, api_key_env)
    name = quote(str(model).removeprefix("models/"), safe="")
    return chat_over_http(
        "gemini",
        model,
        f"{base}/models/{name}:generateContent",
        given,
        partial(_body, given),
        _reply,
        partial(key_header, "x-goog-api-key", variable, ""),
    )


def _body(options: Options, message: Message) -> Body:
    how: Body = {"maxOutputTokens": options.max_tokens}
    if options.temperature is not None:
        how["temperature"] = options.temperature
    schema = options.schema_of(message)
    if schema is not None:
        how |= {"responseMimeType": "application/json", "responseJsonSchema": dict(schema)}
    system = {"parts": [{"text": message.system}]} if message.system else None
    contents = [{"role": "user", "parts": [{"text": message.user}]}]
    return options.completed(
        {"contents": contents, "systemInstruction": system, "generationConfig": how}
    )


def _reply(answer: HttpResponse) -> Reply:
    document = answer.json()
    candidates = objects(document, "candidates")
    blocked = inner(document, "promptFeedback").get("blockReason")
    if not candidates and not blocked:
        raise answer.error('expected {"candidates": [{"content": {"parts": [{"text": ...}]}}]}')
    first = candidates[0] if candidates else {}
    parts = objects(inner(first, "content"), "parts")
    usage = inner(document, "usageMetadata")
    return Reply(
        "".join(str(one.get("text", "")) for one in parts if not one.get("thought")),
        tokens(usage, "promptTokenCount"),
        tokens(usage, "candidatesTokenCount", "thoughtsTokenCount"),
        "refusal" if blocked else ending_of(first.get("finishReason"), {**_CUT, **_REFUSED}),
        str(document.get("modelVersion") or ""),
    )

"""Gemini's own protocol; its endpoint for OpenAI's works too. Needs the extra ``http``."""

from __future__ import annotations

from typing import Unpack
from urllib.parse import quote

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

_ENDINGS: dict[str, Ending] = {
    "max_tokens": "length",
    "continuation": "length",
    "safety": "refusal",
    "recitation": "refusal",
    "language": "refusal",
    "blocklist": "refusal",
    "prohibited_content": "refusal",
    "spii": "refusal",
}


def gemini_chat(
    model: str,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    **options: Unpack[ChatOptions],
) -> HttpChat:
    """A chat with a model of Gemini, by its own protocol.

    Parameters
    ----------
    model : str
        For example "gemini-2.5-flash".
    base_url : str, optional
        With the version, e.g. "http://localhost:8080/v1beta". If omitted,
        RAG_EVAL_GEMINI_BASE_URL or GOOGLE_GEMINI_BASE_URL, else Google's server.
    api_key_env : str, optional
        The environment variable that contains the key. If `base_url` is omitted too, the default is
        RAG_EVAL_GEMINI_API_KEY, GEMINI_API_KEY or GOOGLE_API_KEY.
    **options
        As for `openai_chat`.

    Raises
    ------
    DataError
        If an argument has no valid value, or the key is missing.

    Examples
    --------
    >>> gemini_chat("gemini-2.5-flash", base_url="http://localhost:8080/v1beta").url
    'http://localhost:8080/v1beta/models/gemini-2.5-flash:generateContent'
    """
    return _GeminiChat.connect(model, base_url, api_key_env, options)


class _GeminiChat(HttpChat):
    provider = "gemini"
    limit_fields = (("generationConfig", "maxOutputTokens"),)
    count_fields = (("generationConfig", "candidateCount"),)
    home = ProviderHome(
        "https://generativelanguage.googleapis.com/v1beta",
        ("RAG_EVAL_GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
        ("RAG_EVAL_GEMINI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
    )

    @staticmethod
    def endpoint(base: str, model: str) -> str:
        # Google's own lists name models with this prefix.
        name = quote(str(model).removeprefix("models/"), safe="")
        return f"{base}/models/{name}:generateContent"

    def headers(self) -> Headers:
        return key_header("x-goog-api-key", self.key_variable)

    def write(self, message: Message) -> JsonBody:
        config: JsonBody = {"maxOutputTokens": self.options.max_tokens}
        if self.options.temperature is not None:
            config["temperature"] = self.options.temperature
        schema = self.schema_of(message)
        if schema is not None:
            config |= {"responseMimeType": "application/json", "responseJsonSchema": dict(schema)}
        system = {"parts": [{"text": message.system}]} if message.system else None
        contents = [{"role": "user", "parts": [{"text": message.user}]}]
        return {"contents": contents, "systemInstruction": system, "generationConfig": config}

    def read(self, answer: HttpResponse) -> Reply:
        document = answer.json()
        candidates = inner_objects(document, "candidates")
        # A blocked prompt has no candidates at all: a refusal, not a broken answer.
        is_blocked = bool(inner_object(document, "promptFeedback").get("blockReason"))
        if not candidates and not is_blocked:
            raise answer.error('expected {"candidates": [{"content": {"parts": [{"text": ...}]}}]}')
        first = candidates[0] if candidates else {}
        parts = inner_objects(inner_object(first, "content"), "parts")
        usage = inner_object(document, "usageMetadata")
        return Reply(
            "".join(str(part.get("text", "")) for part in parts if not part.get("thought")),
            sum_tokens(usage, "promptTokenCount"),
            # Thoughts are billed as output, but counted apart.
            sum_tokens(usage, "candidatesTokenCount", "thoughtsTokenCount"),
            "refusal" if is_blocked else read_ending(first.get("finishReason"), _ENDINGS),
            str(document.get("modelVersion") or ""),
        )

"""OpenAI, and every server that speaks its protocol: Ollama, vLLM, LM Studio and many others.

Needs the extra ``http``.
"""

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

_PATH = "/chat/completions"
_ENDINGS: dict[str, Ending] = {"length": "length", "content_filter": "refusal"}
_OLLAMA = "http://localhost:11434"
_OLLAMA_VARIABLES = ("RAG_EVAL_OLLAMA_BASE_URL", "OLLAMA_HOST")


def openai_chat(
    model: str,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    **options: Unpack[ChatOptions],
) -> HttpChat:
    """A chat with a model behind a server that speaks OpenAI's protocol of chat completions.

    Parameters
    ----------
    model : str
        The server's name of the model.
    base_url : str, optional
        Usually up to "/v1": "http://localhost:8000/v1" for vLLM, "http://localhost:1234/v1" for
        LM Studio. If omitted, RAG_EVAL_OPENAI_BASE_URL or OPENAI_BASE_URL, else OpenAI's server.
    api_key_env : str, optional
        The environment variable that contains the key. If `base_url` is omitted too, the default is
        RAG_EVAL_OPENAI_API_KEY or OPENAI_API_KEY; a server of your own is sent a key only if you
        name its variable.
    **options
        ``max_tokens``, ``temperature``, ``structured``, ``extra_body``, ``timeout``,
        ``max_attempts`` and ``max_wait``, as described in
        `rageval_report.judges.chats.chat_options.ChatOptions`.

    Raises
    ------
    DataError
        If an argument has no valid value, or the key is missing.

    Examples
    --------
    >>> chat = openai_chat("llama3.1", base_url="http://localhost:11434/v1", temperature=0)
    >>> chat.url
    'http://localhost:11434/v1/chat/completions'
    """
    return _OpenAIChat.connect(model, base_url, api_key_env, options)


def ollama_chat(
    model: str,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    **options: Unpack[ChatOptions],
) -> HttpChat:
    """A chat with a model that Ollama runs, by OpenAI's protocol.

    Parameters
    ----------
    model : str
        For example "llama3.1:8b".
    base_url : str, optional
        If omitted, RAG_EVAL_OLLAMA_BASE_URL or OLLAMA_HOST, else this machine.
    api_key_env, **options
        As for `openai_chat`.

    Examples
    --------
    >>> ollama_chat("llama3.1:8b", base_url="http://gpu:11434").url
    'http://gpu:11434/v1/chat/completions'
    """
    host = base_url or next(filter(None, map(os.environ.get, _OLLAMA_VARIABLES)), _OLLAMA)
    # OLLAMA_HOST is mostly a bare host and port, as Ollama itself takes it.
    url = (host if "://" in host else f"http://{host}").rstrip("/")
    has_path = "/" in url.partition("://")[2]
    return openai_chat(
        model, base_url=url if has_path else f"{url}/v1", api_key_env=api_key_env, **options
    )


class _OpenAIChat(HttpChat):
    provider = "openai"
    limit_fields = (("max_tokens",), ("max_completion_tokens",))
    count_fields = (("n",), ("best_of",))
    home = ProviderHome(
        "https://api.openai.com/v1",
        ("RAG_EVAL_OPENAI_BASE_URL", "OPENAI_BASE_URL"),
        ("RAG_EVAL_OPENAI_API_KEY", "OPENAI_API_KEY"),
    )

    @staticmethod
    def endpoint(base: str, model: str) -> str:  # noqa: ARG004
        # Some paste the full address of the endpoint, some its base.
        return base.removesuffix(_PATH) + _PATH

    def headers(self) -> Headers:
        return key_header("authorization", self.key_variable, "Bearer")

    def write(self, message: Message) -> JsonBody:
        system = [{"role": "system", "content": message.system}] if message.system else []
        # OpenAI's newer models know only one name of the limit, most other servers the other one.
        is_openai = self.url == self.home.url + _PATH
        body: JsonBody = {
            "model": self.model,
            "messages": [*system, {"role": "user", "content": message.user}],
            "max_completion_tokens" if is_openai else "max_tokens": self.options.max_tokens,
            "temperature": self.options.temperature,
        }
        schema = self.schema_of(message)
        if schema is not None:
            # strict: without it the schema is only advice to the model.
            form = {"name": "verdict", "strict": True, "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def read(self, answer: HttpResponse) -> Reply:
        document = answer.json()
        choices = inner_objects(document, "choices")
        if not choices:
            raise answer.error('expected {"choices": [{"message": {"content": ...}}]}')
        message = inner_object(choices[0], "message")
        # With a schema OpenAI's models refuse in this field and leave the content empty.
        refusal = message.get("refusal")
        usage = inner_object(document, "usage")
        return Reply(
            _join_content(message.get("content")) or str(refusal or ""),
            sum_tokens(usage, "prompt_tokens"),
            sum_tokens(usage, "completion_tokens"),
            "refusal" if refusal else read_ending(choices[0].get("finish_reason"), _ENDINGS),
            str(document.get("model") or ""),
        )


def _join_content(content: object) -> str:
    """The content as one text; some servers send it in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""

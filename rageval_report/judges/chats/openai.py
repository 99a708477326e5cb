"""OpenAI, and every server that speaks its protocol: Ollama, vLLM, LM Studio, many others.

Needs the extra ``http``.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

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
    "https://api.openai.com/v1",
    ("RAG_EVAL_OPENAI_BASE_URL", "OPENAI_BASE_URL"),
    ("RAG_EVAL_OPENAI_API_KEY", "OPENAI_API_KEY"),
)
_PATH = "/chat/completions"
_ENDINGS: dict[str, Ending] = {"length": "length", "content_filter": "refusal"}
_OLLAMA = "http://localhost:11434"
_OLLAMA_VARIABLES = ("RAG_EVAL_OLLAMA_BASE_URL", "OLLAMA_HOST")


def openai_chat(
    model: str, *, base_url: str | None = None, api_key_env: str | None = None, **options: Any
) -> HttpChat:
    """A model behind a server that speaks OpenAI's protocol of chat completions.

    Parameters
    ----------
    model : str
        As the server names it.
    base_url : str, optional
        Up to "/v1" as a rule: "http://localhost:8000/v1" for vLLM, "http://localhost:1234/v1" for
        LM Studio. Where not given, RAG_EVAL_OPENAI_BASE_URL or OPENAI_BASE_URL, else OpenAI.
    api_key_env : str, optional
        The environment variable that holds the key. Where not given: RAG_EVAL_OPENAI_API_KEY or
        OPENAI_API_KEY, if no `base_url` is given either; a server of your own gets a key only if
        you name one.
    **options
        As `rageval_report.judges.chats.over_http.Options` has them: ``max_tokens``,
        ``temperature``, ``structured``, ``extra_body``, ``timeout``, ``max_attempts``.

    Raises
    ------
    DataError
        If an argument makes no sense, or the key is missing.

    Examples
    --------
    >>> chat = openai_chat("llama3.1", base_url="http://localhost:11434/v1", temperature=0)
    >>> chat.url
    'http://localhost:11434/v1/chat/completions'
    """
    given = Options(**options)
    base, variable = _HOME.server(base_url, api_key_env)
    # OpenAI's newer models know one name of the limit only, most other servers the other one.
    limit = "max_completion_tokens" if base == _HOME.url else "max_tokens"
    return chat_over_http(
        "openai",
        model,
        base.removesuffix(_PATH) + _PATH,
        given,
        partial(_body, model, limit, given),
        _reply,
        partial(key_header, "authorization", variable, "Bearer"),
    )


def ollama_chat(
    model: str, *, base_url: str | None = None, api_key_env: str | None = None, **options: Any
) -> HttpChat:
    """A model that Ollama runs, asked by OpenAI's protocol.

    Parameters
    ----------
    model : str
        As "llama3.1:8b".
    base_url : str, optional
        Where not given, RAG_EVAL_OLLAMA_BASE_URL, else OLLAMA_HOST, else this machine.
    api_key_env, **options
        As for `openai_chat`.

    Examples
    --------
    >>> ollama_chat("llama3.1:8b", base_url="http://gpu:11434").url
    'http://gpu:11434/v1/chat/completions'
    """
    told = base_url or next(filter(None, map(os.environ.get, _OLLAMA_VARIABLES)), _OLLAMA)
    url = (told if "://" in told else f"http://{told}").rstrip("/")
    bare = url.partition("://")[2]
    return openai_chat(
        model,
        base_url=url if "/" in bare else f"{url}/v1",
        api_key_env=api_key_env,
        **options,
    )


def _body(model: str, limit: str, options: Options, message: Message) -> Body:
    said = [{"role": "system", "content": message.system}] if message.system else []
    body: Body = {
        "model": model,
        "messages": [*said, {"role": "user", "content": message.user}],
        limit: options.max_tokens,
        "temperature": options.temperature,
    }
    schema = options.schema_of(message)
    if schema is not None:
        kept = {"name": "verdict", "strict": True, "schema": dict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": kept}
    return options.completed(body)


def _reply(answer: HttpResponse) -> Reply:
    document = answer.json()
    choices = objects(document, "choices")
    if not choices:
        raise answer.error('expected {"choices": [{"message": {"content": ...}}]}')
    message = inner(choices[0], "message")
    refusal = message.get("refusal")
    usage = inner(document, "usage")
    return Reply(
        _text(message.get("content")) or str(refusal or ""),
        tokens(usage, "prompt_tokens"),
        tokens(usage, "completion_tokens"),
        "refusal" if refusal else ending_of(choices[0].get("finish_reason"), _ENDINGS),
        str(document.get("model") or ""),
    )


def _text(content: Any) -> str:
    """A content as one text; some servers send it in parts."""
    if isinstance(content, list):
        return "".join(str(one.get("text", "")) for one in content if isinstance(one, dict))
    return content if isinstance(content, str) else ""

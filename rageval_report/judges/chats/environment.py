"""The chat that the environment names: ``RAG_EVAL_PROVIDER`` and the variables that go with it."""

from __future__ import annotations

import os
from typing import Unpack

from rageval_report.errors import DataError
from rageval_report.judges.chats import CHATS
from rageval_report.judges.chats.base import Chat
from rageval_report.judges.chats.chat_options import ChatOptions

PROVIDER = "RAG_EVAL_PROVIDER"


def chat_from_environment(
    provider: str | None = None,
    model: str | None = None,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    **options: Unpack[ChatOptions],
) -> Chat:
    """The chat that the arguments name, or the environment if they are omitted.

    Parameters
    ----------
    provider : str, optional
        A name of `CHATS`. If omitted, RAG_EVAL_PROVIDER, else "openai" if there is a `base_url`,
        because most servers speak its protocol, else "ollama".
    model : str, optional
        If omitted, the variable RAG_EVAL_<PROVIDER>_MODEL. There is no further default, because
        the model that judged is part of the result.
    base_url, api_key_env, **options
        As for the provider's function, such as `openai_chat`.

    Raises
    ------
    DataError
        If no model is named, or a key is missing.
    UnknownNameError
        If no provider has that name.

    Examples
    --------
    >>> chat_from_environment("openai", "qwen3", base_url="http://localhost:8000/v1").model
    'qwen3'
    """
    # A server of one's own mostly speaks OpenAI's protocol; without any setting nothing leaves the
    # machine.
    name = provider or os.environ.get(PROVIDER) or ("openai" if base_url else "ollama")
    make_chat = CHATS[name]
    variable = f"RAG_EVAL_{name.upper().replace('-', '_')}_MODEL"
    model_name = model or os.environ.get(variable)
    if not model_name:
        raise DataError(
            f"model is missing for the provider {name!r}. Name it with model=... or in the "
            f"environment variable {variable}"
        )
    return make_chat(model_name, base_url=base_url, api_key_env=api_key_env, **options)

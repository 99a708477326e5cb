"""Which chat the environment names: ``RAG_EVAL_PROVIDER`` and the variables that go with it."""

from __future__ import annotations

import os
from typing import Any

from rageval_report.errors import DataError
from rageval_report.judges.chats import CHATS
from rageval_report.judges.chats.over_http import HttpChat

PROVIDER = "RAG_EVAL_PROVIDER"


def chat_from_environment(
    provider: str | None = None, model: str | None = None, **options: Any
) -> HttpChat:
    """The chat that arguments name, and where they do not, the environment.

    Parameters
    ----------
    provider : str, optional
        A name of `CHATS`; else RAG_EVAL_PROVIDER, else "openai" where a `base_url` is given, which
        most servers understand, else "ollama".
    model : str, optional
        Else the variable RAG_EVAL_<PROVIDER>_MODEL. There is no default: which model judged is
        part of the result.
    **options
        As the provider's function takes them.

    Raises
    ------
    DataError
        If no model is named, or a key is missing.
    UnknownNameError
        If there is no such provider.

    Examples
    --------
    >>> chat_from_environment("openai", "qwen3", base_url="http://localhost:8000/v1").model
    'qwen3'
    """
    unnamed = "openai" if options.get("base_url") else "ollama"
    named = provider or os.environ.get(PROVIDER) or unnamed
    make = CHATS[named]
    variable = f"RAG_EVAL_{named.upper().replace('-', '_')}_MODEL"
    told = model or os.environ.get(variable)
    if not told:
        raise DataError(
            f"which model of {named} is to be asked? Name it with model=... or in the environment "
            f"variable {variable}"
        )
    return make(told, **options)
